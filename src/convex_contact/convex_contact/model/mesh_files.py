"""Meshes from files: STL, OBJ, DAE, PLY, OFF and GLB.

Coal reads meshes with Assimp, which crashes or never returns for some damaged files. A separate process
(`mesh_process`) therefore reads copies of the files: a crash ends that process alone, and a file that refers to others
does not reach them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convex_contact.model import mesh_process, native
from convex_contact.model.shapes import Hull
from haptic_files import FileError, read_bytes
from haptic_math.quantities import finite_number

#: suffixes of files that are read
SUFFIXES = (".dae", ".glb", ".obj", ".off", ".ply", ".stl")
#: time after which reading is aborted [s]; a file of 64 MB takes some seconds
TIME_LIMIT = 60.0
#: largest coordinate [m]
LARGEST = 1e6
#: number of meshes that are remembered while their files do not change
REMEMBERED = 64


@dataclass(frozen=True)
class MeshFile:
    """The surface of a file.

    Attributes:
        vertices: (n, 3), in the file's units; those of a DAE file in metres, by its `unit`.
        triangles: numbers of vertices (m, 3); none if they were not asked for.
    """

    vertices: np.ndarray
    triangles: np.ndarray


_READ: dict[tuple[object, ...], MeshFile] = {}


def read_meshes(paths: Sequence[Path], *, triangles: bool = False) -> list[MeshFile]:
    """Reads the meshes of files; those that have not changed since the last call are not read again.

    Args:
        paths: of the files.
        triangles: the triangles are read, too.

    Returns:
        One mesh for each path, with arrays that must not be changed.

    Raises:
        FileError: A file cannot be read or has no mesh.
    """
    keys = [_key(path, triangles) for path in paths]
    new = {key: path for key, path in zip(keys, paths, strict=True) if key not in _READ}
    found = {key: _READ[key] for key in keys if key in _READ}
    found |= zip(new, _read_new(list(new.values()), triangles), strict=True)
    _READ.update(found)
    while len(_READ) > REMEMBERED:
        _READ.pop(next(iter(_READ)), None)
    return [found[key] for key in keys]


def _key(path: Path, triangles: bool) -> tuple[object, ...]:
    """Returns a key that changes when the file does."""
    try:
        state = path.stat()
    except (OSError, ValueError):  # reading it gives the error
        return path, triangles
    return path, triangles, state.st_ino, state.st_size, state.st_mtime_ns


def _read_new(paths: Sequence[Path], triangles: bool) -> list[MeshFile]:
    """Reads the meshes of files in a separate process."""
    if not paths:
        return []
    with tempfile.TemporaryDirectory() as folder:
        names, units = [], []
        for i, path in enumerate(paths):
            if path.suffix.lower() not in SUFFIXES:
                raise FileError(f"{path}: expected a file ending in {', '.join(SUFFIXES)}")
            names.append(f"{i}{path.suffix.lower()}")
            content = read_bytes(path)
            if names[-1].endswith(".ply"):
                _check_ply(content, path)
            units.append(_dae_unit(content, path) if names[-1].endswith(".dae") else 1.0)
            Path(folder, names[-1]).write_bytes(content)
        program = [sys.executable, mesh_process.__file__, folder, "triangles" if triangles else "vertices", *names]
        null = subprocess.DEVNULL
        expected = "a mesh such as STL, OBJ or DAE"
        try:
            subprocess.run(program, stdin=null, stdout=null, stderr=null, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:  # the file being read has no output
            expected = f"a mesh that can be read in {TIME_LIMIT:g} s"
        except OSError as error:
            raise FileError(f"{paths[0]}: cannot be read: {error.strerror} at the start of Python") from None
        given = enumerate(zip(paths, units, strict=True))
        return [_read(Path(folder, f"{i}.npz"), path, unit, expected) for i, (path, unit) in given]


def _dae_unit(content: bytes, path: Path) -> float:
    """Returns the length of the unit of a DAE file [m]; Assimp gives it to a node that Coal leaves out.

    Raises:
        FileError: the length is no number above 0.
    """
    found = re.search(rb"""<unit\s[^>]*?\bmeter\s*=\s*["']([^"']*)["']""", content)
    text = "1" if found is None else found[1].decode("utf-8", "replace")
    return finite_number(f"{path}: unit: meter", text, above=0.0, error=FileError)


def _check_ply(content: bytes, path: Path) -> None:
    """Checks that a PLY file has as many elements as its header says; Assimp repeats the last one of a cut text.

    Each element is a line of a text, and a byte or more of a binary file.

    Raises:
        FileError: elements are missing.
    """
    header, _, rest = content.partition(b"end_header")
    number = sum(int(count) for count in re.findall(rb"^element \S+ (\d{1,18})\s*$", header, re.MULTILINE))
    text = b"format ascii" in header
    found = sum(1 for line in rest.splitlines() if line.strip()) if text else len(rest)
    if found < number:
        unit = "lines" if text else "bytes"
        raise FileError(f"{path}: expected {number} elements after its header, got {found} {unit}")


def _read(output: Path, path: Path, unit: float, expected: str) -> MeshFile:
    try:
        with np.load(output) as arrays:
            mesh = MeshFile(unit * arrays["vertices"], arrays["triangles"])
    except (OSError, ValueError, KeyError, EOFError):
        raise FileError(f"{path}: expected {expected}") from None
    for array in (mesh.vertices, mesh.triangles):
        array.flags.writeable = False  # several worlds share it
    if not (np.abs(mesh.vertices) <= LARGEST).all():  # NaN, too
        raise FileError(f"{path}: expected vertices with coordinates up to {LARGEST:g} m, got others")
    return mesh


def hull_of(mesh: MeshFile, scale: Sequence[float] = (1.0, 1.0, 1.0)) -> Hull:
    """Makes the convex hull of a mesh that is scaled along the axes by factors (3,).

    Raises:
        ValueError: the mesh is flat, or Coal makes no hull of it.
        NativeLibraryError: The compiled library is missing.
    """
    points = np.unique(mesh.vertices * np.array(scale, dtype=np.float64), axis=0)
    try:
        return Hull(points)
    except native.NativeLibraryError as error:
        if not native.available():
            raise
        raise ValueError(" ".join(str(error).split())[:150]) from None
