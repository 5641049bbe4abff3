"""Convex decomposition of meshes by CoACD (Wei et al., "Approximate Convex Decomposition for 3D Meshes with
Collision-Aware Concavity and Tree Search", ACM Transactions on Graphics 41, 2022).

The search takes seconds to minutes; a line on the standard error stream announces it. Its result is cached in
`$CONVEX_CONTACT_CACHE_DIR` or the user's cache (:func:`~haptic_files.cache_folder`), in a file that is named by the
SHA-256 of the mesh, the concavity and the version of CoACD. The search runs in its own process
(`decomposition_process`), since it may crash for a damaged mesh.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from convex_contact.model import decomposition_process
from convex_contact.model.mesh_files import MeshFile
from convex_contact.model.shapes import Hull
from convex_contact.problem.errors import ContactError
from haptic_files import cache_folder
from haptic_math.quantities import finite_number

#: bounds of the concavity that CoACD takes, and its default [-]
LEAST, DEFAULT, MOST = 0.01, 0.05, 1.0
#: time after which the search is aborted [s]
TIME_LIMIT = 1800.0


class DecompositionError(ContactError, ValueError):
    """A mesh has no decomposition, or CoACD is missing."""


def convex_parts(mesh: MeshFile, scale: Sequence[float] = (1.0, 1.0, 1.0), *, concavity: float = DEFAULT) -> list[Hull]:
    """Decomposes a mesh into convex parts.

    Args:
        mesh: a mesh with its triangles.
        scale: factors along the axes (3,).
        concavity: largest distance between a part's surface and its hull, in units of half the longest side of the
            mesh's bounding box; a smaller value gives more parts.

    Returns:
        Hulls that overlap little; together they cover the mesh up to the concavity.

    Raises:
        DecompositionError: the concavity is out of bounds, CoACD is missing, or it finds no parts.
    """
    expected = f"a number from {LEAST} to {MOST}"
    concavity = finite_number("concavity", concavity, expected=expected, minimum=LEAST, error=DecompositionError)
    if concavity > MOST:
        raise DecompositionError(f"concavity: expected {expected}, got {concavity}")
    try:
        coacd = version("coacd")
    except PackageNotFoundError:
        raise DecompositionError(
            "decompose: the package coacd is missing; `pip install convex_contact[meshes]` brings it"
        ) from None
    vertices, number = np.unique(mesh.vertices * np.array(scale, dtype=np.float64), axis=0, return_inverse=True)
    triangles = number.reshape(-1)[mesh.triangles].astype(np.int32)
    if not len(triangles):
        raise DecompositionError("decompose: expected a mesh with triangles, got none")
    digest = hashlib.sha256(f"coacd {coacd} {concavity!r} {len(vertices)}".encode())
    for array in (vertices, triangles):
        digest.update(array.tobytes())
    file = cache_folder("convex_contact") / f"{digest.hexdigest()}.npz"
    if not file.exists():
        _search(file, vertices, triangles, concavity)
    with np.load(file) as parts:
        return [Hull(parts[name]) for name in sorted(parts)]


def _search(file: Path, vertices: np.ndarray, triangles: np.ndarray, concavity: float) -> None:
    """Writes the vertices of the parts to a file, or nothing if there are none; a line says that it begins."""
    text = f"convex decomposition of {len(triangles)} triangles begins; it takes seconds to minutes, once"
    print(f"{text}: the result is kept in {file}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:  # other processes may search for the same now
        given, found = Path(folder, "mesh.npz"), Path(folder, "parts.npz")
        np.savez(given, vertices=vertices, triangles=triangles)
        program = [sys.executable, decomposition_process.__file__, str(given), str(found), repr(concavity)]
        quiet: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        # the result must not depend on the number of cores
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        try:
            subprocess.run(program, timeout=TIME_LIMIT, check=True, env=environment, **quiet)
        except (subprocess.SubprocessError, OSError) as error:
            raise DecompositionError(f"decompose: CoACD found no parts ({type(error).__name__})") from None
        found.replace(file)
