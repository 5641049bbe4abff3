"""Compiled rows of joints between bodies against readable ones, in one call with the step and by Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from convex_contact import Constraint, ContactError, Simulator, World, WorldDynamics, WorldError
from convex_contact.model.body_joints import StartedGear, StartedJoint
from convex_contact.model.body_row_kernels import nearest
from convex_contact.model.body_rows import frame_of, spring_rows
from convex_contact.model.motors import BallActuator, StartedMotor
from convex_contact.model.weld import StartedWeld
from convex_contact.problem.constraints import Rows
from convex_contact.problem.row_numbers import NEAR_RIGID, NEAR_RIGID_STIFFNESS, write_speed_row
from convex_contact.simulation.body_joint_rows import BodyRows
from convex_contact.simulation.constraint_rows import dense_rows

PERIOD = 2e-3
#: rows of a joint by the kind: numbers of linear and of angular ones
KEPT = {"ball": (3, 0), "hinge": (3, 2), "slide": (2, 3), "weld": (3, 3)}
ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<joint name="elbow" type="{elbow}"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
  <axis xyz="{axis}"/><limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""


# --- readable rows -------------------------------------------------------------------------------------------------


def numbered(rows: Rows) -> np.ndarray:
    """Rows as an array: the Jacobian, then b, v^, R, beta, lower, upper."""
    numbers = (rows.bias, rows.target, rows.compliance, rows.near_rigid, rows.lower, rows.upper)
    return np.column_stack([rows.jacobian, *numbers])


def joint_rows(started: StartedJoint, d: WorldDynamics) -> list[np.ndarray]:
    joint, (e, displacement, rotation, twist) = started.joint, started._relative_pose(d)
    if joint.kind == "distance":
        distance = np.linalg.norm(displacement)
        error, difference = np.array([distance - started._length]), (displacement / distance)[None] @ twist[:3]
    else:
        linear, angular = e.T @ displacement, e.T @ np.cross(e[:, 2], rotation @ e[:, 2])
        if joint.kind != "hinge":
            angular = e.T @ pin.log3(rotation)
        n, m = KEPT[joint.kind]
        error = np.concatenate([linear[:n], angular[:m]])
        difference = np.vstack([e.T[:n] @ twist[:3], e.T[:m] @ twist[3:]])
    tau = d.period if joint.relaxation_time is None else joint.relaxation_time
    common = {"period": d.period, "stiffness": joint.stiffness, "near_rigid": joint.near_rigid}
    rows = [numbered(spring_rows(difference, error, relaxation_time=tau, **common).rows(d.nv, d.period))]
    if started.effort.any():
        for rate, effort in zip(started.rates(d), started.effort, strict=True):
            if effort != 0.0:
                impulse = d.period * effort
                rows.append(np.array([[*rate[:-1], rate[-1], 0.0, 1.0, 0.0, impulse, impulse]]))
    return rows


def gear_rows(started: StartedGear, d: WorldDynamics) -> list[np.ndarray]:
    (angle_1, rate_1), (angle_2, rate_2) = (joint.coordinate(d) for joint in started._joints)
    one, other = started._gear.teeth
    other = -other if started._gear.internal else other
    error = math.remainder(one * angle_1 + other * angle_2, math.tau) / one
    common = {"stiffness": NEAR_RIGID_STIFFNESS, "relaxation_time": d.period, "near_rigid": NEAR_RIGID}
    row = spring_rows((rate_1 + other / one * rate_2)[None], np.array([error]), period=d.period, **common)
    return [numbered(row.rows(d.nv, d.period))]


def weld_rows(started: StartedWeld, d: WorldDynamics) -> list[np.ndarray]:
    weld = started._weld
    R, p, J = frame_of(d, weld.a)
    Q, q, K = frame_of(d, weld.b)
    there, here = R @ started._position, Q @ started._lever
    error = np.concatenate([q + here - p - there, pin.log3(Q @ (R @ started._orientation).T)])
    J[:3] -= pin.skew(there) @ J[3:]
    K[:3] -= pin.skew(here) @ K[3:]
    n = 6 if weld.rotational_stiffness else 3
    stiffness = np.repeat([weld.stiffness, weld.rotational_stiffness], 3)[:n]
    common = {"relaxation_time": weld.relaxation_time, "near_rigid": weld.near_rigid}
    row = spring_rows((K - J)[:n], error[:n], period=d.period, stiffness=stiffness, **common)
    return [numbered(row.rows(d.nv, d.period))]


def motor_rows(started: StartedMotor, d: WorldDynamics) -> list[np.ndarray]:
    law, joint = started.law, started._joint
    if isinstance(law, BallActuator):
        rotation, rates = joint.ball(d)
        numbers = law.numbers(rotation, d.time, d.period).T.copy()
    else:
        position, rate = joint.coordinate(d)
        if joint.joint.kind == "hinge":
            target = law.at("target_position", d.time)
            position = target - math.remainder(target - position, math.tau)
        rates, numbers = rate[None], np.array([law.numbers([position], d.time, d.period)])
    limits = []
    for rate, controller in zip(rates, numbers, strict=True):
        for sign in (1.0, -1.0) if law.velocity_limit < math.inf else ():
            side = np.empty(6)
            write_speed_row(d.period, law.velocity_limit, sign, controller, side)
            side[0] -= sign * rate[-1]
            limits.append(np.array([[*(-sign * rate[:-1]), *side]]))
    numbers[:, 0] += rates[:, -1]
    return [np.column_stack([rates[:, :-1], numbers]), *limits]


def readable_rows(sim: Simulator) -> np.ndarray:
    makers: dict[type, Callable[..., list[np.ndarray]]] = {
        StartedJoint: joint_rows, StartedGear: gear_rows, StartedWeld: weld_rows, StartedMotor: motor_rows,
    }  # fmt: skip
    return np.vstack([rows for each in sim._controllers for rows in makers[type(each)](each, sim.dynamics)])


def compiled_rows(sim: Simulator) -> np.ndarray:
    """Rows of the coming step, like those of `readable_rows`."""
    rows = sim._body_rows.flat(sim.dynamics)
    return numbered(dense_rows(sim.dynamics, rows, 0, len(rows.a)))


# --- worlds --------------------------------------------------------------------------------------------------------


def joined(kind: str, base: str | None = "cart", **options: Any) -> World:
    """A box on a joint at a cart, a link of an arm, a body with prescribed motion, or the world; all of them move."""
    world = World()
    common = {"inertia": (0.02, 0.03, 0.04)}
    if base == "cart":
        world.add_body("cart", mass=3.0, center=(0.1, 0.0, 0.05), orientation=(0.1, 0.2, 0.3, 0.9),
                       velocity=(0.3, 0.1, 0.2), angular_velocity=(0.5, -1.0, 0.7), **common)  # fmt: skip
    elif base == "hand":
        world.add_body("hand", prescribed=True, velocity=(0.1, -0.2, 0.3), angular_velocity=(0.5, 0.2, -0.7))
    world.add_body("box", mass=1.0, center=(0.0, 0.02, 0.0), position=(0.5, 0.1, 0.0),
                   angular_velocity=(1.0, 0.3, -2.0), **common)  # fmt: skip
    values: dict[str, Any] = {"axis": (1.0, 2.0, -1.0)} if kind in ("hinge", "slide") else {}
    values |= {"point_b": (0.5, 0.1, 0.2)} if kind == "distance" else {}
    world.add_joint("joint", kind, base, "box", point=(0.3, 0.0, 0.1), **values, **options)
    return world


def with_motor(kind: str, **law: Any) -> World:
    world = joined(kind)
    world.actuate_joint(None, "joint", **law)
    return world


def on_arm(folder: Path, elbow: str = "revolute") -> World:
    """A box on a hinge at an arm whose links have another joint, a loop in one tree."""
    path = folder / "arm.urdf"
    path.write_text(ARM.format(elbow=elbow, axis="0 1 0" if elbow == "revolute" else "0 0 1"))
    world = World()
    world.add_urdf("arm", path)
    world.add_body("box", mass=1.0, inertia=0.1, center=(0.0, 0.02, 0.0), position=(0.5, 0.1, 0.0))
    world.add_joint("joint", "hinge", "arm/lower", "box", point=(0.3, 0.0, 0.1), axis=(1.0, 2.0, -1.0))
    world.add_joint("loop", "distance", "arm/upper", "arm/lower", point=(0.1, 0.2, 0.1), point_b=(0.5, 0.0, 0.3))
    world.weld("arm/upper", "box", stiffness=500.0, rotational_stiffness=2.0, point=(0.1, 0.0, 0.0))
    return world


def geared(internal: bool) -> World:
    world = World()
    for name, x in (("pinion", 0.0), ("wheel", 0.5)):
        world.add_body(name, mass=1.0, inertia=0.1, center=(0, 0, 0), position=(x, 0, 0), angular_velocity=(0.2, 0, 5))
        world.add_joint(name, "hinge", None, name, point=(x, 0, 0), axis=(0, 0, 1))
    world.add_gear("pinion", "wheel", teeth=(12, 31), internal=internal)
    return world


def welded() -> World:
    world = joined("ball")
    pose: dict[str, Any] = {"position": (0.25, 0.02, 0.0), "orientation": (0.0, 0.2, 0.0, 1.0)}
    world.weld("cart", "box", stiffness=2e3, rotational_stiffness=10.0, relaxation_time=0.03, near_rigid=0.05, **pose)
    world.weld("box", "cart", rotational_stiffness=0.0, point=(0.1, 0.02, 0.0))
    return world


LIMITED: dict[str, Any] = {
    "proportional_gain": 20.0, "derivative_gain": 2.0, "effort_limit": 3.0, "velocity_limit": 1.5,
}  # fmt: skip
TURNED: dict[str, Any] = {
    "target_position": (0.6, 0.1, 0.0, 0.8),
    "target_velocity": (0.1, 0.2, 0),
    "feedforward": (0.1, 0, 0.2),
}
WORLDS: dict[str, Callable[[], World]] = {
    **{kind: lambda kind=kind: joined(kind) for kind in ("ball", "hinge", "slide", "weld", "distance")},
    **{f"{kind} at the world": lambda kind=kind: joined(kind, None) for kind in ("ball", "hinge", "slide", "distance")},
    "soft": lambda: joined("weld", stiffness=100.0, relaxation_time=0.05, near_rigid=0.0),
    "length": lambda: joined("distance", length=0.2, relaxation_time=0.1),
    "gear": lambda: geared(internal=False),
    "internal gear": lambda: geared(internal=True),
    "welds": welded,
    "motor of a hinge": lambda: with_motor("hinge", target_position=-3.0, target_velocity=0.3, **LIMITED),
    "motor of a slide": lambda: with_motor("slide", target_position=0.1, feedforward=1.0, **LIMITED),
    "drive of a slide": lambda: with_motor("slide", proportional_gain=0.0, derivative_gain=9.0, target_velocity=0.5),
    "motor of a ball": lambda: with_motor("ball", **TURNED, **LIMITED),
}


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    scale = np.where(np.isfinite(expected), np.maximum(1.0, np.abs(expected)), 1.0)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", WORLDS)
def test_rows_are_the_readable_ones_along_a_motion(name: str) -> None:
    sim = Simulator(WORLDS[name](), period=PERIOD)
    for _ in range(4):
        sim.dynamics.prepare()
        same(compiled_rows(sim), readable_rows(sim))
        sim.step(20)


@pytest.mark.filterwarnings("ignore:arm. arm.urdf. line 8. limit of a planar joint is not simulated")
@pytest.mark.parametrize("elbow", ["revolute", "planar"])
def test_rows_of_links_are_the_readable_ones(tmp_path: Path, elbow: str) -> None:
    """A tree with a planar joint has no kernels."""
    sim = Simulator(on_arm(tmp_path, elbow), period=PERIOD)
    for _ in range(3):
        sim.dynamics.prepare()
        same(compiled_rows(sim), readable_rows(sim))
        sim.step(10)


@pytest.mark.parametrize("kind", ["ball", "hinge", "slide", "weld", "distance"])
def test_rows_at_a_body_with_prescribed_motion_have_its_velocity(kind: str) -> None:
    sim = Simulator(joined(kind, "hand"), period=PERIOD)
    if kind != "weld":
        sim.joint("joint").effort = (0.1, 0.0, -0.3) if kind == "ball" else 0.7
    sim.step(20)
    sim.dynamics.prepare()
    found = compiled_rows(sim)
    same(found, readable_rows(sim))
    assert np.abs(found[:, 6]).max() > 1e-3 or kind == "weld"  # b of the efforts


@pytest.mark.parametrize("kind", ["ball", "hinge", "slide", "distance"])
def test_rows_of_efforts_are_the_readable_ones(kind: str) -> None:
    sim = Simulator(joined(kind), period=PERIOD)
    joint = sim.joint("joint")
    joint.effort = (0.1, 0.0, -0.3) if kind == "ball" else 0.7
    sim.step(20)
    sim.dynamics.prepare()
    found = compiled_rows(sim)
    same(found, readable_rows(sim))
    assert np.count_nonzero(found[:, -1] == found[:, -2]) == (2 if kind == "ball" else 1)


def test_row_across_a_mechanism_in_a_plane_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(elbow="revolute", axis="0 1 0"))
    world = World()
    world.add_urdf("arm", path)
    world.add_joint("pin", "ball", None, "arm/upper", point=(0.3, 0.0, 0.0))
    sim = Simulator(world, period=PERIOD)
    sim.dynamics.prepare()
    assert len(compiled_rows(sim)) == 1  # of three: the link moves along y alone
    same(compiled_rows(sim), readable_rows(sim))


# --- steps ---------------------------------------------------------------------------------------------------------


def motion(sim: Simulator, steps: int) -> np.ndarray:
    found = []
    for _ in range(steps):
        sim.step()
        found.append(np.concatenate([sim.dynamics.coordinates(), sim.dynamics.velocities()]))
    return np.array(found)


@pytest.mark.parametrize("name", WORLDS)
def test_one_call_gives_the_bits_of_several(
    name: str, constraint_without_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts, many = (Simulator(WORLDS[name](), period=PERIOD) for _ in range(3))
    parts.constraints.append(constraint_without_rows)
    expected = motion(parts, 30)
    monkeypatch.setattr(BodyRows, "flat", None)  # no row is made by Python from now on
    np.testing.assert_array_equal(motion(whole, 30), expected)
    many.step(30)
    np.testing.assert_array_equal(many.dynamics.coordinates(), whole.dynamics.coordinates())


def test_function_of_time_goes_through_python_with_the_same_bits() -> None:
    constant, timed = (Simulator(WORLDS["motor of a ball"](), period=PERIOD) for _ in range(2))
    target = timed.joint("joint").target
    timed.joint("joint").target = lambda _: target
    expected = motion(constant, 20)
    np.testing.assert_array_equal(motion(timed, 10), expected[:10])
    timed.joint("joint").target = target
    np.testing.assert_array_equal(motion(timed, 10), expected[10:])


def test_numbers_of_motors_that_are_set_act_from_the_next_step_on() -> None:
    sim = Simulator(WORLDS["motor of a ball"](), period=PERIOD)
    motor = sim.joint("joint").motor
    motor.target_position, motor.proportional_gain, motor.velocity_limit = (0.0, 0.0, 1.0, 1.0), 7.0, math.inf
    sim.dynamics.prepare()
    same(compiled_rows(sim), readable_rows(sim))
    saved = sim.state()
    expected = motion(sim, 5)
    motor.target_position, motor.effort_limit = (1.0, 0.0, 0.0, 0.0), 0.1
    assert not np.array_equal(motion(sim, 5), expected)
    sim.restore(saved)
    np.testing.assert_array_equal(motion(sim, 5), expected)


def test_solution_has_the_rows_of_the_last_step() -> None:
    sim = Simulator(WORLDS["gear"](), period=PERIOD, polish=True)
    sim.step(10)
    constraints = sim.solution.problem.constraints
    jacobian = np.vstack([numbered(each.rows(sim.dynamics.nv, PERIOD)) for each in constraints])
    assert len(jacobian) == 11
    (gradient,) = (sim.solution.gradient("v0").shape,)
    assert gradient == (12, 12)


def test_gradient_of_a_step_through_a_hinge_is_that_of_finite_differences() -> None:
    """By the velocity before the step, with the pose and so the rows constant."""

    def velocity(change: np.ndarray) -> Simulator:
        sim = Simulator(joined("hinge"), period=PERIOD, polish=True)
        sim.step(5)
        sim.dynamics.arrays.v[:] += change
        sim.step()
        return sim

    gradient, h, n = velocity(np.zeros(12)).solution.gradient("v0"), 1e-4, 12
    for k in (0, 1, 2, 6, 7, 8):  # gyroscopic moments depend on the angular ones
        up, down = (velocity(sign * h * np.eye(n)[k]).dynamics.velocities() for sign in (1.0, -1.0))
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2.0 * h), atol=1e-7)


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("python", [False, True])
def test_points_of_a_distance_that_meet_are_refused_and_the_state_stays(
    python: bool, constraint_without_rows: Any
) -> None:
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_sphere("ball", mass=1.0, radius=0.1, position=(1.0, 0.0, 0.0))
    world.add_joint("rod", "distance", None, "ball", point=(0.0, 0.0, 0.0), point_b=(1.0, 0.0, 0.0))
    sim = Simulator(world, period=PERIOD)
    if python:
        sim.constraints.append(constraint_without_rows)
    sim.set_state("ball", position=(0.0, 0.0, 0.0))
    with pytest.raises(WorldError, match=r"^rod: distance: expected points apart, got the same one$"):
        sim.step(3)
    assert sim.time == 0.0 and isinstance(WorldError(""), ContactError)


def test_gear_of_three_bodies_is_refused() -> None:
    world = World()
    for name, x in (("arm", 0.2), ("pinion", 0.0), ("wheel", 0.5)):
        world.add_body(name, mass=1.0, inertia=0.1, center=(0, 0, 0), position=(x, 0, 0))
    for name, x in (("pinion", 0.0), ("wheel", 0.5)):
        world.add_joint(name, "hinge", "arm", name, point=(x, 0, 0), axis=(0, 0, 1))
    world.add_gear("pinion", "wheel", teeth=(1, 2))
    with pytest.raises(ValueError, match=r"^gear: expected rows that couple one tree or two, got 3$"):
        Simulator(world, period=PERIOD).step()


@pytest.mark.parametrize("angle", [0.0, 1e-20, -3.0, 3.2, -3.2, 1e4, -12345.678, 2.0 * math.pi, -math.pi])
def test_nearest_is_the_remainder(angle: float) -> None:
    assert nearest(angle) == math.remainder(angle, math.tau)


def test_constraint_of_ones_own_comes_after_the_rows_of_joints() -> None:
    sim, nv = Simulator(joined("hinge"), period=PERIOD), 12

    def hold(d: WorldDynamics) -> Constraint:
        return spring_rows(
            np.eye(nv + 1)[:1], np.zeros(1), period=d.period, stiffness=1e3, relaxation_time=0.1, near_rigid=0.0
        )

    sim.constraints.append(hold)
    sim.step(3)
    assert [len(each.rows(nv, PERIOD).jacobian) for each in sim.solution.problem.constraints] == [5, 1]
    sim.constraints.clear()
    sim.step(3)
    assert [len(each.rows(nv, PERIOD).jacobian) for each in sim.solution.problem.constraints] == [5]
