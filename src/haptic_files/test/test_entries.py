"""Parameters that are lists of "name=value"."""

from __future__ import annotations

import re

import pytest

from haptic_files import parse_entries


def test_values_are_yaml_and_empty_entries_are_skipped() -> None:
    entries = ["mass=0.5", "", " base = [0.1, -2] ", "name=two = three"]
    assert parse_entries(entries) == {
        "mass": (0.5, "mass=0.5"),
        "base": ([0.1, -2], " base = [0.1, -2] "),
        "name": ("two = three", "name=two = three"),
    }


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["mass"], "entry 'mass': expected name=value"),
        (["mass="], "entry 'mass=': expected name=value"),
        (["=1"], "entry '=1': expected name=value"),
        (["mass=[1"], "entry 'mass=[1': the value is not YAML"),
        (["mass=2020-13-45"], "entry 'mass=2020-13-45': the value is not YAML"),
        (["mass=1", "mass=2"], "entry 'mass=2': mass is given twice"),
    ],
)
def test_refusal_names_the_entry(entries: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_entries(entries)
