"""Steps in one compiled call are those with Python in between, to the last bit."""

from __future__ import annotations

import gc
import math
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import (
    ConvergenceError,
    JointCoupler,
    JointFriction,
    Material,
    Simulator,
    TendonActuator,
    TendonEquality,
    TendonLimit,
    World,
)
from convex_contact.model.joints import SpeedLimit
from convex_contact.simulation import compiled_step
from convex_contact.simulation import simulator as simulator_module
from convex_contact.simulation.compiled_step import LIMIT_REACHED, NO_ROOM
from convex_contact.simulation.joint_rows import JointRows
from convex_contact.simulation.world_arrays import pair_arrays

PERIOD = 4e-3
LEGS = ("left", "right")
#: which limits of the joints act in `walker`: the lower one of a knee is 0.05 rad from its position at the start
LIMITS = 'lower="-0.05" upper="0.6" effort="30" velocity="20"'


def walker_urdf() -> str:
    """A trunk on two legs of a hip and a knee each, with balls as feet."""

    def link(name: str, mass: float, ball: str = "") -> str:
        shape = f'<collision><origin xyz="0 0 {ball}"/><geometry><sphere radius="0.04"/></geometry></collision>'
        return (
            f'<link name="{name}"><inertial><origin xyz="0 0 -0.1"/><mass value="{mass}"/>'
            f'<inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0" ixz="0" iyz="0"/></inertial>'
            f"{shape if ball else ''}</link>"
        )

    def joint(name: str, parent: str, child: str, origin: str) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{origin}"/><axis xyz="0 1 0"/><limit {LIMITS}/></joint>'
        )

    parts = [link("trunk", 3.0, "0.05")]
    for name, y in zip(LEGS, ("0.1", "-0.1"), strict=True):
        parts += [link(f"thigh_{name}", 0.5), link(f"shank_{name}", 0.3, "-0.25")]
        parts += [joint(f"hip_{name}", "trunk", f"thigh_{name}", f"0 {y} -0.1")]
        parts += [joint(f"knee_{name}", f"thigh_{name}", f"shank_{name}", "0 0 -0.25")]
    return f'<robot name="walker">{"".join(parts)}</robot>'


def walker(folder: Path, motors: bool = True, balls: int = 0, speed: float = np.inf) -> World:
    """A walker that falls on the floor; its motors pull one leg against its limits and move the other one.

    Args:
        folder: for the file of the robot.
        motors: give the joints motors.
        balls: number of free bodies that fall on it.
        speed: velocity limit of the motors, rad/s.
    """
    path = folder / "walker.urdf"
    path.write_text(walker_urdf())
    surface = Material(stiffness=1e5, friction=0.7)
    world = World()
    world.add_half_space("floor", material=surface)
    world.add_urdf(
        "walker", path, floating=True, position=(0.0, 0.0, 0.68), orientation=(0.0, 0.15, 0.0, 1.0), material=surface,
        damping=0.05, self_collision=False,
    )  # fmt: skip
    for name, target in zip(LEGS, (-0.4, 0.3), strict=True):
        for joint in ("hip", "knee") if motors else ():
            gains = {"proportional_gain": 40.0, "derivative_gain": 1.0, "effort_limit": 20.0}
            world.actuate_joint("walker", f"{joint}_{name}", target_position=target, velocity_limit=speed, **gains)
    for k in range(balls):
        world.add_sphere(
            f"ball{k}", mass=0.3, radius=0.05, material=surface, position=(0.02 * k, 0.01 * k, 0.85 + 0.11 * k)
        )
    return world


def motion(simulator: Simulator, steps: int, before: Callable[[Simulator, int], None] | None = None) -> np.ndarray:
    """Coordinates, velocities and numbers of iterations and rows after each step."""
    found = []
    for k in range(steps):
        if before is not None:
            before(simulator, k)
        simulator.step()
        a, done = simulator.dynamics.arrays, simulator.statistics
        found.append(np.concatenate([a.q, a.v, [simulator.time, done.iterations, len(simulator._joint_rows.idle)]]))
    return np.array(found)


