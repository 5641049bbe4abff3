"""Model A against the event-driven solution of M v' = h - f: its errors at seven periods, and their order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from haptic_friction import CoulombLaw, FrictionLaw, ModelA, StribeckLaw, ViscousCoulombLaw

DATA = Path(__file__).with_name("data")
REFERENCE = json.loads((DATA / "truth_multisine.json").read_text())
TRUTH = dict(np.load(DATA / "truth_multisine.npz"))
DURATION, SAMPLE = REFERENCE["t_end"], 1e-3

LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(5.0),
    "coulomb_viscous": ViscousCoulombLaw(5.0, viscosity=2.0),
    "stribeck": StribeckLaw(5.0, static_force=7.0, stribeck_velocity=0.05, viscosity=2.0),
}


def motion(law: FrictionLaw, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and position of model A at the truth's samples, or at its own steps where these are fewer."""
    time = period * np.arange(1, round(DURATION / period) + 1)
    force = sum(a * np.sin(2 * np.pi * f * time + p) for a, f, p in REFERENCE["h_components_amp_freqHz_phase"])
    velocity = ModelA(law, mass=REFERENCE["M"], period=period).simulate(force[:, None])[:, 0]
    every = max(1, round(SAMPLE / period))
    return velocity[every - 1 :: every], period * np.cumsum(velocity)[every - 1 :: every]


def errors(name: str, law: FrictionLaw, period: float) -> tuple[float, float, float]:
    """Largest error of velocity and of position, and root mean square of the former, counting the start."""
    every = max(1, round(period / SAMPLE))
    velocity, position = motion(law, period)
    off_velocity, off_position = (
        velocity - TRUTH[f"{name}_v"][every::every],
        position - TRUTH[f"{name}_x"][every::every],
    )
    rms = np.sqrt(np.sum(off_velocity**2) / (len(off_velocity) + 1))
    return float(np.abs(off_velocity).max()), float(np.abs(off_position).max()), float(rms)


@pytest.mark.parametrize("name", LAWS)
def test_the_laws_and_the_input_are_the_references(name: str) -> None:
    law = dict(REFERENCE["laws"][name]["law"])
    assert law.pop("law") == name
    assert sorted(law.values()) == sorted(value for value in LAWS[name].coefficients if value)
    time = TRUTH["t"]
    force = sum(a * np.sin(2 * np.pi * f * time + p) for a, f, p in REFERENCE["h_components_amp_freqHz_phase"])
    np.testing.assert_allclose(TRUTH["h"], force, rtol=0, atol=1e-13)  # sums of sines of up to 170 rad, 12 N


@pytest.mark.parametrize("name", LAWS)
def test_model_a_at_1_ms_is_the_references(name: str) -> None:
    for found, quantity in zip(motion(LAWS[name], 1e-3), "vx", strict=True):
        expected = TRUTH[f"{name}_modelA_T1ms_{quantity}"][1:]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())  # as all references


@pytest.mark.parametrize("name", LAWS)
def test_the_errors_are_the_references_and_fall_in_first_order(name: str) -> None:
    rows = REFERENCE["laws"][name]["errors"]
    found = np.array([errors(name, LAWS[name], row["T"]) for row in rows])
    expected = np.array([[row[key] for key in ("max_v", "max_x", "rms_v")] for row in rows])
    # 160 000 steps round positions of 1 m by 1e-16 m at most: 2e-11 m of an error of 1e-5 m at the worst
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    periods = np.array([row["T"] for row in rows])
    orders = np.diff(np.log(found[:, :2]), axis=0) / np.diff(np.log(periods))[:, None]
    np.testing.assert_allclose(orders[:, 0], REFERENCE["laws"][name]["order_v"], rtol=0, atol=1e-7)  # 1e-8 / log 2
    np.testing.assert_allclose(orders[:, 1], REFERENCE["laws"][name]["order_x"], rtol=0, atol=1e-7)
    assert np.abs(orders - 1.0).max() < 0.02  # first order, as implicit Euler is; 0.016 by the reference


def test_the_approximation_46_converges_to_the_same_solution_with_a_larger_error() -> None:
    name, rows = "stribeck", REFERENCE["laws"]["stribeck"]["errors"]
    found = np.array([errors(name, LAWS[name].approximated(), row["T"])[:2] for row in rows])
    expected = np.array([[row["approx46_max_v"], row["approx46_max_x"]] for row in rows])
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # as above
    assert (found[:, 0] > 3.0 * np.array([row["max_v"] for row in rows])).all()
