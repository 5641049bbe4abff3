"""Old paths of the package's modules, which still lead to the modules and warn.

from admittance_constraints.chart import Chart      # DeprecationWarning: ... use admittance_constraints.dynamics.chart
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE = __name__.rpartition(".")[0]

#: old names of modules, by the folder that has the modules now
_FOLDERS = {
    "model": "consistency definition drawing linkage loading mechanism symbolic system wrenches",
    "dynamics": "accelerations chart compiled integrators kernels",
    "generation": "friction reference_generator",
    "display": "controller end_effector external factory feedback",
}
#: old name of a module -> its path below the package
MOVED = {name: f"{folder}.{name}" for folder, names in _FOLDERS.items() for name in names.split()}


def current_path(module: str) -> str:
    """Returns the present path of a module that is named by an old path, or the name itself."""
    package, _, name = module.rpartition(".")
    return f"{_PACKAGE}.{MOVED[name]}" if package == _PACKAGE and name in MOVED else module


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved; use {new}", DeprecationWarning, stacklevel=3)


class _Finder(MetaPathFinder, Loader):
    """Finds modules by their old paths; the module object is the one of the new path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if current_path(fullname) != fullname else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        _warn(old, current_path(old))
        sys.modules[old] = importlib.import_module(current_path(old))


def install() -> None:
    """Makes the old paths importable, after everything else that Python finds."""
    sys.meta_path.append(_Finder())


def module_by_attribute(name: str) -> ModuleType:
    """Serves as `__getattr__` of the package: ``admittance_constraints.chart``."""
    if name not in MOVED:
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
    old = f"{_PACKAGE}.{name}"
    _warn(old, current_path(old))
    module = importlib.import_module(current_path(old))
    sys.modules[_PACKAGE].__dict__[name] = module
    return module
