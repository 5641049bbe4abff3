"""Entries "name=value" and "node:kind" of lists of texts, such as values of ROS parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from haptic_files.fast_yaml import load_yaml


class ParameterValues(dict[str, Any]):
    """Values of parameters by name; a missing one is a ValueError that names it.

    Examples:
        >>> from haptic_files import ParameterValues
        >>> ParameterValues(period=1e-3)["mode"]
        Traceback (most recent call last):
        ValueError: parameter mode: expected a value, got none
    """

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"parameter {name}: expected a value, got none")


def parse_entries(entries: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Returns the value and the whole entry by name; values are YAML, empty entries are left out.

    Raises:
        ValueError: an entry is not of this form, or a name is given twice; the message has the entry.
    """
    parsed: dict[str, tuple[Any, str]] = {}
    for entry in entries:
        name, _, text = (part.strip() for part in entry.partition("="))
        if not entry.strip():
            continue  # ROS launch files cannot write an empty list of strings
        if not (name and text):
            raise ValueError(f"entry {entry!r}: expected name=value")
        if name in parsed:
            raise ValueError(f"entry {entry!r}: {name} is given twice")
        try:
            parsed[name] = (load_yaml(text), entry)
        except (yaml.YAMLError, ValueError, RecursionError):  # such as the date 2020-13-45
            raise ValueError(f"entry {entry!r}: the value is not YAML") from None
    return parsed


@cache
def node_and_kind(entry: str) -> tuple[str, str]:
    """Splits an entry `node:kind` of the parameter `inputs` into node and kind; `wall` is `wall:wall`."""
    node, _, kind = entry.partition(":")
    return node, kind or node


def with_entries(entries: Sequence[str], changes: Mapping[str, Any]) -> list[str]:
    """Returns the entries "name=value" with changed values; a name without an entry gets one."""
    kept = [entry for entry in entries if entry.partition("=")[0].strip() not in changes]
    return [*kept, *(f"{name}={_text(value)}" for name, value in changes.items())]


def _text(value: Any) -> str:
    """Formats a value as YAML in one line; an array as a list."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return yaml.safe_dump(value, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()
