"""Motion of hydroelastic bodies: rest, bounce, sliding and spinning, in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hydroelastic_cases import GRAVITY, HALF, MASS, box_on_floor, force_of_box
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from convex_contact import Hydroelastic, Material, Simulator, World


@pytest.mark.parametrize(
    "approximation", ["sap", "lagged", "lagged_regularized", "similar", "similar_regularized", "lagged_elastoplastic"]
)
def test_a_box_rests_at_the_depth_of_its_weight(approximation: str) -> None:
    sim = Simulator(box_on_floor(), period=5e-3, approximation=approximation)
    sim.step(200)
    depth = brentq(lambda d: force_of_box(*HALF, d) - MASS * GRAVITY, 0.0, 0.01, xtol=1e-15)
    state = sim.state("box")
    assert HALF[2] - state.position[2] == pytest.approx(depth, rel=1e-5)  # the solver's tolerance
    assert np.abs(state.velocity).max() < 1e-6 and np.abs(state.orientation[:3]).max() < 1e-6
    report = sim.contacts
    assert report.area.sum() == pytest.approx(4 * HALF[0] * HALF[1], rel=1e-3)
    assert report.impulse[:, 2].sum() == pytest.approx(MASS * GRAVITY * 5e-3, rel=1e-5)


def test_a_tilted_box_comes_to_rest_flat() -> None:
    tilt = Rotation.from_rotvec([0.06, 0.04, 0.0])
    sim = Simulator(box_on_floor(position=(0, 0, 0.06), orientation=tilt.as_quat()), period=2e-3)
    sim.step(500)
    state = sim.state("box")
    upright = Rotation.from_quat(state.orientation).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(upright, [0.0, 0.0, 1.0], atol=1e-5)
    assert np.abs(state.angular_velocity).max() < 1e-3


def test_dissipation_takes_energy_from_a_bounce() -> None:
    """A falling box rises less high the larger d is, and never higher than without."""
    heights = []
    for dissipation in (0.0, 1.0, 4.0):
        sim = Simulator(box_on_floor(position=(0, 0, HALF[2] + 0.02), dissipation=dissipation), period=2e-4)
        z = []
        for _ in range(800):
            sim.step()
            z.append(sim.state("box").position[2] - HALF[2])
        lowest = int(np.argmin(z))
        heights.append(max(z[lowest:]))
    assert 0.02 > heights[0] > 0.012 and heights[0] > heights[1] * 1.2 > heights[2] * 1.4


@pytest.mark.parametrize("approximation", ["sap", "lagged", "similar"])
def test_a_sliding_patch_has_the_friction_mu_n(approximation: str) -> None:
    """Over many steps, since Lagged takes the load of the step before.

    The depth at rest is larger than the gap mu dt |v_t| with which SAP and Similar glide; else they would chatter.
    """
    world = box_on_floor(velocity=(1.0, 0.0, 0.0), dissipation=50.0, relaxation_time=0.0)
    sim = Simulator(world, period=1e-4, approximation=approximation)
    sim.step(500)
    start, friction, load = sim.state("box").velocity, np.zeros(3), 0.0
    for _ in range(500):
        sim.step()
        report = sim.contacts
        friction += np.einsum("nk,nki->i", report.impulse[:, :2], report.frame[:, :2])
        load += report.impulse[:, 2].sum()
    end = sim.state("box").velocity
    assert end[0] > 0.2
    size = np.linalg.norm(friction)
    np.testing.assert_allclose([size, abs(friction[0])], 0.4 * load, rtol=1e-2)
    np.testing.assert_allclose(MASS * (start[0] - end[0]), size, rtol=1e-2)


def test_a_spinning_disk_has_the_torsional_friction_of_a_disk() -> None:
    """(2/3) mu N R with even pressure; the faces bear it in their middles, which is second-order close."""
    radius, mu, errors = 0.06, 0.5, []
    for resolution in (0.03, 0.015):
        world = World((0.0, 0.0, -GRAVITY))
        material = Material(dissipation=20.0, friction=mu)
        world.add_half_space("floor", material=material)
        world.add_cylinder(
            "disk", mass=1.0, radius=radius, length=0.04, position=(0, 0, 0.02), angular_velocity=(0, 0, 60.0),
            material=material, hydroelastic=Hydroelastic(1e7, resolution),
        )  # fmt: skip
        sim = Simulator(world, period=1e-3)
        sim.step(150)
        before = sim.state("disk").angular_velocity[2]
        sim.step(50)
        torque = 0.5 * radius**2 * (before - sim.state("disk").angular_velocity[2]) / 0.05
        errors.append(1 - torque / (2 / 3 * mu * GRAVITY * radius))
        assert np.linalg.norm(sim.state("disk").velocity[:2]) < 0.01  # its rim has 2 m/s
    assert abs(errors[1]) < abs(errors[0]) / 2 and abs(errors[1]) < 0.02, errors
