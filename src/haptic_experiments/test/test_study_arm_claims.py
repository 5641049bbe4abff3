"""The verdict on the derivatives of the arm's optimisation: it fails just beyond its limits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_experiments.kit.results import Claims
from haptic_experiments.studies import arm_pushes_ball


@pytest.mark.parametrize(
    ("ratio", "cost", "shown"), [(1.01, 1.04, True), (0.99, 1.0, False), (2.0, 1.06, False), (2.0, 0.94, False)]
)
def test_derivatives_are_compared_with_differences_in_time_and_cost(
    monkeypatch: pytest.MonkeyPatch, ratio: float, cost: float, shown: bool
) -> None:
    own = {
        "costs": np.array([5.0, 1.0]),
        "states": np.zeros((3, 2)),
        "inputs": np.zeros((2, 1)),
        "gradient": np.zeros(2),
        "steps": np.ones(1),
        "regularization": np.zeros(1),
        "converged": np.array(True),
        "gradient_errors": np.array([1e-9]),
        "iteration_time": np.array([0.1]),
        "linearization_time": np.array(0.1),
    }
    other = {**own, "costs": np.array([5.0, cost]), "linearization_time": np.array(0.1 * ratio)}
    settings: Any = SimpleNamespace(problem=lambda: SimpleNamespace(system=None))
    monkeypatch.setattr(arm_pushes_ball, "touches", lambda system, solved: [])
    monkeypatch.setattr(arm_pushes_ball, "optimisation_claims", lambda *arguments: Claims())
    monkeypatch.setattr(arm_pushes_ball, "draw", lambda *arguments: None)
    found = arm_pushes_ball.report(settings, {"derivatives": own, "differences": other}, Path())
    gradient, derivatives = found.claims
    assert gradient.shown is True and derivatives.shown is shown
