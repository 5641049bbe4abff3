"""The observer along a plane against the information form of the Kalman filter, which shares no formula with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tau_wall_control.control import laws
from tau_wall_control.control.design import kalman
from tau_wall_control.walls import wall_filter as module
from tau_wall_control.walls.wall_filter import INVERSE_VARIANCE, wall_filter


def test_gains_after_a_jump_are_those_of_the_information_filter(design: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def kept(*matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given.append((*matrices, *kalman(*matrices)))
        return kalman(*matrices)

    monkeypatch.setattr(module, "kalman", kept)
    controller = design("observer", per_axis=1)
    gains = wall_filter(controller)
    ((F, C, noise, R, L, P),) = given
    np.testing.assert_allclose(gains[0, :3], L[:, 0], rtol=1e-12)
    assert gains[0, INVERSE_VARIANCE] == pytest.approx(1.0 / (P[0, 0] + R[0, 0]))
    T = controller.period
    jump = np.array([0.5 * T * T, T, 1.0])
    scale = np.sqrt(noise[2, 2] / T) / controller.options.disturbance_rate
    P = P + (controller.options.jump * scale) ** 2 * np.outer(jump, jump)
    for k in range(1, laws.JUMP_GAINS + 1):
        after = np.linalg.inv(np.linalg.inv(P) + C.T @ C / R)
        np.testing.assert_allclose(gains[k, :3], (after @ C.T / R)[:, 0], rtol=1e-6)  # 1e-6: P has condition 1e9
        P = F @ after @ F.T + noise
    distance = np.abs(gains[1:, :3] - gains[0, :3]).max(axis=1) / np.abs(gains[0, :3]).max()
    assert distance[-1] < 0.1 * distance.max()  # the gains return to the stationary ones
