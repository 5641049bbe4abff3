"""Linearisation, sampling, optimality."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from tau_wall_control import TauDevice, TauError, design_wall_controller
from tau_wall_control.control import laws
from tau_wall_control.control.design import angle_weight, grid_points, kalman, lqr, task_weight
from tau_wall_control.control.linearisation import delayed, linearise, zero_order_hold
from tau_wall_control.control.options import SCHEMES
from tau_wall_control.device.rotations import rotation_from_vector

POINT = (0.012, -0.02, 0.007)


@pytest.fixture(scope="module")
def model(device: TauDevice) -> Any:
    return linearise(device, POINT)


def test_linear_model_is_the_slope_of_the_nonlinear_one(device: TauDevice, model: Any) -> None:
    """Accelerations by small deviations of angles, speeds, torques; friction's tanh left out."""
    smooth = device.with_parameters("friction.coulomb_actuated=0")
    h = 1e-5

    def acceleration(e: np.ndarray, rate: np.ndarray, u: np.ndarray) -> np.ndarray:
        p, R = device.forward_kinematics(model.theta + e, (np.array(POINT), np.eye(3)))
        V = np.linalg.solve(smooth.dynamics(p, R).actuated_map, rate)
        return smooth.acceleration(p, R, V, model.torque + u)[1]

    zero = np.zeros(6)
    for k in range(6):
        d = h * np.eye(6)[k]
        for expected, terms in (
            (model.A21, (d, zero, zero)),
            (model.A22, (zero, d, zero)),
            (model.B2, (zero, zero, d)),
        ):
            slope = (acceleration(*terms) - acceleration(*(-np.array(t) for t in terms))) / (2 * h)
            assert_allclose(expected[:, k], slope, atol=2e-6 * np.abs(expected).max())


def test_force_at_the_tool_changes_joint_accelerations_as_in_the_linear_model(device: TauDevice, model: Any) -> None:
    """The device at rest under its weight is linear in the force: equal to rounding."""
    direction = np.array([0.6, 0.0, -0.8])
    at_rest, pushed = (
        device.acceleration(POINT, torque=model.torque, wrench=force * np.array([*direction, 0.0, 0.0, 0.0]))[1]
        for force in (0.0, 1.0)
    )
    rate = model.push_response(direction)
    assert not rate[:6].any()
    assert_allclose(rate[6:], pushed - at_rest, rtol=1e-9)


def test_gravity_slope_by_another_path(device: TauDevice, model: Any) -> None:
    """dtau_g/dtheta J^-1 equals the change of tau_g along twists."""
    slope = -np.linalg.solve(model.B2, model.A21)
    h = 1e-6
    for k in range(6):
        V = h * np.eye(6)[k]
        ahead = device.gravity_torque_at(np.array(POINT) + V[:3], rotation_from_vector(V[3:]))
        behind = device.gravity_torque_at(np.array(POINT) - V[:3], rotation_from_vector(-V[3:]))
        along = np.linalg.solve(model.jacobian, np.eye(6)[k])
        assert_allclose(slope @ along, (ahead - behind) / (2 * h), atol=1e-5 * np.abs(slope).max() * 30)


def test_open_loop_is_unstable_at_the_centre(device: TauDevice) -> None:
    poles = np.linalg.eigvals(linearise(device, (0.0, 0.0, 0.0)).A)
    growing = sorted(x.real for x in poles if x.real > 1.0)
    assert_allclose(growing, [3.65, 8.2, 11.4], rtol=0.01)


def test_zero_order_hold(model: Any) -> None:
    A, B = zero_order_hold(*model.augmented(), 1e-3)
    block = np.zeros((24, 24))
    block[:18, :18], block[:18, 18:] = model.augmented()
    assert_allclose(np.hstack([A, B]), expm(1e-3 * block)[:18], atol=1e-12)


