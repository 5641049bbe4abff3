"""Makes mechanisms by name: ready ones, classes of importable modules, classes in a user's own file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from admittance_constraints import mechanisms
from admittance_constraints.errors import MechanismError
from admittance_constraints.model.mechanism import Mechanism
from haptic_files import FileError, check_file
from haptic_files.plugins import find_plugin, installed_plugins

#: group of the entry points of mechanisms
ENTRY_POINTS = "haptic_mechanisms"


def load_mechanism(name: str | Path, /, **arguments: object) -> Mechanism:
    """Makes a mechanism from its name.

    Args:
        name: "RollingDisk" (a ready one), "package.module:Class", "/path/file.py:Class", or only the path when the
            file defines a single mechanism.
        arguments: keyword arguments of the class.

    Raises:
        MechanismError: there is no such mechanism, and the message lists the known ones; or its definition is refused.
        ValueError: an argument is out of its range.

    Examples:
        >>> from admittance_constraints import load_mechanism
        >>> type(load_mechanism("RollingDisk", mass=1.0)).__name__
        'RollingDisk'
    """
    if not isinstance(name, (str, Path)):
        raise MechanismError(f"mechanism: expected a name or the path of a file, got {name!r}")
    found = mechanism_class(str(name))
    if inspect.isabstract(found):
        raise MechanismError(f"mechanism {name}: class {found.__name__} has no method define(self, d)")
    signature = inspect.signature(found)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise MechanismError(f"mechanism {name}: {error}; it takes {', '.join(signature.parameters)}") from None
    return found(**arguments)


def installed_mechanism(name: str, /, **arguments: object) -> Mechanism:
    """Makes a mechanism whose name is the value of a parameter: ready, or installed for this purpose, but no file.

    Args:
        name: of a ready one, or name or value (module:Class) of an entry point of group `haptic_mechanisms`.
        arguments: keyword arguments of the class.

    Raises:
        MechanismError, ValueError: as `load_mechanism`.
    """
    if name in mechanisms.__all__:
        return load_mechanism(name, **arguments)
    found = find_plugin(ENTRY_POINTS, name)
    if found is None:
        known = ", ".join([*mechanisms.__all__, *installed_plugins(ENTRY_POINTS)])
        raise MechanismError(
            f"mechanism {name}: expected one of {known}; one of your own is an entry point of group {ENTRY_POINTS}"
        )
    return load_mechanism(found.value, **arguments)


def mechanism_class(name: str) -> type[Mechanism]:
    """Finds the class of a mechanism by its name; see `load_mechanism`."""
    place, _, class_name = name.rpartition(":") if ":" in name else (name, "", "")
    if place.endswith(".py"):
        return _choose(name, _load_file(Path(place).expanduser()), class_name)
    if class_name:
        try:
            return _choose(name, importlib.import_module(place), class_name)
        except ModuleNotFoundError as error:
            raise MechanismError(f"mechanism {name}: {error}") from None
    if place in mechanisms.__all__:
        return _choose(name, mechanisms, place)
    ready = ", ".join(mechanisms.__all__)
    raise MechanismError(f"mechanism {name}: expected one of {ready}, or module:Class, or file.py:Class")


def _load_file(path: Path) -> ModuleType:
    try:
        check_file(path)
    except FileError as error:
        raise MechanismError(f"mechanism file {error}") from None
    label = "mechanism_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    specification = importlib.util.spec_from_file_location(label, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[label] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        del sys.modules[label]
        line = error.lineno if isinstance(error, SyntaxError) else _line_in(specification.origin or "", error)
        raise MechanismError(f"mechanism file {path}: line {line or 1}: {type(error).__name__}") from error
    return module


def _line_in(file: str, error: Exception) -> int:
    """Gives the last line of a file that ran before it raised an error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return (lines or [None])[-1] or 1


def _choose(name: str, module: ModuleType, class_name: str) -> type[Mechanism]:
    own = {
        label: value
        for label, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Mechanism) and value is not Mechanism
    }
    if class_name:
        if class_name not in own:
            raise MechanismError(f"mechanism {name}: expected one of {', '.join(own) or '(none)'}, got {class_name}")
        return own[class_name]
    defined = {label: value for label, value in own.items() if value.__module__ == module.__name__}
    if len(defined) != 1:
        raise MechanismError(f"mechanism {name}: expected file.py:Class with one of {', '.join(defined) or '(none)'}")
    return next(iter(defined.values()))
