"""Friction of a geared joint: breakaway, Stribeck curve, presliding hysteresis by Masing's rule, dissipation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haptic_devices.components import joint_friction

COULOMB, STATIC, STRIBECK, VISCOUS, DISPLACEMENT = 8.5, 10.0, 0.05, 5.0, 3e-3
FRICTION = np.array([COULOMB, STATIC, STRIBECK, VISCOUS, DISPLACEMENT])
#: without viscous part, and exp(-(v/v_s)^2) is 1: rate-independent
SLOW = np.array([COULOMB, STATIC, 1e9, 0.0, DISPLACEMENT])
N = joint_friction.ELEMENTS
#: sums of a few numbers of size 10
ROUNDING = 1e-13


def run(path: np.ndarray, friction: np.ndarray = SLOW, dt: float = 1e-3) -> np.ndarray:
    """Torques along a path of angles that starts at 0."""
    deflection = np.zeros(N)
    return np.array([joint_friction.step(friction, dt, way / dt, deflection) for way in np.diff(path, prepend=0.0)])


def first_loading(angle: np.ndarray) -> np.ndarray:
    """Sum of springs that slip one after the other, in closed form."""
    slips = DISPLACEMENT * (np.arange(1, N + 1) / N) ** 2
    return (STATIC / N * np.minimum(np.abs(angle)[:, None] / slips, 1.0)).sum(axis=1) * np.sign(angle)


def test_the_first_loading_is_the_sum_of_springs_that_slip_one_after_the_other():
    path = np.linspace(0.0, 1.5 * DISPLACEMENT, 301)
    assert run(path) == pytest.approx(first_loading(path), abs=ROUNDING * len(path))


def test_the_whole_static_friction_acts_once_the_joint_has_turned_by_the_displacement_and_not_before():
    path = np.array([0.999, 1.0, 2.0]) * DISPLACEMENT
    torque = run(path)
    assert torque[0] < STATIC * (1.0 - 1e-4)
    assert torque[1:] == pytest.approx([STATIC, STATIC], abs=ROUNDING)


@given(st.floats(0.1, 2.0), st.floats(0.05, 1.0))
def test_after_a_reversal_the_curve_is_the_first_loading_doubled(amplitude, back):
    out = np.linspace(0.0, amplitude * DISPLACEMENT, 100)
    home = np.linspace(0.0, 2.0 * back * amplitude * DISPLACEMENT, 100)
    torque = run(np.concatenate((out, out[-1] - home)))
    # Masing: f = f_r - 2 F((x_r - x)/2)
    expected = torque[99] - 2.0 * first_loading(home / 2.0)
    assert torque[100:] == pytest.approx(expected, abs=ROUNDING * 200)


def test_a_small_loop_inside_a_large_one_closes_where_it_began():
    out, back = np.linspace(0.0, 1.2e-3, 50), np.linspace(1.2e-3, 0.5e-3, 50)[1:]
    torque = run(np.concatenate((out, back, back[::-1][1:], [1.2e-3], np.linspace(1.2e-3, 4e-3, 30)[1:])))
    assert torque[len(out) + 2 * len(back) - 1] == pytest.approx(torque[len(out) - 1], abs=1e-11)
    assert torque[-1] == pytest.approx(STATIC, abs=ROUNDING * 200)


@pytest.mark.parametrize("speed", [1e-3, 0.02, 0.05, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("direction", [-1, 1])
def test_steady_sliding_gives_the_stribeck_curve_and_the_viscous_part(speed, direction):
    deflection = np.zeros(N)
    steps = round(2 * DISPLACEMENT / speed / 1e-4) + 10
    for _ in range(steps):
        torque = joint_friction.step(FRICTION, 1e-4, direction * speed, deflection)
    expected = COULOMB + (STATIC - COULOMB) * np.exp(-((speed / STRIBECK) ** 2)) + VISCOUS * speed
    assert torque == pytest.approx(direction * expected, abs=ROUNDING)


@given(st.lists(st.floats(-5e-3, 5e-3), min_size=2, max_size=30))
def test_a_closed_path_never_gains_energy(corners):
    corners = [0.0, *corners, 0.0]
    path = np.concatenate([np.linspace(a, b, 40)[1:] for a, b in pairwise(corners)])
    torque, ways = run(path), np.diff(path, prepend=0.0)
    # the springs keep what they still hold: their work is the torque's work less that energy, never negative
    assert (torque * ways).sum() >= -1e-12


def test_a_torque_below_the_friction_moves_the_joint_by_the_presliding_curve_and_no_further():
    deflection, angle, speed, dt = np.zeros(N), 0.0, 0.0, 1e-4
    places = []
    for k in range(25000):
        load = 4.0 + 3.0 * np.sin(2 * np.pi * 2.0 * k * dt) - 20.0 * speed  # with a servo's damping the start decays
        speed += dt * (load - joint_friction.step(FRICTION, dt, speed, deflection)) / 0.6
        angle += dt * speed
        places.append(angle)
    assert np.abs(places).max() < DISPLACEMENT
    # the fifth cycle of 0.5 s is the fourth one again, to what is left of the start, a millionth: no drift
    assert places[20000:] == pytest.approx(places[15000:20000], abs=1e-9)


def test_the_history_of_recorded_angles_gives_the_torques_again():
    time = np.arange(0.0, 1.0, 1e-3)
    angle = np.column_stack((0.05 * np.sin(2 * np.pi * 2 * time), 2e-3 * np.sin(2 * np.pi * 3 * time)))
    torque = joint_friction.history(FRICTION, angle, 1e-3)
    assert (torque[0] == 0.0).all()
    for joint in range(2):
        deflection = np.zeros(N)
        speeds = np.diff(angle[:, joint]) / 1e-3
        # the means of ten steps are those of the period's end where the joint slides; in presliding half a period off
        expected = [
            np.mean([joint_friction.step(FRICTION, 1e-4, speed, deflection) for _ in range(10)]) for speed in speeds
        ]
        assert torque[1:, joint] == pytest.approx(expected, abs=ROUNDING)
