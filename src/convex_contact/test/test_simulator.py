"""The simulator against the solver of single problems, closed forms and balances."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import (
    APPROXIMATIONS,
    ConvergenceError,
    DistanceConstraint,
    HertzLaw,
    Material,
    PDActuator,
    Simulator,
    World,
    WorldDynamics,
    WorldError,
    solve,
    transport_elastic_displacement,
)

G = 9.81
ARM = Path(__file__).with_name("data") / "arm.urdf"


def pile(material: Material | None = None) -> World:
    """A box, three balls on it and beside it, one of them thrown."""
    w = World()
    m = material or Material(stiffness=1e5, dissipation=5.0, relaxation_time=1e-3, friction=0.6)
    w.add_half_space("ground", material=m)
    w.add_box("box", mass=1.0, size=(0.2, 0.2, 0.1), position=(0.0, 0.0, 0.05), material=m)
    w.add_sphere("a", mass=0.3, radius=0.04, position=(0.03, 0.0, 0.139), material=m, velocity=(0.3, 0.1, 0.0))
    w.add_sphere("b", mass=0.2, radius=0.03, position=(-0.05, 0.02, 0.131), material=m)
    w.add_sphere("c", mass=0.4, radius=0.05, position=(0.3, 0.0, 0.05), material=m, velocity=(-2.0, 0.0, 0.0))
    return w


def block(friction: float = 0.5, *, force: tuple[float, ...] = (0.0, 0.0, 0.0), **options: Any) -> Simulator:
    """A box of 1 kg at rest on the ground, pulled at its centre."""
    w = World()
    w.add_half_space("ground")
    k = 1e5
    w.add_box("box", mass=1.0, size=(0.1, 0.1, 0.1), position=(0.0, 0.0, 0.05 - G / (4.0 * k)))
    w.set_pair("ground", "box", stiffness=k, dissipation=20.0, relaxation_time=1e-3, friction=friction)
    sim = Simulator(w, period=1e-3, **options)
    sim.apply_wrench("box", force)
    return sim


# --- a step is the solver's problem ------------------------------------------------------------------------------


@pytest.mark.covering(3)
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_step_is_the_solution_of_its_problem(approximation: str) -> None:
    sim = Simulator(pile(), period=2e-3, approximation=approximation, polish=True, tangential_damping=3.0)
    for _ in range(60):
        sim.step()
        ours = sim.solution
        theirs = solve(ours.problem, approximation)
        # both are solved to rounding, which dt^2 k eps |v| / m amplifies to some 1e-13
        np.testing.assert_allclose(ours.velocity, theirs.velocity, atol=1e-11)
        np.testing.assert_allclose(sim.contacts.impulse, theirs.impulse, atol=1e-11)
        if approximation == "lagged_elastoplastic":  # a contact that does not overlap forgets its displacement
            overlap = ours.problem.phi0 < 0.0
            np.testing.assert_allclose(
                sim.elastic_displacement[overlap], theirs.elastic_displacement[overlap], atol=1e-14
            )
            np.testing.assert_array_equal(sim.elastic_displacement[~overlap], 0.0)
        active = np.abs(theirs.impulse).max(axis=1, initial=0.0) > 1e-9
        np.testing.assert_array_equal(sim.contacts.sticking[active], theirs.sticking[active])


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_leaving_idle_contacts_out_changes_nothing(approximation: str) -> None:
    few, all_pairs = (
        Simulator(pile(), period=2e-3, approximation=approximation, speculative=s, polish=True) for s in (True, False)
    )
    for _ in range(150):
        few.step()
        all_pairs.step()
    # rounding, amplified by the collisions of the ball
    np.testing.assert_allclose(few.dynamics.arrays.q, all_pairs.dynamics.arrays.q, atol=1e-9)
    assert few.statistics.contacts < all_pairs.statistics.contacts


def test_repeating_gives_the_same_bits() -> None:
    sim = Simulator(pile(), period=2e-3)
    sim.step(100)
    first = sim.dynamics.arrays.q.copy()
    sim.apply_wrench("a", (1.0, 0.0, 0.0))
    sim.reset()
    assert sim.time == 0.0
    sim.step(100)
    np.testing.assert_array_equal(sim.dynamics.arrays.q, first)
    other = Simulator(pile(), period=2e-3)
    other.step(100)
    np.testing.assert_array_equal(other.dynamics.arrays.q, first)


def test_a_failed_step_changes_nothing() -> None:
    sim = Simulator(pile(), period=2e-3, relative_tolerance=1e-15, absolute_tolerance=0.0, max_iterations=1)
    before, time = sim.dynamics.arrays.q.copy(), sim.time
    with pytest.raises(ConvergenceError, match="step from t = ") as error:
        sim.step(200)
    assert error.value.velocity.shape == (sim.dynamics.nv,)
    assert error.value.residual > 0.0
    after, moved = sim.dynamics.arrays.q.copy(), sim.time
    with pytest.raises(ConvergenceError):
        sim.step()
    np.testing.assert_array_equal(sim.dynamics.arrays.q, after)
    assert sim.time == moved >= time
    assert len(before) == len(after)


# --- closed forms --------------------------------------------------------------------------------------------------


def test_free_fall_and_spin() -> None:
    w = World()
    w.add_box("box", mass=2.0, size=(0.1, 0.2, 0.3), velocity=(1.0, 0.0, 2.0), angular_velocity=(0.0, 0.0, 3.0))
    sim = Simulator(w, period=1e-3)
    sim.step(500)
    state, t, n = sim.state("box"), 0.5, 500
    np.testing.assert_allclose(state.position, [t, 0.0, 2.0 * t - 0.5 * G * t * t * (1 + 1 / n)], atol=1e-12)
    np.testing.assert_allclose(state.orientation, [0, 0, math.sin(0.75), math.cos(0.75)], atol=1e-12)  # 1.5 rad
    assert sim.time == pytest.approx(t)


def test_a_box_at_rest_presses_with_its_weight() -> None:
    sim = block()
    sim.step(300)
    contacts = sim.contacts
    assert contacts.impulse[:, 2].sum() == pytest.approx(G * 1e-3, rel=1e-9)
    np.testing.assert_allclose(contacts.signed_distance, -G / 4e5, rtol=1e-6)
    np.testing.assert_array_equal(contacts.body, np.tile([0, 1], (4, 1)))
    assert contacts.sticking.tolist() == [False] * 4 or np.abs(contacts.slip_velocity).max() < 1e-9


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_sliding_ends_after_v_squared_over_two_mu_g(approximation: str) -> None:
    friction, speed, period = 0.4, 1.0, 1e-3
    sim = block(friction, approximation=approximation, relative_tolerance=1e-8)
    sim.set_state("box", velocity=(speed, 0.0, 0.0))
    gliding = {"sap": friction * (period + 1e-3) * speed, "similar": friction * period * speed}
    gap = gliding.get(approximation.removesuffix("_regularized"), 0.0)
    sim.set_state("box", position=sim.state("box").position + np.array([0.0, 0.0, gap]))
    sim.step(10)
    if "elastoplastic" not in approximation:
        assert not sim.contacts.sticking.any()
    np.testing.assert_allclose(sim.contacts.slip_velocity[:, 0], sim.state("box").velocity[0], rtol=1e-2)
    sim.step(690)
    # of first order in the period: the pitch at the start and the end of sliding
    assert sim.state("box").position[0] == pytest.approx(speed**2 / (2.0 * friction * G), rel=0.02)


def test_two_balls_keep_momentum_and_lose_energy() -> None:
    w = World((0.0, 0.0, 0.0))
    m = Material(stiffness=1e5, dissipation=2.0, friction=0.3)
    w.add_sphere("a", mass=0.2, radius=0.05, position=(0, 0, 0), velocity=(1, 0, 0), material=m)
    w.add_sphere("b", mass=0.5, radius=0.05, position=(0.15, 0.04, 0), velocity=(-0.5, 0, 0), material=m)
    sim = Simulator(w, period=1e-4, polish=True)

    def balance() -> tuple[np.ndarray, np.ndarray, float]:
        p, angular, energy = np.zeros(3), np.zeros(3), 0.0
        for name in ("a", "b"):
            body, s = w.bodies[w.number(name)], sim.state(name)
            p += body.mass * s.velocity
            angular += np.cross(s.position, body.mass * s.velocity) + body.inertia @ s.angular_velocity
            energy += 0.5 * body.mass * s.velocity @ s.velocity
            energy += 0.5 * s.angular_velocity @ body.inertia @ s.angular_velocity
        return p, angular, energy

    p0, l0, e0 = balance()
    sim.step(1500)
    p1, l1, e1 = balance()
    np.testing.assert_allclose(p1, p0, atol=1e-14)
    # forces act at one point on both; the lever arms are those before each step: x0 and not x0 + dt v
    np.testing.assert_allclose(l1, l0, atol=1e-4)
    assert 0.1 * e0 < e1 < 0.95 * e0
    assert sim.state("a").velocity[0] < 0.0


# --- what is applied -----------------------------------------------------------------------------------------------


def test_wrench_and_state() -> None:
    w = World((0.0, 0.0, 0.0))
    w.add_box("box", mass=2.0, size=(0.2, 0.2, 0.2), center=(0.05, 0.0, 0.0), inertia=0.02)
    sim = Simulator(w, period=1e-2)
    quarter = np.array([0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)])
    sim.set_state("box", position=(1, 2, 3), orientation=quarter, velocity=(0.1, 0, 0), angular_velocity=(0, 0, 2))
    state = sim.state("box")
    np.testing.assert_allclose(state.position, [1, 2, 3])
    np.testing.assert_allclose(state.orientation, quarter)
    np.testing.assert_allclose(state.velocity, [0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(state.angular_velocity, [0, 0, 2])
    sim.set_state("box", velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
    np.testing.assert_allclose(sim.state("box").position, [1, 2, 3])  # what is not given stays
    sim.apply_wrench("box", (4.0, 0.0, 0.0), (0.0, 0.0, 0.1))
    sim.step()
    v = sim.dynamics.arrays.v
    np.testing.assert_allclose(v, [0.02, 0, 0, 0, 0, 0.05], atol=1e-15)  # dt f / m, dt m / J at the centre of mass
    sim.step()
    np.testing.assert_allclose(sim.dynamics.arrays.v, 2 * np.array([0.02, 0, 0, 0, 0, 0.05]), atol=1e-15)


def test_an_arm_with_effort_limits_and_actuator() -> None:
    w = World((0.0, 0.0, 0.0))
    tree = w.add_urdf("arm", ARM)
    sim = Simulator(w, period=1e-3)
    free = Simulator(w, period=1e-3, joint_limits=False)
    nv = sim.dynamics.nv
    limits = sim.dynamics.joint_limits()
    effort = np.zeros(nv)
    effort[limits.velocity[1]] = 5.0  # the slide is pushed out
    for s in (sim, free):
        s.set_effort(tree, effort)
        s.step(1500)
    slide, end = limits.coordinate[1], limits.upper[1]
    assert sim.dynamics.arrays.q[slide] == pytest.approx(end, abs=1e-3)
    assert free.dynamics.arrays.q[slide] > end + 0.5

    held = Simulator(w, period=1e-3)
    row = np.zeros(nv)
    row[limits.velocity[0]] = 1.0
    held.constraints.append(
        lambda d: PDActuator(
            row, d.arrays.q[limits.coordinate[0]], proportional_gain=1e4, derivative_gain=200.0, target_position=0.2
        )
    )
    held.step(2000)
    assert held.dynamics.arrays.q[limits.coordinate[0]] == pytest.approx(0.2, abs=5e-3)
    np.testing.assert_allclose(held.solution.velocity, solve(held.solution.problem).velocity, atol=1e-6)


def test_a_pendulum_of_two_bodies_on_a_rod() -> None:
    w = World((0.0, 0.0, 0.0))
    for name, x in (("a", 0.0), ("b", 0.5)):
        w.add_sphere(name, mass=1.0, radius=0.02, position=(x, 0, 0), velocity=(0, 1.0 if name == "b" else -1.0, 0))
    sim = Simulator(w, period=1e-3)

    def rod(d: WorldDynamics) -> DistanceConstraint:
        p, q = d.arrays.body_pose[0, 9:], d.arrays.body_pose[1, 9:]
        jacobians = np.zeros((2, 3, d.nv))
        jacobians[0, :, :3] = jacobians[1, :, 6:9] = np.eye(3)
        return DistanceConstraint(jacobians[0], jacobians[1], p, q, 0.5)

    sim.constraints.append(rod)
    sim.step(1000)
    p, q = sim.state("a").position, sim.state("b").position
    assert np.linalg.norm(p - q) == pytest.approx(0.5, abs=1e-4)
    np.testing.assert_allclose(p + q, [0.5, 0, 0], atol=1e-12)
    turn = math.atan2(*(q - p)[[1, 0]]) % (2 * math.pi)
    assert turn == pytest.approx(4.0, rel=1e-2)  # 2 v / length, of first order in the period


def test_rows_couple_two_trees_at_most() -> None:
    sim = Simulator(pile(), period=1e-3)
    sim.constraints.append(lambda d: PDActuator(np.ones(d.nv), 0.0, proportional_gain=1.0))
    with pytest.raises(ValueError, match="PDActuator: expected rows that couple one tree or two, got 4"):
        sim.step()


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approximation", "change"),
    [
        ("lagged", {"stiction_tolerance": 1e-2}),
        ("sap", {"sigma": 0.1}),
        ("sap", {"near_rigid": 20.0}),
        ("lagged", {"normal_law": HertzLaw()}),
        ("lagged_elastoplastic", {"tangential_stiffness": 1e3}),
        ("lagged_elastoplastic", {"tangential_damping": 50.0}),
        ("lagged", {"relative_tolerance": 0.3}),
        ("lagged", {"absolute_tolerance": 1.0}),
        ("lagged", {"polish": True}),
        ("lagged", {"period": 1e-3}),
        ("lagged", {"linear_rotation": True}),
        ("lagged", {"approximation": "sap"}),
    ],
)
def test_each_parameter_changes_the_result(approximation: str, change: dict[str, Any]) -> None:
    usual = {"period": 2e-3, "approximation": approximation}
    results = []
    for options in (usual, usual | change):
        sim = Simulator(pile(), **options)
        sim.step(round(0.2 / options["period"]))
        results.append(sim.dynamics.arrays.q)
    assert np.abs(results[0] - results[1]).max() > 1e-12


def test_threshold_decides_which_pairs_are_listed() -> None:
    counts = []
    for threshold in (0.1, 1e-3):
        sim = Simulator(pile(), period=2e-3, threshold=threshold, speculative=False)
        sim.step()
        counts.append(sim.statistics.contacts)
    assert counts[0] > counts[1]
    with pytest.raises(ConvergenceError):
        Simulator(pile(), period=2e-3, max_iterations=1, relative_tolerance=1e-12, absolute_tolerance=0.0).step(100)


def test_bad_input() -> None:
    w = pile()
    with pytest.raises(ValueError, match="period: expected more than 0, got -1"):
        Simulator(w, period=-1)
    with pytest.raises(ValueError, match="period: expected a number, got '1 ms'"):
        Simulator(w, period="1 ms")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"count: expected 0 or more steps, got 1\.5"):
        Simulator(w, period=1e-3).step(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"expected .*sap.*got 'coulomb'"):
        Simulator(w, period=1e-3, approximation="coulomb")
    for name in ("stiction_tolerance", "sigma", "relative_tolerance", "tangential_stiffness"):
        with pytest.raises(ValueError, match=f"{name}: expected more than 0, got 0"):
            Simulator(w, period=1e-3, **{name: 0.0})
    for name in ("near_rigid", "tangential_damping", "absolute_tolerance"):
        with pytest.raises(ValueError, match=f"{name}: expected 0 or more, got -1"):
            Simulator(w, period=1e-3, **{name: -1.0})
    with pytest.raises(ValueError, match="max_iterations: expected 1 or more"):
        Simulator(w, period=1e-3, max_iterations=0)
    with pytest.raises(ValueError, match="normal_law: expected None with sap"):
        Simulator(w, period=1e-3, approximation="sap", normal_law=HertzLaw())
    with pytest.raises(ValueError, match="normal_law: expected a NormalLaw or None, got 'hertz'"):
        Simulator(w, period=1e-3, normal_law="hertz")  # type: ignore[arg-type]
    with pytest.raises(WorldError, match="nothing can move"):
        Simulator(World(), period=1e-3)
    sim = Simulator(w, period=1e-3)
    with pytest.raises(RuntimeError, match="there was no step yet"):
        _ = sim.solution
    assert len(sim.contacts.impulse) == 0
    before = sim.dynamics.arrays.q.copy()
    with pytest.raises(WorldError, match="a: velocity: expected 3 finite numbers"):
        sim.set_state("a", position=(0, 0, 1), velocity=(0, math.nan, 0))
    np.testing.assert_array_equal(sim.dynamics.arrays.q, before)
    with pytest.raises(WorldError, match="a: orientation: expected a quaternion"):
        sim.set_state("a", orientation=(0, 0, 0, 0))
    with pytest.raises(WorldError, match="ground: its state cannot be set, it is fixed"):
        sim.set_state("ground", position=(0, 0, 1))
    with pytest.raises(WorldError, match="ground: a wrench acts on a free body"):
        sim.apply_wrench("ground", (1, 0, 0))
    with pytest.raises(WorldError, match="a: force: expected 3 finite numbers"):
        sim.apply_wrench("a", (1, 0))
    with pytest.raises(WorldError, match="0: no such tree; there are 0"):
        sim.set_effort(0, [1.0])
    with pytest.raises(WorldError, match="body: expected a name or a number, got True"):
        sim.contact_wrench(True)
    with pytest.raises(WorldError, match="world: expected a World, got 'scene'"):
        Simulator("scene", period=1e-3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count: expected 0 or more steps, got -1"):
        sim.step(-1)
    with pytest.raises(ValueError, match=r"state: expected what state\(\) returns, got 3"):
        sim.restore(3)  # type: ignore[arg-type]


def test_a_simulator_and_its_state_are_printed_in_one_line() -> None:
    sim = Simulator(pile(), period=1e-3)
    assert repr(sim) == "Simulator(time=0 s, period=0.001 s, lagged, 5 bodies, 0 contacts)"
    sim.step(10)
    contacts = len(sim.contacts.impulse)
    assert repr(sim) == f"Simulator(time=0.01 s, period=0.001 s, lagged, 5 bodies, {contacts} contacts)"
    assert repr(sim.state()) == "SimulatorState(time=0.01 s)"


# --- memory of contacts ----------------------------------------------------------------------------------------------


def test_displacements_are_carried_as_the_readable_form_does_it() -> None:
    """A ball that rolls and spins on a turning box: frames and spins of both change."""
    w = World()
    m = Material(stiffness=1e4, dissipation=5.0, friction=0.8)
    w.add_box("table", size=(1, 1, 0.1), prescribed=True, material=m, motion=lambda t: (0, 0, 0, 0.3, 0.2, 1.0))
    w.add_sphere("ball", mass=0.1, radius=0.05, position=(0.05, 0, 0.0999), material=m, angular_velocity=(5, 3, 9))
    sim = Simulator(w, period=1e-3, approximation="lagged_elastoplastic", tangential_damping=0.1)
    sim.step(30)
    for _ in range(20):
        d = sim.dynamics
        e, old = sim.elastic_displacement, d.contacts.frame[:1].copy()
        d.prepare()
        d.collect(sim.approximation)
        new = d.contacts.frame[:1]
        spin = 0.5 * (d.arrays.body_twist[0, 3:] + d.arrays.body_twist[1, 3:]) @ new[0, 2] * 1e-3
        np.testing.assert_allclose(
            d.transport_tangential(e), transport_elastic_displacement(e, old, new, [spin]), atol=1e-18
        )
        assert np.abs(e).max() > 1e-9
        d.swap()
        sim.step()
