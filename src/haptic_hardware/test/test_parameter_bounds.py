"""The controller bounds the parameters that it shares with the device node as that node does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import haptic_devices
from haptic_core.parameters import load_parameter_specs

SOURCE = Path(__file__).parents[1] / "src" / "controller_configuration.cpp"
BOUNDED = {
    name: (float(low), float(high))
    for name, low, high in re.findall(r'bounded\("(\w+)", ([\d.]+), ([\d.]+)\)', SOURCE.read_text())
}
DECLARED = load_parameter_specs(Path(haptic_devices.__file__).with_name("device_node.yaml"))


@pytest.mark.parametrize("name", ["activation_timeout", "answer_timeout", "display_rate"])
def test_bounds_of_a_number_are_those_of_the_device_node(name: str) -> None:
    low, high = BOUNDED[name]
    assert DECLARED[name].constraints == f"from {low:g} to {high:g}"
