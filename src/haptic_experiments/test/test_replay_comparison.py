"""Comparison of recorded and replayed messages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replay_bags import FRICTION_STATE, a_run, wire, write_bag

from haptic_bags.bag_comparison import compare_topic, device_differs
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, SIMULATION_STATE, Recording

STATISTICS = "haptic_msgs/msg/SolverStatistics"


def commands(forces: Mapping[int, tuple[float, float]], source: str = "friction", **more: Any) -> dict[Any, bytes]:
    return {
        (k, source): wire(
            DEVICE_COMMAND, k, source=source, mode=2, tool_wrench__force__x=x, tool_wrench__force__y=y, **more
        )
        for k, (x, y) in forces.items()
    }


STEADY = dict.fromkeys(range(4), (1.0, 2.0))


def test_equal_messages_are_equal() -> None:
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(STEADY))
    assert result.equal and result.compared == 4 and result.first is None and not result.fields


def test_difference_is_reported_with_its_tick_and_size() -> None:
    """Of four messages two differ, by the vectors (3, -4) and (0, 1): RMS sqrt((25 + 1)/4)."""
    other = {**STEADY, 2: (4.0, -2.0), 3: (1.0, 3.0)}
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(other))
    assert not result.equal and (result.differing, result.first) == (2, 2)
    assert set(result.fields) == {"tool_wrench.force"}
    force = result.fields["tool_wrench.force"]
    assert (force.ticks, force.largest, force.unlike) == (2, 4.0, 0)
    assert force.rms == pytest.approx(np.sqrt(26 / 4), rel=1e-15)


def test_only_what_both_have_is_compared() -> None:
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(dict.fromkeys((2, 3, 4), (1.0, 2.0))))
    assert (result.recorded, result.replayed, result.compared) == (4, 3, 2) and result.equal
    assert not compare_topic(DEVICE_COMMAND, commands(STEADY), commands({9: (1.0, 2.0)})).equal


def test_single_sources_may_have_different_names_and_several_may_not() -> None:
    one, other = commands(STEADY), commands(STEADY, "contact")
    assert set(compare_topic(DEVICE_COMMAND, one, other).fields) == {"source"}
    both = one | other
    assert compare_topic(DEVICE_COMMAND, both, both).compared == 8
    assert compare_topic(DEVICE_COMMAND, both, other).compared == 4


def test_bits_are_compared_and_padding_is_not() -> None:
    one, zero = commands({0: (0.0, 0.0)}), commands({0: (-0.0, 0.0)})
    result = compare_topic(DEVICE_COMMAND, one, zero)
    assert result.differing == 1 and result.fields["tool_wrench.force"].largest == 0.0
    padded = bytearray(one[0, "friction"])
    place = padded.index(b"friction\0") + 9 + 1  # behind source and mode
    assert padded[place] == 0 and place % 4
    padded[place] = 77
    assert compare_topic(DEVICE_COMMAND, one, {(0, "friction"): bytes(padded)}).equal
    nan = commands({0: (float("nan"), 1.0)})
    assert compare_topic(DEVICE_COMMAND, nan, nan).equal
    result = compare_topic(DEVICE_COMMAND, one, nan)
    assert result.fields["tool_wrench.force"].unlike == 1 and result.fields["tool_wrench.force"].largest is None


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("model", "C", "B"),
        ("sticking", np.array([True]), np.array([False])),
        ("force", np.array([1.0]), np.array([1.0, 2.0])),
        ("force", np.array([1.0]), np.array([np.inf])),
    ],
)
def test_values_without_a_difference_are_counted(field: str, one: Any, other: Any) -> None:
    messages = [{(0, ""): wire(FRICTION_STATE, 0, **{field: value})} for value in (one, other)]
    result = compare_topic(FRICTION_STATE, *messages)
    found = result.fields[field]
    assert set(result.fields) == {field} and (found.ticks, found.unlike, found.largest, found.rms) == (1, 1, None, None)


def test_rms_does_not_count_what_cannot_be_subtracted_as_equal() -> None:
    """Of three messages one is equal, one differs by the vector (3, -4), and one is not a number: sqrt(25/2)."""
    steady, other = dict.fromkeys(range(3), (1.0, 2.0)), {0: (1.0, 2.0), 1: (4.0, -2.0), 2: (np.nan, 2.0)}
    force = compare_topic(DEVICE_COMMAND, commands(steady), commands(other)).fields["tool_wrench.force"]
    assert (force.ticks, force.unlike) == (2, 1)
    assert force.rms == pytest.approx(np.sqrt(25 / 2), rel=1e-15)


def test_wall_clock_time_is_left_out_and_the_rest_is_not() -> None:
    one, other, worse = (
        {(0, ""): wire(STATISTICS, 0, solve_time=t, iterations=n)} for t, n in ((1e-3, 3), (2e-3, 3), (2e-3, 5))
    )
    assert compare_topic(STATISTICS, one, other).equal
    result = compare_topic(STATISTICS, one, worse)
    assert set(result.fields) == {"iterations"} and result.fields["iterations"].largest == 2.0
    assert result.left_out == ("solve_time",)


def test_another_device_than_the_recorded_one_is_reported(tmp_path: Path, recording: Recording) -> None:
    def read(name: str, run: list[Any]) -> Recording:
        return Recording.read(write_bag(tmp_path / name, run, experiment="friction_impedance"))

    assert device_differs(recording, recording) == ""
    assert device_differs(read("more", a_run(ticks=range(6))), recording) == ""  # tick 5 has no answer
    short = read("short", a_run(ticks=range(4), answered=range(4)))
    assert device_differs(recording, short) == "/joystick/device_state lacks 1 of 5 ticks, the first is 4"
    moved = a_run()
    place = next(i for i, message in enumerate(moved) if message[1:3] == (DEVICE_STATE, 3))
    moved[place] = (*moved[place][:3], wire(DEVICE_STATE, 3, period=0.001, joint_position=np.zeros(2)))
    assert device_differs(recording, read("moved", moved)) == "/joystick/device_state differs from tick 3 on"
    truths = [("/joystick/simulation_state", SIMULATION_STATE, 0, wire(SIMULATION_STATE, 0))]
    assert "simulation_state lacks 1 of 1" in device_differs(read("truth", a_run() + truths), recording)