def test_riccati_residual_and_optimality(model: Any) -> None:
    A, B = zero_order_hold(*model.augmented(), 1e-3)
    Q, R = np.diag([1e4] * 6 + [1.0] * 6 + [1e7] * 6), np.eye(6)
    K, P = lqr(A, B, Q, R)
    residual = A.T @ P @ A - P - A.T @ P @ B @ np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A) + Q
    assert np.abs(residual).max() < 1e-8 * np.abs(P).max()
    assert_allclose(K, np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), atol=1e-8 * np.abs(K).max())
    # no other gain is better: x0^T P x0 is the cost, and it rises with every change of K
    x0 = np.random.default_rng(1).normal(size=18) * np.repeat([1e-3, 1e-2, 1e-5], 6)

    def cost(gain: np.ndarray) -> float:
        x, total = x0, 0.0
        for _ in range(3000):
            u = -gain @ x
            total += x @ Q @ x + u @ R @ u
            x = A @ x + B @ u
        return total

    best = cost(K)
    assert best == pytest.approx(x0 @ P @ x0, rel=1e-6)
    change = np.random.default_rng(2).normal(size=K.shape) * np.abs(K) * 0.03
    assert cost(K + change) > best < cost(K - change)


def test_sampling_and_gains_are_those_of_python_control(model: Any) -> None:
    A, B = zero_order_hold(model.A, model.B, 1e-3)
    C, R, noise, unit = np.eye(6, 12), np.eye(6), np.diag([1e-4] * 6 + [1e-2] * 6), 1e-10
    sampled = control.ss(model.A, model.B, np.eye(12), np.zeros((12, 6))).sample(1e-3, method="zoh")
    K, P, _ = control.dlqr(A, B, np.eye(12), R, method="scipy")
    _, covariance, _ = control.dlqe(A, np.eye(12), C, noise / unit, R, method="scipy")
    ours = (A, B, *lqr(A, B, np.eye(12), R), kalman(A, C, noise, unit * R)[1])
    for one, other in zip(ours, (sampled.A, sampled.B, K, P, unit * covariance), strict=True):
        assert_allclose(one, other, atol=1e-12 * np.abs(other).max())


def test_known_delay_is_a_predictor(model: Any) -> None:
    """LQR of the model with past torques as states is the LQR without delay of the state that it predicts."""
    A, B = zero_order_hold(model.A, model.B, 1e-3)
    Q, R = np.diag([1e4] * 6 + [1.0] * 6), np.eye(6)
    K, _ = lqr(A, B, Q, R)
    for samples in (1, 2):
        A_d, B_d = delayed(A, B, samples)
        Q_d = np.zeros(A_d.shape)
        Q_d[:12, :12] = Q
        K_d, _ = lqr(A_d, B_d, Q_d, R)
        predictor = np.hstack(
            [np.linalg.matrix_power(A, samples)] + [np.linalg.matrix_power(A, k) @ B for k in range(samples)]
        )
        assert_allclose(K_d, K @ predictor, atol=1e-6 * np.abs(K_d).max())


def test_kalman_is_stationary(model: Any) -> None:
    A, B = zero_order_hold(model.A, model.B, 1e-3)
    F, C, noise, R = np.eye(18), np.eye(6, 18), np.zeros((18, 18)), 1e-10 * np.eye(6)
    F[:12, :12], F[:12, 12:] = A, B
    noise[12:, 12:] = 1e-5 * np.eye(6)
    L, P = kalman(F, C, noise, R)
    corrected = P - L @ C @ P
    assert np.abs(F @ corrected @ F.T + noise - P).max() < 1e-9 * np.abs(P).max()


def test_weights(device: TauDevice, model: Any) -> None:
    assert_allclose(np.diag(task_weight(device, (0, 0, 2), 10.0)), [1, 1, 10, 9e-4, 9e-4, 9e-4])
    turned = task_weight(device, (1, 0, 1), 10.0)
    assert turned[0, 2] == pytest.approx(4.5)
    assert np.trace(angle_weight(model, turned)) == pytest.approx(6.06)


@pytest.mark.parametrize("per_axis", [1, 2, 4])
def test_grids(device: TauDevice, per_axis: int) -> None:
    seen: list[tuple[int, int]] = []
    c = design_wall_controller(device, "scheduled", per_axis=per_axis, progress=lambda *n: seen.append(n))
    assert len(c.table) == per_axis**3
    assert c.memory_bytes == per_axis**3 * laws.row_length(c.mode) * 8
    assert seen[-1] == (per_axis**3, per_axis**3)
    assert c.design_time > 0.0
    # gains at a grid point are those designed there; between them they lie between
    point = np.full(3, grid_points(device, per_axis)[-1])
    assert_allclose(c.gains(point)[0], c.table[-1], atol=0.0)
    if per_axis == 2:
        assert_allclose(c.gains(np.zeros(3))[0], c.table.mean(axis=0), rtol=1e-12)


