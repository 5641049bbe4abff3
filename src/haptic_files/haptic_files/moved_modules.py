"""Old import paths and names, which lead to the new ones with a DeprecationWarning.

`forward_moved_modules` also gives a package its `__version__`, from the metadata of the installed package.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any

Getter = Callable[[str], Any]


def _warn(old: str, new: str, depth: int = 3) -> None:
    warnings.warn(f"{old} has moved; use {new}", DeprecationWarning, stacklevel=depth)


class _Forward(MetaPathFinder, InspectLoader):
    """Finder of modules by their old paths, which loads the modules at the new paths.

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
        _warn(old, self._moved[old])
        sys.modules[old] = import_module(self._moved[old])

    def get_code(self, fullname: str) -> CodeType | None:
        """Returns the code of the module at the new path, for `python -m` with an old path."""
        loader: Any = getattr(find_spec(self._moved[fullname]), "loader", None)
        code: CodeType | None = loader.get_code(self._moved[fullname])
        return code

    def get_source(self, fullname: str) -> str | None:
        return None


def forward_moved_modules(
    package: str, moved: Mapping[str, str], renamed_names: Mapping[str, str] | None = None
) -> Getter:
    """Makes the modules of a package importable by their old paths, too, and its names by their old names.

    A moved module with the name of a public function of the package is registered at its old path at once, because its
    import would replace the function.

    Args:
        package: name of the package.
        moved: new path by old path, both below the package.
        renamed_names: new name by old name, as `renamed` takes them.

    Returns:
        A `__getattr__` for the package. It gives the moved modules, the old names and `__version__` as attributes.
    """
    sys.meta_path.append(_Forward({f"{package}.{old}": f"{package}.{new}" for old, new in moved.items()}))
    names = vars(sys.modules[package])
    for name in moved.keys() & names.keys():
        if not isinstance(names[name], ModuleType):
            sys.modules[f"{package}.{name}"] = import_module(f"{package}.{moved[name]}")

    def get(name: str) -> Any:
        if name == "__version__":
            return version(package)
        if name not in moved:
            return _at_new_name(package, renamed_names or {}, name)
        new = f"{package}.{moved[name]}"
        _warn(f"{package}.{name}", new)
        names[name] = import_module(new)
        return names[name]

    return get


def names_of_moved_module(folder: str, new: str) -> Getter:
    """Makes a `__getattr__` for a folder or module whose names have moved to another module.

    Args:
        folder: full path of the folder or module.
        new: full path of the module.
    """

    def get(name: str) -> Any:
        inside = "__path__" in vars(sys.modules[folder]) and find_spec(f"{folder}.{name}") is not None
        if not name.startswith("__") and not inside:
            module = import_module(new)
            if hasattr(module, name):
                _warn(f"{folder}.{name}", f"{new}.{name}")
                return getattr(module, name)
        raise AttributeError(f"module {folder!r} has no attribute {name!r}")

    return get


def renamed(module: str, names: Mapping[str, str]) -> Getter:
    """Makes a `__getattr__` for a module whose names have changed.

    Args:
        module: full path of the module.
        names: new name by old name; the new one is "name" in the module itself, or "module:name".
    """

    def get(name: str) -> Any:
        return _at_new_name(module, names, name)

    return get


class RenamedMember:
    """Old name of a method or property, which leads to the present one and warns: ``old = RenamedMember("new")``.

    Args:
        new: present name.
    """

    def __init__(self, new: str) -> None:
        self._new = new

    def __get__(self, instance: Any, owner: type) -> Any:
        # not `__set_name__`, which named tuples do not call
        old = next(name for base in owner.__mro__ for name, value in vars(base).items() if value is self)
        _warn(f"{owner.__name__}.{old}", f"{owner.__name__}.{self._new}")
        return getattr(owner if instance is None else instance, self._new)


def _at_new_name(module: str, names: Mapping[str, str], name: str) -> Any:
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    path, _, attribute = names[name].rpartition(":")
    path = path or module
    _warn(f"{module}.{name}", f"{path}.{attribute}", depth=4)
    return getattr(import_module(path), attribute)


def version(package: str) -> str:
    """Returns the version of an installed package.

    Raises:
        AttributeError: the package is imported from its sources without being installed.
    """
    from importlib import metadata  # 20 ms, which a node need not spend

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise AttributeError(f"module {package!r} has no __version__: the package is not installed") from None
