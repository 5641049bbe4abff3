"""A program that reads meshes by Coal and Assimp; :mod:`convex_contact.model.mesh_files` runs it as a process.

It writes the vertices (n, 3) and, if asked for, the triangles (m, 3) of file "i.*" of a folder to "i.npz" there. It
imports neither this package nor Pinocchio, so that it starts in a tenth of a second.
"""

import resource
import sys
from pathlib import Path

#: memory that a mesh may take [bytes]
MEMORY = 4 * 2**30


def main(folder: str, triangles: str, *names: str) -> None:
    """Reads the files of a folder one by one; a file without mesh has no output.

    Args:
        folder: path of the folder.
        triangles: "triangles" or "vertices".
        *names: of the files.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import coal
    import numpy as np

    for i, name in enumerate(names):
        try:
            mesh = coal.MeshLoader().load(str(Path(folder, name)), np.ones(3))
            faces = range(mesh.num_tris) if triangles == "triangles" else ()
            found = [[mesh.tri_indices(face)[k] for k in range(3)] for face in faces]
            arrays = {"vertices": mesh.vertices(), "triangles": np.array(found, dtype=np.int64).reshape(-1, 3)}
        except (ValueError, RuntimeError, MemoryError):
            continue
        with Path(folder, f"{i}.npz").open("wb") as file:
            np.savez(file, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
