"""Parameters that are lists of "name=value"."""

from __future__ import annotations

import re
from array import array

import pytest

from haptic_files import parse_entries, with_entries


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


def test_entries_replace_those_of_their_name_and_keep_every_value() -> None:
    assert with_entries(["a=1", " b = [2]", ""], {"b": [0.5], "c": 3}) == ["a=1", "", "b=[0.5]", "c=3"]
    assert with_entries([], {"size": array("d", [0.5, 1.0])}) == ["size=[0.5, 1.0]"]  # as ROS gives parameters
    values = {"small": 1e-5, "text": "1e-5 = [x", "yes": True, "none": None, "list": ["a, b", "off"]}
    assert {name: value for name, (value, _) in parse_entries(with_entries([], values)).items()} == values
