"""The graph of an experiment in one process does what its nodes do, to the last bit.

The reports of the experiments with several nodes compare them with the graph themselves, and their tests read that.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from started_runs import finish

from haptic_bags.bags import Bag
from haptic_experiments import graph

#: field of DeviceState -> name in the graph's columns
DEVICE = {
    "joint_position": "position",
    "joint_velocity": "velocity",
    "joint_effort": "effort",
    "tool_pose": "tool_pose",
    "tool_twist": "tool_twist",
    "tool_wrench": "tool_wrench",
}


@pytest.mark.experiment
@pytest.mark.parametrize(
    "name, duration",
    [
        ("friction_impedance", "0.5"),
        pytest.param("friction_admittance", "0.5", marks=pytest.mark.experiment),
        pytest.param("rolling_disk", "0.5", marks=pytest.mark.experiment),
        pytest.param("tau_wall", "0.5", marks=pytest.mark.experiment),
        pytest.param("touch_clutter", "0.5", marks=pytest.mark.experiment),
    ],
)
def test_readings_of_the_device_are_identical(name: str, duration: str, tmp_path: Path) -> None:
    arguments = [f"duration:={duration}", f"output:={tmp_path / 'bag'}"]
    finish(tmp_path / "run", [sys.executable, "-m", "haptic_bringup", "run", name, *arguments])
    bag = Bag(tmp_path / "bag")
    (state,) = (columns for topic, columns in bag.topics.items() if topic.endswith("/device_state"))
    device = graph.run(name, {"duration": duration}).columns["device"]
    again = graph.of_bag(bag).run().columns["device"]
    assert len(state["tick"]) == len(device["position"])
    assert np.abs(np.diff(device["position"], axis=0)).max() > 0.0  # something moves
    for field, column in DEVICE.items():
        np.testing.assert_array_equal(np.array(state[field]), device[column], err_msg=field)
        np.testing.assert_array_equal(again[column], device[column], err_msg=field)


def test_arguments_reach_device_and_renderer() -> None:
    arguments = {"duration": "0.2"}
    plain = graph.run("friction_impedance", arguments)
    other = graph.run("friction_impedance", {**arguments, "friction_force": "1.0"})
    assert np.abs(plain.columns["friction"]["force"]).max() > np.abs(other.columns["friction"]["force"]).max()
    assert len(graph.run("friction_impedance", arguments, ticks=7).columns["device"]["position"]) == 7
