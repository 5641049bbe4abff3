"""Damping and stiffness on SE(3) against an independent solution, limit cases included.

Tolerance: 1e-14 of the largest element of a wrench, and 1e-15 rad for the rotation vector: that is what the
rounding of the rotation matrices leaves, at every angle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from admittance_constraints import rotations
from admittance_constraints.model import symbolic, wrenches


def close(value: Any, expected: Any, tolerance: float = 1e-14) -> bool:
    reference = np.asarray(expected)
    return bool(np.abs(np.asarray(value) - reference).max() <= tolerance * max(np.abs(reference).max(), 1e-12))


def test_wrenches(data: Callable[[str], Any]) -> None:
    cases = data("wrenches.json")["cases"]
    assert any(case["sign_ambiguous"] for case in cases) and any("near0" in case["id"] for case in cases)
    for case in cases:
        q, qdot = np.array(case["q"]), np.array(case["qd"])
        R = rotations.rotation_from_angles(q[3:])
        twist = wrenches.body_twist(q, qdot)
        assert close(twist, case["v_body"] + case["omega_body"]), case["id"]
        damping = wrenches.damping_wrench(twist, case["b_t"], case["b_r"])
        assert close(damping, case["tau_d_body"]), case["id"]
        assert close(wrenches.generalised_force(damping, q), case["tau_d_q"]), case["id"]
        spring = wrenches.spring_wrench(
            q[:3], R, case["k_t"], case["k_r"], origin=case["p_o"], origin_rotation=case["R_o"]
        )
        vector = rotations.rotation_vector(R.T @ np.array(case["R_o"]))
        if case["sign_ambiguous"] and vector @ case["rotvec_thetaK"] < 0.0:
            vector, spring = -vector, np.concatenate([spring[:3], -spring[3:]])
        assert np.abs(vector - case["rotvec_thetaK"]).max() < 1e-15, case["id"]
        assert np.linalg.norm(vector) == pytest.approx(case["theta"], abs=1e-15), case["id"]
        assert close(spring, case["tau_s_body"]), case["id"]
        assert close(wrenches.generalised_force(spring, q), case["tau_s_q"]), case["id"]


def test_symbolic_rotation_vector_is_the_numeric_one(data: Callable[[str], Any]) -> None:
    R = ca.SX.sym("R", 3, 3)
    vector = ca.Function("vector", [R], [symbolic.rotation_vector(symbolic.quaternion_from_rotation(R))])
    for case in data("wrenches.json")["cases"]:
        turn = rotations.rotation_from_angles(case["q"][3:]).T @ np.array(case["R_o"])
        found, expected = vector(turn).full().ravel(), rotations.rotation_vector(turn)
        if case["sign_ambiguous"] and found @ expected < 0.0:
            found = -found
        np.testing.assert_allclose(found, expected, atol=1e-15, err_msg=case["id"])


def test_the_spring_is_the_gradient_of_its_energy(derivative: Callable[..., np.ndarray]) -> None:
    q = np.array([0.1, -0.2, 0.3, 0.4, -0.9, 1.2])
    options = {"origin": [0.0, 0.1, 0.2], "origin_rotation": rotations.rotation_from_angles([1.0, 0.5, 2.0])}

    def energy(point: np.ndarray) -> np.ndarray:
        R = rotations.rotation_from_angles(point[3:])
        return np.array([wrenches.spring_energy(point[:3], R, 200.0, 3.0, **options)])

    wrench = wrenches.spring_wrench(q[:3], rotations.rotation_from_angles(q[3:]), 200.0, 3.0, **options)
    # tau_s acts as -tau_s, and a potential as -dV/dq: they are one; differences of 200 N/m are right to 1e-7
    np.testing.assert_allclose(wrenches.generalised_force(wrench, q), derivative(energy, q)[0], atol=1e-7)


def test_printed_formulas_fail_where_the_quaternion_does_not() -> None:
    angle = np.pi - 1e-9
    R = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    theta = np.arccos((np.trace(R) - 1.0) / 2.0)  # (45)
    assert abs(theta - angle) > 5e-10  # half of the distance to pi is lost
    np.testing.assert_allclose(rotations.rotation_vector(R), [0.0, 0.0, angle], atol=1e-15)
    np.testing.assert_array_equal(rotations.rotation_vector(np.eye(3)), 0.0)


@pytest.mark.parametrize("name", ["translational", "rotational"])
def test_negative_coefficients_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected 0 or more, got -1"):
        wrenches.damping_wrench(np.zeros(6), **{"translational": 1.0, "rotational": 1.0, name: -1.0})
