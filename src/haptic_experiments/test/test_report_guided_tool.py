"""The single-process reference of the guided tool against closed forms and an independent generator; the report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from admittance_constraints import PointOnParaboloid, ReferenceGenerator, split_number
from convex_contact import Material, Simulator, World
from convex_contact.scenes.guided_tool import SurfaceFriction
from haptic_experiments.experiments.cobot_guided_tool.pushing import (
    GuidedRun,
    Pushing,
    chatter,
    coefficients,
    difference,
    energies,
    rest,
)
from haptic_experiments.experiments.cobot_guided_tool.reference import GuidedReference, RunAwayError
from haptic_experiments.experiments.cobot_guided_tool.split_limit import BODY_MASS, STIFFNESSES, pressed
from haptic_friction import CoulombLaw, ModelC

T = 1e-3
MASS = 0.5
ORIGIN = np.array([0.3, -0.2, -0.034])


def guided(
    *, coefficient: float = 0.0, curvature: tuple[float, float] = (0.0, 0.0), damping: float = 0.0, thing: Any = None
) -> GuidedReference:
    """A tool of 0.5 kg at the guide's origin, above nothing; with a body, in its path."""
    world = World()
    world.add_sphere("tool", radius=0.008, mass=MASS, material=Material(stiffness=1e5, dissipation=5.0, friction=0.3))
    if thing is not None:
        world.add_sphere("thing", radius=0.01, material=Material(stiffness=1e5, dissipation=5.0, friction=0.3), **thing)
    mechanism = PointOnParaboloid(mass=MASS, curvature=curvature, damping=damping)
    simulator = Simulator(world, period=T, relative_tolerance=1e-10)
    made = GuidedReference(simulator, "tool", mechanism, ORIGIN, SurfaceFriction(coefficient, 2000.0, 8.0))
    made.reset(z=np.zeros(2))
    return made


def wrench(*force: float) -> np.ndarray:
    return np.array([*force, 0.0, 0.0, 0.0])


def test_plane_carries_the_normal_force_and_passes_the_tangential_one() -> None:
    g = guided()
    for k in range(1, 101):
        now = g.step(wrench=wrench(0.5, -0.25, -7.0))
        # implicit Euler of a constant force; the rigid rows yield by 1e-3 of their force over the mass (near-rigid)
        np.testing.assert_allclose(now.twist[:2], k * T * np.array([1.0, -0.5]), rtol=1e-9)
    assert now.multipliers[0] == pytest.approx(7.0, rel=1e-3)
    assert abs(now.x[2]) < 1e-7 and abs(now.twist[2]) < 1e-5
    np.testing.assert_allclose(now.x[:2], T**2 * 5050 * np.array([1.0, -0.5]), rtol=1e-9)


@pytest.mark.slow
def test_on_a_curved_guide_it_moves_as_the_generator_does() -> None:
    """An independent step, RK4 in the guide's coordinates, under a force that changes; of order one in T."""
    g = guided(curvature=(3.0, 5.0), damping=1.0)
    other = ReferenceGenerator(g.mechanism, period=T, integrator="rk4", z=[0.0, 0.0])
    apart, force = [], []
    for k in range(800):
        w = wrench(math.sin(4e-3 * k), 0.7 * math.cos(6e-3 * k), -5.0)
        now, due = g.step(wrench=w), other.step(wrench=w)
        apart.append(np.linalg.norm(now.x[:3] - due.x[:3]))
        force.append(abs(now.multipliers[0] - due.multipliers[0]))
    assert max(np.abs(due.x[:2])) > 0.02
    # a velocity of up to 0.7 m/s over half a period, and the force's change in it
    assert max(apart) < 0.7 * T and max(force) < 0.05
    # curvature times (v T)^2, before the next step takes it back
    assert np.abs(g.mechanism.holonomic_residual(now.x[:3])).max() < 5.0 * (0.7 * T) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("angle", [1.1, *(pytest.param(angle, marks=pytest.mark.slow) for angle in (0.0, -2.5))])
