"""Weight and inertia of the end effector against Lagrange's equations of the same body."""

from __future__ import annotations

import numpy as np
import pytest

from admittance_constraints import EndEffector, KnifeEdge, ReferenceGenerator, rotations

TOOL = EndEffector(mass=0.2, center=(0.01, -0.02, 0.05), inertia=(1e-4, 2e-4, 3e-4))


def test_at_rest_the_cell_reads_the_weight() -> None:
    Q = [0.0, 0.0, np.sin(0.4), np.cos(0.4)]
    own = TOOL.own_wrench(Q, np.zeros(6), np.zeros(6))
    c = rotations.rotation_from_quaternion(Q) @ TOOL.center
    np.testing.assert_allclose(own, [0, 0, -0.2 * 9.81, *np.cross(c, [0, 0, -0.2 * 9.81])], atol=1e-15)
    np.testing.assert_allclose(TOOL.user_wrench(own, Q, np.zeros(6), np.zeros(6)), 0.0, atol=1e-15)


def test_moving_it_is_the_rate_of_its_momentum() -> None:
    """Momentum and angular momentum about the tool point's instant, differentiated along a motion."""
    Q0 = np.array([0.1, 0.2, 0.3, np.sqrt(1 - 0.14)])
    v, omega = np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, -1.5])
    a, alpha = np.array([2.0, 1.0, -3.0]), np.array([-4.0, 3.0, 5.0])

    def momentum(t: float) -> tuple[np.ndarray, np.ndarray]:
        turn = omega * t + alpha * t**2 / 2  # to second order the rotation vector in the base frame
        angle = np.linalg.norm(turn)
        dQ = np.array([0.0, 0.0, 0.0, 1.0])
        if angle > 0.0:
            dQ = np.array([*(np.sin(angle / 2) * turn / angle), np.cos(angle / 2)])
        R = rotations.rotation_from_quaternion(rotations.quaternion_product(dQ, Q0))
        w, c = omega + alpha * t, R @ TOOL.center
        p = v * t + a * t**2 / 2
        linear = TOOL.mass * (v + a * t + np.cross(w, c))
        return linear, np.cross(p + c, linear) + R @ TOOL.inertia @ R.T @ w

    h = 1e-5
    (l0, h0), (l1, h1) = momentum(-h), momentum(h)
    rates = np.concatenate([(l1 - l0) / (2 * h), (h1 - h0) / (2 * h)])
    R = rotations.rotation_from_quaternion(Q0)
    weight = np.array([0.0, 0.0, -0.2 * 9.81])
    user = TOOL.user_wrench(np.zeros(6), Q0, [*v, *omega], [*a, *alpha])  # the cell feels nothing: the user does it all
    expected = rates - [*weight, *np.cross(R @ TOOL.center, weight)]
    np.testing.assert_allclose(user, expected, atol=1e-8)  # central differences of numbers of order one


def test_heavy_end_effector_does_not_change_the_rendered_mass() -> None:
    """The user pushes with 1 N; the cell reads that less the end effector's inertia; the rendered mass is 0.5 kg."""
    skate = KnifeEdge(mass=0.5)
    g = ReferenceGenerator(skate, compiled=False)
    tool = EndEffector(mass=0.3)
    rate, twist, Q = np.zeros(6), np.zeros(6), np.array([0.0, 0.0, 0.0, 1.0])
    for k in range(100):
        push = np.array([1.0, 0, 0, 0, 0, 0])
        cell = push + tool.own_wrench(Q, twist, rate)  # measured by a display that follows perfectly
        r = g.step(wrench=tool.user_wrench(cell, Q, twist, rate))
        rate, twist, Q = r.twist_rate, r.twist, r.orientation
        assert rate[0] == pytest.approx(1.0 / 0.5, rel=1e-12), k
    assert r.z_velocity[0] == pytest.approx(100 * 1e-3 / 0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": -0.1}, "mass: expected 0 or more, got -0.1"),
        ({"center": (0.0, 0.0)}, r"center: expected shape \(3,\)"),
        ({"inertia": (1.0, 2.0)}, r"inertia: expected shape \(3, 3\), got \(2,\)"),
        ({"gravity": (0.0, 0.0, np.nan)}, "gravity: expected finite numbers"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EndEffector(**{"mass": 0.1, **arguments})  # type: ignore[arg-type]
