"""The ramp after a change of parameters: closed forms of what it adds, forces between what was and what will be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haptic_core.change_ramp import ChangeRamp
from haptic_core.commands import EFFORT, MOTION, NONE, POSITION, VELOCITY, WRENCH
from haptic_core.messages import allocate, pose_array, set_pose, set_twist, twist_array, view
from haptic_msgs.msg import DeviceCommand

T, TIME = 1e-3, 0.01
N = 10


def share(j: int) -> float:
    """Returns the fraction of a change that is reached after j ticks."""
    x = min(1.0, j / N)
    return x * x * (3.0 - 2.0 * x)


def pushed(mode: int, force: float) -> DeviceCommand:
    command = DeviceCommand(mode=mode)
    fill(command, force)
    return command


def fill(command: DeviceCommand, force: float) -> None:
    command.tool_wrench.force.x, command.tool_wrench.torque.z = force, 0.1 * force
    allocate(command, "joint_effort", 2)[:] = force, -force


def acting(command: Any) -> float:
    assert command.tool_wrench.torque.z == pytest.approx(0.1 * command.tool_wrench.force.x) or command.mode == EFFORT
    return command.joint_effort[0] if command.mode == EFFORT else command.tool_wrench.force.x


@pytest.mark.parametrize("mode", [WRENCH, EFFORT])
def test_a_force_goes_to_the_new_one_in_the_change_time(mode: int) -> None:
    ramp, command = ChangeRamp(mode, period=T, change_time=TIME), pushed(mode, 2.0)
    ramp.apply(command)
    assert acting(command) == 2.0  # nothing has changed
    ramp.start(command)
    forces = []
    for _ in range(N + 2):
        ramp.restore(command)
        fill(command, 7.0)
        ramp.apply(command)
        forces.append(acting(command))
    np.testing.assert_allclose(forces, [2.0 + 5.0 * share(j) for j in range(1, N + 3)], rtol=1e-15)
    assert forces[N - 1 :] == [7.0] * 3  # to the last bit
    assert np.diff([2.0, *forces]).max() <= 1.5 / N * 5.0


def test_a_force_that_ends_meanwhile_is_never_turned_round() -> None:
    """A contact that is lost: the force falls to zero and not below, however large the new one was."""
    ramp, command = ChangeRamp(WRENCH, period=T, change_time=TIME), pushed(WRENCH, 2.0)
    ramp.start(command)
    forces = []
    for j in range(N):
        fill(command, 1000.0 if j < 3 else 0.0)
        ramp.apply(command)
        forces.append(acting(command))
    assert (
        forces[3] == pytest.approx(2.0 * (1.0 - share(4))) and min(forces) == 0.0 and np.all(np.diff(forces[3:]) < 0.0)
    )


def test_a_second_change_goes_on_from_what_acts() -> None:
    ramp, command = ChangeRamp(WRENCH, period=T, change_time=TIME), pushed(WRENCH, 0.0)
    forces = []
    for j in range(12):
        if j in (0, 5):
            ramp.start(command)
        ramp.restore(command)
        fill(command, 10.0 if j < 5 else -10.0)
        ramp.apply(command)
        forces.append(acting(command))
    assert forces[4] == pytest.approx(5.0) and forces[5] == pytest.approx(5.0 - 15.0 * share(1))
    assert np.abs(np.diff(forces)).max() <= 1.5 / N * 15.0


def test_numbers_that_the_node_does_not_fill_again_stay_its_own() -> None:
    ramp, command = ChangeRamp(WRENCH, period=T, change_time=TIME), pushed(WRENCH, 2.0)
    ramp.start(command)
    for _ in range(N):
        ramp.restore(command)
        command.tool_wrench.force.x = 4.0  # the torque is what it was
        ramp.apply(command)
        assert command.tool_wrench.torque.z == pytest.approx(0.2, rel=1e-15)


@pytest.mark.parametrize(("mode", "time"), [(NONE, TIME), (WRENCH, 0.0), (WRENCH, T)])
def test_without_a_command_or_a_time_changes_act_at_once(mode: int, time: float) -> None:
    ramp, command = ChangeRamp(WRENCH, period=T, change_time=time), pushed(mode, 2.0)
    ramp.start(command)
    fill(command, 7.0)
    ramp.apply(command)
    assert acting(command) == 7.0


def test_cancelled_ramp_passes_the_command() -> None:
    ramp, command = ChangeRamp(WRENCH, period=T, change_time=TIME), pushed(WRENCH, 2.0)
    ramp.start(command)
    ramp.cancel()
    fill(command, 7.0)
    ramp.apply(command)
    assert acting(command) == 7.0


def moving(place: float, angle: float, speed: float, turn: float) -> DeviceCommand:
    command = DeviceCommand(mode=MOTION, motion_fields=POSITION | VELOCITY)
    lead(command, place, angle, speed, turn)
    return command


def lead(command: DeviceCommand, place: float, angle: float, speed: float, turn: float) -> None:
    set_pose(command.tool_pose, np.array((place, 0, 0, 0, 0, np.sin(angle / 2), np.cos(angle / 2))))
    set_twist(command.tool_twist, np.array((speed, 0, 0, 0, 0, turn)))


def test_a_motion_that_changes_nothing_is_not_touched() -> None:
    """Constant speed along a line and about an axis: what is held goes on as the node does."""
    speed, turn = 0.1, 0.5
    ramp, command = ChangeRamp(MOTION, period=T, change_time=TIME), moving(0.0, 0.0, speed, turn)
    ramp.start(command)
    for j in range(1, N + 2):
        lead(command, j * T * speed, j * T * turn, speed, turn)
        own = pose_array(command.tool_pose), twist_array(command.tool_twist)
        ramp.apply(command)
        np.testing.assert_allclose(pose_array(command.tool_pose), own[0], atol=1e-12)
        np.testing.assert_allclose(twist_array(command.tool_twist), own[1], atol=1e-12)


def test_a_motion_goes_on_without_a_jump_and_its_velocity_is_that_of_its_place() -> None:
    """From 0.1 m/s to a place 1 mm and 0.02 rad off, at rest."""
    ramp, command = ChangeRamp(MOTION, period=T, change_time=TIME), moving(0.0, 0.0, 0.1, 0.0)
    ramp.start(command)
    poses, twists = [pose_array(command.tool_pose)], [twist_array(command.tool_twist)]
    for _ in range(N + 1):
        lead(command, 1e-3, 0.02, 0.0, 0.0)
        ramp.apply(command)
        poses.append(pose_array(command.tool_pose))
        twists.append(twist_array(command.tool_twist))
    places, speeds = np.array(poses)[:, 0], np.array(twists)[:, 0]
    angles, turns = 2 * np.arcsin(np.array(poses)[:, 5]), np.array(twists)[:, 5]
    assert places[1] == pytest.approx(1e-4) and angles[1] == pytest.approx(0.0, abs=1e-12)  # as if nothing had changed
    assert places[-1] == 1e-3 and angles[-1] == pytest.approx(0.02) and speeds[-1] == turns[-1] == 0.0
    for row, rate, way, speed in ((places, speeds, 0.9e-3, 0.1), (angles, turns, 0.02, 0.0)):
        assert np.abs(np.diff(rate)).max() <= T * (4 * speed / TIME + 6 * way / TIME**2)
        # the trapezoidal rule on a cubic: T^3/12 times its third derivative
        slope = 0.5 * T * (rate[:-1] + rate[1:])
        np.testing.assert_allclose(np.diff(row), slope, atol=T**3 / 12 * (12 * way / TIME**3 + 6 * speed / TIME**2))


def test_motions_of_joints_act_at_once() -> None:
    ramp, command = ChangeRamp(MOTION, period=T, change_time=TIME), moving(0.0, 0.0, 0.0, 0.0)
    allocate(command, "joint_position", 2)[:] = 0.0, 1.0
    ramp.start(command)
    ramp.restore(command)
    view(command.joint_position)[:] = 0.5, 1.0
    ramp.apply(command)
    np.testing.assert_array_equal(command.joint_position, [0.5, 1.0])


def test_a_velocity_alone_is_blended_as_a_force_is() -> None:
    ramp, command = ChangeRamp(MOTION, period=T, change_time=TIME), moving(0.0, 0.0, 0.1, 0.0)
    command.motion_fields = VELOCITY
    ramp.start(command)
    lead(command, 7.0, 0.0, 0.3, 0.0)
    ramp.apply(command)
    assert command.tool_twist.linear.x == pytest.approx(0.1 + 0.2 * share(1))
    assert command.tool_pose.position.x == 7.0
