"""Forty spheres that fall into a box (section XII-A) beside an independent implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder

#: positions (40, 40, 3) after each fifth step of 2 ms, single precision, Lagged with eq. (26)
POSITION = np.load(Path(__file__).with_name("data") / "clutter_trajectory.npz")["position"]
MASS, GRAVITY, PERIOD = 0.5235987755982989, 9.81, 2e-3


def spheres(approximation: str, stiffness: float = 1e7, **options: Any) -> Simulator:
    """The scene; two surfaces make a contact of half their stiffness [N/m]."""
    world = open_world("clutter_spheres", {"materials.surface.stiffness": 2.0 * stiffness}, worlds_folder())
    return Simulator(world, period=PERIOD, approximation=approximation, **options)


def positions(sim: Simulator) -> np.ndarray:
    return sim.dynamics.arrays.q.reshape(-1, 7)[:, :3].copy()


def test_the_motion_until_it_is_chaotic() -> None:
    """Impacts of all layers; after 0.47 s differences in the last digit have grown beyond the rounding of the file."""
    sim = spheres("lagged_regularized", linear_rotation=True, polish=True)
    for expected in POSITION:
        sim.step(5)
        np.testing.assert_allclose(positions(sim), expected, atol=1e-7)  # of single precision below 2 m


def test_the_motion_is_chaotic() -> None:
    """Why the rest of it is not compared: 1e-12 m in the place of one sphere are a millionfold within 0.9 s."""
    one, other = (spheres("lagged_regularized", polish=True) for _ in range(2))
    place = other.state("sphere_7").position + np.array([1e-12, 0.0, 0.0])
    other.set_state("sphere_7", position=place)
    for sim in (one, other):
        sim.step(round(0.9 / PERIOD))
    assert np.abs(positions(one) - positions(other)).max() > 1e-6


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("stiffness", [1e5, 1e7, 1e9, 1e12])
@pytest.mark.parametrize("approximation", ["lagged_regularized", "sap", "similar_regularized"])
def test_spheres_at_rest_sink_in_by_their_weight_over_the_stiffness(approximation: str, stiffness: float) -> None:
    """After 3 s most lie on the floor alone; to 4 digits from 1e5 to 1e12 N/m, as the other implementation has it."""
    sim = spheres(approximation, stiffness)
    sim.step(round(3.0 / PERIOD))
    gap = sim.contacts.signed_distance
    assert -np.median(gap[gap < 0.0]) == pytest.approx(MASS * GRAVITY / stiffness, rel=1e-4)
