"""Parameters of a node from one YAML file, in the grammar of generate_parameter_library.

    friction_node:
      stiffness: {type: double, default_value: 6000.0, description: "Stiffness K of model C [N/m]",
                  validation: {bounds<>: [1.0, 1.0e+6]}}
      law_file: {type: string, default_value: "", file: regular, description: "CSV file of law table"}

The grammar has no key for a unit: the description of every number ends with the unit in square brackets ([-] if
there is none). Two keys extend the grammar. `file` marks a parameter whose value names files, which cannot change
while the node is configured: `file: regular` is the path of one regular file, or empty; `file: true` is any other,
such as a directory or a name beside paths. With `nested: device_values`, each parameter `device_values.NAME` gives
one entry "NAME=value" of the list. The same file declares and checks the parameters, and is the source of the
documentation and of tests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import haptic_files
from haptic_core.errors import EntryError, ParameterError, shortened
from haptic_files import FileError, describe_yaml_error, listed, load_yaml, once_while_unchanged, read_text

Value = Any

_SCALARS: dict[str, type] = {"double": float, "int": int, "bool": bool, "string": str}
_KEYS = {"type", "default_value", "description", "read_only", "file", "nested", "validation"}

#: longest text of a parameter, and longest path of Linux [characters]
MAX_TEXT = 4096
#: constraint of a parameter that names a file
FIXED_ONCE_CONFIGURED = "fixed once the node is configured"


@dataclass(frozen=True)
class Rule:
    """One validator of the grammar: its test, its words, and a function that finds the entries that violate it."""

    holds: Callable[..., bool]
    words: Callable[..., str]
    wrong: Callable[..., list[Value]] | None = None


_RULES: dict[str, Rule] = {
    "bounds<>": Rule(lambda v, a, b: a <= v <= b, lambda a, b: f"from {a:g} to {b:g}"),
    "element_bounds<>": Rule(
        lambda v, a, b: all(a <= entry <= b for entry in v), lambda a, b: f"entries from {a:g} to {b:g}"
    ),
    "gt<>": Rule(lambda v, a: v > a, lambda a: f"above {a:g}"),
    "gt_eq<>": Rule(lambda v, a: v >= a, lambda a: f"{a:g} or more"),
    "lt<>": Rule(lambda v, a: v < a, lambda a: f"below {a:g}"),
    "lt_eq<>": Rule(lambda v, a: v <= a, lambda a: f"{a:g} or less"),
    "one_of<>": Rule(lambda v, a: v in a, lambda a: "one of " + ", ".join(map(str, a))),
    "subset_of<>": Rule(
        lambda v, a: set(v) <= set(a),
        lambda a: "taken from " + ", ".join(map(str, a)),
        lambda v, a: [entry for entry in v if entry not in a],
    ),
    "unique<>": Rule(lambda v: len(set(v)) == len(v), lambda: "without repetition"),
    "not_empty<>": Rule(lambda v: len(v) > 0, lambda: "not empty"),
    "size_lt<>": Rule(lambda v, a: len(v) < a, lambda a: f"fewer than {a} entries"),
}


@dataclass(frozen=True)
class ParameterSpec:
    """The declaration of a parameter: type, default, unit, description, validators.

    Attributes:
        read_only: the value is fixed from the start of the node.
        file: the value names files, and is fixed while the node is configured.
        regular_file: the value is the path of a regular file, or empty.
        nested: prefix of parameters that give one entry "name=value" of this list each; empty: there are none.
    """

    name: str
    type: str
    default: Value
    description: str
    unit: str
    read_only: bool = False
    file: bool = False
    regular_file: bool = False
    nested: str = ""
    validation: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def constraints(self) -> str:
        """The validators in words, for descriptions and errors."""
        return " and ".join(self._words(name, arguments) for name, arguments in self.validation.items())

    def check(self, value: Value) -> Value:
        """Checks a value and returns it in the declared type; an integer is accepted as a double.

        Raises:
            ParameterError: wrong type, not finite, or a validator is not met.
        """
        scalar = self.type.removesuffix("_array")
        if self.type == "string_array":
            value = list_of_text(value)
        if self.type.endswith("_array"):
            if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
                raise self._refusal(value, "a list")
            checked: Value = [self._scalar(scalar, entry, value) for entry in value]
        else:
            checked = self._scalar(scalar, value, value)
        for name, arguments in self.validation.items():
            rule = _RULES[name]
            if not rule.holds(checked, *arguments):
                wrong = rule.wrong(checked, *arguments) if rule.wrong else []
                raise self._refusal(value, self._words(name, arguments), wrong)
        return checked

    def check_file(self, value: Value) -> None:
        """Checks that the regular file named by the value, if any, can be read.

        Raises:
            ParameterError: the file cannot be read.
        """
        if not (self.regular_file and value):
            return
        try:
            haptic_files.check_file(value)
        except FileError as error:
            raise ParameterError(f"parameter {self.name}: {error}") from None

    def _words(self, rule: str, arguments: Sequence[Any]) -> str:
        words = _RULES[rule].words(*arguments)
        return words.replace("entries", "characters") if self.type == "string" else words

    def _scalar(self, kind: str, value: Value, given: Value) -> Value:
        if kind == "double" and isinstance(value, int) and not isinstance(value, bool):
            try:
                value = float(value)
            except OverflowError:
                raise self._refusal(given, "finite") from None
        if type(value) is not _SCALARS[kind]:
            raise self._refusal(given, f"{self.type}")
        if isinstance(value, float) and not math.isfinite(value):
            raise self._refusal(given, "finite")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise self._refusal(given, f"at most {MAX_TEXT} characters")
        return value

    def _refusal(self, value: Value, expected: str, wrong: Sequence[Value] = ()) -> ParameterError:
        unit = f" [{self.unit}]" if self.unit else ""
        culprits = f"{', '.join(map(repr, wrong))} in " if wrong else ""
        return ParameterError(f"parameter {self.name}: expected {expected}{unit}, got {culprits}{shortened(value)}")


def list_of_text(value: Value) -> Value:
    """Returns the list that a text in brackets stands for, such as "[x, y]"; any other value as it is.

    A launch file gives a list in which y may occur as one text: `ros2 launch` writes lists of texts without quotes, and
    rcl reads y as true.
    """
    if not (isinstance(value, str) and value.startswith("[") and len(value) <= MAX_TEXT):
        return value
    try:
        found = load_yaml(value)
    except (yaml.YAMLError, ValueError, RecursionError):
        return value
    return found if isinstance(found, list) else value


def load_parameter_specs(path: Path) -> dict[str, ParameterSpec]:
    """Reads a parameter file; a file that has not changed since the last call is not read again.

    Args:
        path: YAML file with one top-level key, the name of the parameter set.

    Raises:
        ParameterError: the file breaks the grammar, or a number lacks a unit.
    """
    return dict(_load(path))


@once_while_unchanged
def _load(path: Path) -> dict[str, ParameterSpec]:
    try:
        text = read_text(path)
    except FileError as error:
        raise ParameterError(str(error)) from None
    try:
        document = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # such as the date 2020-13-45
        raise ParameterError(f"{path}: {describe_yaml_error(error, text)}") from None
    if not isinstance(document, dict) or len(document) != 1:
        raise ParameterError(f"{path.name}: expected one top-level key, the name of the parameter set")
    (entries,) = document.values()
    if not isinstance(entries, dict):
        raise ParameterError(f"{path.name}: expected a mapping of parameter names to their declarations")
    return {str(name): _spec(path.name, str(name), entry) for name, entry in entries.items()}


def _spec(file: str, name: str, entry: dict[str, Any]) -> ParameterSpec:
    if not isinstance(entry, dict):
        raise ParameterError(f"{file}: {name}: expected a mapping with keys of {sorted(_KEYS)}, got {entry!r}")
    unknown = sorted(str(key) for key in set(entry) - _KEYS)
    if unknown:
        raise ParameterError(f"{file}: {name}: unknown key {unknown[0]}, expected {sorted(_KEYS)}")
    for key in ("type", "default_value", "description"):
        if entry.get(key) is None:
            raise ParameterError(f"{file}: {name}: {key} is missing")
    for key in ("type", "description"):
        if not isinstance(entry[key], str):
            raise ParameterError(f"{file}: {name}: {key}: expected a text, got {shortened(entry[key])}")
    kind = entry["type"]
    if kind.removesuffix("_array") not in _SCALARS:
        raise ParameterError(f"{file}: {name}: unknown type {kind}")
    validation = entry.get("validation", {})
    if not isinstance(validation, dict) or not all(isinstance(given, list) for given in validation.values()):
        raise ParameterError(f"{file}: {name}: validation: expected validators with lists, got {shortened(validation)}")
    for rule in validation:
        if rule not in _RULES:
            raise ParameterError(f"{file}: {name}: unknown validator {rule}, expected one of {sorted(_RULES)}")
    description = entry["description"].strip()
    unit = description[description.rfind("[") + 1 : -1] if description.endswith("]") else ""
    if kind.removesuffix("_array") in ("double", "int") and not unit:
        raise ParameterError(f"{file}: {name}: the description must end with the unit in brackets")
    spec = ParameterSpec(
        name=name,
        type=kind,
        default=entry["default_value"],
        description=description,
        unit=unit,
        read_only=bool(entry.get("read_only", False)),
        file=bool(entry.get("file", False)),
        regular_file=entry.get("file") == "regular",
        nested=str(entry.get("nested", "")),
        validation=validation,
    )
    try:
        return ParameterSpec(**{**spec.__dict__, "default": spec.check(spec.default)})
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{file}: {name}: validation: {error}") from None


_FROM_TO = re.compile(r"from (\S+) to (\S+)")
_ONE_SIDED = {"above (\\S+)": "low", "(\\S+) or more": "low", "below (\\S+)": "high", "(\\S+) or less": "high"}


def limits_in(constraints: str) -> tuple[float, float, tuple[str, ...]]:
    """Parses lower bound, upper bound and choices from the words of `ParameterSpec.constraints`.

    A missing bound is infinite, missing choices are empty; bounds of a list's entries are ignored.
    """
    low, high = -math.inf, math.inf
    choices: tuple[str, ...] = ()
    for part in constraints.split(" and "):
        if found := _FROM_TO.fullmatch(part):
            low, high = max(low, float(found[1])), min(high, float(found[2]))
        elif part.startswith("one of "):
            choices = tuple(part.removeprefix("one of ").split(", "))
        for words, side in _ONE_SIDED.items():
            if found := re.fullmatch(words, part):
                low = max(low, float(found[1])) if side == "low" else low
                high = min(high, float(found[1])) if side == "high" else high
    return low, high, choices


def check_all(specs: Mapping[str, ParameterSpec], values: Mapping[str, Value]) -> dict[str, Value]:
    """Checks values against the specs and adds the defaults; nested parameters become entries of their lists.

    Raises:
        ParameterError: a name is unknown or a value is refused.
    """
    values = fold_nested(specs, values)
    for name in values:
        check_name(specs, name)
    return {name: spec.check(values.get(name, spec.default)) for name, spec in specs.items()}


def check_name(specs: Mapping[str, ParameterSpec], name: str) -> None:
    """Refuses the name of a parameter that is not declared; raises ParameterError."""
    if name not in specs:
        raise ParameterError(
            f"parameter {shortened(name)[1:-1]}: unknown, expected one of {listed(sorted(specs), name)}"
        )


def nested_spec(specs: Mapping[str, ParameterSpec], name: str) -> ParameterSpec | None:
    """Returns the list to which a nested parameter belongs; None if the name is not that of a nested parameter."""
    prefix, _, entry = name.partition(".")
    return next((spec for spec in specs.values() if entry and spec.nested == prefix), None)


def fold_nested(
    specs: Mapping[str, ParameterSpec], values: Mapping[str, Value], now: Mapping[str, Value] | None = None
) -> dict[str, Value]:
    """Replaces entries of lists by nested parameters; the returned values have no nested parameters.

    Args:
        specs: declarations of the parameters.
        values: values by name.
        now: current lists, for those missing in `values`; without them the defaults are used.

    Raises:
        ParameterError: a list that gets entries is not a list of texts.
    """
    nested: dict[str, dict[str, Value]] = {}
    folded = dict(values)
    for name in values:
        spec = nested_spec(specs, name)
        if spec is not None:
            nested.setdefault(spec.name, {})[name.partition(".")[2]] = folded.pop(name)
    for name, changes in nested.items():
        entries = folded.get(name, (now or {}).get(name, specs[name].default))
        folded[name] = haptic_files.with_entries(specs[name].check(entries), changes)
    return folded


def parse_entries(entries: Sequence[str]) -> dict[str, tuple[Value, str]]:
    """Parses entries "name=value", the value in YAML, to (value, entry) by name; empty entries are ignored.

    Raises:
        EntryError: an entry has another form, or a name is given twice; the message quotes the entry.
    """
    try:
        return haptic_files.parse_entries(entries)
    except ValueError as error:
        raise EntryError(str(error)) from None


def entry_values(entries: Sequence[str]) -> dict[str, Value]:
    """Parses entries "name=value" to values by name; raises as `parse_entries`."""
    return {name: value for name, (value, _) in parse_entries(entries).items()}
