"""The step function on fixed buffers: which steps are good."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from admittance_constraints.dynamics.compiled import Step

THRESHOLD = 1e-3


@pytest.mark.parametrize(
    ("checksum", "health", "good"),
    [(1.0, 1.1e-3, True), (1.0, 0.9e-3, False), (np.nan, 1.0, False), (np.inf, 1.0, False), (1.0, np.nan, False)],
)
def test_a_good_step_is_finite_and_not_singular(checksum: float, health: float, good: bool) -> None:
    """A counter whose inputs are the checksum and the health of its result."""
    state, start, end, parameters = (ca.SX.sym(name, 1) for name in ("state", "start", "end", "parameters"))
    function = ca.Function("step", [state, start, end, parameters], [state + 1, ca.vertcat(start, end)])
    step = Step(function, checksum=0, health=1, threshold=THRESHOLD, compiled=False)
    counter, sound = np.zeros(1), np.ones((3, 1))
    inputs = sound.copy(), sound.copy()
    inputs[0][1], inputs[1][1] = checksum, health
    steps, _ = step.simulate(counter, *inputs, 1)
    assert steps == counter[0] == (3 if good else 1)
    step.start[:], step.end[:] = checksum, health
    step.run()
    assert step.is_good() is good
