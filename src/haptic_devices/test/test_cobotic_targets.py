"""Targets of the six-degree-of-freedom display: poses, joint values, velocities, stops, safe stop."""

from __future__ import annotations

import numpy as np
import pytest
from cobotic_cases import (
    DEFAULT,
    IDEAL,
    NO_NOISE,
    PERIOD,
    POLE,
    REACH,
    ROUNDING,
    display,
    forward_of,
    motion,
    of_joints,
    pushing,
    run,
    unpowered,
)

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.cobotic import SUBSTEPS


def test_a_new_display_holds_its_place():
    rows = run(display(), [None] * 500)
    # friction and servo bear the end effector's weight; within a count
    assert np.abs(rows["true_position"]).max() < DEFAULT.position_resolution


def test_a_pose_is_reached_and_kept():
    q = np.array([0.05, -0.04, 0.03, 1.0, -0.6, 2.5])
    device = display(**NO_NOISE)
    run(device, [motion(forward_of(q * min(k / 800, 1.0))[0], fields=POSITION) for k in range(2500)])
    assert device.target_position == pytest.approx(q, abs=100 * ROUNDING)
    # friction holds the last count until the integral part has grown
    counts = np.repeat([DEFAULT.position_resolution, DEFAULT.angle_resolution], 3)
    assert (np.abs(device.truth().position - q) < 2 * counts).all()


def test_at_a_constant_velocity_there_is_no_lag():
    way, rate = np.linspace(0.0, 1.0, 1001)[1:], np.array([0.1, -0.05, 0.02, 0.5, 0.0, 2.0])
    # without tilt, yaw and roll rates are constant in the base frame's twist, too
    motions = [motion(forward_of(rate * t)[0], forward_of(rate * t, rate)[1]) for t in way]
    rows = run(display(**{**IDEAL}), motions)
    # the place wanted at the end of a period is there then; e^-30 of the start's error is left
    assert rows["true_position"][-1] == pytest.approx(rate, abs=1e-8)


def test_joint_values_stand_instead_of_pose_and_twist():
    device = display()
    q, qd = np.array([0.01, 0.02, 0.03, 0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    device.follow(motion((1, 1, 1, 0, 0, 0, 1), (1,) * 6, joint_position=q, joint_velocity=qd))
    assert device.target_position.tolist() == q.tolist() and device.target_velocity.tolist() == qd.tolist()


@pytest.mark.parametrize("speed", [10.0, 1e19])
def test_twist_is_scaled_down_to_the_speeds_of_the_joints(speed):
    limits = np.repeat([DEFAULT.speed_limit, DEFAULT.rate_limit], 3)
    device = display()
    device.follow(motion(twist=(0.6 * speed, 0.8 * speed, 0, 0, 0, 0), fields=VELOCITY))
    assert device.target_velocity[:2] == pytest.approx([0.75 * limits[0], limits[0]], rel=1e-12)
    device = display()
    device.follow(motion(twist=(0, 0, 0, speed, speed, speed), fields=VELOCITY))
    assert (np.abs(device.target_velocity) <= limits * (1 + 1e-12)).all() and device.target_velocity.any()


def test_a_velocity_alone_is_followed_wherever_it_leads_and_a_hold_ends_there():
    force = pushing((30.0, 0, 0, 0, 0, 0))
    device = display(force, **IDEAL)
    rows = run(device, [motion(twist=(0.05, *[0] * 5), fields=VELOCITY)] * 500)
    # nothing pulls back to the line that the velocity alone would have drawn: the force's displacement stays
    there = rows["true_position"][-1, 0]
    lag, step = 0.05 * DEFAULT.servo_latency, 0.05 * PERIOD / SUBSTEPS
    assert there - (0.05 * 0.5 - lag) == pytest.approx(30.0 / (11.0 * POLE**2), abs=1.01 * step)
    rows = run(device, [None] * 1000)
    # where it was measured last, and the way of one period
    assert rows["true_position"][-1, 0] == pytest.approx(there + 0.05 * PERIOD, abs=1e-4)
    assert not device.target_velocity.any()


def test_a_position_without_velocity_and_a_hold_have_no_velocity():
    device = display()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5)))
    assert device.target_velocity.any()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5), fields=POSITION))
    assert not device.target_velocity.any()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5)))
    before = device.target_position.copy()
    device.follow(None)
    assert not device.target_velocity.any() and (device.target_position == before).all()


