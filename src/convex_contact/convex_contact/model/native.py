"""The compiled library of the package ``convex_contact_native``: Coal behind a C interface.

Compiled kernels call :data:`manifolds` by its symbol, which is registered here with LLVM, so that Numba can cache
them. If the library is missing, the symbol leads to a stub that reports failure; worlds of
spheres, half spaces and closed-form pairs work without it.
"""

from __future__ import annotations

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path

import llvmlite.binding
import numpy as np
from numba import types

from convex_contact.problem.errors import ContactError

LIBRARY = "libconvex_contact_native.so"
_SYMBOL = "convex_contact_manifolds"
_INT, _PTR = ctypes.c_int64, ctypes.c_void_p
_MANIFOLDS = ctypes.CFUNCTYPE(_INT, _PTR, _INT, _PTR, _PTR, _PTR, _PTR, _INT, _PTR, _PTR, _PTR, _PTR)


class NativeLibraryError(ContactError, RuntimeError):
    """The compiled library is missing, or refused a shape."""


def _load() -> ctypes.CDLL | None:
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    installed = find_spec("convex_contact_native")  # by pip
    paths = [str(Path(prefix, "lib", LIBRARY)) for prefix in prefixes if prefix]
    for path in (LIBRARY, *paths, *([installed.origin] if installed and installed.origin else [])):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        library.convex_contact_create.restype = _PTR
        library.convex_contact_error.restype = ctypes.c_char_p
        for name in ("add_primitive", "add_hull", "hull_size", "manifolds"):
            getattr(library, f"convex_contact_{name}").restype = _INT
        return library
    return None


_library = _load()
_stand_in = _MANIFOLDS(lambda *_: -1)  # kept alive here
llvmlite.binding.add_symbol(
    _SYMBOL, ctypes.cast(getattr(_library, _SYMBOL) if _library else _stand_in, ctypes.c_void_p).value
)

#: ``convex_contact_manifolds`` for compiled kernels; pointers are passed as integers (``array.ctypes.data``).
manifolds = types.ExternalFunction(_SYMBOL, types.int64(*[types.int64] * 11))


def available() -> bool:
    """Returns whether the compiled library was found."""
    return _library is not None


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class ShapeTable:
    """Convex shapes of a world in the compiled library.

    Raises:
        NativeLibraryError: The library is missing.
    """

    def __init__(self) -> None:
        if _library is None:
            raise NativeLibraryError(
                f"{LIBRARY} was not found; build the workspace (./haptics setup), or pip install "
                "./src/convex_contact_native: it makes contacts between boxes, cylinders, capsules and convex meshes"
            )
        self._library = _library
        self._context = ctypes.c_void_p(self._library.convex_contact_create())

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._library.convex_contact_destroy(self._context)

    @property
    def address(self) -> int:
        """Address of the library's context, an argument of compiled kernels."""
        return self._context.value or 0

    def add_primitive(self, kind: int, parameters: np.ndarray) -> int:
        """Adds a primitive with its three parameters; returns its number."""
        values = np.ascontiguousarray(parameters, dtype=np.float64)
        return self._checked(self._library.convex_contact_add_primitive(self._context, _INT(kind), _address(values)))

    def add_hull(self, points: np.ndarray) -> int:
        """Adds the convex hull of points (n, 3); returns its number."""
        values = np.ascontiguousarray(points, dtype=np.float64)
        return self._checked(self._library.convex_contact_add_hull(self._context, _INT(len(values)), _address(values)))

    def _checked(self, number: int) -> int:
        if number < 0:
            raise NativeLibraryError(f"Coal refused the shape: {self.error}")
        return number

    @property
    def error(self) -> str:
        """Last error message of the library."""
        return str(self._library.convex_contact_error(self._context).decode())

    def hull(self, number: int) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Returns a hull's vertices (n, 3), volume, centre (3,) and inertia (3, 3) about the centre at unit density."""
        vertices = np.empty((self._library.convex_contact_hull_size(self._context, _INT(number)), 3))
        properties = np.empty(13)
        self._library.convex_contact_hull(self._context, _INT(number), _address(vertices), _address(properties))
        return vertices, float(properties[0]), properties[1:4].copy(), properties[4:].reshape(3, 3).copy()
