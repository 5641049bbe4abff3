"""ROS parameter files, and the values that a file gives to a node.

    /joystick/friction:
      ros__parameters:
        friction_force: 2.0

The key is the full name of a node, or a pattern of ROS 2: `*` is one part of a name, `**` any number of parts. Parts
may be nested. Patterns are applied in the order of the file, then the full name. The output of `ros2 param dump` is
such a file; parameters that ROS declares itself are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from haptic_core.errors import ParameterError, shortened
from haptic_core.parameters import ParameterSpec, nested_spec
from haptic_files import FileError, kind_of, nearest, read_yaml

#: parameter, and argument of the launch files, that names the file
PARAMS_FILE = "params_file"
_KEY = "ros__parameters"
#: parameters that a file may have and that have no effect: declared by rclpy, or this file's own name
_ROS_OWN = ("use_sim_time", "start_type_description_service", PARAMS_FILE)
_QOS = "qos_overrides."

Sections = dict[str, dict[str, Any]]


def read_parameter_file(path: str | Path) -> Sections:
    """Reads a parameter file.

    Returns:
        Parameters by the full name of the node, or by the pattern; nested parameters have names with dots.

    Raises:
        ParameterError: the file cannot be read, is not YAML, or is no ROS parameter file.
    """
    try:
        document = read_yaml(path).value
    except FileError as error:
        raise ParameterError(str(error)) from None
    found: Sections = {}
    for name, parameters in _sections(document if document is not None else {}, "", str(path)):
        found.setdefault(name, {}).update(parameters)
    return found


def _sections(tree: object, name: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(tree, dict) or (name and not tree):
        where = f"{path}: node {name}" if name else path
        raise ParameterError(f"{where}: expected names of nodes over {_KEY}, got {kind_of(tree)}")
    for key, value in tree.items():
        if key == _KEY and name:
            if not isinstance(value, dict):
                raise ParameterError(f"{path}: node {name}: {_KEY}: expected a mapping, got {kind_of(value)}")
            yield name, dict(_flattened(value, "", f"{path}: node {name}"))
        elif not isinstance(key, str) or key == _KEY:
            raise ParameterError(f"{path}: expected the name of a node, got {shortened(key)}")
        else:
            yield from _sections(value, f"{name}/{key.strip('/')}", path)


def _flattened(values: Mapping[object, object], prefix: str, where: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flattened(value, f"{name}.", where)
        elif _is_ros_own(name):
            continue
        elif _is_value(value):
            yield name, value
        else:
            expected = "a boolean, a number, a text, or a list with entries of one of these types"
            raise ParameterError(f"{where}: parameter {name}: expected {expected}, got {shortened(value)}")


def _is_ros_own(name: str) -> bool:
    return name in _ROS_OWN or name.startswith(_QOS)


def _is_value(value: object) -> bool:
    if isinstance(value, list):
        return len({type(entry) for entry in value}) == 1 and not isinstance(value[0], list) and _is_value(value[0])
    return isinstance(value, (bool, int, float, str))


def matches(pattern: str, full_name: str) -> bool:
    """Returns whether a key of a parameter file applies to the node of this full name."""
    parts = {"**": r"(?:/\w+)*", "*": r"/\w+"}
    expression = "".join(parts.get(part, "/" + re.escape(part)) for part in pattern.strip("/").split("/"))
    return re.fullmatch(expression, full_name) is not None


def values_for(path: str | Path, full_name: str, specs: Mapping[str, ParameterSpec]) -> dict[str, Any]:
    """Returns the checked values that a file gives to a node; nested parameters are not checked (see `fold_nested`).

    Args:
        path: of the file.
        full_name: of the node, with its namespace.
        specs: declarations of the node's parameters. A parameter of a pattern that the node lacks is ignored.

    Raises:
        ParameterError: see `read_parameter_file`; or a parameter is unknown or its value refused. The message names
            file, node and parameter.
    """
    sections = read_parameter_file(path)
    found: dict[str, Any] = {}
    for pattern in sorted((key for key in sections if matches(key, full_name)), key=lambda key: key == full_name):
        where = f"{path}: node {pattern}"
        for name, value in sections[pattern].items():
            if name in specs:
                try:
                    found[name] = specs[name].check(value)
                except ParameterError as error:
                    raise ParameterError(f"{where}: {error}") from None
            elif nested_spec(specs, name):
                found[name] = value
            elif pattern == full_name:
                raise ParameterError(f"{where}: parameter {name}: unknown{nearest(name, specs)}")
    return found
