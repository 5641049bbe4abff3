"""Targets, servo and limits of the five-bar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from five_bar_cases import DEFAULT, HOME, NO_NOISE, PERIOD, ROUNDING, five_bar, hand, motion, run, still

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.five_bar import inverse, servo

# ---- targets --------------------------------------------------------------------------------------


def test_a_new_device_holds_its_place():
    device = five_bar()
    rows = run(device, [None] * 300)
    # the home angles are no whole counts: the servo sees up to half a count of error
    assert np.abs(rows[:, 25:27] - HOME).max() <= DEFAULT.encoder_resolution


def test_a_position_is_reached_and_kept():
    device = five_bar()
    run(device, [motion(0.0005 * min(k, 100), -0.0004 * min(k, 100)) for k in range(1500)])
    expected = np.zeros(2)
    inverse(device.geometry, 0.05, -0.04, expected)
    assert device.target_position == pytest.approx(expected, abs=ROUNDING)
    # the integral part takes the friction away until one count is left
    assert np.abs(device.truth().position - expected).max() < 2 * DEFAULT.encoder_resolution


def test_joint_values_stand_instead_of_the_tool_s():
    device = five_bar()
    wanted = HOME + np.array([0.01, -0.02])
    device.follow(motion(0.1, 0.1, (1.0, 1.0), joint_position=wanted, joint_velocity=[0.3, -0.2]))
    assert device.target_position.tolist() == wanted.tolist()
    assert device.target_velocity.tolist() == [0.3, -0.2]


@pytest.mark.parametrize("fields", [VELOCITY, POSITION | VELOCITY])
@pytest.mark.parametrize("speed", [10.0, 1e19])
def test_twist_is_scaled_down_to_the_speeds_of_the_joints(speed, fields):
    device, slow = five_bar(), five_bar()
    before = device.target_position.copy()
    device.follow(motion(v=(speed, 0.0), fields=fields))
    slow.follow(motion(v=(1e-3, 0.0), fields=fields))
    assert np.abs(device.target_velocity).max() == pytest.approx(DEFAULT.velocity_limit, rel=1e-12)
    directions = [one.target_velocity / np.linalg.norm(one.target_velocity) for one in (device, slow)]
    assert directions[0] == pytest.approx(directions[1], abs=1e-12)
    if fields == VELOCITY:
        assert np.abs(device.target_position - before).max() <= 1.001e-3 * DEFAULT.velocity_limit


def test_a_velocity_without_position_moves_the_target_on():
    device = five_bar()
    for _ in range(10):
        device.follow(motion(v=(0.05, 0.0), fields=VELOCITY))
    expected = np.zeros(2)
    inverse(device.geometry, 0.0005, 0.0, expected)
    # it started at the home angles' nearest counts; Euler's steps along a curved line are 100 times nearer
    assert device.target_position == pytest.approx(expected, abs=0.6 * DEFAULT.encoder_resolution)
    assert np.abs(device.target_velocity).max() > 0.1


def test_a_position_without_velocity_and_a_hold_have_no_velocity():
    device = five_bar()
    device.follow(motion(0.001, 0.0, (0.05, 0.0)))
    before = device.target_position.copy()
    assert device.target_velocity.any()
    device.follow(motion(0.001, 0.0, (0.05, 0.0), fields=POSITION))
    assert not device.target_velocity.any()
    device.follow(motion(0.001, 0.0, (0.05, 0.0)))
    device.follow(None)
    assert not device.target_velocity.any()
    assert (device.target_position == before).all()


def test_an_acceleration_alone_holds():
    device = five_bar()
    before = device.target_position.copy()
    device.follow(motion(0.1, 0.1, (1, 1), (2, 2), fields=ACCELERATION))
    assert (device.target_position == before).all() and not device.target_velocity.any()


@pytest.mark.parametrize(("x", "y"), [(1.0, 0.0), (0.0, 1.0), (0.0, -0.42), (-0.3, 0.3), (0.0, -1e6)])
def test_a_target_out_of_reach_ends_at_the_joints_stops_without_velocity(x, y):
    device = five_bar()
    device.follow(motion(x, y, (0.3, 0.2)))
    way = np.abs(device.target_position - HOME)
    assert way.max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert (device.target_velocity[way > DEFAULT.range - ROUNDING] == 0.0).all()
    assert np.isfinite(device.read().values).all()


def test_the_arm_s_own_inertia_is_fed_forward_where_the_acceleration_is_given():
    time = PERIOD * np.arange(1000)
    circle = 0.04 * np.column_stack((np.sin(8 * time), 1 - np.cos(8 * time)))
    velocity, acceleration = np.gradient(circle, PERIOD, axis=0), -64.0 * (circle - [0.0, 0.04])
    quiet = {"friction_coulomb": 0.0, "friction_static": 1e-9, "friction_viscous": 0.0, **NO_NOISE}
    errors = []
    for fields in (POSITION | VELOCITY, POSITION | VELOCITY | ACCELERATION):
        device = five_bar(**quiet, mass_grip=0.0)
        error = []
        for x, v, a in zip(circle, velocity, acceleration, strict=True):
            place = device.truth().position.copy()
            device.follow(motion(*x, v, a, fields))
            error.append(device.target_position - place)
        errors.append(np.abs(error[500:]).max())
    # what stays are the velocity filter's and the hold's lag and the gears' give
    assert errors[1] < 0.5 * errors[0]


# ---- servo ----------------------------------------------------------------------------------------


def torque(error: Any, rate: Any = (0, 0), limit: float = 100.0, integral: Any = (0, 0), added: Any = (0, 0)) -> Any:
    """One step of the servo with gains 100, 10 T, 5; returns the torques and the new integral part."""
    target, effort, part = np.array([error, rate, (0.5, -0.5)]), np.zeros(2), np.array(integral, dtype=float)
    gains = np.array([100.0, 10.0, 5.0, limit])
    servo(target, np.zeros(2), np.zeros(2), np.array(added, dtype=float), gains, part, effort)
    return effort.tolist(), part.tolist()


def test_the_servo_adds_proportional_integral_and_velocity_parts_and_the_feedforwards():
    effort, integral = torque((0.1, -0.2), (1.0, 2.0), integral=(3.0, 4.0), added=(0.25, 0.125))
    assert effort == pytest.approx([10 + 1 + 5 + 3 + 0.5 + 0.25, -20 - 2 + 10 + 4 - 0.5 + 0.125], abs=ROUNDING * 100)
    assert integral == pytest.approx([4.0, 2.0], abs=ROUNDING * 10)


def test_at_the_limit_the_integral_only_goes_back():
    assert torque((1.0, -1.0), limit=5.0, integral=(7.0, -7.0)) == ([5.0, -5.0], [7.0, -7.0])
    # an error towards the other side
    effort, integral = torque((-0.01, 0.01), limit=5.0, integral=(7.0, -7.0))
    assert effort == [5.0, -5.0]
    assert integral == pytest.approx([6.9, -6.9], abs=ROUNDING * 10)


def test_after_a_long_saturation_the_arm_does_not_overshoot_far():
    device = five_bar(effort_limit=14.0)  # barely more than the friction
    rows = run(device, [motion(0.1, 0.0)] * 3000)
    wanted = np.zeros(2)
    inverse(device.geometry, 0.1, 0.0, wanted)
    way = (rows[:, 25:27] - HOME) / (wanted - HOME)
    assert (np.abs(rows[:200, 29:31]) == 14.0).any()
    # with an integral that ran on during the 0.2 s of saturation it would be more than twice the way
    assert way.max() < 1.3
    assert way[-1] == pytest.approx([1.0, 1.0], abs=1e-3)


# ---- limits ---------------------------------------------------------------------------------------


def test_the_torque_saturates_at_the_limit():
    device = five_bar()
    device.follow(motion(0.15, 0.0))
    assert np.abs(device.truth().effort).tolist() == [DEFAULT.effort_limit] * 2
    assert (device.read().effort == device.truth().effort).all()


def test_the_mechanical_stops_hold_without_rebound():
    device = five_bar(hand(plan=still(fx=300.0), tremor_force=0.0, stiffness=0.0), position_gain=0.0, integral_gain=0.0)
    places = run(device, [None] * 6000)[:, 25:27] - HOME
    assert np.abs(places).max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert np.abs(device.truth().position - HOME).max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert np.abs(device.truth().velocity).max() < 1e-3


def test_safe_stop_holds_the_measured_place_whatever_is_commanded_until_activation():
    device = five_bar()
    run(device, [motion(1e-4 * k, 0.0, (0.1, 0.0)) for k in range(300)])
    device.follow(motion(0.15, 0.1))  # a target far away
    place = device.read().position.copy()
    device.safe_stop()
    device.safe_stop()
    rows = run(device, [motion(0.15, 0.1)] * 1000)
    assert (device.target_position == place).all()
    # braking from 0.1 m/s, and the kick of the far target, then back within the last counts
    assert np.abs(rows[:, 25:27] - place).max() < 0.01
    assert np.abs(rows[-1, 25:27] - place).max() < 2 * DEFAULT.encoder_resolution
    device.activate()
    device.follow(motion(0.01, 0.0))
    assert np.abs(device.target_position - HOME).max() > 0.01


def test_without_power_there_is_no_torque():
    device = five_bar(hand())
    device.deactivate()
    assert (run(device, [motion(0.1, 0.1)] * 50)[:, 29:31] == 0.0).all()
