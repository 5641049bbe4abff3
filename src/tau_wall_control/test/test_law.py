"""The compiled law against the equations in NumPy; torque sharing and the horizon against their optimality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear

from tau_wall_control import TauDevice
from tau_wall_control.control import horizon, laws
from tau_wall_control.control.linearisation import linearise, zero_order_hold


def _rows(c: Any, row: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(row[place].reshape(6, 6) for place in (laws.K_THETA, laws.K_RATE, laws.K_INTEGRAL))


def test_integral_and_anti_windup(device: TauDevice, design: Any) -> None:
    """xi grows after the command is computed, except in a joint that is clipped in the error's direction."""
    c = design("scheduled")
    c.start((0.0, 0.0, 0.0))
    K_theta, K_rate, K_i = _rows(c, c._row)
    r, xi = device.inverse_kinematics((0.0, 0.0, 0.0)), np.zeros(6)
    random = np.random.default_rng(0)
    clipped = 0
    for _ in range(300):
        theta, rate = r + 2e-3 * random.normal(size=6) + 1e-3, 0.3 * random.normal(size=6)
        wanted = c._row[laws.TORQUE] + K_theta @ (r - theta) - K_rate @ rate + K_i @ xi
        assert_allclose(c.step(theta, rate), np.clip(wanted, -1.1, 1.1), atol=1e-12)
        held = (np.abs(wanted) > 1.1) & ((r - theta) * wanted > 0.0)
        clipped += int(held.sum())
        xi += np.where(held, 0.0, 1e-3 * (r - theta))
    assert clipped > 10


@pytest.mark.covering(2)
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_filter_and_predictor(device: TauDevice, design: Any, delay: int) -> None:
    c = design("observer", delay=delay)
    c.start((0.01, 0.0, 0.0))
    row = c._row
    K_theta, K_rate, _ = _rows(c, row)
    A, B, L = row[laws.A_D].reshape(12, 12), row[laws.B_D].reshape(12, 6), row[laws.FILTER].reshape(18, 6)
    r, estimate, past = device.inverse_kinematics((0.01, 0.0, 0.0)), np.zeros(18), [np.zeros(6)] * delay
    random = np.random.default_rng(0)
    for _ in range(50):
        theta, rate = r + 2e-5 * random.normal(size=6), 1e-2 * random.normal(size=6)
        estimate = estimate + L @ (theta - r - estimate[:6])
        s, d = np.concatenate([theta - r, rate]), estimate[12:]
        for u in past:
            s = A @ s + B @ (u + d)
        wanted = row[laws.TORQUE] - K_theta @ s[:6] - K_rate @ s[6:] - d
        torque = c.step(theta, rate)
        if np.abs(wanted).max() <= 1.1:
            assert_allclose(torque, wanted, atol=1e-10)
        past = [*past, torque - row[laws.TORQUE]]
        estimate = np.concatenate([A @ estimate[:12] + B @ (past.pop(0) + d), d])


def test_jump_is_taken_up_at_once(device: TauDevice, design: Any) -> None:
    """A push that begins with a period is known to 5 % after it; the stationary filter knows a tenth of it."""
    known = []
    for c in (design("stiff", delay=0), design("stiff", delay=0, jump_threshold=0.0)):
        c.start((0.0, 0.0, 0.0))
        row = c._row
        B = row[laws.B_D].reshape(12, 6)
        jump = np.linalg.solve(device.dynamics((0.0, 0.0, 0.0)).actuated_map.T, [0, 0, -13.0, 0, 0, 0])
        r = device.inverse_kinematics((0.0, 0.0, 0.0))
        c.step(r, np.zeros(6))
        x = B @ jump
        c.step(r + x[:6], x[6:])
        known.append(np.linalg.norm(c._memory[laws.ESTIMATE][12:] - jump) / np.linalg.norm(jump))
    assert known[0] < 0.05
    assert known[1] > 0.8


@pytest.mark.slow
def test_sharing_keeps_what_matters(device: TauDevice) -> None:
    """Against the exact constrained least squares: never better, and rarely far from it."""
    random = np.random.default_rng(0)
    G = device.dynamics((0.0, -0.02, 0.0)).actuated_map
    weight = G @ np.diag([1.0, 1.0, 100.0, 100.0, 100.0, 100.0]) @ G.T
    root = np.linalg.cholesky(weight).T
    ratios = []
    for _ in range(200):
        wanted, u = random.normal(size=6) * 0.9, np.empty(6)
        laws.share(weight, wanted, 1.1, u)
        assert np.abs(u).max() <= 1.1 + 1e-9
        exact = lsq_linear(root, root @ wanted, (-1.1, 1.1)).x
        own, best = ((v - wanted) @ weight @ (v - wanted) for v in (u, exact))
        clip = np.clip(wanted, -1.1, 1.1)
        assert own >= best - 1e-9
        if best > 1e-6:
            ratios.append(own / best)
            assert own <= (clip - wanted) @ weight @ (clip - wanted) + 1e-9 or own < 1.5 * best
        else:
            assert_allclose(u, wanted, atol=1e-3)
    assert np.median(ratios) < 1.01


def test_horizon_is_optimal(device: TauDevice) -> None:
    """The first-order conditions of the box-constrained program hold."""
    m = linearise(device, (0.0, -0.02, 0.0))
    A, B = zero_order_hold(m.A, m.B, 1e-3)
    H, F, free = horizon.condense(A, B, np.diag([1e4] * 6 + [1.0] * 6), np.eye(6), 1e4 * np.eye(12))
    random = np.random.default_rng(0)
    active = 0
    for _ in range(50):
        x = random.normal(size=12) * np.repeat([5e-3, 1.5], 6)
        lower, upper = -1.1 - np.tile(m.torque, 6), 1.1 - np.tile(m.torque, 6)
        v = np.clip(free @ x, lower, upper)
        assert horizon.solve_box(H, F @ x, lower, upper, v, 50) < 50
        gradient = H @ v + F @ x
        scale = np.abs(F @ x).max()
        inside = (v > lower) & (v < upper)
        assert np.abs(gradient[inside]).max(initial=0.0) < 1e-6 * scale
        assert (gradient[v <= lower] > -1e-6 * scale).all()
        assert (gradient[v >= upper] < 1e-6 * scale).all()
        active += int((~inside).sum())
    assert active > 50


def test_horizon_without_limits_is_nearly_the_lqr(design: Any) -> None:
    """Exactly it would be with blocks of one sample."""
    c = design("predictive", delay=0)
    row = c.table[13]
    K = np.hstack([row[laws.K_THETA].reshape(6, 6), row[laws.K_RATE].reshape(6, 6)])
    assert_allclose(row[laws.PLAN].reshape(-1, 12)[:6], -K, rtol=0.0, atol=0.01 * np.abs(K).max())


def test_saturation_is_reported(device: TauDevice, design: Any) -> None:
    for scheme in ("scheduled", "stiff", "predictive"):
        c = design(scheme)
        c.start((0.0, 0.0, 0.0))
        theta = device.inverse_kinematics((0.0, 0.0, -0.004))
        for k in range(5):
            torque = c.step(theta, np.zeros(6))
            assert np.abs(torque).max() <= 1.1
            assert c.saturated_steps == k + 1
        c.start((0.0, 0.0, 0.0))
        c.step(device.inverse_kinematics((0.0, 0.0, 0.0)), np.zeros(6))
        assert c.saturated_steps == 0
