"""Joints by name, the whole state, wrenches on links, Jacobians and contact wrenches of a simulation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from convex_contact import Material, Simulator, World, WorldError
from convex_contact.problem.approximations import APPROXIMATIONS
from convex_contact.simulation import step_attempts
from convex_contact.simulation.world_arrays import pair_arrays

#: an arm with a continuous shoulder, a revolute elbow with limits and a sliding hand, all of whose links have mass
ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0.02"/><mass value="0.8"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0 0 0.03"/><mass value="0.3"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><origin xyz="0.05 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-2" upper="1.5" effort="50" velocity="9"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="hand"/><origin xyz="0.3 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" effort="50" velocity="9"/></joint>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> World:
    """The arm above a floor, with a motor at the elbow, and a ball beside it."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    world = World()
    world.add_half_space("floor", point=(0.0, 0.0, -0.6), material=Material(stiffness=1e5, friction=0.6))
    world.add_urdf("arm", path, material=Material(stiffness=1e5, friction=0.6), damping=0.1)
    world.actuate_joint("arm", "elbow", proportional_gain=20.0, derivative_gain=1.0)
    ball = world.add_sphere("ball", mass=0.2, radius=0.05, position=(0.5, 0.4, -0.5))
    world.bodies[ball].velocity = np.array([0.3, 0.0, 0.0])
    return world


def test_a_joint_is_read_and_set_by_its_name(arm: World) -> None:
    sim = Simulator(arm, period=1e-3)
    assert sim.joints == ("arm/shoulder", "arm/elbow", "arm/slide")
    shoulder, elbow, slide = (sim.joint(name) for name in ("shoulder", "arm/elbow", "slide"))
    assert (elbow.lower, elbow.upper, shoulder.upper) == (-2.0, 1.5, math.inf)
    shoulder.position, elbow.position, slide.velocity = -3.0, 0.7, 0.25
    assert shoulder.position == pytest.approx(-3.0, abs=1e-15)
    assert (elbow.position, slide.velocity, slide.column) == (0.7, 0.25, 2)
    before = sim.state("arm/hand").position
    sim.joint("shoulder").position = 0.0
    assert np.abs(sim.state("arm/hand").position - before).max() > 0.5  # links follow at once


def test_effort_and_target_of_a_joint_act(arm: World) -> None:
    moved = {}
    for name, value in (("none", 0.0), ("effort", 2.0), ("target", 0.3)):
        sim = Simulator(arm, period=1e-3)
        elbow = sim.joint("elbow")
        if name != "none":
            setattr(elbow, name, value)
            assert getattr(elbow, name) == value
        sim.step(20)
        moved[name] = elbow.position
        sim.reset()
        assert elbow.position == 0.0 and elbow.motor is sim.joint_laws[0]
    assert moved["effort"] > moved["none"] + 1e-3 and moved["target"] > moved["none"] + 1e-3


def test_wrong_names_and_values_are_refused(arm: World) -> None:
    sim = Simulator(arm, period=1e-3)
    with pytest.raises(WorldError, match="joint: expected one of arm/shoulder, arm/elbow, arm/slide, got 'wrist'"):
        sim.joint("wrist")
    with pytest.raises(WorldError, match=r"got 'elbw'; did you mean elbow\?$"):
        sim.joint("elbw")
    with pytest.raises(WorldError, match="arm/slide: expected a joint with a motor"):
        sim.joint("slide").target = 1.0
    with pytest.raises(ValueError, match="arm/elbow: position"):
        sim.joint("elbow").position = math.nan
    with pytest.raises(WorldError, match="a wrench acts on a free body or a link, not on a fixed one"):
        sim.apply_wrench("floor", force=(1.0, 0.0, 0.0))


def everything(sim: Simulator) -> list[np.ndarray]:
    """All that a user can read after a step."""
    a, c = sim.dynamics.arrays, sim.contacts
    return [a.q.copy(), a.v.copy(), np.array(sim.time), c.body, c.impulse, c.slip_velocity, sim.torsional_impulse,
            sim.elastic_displacement, sim.solution.velocity, *(s.force.copy() for s in sim.couplings)]  # fmt: skip


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_restored_simulation_goes_on_bit_for_bit(arm: World, approximation: str) -> None:
    material = Material(stiffness=1e5, friction=0.5, torsional_friction=0.01)
    for i in range(4):
        arm.add_box(
            f"box{i}", size=(0.1, 0.1, 0.1), mass=0.5, position=(1.0, 0.01 * i, -0.54 + 0.105 * i), material=material
        )
    sim = Simulator(arm, period=2e-3, approximation=approximation)
    pull = sim.couple("ball", stiffness=50.0, damping=1.0)
    pull.target((0.5, 0.1, -0.5), velocity=(0.0, -0.1, 0.0))
    sim.joint("slide").effort = 0.7
    sim.step(60)
    saved, at_save = sim.state(), everything(sim)
    sim.step(80)
    expected = everything(sim)
    sim.joint("elbow").target, sim.joint("slide").effort = 0.9, 0.0
    sim.apply_wrench("ball", force=(3.0, 0.0, 0.0))
    pull.target((0.0, 0.0, 0.0))
    sim.couple("box0", stiffness=10.0, damping=0.1)
    sim.step(100)
    assert not np.array_equal(everything(sim)[0], expected[0])
    for _ in range(2):  # the saved state is not used up
        sim.restore(saved)
        assert saved.time == sim.time and sim.joint("elbow").target == 0.0
        for got, there in zip(everything(sim), at_save, strict=True):
            np.testing.assert_array_equal(got, there)
        sim.step(80)
        for got, there in zip(everything(sim), expected, strict=True):
            np.testing.assert_array_equal(got, there)