#: motions of a simulator in one compiled call per step, and with Python in between
Both = Callable[..., tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def both(constraint_without_rows: Any) -> Both:
    """Makes both motions of a simulator."""

    def run(make: Callable[[], Simulator], steps: int = 100) -> tuple[np.ndarray, np.ndarray]:
        whole, parts = make(), make()
        parts.constraints.append(constraint_without_rows)
        return motion(whole, steps), motion(parts, steps)

    return run


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the statuses of all compiled calls."""
    original, found = compiled_step._call_steps, []

    def noted(*arguments: Any) -> int:
        result = int(original(*arguments))
        found.append(result % compiled_step.STATUSES)
        return result

    monkeypatch.setattr(compiled_step, "_call_steps", noted)
    return found


WORLDS: dict[str, dict[str, Any]] = {
    "limits alone": {"motors": False},
    "motors": {},
    "speed limits": {"speed": 1.5},
    "free bodies beside": {"speed": 1.5, "balls": 6},
}


@pytest.mark.parametrize("name", WORLDS)
def test_one_call_gives_the_bits_of_several(name: str, tmp_path: Path, statuses: list[int], both: Both) -> None:
    whole, parts = both(lambda: Simulator(walker(tmp_path, **WORLDS[name]), period=PERIOD))
    np.testing.assert_array_equal(whole, parts)
    assert len(set(whole[:, -1])) > 1  # limits act in some steps and are left out in others
    assert (LIMIT_REACHED in statuses) == ("speed" in WORLDS[name])


def test_rows_of_joints_are_made_in_the_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(JointRows, "flat", lambda *_, **__: calls.append(1))
    Simulator(walker(tmp_path), period=PERIOD).step(3)
    assert not calls


@pytest.mark.parametrize("options", [{"approximation": "lagged_elastoplastic"}, {"approximation": "sap"}])
def test_other_approximations(options: dict[str, Any], tmp_path: Path, both: Both) -> None:
    whole, parts = both(lambda: Simulator(walker(tmp_path, balls=2), period=PERIOD, **options), 60)
    np.testing.assert_array_equal(whole, parts)


def test_a_step_whose_pairs_find_no_room_is_repeated(tmp_path: Path, statuses: list[int], both: Both) -> None:
    def cramped() -> Simulator:
        simulator = Simulator(walker(tmp_path, speed=1.5, balls=6), period=PERIOD)
        simulator.dynamics.arrays.replace(**pair_arrays(1))
        return simulator

    whole, parts = both(cramped)
    np.testing.assert_array_equal(whole, parts)
    assert statuses.count(NO_ROOM) >= 2  # in both


@pytest.mark.parametrize("name", WORLDS)
def test_many_steps_are_as_many_single_ones(name: str, tmp_path: Path, statuses: list[int]) -> None:
    one, many = (Simulator(walker(tmp_path, **WORLDS[name]), period=PERIOD) for _ in range(2))
    many.dynamics.arrays.replace(**pair_arrays(1))  # the first of them finds no room
    for count in (1, 2, 7, 90):
        for _ in range(count):
            one.step()
        single = len(statuses)
        many.step(count)
        assert len(statuses) < single + count or count == 1  # they share a call
        for x in ("q", "v"):
            np.testing.assert_array_equal(getattr(many.dynamics.arrays, x), getattr(one.dynamics.arrays, x))
        assert (many.time, many.statistics) == (one.time, one.statistics)
        np.testing.assert_array_equal(many.contacts.impulse, one.contacts.impulse)


def test_many_steps_end_before_the_one_that_fails(tmp_path: Path) -> None:
    one, many = (Simulator(walker(tmp_path, balls=6), period=PERIOD, max_iterations=4) for _ in range(2))
    with pytest.raises(ConvergenceError) as first:
        for _ in range(200):
            one.step()
    with pytest.raises(ConvergenceError, match=re.escape(str(first.value))):
        many.step(200)
    assert many.time == one.time > PERIOD
    np.testing.assert_array_equal(many.dynamics.arrays.q, one.dynamics.arrays.q)


def test_a_restored_state_goes_on_with_the_same_bits(tmp_path: Path, constraint_without_rows: Any) -> None:
    simulator = Simulator(walker(tmp_path, speed=1.5, balls=2), period=PERIOD)
    simulator.step(40)
    state = simulator.state()
    first = motion(simulator, 40)
    simulator.restore(state)
    np.testing.assert_array_equal(motion(simulator, 40), first)
    simulator.restore(state)
    simulator.constraints.append(constraint_without_rows)
    np.testing.assert_array_equal(motion(simulator, 40), first)


def test_a_restored_simulator_has_its_prepared_steps(tmp_path: Path) -> None:
    simulator = Simulator(walker(tmp_path, balls=2), period=PERIOD)
    simulator.step(3)
    state, prepared = simulator.state(), list(simulator._records.prepared)
    simulator.restore(state)
    simulator.step(2)
    assert list(simulator._records.prepared) == prepared


@pytest.mark.parametrize("approximation", ["lagged", "lagged_elastoplastic"])
def test_couplings_and_prescribed_bodies_are_part_of_the_one_call(
    approximation: str, tmp_path: Path, constraint_without_rows: Any
) -> None:
    """A link, a sprung ball and a ball are pulled, another body is moved by its twist; wrenches agree, too."""
    found = []
    for interpreted in (False, True):
        world = walker(tmp_path, balls=2)
        spring = {"spring_stiffness": 80.0, "spring_damping": 1.0}
        world.add_sphere("sprung", mass=0.2, radius=0.05, position=(0.5, 0.0, 0.3), **spring)
        world.add_box("pusher", size=(0.1,) * 3, position=(0.7, 0.0, 0.3), velocity=(-0.5, 0.0, 0.0),
                      angular_velocity=(0.0, 0.3, 0.0), prescribed=True)  # fmt: skip
        sim = Simulator(world, period=PERIOD, approximation=approximation)
        link = sim.couple(sim.world.trees[0].bodies[-1], stiffness=200.0, damping=2.0, rotational_stiffness=3.0)
        pull = sim.couple("ball1", stiffness=300.0, damping=3.0, rotational_damping=0.01)
        pull.target((0.1, 0.2, 0.4), velocity=(0.1, 0.0, 0.0), angular_velocity=(0.0, 1.0, 0.0))
        if interpreted:
            sim.constraints.append(constraint_without_rows)
        assert sim.is_whole is not interpreted
        for _ in range(60):
            sim.step()
            wrenches = [part.copy() for each in (link, pull, *sim.springs) for part in (each.force, each.torque)]
            found.append((*sim.body_states(), *wrenches))
    for got, expected in zip(found[:60], found[60:], strict=True):
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert np.abs(found[59][4]).max() > 0.1 and np.abs(found[59][0][-1] - found[0][0][-1]).max() > 0.1


def test_couplings_that_are_replaced_pull_from_the_next_step_on() -> None:
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_sphere("ball", mass=1.0, radius=0.1)
    sim = Simulator(world, period=PERIOD)
    sim.couple("ball", stiffness=100.0, damping=0.0).target((0.1, 0.0, 0.0))
    sim.step()
    rate = sim.state("ball").velocity[0]
    assert rate == pytest.approx(PERIOD * 100.0 * 0.1 / (1.0 + PERIOD**2 * 100.0), rel=1e-12)
    sim.couplings.clear()
    sim.step()
    assert sim.state("ball").velocity[0] == rate
    sim.couple("ball", stiffness=0.0, damping=50.0)
    sim.step()
    assert sim.state("ball").velocity[0] == pytest.approx(rate / (1.0 + PERIOD * 50.0), rel=1e-12)


def test_functions_that_give_the_numbers_of_before_change_nothing(tmp_path: Path) -> None:
    """The functions are targets of a motor, or a drive, and are set and removed between steps."""

    def change(simulator: Simulator, step: int) -> None:
        motor, tree = simulator.joint_laws[0], simulator.world.trees[0]
        if step == 10:
            target = motor.target_position
            motor.target_position = lambda time: target
        if step == 20:
            motor.target_position = motor.target_position(0.0)
        tree.drive = (lambda time: np.zeros(simulator.dynamics.nv)) if 30 <= step < 40 else None

    def make() -> Simulator:
        return Simulator(walker(tmp_path), period=PERIOD)

    np.testing.assert_array_equal(motion(make(), 50, change), motion(make(), 50))


def lawful_walker(folder: Path) -> World:
    """Returns a walker with joint laws of all kinds whose numbers compiled code makes, but for those of motors."""
    world = walker(folder, motors=False)
    hips, left = (("hip_left", 1.0), ("hip_right", -0.5)), (("hip_left", 0.3), ("knee_left", 1.0))
    world.joint_laws += [
        JointFriction(0, "hip_right", friction=0.5),
        JointCoupler(0, "knee_right", "hip_right", ratio=-0.7, offset=0.1),
        TendonActuator(0, "servo", left, gain=(40.0, 0.0, 0.0), bias=(1.0, -40.0, -2.0), control=0.3,
                       control_range=(-0.5, 0.5), force_range=(-9.0, 3.0)),
        TendonActuator(0, "pull", hips, control=-2.0, force_range=(-1.5, 5.0)),
        TendonActuator(0, "rising", hips, bias=(0.0, 3.0, -1.0)),
        TendonLimit(0, hips, bound=0.05, sign=-1.0),
        TendonEquality(0, (("knee_left", 1.0), ("hip_left", 0.4)), length=0.02),
    ]  # fmt: skip
    return world


def test_compiled_numbers_are_those_of_the_laws(tmp_path: Path) -> None:
    """They follow attributes that are set between steps; functions of time make Python compute a row."""
    sim = Simulator(lawful_walker(tmp_path), period=PERIOD)
    friction, coupler, servo, pull, *_ = sim.joint_laws
    assert isinstance(friction, JointFriction) and isinstance(coupler, JointCoupler)
    assert isinstance(servo, TendonActuator) and isinstance(pull, TendonActuator)
    for step in range(80):
        if step == 20:
            friction.friction, coupler.offset, servo.control = 0.1, 0.2, 0.9  # the control beyond its range
        if step == 40:
            servo.gain, servo.bias, servo.force_range = (20.0, 0.0, 0.0), (0.0, -20.0, -1.0), (-1.0, 8.0)
            pull.control = lambda time: 10.0 * time
        if step == 60:
            pull.control = 1.0
        assert sim.is_whole is not (40 <= step < 60)
        q, time = sim.dynamics.arrays.q.copy(), sim.time
        sim.step()
        rows = sim._joint_rows
        for k, (law, places) in enumerate(rows._laws):
            assert not isinstance(law, SpeedLimit)
            expected = law.numbers([q[i] for i in places], time, PERIOD)
            np.testing.assert_array_equal(rows.arrays.parameters[k], expected, err_msg=f"{law} in step {step}")


def test_joint_laws_are_part_of_the_one_call(tmp_path: Path, both: Both) -> None:
    whole, parts = both(lambda: Simulator(lawful_walker(tmp_path), period=PERIOD))
    np.testing.assert_array_equal(whole, parts)
    without = motion(Simulator(walker(tmp_path, motors=False), period=PERIOD), 100)
    assert np.abs(whole[-1, :11] - without[-1, :11]).max() > 1e-2


def timed_walker(folder: Path) -> World:
    """Returns a walker with functions of time and laws that Python evaluates, beside a pendulum and a moving box."""
    world = walker(folder, balls=2)
    world.add_box("pusher", size=(0.1,) * 3, position=(0.4, 0.0, 0.3), motion=lambda t: [-0.5 * t, 0, 0, 0, 0.3, 0])
    world.add_sphere("bob", mass=0.2, radius=0.05, position=(0.9, 0.0, 0.5))
    world.add_joint("pivot", "hinge", None, "bob", point=(0.9, 0.0, 0.8), axis=(0.0, 1.0, 0.0))
    world.actuate_joint(None, "pivot", proportional_gain=4.0, target_position=lambda t: 2.0 * t)
    world.joint_laws[0].target_position = lambda t: -0.4 + t
    world.joint_laws[0].effort_limit = lambda t: 20.0 if t < 0.1 else 5.0
    world.joint_laws.pop()  # the motor of the right knee
    world.move_joint("walker", "knee_right", lambda t: 0.1 * t)
    world.joint_laws.append(JointFriction(0, "hip_right", friction=0.5))
    world.trees[0].drive = lambda t: np.r_[np.zeros(6), 3.0 * np.sin(20.0 * t), np.zeros(3)]
    return world


def test_python_writes_the_numbers_of_functions_before_the_one_call(
    tmp_path: Path, both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreted: list[bool] = []
    original = simulator_module.make_interpreted_step
    monkeypatch.setattr(
        simulator_module,
        "make_interpreted_step",
        lambda sim: (interpreted.append(bool(sim.constraints)), original(sim)),
    )
    whole, parts = both(lambda: Simulator(timed_walker(tmp_path), period=PERIOD))
    np.testing.assert_array_equal(whole, parts)
    assert interpreted == [True] * 100
    plain = motion(Simulator(walker(tmp_path, balls=2), period=PERIOD), 100)
    assert np.abs(whole[-1, :11] - plain[-1, :11]).max() > 1e-2  # they act
    many = Simulator(timed_walker(tmp_path), period=PERIOD)
    many.step(100)
    np.testing.assert_array_equal(many.dynamics.arrays.q, whole[-1, : len(many.dynamics.arrays.q)])


def test_a_drive_that_is_taken_away_no_longer_acts(tmp_path: Path) -> None:
    forces = np.r_[np.zeros(6), 3.0, np.zeros(3)]

    def drive(simulator: Simulator, step: int) -> None:
        simulator.world.trees[0].drive = (lambda time: forces) if step < 10 else None

    def push(simulator: Simulator, step: int) -> None:
        simulator.set_effort(0, forces if step < 10 else 0.0 * forces)

    driven, pushed = (motion(Simulator(walker(tmp_path), period=PERIOD), 30, each) for each in (drive, push))
    np.testing.assert_array_equal(driven, pushed)
    assert (driven != motion(Simulator(walker(tmp_path), period=PERIOD), 30)).any()


def test_the_forces_of_a_drive_go_with_the_state_and_a_reset(tmp_path: Path) -> None:
    """A drive that acts in a restored state, and is gone, no longer acts; laws that cannot change are restored, too."""
    sim = Simulator(lawful_walker(tmp_path), period=PERIOD)
    tree = sim.world.trees[0]
    drive = tree.drive = lambda time: np.r_[np.zeros(6), 3.0, np.zeros(3)]
    sim.step(5)
    state = sim.state()
    for _ in range(2):  # with and without a drive until then
        tree.drive = None
        sim.restore(state)
        sim.step()
        assert sim.is_whole and not sim.dynamics.arrays.drive_effort.any()
    tree.drive = drive
    sim.step()
    assert sim.dynamics.arrays.drive_effort[6] == 3.0
    sim.reset()
    assert not sim.dynamics.arrays.drive_effort.any()


def test_memory_of_a_simulator_does_not_wait_for_the_garbage_collector(tmp_path: Path) -> None:
    sim = Simulator(timed_walker(tmp_path), period=PERIOD)
    sim.joint("knee_left").velocity = 0.1
    sim.step(2)
    left = weakref.ref(sim), weakref.ref(sim.dynamics)
    gc.disable()
    try:
        del sim
        assert [reference() for reference in left] == [None, None]
    finally:
        gc.enable()


def test_a_function_with_an_impossible_value_leaves_the_state(tmp_path: Path) -> None:
    simulator = Simulator(walker(tmp_path), period=PERIOD)
    simulator.joint_laws[0].target_position = lambda time: 0.1 if time < 5.5 * PERIOD else math.nan
    with pytest.raises(ValueError, match="target_position: expected a finite number, got nan"):
        simulator.step(10)
    assert simulator.time == pytest.approx(6 * PERIOD)
    simulator.joint_laws[0].target_position = 0.1
    simulator.step(4)
    expected = Simulator(walker(tmp_path), period=PERIOD)
    expected.joint_laws[0].target_position = 0.1
    expected.step(10)
    np.testing.assert_array_equal(simulator.dynamics.arrays.q, expected.dynamics.arrays.q)
