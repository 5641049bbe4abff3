"""Opens a world: a file by its path, a file of a folder by its name, or a function; replaces some of its values.

    open_world("clutter", {"materials.surface.stiffness": 1e9, "bodies.ball.velocity": [1, 0, 0]}, folder=worlds)
    open_world("my_scenes:tower", {"floors": 5})     # an entry point of group haptic_worlds
    open_world("mug.stl", {"density": 700.0})        # a URDF, an MJCF model or a mesh, on a table beside a finger

An entry names a value of the file by its keys; an item of a list is named by its number or by its `name`. The entries
of a function are its arguments. The function `TOUCHED_FILE` opens a URDF, an MJCF model and a mesh.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from convex_contact._moved import current_path
from convex_contact.model.load import LOADERS
from convex_contact.model.world import World, WorldError
from convex_contact.model.world_file import world_of
from haptic_files import FileError, kind_of, listed, read_yaml
from haptic_files.plugins import find_plugin, installed_plugins

#: group of the entry points of functions that make a world
ENTRY_POINTS = "haptic_worlds"
#: function of the world with a file's bodies and a tool
TOUCHED_FILE = "convex_contact.scenes.touched_file:touched_file"
#: suffixes of world files
_WORLD_FILES = {".yaml", ".yml"}
#: module:function
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def open_world(source: str, values: Mapping[str, Any] | None = None, folder: Path | None = None) -> World:
    """Returns the world of a source.

    Args:
        source: path of a YAML file, name of a file in the folder, module:function, or path of a URDF, an MJCF model or
            a mesh.
        values: replacements of values of the file, by its keys with dots between them; or the function's arguments.
        folder: in which worlds are searched by name.

    Raises:
        WorldError: there is no such world, it is wrong, or it does not have a value.
    """
    if _FUNCTION.fullmatch(source):
        return _called(source, dict(values or {}))
    if Path(source).suffix.lower() in LOADERS.keys() - _WORLD_FILES:
        unknown = sorted((values or {}).keys() - {"density"})
        if unknown:
            takes = "takes density alone, of the body of a mesh; other entries are those of world files (.yaml)"
            raise WorldError(f"entry {unknown[0]}: {Path(source).name} {takes}")
        return _called(TOUCHED_FILE, {"file": str(_path(source)), **(values or {})})
    file = _found(source, folder)
    try:
        document = read_yaml(file)
    except FileError as error:
        raise WorldError(str(error)) from None
    _replace(file.name, document.value, values or {})
    try:
        return world_of(document, file.parent)
    except WorldError as error:
        raise WorldError(_refused_entry(file, values or {}) + str(error)) from None


def _refused_entry(file: Path, values: Mapping[str, Any]) -> str:
    """Names the first entry that alone makes a file's world impossible; empty if the file is wrong without entries."""
    for path in (None, *values):
        document = read_yaml(file)
        _replace(file.name, document.value, {} if path is None else {path: values[path]})
        try:
            world_of(document, file.parent)
        except WorldError:
            return "" if path is None else f"entry {path}: "
    return ""


def entry_point_value(source: str) -> str:
    """Returns the value of the entry point that a source module:function names.

    Launch files and bags name the worlds of this package by the paths that its modules had.
    """
    module, _, name = source.partition(":")
    return f"{current_path(module)}:{name}"


def scene_world(scene: Any, called: str, numbers: Mapping[str, Any]) -> World:
    """Makes the world of a scene with other numbers than its defaults, for the function that an entry point names.

    Args:
        scene: dataclass of the scene's numbers, with a method `world`.
        called: name of the scene in messages.
        numbers: by name.

    Raises:
        WorldError: there is no such number, or it is impossible.
    """
    names = [field.name for field in fields(scene)]
    unknown = sorted(numbers.keys() - set(names))
    if unknown:
        raise WorldError(f"{unknown[0]}: no number of the {called}; expected one of {', '.join(names)}")
    try:
        made: World = scene(**numbers).world()
    except ValueError as error:
        raise WorldError(str(error)) from None
    return made


def _found(source: str, folder: Path | None) -> Path:
    path = _path(source)
    if path.suffix.lower() in _WORLD_FILES or folder is None:
        return path
    if "/" in source or path.exists():
        raise WorldError(f"{path.name}: expected a file ending in {', '.join(sorted(LOADERS))}")
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if source not in known:
        expected = ", ".join(known) or "none"
        raise WorldError(f"{source}: no such world; expected a path, module:function, or one of {expected}")
    return folder / f"{source}.yaml"


def _path(source: str) -> Path:
    """Returns a path in which a leading ~ is the home directory; no shell expands it after ``world:=``."""
    try:
        return Path(source).expanduser()
    except RuntimeError:  # there is no such user
        return Path(source)


def _replace(name: str, document: Any, values: Mapping[str, Any]) -> None:
    """Replaces values of a document.

    Raises:
        WorldError: the document has no such key.
    """
    for path, value in values.items():
        *parents, last = path.split(".")
        at, reached = document, name
        for key in parents:
            at = at[_key(at, key, path, reached)]
            reached += f".{key}"
        if isinstance(at, dict):
            at[last] = value
        else:
            at[_key(at, last, path, reached)] = value


def _key(at: Any, key: str, path: str, reached: str) -> Any:
    """Returns the key of a mapping, or the index in a list, that a part of an entry's path names."""
    if isinstance(at, dict) and key in at:
        return key
    if isinstance(at, list):
        if key.isdecimal() and int(key) < len(at):
            return int(key)
        for i, item in enumerate(at):
            if isinstance(item, dict) and item.get("name") == key:
                return i
    raise WorldError(f"entry {path}: {reached} has no {key!r}, it is {kind_of(at)}")


def _called(source: str, arguments: dict[str, Any]) -> World:
    value = entry_point_value(source)
    found = find_plugin(ENTRY_POINTS, value)
    if found is None:
        installed = {point.value for point in installed_plugins(ENTRY_POINTS).values()}
        known = listed(sorted(installed), value) or "none is installed"
        raise WorldError(f"{source}: expected a function of the entry points of group {ENTRY_POINTS}: {known}")
    try:
        function = found.load()
        inspect.signature(function).bind(**arguments)
        made = function(**{key: _number(value) for key, value in arguments.items()})
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        if source == TOUCHED_FILE and isinstance(error, WorldError):
            raise  # the message names the file
        raise WorldError(f"{source}: {' '.join(str(error).split())}") from None
    if not isinstance(made, World):
        raise WorldError(f"{source}: expected a World, got {type(made).__name__}")
    return made


def _number(value: Any) -> Any:
    """Converts a text such as 1e7, which YAML does not read as a number; returns other values unchanged."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
