"""Feedback (17), (18) and its anti-windup, on a display that is a double integrator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from admittance_constraints import (
    DiskOnSphere,
    PIDFeedback,
    ReferenceGenerator,
    motion_command,
    pose_error,
    rotations,
    task_error,
)

PERIOD = 1e-3
GAINS: dict[str, Any] = {"proportional": 400.0, "derivative": 40.0, "integral": 2000.0}


def test_equation_17() -> None:
    random = np.random.default_rng(0)
    K_p, K_i, K_d = (random.normal(size=(6, 6)) for _ in range(3))
    pid = PIDFeedback(proportional=K_p, integral=K_i, derivative=K_d, period=PERIOD)
    total = np.zeros(6)
    for _ in range(10):
        e, rate = random.normal(size=(2, 6))
        total += PERIOD * e
        np.testing.assert_allclose(pid.step(e, rate), K_p @ e + K_i @ total + K_d @ rate, atol=1e-13)
    np.testing.assert_allclose(pid.error_integral, total, atol=1e-15)
    pid.reset()
    assert not pid.error_integral.any()


def test_gains_are_numbers_vectors_or_matrices() -> None:
    e = np.arange(6.0)
    for gain in (3.0, np.full(6, 3.0), 3.0 * np.eye(6)):
        pid = PIDFeedback(proportional=gain, derivative=0.0)
        np.testing.assert_array_equal(pid.step(e, e), 3.0 * e)


def track(pid: PIDFeedback, disturbance: float, seconds: float, target: float = 0.1) -> np.ndarray:
    """Position of an axis under the feedback and a disturbing acceleration, from rest at 0."""
    x = v = 0.0
    path = []
    for _ in range(round(seconds / PERIOD)):
        a = pid.step([target - x, 0, 0, 0, 0, 0], [-v, 0, 0, 0, 0, 0])[0] + disturbance
        v += PERIOD * a
        x += PERIOD * v
        path.append(x)
    return np.array(path)


def test_the_integral_removes_a_constant_disturbance() -> None:
    assert track(PIDFeedback(period=PERIOD, **GAINS), -2.0, 4.0)[-1] == pytest.approx(0.1, abs=1e-6)
    without = PIDFeedback(period=PERIOD, **{**GAINS, "integral": 0.0})
    assert track(without, -2.0, 4.0)[-1] == pytest.approx(0.1 - 2.0 / 400.0, abs=1e-6)


def test_a_bound_does_not_wind_up() -> None:
    """With the acceleration bounded the overshoot stays that of the bound; a plain integral overshoots far."""
    bounded = PIDFeedback(period=PERIOD, limit=1.5, **GAINS)
    path = track(bounded, -1.0, 6.0, target=0.5)
    assert np.abs(bounded.error_integral[0]) < 0.05
    assert path.max() < 0.55 and path[-1] == pytest.approx(0.5, abs=1e-3)


def test_integral_stops_at_its_bound_and_comes_back() -> None:
    pid = PIDFeedback(proportional=0.0, derivative=0.0, integral=10.0, period=0.1, limit=[1, 1, 1, 1, 1, 1])
    for _ in range(50):
        command = pid.step([1.0, 0, 0, 0, 0, 0], np.zeros(6))
    assert command[0] <= 1.0 and pid.saturated[0] and not pid.saturated[1]
    held = pid.error_integral[0]
    assert held <= 0.1 + 1e-15
    pid.step([-0.5, 0, 0, 0, 0, 0], np.zeros(6))
    assert pid.error_integral[0] == pytest.approx(held - 0.05)  # the way back is open at once


def test_errors_in_task_space_and_between_poses() -> None:
    g = ReferenceGenerator(DiskOnSphere(), z=[0.4, 0.2, 1.2], z_velocity=[0.5, 1.0, 0.3], compiled=False)
    r = g.step(np.zeros(6))
    x = r.x + np.array([0.001, 0.0, -0.002, 2 * np.pi, 0.01, -0.02])
    e, rate = task_error(r, x, r.x_velocity + 0.1)
    np.testing.assert_allclose(e, [-0.001, 0.0, 0.002, 0.0, -0.01, 0.02], atol=1e-15)
    np.testing.assert_allclose(rate, -0.1, atol=1e-15)
    Q = rotations.quaternion_from_rotation(rotations.rotation_from_angles(x[3:]))
    e, rate = pose_error(r, x[:3], Q, r.twist - 0.2)
    # to first order the rotation vector is the angles' error seen in the base frame
    np.testing.assert_allclose(e[3:], rotations.angle_jacobian(r.x[3:]) @ [0.0, -0.01, 0.02], atol=3e-4)
    np.testing.assert_allclose(e[:3], [-0.001, 0.0, 0.002], atol=1e-15)
    np.testing.assert_allclose(rate, 0.2, atol=1e-15)
    np.testing.assert_array_equal(pose_error(r, x[:3], -Q, r.twist)[0], e)  # Q and -Q are one orientation


def test_a_display_with_an_error_at_the_start_comes_to_the_reference() -> None:
    """Lines 13 to 17 of Algorithm 1 with a perfect double integrator, started 1 mm and 10 mrad off."""
    g = ReferenceGenerator(
        DiskOnSphere(), integrator="rk4", z=[0.4, 0.2, 1.2], z_velocity=[0.5, 1.0, 0.3], compiled=False
    )
    pid = PIDFeedback(proportional=400.0, derivative=40.0, period=PERIOD)
    x = g.mechanism.parametric([0.4, 0.2, 1.2]) + np.array([0.001, 0, 0, 0.01, 0, 0])
    v = g.mechanism.parametric_jacobian([0.4, 0.2, 1.2]) @ [0.5, 1.0, 0.3]
    for _ in range(1000):
        r = g.step(np.zeros(6))
        # the display moves through the period with the command; the reference is at its end
        a = motion_command(r.x_acceleration, pid.step(*task_error(r, x + PERIOD * v, v)))
        x, v = x + PERIOD * v + PERIOD**2 / 2 * a, v + PERIOD * a
    # what is left is the feedforward's age of half a period, T/2 times the jerk (below 50 rad/s^3) over K_p
    np.testing.assert_allclose(x, r.x, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"proportional": np.zeros(5)}, r"proportional: expected a number, shape \(6,\) or \(6, 6\), got \(5,\)"),
        ({"derivative": np.nan}, "derivative: expected finite numbers"),
        ({"limit": -1.0}, "limit: expected numbers above 0, got -1.0"),
        ({"period": 0.0}, "period: expected more than 0"),
    ],
)
def test_bad_gains_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PIDFeedback(**{"proportional": 1.0, "derivative": 1.0, **arguments})


def test_a_bad_error_leaves_the_integral() -> None:
    pid = PIDFeedback(**GAINS)
    pid.step(np.ones(6), np.zeros(6))
    before = pid.error_integral
    with pytest.raises(ValueError, match="error_rate: expected finite numbers"):
        pid.step(np.ones(6), np.full(6, np.nan))
    np.testing.assert_array_equal(pid.error_integral, before)