def test_a_state_survives_a_reset_and_more_contacts(arm: World) -> None:
    sim = Simulator(arm, period=2e-3)
    fresh = sim.state()
    sim.step(150)
    expected = everything(sim)
    sim.reset()
    sim.restore(fresh)
    assert len(sim.contacts.body) == 0 and not sim.contact_wrench("ball").any()
    sim.step(150)
    for got, there in zip(everything(sim), expected, strict=True):
        np.testing.assert_array_equal(got, there)
    with pytest.raises(ValueError, match="state: expected one of this simulator"):
        Simulator(arm, period=2e-3).restore(fresh)


class WholeStart:
    """`StepStart` by whole states of the simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def note(self) -> None:
        self._state = self._simulator.state()

    def begin(self) -> None:
        self._simulator.restore(self._state)

    def keep(self) -> None:
        """States share nothing."""

    accept = keep
    return_to = begin


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_step_that_is_taken_back_leaves_nothing(
    arm: World, approximation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of their own lengths are the same to the last bit as with whole states that are put back."""
    material = Material(stiffness=1e5, friction=0.5, torsional_friction=0.01)
    for i in range(12):  # more contacts than there is room for at first
        arm.add_box(
            f"box{i}", size=(0.1, 0.1, 0.1), mass=0.5, position=(1.0, 0.01 * (i % 3), -0.54 + 0.105 * i),
            material=material,
        )  # fmt: skip
    arm.add_sphere("pusher", radius=0.05, position=(1.3, 0.0, -0.5), velocity=(-0.3, 0.0, 0.0), prescribed=True)
    seen = []
    for start in (step_attempts.StepStart, WholeStart):
        monkeypatch.setattr(step_attempts, "StepStart", start)
        sim = Simulator(arm, accuracy=3e-4, approximation=approximation)
        pull = sim.couple("ball", stiffness=50.0, damping=1.0)
        pull.target((0.5, 0.1, -0.5), velocity=(0.0, -0.1, 0.0))
        sim.joint("slide").effort = 0.7
        sim.step(40)
        state = sim.state()
        sim.step(10)
        sim.restore(state)
        sim.step(20)
        assert sim.control is not None and sim.control.statistics.rejected > 2
        seen.append([*everything(sim), *sim.body_states()])
    for got, there in zip(*seen, strict=True):
        np.testing.assert_array_equal(got, there)


def test_a_state_is_restored_when_the_list_of_pairs_has_grown_since(arm: World) -> None:
    sim = Simulator(arm, period=2e-3)
    sim.step(20)
    saved, a = sim.state(), sim.dynamics.arrays
    sim.step(20)
    expected, room = everything(sim), len(a.pair)
    a.replace(**pair_arrays(2 * room))
    sim.restore(saved)
    assert len(a.pair) == room
    sim.step(20)
    for got, there in zip(everything(sim), expected, strict=True):
        np.testing.assert_array_equal(got, there)


def test_a_wrench_on_a_link_acts_as_its_joint_forces(arm: World) -> None:
    """The virtual work of a wrench at the centre of mass is that of joint forces J^T w, J the Jacobian there."""
    sim, other = Simulator(arm, period=1e-3), Simulator(arm, period=1e-3)
    force, torque = np.array([3.0, -1.0, 2.0]), np.array([0.2, 0.1, -0.3])
    for each in (sim, other):
        each.joint("shoulder").position, each.joint("elbow").position = 0.4, -0.6
        each.joint("elbow").velocity = 1.5
    J = sim.jacobian("arm/lower")
    rotation = sim.dynamics.arrays.body_pose[arm.number("arm/lower"), :9].reshape(3, 3)
    lever = rotation @ [0.1, 0.0, 0.02]
    sim.apply_wrench("arm/lower", force, torque)
    other.set_effort(0, (J.T @ [*force, *(torque + np.cross(lever, force))])[:3])
    sim.step()
    other.step()
    np.testing.assert_allclose(sim.dynamics.arrays.v, other.dynamics.arrays.v, rtol=0, atol=1e-13)
    assert np.abs(sim.dynamics.arrays.v[:3]).max() > 1e-3


