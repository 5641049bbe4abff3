"""Keeps the import paths of moved modules working: each gives the module at its new path, with a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

PACKAGE = __name__.rpartition(".")[0]
#: modules that stood in the package itself, by the folder that has them now
MOVED = {
    "model": "consistency definition drawing linkage loading mechanism symbolic system wrenches",
    "dynamics": "accelerations chart compiled integrators kernels",
    "generation": "friction reference_generator",
    "display": "controller end_effector external factory feedback",
}
NEW_PATHS = {f"{PACKAGE}.{name}": f"{PACKAGE}.{folder}.{name}" for folder in MOVED for name in MOVED[folder].split()}


class OldPaths(MetaPathFinder, Loader):
    """Finds the old paths after all other finders; the module of an old path is that of the new path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in NEW_PATHS else None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = moved_module(module.__name__)


def moved_module(path: str) -> ModuleType:
    """Imports the module of an old path from its new path and warns.

    Raises:
        AttributeError: no module has had this path.
    """
    if path not in NEW_PATHS:
        package, _, name = path.rpartition(".")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    warnings.warn(f"{path} has moved to {NEW_PATHS[path]}", DeprecationWarning, stacklevel=3)
    return importlib.import_module(NEW_PATHS[path])


def install() -> None:
    """Adds the finder; a second call has no effect."""
    if not any(isinstance(finder, OldPaths) for finder in sys.meta_path):
        sys.meta_path.append(OldPaths())
