"""Parameters that are lists of strings "name=value", each value in YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml


class EntryError(ValueError):
    """An entry "name=value" cannot be used."""


def parse_entries(entries: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Parses entries "name=value" and skips empty ones, since ROS launch files cannot write an empty list of strings.

    Args:
        entries: each "name=value", the value in YAML; white space around both is ignored.

    Returns:
        Value and whole entry by name.

    Raises:
        EntryError: an entry has another form, or a name is given twice; the message has the entry.
    """
    parsed: dict[str, tuple[Any, str]] = {}
    for entry in entries:
        name, _, text = (part.strip() for part in entry.partition("="))
        if not entry.strip():
            continue
        if not (name and text):
            raise EntryError(f"entry {entry!r}: expected name=value")
        if name in parsed:
            raise EntryError(f"entry {entry!r}: {name} is given twice")
        try:
            parsed[name] = (yaml.safe_load(text), entry)
        except (yaml.YAMLError, ValueError, RecursionError):  # such as the date 2020-13-45
            raise EntryError(f"entry {entry!r}: the value is not YAML") from None
    return parsed
