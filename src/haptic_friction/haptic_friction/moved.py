"""Old paths of modules and old names, which work for one more release with a DeprecationWarning."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

#: modules that moved: old path, new path
MODULES = {
    "haptic_friction.batch": "haptic_friction.models.batch",
    "haptic_friction.classical_bristles": "haptic_friction.classical.bristles",
    "haptic_friction.classical_thresholds": "haptic_friction.classical.thresholds",
    "haptic_friction.fitting": "haptic_friction.identification.fitting",
    "haptic_friction.model": "haptic_friction.models.model",
    "haptic_friction.model_a": "haptic_friction.models.model_a",
    "haptic_friction.model_b": "haptic_friction.models.model_b",
    "haptic_friction.model_c": "haptic_friction.models.model_c",
    "haptic_friction.model_d": "haptic_friction.models.model_d",
    "haptic_friction.projection": "haptic_friction.laws.projection",
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the module at the new path where the old one is asked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        old, new = module.__name__, MODULES[module.__name__]
        warnings.warn(f"{old} has moved to {new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(new)


def install() -> None:
    """Makes the old paths of `MODULES` work."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names have changed: old name, new name."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now {names[name]}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return get
