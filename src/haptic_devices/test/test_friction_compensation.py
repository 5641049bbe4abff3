"""Friction compensation: steady torques, presliding, and what it leaves of a realistic friction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haptic_devices.components import joint_friction
from haptic_devices.components.friction_compensation import FrictionCompensation

PERIOD, COULOMB, VISCOUS, DISPLACEMENT, ELEMENTS = 1e-3, 8.7, 5.0, 3e-3, 4


def compensation(kind: str, **changes: Any) -> FrictionCompensation:
    numbers = {"coulomb": COULOMB, "viscous": VISCOUS, "displacement": DISPLACEMENT, "elements": ELEMENTS}
    return FrictionCompensation(kind, 2, period=PERIOD, **{**numbers, **changes})


def run(made: FrictionCompensation, velocities: np.ndarray) -> np.ndarray:
    return np.array([made.step(velocity).copy() for velocity in velocities])


@pytest.mark.parametrize("kind", ["model_c", "parallel"])
def test_steady_motion_gives_the_predicted_friction_of_each_joint(kind):
    torque = run(compensation(kind), np.tile([0.3, -0.1], (200, 1)))[-1]
    # both have turned far more than the displacement; sums of four shares
    assert torque == pytest.approx([COULOMB + VISCOUS * 0.3, -COULOMB - VISCOUS * 0.1], abs=1e-12)


def test_none_gives_nothing():
    assert not run(compensation("none"), np.full((50, 2), 0.3)).any()


def test_a_single_element_is_a_spring_that_slips_after_a_third_of_the_displacement():
    # without viscosity the spring's force is exact: K x up to F
    torque = run(compensation("model_c", viscous=0.0), np.full((10, 2), 0.25))[:, 0]
    angle = 0.25 * PERIOD * np.arange(1, 11)
    assert torque == pytest.approx(np.minimum(3.0 * COULOMB / DISPLACEMENT * angle, COULOMB), abs=1e-12)


def test_parallel_elements_slip_one_after_the_other():
    torque = run(compensation("parallel", viscous=0.0), np.full((60, 2), 0.06))[:, 0]
    angle = 0.06 * PERIOD * np.arange(1, 61)
    slips = DISPLACEMENT * (np.arange(1, ELEMENTS + 1) / ELEMENTS) ** 2
    expected = (COULOMB / ELEMENTS * np.minimum(angle[:, None] / slips, 1.0)).sum(axis=1)
    assert torque == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["model_c", "parallel"])
def test_reset_relaxes_all_springs(kind):
    made = compensation(kind)
    velocities = 0.3 * np.sin(np.arange(100.0))[:, None] * [1.0, -1.0]
    first = run(made, velocities)
    made.reset()
    assert (run(made, velocities) == first).all()


def test_parallel_elements_leave_less_of_a_reversing_joint_s_friction_than_one_which_leaves_less_than_none():
    time = PERIOD * np.arange(2000)
    angle = np.column_stack((0.02 * np.sin(2 * np.pi * time), 0.005 * np.sin(2 * np.pi * 1.5 * time)))
    friction = joint_friction.history(np.array([8.5, 10.0, 0.05, 5.0, 3e-3]), angle, PERIOD)
    velocity = np.diff(angle, axis=0) / PERIOD
    left = {}
    for kind in ("none", "model_c", "parallel"):
        left[kind] = np.sqrt(np.mean((friction[1:] - run(compensation(kind), velocity)) ** 2))
    assert left["parallel"] < 0.7 * left["model_c"] < 0.2 * left["none"]
    assert left["parallel"] > 0.2  # the Stribeck effect stays: no compensation of this kind is exact


def test_another_kind_is_refused():
    """It was computed as one element of another displacement."""
    with pytest.raises(ValueError, match="kind: expected none, model_c or parallel, got 'model C'"):
        compensation("model C")