def test_friction_holds_like_its_spring_and_slides_with_mu_times_the_load(angle: float) -> None:
    direction = np.array([math.cos(angle), math.sin(angle)])
    g = guided(coefficient=0.2, damping=5.0)
    for k in range(1000):
        now = g.step(wrench=wrench(*(1.5 * min(1.0, k / 600) * direction), -10.0))
    # below the cone of 2 N it yields by F/K and stands; a sudden force would swing beyond the cone
    np.testing.assert_allclose(now.x[:2], 1.5 / 2000.0 * direction, rtol=2e-3)
    assert now.sticks and np.linalg.norm(now.twist[:3]) < 1e-5  # what exp(-(B + b) t/(2 m)) has left
    np.testing.assert_allclose(now.friction[:2], -1.5 * direction, rtol=1e-4)
    for _ in range(800):
        now = g.step(wrench=wrench(*(3.0 * direction), -10.0))
    # at the end of m v' = 3 - 2 - b v
    np.testing.assert_allclose(now.twist[:2], (3.0 - 2.0) / 5.0 * direction, rtol=1e-3)
    assert not now.sticks and np.linalg.norm(now.friction) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.slow
def test_friction_is_model_c_s_while_the_motion_turns() -> None:
    """Round a circle, fast and slowly: the element of its own, given the velocities that came and the load before."""
    g = guided(coefficient=0.02)
    element = ModelC(CoulombLaw(1.0), stiffness=2000.0, damping=8.0, period=T, dimension=2)
    angle, load, apart = 0.0, 0.0, []
    for k in range(900):
        rate = 6.0 * (1.0 - math.cos(0.02 * k))
        angle += T * rate
        c, s = math.cos(angle), math.sin(angle)
        place, speed = 0.05 * np.array([c - 1.0, s]), 0.05 * rate * np.array([-s, c])
        pull = 4000.0 * (place - g.now.x[:2]) + 60.0 * (speed - g.now.twist[:2])
        now = g.step(wrench=wrench(*pull, -20.0))
        element.set_load(0.02 * load)
        due, load = element.step(now.twist[:2]), abs(now.multipliers[0])
        if k > 50:
            apart.append(np.linalg.norm(now.friction[:2] + due))
    # the direction of the step before: its turn squared, and where the circle stops and begins again
    assert np.percentile(apart, 90) < 2e-3 and max(apart) < 0.1


def test_touched_body_gains_the_momentum_that_the_tool_loses() -> None:
    g = guided(thing={"mass": 0.2, "position": -ORIGIN + [0.03, 0.0, 0.0]})
    g.simulator.apply_wrench("thing", (0.0, 0.0, 0.2 * 9.81))
    given = lost = 0.0
    for _ in range(300):
        before = g.now.twist[0]
        now = g.step(wrench=wrench(0.5, 0.0, 0.0))
        given += T * 0.5
        lost += T * now.contact[0]
        assert now.twist[0] - before == pytest.approx(T * (0.5 + now.contact[0]) / MASS, abs=1e-10)  # of the solver
    thing = g.simulator.state("thing")
    assert thing.velocity[0] > 0.1  # it was met
    assert MASS * now.twist[0] + 0.2 * thing.velocity[0] == pytest.approx(given, rel=1e-8)
    assert 0.2 * thing.velocity[0] == pytest.approx(-lost, rel=1e-8)


def test_tool_does_not_rotate_and_stops_on_command() -> None:
    g = guided(thing={"mass": 0.2, "position": -ORIGIN + [0.012, 0.009, 0.0]})
    for _ in range(200):
        g.step(wrench=wrench(1.0, 0.0, -5.0))
    state = g.simulator.state("tool")
    assert abs(state.orientation[3]) == pytest.approx(1.0, abs=1e-6)
    g.stop()
    assert not g.simulator.state("tool").velocity.any()
    rest = g.now.at_rest()
    assert not rest.twist.any() and not rest.multipliers.any() and (rest.x == g.now.x).all()
    assert g.state is None
    with pytest.raises(RunAwayError, match="the display does not follow the reference"):
        g.restore(None)


