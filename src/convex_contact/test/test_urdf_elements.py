"""Elements of a URDF in a simulation: friction, mimic, limits of motors, materials, and what is left out."""

from __future__ import annotations

import math
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import JointCoupler, JointFriction, Material, Simulator, UrdfWarning, World, WorldError
from convex_contact.model.world_file import parse_world

DATA = Path(__file__).with_name("data")
DT = 1e-3
MASS, LEVER, GRAVITY = 2.0, 0.5, 9.81
INERTIA = 0.01 + MASS * LEVER**2
#: of a friction row: near-rigid limit beta^2/(4 pi^2) with beta = 0.1
CREEP = 0.1**2 / (4.0 * math.pi**2)


def link(name: str, center: str = "0 0 0", mass: float = MASS) -> str:
    """A link of a mass with the moments 0.01 kg m^2."""
    moments = 'ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{name}"><inertial><origin xyz="{center}"/><mass value="{mass}"/><inertia {moments}/></inertial>'
        '<collision><geometry><sphere radius="0.01"/></geometry></collision></link>'
    )


def joint(name: str, kind: str, child: str, *, axis: str = "1 0 0", parent: str = "base", inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f"{inside}</joint>"
    )


def robot(folder: Path, *parts: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="robot">{"".join(parts)}</robot>')
    return path


LIMIT = '<limit lower="-100" upper="100" effort="1000" velocity="1000"/>'


def pendulum(folder: Path, friction: float, *, kind: str = "revolute") -> Simulator:
    """A horizontal pendulum about y with Coulomb friction in its joint."""
    inside = f'<dynamics friction="{friction}"/>{LIMIT if kind == "revolute" else ""}'
    hinge = joint("hinge", kind, "bob", axis="0 1 0", inside=inside)
    world = World()
    world.add_urdf("p", robot(folder, link("base"), link("bob", f"{LEVER} 0 0"), hinge))
    return Simulator(world, period=DT)


def slide(folder: Path, inside: str = LIMIT, gravity: Any = (0, 0, 0)) -> World:
    """A mass on a slide along x."""
    world = World(gravity)
    world.add_urdf("s", robot(folder, link("base"), link("block"), joint("x", "prismatic", "block", inside=inside)))
    return world


# --- friction ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_friction_holds_a_pendulum_below_the_breakaway_torque(tmp_path: Path, kind: str) -> None:
    load = MASS * GRAVITY * LEVER
    sim = pendulum(tmp_path, 1.01 * load, kind=kind)
    steps = 500
    sim.step(steps)
    creep = CREEP * load / INERTIA * DT
    angle = sim.joint("hinge").position
    assert 0.0 < angle <= 1.001 * creep * steps * DT
    assert sim.joint("hinge").velocity == pytest.approx(creep, rel=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
def test_a_pendulum_above_the_breakaway_torque_falls_by_the_difference(tmp_path: Path, share: float) -> None:
    load = MASS * GRAVITY * LEVER
    sim = pendulum(tmp_path, share * load)
    sim.step()
    assert sim.joint("hinge").velocity == pytest.approx(DT * (1.0 - share) * load / INERTIA, rel=1e-9)


def test_friction_stops_a_sliding_mass_after_its_braking_distance(tmp_path: Path) -> None:
    friction, speed = 3.0, 0.6
    world = slide(tmp_path, f'{LIMIT}<dynamics friction="{friction}"/>')
    world.trees[0].v[:] = speed
    sim = Simulator(world, period=1e-4)
    sim.advance(1.2 * speed * MASS / friction)
    assert abs(sim.joint("x").velocity) < 1e-12  # without a load nothing creeps
    # the speed at the end of each step counts, which is half a step's loss below the mean
    distance = speed**2 * MASS / (2.0 * friction) - 0.5 * sim.period * speed
    assert sim.joint("x").position == pytest.approx(distance, abs=1e-7)


def test_friction_given_beside_the_file_replaces_it(tmp_path: Path) -> None:
    path = robot(
        tmp_path, link("base"), link("a"), link("b"),
        joint("x", "prismatic", "a", inside=f'{LIMIT}<dynamics friction="3"/>'),
        joint("y", "prismatic", "b", parent="a", inside=LIMIT),
    )  # fmt: skip
    for given, expected in ((None, {"x": 3.0}), (2.0, {"x": 2.0, "y": 2.0}), ((0.0, 1.0), {"y": 1.0}), (0.0, {})):
        world = World()
        world.add_urdf("s", path, friction=given)
        assert world.joint_laws == [JointFriction(0, name, value) for name, value in expected.items()]
    for wrong in ((1.0,), -1.0):
        with pytest.raises(WorldError, match=r"^s: friction: expected "):
            World().add_urdf("s", path, friction=wrong)


# --- mimic -------------------------------------------------------------------------------------------------------


def geared(folder: Path, kind: str, mimic: str) -> World:
    """Two masses without gravity, the second with a mimic of the first."""
    world = World((0, 0, 0))
    limit = LIMIT if kind != "continuous" else ""
    parts = [joint("a", kind, "one", inside=limit), joint("b", kind, "two", inside=limit + mimic)]
    world.add_urdf("g", robot(folder, link("base"), link("one"), link("two"), *parts))
    return world


@pytest.mark.parametrize("kind", ["prismatic", "revolute", "continuous"])
def test_mimic_holds_its_ratio_and_adds_its_inertia(tmp_path: Path, kind: str) -> None:
    world = geared(tmp_path, kind, '<mimic joint="a" multiplier="-2" offset="0.3"/>')
    assert world.joint_laws == [JointCoupler(0, "b", "a", -2.0, 0.3)]
    np.testing.assert_array_equal(world.trees[0].q, [0.0, 0.3])
    sim = Simulator(world, period=1e-4)
    effort, steps = 0.5, 200
    sim.joint("a").effort = effort
    sim.step(steps)
    a, b = sim.joint("a"), sim.joint("b")
    inertia = MASS if kind == "prismatic" else 0.01
    fall = effort / (inertia * (1.0 + 4.0)) * 1e-8 * steps * (steps + 1) / 2
    assert a.position == pytest.approx(fall, rel=1e-3)  # the near-rigid spring gives way by 1e-3 of a step's motion
    assert b.position == pytest.approx(-2.0 * a.position + 0.3, abs=1e-6)
    assert b.velocity == pytest.approx(-2.0 * a.velocity, rel=1e-3)
    b.effort = 0.5 * effort  # balances, over the gear
    before = a.velocity
    sim.step(10)
    assert a.velocity == pytest.approx(before, rel=1e-3)


def test_mimic_follows_a_joint_that_follows_another(tmp_path: Path) -> None:
    chain = [
        joint("c", "prismatic", "three", inside=f'{LIMIT}<mimic joint="b" offset="1"/>'),
        joint("a", "prismatic", "one", inside='<limit lower="0.2" upper="1" effort="1" velocity="1"/>'),
        joint("b", "prismatic", "two", inside=f'{LIMIT}<mimic joint="a" multiplier="3"/>'),
    ]
    world = World((0, 0, 0))
    world.add_urdf("g", robot(tmp_path, *(link(name) for name in ("base", "one", "two", "three")), *chain))
    sim = Simulator(world, period=DT)
    positions = [sim.joint(name).position for name in "abc"]
    assert positions == pytest.approx([0.2, 0.6, 1.6], abs=1e-15)
    sim.joint("c").effort = 1.0
    sim.step(100)
    a, b, c = (sim.joint(name).position for name in "abc")
    fall = 3.0 / (MASS * (1.0 + 9.0 + 9.0)) * DT**2 * 100 * 101 / 2  # all three by one coordinate
    assert (
        a - 0.2 == pytest.approx(fall, rel=2e-3)
        and b == pytest.approx(3.0 * a, abs=1e-5)
        and c == pytest.approx(b + 1.0, abs=1e-5)
    )


@pytest.mark.parametrize(
    ("mimic", "message"),
    [
        ('<mimic joint="b"/>', "line 1: mimic: joint: expected another joint, that does not follow this one, got a l"),
        ('<mimic joint="c"/>', "mimic: joint: expected two joints that are revolute, continuous or prismatic"),
        ("<mimic/>", "mimic: joint: expected a name of 1 to 120 printable characters, got nothing"),
        ('<mimic joint="a" multiplier="0"/>', "mimic: multiplier: expected a number other than 0"),
        ('<mimic joint="a" multiplier="two"/>', "mimic: multiplier: expected a number .* got a text of 3 characters"),
    ],
)  # fmt: skip
def test_a_mimic_that_cannot_be_is_refused(tmp_path: Path, mimic: str, message: str) -> None:
    with pytest.raises(WorldError, match=rf"^g: robot\.urdf: .*{message}"):
        geared(tmp_path, "prismatic", mimic)


# --- limits of motors --------------------------------------------------------------------------------------------


def test_the_effort_limit_of_the_file_saturates_a_motor(tmp_path: Path) -> None:
    world = slide(tmp_path, '<limit lower="-100" upper="100" effort="7" velocity="1000"/>')
    world.actuate_joint("s", "x", proportional_gain=1e6, target_position=1.0)
    sim = Simulator(world, period=DT)
    sim.step(5)
    assert sim.joint("x").velocity == pytest.approx(5 * DT * 7.0 / MASS, rel=1e-9)
    sim.joint("x").effort = 100.0  # of a hand: the motor's limit does not bound it
    before = sim.joint("x").velocity
    sim.step()
    assert sim.joint("x").velocity - before == pytest.approx(DT * 107.0 / MASS, rel=1e-9)
    other = slide(tmp_path)
    other.actuate_joint("s", "x", proportional_gain=1e6, target_position=1.0, effort_limit=3.0)
    sim = Simulator(other, period=DT)
    sim.step(5)
    assert sim.joint("x").velocity == pytest.approx(5 * DT * 3.0 / MASS, rel=1e-9)


def test_a_motor_does_not_drive_beyond_the_velocity_limit_of_the_file(tmp_path: Path) -> None:
    world = slide(tmp_path, '<limit lower="-100" upper="100" effort="50" velocity="0.5"/>')
    world.actuate_joint("s", "x", proportional_gain=0.0, derivative_gain=100.0, target_velocity=2.0)
    sim = Simulator(world, period=DT)
    speeds = []
    for _ in range(60):
        sim.step()
        speeds.append(sim.joint("x").velocity)
    np.testing.assert_allclose(speeds[:19], 50.0 / MASS * DT * np.arange(1, 20), rtol=1e-9)  # its effort limit acts
    # the near-rigid row gives way by its share of what the motor's 50 N do in a step
    assert speeds[-1] == pytest.approx(0.5, abs=CREEP * 50.0 / MASS * DT * 1.001)
    motor = sim.joint("x").motor
    motor.target_velocity = -2.0
    sim.step(100)
    assert sim.joint("x").velocity == pytest.approx(-0.5, abs=CREEP * 50.0 / MASS * DT * 1.001)
    motor.velocity_limit = math.inf
    sim.step(500)
    assert sim.joint("x").velocity == pytest.approx(-2.0, rel=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("target", [0.0, 9.0])
def test_a_motor_brakes_with_its_effort_limit_when_a_load_drives_it_faster(
    tmp_path: Path, sign: float, target: float
) -> None:
    """Whatever its controller asks for, u = -E beyond the velocity limit."""
    world = slide(tmp_path, '<limit lower="-100" upper="100" effort="50" velocity="0.5"/>')
    world.actuate_joint("s", "x", proportional_gain=0.0, derivative_gain=1e4, target_velocity=sign * target)
    sim = Simulator(world, period=DT)
    x = sim.joint("x")
    x.velocity, x.effort = sign * 1.0, sign * 80.0
    sim.step(10)
    assert x.velocity == pytest.approx(sign * (1.0 + 10 * DT * (80.0 - 50.0) / MASS), rel=1e-9)


def test_a_velocity_limit_out_of_reach_changes_no_bit(tmp_path: Path) -> None:
    moved = []
    for limit in (math.inf, 5.0):
        world = slide(tmp_path)
        world.actuate_joint("s", "x", proportional_gain=300.0, target_position=0.1, velocity_limit=limit)
        sim = Simulator(world, period=DT)
        sim.step(200)
        moved.append((sim.joint("x").position, sim.joint("x").velocity))
    assert moved[0] == moved[1]


def test_a_limit_of_a_motor_that_is_zero_or_new_is_refused(tmp_path: Path) -> None:
    gains = {"proportional_gain": 1.0}
    for effort, velocity, name in ((0, 1, "effort_limit"), (1, 0, "velocity_limit")):
        world = slide(tmp_path, f'<limit lower="-1" upper="1" effort="{effort}" velocity="{velocity}"/>')
        with pytest.raises(
            WorldError, match=rf"^s: x: {name}: expected a number above 0, got none, and 0 in the file$"
        ):
            world.actuate_joint("s", "x", **gains)
        world.actuate_joint("s", "x", **gains | {name: 2.0})
    world = slide(tmp_path)
    world.actuate_joint("s", "x", **gains, velocity_limit=math.inf)
    with pytest.raises(ValueError, match=r"^velocity_limit: expected inf, as when the simulator was made"):
        Simulator(world, period=DT).joint("x").motor.velocity_limit = 1.0


# --- surfaces, meshes, files -------------------------------------------------------------------------------------


def test_links_have_materials_of_their_own(tmp_path: Path) -> None:
    rubber, steel = Material(friction=1.2), Material(friction=0.2)
    world = World()
    world.add_urdf("arm", DATA / "arm.urdf", material=steel, materials={"finger": rubber, "base": rubber})
    found = {body.name: [g.material.friction for g in body.geometries] for body in world.bodies}
    assert found == {"arm/base": [1.2], "arm/upper": [0.2], "arm/lower": [0.2], "arm/hand": [0.2, 1.2]}
    with pytest.raises(
        WorldError, match=r"^arm: materials: expected one of the links of arm\.urdf \(.*finger.*\), got 'thumb'"
    ):
        World().add_urdf("arm", DATA / "arm.urdf", materials={"thumb": rubber})
    again = parse_world(world.to_yaml(), folder=tmp_path)
    assert {b.name: [g.material for g in b.geometries] for b in again.bodies} == {
        b.name: [g.material for g in b.geometries] for b in world.bodies
    }


def test_world_file_sets_friction_materials_and_limits_of_motors(tmp_path: Path) -> None:
    mimic = '<mimic joint="a"/><dynamics friction="0.5"/>'
    geared(tmp_path, "prismatic", mimic)
    text = """
materials: {rubber: {friction: 1.2}}
trees:
- name: g
  urdf: robot.urdf
  materials: {two: rubber, one: {friction: 0.1}}
  actuators: [{joint: a, proportional_gain: 1.0}, {joint: b, proportional_gain: 1.0, velocity_limit: 2.0}]
"""
    world = parse_world(text, folder=tmp_path)
    assert [body.geometries[0].material.friction for body in world.bodies] == [Material().friction, 0.1, 1.2]
    assert world.joint_laws[:2] == [JointCoupler(0, "b", "a"), JointFriction(0, "b", 0.5)]
    limits = [(law.effort_limit, law.velocity_limit) for law in world.joint_laws[2:]]  # type: ignore[union-attr]
    assert limits == [(1000.0, 1000.0), (1000.0, 2.0)]
    assert parse_world(world.to_yaml(), folder=Path("/nowhere")).joint_laws == world.joint_laws
    stronger = parse_world(text.replace("urdf: robot.urdf", "urdf: robot.urdf\n  friction: [0, 2]"), folder=tmp_path)
    assert stronger.joint_laws[1] == JointFriction(0, "b", 2.0)
    assert parse_world(stronger.to_yaml()).joint_laws == stronger.joint_laws


def test_package_paths_lead_into_the_package_folders(tmp_path: Path) -> None:
    meshes = tmp_path / "packages" / "tools" / "meshes"
    meshes.mkdir(parents=True)
    shutil.copy(DATA / "wedge.stl", meshes / "wedge.STL")
    mesh = (
        '<collision><geometry><mesh filename="package://tools/meshes/wedge.STL" scale="1 2 -1"/></geometry></collision>'
    )
    path = robot(tmp_path, f'<link name="base">{mesh}</link>')
    world = World()
    world.add_urdf("r", path, package_dirs=[tmp_path / "packages"])
    plain = World.load(DATA / "wedge.stl", scale=(1, 2, -1))
    np.testing.assert_array_equal(*(w.bodies[0].geometries[0].shape.vertices for w in (world, plain)))
    expected = "expected a file, or one below package_dirs or the URDF's folder, got none that exists"
    with pytest.raises(WorldError, match=rf"^r: robot\.urdf: line 1: mesh: filename: {expected}$"):
        World().add_urdf("r", path)


def test_a_capsule_is_one(tmp_path: Path) -> None:
    shape = '<collision><geometry><capsule radius="0.1" length="0.4"/></geometry></collision>'
    world = World()
    world.add_urdf("r", robot(tmp_path, f'<link name="base">{shape}</link>'))
    assert world.bodies[0].geometries[0].shape.name == "capsule"


# --- what is left out --------------------------------------------------------------------------------------------


def warned(path: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        World().add_urdf("r", path, armature=1.0)
    assert all(issubclass(warning.category, UrdfWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("inside", "kind", "message"),
    [
        ('<safety_controller k_velocity="1"/>', "revolute", "line 1: safety_controller in joint is not simulated"),
        ('<limit effort="1" velocity="1" jerk="3"/>', "revolute", "line 1: attribute jerk of limit is not simulated"),
        ('<dynamics friction="1"/>', "planar", "line 1: dynamics of a planar joint are not simulated"),
        ('<dynamics damping="1"/>', "floating", "line 1: dynamics of a floating joint are not simulated"),
        ('<mimic joint="j"/>', "fixed", "line 1: mimic of a fixed joint is not simulated"),
        (
            '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
            "continuous",
            "line 1: lower and upper of a continuous joint are not simulated",
        ),
        ('<limit effort="1" velocity="1"/>', "floating", "line 1: limit of a floating joint is not simulated"),
        ("<a_spring/>" * 6, "revolute", "; ".join(["line 1: a_spring in joint is not simulated"] * 4) + "; and 2 more"),
    ],
)
def test_elements_that_are_not_simulated_are_listed_in_one_warning(
    tmp_path: Path, inside: str, kind: str, message: str
) -> None:
    limit = LIMIT if kind == "revolute" and "limit" not in inside else ""
    path = robot(tmp_path, link("base"), link("a"), joint("j", kind, "a", axis="0 0 1", inside=inside + limit))
    assert warned(path) == [f"r: robot.urdf: {message}"]


def test_a_warning_names_the_line_that_loads_the_file(tmp_path: Path) -> None:
    path = robot(tmp_path, link("base"), link("a"), joint("j", "revolute", "a", inside=f"{LIMIT}<a_spring/>"))
    for load in (World.load, lambda path: World().add_urdf("r", path)):
        with pytest.warns(UrdfWarning) as caught:
            load(path)
        assert [warning.filename for warning in caught] == [__file__]


def test_an_inertia_that_no_body_has_is_listed(tmp_path: Path) -> None:
    part = link("a").replace('izz="0.01"', 'izz="0.03"')
    path = robot(tmp_path, link("base"), part, joint("j", "floating", "a"))
    assert warned(path) == ["r: robot.urdf: line 1: no rigid body has this inertia"]


def test_elements_for_other_programs_give_no_warning(tmp_path: Path) -> None:
    others = '<material name="m"/><ros2_control/><sensor/>'
    look = '<link name="a"><visual><geometry><mesh filename="none"/></geometry></visual></link>'
    hinge = joint("j", "revolute", "a", inside=f'{LIMIT}<calibration rising="0"/>')
    assert not warned(robot(tmp_path, others, link("base"), look, hinge))


def test_elements_of_other_simulators_are_listed_once_for_each_kind(tmp_path: Path) -> None:
    gazebo = '<gazebo reference="a"><mu1>0.7</mu1></gazebo>\n' * 5
    hinge = joint("j", "revolute", "a", inside=f"{LIMIT}\n<gazebo/>")
    path = robot(tmp_path, f"\n{gazebo}<transmission/>", link("base"), link("a"), hinge)
    listed = "gazebo (line 2, line 3, line 4 and 3 more) is not simulated; transmission (line 7) is not simulated"
    assert warned(path) == [f"r: robot.urdf: {listed}"]


def test_a_planar_joint_of_another_plane_is_refused(tmp_path: Path) -> None:
    path = robot(tmp_path, link("base"), link("a"), joint("j", "planar", "a"))
    with pytest.raises(WorldError, match="axis: expected 0 0 1 for a planar joint; the origin's rpy turns its plane"):
        World().add_urdf("r", path)
