"""Old paths of the package's modules, which still lead to the modules and warn.

from tau_wall_control.laws import control        # DeprecationWarning: ... use tau_wall_control.control.laws
from tau_wall_control.walls import rub           # a module became the folder of this name: likewise
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGE = __name__.rpartition(".")[0]

#: old name of a module -> its path below the package
MODULES = {
    "controller": "control.controller",
    "design": "control.design",
    "drawing": "walls.drawing",
    "factory": "walls.factory",
    "guard": "walls.guard",
    "holding": "walls.holding",
    "horizon": "control.horizon",
    "kernels": "device.kernels",
    "laws": "control.laws",
    "limits": "simulation.limits",
    "linearisation": "control.linearisation",
    "monte_carlo": "simulation.monte_carlo",
    "options": "control.options",
    "parameters": "device.parameters",
    "pinocchio_model": "device.pinocchio_model",
    "rotations": "device.rotations",
    "urdf": "device.urdf",
    "wall_filter": "walls.wall_filter",
    "workspace": "device.workspace",
    "z_width": "simulation.z_width",
}


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved; use {new}", DeprecationWarning, stacklevel=3)


class _Finder(MetaPathFinder, Loader):
    """Finds modules by their old paths; the module object is the one of the new path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == _PACKAGE and name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = f"{_PACKAGE}.{MODULES[old.rpartition('.')[2]]}"
        _warn(old, new)
        sys.modules[old] = importlib.import_module(new)


def install() -> None:
    """Makes the old paths importable, after everything else that Python finds."""
    sys.meta_path.append(_Finder())


def module_by_attribute(name: str) -> ModuleType:
    """Serves as `__getattr__` of the package: ``tau_wall_control.laws``."""
    if name not in MODULES:
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
    return importlib.import_module(f"{_PACKAGE}.{name}")


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a module: old name -> "module:name" below the package."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        path, _, attribute = names[name].partition(":")
        _warn(f"{module}.{name}", f"{_PACKAGE}.{path}.{attribute}")
        return getattr(importlib.import_module(f"{_PACKAGE}.{path}"), attribute)

    return get
