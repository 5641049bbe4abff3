"""Old paths of modules that have moved: they import the module at its new path, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any


class _Forward(MetaPathFinder, InspectLoader):
    """Finds modules by their old paths and gives those at the new paths.

    Args:
        moved: new path by old path.
    """

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = dict(moved)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._moved:
            return None
        found = find_spec(self._moved[name])
        return ModuleSpec(name, self, origin=found.origin if found else None)

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = self._moved[old]
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)

    def get_code(self, fullname: str) -> CodeType | None:
        """For `python -m` with an old path."""
        loader: Any = getattr(find_spec(self._moved[fullname]), "loader", None)
        code: CodeType | None = loader.get_code(self._moved[fullname])
        return code

    def get_source(self, fullname: str) -> str | None:
        return None


def forward_moved_modules(package: str, moved: Mapping[str, str]) -> None:
    """Lets the modules of a package be imported by their old paths, too.

    Args:
        package: its name.
        moved: new path by old path, both below the package.
    """
    sys.meta_path.append(_Forward({f"{package}.{old}": f"{package}.{new}" for old, new in moved.items()}))
