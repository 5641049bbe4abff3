"""Steps whose length an accuracy chooses: closed forms, energy, restitution, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NoReturn

import numpy as np
import pinocchio as pin
import pytest

from convex_contact import ConvergenceError, Material, Simulator, World, WorldDynamics, rollout
from convex_contact.collision.contacts import empty_contacts
from convex_contact.simulation import step_control
from convex_contact.simulation.step_attempts import CompiledAttempts, InterpretedAttempts, extrapolate

G = 9.81
#: neither damping nor friction
ELASTIC = Material(stiffness=1e5, friction=0.0, dissipation=0.0, relaxation_time=0.0)


def ball(height: float, **options: object) -> Simulator:
    """An elastic ball of 0.1 kg whose lowest point is so high (m) above a floor."""
    world = World()
    world.add_half_space("floor", material=ELASTIC)
    world.add_sphere("ball", mass=0.1, radius=0.05, position=(0.0, 0.0, 0.05 + height), material=ELASTIC)
    return Simulator(world, **options)  # type: ignore[arg-type]


def oscillation_error(second_order: bool, accuracy: float) -> float:
    """Largest distance (m) from the closed form of a ball that oscillates on a floor without leaving it."""
    stiffness = 5e4  # of two equal surfaces
    depth, omega = 0.1 * G / stiffness, math.sqrt(stiffness / 0.1)
    sim, worst = ball(-0.5 * depth, accuracy=accuracy, second_order=second_order), 0.0
    for k in range(1, 31):
        sim.advance(0.1 * math.tau / omega)
        expected = 0.05 - depth + 0.5 * depth * math.cos(0.1 * math.tau * k)
        worst = max(worst, abs(float(sim.state("ball").position[2]) - expected))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("second_order", [False, True])
def test_a_finer_accuracy_comes_nearer_to_the_closed_form(second_order: bool) -> None:
    """A quarter of the error for 1/16 of the accuracy is first order in the step (h goes with its root)."""
    coarse, fine = (oscillation_error(second_order, accuracy) for accuracy in (1.6e-8, 1e-9))
    assert fine < coarse / (7.0 if second_order else 3.0)
    assert fine < 1e-7 if second_order else 3e-6


@pytest.mark.slow
def test_second_order_is_more_exact_for_the_same_number_of_problems() -> None:
    assert oscillation_error(True, 1e-9) < 0.1 * oscillation_error(False, 1e-9)


@pytest.mark.slow
def test_an_elastic_ball_bounces_to_its_height() -> None:
    """The restitution v+/v- of each of the first bounces is 1 within 1 %, at an accuracy of 1 um."""
    sim = ball(0.2, accuracy=1e-6, second_order=True)
    duration = math.sqrt(2.0 * 0.2 / G)
    before = math.sqrt(2.0 * G * 0.2)
    for bounce in range(4):
        sim.advance(duration if bounce == 0 else 2.0 * duration)  # to just after an impact, of about 5 ms
        sim.advance(0.01)
        state = sim.state("ball")
        after = math.sqrt(float(state.velocity[2]) ** 2 + 2.0 * G * (float(state.position[2]) - 0.05))
        assert after / before == pytest.approx(1.0, abs=0.01)
        before, duration = after, after / G
        sim.advance(float(state.velocity[2]) / G)  # to the top
        duration = 0.5 * duration


def test_constant_steps_of_a_millisecond_lose_the_bounce() -> None:
    """Implicit Euler at 1 ms, without an accuracy, returns less than 0.9 of the speed."""
    sim = ball(0.2, period=1e-3)
    sim.advance(0.22)
    state = sim.state("ball")
    energy = 0.5 * float(state.velocity[2]) ** 2 + G * (float(state.position[2]) - 0.05)
    assert energy < 0.81 * G * 0.2


@pytest.mark.slow
def test_a_body_that_tumbles_keeps_its_angular_momentum() -> None:
    """Free of torque; extrapolated rotations keep it to a tenth of what plain steps lose."""
    changes = {}
    for second_order in (False, True):
        world = World(gravity=(0.0, 0.0, 0.0))
        box = world.add_box("box", size=(0.3, 0.2, 0.05), mass=1.0)
        world.bodies[box].angular_velocity = np.array([2.0, 9.0, 1.0])
        sim = Simulator(world, accuracy=1e-6, second_order=second_order)

        def momentum(sim: Simulator = sim, box: int = box) -> np.ndarray:
            sim.dynamics.prepare()
            return sim.dynamics.arrays.A[0, 3:6, 3:6] @ sim.state(box).angular_velocity

        start = momentum()
        sim.advance(1.0)
        changes[second_order] = float(np.linalg.norm(momentum() - start) / np.linalg.norm(start))
    assert changes[True] < 0.1 * changes[False] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("continuous", [False, True])
def test_a_pendulum_of_joints_keeps_its_energy(continuous: bool, tmp_path: Path) -> None:
    kind = 'type="continuous"' if continuous else 'type="revolute"'
    limit = "" if continuous else '<limit lower="-9" upper="9" effort="1" velocity="99"/>'
    path = tmp_path / "pendulum.urdf"
    path.write_text(f"""<robot name="pendulum"><link name="base"/>
      <link name="bob"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
        <collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
      <joint name="hinge" {kind}><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>{limit}</joint></robot>""")
    lost = {}
    for second_order in (False, True):
        world = World()
        world.add_urdf("pendulum", path)
        sim = Simulator(world, accuracy=1e-6, second_order=second_order)
        hinge = sim.joint("hinge")
        sim.advance(2.0)
        height = -0.5 * math.sin(hinge.position)
        energy = 0.5 * (0.01 + 0.25) * hinge.velocity**2 + G * height
        lost[second_order] = abs(energy) / (G * 0.5)
    assert lost[True] < 1e-3 < lost[False] < 0.1


def test_time_ends_where_it_is_to_end_and_steps_are_counted() -> None:
    sim = ball(0.02, accuracy=1e-5, largest_period=2e-3)
    times, shortest = [], math.inf
    for _ in range(40):
        sim.step()
        times.append(sim.period * 2.0)  # the last problem is that of a half
        shortest = min(shortest, times[-1])
    assert max(times) <= 2e-3 and sim.time == pytest.approx(sum(times), abs=1e-12)
    assert sim.control is not None and sim.control.statistics.accepted == 40
    assert sim.control.statistics.shortest == pytest.approx(shortest)
    sim.advance(0.1 - sim.time)
    assert sim.time == pytest.approx(0.1, abs=1e-12) and sim.control.statistics.rejected > 0
    sim.reset()
    assert sim.control.statistics.accepted == 0 and sim.time == 0.0


def test_accuracy_and_longest_step_act_and_runs_repeat() -> None:
    steps, ends = [], []
    for options in (
        {"accuracy": 1e-5},
        {"accuracy": 1e-5},
        {"accuracy": 1e-7},
        {"accuracy": 1e-5, "largest_period": 1e-4},
    ):
        sim = ball(0.02, **options)
        sim.advance(0.1)
        assert sim.control is not None
        steps.append(sim.control.statistics.accepted)
        ends.append(sim.state("ball").position[2])
    assert steps[0] == steps[1] and ends[0] == ends[1]
    assert steps[2] > 4 * steps[0] and steps[3] >= 1000 > steps[0]


def test_a_step_without_a_solution_at_any_length_is_an_error() -> None:
    """The state is that before the step."""

    def unsolved(dynamics: WorldDynamics) -> NoReturn:
        raise ConvergenceError("it is not solved", velocity=np.zeros(6), iterations=1, residual=1.0, tolerance=0.1)

    sim = ball(0.02, accuracy=1e-6)
    sim.advance(0.01)
    before = sim.dynamics.arrays.q.copy()
    sim.constraints.append(unsolved)
    with pytest.raises(ConvergenceError, match="it is not solved"):
        sim.step()
    assert sim.time == pytest.approx(0.01, abs=1e-15) and np.array_equal(sim.dynamics.arrays.q, before)


ROBOT = """<robot name="robot"><link name="base"><inertial><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="wheel"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="slide"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
  <joint name="push" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="9" velocity="99"/></joint></robot>"""


def robot_and_ball(tmp_path: Path) -> World:
    """A floating robot with a wheel and a slide that falls beside a ball, both elastic; another ball approaches."""
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT)
    world = World()
    world.add_half_space("floor", material=ELASTIC)
    material = Material(stiffness=1e4, friction=0.3, dissipation=1.0, relaxation_time=0.0)
    world.add_urdf("robot", path, floating=True, position=(0.0, 0.0, 0.11), material=material)
    world.add_sphere("pusher", radius=0.05, position=(0.65, 0.0, 0.06), velocity=(-3.0, 0.0, 0.0), prescribed=True)
    ball = world.add_sphere("ball", mass=0.3, radius=0.05, position=(0.5, 0.0, 0.06), material=material)
    world.bodies[ball].angular_velocity = np.array([1.0, 5.0, 2.0])
    return world


@pytest.mark.parametrize("second_order", [False, True])
def test_compiled_attempts_are_those_of_the_simulators_own_steps(
    second_order: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both solve the same problems to rounding, since the solver polishes; only its factors at the start differ."""
    ends = []
    for kind in (CompiledAttempts, InterpretedAttempts):
        monkeypatch.setattr(step_control, "CompiledAttempts", kind)
        sim = Simulator(robot_and_ball(tmp_path), accuracy=1e-5, second_order=second_order, polish=True)
        turn = sim.joint("turn")
        turn.velocity = 8.0
        pull = sim.couple("ball", stiffness=30.0, damping=0.5)
        pull.target((0.4, 0.1, 0.1), velocity=(0.0, 0.2, 0.0))
        sim.step(60)
        assert sim.control is not None and sim.control.statistics.rejected > 0
        ends.append((sim.time, *sim.body_states(), pull.force, turn.position, len(sim.contacts.body), sim.period))
    for got, expected in zip(*ends, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_extrapolation_is_that_of_the_exponential_map(tmp_path: Path) -> None:
    """The state of a tree is Pinocchio's integrate(q2, difference(q1, q2)); a free body makes the same turn again."""
    sim = Simulator(robot_and_ball(tmp_path), period=1e-3)
    a, random = sim.dynamics.arrays, np.random.default_rng(7)
    tree = 0
    model, i, j = sim.world.trees[tree].model.model, a.tree_q[tree], a.tree_q[tree + 1]
    q1, v1, v2 = a.q.copy(), random.normal(size=sim.dynamics.nv), random.normal(size=sim.dynamics.nv)
    q1[i:j] = pin.randomConfiguration(model, np.full(model.nq, -1.0), np.full(model.nq, 1.0))
    q2 = q1.copy()
    q2[i:j] = pin.integrate(model, q1[i:j], 0.3 * random.normal(size=model.nv))
    free = next(t for t in range(len(a.tree_kind)) if t != tree)
    k = a.tree_q[free]
    q2[k : k + 3] += 0.1
    turn = pin.Quaternion(pin.exp3(np.array([0.2, -0.1, 0.3])))
    q2[k + 3 : k + 7] = (turn * pin.Quaternion(q1[k + 3 : k + 7])).coeffs()
    a.q[:], a.v[:] = q2, v2
    extrapolate(a.record, q1, v1)
    expected = q2.copy()
    expected[i:j] = pin.integrate(model, q2[i:j], pin.difference(model, q1[i:j], q2[i:j]))
    expected[k : k + 3] += 0.1
    expected[k + 3 : k + 7] = (turn * turn * pin.Quaternion(q1[k + 3 : k + 7])).coeffs()
    np.testing.assert_allclose(a.q, expected, atol=1e-14)
    np.testing.assert_allclose(a.v, 2.0 * v2 - v1, atol=1e-15)


def test_extrapolation_of_a_ball_joint_is_that_of_the_exponential_map(tmp_path: Path) -> None:
    (tmp_path / "ball.xml").write_text(
        '<mujoco><worldbody><body><joint type="ball"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody></mujoco>'
    )
    sim = Simulator(World.load(tmp_path / "ball.xml"), period=1e-3)
    a, model = sim.dynamics.arrays, sim.world.trees[0].model.model
    q1, v1, v2 = pin.exp3_quat(np.array([0.5, 1.0, -0.7])), np.ones(3), np.array([3.0, -1.0, 2.0])
    a.q[:] = q2 = pin.integrate(model, q1, np.array([0.2, -0.1, 0.3]))
    a.v[:] = v2
    extrapolate(a.record, q1, v1)
    np.testing.assert_allclose(a.q, pin.integrate(model, q2, pin.difference(model, q1, q2)), atol=1e-14)
    np.testing.assert_array_equal(a.v, 2.0 * v2 - v1)


def test_lists_of_contacts_grow_within_an_attempt(tmp_path: Path) -> None:
    ends = []
    for room in (None, 0):
        sim = Simulator(robot_and_ball(tmp_path), accuracy=1e-5)
        if room is not None:
            d = sim.dynamics
            d.contacts, d.previous = (empty_contacts(room, d.contacts.J.shape[3]) for _ in range(2))
        sim.advance(0.1)
        ends.append(sim.state("ball").position)
    np.testing.assert_array_equal(*ends)


def test_an_attempt_that_is_not_finite_leaves_the_state() -> None:
    sim = ball(0.02, accuracy=1e-6)
    sim.advance(0.01)
    before, period = sim.dynamics.arrays.q.copy(), sim.period
    sim.dynamics.arrays.body_wrench[1] = 1e308
    with pytest.raises(ConvergenceError, match=r"in the step from t = 0\.01 s"):
        sim.step()
    assert sim.time == pytest.approx(0.01, abs=1e-15) and sim.period == period
    np.testing.assert_array_equal(sim.dynamics.arrays.q, before)
    sim.dynamics.arrays.body_wrench[1] = 0.0
    sim.step(5)
    assert sim.time > 0.01


def test_a_restored_simulator_repeats_its_steps_to_the_last_bit() -> None:
    """The length of the coming step is part of the state: `advance` ends with a step that it shortens."""
    sim = ball(0.02, accuracy=1e-6)
    sim.advance(0.03)
    saved, counts, ends = sim.state(), [], []
    for _ in range(2):
        sim.restore(saved)
        sim.advance(0.05)
        assert sim.control is not None
        ends.append(np.concatenate([sim.dynamics.arrays.q, sim.dynamics.arrays.v]))
        counts.append((sim.control.statistics.accepted, sim.control.statistics.rejected))
    assert counts[0] == counts[1] and np.array_equal(*ends)


def test_arguments_that_do_not_fit_together_are_refused() -> None:
    for options, words in (
        ({}, "period, accuracy: expected one of them, got None and None"),
        ({"period": 1e-3, "accuracy": 1e-6}, "period, accuracy: expected one of them"),
        ({"accuracy": 0.0}, "accuracy"),
        ({"accuracy": 1e-6, "largest_period": -1.0}, "largest_period: expected more than 0"),
        ({"period": 1e-3, "second_order": True}, "second_order: expected False with a period, got True"),
    ):
        with pytest.raises(ValueError, match=words):
            ball(0.1, **options)
    with pytest.raises(ValueError, match=r"expected a multiple of the period 0\.001 s, got 0\.0015 s"):
        ball(0.1, period=1e-3).advance(0.0015)
    with pytest.raises(ValueError, match="expected one with a period, got one with an accuracy"):
        rollout(ball(0.1, accuracy=1e-6), 1)
