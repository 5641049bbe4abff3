"""Parameters of the launch files, as ROS 2's own launch writes them into files that rcl reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launched_nodes import launched

from haptic_launch.experiments import share
from haptic_launch.launch_file import load_launch_file

FILES = sorted((share() / "launch").glob("*.launch.yaml"))
#: texts that PyYAML writes without quotes, and rcl reads as true and false
TRUTH_VALUES = {"y", "Y", "n", "N"}


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from texts(entry)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_no_text_becomes_a_truth_value_under_ros2_launch(file: Path) -> None:
    """The default axes of friction_impedance and friction_admittance, x and y, ended their friction_node."""
    for spec, parameters in launched(load_launch_file(file)):
        assert not TRUTH_VALUES & set(texts(parameters)), spec.name
