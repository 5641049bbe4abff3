"""Contents of mesh files for tests."""

from __future__ import annotations

import numpy as np

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
PLY = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 12\nproperty list uchar int vertex_indices\nend_header\n" + np.full(10, -0.5, np.float32).tobytes()
)
#: a tetrahedron as text: vertices, then faces
PLY_TEXT = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
)