# --- the limit of the split -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", STIFFNESSES[:2])
def test_the_split_pushes_quietly_up_to_the_closed_form(stiffness: float) -> None:
    """On either side of (k T^2 + 2 d T)(1/m - 1/M) = 4; one implicit step pushes with a hundredth of that mass."""
    limit = 1.0 / (4.0 / split_number(1.0, stiffness, 0.0, T) + 1.0 / BODY_MASS)
    assert pressed(1.05 * limit, stiffness, implicit=False, period=T) < 1e-4
    assert pressed(0.95 * limit, stiffness, implicit=False, period=T) > 0.1
    assert pressed(0.01 * limit, stiffness, implicit=True, period=T) < 1e-6


# --- what the report makes of signals ---------------------------------------------------------------------------


def pushing(n: int = 5, **change: Any) -> Pushing:
    rows = {name: np.zeros((n, 3)) for name in ("position", "velocity", "contact", "friction")}
    rows |= {"surface": np.zeros(n), "slides": np.ones(n, dtype=bool), "bodies": np.zeros((n, 2, 3))}
    return Pushing(**{**rows, **change})


def of(did: Pushing, phases: list[dict[str, Any]]) -> GuidedRun:
    n = len(did.position)
    return GuidedRun(T, T * np.arange(n), phases, ["a", "b"], did, np.zeros(n), np.zeros(n), 0, "lockstep")


def test_energy_added_by_a_delay_of_the_force() -> None:
    """A force of -1, -2, -3 N found on ways of 1, 2, 3 mm does -14 mJ there; a step later, on 2, 3, 0 mm, -8."""
    x = np.zeros((5, 3))
    x[:, 0] = [0.0, 1e-3, 3e-3, 6e-3, 6e-3]
    force = np.zeros((5, 3))
    force[1:4, 0] = [-1.0, -2.0, -3.0]
    found = energies(pushing(position=x, contact=force, friction=2.0 * force), late=1)
    assert found.contact == pytest.approx(-8e-3) and found.contact_made == pytest.approx(6e-3)
    assert found.friction == pytest.approx(-16e-3) and found.friction_made == pytest.approx(12e-3)
    now = energies(pushing(position=x, contact=force), late=0)
    assert now.contact == pytest.approx(-14e-3) and now.contact_made == 0.0


def test_differences_are_the_largest_and_those_of_the_end() -> None:
    bodies = np.zeros((5, 2, 3))
    bodies[2, 0, 1], bodies[4, 0, 1], bodies[4, 1, 0] = 5e-3, 1e-3, 2e-3
    place, force = np.zeros((6, 3)), np.zeros((6, 3))
    place[3], force[1, 2] = [3e-3, 4e-3, 0.0], -7.0
    found = difference(pushing(bodies=bodies), pushing(6, position=place, friction=force))
    assert found.motion == pytest.approx(5e-3) and (found.contact, found.friction) == (0.0, 7.0)
    np.testing.assert_allclose(found.bodies, [5e-3, 2e-3])
    np.testing.assert_allclose(found.bodies_end, [1e-3, 2e-3])


def test_the_coefficient_is_that_of_the_pressed_slides_and_the_worst() -> None:
    surface = np.full(100, 10.0)
    friction = np.zeros((100, 3))
    friction[:, 0] = -1.0
    friction[50, 0], friction[80, 0] = -1.2, -9.0  # the latter while it sticks
    slides = np.ones(100, dtype=bool)
    slides[80] = False
    phases = [
        {"name": "way", "kind": "push", "start": 0.0, "end": 0.09},
        {"name": "other", "kind": "slide", "start": 0.09, "end": 0.1},
    ]
    found = coefficients(of(pushing(100, surface=surface, friction=friction, slides=slides), phases))
    assert found == {"way": pytest.approx(0.12)}


def test_chatter_is_of_the_settled_press() -> None:
    force = np.zeros((2000, 3))
    force[900:1100:2, 1] = 0.3
    run = of(pushing(2000, contact=force), [{"name": "press", "kind": "push", "start": 0.2, "end": 1.9}])
    part = rest(run)
    assert (np.flatnonzero(part)[0], np.flatnonzero(part)[-1]) == (800, 1499)
    assert chatter(run.did, part) == pytest.approx(np.diff(force[800:1500, 1]).std())
    assert chatter(run.did, np.zeros(2000, dtype=bool)) == 0.0