def test_an_acceleration_alone_holds():
    device = display()
    device.follow(motion((0.1, 0, 0, 0, 0, 0, 1), (1,) * 6, (2,) * 6, fields=ACCELERATION))
    assert not device.target_position.any() and not device.command.any()


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_target_out_of_reach_ends_at_the_stop_without_velocity(joint, side):
    device, q, qd = display(**IDEAL), np.zeros(6), np.zeros(6)
    q[joint], qd[joint] = side * 1.1 * REACH[joint], side
    device.follow(of_joints(q=q, qd=qd))
    assert device.target_position[joint] == side * REACH[joint] and not device.target_velocity.any()
    device.follow(of_joints(q=q, qd=-qd))  # the way back is free
    assert device.target_velocity[joint] == -side
    device.truth().position[joint] = device.read().position[joint] = side * REACH[joint]
    device.follow(of_joints(qd=qd))
    assert not device.target_velocity.any() and not device.command.any()


def test_a_roll_beyond_the_stop_comes_back_by_the_way_it_went():
    device = display(range_roll=2.0)
    turned = [*np.linspace(0.0, 6.0, 61), *np.linspace(6.0, 1.0, 51)]
    for roll in turned:
        device.follow(motion(forward_of(np.array([0, 0, 0, 0, 0, roll]))[0]))
        assert device.target_position[5] == pytest.approx(min(roll, 2.0), abs=10 * ROUNDING)


@pytest.mark.parametrize("by_joints", [False, True])
def test_after_a_velocity_the_turn_is_that_of_the_measured_roll(by_joints):
    device, rate = display(**IDEAL), np.array([0, 0, 0, 0, 0, 6.0])
    run(
        device,
        [of_joints(qd=rate) if by_joints else motion(twist=forward_of(0 * rate, rate)[1], fields=VELOCITY)] * 750,
    )
    assert device.truth().position[5] > 4.0  # half a turn and more
    device.follow(motion(forward_of(np.array([0, 0, 0, 0, 0, 4.6]))[0]))
    assert device.target_position[5] == pytest.approx(4.6, abs=10 * ROUNDING)


def test_the_stops_hold_without_rebound():
    q = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    device = unpowered(pushing((200.0, 0, 0, 0, 0, 5.0), q))
    rows = run(device, [None] * 1500)
    for joint in (0, 3):
        assert rows["true_position"][:, joint].max() == REACH[joint]
        assert rows["true_position"][-1, joint] == REACH[joint] and rows["true_velocity"][-1, joint] == 0.0
        assert rows["true_velocity"][:, joint].min() == 0.0


def test_safe_stop_holds_the_measured_place_whatever_is_commanded_until_activation():
    device = display()
    run(device, [motion((1e-4 * k, 0, 0, 0, 0, 0, 1), (0.1, *[0] * 5)) for k in range(300)])
    place = device.read().position.copy()
    device.safe_stop()
    device.safe_stop()
    rows = run(device, [motion((0.15, 0.1, 0, 0, 0, 0, 1), (0.3, *[0] * 5))] * 1000)
    assert (device.target_position == place).all()
    # braking from 0.1 m/s takes the latency and the servo's time, some 5 ms; then back within the last counts
    assert np.abs(rows["true_position"] - place)[:, 0].max() < 0.1 * 0.01
    assert np.abs(rows["true_position"][-1] - place).max() < 2 * DEFAULT.angle_resolution
    device.activate()
    device.follow(motion((0.01, 0, 0, 0, 0, 0, 1)))
    assert device.target_position[0] == 0.01


def test_activation_gives_power_again():
    device = display()
    device.deactivate()
    assert (run(device, [motion((0.1, 0, 0, 0, 0, 0, 1))] * 20)["true_effort"] == 0.0).all()
    device.activate()
    assert run(device, [motion((0.1, 0, 0, 0, 0, 0, 1))] * 20)["true_effort"][-1, 0] > 10.0
