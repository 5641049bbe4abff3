"""Friction that falls with the slip speed, that has a direction, and that resists spin, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from convex_contact import APPROXIMATIONS, Material, PairLaw, Simulator, World, WorldError, rollout, solve

G = 9.81
#: v_s of all simulations [m/s]: what creep and widths of transitions are compared with
TOLERANCE = 1e-5
#: of each surface [N/m]: two in series at four corners sink in by 0.25 mm
STIFFNESS = 2e4
#: of the plate, flat so that friction does not tip it [m]
SIZE = (0.2, 0.2, 0.02)


def on_a_floor(**friction: Any) -> World:
    """A plate of 1 kg that rests on a floor of the same material."""
    material = Material(stiffness=STIFFNESS, dissipation=20.0, relaxation_time=1e-2, **friction)
    world = World()
    world.add_half_space("floor", material=material)
    sag = G / (4 * 0.5 * STIFFNESS)
    world.add_box("plate", mass=1.0, size=SIZE, position=(0.0, 0.0, 0.5 * SIZE[2] - sag), material=material)
    return world


def simulator_of(world: World, **options: Any) -> Simulator:
    return Simulator(world, **{"period": 1e-3, "stiction_tolerance": TOLERANCE, "approximation": "lagged", **options})


def pulled(world: World, force: tuple[float, float, float], steps: int, **options: Any) -> np.ndarray:
    """Velocities (steps, 3) [m/s] of a plate that a force pulls along the floor, at the floor."""
    simulator = simulator_of(world, **options)
    found = []
    for k in range(steps):
        now = min(1.0, k / 100.0) * np.array(force)  # a sudden force would stretch the bristles by twice as much
        simulator.apply_wrench("plate", now, np.cross((0.0, 0.0, -0.5 * SIZE[2]), now))
        simulator.step()
        found.append(simulator.state("plate").velocity)
    return np.array(found)


# --- static and dynamic friction ---------------------------------------------------------------------------


@pytest.mark.parametrize("approximation", ["lagged", "similar", "sap", "lagged_elastoplastic"])
def test_sticks_up_to_the_static_coefficient_and_slides_at_the_dynamic_one(approximation: str) -> None:
    world = on_a_floor(friction=0.3, static_friction=0.5, stribeck_velocity=5e-3)
    below = pulled(world, (0.49 * G, 0.0, 0.0), 300, approximation=approximation)
    assert np.abs(below[200:, 0]).max() < 2e-3  # SAP's regularisation creeps at up to sigma w mu N dt
    above = pulled(world, (0.55 * G, 0.0, 0.0), 600, approximation=approximation)
    late = np.diff(above[-200:, 0]).mean() / 1e-3
    assert late == pytest.approx((0.55 - 0.3) * G, rel=5e-3)  # Coulomb's law with mu = 0.3
    # between both coefficients: at rest it sticks, once it slides it goes on
    world.bodies[1].velocity = np.array([0.5, 0.0, 0.0])
    sliding = pulled(world, (0.4 * G, 0.0, 0.0), 300, approximation=approximation)
    assert np.diff(sliding[100:, 0]).mean() / 1e-3 == pytest.approx((0.4 - 0.3) * G, rel=2e-2)


def test_coefficient_falls_with_the_slip_speed_as_stribeck_s() -> None:
    world = on_a_floor(friction=0.2, static_friction=0.6, stribeck_velocity=0.1)
    for speed in (0.05, 0.1, 0.3):
        world.bodies[1].velocity = np.array([speed, 0.0, 0.0])
        simulator = simulator_of(world)
        simulator.step()
        n = int(simulator.dynamics.contacts.count[0])
        expected = 0.2 + 0.4 * math.exp(-((speed / 0.1) ** 2))
        np.testing.assert_allclose(simulator.dynamics.contacts.friction[:n], expected, rtol=1e-12)


@pytest.mark.slow
def test_a_spring_pulls_a_block_into_stick_and_slip() -> None:
    """The force builds up to mu_s N and each slip ends near 2 mu_d - mu_s of N: the closed form of a fast slip."""
    world = on_a_floor(friction=0.2, static_friction=0.4, stribeck_velocity=1e-3)
    simulator = simulator_of(world, period=2e-4)
    stiffness, speed, drawn = 400.0, 0.02, []
    for k in range(20_000):
        x = simulator.state("plate").position[0]
        drawn.append(stiffness * (speed * 2e-4 * k - x))
        force = np.array([drawn[-1], 0.0, 0.0])
        simulator.apply_wrench("plate", force, np.cross((0.0, 0.0, -0.5 * SIZE[2]), force))
        simulator.step()
    force = np.array(drawn)[5000:]
    peaks = force[1:-1][(force[1:-1] > force[:-2]) & (force[1:-1] >= force[2:])]
    troughs = force[1:-1][(force[1:-1] < force[:-2]) & (force[1:-1] <= force[2:])]
    assert len(peaks) >= 3
    # the spring goes on while the block starts: a few percent
    np.testing.assert_allclose(peaks, 0.4 * G, rtol=0.03)
    np.testing.assert_allclose(troughs, (2 * 0.2 - 0.4) * G, atol=0.05 * 0.4 * G)


def test_static_friction_never_adds_energy() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        world = on_a_floor(friction=0.1, static_friction=0.9, stribeck_velocity=0.02)
        world.bodies[1].velocity = np.array([*rng.uniform(-0.3, 0.3, 2), 0.0])
        world.bodies[1].angular_velocity = np.array([0.0, 0.0, rng.uniform(-3.0, 3.0)])
        simulator = simulator_of(world)
        energies = []
        for _ in range(200):
            simulator.step()
            s = simulator.state("plate")
            inertia = 0.2**2 / 6.0
            energies.append(0.5 * s.velocity @ s.velocity + 0.5 * inertia * s.angular_velocity @ s.angular_velocity)
        # the springs of the floor hold (m g)^2/(2 k) = 1.2e-3 J at rest
        assert np.diff(energies).max() < 1.2e-3


# --- friction with a direction -------------------------------------------------------------------------------


def grooved_floor(angle: float, along: float, across: float) -> World:
    """A plate without a direction of its own on a floor whose grooves make an angle with x."""
    world = World()
    direction = (math.cos(angle), math.sin(angle), 0.0)
    common = {"stiffness": STIFFNESS, "dissipation": 20.0, "relaxation_time": 1e-2}
    floor = Material(friction=along, friction_across=across, friction_direction=direction, **common)
    world.add_half_space("floor", material=floor)
    plain = Material(friction=0.4, **common)
    sag = G / (4 * 0.5 * STIFFNESS)
    world.add_box("plate", mass=1.0, size=SIZE, position=(0.0, 0.0, 0.5 * SIZE[2] - sag), material=plain)
    return world


def harmonic(a: float, b: float) -> float:
    return 2.0 * a * b / (a + b)


@pytest.mark.parametrize("approximation", ["lagged", "similar", "sap", "lagged_elastoplastic"])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_friction_on_grooves_is_that_of_maximum_dissipation(angle: float, approximation: str) -> None:
    """f = -N M^2 v/|M v| is the force of the ellipse {M y: |y| <= N} that dissipates most."""
    along, across = 0.2, 0.8
    world = grooved_floor(angle, along, across)
    direction = 0.4
    velocity = np.array([math.cos(direction), math.sin(direction)])
    world.bodies[1].velocity = np.array([*velocity, 0.0])
    simulator = simulator_of(world, approximation=approximation)
    simulator.step(50)
    u = np.array([math.cos(angle), math.sin(angle)])
    M = harmonic(along, 0.4) * np.outer(u, u) + harmonic(across, 0.4) * (np.eye(2) - np.outer(u, u))
    expected, start = np.zeros(2), simulator.state("plate").velocity[:2]
    for _ in range(200):
        simulator.step()
        v = simulator.state("plate").velocity[:2]
        expected -= 1e-3 * G * M @ M @ v / np.linalg.norm(M @ v)
    # 2 % for the normal force, which still swings about m g when the window begins and ends
    np.testing.assert_allclose(v - start, expected, rtol=0.0, atol=0.02 * np.linalg.norm(expected))


def test_grooves_hold_what_is_below_their_friction() -> None:
    """The plate yields by about f/k_t, M^-2 m2 times as much as on a surface without grooves, and stays there."""
    stiffness, force = 1e4, np.array([0.6, 0.3])
    springs = {"tangential_stiffness": stiffness, "tangential_damping": 20.0}
    simulator = simulator_of(grooved_floor(0.7, 0.2, 0.8), approximation="lagged_elastoplastic", **springs)
    simulator.step(200)
    start = simulator.state("plate").position[:2]
    simulator.apply_wrench("plate", (*force, 0.0), np.cross((0.0, 0.0, -0.5 * SIZE[2]), (*force, 0.0)))  # at the floor
    simulator.step(2000)
    u = np.array([math.cos(0.7), math.sin(0.7)])
    M = harmonic(0.2, 0.4) * np.outer(u, u) + harmonic(0.8, 0.4) * (np.eye(2) - np.outer(u, u))
    assert np.linalg.norm(np.linalg.solve(M, force)) < 0.9 * G  # inside the ellipse
    expected = 0.5 * (M**2).sum() * np.linalg.solve(M @ M, force) / stiffness / 4  # four corners
    # the corners are pressed alike to 1e-3
    np.testing.assert_allclose(simulator.state("plate").position[:2] - start, expected, rtol=1e-3, atol=0.0)
    assert np.linalg.norm(simulator.state("plate").velocity) < 1e-10


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("push", [0.5, 3.0])
def test_the_report_of_a_step_is_its_solution_s(push: float, approximation: str) -> None:
    """Sticking, and the elastic displacements with which the next step begins, below friction and while it slides."""
    simulator = simulator_of(grooved_floor(0.3, 0.2, 0.8), approximation=approximation)
    simulator.apply_wrench("plate", (push, 0.0, 0.0))
    simulator.step(400)
    solution = simulator.solution
    np.testing.assert_array_equal(simulator.contacts.sticking, solution.sticking)
    assert simulator.contacts.sticking.any() == (push < 1.0)
    if approximation == "lagged_elastoplastic":
        kept = simulator.dynamics.contacts.elastic[: len(solution.sticking)]
        np.testing.assert_allclose(kept, solution.elastic_displacement, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_the_solution_of_a_step_holds_where_only_some_contacts_have_grooves(approximation: str) -> None:
    world = on_a_floor(friction=0.4)
    grooved = Material(friction=0.2, friction_across=0.8, friction_direction=(1.0, 0.0, 0.0), stiffness=STIFFNESS)
    z = 0.5 * SIZE[2] - G / (4 * 0.5 * STIFFNESS)
    world.add_box("grooved", mass=1.0, size=SIZE, position=(1.0, 0.0, z), material=grooved)
    simulator = simulator_of(world, approximation=approximation)
    for body in ("plate", "grooved"):
        simulator.apply_wrench(body, (1.5, 0.5, 0.0))
    simulator.step(50)
    solution = simulator.solution
    assert solution.problem.friction_tensor is not None and len(simulator.contacts.impulse) == 8
    # the step stops at 1e-5 of the momenta, the reports are those of the same velocity
    np.testing.assert_allclose(solution.impulse, simulator.contacts.impulse, rtol=1e-9, atol=1e-12)


def test_grooves_rotate_with_the_body() -> None:
    """Grooves of the plate along its x, rotated by a right angle, are grooves along y."""
    common = {"stiffness": STIFFNESS, "dissipation": 20.0, "relaxation_time": 1e-2}
    runs = []
    for angle, grooves in ((0.0, (0.0, 1.0, 0.0)), (0.5 * math.pi, (1.0, 0.0, 0.0))):
        world = World()
        world.add_half_space("floor", material=Material(friction=0.4, **common))
        material = Material(friction=0.1, friction_across=0.9, friction_direction=grooves, **common)
        turned = (0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle))
        world.add_box(
            "plate", mass=1.0, size=SIZE, position=(0, 0, 0.5 * SIZE[2]), orientation=turned, material=material,
            velocity=(0.3, 0.2, 0.0),
        )  # fmt: skip
        simulator = simulator_of(world)
        simulator.step(100)
        runs.append(simulator.state("plate").position)
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


def test_equal_coefficients_in_both_directions_are_isotropic_friction() -> None:
    positions = []
    for world in (grooved_floor(0.3, 0.4, 0.4), on_a_floor(friction=0.4)):
        world.bodies[1].velocity = np.array([0.3, 0.2, 0.0])
        simulator = simulator_of(world)
        simulator.step(100)
        positions.append(simulator.state("plate").position)
    np.testing.assert_allclose(positions[0], positions[1], atol=1e-6)  # the soft norm is that of M v, not of v


def test_a_direction_without_friction_stays_so() -> None:
    world = grooved_floor(0.0, 0.0, 0.8)
    world.bodies[1].velocity = np.array([0.3, 0.2, 0.0])
    simulator = simulator_of(world)
    simulator.step(150)
    velocity = simulator.state("plate").velocity
    assert velocity[0] == pytest.approx(0.3, rel=1e-3) and abs(velocity[1]) < 1e-3


def test_a_pair_s_friction_has_no_direction() -> None:
    world = grooved_floor(0.0, 0.05, 0.8)
    world.set_pair("floor", "plate", friction=0.4)
    simulator = simulator_of(world)
    simulator.step()
    c = simulator.dynamics.contacts
    n = int(c.count[0])
    np.testing.assert_array_equal(c.friction_tensor[:n], np.tile([1.0, 0.0, 1.0], (n, 1)))
    np.testing.assert_array_equal(c.friction[:n], 0.4)


# --- torsional friction ----------------------------------------------------------------------------------------


def spinning_ball(torsion: float, spin: float, friction: float = 0.5) -> World:
    world = World()
    material = Material(stiffness=1e5, dissipation=20.0, friction=friction, torsional_friction=torsion)
    world.add_half_space("floor", material=material)
    sag = G / 0.5e5
    world.add_sphere(
        "ball", mass=1.0, radius=0.1, position=(0, 0, 0.1 - sag), angular_velocity=(0, 0, spin), material=material
    )
    return world


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_spinning_ball_slows_down_at_the_rate_of_the_closed_form(approximation: str) -> None:
    torsion, steps = 2e-3, 200
    simulator = simulator_of(spinning_ball(torsion, 20.0), approximation=approximation)
    simulator.step(10)
    before = simulator.state("ball").angular_velocity[2]
    simulator.step(steps)
    after = simulator.state("ball").angular_velocity[2]
    inertia = 0.4 * 1.0 * 0.1**2
    assert (before - after) / (steps * 1e-3) == pytest.approx(torsion * G / inertia, rel=1e-3)
    assert simulator.torsional_impulse[0] == pytest.approx(-torsion * G * 1e-3, rel=1e-3)


def test_a_ball_holds_a_torque_below_the_limit_and_comes_to_rest() -> None:
    simulator = simulator_of(spinning_ball(2e-3, 1.0))
    simulator.step(500)  # 1 rad/s are gone after 0.2 s
    rest = TOLERANCE * 0.5 / 2e-3
    assert abs(simulator.state("ball").angular_velocity[2]) < 1e-6
    simulator.apply_wrench("ball", torque=(0.0, 0.0, 0.9 * 2e-3 * G))
    simulator.step(200)
    assert simulator.state("ball").angular_velocity[2] == pytest.approx(0.9 * rest, rel=1e-3)
    simulator.apply_wrench("ball", torque=(0.0, 0.0, 1.2 * 2e-3 * G))
    start = simulator.state("ball").angular_velocity[2]
    simulator.step(100)
    gained = simulator.state("ball").angular_velocity[2] - start
    assert gained / 0.1 == pytest.approx(0.2 * 2e-3 * G / 0.004, rel=1e-2)


def test_two_bodies_that_spin_together_feel_no_torsional_friction() -> None:
    world = spinning_ball(2e-3, 3.0)
    world.disabled.clear()
    material = world.bodies[1].geometries[0].material
    other = World()
    other.add_half_space("floor", material=material, prescribed=True)
    sag = G / 0.5e5
    other.add_sphere(
        "ball", mass=1.0, radius=0.1, position=(0, 0, 0.1 - sag), angular_velocity=(0, 0, 3.0), material=material
    )
    simulator = simulator_of(other)
    for _ in range(100):
        simulator.dynamics.prescribe("floor", (0, 0, 0, 0, 0, 3.0))
        simulator.step()
    assert simulator.state("ball").angular_velocity[2] == pytest.approx(3.0, abs=1e-9)


def test_without_torsional_friction_nothing_changes() -> None:
    states = []
    for torsion in (0.0, 1e-300):
        simulator = simulator_of(spinning_ball(torsion, 5.0))
        simulator.step(50)
        states.append(simulator.state("ball").angular_velocity)
    np.testing.assert_array_equal(states[0], states[1])


def test_the_dense_problem_of_a_step_has_the_same_solution() -> None:
    world = spinning_ball(2e-3, 20.0)
    world.add_sphere(
        "second", mass=0.5, radius=0.05, position=(0.02, 0.0, 0.2485), material=world.bodies[1].geometries[0].material
    )
    simulator = simulator_of(world, relative_tolerance=1e-12)
    simulator.step(5)
    assert len(simulator.torsional_impulse) == 2 and simulator.torsional_impulse.all()
    dense = solve(simulator.solution.problem, approximation="lagged", relative_tolerance=1e-12)
    np.testing.assert_allclose(dense.velocity, simulator.dynamics.arrays.v, atol=1e-9)


def test_torsional_rows_stand_beside_those_of_constraints() -> None:
    """A weld holds the second ball; rows of both kinds grow the workspace at once."""
    world = spinning_ball(2e-3, 20.0)
    for i in range(6):
        world.add_sphere(f"pair{i}", mass=0.1, radius=0.05, position=(1.0 + i, 0.0, 0.05), material=Material())
        world.add_sphere(f"held{i}", mass=0.1, radius=0.05, position=(1.0 + i, 0.0, 0.3), material=Material())
        world.weld(f"pair{i}", f"held{i}")
    simulator = simulator_of(world)
    simulator.step(10)
    before = simulator.state("ball").angular_velocity[2]
    simulator.step(100)
    assert (before - simulator.state("ball").angular_velocity[2]) / 0.1 == pytest.approx(2e-3 * G / 0.004, rel=1e-3)
    for i in range(6):
        apart = simulator.state(f"held{i}").position - simulator.state(f"pair{i}").position
        np.testing.assert_allclose(apart, (0.0, 0.0, 0.25), atol=1e-3)


# --- rules and refusals ----------------------------------------------------------------------------------------


def test_rules_of_combination() -> None:
    a = Material(friction=0.2, static_friction=0.6, stribeck_velocity=0.02, torsional_friction=1e-3)
    b = Material(friction=0.4, torsional_friction=3e-3)
    law = a.combined(b)
    assert law.friction == pytest.approx(harmonic(0.2, 0.4))
    assert law.static_friction == pytest.approx(harmonic(0.6, 0.4))
    assert law.stribeck_velocity == 0.02
    assert law.torsional_friction == pytest.approx(harmonic(1e-3, 3e-3))
    assert b.combined(b).static_friction is None
    pair = PairLaw(friction=0.3, static_friction=0.5, stribeck_velocity=0.01, torsional_friction=2e-3)
    applied = pair.applied(law)
    assert (applied.friction, applied.static_friction) == (0.3, 0.5)
    assert (applied.stribeck_velocity, applied.torsional_friction) == (0.01, 2e-3)
    assert PairLaw(friction=0.3).applied(law).static_friction is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"static_friction": 0.2}, "static_friction: expected at least friction = 0.5, got 0.2"),
        ({"static_friction": math.nan}, "static_friction: expected finite and not negative, got nan"),
        ({"stribeck_velocity": 0.0}, "stribeck_velocity: expected positive, got 0.0"),
        ({"torsional_friction": -1.0}, "torsional_friction: expected finite and not negative, got -1.0"),
        ({"friction_across": 0.2}, "friction_across: expected together with friction_direction"),
        ({"friction_direction": (1.0, 0.0, 0.0)}, "friction_across: expected together with friction_direction"),
        (
            {"friction_across": 0.2, "friction_direction": (0.0, 0.0, 0.0)},
            "friction_direction: expected three finite numbers that are not all zero",
        ),
        (
            {"friction_across": 0.2, "friction_direction": (1.0, 0.0, 0.0), "static_friction": 0.9},
            "static_friction: expected none beside friction_across",
        ),
    ],
)
def test_impossible_materials_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Material(**values)


def test_worlds_that_no_rule_covers_are_refused() -> None:
    with pytest.raises(ValueError, match="static_friction: expected together with friction"):
        PairLaw(static_friction=0.5)
    world = grooved_floor(0.0, 0.2, 0.8)
    falling = Material(friction=0.2, static_friction=0.4)
    world.add_sphere("ball", mass=1.0, radius=0.1, position=(1.0, 0.0, 0.1), material=falling)
    with pytest.raises(WorldError, match="floor and ball: static_friction: expected none where the other surface"):
        simulator_of(world)
    for world in (
        grooved_floor(0.0, 0.2, 0.8),
        on_a_floor(friction=0.1, static_friction=0.2),
        spinning_ball(1e-3, 1.0),
    ):
        with pytest.raises(ValueError, match="world: expected one coefficient of friction"):
            rollout(simulator_of(world), 1)


def test_world_files_keep_all_friction(tmp_path: Any) -> None:
    world = grooved_floor(0.3, 0.2, 0.8)
    falling = Material(friction=0.2, static_friction=0.4, stribeck_velocity=0.03, torsional_friction=1e-3)
    world.add_sphere("ball", mass=1.0, radius=0.1, position=(1.0, 0.0, 0.1), material=falling)
    world.set_pair("floor", "ball", friction=0.1, static_friction=0.3, stribeck_velocity=0.2, torsional_friction=2e-3)
    path = tmp_path / "world.yaml"
    path.write_text(world.to_yaml())
    read = World.from_yaml(path)
    for old, new in zip(world.bodies, read.bodies, strict=True):
        assert old.geometries[0].material == new.geometries[0].material
    assert read.pair_laws == world.pair_laws
