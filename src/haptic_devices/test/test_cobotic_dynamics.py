"""Dynamics of the six-degree-of-freedom display: the end effector's wrench, and the motion without power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cobotic_cases import (
    DEFAULT,
    IDEAL,
    NO_BODY,
    NO_FRICTION,
    PERIOD,
    ROUNDING,
    bias_of,
    display,
    forward_of,
    jacobian_of,
    places,
    pushing,
    rates,
    run,
    unpowered,
)
from hypothesis import given
from scipy.integrate import solve_ivp

from admittance_constraints import EndEffector
from haptic_devices import cobotic
from haptic_devices.cobotic import GRAVITY, SUBSTEPS, own_wrench, rotation

# ---- end effector ---------------------------------------------------------------------------------


@given(places, rates, rates)
def test_the_end_effector_s_wrench_is_that_of_the_library(q, twist, rate):
    mass, center, inertia = 0.7, [0.02, -0.03, 0.05], [4e-3, 3e-3, 2e-3]
    matrix, wrench = np.zeros((3, 3)), np.full(6, np.nan)
    rotation(q, matrix)
    own_wrench(matrix, cobotic.EndEffector(mass, np.array(center), np.array(inertia)), twist[3:], rate, GRAVITY, wrench)
    body = EndEffector(mass=mass, center=center, inertia=inertia, gravity=(0.0, 0.0, -GRAVITY))
    expected = body.own_wrench(forward_of(q)[0][3:], twist, rate)
    assert wrench == pytest.approx(expected, abs=10 * ROUNDING)  # of 10 N


def test_a_free_display_moves_as_newton_and_euler_say():
    """Without servo and friction: M q'' = J^T w of an end effector with all its numbers, solved by another method."""
    period, q0 = 1e-4, np.array([0.01, 0.02, 0.03, 0.4, -0.5, 0.6])
    push = np.array([3.0, -2.0, 25.0, 0.04, 0.06, -0.05])
    numbers = {"end_effector_mass": 1.5, "end_effector_center_x": 0.02, "end_effector_center_y": -0.03}
    numbers |= {"end_effector_center_z": 0.04, "end_effector_inertia_x": 4e-3, "end_effector_inertia_y": 3e-3}
    device = display(pushing(push, q0, period), period=period, **{**IDEAL, **numbers, "end_effector_inertia_z": 2e-3})
    device.deactivate()
    body = EndEffector(mass=1.5, center=[0.02, -0.03, 0.04], inertia=[4e-3, 3e-3, 2e-3], gravity=(0, 0, -GRAVITY))
    drives = np.repeat([DEFAULT.inertia_translation, DEFAULT.inertia_rotation], 3)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        q, qd = state[:6], state[6:]
        pose, twist = forward_of(q, qd)
        jacobian, offset = jacobian_of(q), bias_of(q, qd)
        zero = body.own_wrench(pose[3:], twist, offset) + push
        # the wrench is affine in the joint accelerations
        wrenches = [body.own_wrench(pose[3:], twist, offset + column) + push - zero for column in jacobian.T]
        inertia = np.diag(drives) - jacobian.T @ np.column_stack(wrenches)
        return np.concatenate((qd, np.linalg.solve(inertia, jacobian.T @ zero)))

    duration = 0.3
    expected = solve_ivp(slope, (0, duration), [*q0, *np.zeros(6)], rtol=1e-10, atol=1e-12).y[:, -1]
    run(device, [None] * round(duration / period))
    moved = np.concatenate((device.truth().position, device.truth().velocity)) - [*q0, *np.zeros(6)]
    expected -= [*q0, *np.zeros(6)]
    # the step of 1e-5 s, and the acceleration of the step before: some 1e-5 s / 0.3 s
    assert moved == pytest.approx(expected, rel=1e-3, abs=1e-4 * np.abs(expected).max())
    assert np.abs(expected[:6]).min() > 1e-3


# ---- without power --------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("push", [10.0, -25.0])
def test_a_push_meets_11_kg_and_the_friction(axis, push):
    wrench = np.zeros(6)
    wrench[axis] = push
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 300)
    acceleration = math.copysign((abs(push) - 7.2) / 11.0, push)
    # implicit Euler of a constant force: the velocity is exact, the place half a step ahead
    time = PERIOD * np.arange(1, 301)
    assert rows["true_velocity"][:, axis] == pytest.approx(acceleration * time, abs=100 * ROUNDING)
    step = PERIOD / SUBSTEPS
    assert rows["true_position"][:, axis] == pytest.approx(acceleration * time * (time + step) / 2, abs=100 * ROUNDING)
    assert (rows["true_effort"] == 0.0).all()
    assert rows["true_tool_wrench"][:, axis] == pytest.approx(push, abs=ROUNDING * 100)


@pytest.mark.parametrize("wrench", [(7.0, -7.0, 7.19, 0, 0, 0), (0, 0, 0, 0.7, 0.0, 0.7), (0, 0, 0, -0.1, 0.6, 0)])
def test_a_push_below_the_friction_moves_nothing_at_all(wrench):
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 300)
    assert (rows["true_position"] == 0.0).all() and (rows["true_velocity"] == 0.0).all()


@pytest.mark.parametrize(("axis", "joint"), [(0, 4), (1, 5), (2, 3)])
def test_a_moment_meets_the_rotational_inertia_and_friction(axis, joint):
    wrench = np.zeros(6)
    wrench[3 + axis] = 1.0
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 10)
    expected = (1.0 - 0.72) / 0.11 * PERIOD * np.arange(1, 11)
    # the other joints stick, so the axes stay (tilt and roll turn by 1e-4 rad, and meet 1e-4 of the moment)
    assert rows["true_velocity"][:, joint] == pytest.approx(expected, rel=1e-6)


def test_it_coasts_to_a_dead_stop():
    device = unpowered(None, **NO_BODY)
    device.truth().velocity[0] = 0.2
    rows = run(device, [None] * 400)
    time = PERIOD * np.arange(1, 401)
    speed = rows["true_velocity"][:, 0]
    assert speed == pytest.approx(np.maximum(0.2 - 7.2 / 11.0 * time, 0.0), abs=100 * ROUNDING)
    assert (speed[306:] == 0.0).all()  # 0.2 m/s over 7.2 N / 11 kg: 305.6 ms


def test_hand_and_end_effector_move_with_the_drive():
    holder = pushing((20.0, 0, 0, 0, 0, 0), mass=1.2)
    device = unpowered(holder, **{**NO_BODY, "end_effector_mass": 0.8, "end_effector_center_z": 0.0})
    rows = run(device, [None] * 100)
    speed = rows["true_velocity"][:, 0]
    # the acceleration of the step before settles in some steps: (2/11)^n, 1e-7 in the first period
    expected = (20.0 - 7.2) / (11.0 + 2.0)
    assert np.diff(speed)[1:] / PERIOD == pytest.approx(expected, rel=1e-9)
    # the tool feels the push less what the hand's mass takes
    assert rows["true_tool_wrench"][2:, 0] == pytest.approx(20.0 - 1.2 * expected, rel=1e-9)


def test_friction_holds_the_weight_of_the_end_effector_which_falls_without_it():
    assert (run(unpowered(None), [None] * 100)["true_position"] == 0.0).all()
    rows = run(unpowered(None, **NO_FRICTION, end_effector_center_z=0.0), [None] * 100)
    mass = DEFAULT.end_effector_mass
    expected = -mass * GRAVITY / (11.0 + mass)
    assert np.diff(rows["true_velocity"][:, 2])[1:] / PERIOD == pytest.approx(expected, rel=1e-9)