def test_interpolation_is_continuous_and_switching_is_not(design: Any) -> None:
    scheduled, mopc = design("scheduled"), design("mopc")
    for edge in (-0.0125, 0.0, 0.0125, 0.025, 0.03):
        steps = [
            np.abs(np.subtract(*(c.gains((edge + s, 0.003, 0.0))[0] for s in (1e-9, -1e-9)))).max()
            for c in (scheduled, mopc)
        ]
        assert steps[0] < 1e-3
        assert (steps[1] > 0.1) == (abs(edge) == 0.0125)


@pytest.mark.parametrize(
    ("position", "index"),
    [
        ((0, 0, 0), 13),
        ((0.0125, -0.0125, 0), 13),
        ((0.0126, 0, 0), 22),
        ((-0.03, 0.0126, -0.0126), 6),
        ((0.02, 0.02, 0.02), 26),
    ],
)
def test_subspace_rule(design: Any, position: tuple[float, ...], index: int) -> None:
    """Index per axis = sign(coordinate) where |coordinate| > 12.5 mm."""
    assert design("mopc").gains(position)[1] == index


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": "best"}, "scheme: expected one of sopc, mopc, scheduled, observer, stiff, predictive, got 'best'"),
        ({"scheme": "stiff", "weight": 3}, "option 'weight': expected one of interpolated, "),
        ({"scheme": "mopc", "delay": 1}, "delay: a known delay needs"),
        ({"scheme": "stiff", "delay": 99}, "delay: expected 0 to 8"),
        ({"scheme": "stiff", "normal": (0, 0, 0)}, "normal: expected a direction"),
        ({"scheme": "scheduled", "per_axis": 0}, "per_axis: expected 1 or more"),
        ({"scheme": "scheduled", "points": (0.0, 0.3)}, "out of reach of chain"),
    ],
)
def test_refusals(device: TauDevice, options: dict[str, Any], words: str) -> None:
    with pytest.raises(TauError, match=words):
        design_wall_controller(device, **options)


def test_modes_of_the_schemes() -> None:
    modes = {name: o.mode for name, o in SCHEMES.items()}
    assert modes["sopc"] == modes["mopc"] == modes["scheduled"] == laws.INTEGRAL
    assert modes["observer"] == laws.OBSERVER | laws.SHARING
    assert modes["stiff"] == laws.OBSERVER | laws.SHARING | laws.JUMPS
    assert modes["predictive"] & laws.CONSTRAINED


@pytest.mark.covering(1)
@pytest.mark.parametrize("finer", [0.05, 0.25, 4.0])
def test_filters_for_other_encoders(device: TauDevice, finer: float) -> None:
    """Riccati equations of any size of counts are solved: the covariance is that of the filter's own recursion."""
    other = device.with_parameters(f"encoders.joint_resolution={3.83e-5 * finer!r}")
    c = design_wall_controller(other, "observer", per_axis=1)
    row, Ts = c.table[0], c.period
    F, C, noise = np.eye(18), np.eye(6, 18), np.zeros((18, 18))
    F[:12, :12], F[:12, 12:] = row[laws.A_D].reshape(12, 12), row[laws.B_D].reshape(12, 6)
    noise[12:, 12:] = c.options.disturbance_rate**2 * Ts * np.eye(6)
    R = (3.83e-5 * finer) ** 2 / 12.0 * np.eye(6)
    P = noise + R[0, 0] * np.eye(18)
    for _ in range(4000):
        L = np.linalg.solve(C @ P @ C.T + R, C @ P).T
        kept = np.eye(18) - L @ C
        P = F @ (kept @ P @ kept.T + L @ R @ L.T) @ F.T + noise  # this form stays symmetric and positive
    np.testing.assert_allclose(row[laws.FILTER].reshape(18, 6), L, rtol=1e-5, atol=1e-5 * np.abs(L).max())
