"""Values of node parameters in launch files, and the rules for their types.

The rules are those of ROS 2's YAML launch front end (Jazzy):

* A value without substitution keeps its type in YAML: `5` is an integer, `"5"` is a string.
  Lists have one type of element; `[1, 2.5]` is refused.
* A string with a substitution is evaluated, and the result is read as YAML again: `$(var x)` with `x:=5` is
  an integer, with `x:=5.0` a float, with `x:=true` a boolean, with `x:='[1.0, 2.0]'` a list of floats. The
  result `''` stays an empty string; null, mappings and dates are refused.
* `type: str` keeps the text; `type: float` (`int`, `bool`) converts it, so that `x:=5` gives 5.0. A value
  without substitution has to have the stated type already. `list_of_float` and so on take a YAML list.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from haptic_files import FileError, check_file, load_yaml, write_text

from .launch_substitutions import Context, LaunchFileError, Template, evaluate, parse_template

__all__ = ["ParameterType", "ParameterValue", "Scalar", "dump_parameters", "parse_parameter_value", "write_parameters"]

Scalar = bool | int | float | str
#: list within a list, which is not a parameter value; a YAML parser needs seconds for thousands of brackets
_NESTED = re.compile(r"\s*\[\s*\[")
_SCALARS: dict[str, type] = {"str": str, "bool": bool, "float": float, "int": int}


@dataclass(frozen=True)
class ParameterType:
    """The attribute `type` of a parameter: a scalar type, or a list of it."""

    scalar: type
    is_list: bool = False

    @classmethod
    def parse(cls, text: object) -> ParameterType | None:
        """Parses the attribute; returns None for `yaml`, which has the same effect as no attribute."""
        names = [*_SCALARS, *(f"list_of_{name}" for name in _SCALARS)]
        if text == "yaml":
            return None
        if not isinstance(text, str) or text not in names:
            raise LaunchFileError(f"unknown type '{text}'; understood: {', '.join(names)}, yaml")
        return cls(_SCALARS[text.replace("list_of_", "")], text.startswith("list_of_"))

    def __str__(self) -> str:
        return f"list_of_{self.scalar.__name__}" if self.is_list else self.scalar.__name__


@dataclass(frozen=True)
class ParameterValue:
    """A parameter's value before its evaluation; strings with substitutions are templates."""

    value: Scalar | Template | list[Scalar | Template]
    type: ParameterType | None

    @property
    def expected(self) -> str:
        """Type in words, for errors."""
        if self.type is None:
            return "a value, or a list of values of one type"
        return {float: "a number", int: "a whole number", bool: "true or false"}.get(self.type.scalar, "text")

    def evaluate(self, context: Context) -> Scalar | list[Scalar]:
        """Returns the value with its final type."""
        if isinstance(self.value, tuple):
            value: Scalar | list[Scalar] = _coerce(evaluate(self.value, context), self.type)
            return value
        if not isinstance(self.value, list):
            return self.value
        element = ParameterType(self.type.scalar) if self.type else None
        values: list[Any] = []
        for item in self.value:
            values.append(_coerce(evaluate(item, context), element) if isinstance(item, tuple) else item)
        if not _is_uniform(values):
            raise LaunchFileError(f"the elements of a list have to have one type, not {values}")
        return values


def parse_parameter_value(raw: object, kind: ParameterType | None) -> ParameterValue:
    """Checks the type of a `value` attribute as far as possible without evaluation.

    Args:
        raw: value parsed by YAML.
        kind: attribute `type`, if given.
    """
    if isinstance(raw, list):
        if kind is not None and not kind.is_list:
            raise LaunchFileError(f"value {raw} is a list but type is {kind}")
        if not raw:
            raise LaunchFileError("a list needs one element or more; ROS 2 reads no type from an empty one")
        values = [_parse_scalar(item) for item in raw]
        types = {type(value) for value in values} - {tuple}
        if len(types) > 1 or not types <= set(_SCALARS.values()):
            names = ", ".join(sorted(entry.__name__ for entry in types))
            raise LaunchFileError(f"the elements of {raw} have to have one type, not {names}")
        if kind is not None and types - {kind.scalar}:
            raise LaunchFileError(f"value {raw} does not have the stated type {kind}")
        return ParameterValue(values, kind)
    value = _parse_scalar(raw)
    if kind is not None and kind.is_list:
        raise LaunchFileError(f"value {raw!r} is not a list but type is {kind}")
    if kind is not None and not isinstance(value, (tuple, kind.scalar)):
        raise LaunchFileError(f"value {raw!r} does not have the stated type {kind}")
    return ParameterValue(value, kind)


def _parse_scalar(raw: object) -> Scalar | Template:
    if isinstance(raw, str):
        template = parse_template(raw)
        return template[0] if len(template) == 1 and isinstance(template[0], str) else template
    if isinstance(raw, (bool, int, float)):
        return raw
    raise LaunchFileError(
        f"value {raw!r} is neither a boolean, a number, a string nor a list of these; use 'param' for nesting"
    )


def _coerce(text: str, kind: ParameterType | None) -> Any:
    """Converts an evaluated text to its type."""
    if kind is not None and kind.scalar is str:
        return text
    try:
        if kind is not None and kind.scalar in (int, float):
            return kind.scalar(text)
        if kind is None and not text:
            return text
        if _NESTED.match(text):
            raise ValueError
        value = load_yaml({"1": "true", "0": "false"}.get(text, text) if kind is not None else text)
    except (ValueError, yaml.YAMLError, RecursionError):
        hint = "" if kind is not None else " (type: str keeps it as it is)"
        raise LaunchFileError(f"'{text}' cannot be read as {kind or 'YAML'}{hint}") from None
    if kind is not None and not isinstance(value, bool):
        raise LaunchFileError(f"'{text}' cannot be read as {kind}")
    if not isinstance(value, (bool, int, float, str)) and not (isinstance(value, list) and _is_uniform(value)):
        raise LaunchFileError(f"'{text}' is no parameter value (type: str keeps it as it is)")
    return value


def _is_uniform(values: list[Any]) -> bool:
    """Returns whether the list has elements, all of one type; ROS 2 finds no type for an empty list."""
    return {type(value) for value in values} in [{scalar} for scalar in _SCALARS.values()]


class _QuotingDumper(yaml.CSafeDumper):
    """YAML dumper that quotes every text, since rcl reads y as true, and writes no aliases, which rcl refuses."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def dump_parameters(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the text of a ROS parameter file.

    Args:
        nodes: parameters by the full name of the node, or `/**`.
    """
    document = {name: {"ros__parameters": dict(values)} for name, values in nodes.items()}
    return yaml.dump(document, Dumper=_QuotingDumper, default_flow_style=False, width=10**9, sort_keys=False)


def checked_file(path: str) -> str:
    """Returns the path of a parameter file that can be read.

    Raises:
        LaunchFileError: it cannot.
    """
    try:
        check_file(path)
    except FileError as error:
        raise LaunchFileError(f"parameter file {error}") from None
    return path


def write_parameters(nodes: Mapping[str, Mapping[str, Any]], directory: Path) -> str:
    """Writes a parameter file; returns its path."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="parameters_", suffix=".yaml", dir=directory)
    os.close(descriptor)
    write_text(Path(name), dump_parameters(nodes))
    return name