@pytest.mark.parametrize("body", ["arm/hand", "ball", "floor"])
def test_jacobian_of_a_body_gives_its_twist(arm: World, body: str) -> None:
    sim = Simulator(arm, period=1e-3)
    rng = np.random.default_rng(3)
    sim.dynamics.arrays.v[:] = rng.standard_normal(sim.dynamics.nv)
    sim.joint("shoulder").position, sim.joint("elbow").position = 0.4, -0.6
    state = sim.state(body)
    twist = sim.jacobian(body) @ sim.dynamics.arrays.v
    np.testing.assert_allclose(twist, [*state.velocity, *state.angular_velocity], atol=1e-13)


def test_contact_wrench_carries_a_resting_body() -> None:
    """At rest the wrench of the contacts balances weight and applied wrench, about any point."""
    world = World()
    world.add_half_space("floor", material=Material(stiffness=1e5, friction=0.8, torsional_friction=0.02))
    box = world.add_box("box", size=(0.2, 0.1, 0.1), mass=2.0, position=(0.3, 0.2, 0.05))
    sim = Simulator(world, period=2e-3, approximation="lagged_elastoplastic")
    sim.apply_wrench(box, force=(1.0, -0.5, 0.0), torque=(0.0, 0.05, 0.02))
    sim.step(1000)
    applied = np.array([1.0, -0.5, -2.0 * 9.81, 0.0, 0.05, 0.02])
    np.testing.assert_allclose(sim.contact_wrench("box", about=sim.state(box).position), -applied, atol=1e-4)
    np.testing.assert_allclose(sim.contact_wrench("box"), -applied, atol=1e-4)
    point = np.array([1.0, 0.0, 0.0])
    moment = applied[3:] + np.cross(sim.state(box).position - point, applied[:3])
    np.testing.assert_allclose(sim.contact_wrench("box", about=point), [*-applied[:3], *-moment], atol=1e-4)
    np.testing.assert_array_equal(sim.contact_wrench("floor", about=point), -sim.contact_wrench("box", about=point))


def test_contacts_between_two_bodies_turn_with_their_order() -> None:
    world = World()
    world.add_half_space("floor", material=Material(friction=0.5))
    for i in range(2):
        world.add_box(f"box{i}", size=(0.1, 0.1, 0.1), mass=0.5, position=(0.01 * i, 0.0, 0.05 + 0.1 * i))
    sim = Simulator(world, period=2e-3)
    sim.apply_wrench("box1", force=(1.0, 0.3, 0.0))
    sim.step(50)
    one, other = sim.contacts_between("box0", "box1"), sim.contacts_between("box1", "box0")
    assert len(one.body) == len(other.body) > 0 and (one.body != other.body).all()
    assert len(sim.contacts_between("floor", "box1").body) == 0
    on_b = [np.einsum("kr,krx->kx", report.impulse, report.frame) for report in (one, other)]
    np.testing.assert_allclose(on_b[0], -on_b[1], atol=1e-15)
    assert (one.frame[:, 2, 2] > 0.99).all() and (other.frame[:, 2, 2] < -0.99).all()
    assert (on_b[0][:, 2].sum() > 0.0) and np.allclose(np.linalg.det(other.frame), 1.0)
    np.testing.assert_array_equal(one.slip_velocity, -other.slip_velocity)
    np.testing.assert_array_equal(one.normal_velocity, other.normal_velocity)


def test_contact_jacobian_gives_the_contact_velocities() -> None:
    world = World()
    world.add_half_space("floor", material=Material(friction=0.5))
    world.add_box("box", size=(0.1, 0.2, 0.3), mass=0.5, position=(0.0, 0.0, 0.149))
    sim = Simulator(world, period=2e-3)
    sim.apply_wrench("box", force=(4.0, 0.3, 0.0))
    sim.step(5)
    velocity = sim.contact_jacobian @ sim.dynamics.arrays.v
    np.testing.assert_allclose(velocity[:, 2], sim.contacts.normal_velocity, atol=1e-14)
    slip = np.einsum("kr,krx->kx", velocity[:, :2], sim.contacts.frame[:, :2])
    np.testing.assert_allclose(slip, sim.contacts.slip_velocity, atol=1e-14)


def test_a_value_of_another_name_is_refused(arm: World) -> None:
    arm.add_sphere("bob", mass=1.0, radius=0.05, position=(2.0, 0.0, 0.5))
    arm.add_joint("pivot", "hinge", None, "bob", point=(2.0, 0.0, 1.0), axis=(0.0, 1.0, 0.0))
    for name in ("pivot", "arm/elbow"):
        joint = Simulator(arm, period=1e-3).joint(name)
        with pytest.raises(AttributeError, match="positon"):
            joint.positon = 1.0  # type: ignore[attr-defined]
