"""The safety layer: each limit where it acts and where it does not, the ramp, what is measured, bad limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_core.errors import ParameterError
from haptic_core.safety import (
    ENGAGING,
    LIMITED_EFFORT,
    LIMITED_EFFORT_RATE,
    LIMITED_VELOCITY,
    LIMITED_WORKSPACE,
    SafetyError,
    SafetyLayer,
    SafetyLimits,
)
from haptic_msgs.msg import DeviceState

T = 1e-3
INFINITE = (math.inf, math.inf)
FREE: dict[str, Any] = {
    "joints": ("roll", "pitch"),
    "effort": INFINITE,
    "effort_rate": INFINITE,
    "velocity": INFINITE,
    "lower": (-math.inf, -math.inf),
    "upper": INFINITE,
}


def layer(*, period: float = T, engagement_time: float = 0.0, **limits: Any) -> SafetyLayer:
    return SafetyLayer(SafetyLimits(**{**FREE, **limits}), period=period, engagement_time=engagement_time)


def test_the_bits_are_those_of_the_message() -> None:
    names = ("LIMITED_EFFORT", "LIMITED_EFFORT_RATE", "LIMITED_VELOCITY", "LIMITED_WORKSPACE", "ENGAGING")
    bits = (LIMITED_EFFORT, LIMITED_EFFORT_RATE, LIMITED_VELOCITY, LIMITED_WORKSPACE, ENGAGING)
    assert bits == tuple(getattr(DeviceState, name) for name in names)


# ---- efforts --------------------------------------------------------------------------------------


def test_command_within_all_limits_is_returned_as_the_same_array() -> None:
    safe = layer(effort=(3.0, 2.0), effort_rate=(6000.0, 4000.0))
    for command in ([3.0, 2.0], [-3.0, -2.0], [0.1, 1e-300]):  # the limits themselves are allowed
        given = np.array(command)
        assert safe.effort(given) is given
        assert safe.limited == 0
    assert not safe.counts


def test_an_effort_beyond_its_limit_is_cut_off_with_its_sign_and_counted() -> None:
    safe = layer(effort=(3.0, 2.0))
    assert_array_equal(safe.effort(np.array([3.5, 1.0])), [3.0, 1.0])
    assert safe.limited == LIMITED_EFFORT
    assert_array_equal(safe.effort(np.array([0.0, -1e300])), [0.0, -2.0])
    safe.effort(np.array([3.0, 2.0]))
    assert safe.limited == 0 and safe.counts == {"effort": 2}


@pytest.mark.parametrize(("period", "rate"), [(1e-3, 1000.0), (1e-3, 250.0), (5e-4, 1000.0)])
def test_a_step_rises_and_falls_at_the_effort_rate(period: float, rate: float) -> None:
    safe = layer(period=period, effort_rate=(rate, math.inf))
    rise = [safe.effort(np.array([2.0, 2.0])) for _ in range(20)]
    fall = [safe.effort(np.array([-2.0, -2.0])) for _ in range(40)]
    step = rate * period  # 1, 1/4, 1/2: nothing is rounded
    assert_array_equal([row[0] for row in rise], np.minimum(2.0, step * np.arange(1, 21)))
    assert_array_equal([row[0] for row in fall], np.maximum(-2.0, 2.0 - step * np.arange(1, 41)))
    assert {row[1] for row in rise} == {2.0} and {row[1] for row in fall} == {-2.0}
    # every tick but those that arrive
    assert safe.counts["effort rate"] == 2.0 / step - 1.0 + 4.0 / step - 1.0


def test_a_change_as_fast_as_the_rate_is_not_limited() -> None:
    safe = layer(effort_rate=(1000.0, 1000.0))
    for value in (1.0, 2.0, 1.0, 0.0, -1.0):
        safe.effort(np.array([value, 0.0]))
    assert not safe.counts
    safe.effort(np.array([0.001, 0.0]))
    assert safe.limited == LIMITED_EFFORT_RATE and safe.counts == {"effort rate": 1}


def test_the_rate_counts_from_what_acted_not_from_what_was_commanded() -> None:
    safe = layer(effort=(1.0, 1.0), effort_rate=(1000.0, 1000.0))
    safe.effort(np.array([50.0, 0.0]))
    assert safe.limited == LIMITED_EFFORT  # cut off at 1, which is as far as the rate goes
    assert_array_equal(safe.effort(np.array([-50.0, 0.0])), [0.0, 0.0])
    assert safe.limited == LIMITED_EFFORT | LIMITED_EFFORT_RATE
    assert safe.counts == {"effort": 2, "effort rate": 1}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_effort_that_is_not_finite_is_refused_by_joint(value: float) -> None:
    with pytest.raises(SafetyError, match=f"^joint pitch: effort: expected finite, got {value}$"):
        layer().effort(np.array([0.0, value]))


# ---- the ramp after a stop ------------------------------------------------------------------------


@pytest.mark.parametrize(("period", "time"), [(1e-3, 0.05), (1e-3, 0.02), (5e-4, 0.05), (1e-3, 0.0105)])
def test_after_a_stop_efforts_come_in_linearly(period: float, time: float) -> None:
    safe = layer(period=period, engagement_time=time)
    safe.disengage()
    command = np.array([2.0, -0.5])
    acted = np.array([safe.effort(command) for _ in range(120)])
    scale = np.minimum(1.0, np.arange(120) * period / time)
    assert_allclose(acted, scale[:, None] * command, rtol=1e-14)  # one division and one product
    assert not acted[0].any()
    assert safe.effort(command) is command and safe.limited == 0


def test_the_ramp_begins_with_the_first_command_that_is_not_zero() -> None:
    safe = layer(engagement_time=0.004)
    safe.disengage()
    for _ in range(100):
        assert not safe.effort(np.zeros(2)).any() and safe.limited == 0
    first = [safe.effort(np.array([1.0, 0.0]))[0] for _ in range(6)]
    assert first == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]


def test_there_is_no_ramp_at_the_first_start_nor_with_a_time_of_zero() -> None:
    command = np.array([2.0, -0.5])
    assert layer(engagement_time=0.05).effort(command) is command
    stopped = layer(engagement_time=0.0)
    stopped.disengage()
    assert stopped.effort(command) is command


def test_a_second_stop_begins_the_ramp_anew() -> None:
    safe = layer(engagement_time=0.01)
    command = np.array([1.0, 0.0])
    for _ in range(2):
        safe.disengage()
        assert [safe.effort(command)[0] for _ in range(4)] == pytest.approx([0.0, 0.1, 0.2, 0.3])
        assert safe.limited == ENGAGING
    assert not safe.counts  # a ramp is no limit


def test_after_a_stop_the_rate_counts_from_zero() -> None:
    safe = layer(effort_rate=(500.0, 500.0))
    for _ in range(10):
        safe.effort(np.array([3.0, 0.0]))
    safe.disengage()
    assert safe.effort(np.array([3.0, 0.0]))[0] == 0.5


# ---- motions --------------------------------------------------------------------------------------

HOME = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def motion(**changes: Any) -> Motion:
    values: dict[str, Any] = {
        "fields": POSITION | VELOCITY | ACCELERATION,
        "pose": np.array([0.1, -0.2, 0.3, *Rotation.from_rotvec([0.0, 0.0, 0.4]).as_quat()]),
        "twist": np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        "acceleration": np.array([-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]),
        "joint_position": np.array([0.4, -0.4]),
        "joint_velocity": np.array([2.0, -3.0]),
    }
    return Motion(**{**values, **changes})


def test_a_motion_within_the_limits_passes_as_the_same_object() -> None:
    safe = layer(
        velocity=(2.0, 3.0), lower=(-0.4, -0.4), upper=(0.4, 0.4), workspace=((-0.1, -0.2, 0.0), (0.1, 0.2, 0.3))
    )
    given = motion()
    assert safe.motion(given, HOME, np.zeros(2)) is given
    assert safe.motion(None, HOME, np.zeros(2)) is None
    assert safe.limited == 0 and not safe.counts


def test_a_motion_is_brought_back_into_the_workspace_and_its_joints_to_their_limits() -> None:
    safe = layer(
        velocity=(1.5, 9.0), lower=(-0.1, -0.3), upper=(0.1, 0.3), workspace=((-1.0, -0.05, -1.0), (1.0, 1.0, 0.2))
    )
    given = motion()
    found = safe.motion(given, HOME, np.zeros(2))
    assert found is not None and found.joint_position is not None and found.joint_velocity is not None
    assert_array_equal(found.pose, given.pose)  # the places of the joints replace it
    assert_array_equal(found.joint_position, [0.1, -0.3])
    assert_array_equal(found.joint_velocity, [1.5, -3.0])
    assert safe.limited == LIMITED_WORKSPACE | LIMITED_VELOCITY
    assert safe.counts == {"workspace": 1, "velocity": 1}
    assert_array_equal(given.pose, motion().pose)  # what came is not changed
    found = safe.motion(motion(joint_position=None, joint_velocity=None), HOME, np.zeros(2))
    assert found is not None and safe.limited == LIMITED_WORKSPACE
    assert_array_equal(found.pose, [0.1, -0.05, 0.2, *given.pose[3:]])
    safe.motion(motion(joint_position=None, joint_velocity=None, pose=HOME), HOME, np.zeros(2))
    assert safe.limited == 0
    safe.motion(motion(fields=VELOCITY, joint_position=None, joint_velocity=None), HOME, np.zeros(2))
    assert safe.limited == 0  # a pose that is not commanded


def test_after_a_stop_a_motion_comes_in_from_where_the_tool_was_measured() -> None:
    safe = layer(engagement_time=0.01)
    safe.disengage()
    here = np.array([0.02, 0.0, -0.01, *Rotation.from_rotvec([0.0, 0.0, 0.1]).as_quat()])
    given, joints = motion(), np.array([0.1, 0.1])
    for j in range(15):
        # the tool is measured elsewhere from the second tick on: that does not matter any more
        found = safe.motion(given, here if j == 0 else HOME, joints if j == 0 else np.zeros(2))
        assert found is not None and found.joint_position is not None and found.joint_velocity is not None
        s = min(1.0, j / 10.0)
        assert_allclose(found.pose[:3], here[:3] + s * (given.pose[:3] - here[:3]), rtol=0.0, atol=1e-15)
        # on the straight line between unit quaternions 0.15 rad apart
        angle = 0.1 + 2.0 * math.atan2(s * math.sin(0.15), 1.0 - s + s * math.cos(0.15))
        assert_allclose(Rotation.from_quat(found.pose[3:]).as_rotvec(), [0.0, 0.0, angle], rtol=0.0, atol=1e-14)
        assert np.linalg.norm(found.pose[3:]) == pytest.approx(1.0)
        assert_allclose(found.twist, s * given.twist, rtol=1e-14)
        assert_allclose(found.acceleration, s * given.acceleration, rtol=1e-14)
        assert_allclose(found.joint_position, joints + s * (given.joint_position - joints), rtol=0.0, atol=1e-15)
        assert_allclose(found.joint_velocity, s * given.joint_velocity, rtol=1e-14)
        assert found.fields == given.fields and (safe.limited == ENGAGING) == (j < 10)
    assert found is given


def test_the_ramp_turns_the_short_way_round_and_a_quaternion_of_length_zero_does_not_turn() -> None:
    other = motion(pose=np.array([0.0, 0.0, 0.0, *(-motion().pose[3:])]))
    for given, expected in ((other, motion().pose[3:]), (motion(pose=np.zeros(7)), HOME[3:])):
        safe = layer(engagement_time=0.01)
        safe.disengage()
        for _ in range(10):
            found = safe.motion(given, HOME, np.zeros(2))
            assert found is not None and Rotation.from_quat(found.pose[3:]).magnitude() < 0.4 + 1e-12
        # s = 0.9 of the way
        assert Rotation.from_quat(found.pose[3:]).magnitude() == pytest.approx(
            0.9 * Rotation.from_quat(expected).magnitude(), rel=1e-3
        )


@pytest.mark.parametrize("field", ["pose", "twist", "acceleration", "joint_position", "joint_velocity"])
def test_a_motion_that_is_not_finite_is_refused(field: str) -> None:
    bad = getattr(motion(), field).copy()
    bad[1] = math.nan
    with pytest.raises(SafetyError, match=r"^motion: expected finite, got \[.*nan"):
        layer().motion(motion(**{field: bad}), HOME, np.zeros(2))


# ---- what is measured -----------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [2.0001, -2.0001, math.nan, math.inf])
def test_a_joint_faster_than_its_limit_is_named(speed: float) -> None:
    safe = layer(velocity=(1.0, 2.0))
    safe.check(np.array([-1.0, 2.0]), HOME)  # the limits themselves are allowed
    with pytest.raises(SafetyError, match=f"^joint pitch: speed {speed:.3g} above the limit 2$"):
        safe.check(np.array([0.0, speed]), HOME)


@pytest.mark.parametrize(("axis", "value"), [(0, 0.101), (1, -0.201), (2, 0.31), (2, math.nan)])
def test_a_tool_outside_the_workspace_is_named_by_axis(axis: int, value: float) -> None:
    safe = layer(workspace=((-0.1, -0.2, -math.inf), (0.1, 0.2, 0.3)))
    for place in ([0.1, -0.2, 0.3], [-0.1, 0.2, -1e6]):  # its faces belong to it
        safe.check(np.zeros(2), np.array([*place, *HOME[3:]]))
    place = HOME.copy()
    place[axis] = value
    with pytest.raises(SafetyError, match=f"^tool: {'xyz'[axis]} = {value:.4g} m outside the workspace, "):
        safe.check(np.zeros(2), place)


def test_without_limits_only_what_is_no_number_is_refused() -> None:
    layer().check(np.full(2, 1e300), np.full(7, -1e300))
    with pytest.raises(SafetyError, match=r"^tool: x = nan m outside the workspace"):
        layer().check(np.zeros(2), np.full(7, math.nan))


# ---- limits that cannot be used -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"effort": (1.0, 0.0)}, "limit effort of joint pitch: expected above 0, got 0.0"),
        ({"effort_rate": (math.nan, 1.0)}, "limit effort_rate of joint roll: expected above 0, got nan"),
        ({"velocity": (1.0, -2.0)}, "limit velocity of joint pitch: expected above 0, got -2.0"),
        ({"velocity": (1.0,)}, "limit velocity: expected 2 numbers, got 1"),
        (
            {"upper": (-1.0, 1.0), "lower": (0.0, 0.0)},
            "joint roll: expected a lower limit below the upper one, got 0.0 and",
        ),
        ({"workspace": ((0.0,) * 3, (1.0, math.nan, 1.0))}, "workspace y: expected a lower limit below the upper one"),
        ({"workspace": ((0.0,), (1.0,))}, "workspace: expected two corners of 3 numbers"),
    ],
)
def test_limits_that_cannot_be_used_are_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        layer(**changes)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"period": 0.0}, "period: expected above 0 and finite [s], got 0.0"),
        ({"period": math.nan}, "period: expected above 0"),
        ({"engagement_time": -0.1}, "engagement_time: expected 0 or more and finite [s], got -0.1"),
        ({"engagement_time": math.inf}, "engagement_time: expected 0 or more"),
    ],
)
def test_a_period_or_a_time_that_cannot_be_used_is_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        layer(**values)
    assert str(error.value).startswith(message)


def test_a_wrong_number_of_values_stops_the_device() -> None:
    """A position without z passed the limit of the workspace along z."""
    safe = layer(workspace=((-0.1,) * 3, (0.1,) * 3))
    with pytest.raises(SafetyError, match="effort: expected 2 numbers, got 3"):
        safe.effort(np.zeros(3))
    with pytest.raises(SafetyError, match="2 joint velocities and a position of 3 numbers, got 2 and 2"):
        safe.check(np.zeros(2), np.zeros(2))
    with pytest.raises(SafetyError, match="2 joint velocities and a position of 3 numbers, got 1 and 3"):
        safe.check(np.zeros(1), np.zeros(3))
