"""The effective stiction tolerance of a step's contacts, against Table I and (26)."""

from __future__ import annotations

import numpy as np
import pytest

from convex_contact import Simulator, World

V_S, SIGMA = 1e-4, 1e-3


def simulator(approximation: str, force: float = 0.0) -> Simulator:
    """A box of 0.5 kg on the ground, and a ball above it."""
    world = World()
    world.add_half_space("ground")
    world.add_box("box", mass=0.5, size=(0.1, 0.2, 0.2), position=(0.0, 0.0, 0.1 - 1.2e-6))
    world.add_sphere("ball", mass=0.1, radius=0.01, position=(1.0, 0.0, 0.03))
    world.set_pair("ground", "box", stiffness=1e6, dissipation=10.0, relaxation_time=1e-3, friction=0.7)
    made = Simulator(
        world, period=1e-3, approximation=approximation, stiction_tolerance=V_S, sigma=SIGMA, speculative=False
    )
    made.apply_wrench("box", force=(0.0, 0.0, -force))
    return made


def known(sim: Simulator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tolerances of the contacts that bear a force, their normal impulses, and sigma w mu, (n,)."""
    bears = sim.contacts.impulse[:, 2] > 0.0
    tolerance = sim.stiction_tolerance
    assert bears.any() and not bears.all()  # the ball touches nothing yet, but is near
    np.testing.assert_array_equal(np.isnan(tolerance), ~bears)
    p = sim.solution.problem.parameters
    return tolerance[bears], sim.contacts.impulse[bears, 2], (SIGMA * p.delassus * p.friction)[bears]


def test_it_is_v_s_of_lagged_and_similar() -> None:
    for name in ("lagged", "similar"):
        sim = simulator(name)
        sim.step(5)
        np.testing.assert_array_equal(known(sim)[0], V_S)


@pytest.mark.parametrize("force", [0.0, 2000.0])
def test_it_follows_the_normal_impulse_of_sap(force: float) -> None:
    sim = simulator("sap", force=force)
    sim.step(5)
    tolerance, impulse, factor = known(sim)
    np.testing.assert_allclose(tolerance, factor * impulse, rtol=1e-12)


@pytest.mark.parametrize("name", ["lagged_regularized", "similar_regularized"])
@pytest.mark.parametrize("force", [0.0, 2000.0])
def test_it_is_the_larger_one_of_26(name: str, force: float) -> None:
    sim = simulator(name, force=force)
    sim.step(5)
    tolerance, _, factor = known(sim)
    bears = sim.contacts.impulse[:, 2] > 0.0
    lagged = factor * sim.solution.problem.parameters.lagged_impulse[bears]
    np.testing.assert_allclose(tolerance, np.maximum(V_S, lagged), rtol=1e-12)
    assert (tolerance > V_S).any() == (force > 0.0)


def test_elastoplastic_stiction_has_none_and_before_a_step_there_is_none() -> None:
    sim = simulator("lagged_elastoplastic")
    assert sim.stiction_tolerance.shape == (0,)
    sim.step(5)
    np.testing.assert_array_equal(known(sim)[0], 0.0)
