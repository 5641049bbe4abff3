"""MJCF files beside MuJoCo, whose answers are stored, and by closed forms."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mjcf_cases import CASES, DURATION
from mjcf_comparison import STORED, differences, suite_facts

from convex_contact import Material, Simulator, TendonActuator, World, WorldError
from convex_contact.model.mjcf import MjcfWarning, load_mjcf
from convex_contact.model.mjcf.geoms import EDGE_PARTS

ANSWERS = json.loads(STORED.read_text())
FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'


def load(folder: Path, text: str, **options: Any) -> World:
    """The world of a text; warnings are errors."""
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{text}</mujoco>" if not text.startswith("<mujoco") else text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MjcfWarning)
        return load_mjcf(path, **options)


@pytest.mark.parametrize("name", CASES)
def test_masses_poses_jacobians_and_motion_are_those_of_mujoco(tmp_path: Path, name: str) -> None:
    text, bound = CASES[name]
    path = tmp_path / f"{name}.xml"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MjcfWarning)
        world = load_mjcf(path, keyframe=0 if "<key" in text else None)
    theirs = ANSWERS[name]
    ours = suite_facts(world, theirs["joints"], duration=DURATION, period=5e-4)
    found = differences(ours, theirs)
    assert found["mass"] < 1e-9 and found["bodies"] < 1e-9 and found["jacobians"] < 1e-9, found
    assert found["moved"] < bound, found
    assert {body.name for body in world.bodies} & theirs["bodies"].keys()


def test_included_files_stand_in_place_of_their_elements(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "body.xml").write_text(
        '<mujocoinclude><body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
        '<include file="floor.xml"/></mujocoinclude>'
    )
    (tmp_path / "floor.xml").write_text(f"<mujoco>{FLOOR}</mujoco>")
    world = load(tmp_path, '<worldbody><include file="parts/body.xml"/></worldbody>')
    assert [body.name for body in world.bodies] == ["world", "ball"]


def test_warning_names_parts_and_lines_once(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    geoms = "\n".join(f'<geom size="0.1" solref="0.01 1" pos="0 0 {i}"/>' for i in range(5))
    path.write_text(
        f'<mujoco><option integrator="RK4"/><worldbody>\n<body><freejoint/>{geoms}</body></worldbody>\n'
        "<sensor><clock/></sensor><visual/><statistic/><custom/></mujoco>"
    )
    with pytest.warns(MjcfWarning) as caught:
        World.load(path)
    expected = (
        "model.xml: not simulated: integrator of option (line 1); solref of geom (line 2, line 3, line 4 and 2 more); "
        "sensor (line 7)"
    )
    assert [(str(each.message), each.filename) for each in caught] == [(expected, __file__)]


def test_limit_of_the_vertices_of_a_hull_is_listed_once(tmp_path: Path) -> None:
    corners = "0 0 0 1 0 0 0 1 0 0 0 1"
    meshes = "".join(f'<mesh name="m{i}" vertex="{corners}" maxhullvert="8"/>\n' for i in range(2))
    path = tmp_path / "model.xml"
    body = '<worldbody><body><freejoint/><geom type="mesh" mesh="m0"/></body></worldbody>'
    path.write_text(f"<mujoco><asset>{meshes}</asset>{body}</mujoco>")
    with pytest.warns(MjcfWarning) as caught:
        World.load(path)
    expected = "model.xml: not simulated: maxhullvert of mesh (line 1, line 2)"
    assert [str(each.message) for each in caught] == [expected]


def test_forces_at_a_distance_are_not_simulated(tmp_path: Path) -> None:
    """MuJoCo's forces begin at the margin less the gap, at contact if both are equal."""
    load(tmp_path, '<worldbody><geom type="plane" size="1 1 1" margin="0.01" gap="0.01"/></worldbody>')
    with pytest.raises(MjcfWarning, match=r"not simulated: margin of geom \(line 1\)"):
        load(tmp_path, '<worldbody><geom type="plane" size="1 1 1" margin="0.01"/></worldbody>')


def test_a_range_cannot_be_inherited_from_a_joint_without_one(tmp_path: Path) -> None:
    arm = '<worldbody><body><joint name="j"{}/><geom size="0.1"/></body></worldbody>'
    motor = '<actuator><position joint="j" inheritrange="1"/></actuator>'
    load(tmp_path, arm.format(' range="-1 1"') + motor)
    with pytest.raises(ValueError, match="inheritrange: expected a joint with a range, got none"):
        load(tmp_path, arm.format("") + motor)


# --- contact ---------------------------------------------------------------------------------------------------------


def scene(first: str, second: str, rules: str = "", floor: str = FLOOR) -> str:
    """Two spheres, one above the other, on a floor."""
    return (
        f'<worldbody>{floor}<body name="a" pos="0 0 0.0999"><freejoint/><geom name="a" size="0.1" {first}/></body>'
        f'<body name="b" pos="0 0 0.2998"><freejoint/><geom name="b" size="0.1" {second}/></body></worldbody>{rules}'
    )


def heights(world: World) -> tuple[float, float]:
    """Heights of both spheres after 0.1 s, in which a free one falls by 5 cm."""
    simulator = Simulator(world)
    simulator.advance(0.1)
    return float(simulator.state("a").position[2]), float(simulator.state("b").position[2])


@pytest.mark.parametrize(
    ("first", "second", "rules", "falls"),
    [
        ("", "", "", (False, False)),
        ('contype="0" conaffinity="0"', "", "", (True, True)),
        ('contype="2" conaffinity="2"', "", "", (True, True)),
        ('contype="1" conaffinity="0"', 'contype="0" conaffinity="1"', "", (False, False)),
        ('contype="1" conaffinity="0"', 'contype="1" conaffinity="0"', "", (False, True)),
        ("", "", '<contact><exclude body1="a" body2="b"/></contact>', (False, True)),
        ("", "", '<contact><exclude body1="world" body2="a"/></contact>', (True, True)),
        (
            'contype="0" conaffinity="0"',
            "",
            '<contact><pair geom1="floor" geom2="a"/></contact>',
            (False, True),
        ),
        ("", "", '<option><flag contact="disable"/></option>', (True, True)),
        ("", "", '<option><flag constraint="disable"/></option>', (True, True)),
        ("", "", '<option gravity="0 0 -1"/>', (False, False)),
    ],
)
def test_bits_exclusions_pairs_and_flags_decide_what_collides(
    tmp_path: Path, first: str, second: str, rules: str, falls: tuple[bool, bool]
) -> None:
    low, high = heights(load(tmp_path, scene(first, second, rules)))
    assert (low < 0.08, high < 0.28) == falls


def test_geoms_of_one_body_may_differ_in_their_collisions(tmp_path: Path) -> None:
    text = (
        f'<worldbody>{FLOOR}<body name="a" pos="0 0 0.0999"><freejoint/>'
        '<geom size="0.1" contype="2"/><geom size="0.05" pos="1 0 -0.05" conaffinity="0" contype="2"/>'
        '<geom size="0.1" pos="1 0 0" contype="2"/><geom size="0.1" pos="0 1 0" contype="2"/></body></worldbody>'
    )
    world = load(tmp_path, text)
    assert world.disabled_geometries == {((0, 0), (1, 1))} and not world.disabled


def test_bodies_of_a_joint_do_not_collide_unless_the_filter_is_off(tmp_path: Path) -> None:
    body = (
        '<worldbody><body name="a" pos="0 0 1"><joint name="one"/><geom size="0.2"/>'
        '<body name="b" pos="0.1 0 0"><joint type="slide" axis="1 0 0" name="two"/><geom size="0.2"/></body></body>'
        "</worldbody>"
    )
    assert load(tmp_path, body).disabled == {(0, 1)}
    assert not load(tmp_path, f'{body}<option><flag filterparent="disable"/></option>').disabled


@pytest.mark.parametrize(
    ("first", "floor", "rules", "expected"),
    [
        ('friction="0.3"', 'friction="0.6"', "", 0.6),
        ('friction="0.3" priority="1"', 'friction="0.6"', "", 0.3),
        ('friction="0.3" condim="1"', 'friction="0.6" condim="1"', "", 0.0),
        ('friction="0.3" condim="1"', 'friction="0.6"', "", 0.6),
        ("", "", '<contact><pair geom1="floor" geom2="a" friction="0.2"/></contact>', 0.2),
        ("", "", '<contact><pair geom1="floor" geom2="a" condim="1"/></contact>', 0.0),
        ("", "", '<default><geom friction="0.4"/></default>', 0.4),
    ],
)
def test_friction_of_a_pair_is_that_of_mujoco(
    tmp_path: Path, first: str, floor: str, rules: str, expected: float
) -> None:
    plane = f'<geom name="floor" type="plane" size="1 1 1" {floor}/>'
    body = f'<body name="a" pos="0 0 0.1"><freejoint/><geom name="a" type="box" size="0.1 0.1 0.1" {first}/></body>'
    world = load(tmp_path, f"<worldbody>{plane}{body}</worldbody>{rules}", material=Material(stiffness=1e6))
    ground, box = (world.bodies[i].geometries[0] for i in (0, 1))
    law = world.law(ground, box, 0, 1)
    assert law.friction == pytest.approx(expected) and law.stiffness == 5e5


def test_torsional_friction_is_the_second_number(tmp_path: Path) -> None:
    world = load(tmp_path, scene('friction="0.5 0.02" condim="4"', "", "", FLOOR.replace("size", 'condim="4" size')))
    ground, ball = (world.bodies[i].geometries[0] for i in (0, 1))
    assert world.law(ground, ball, 0, 1).torsional_friction == pytest.approx(0.02)  # the floor's is 0.005


def test_ellipsoid_touches_where_its_axes_end(tmp_path: Path) -> None:
    body = '<body name="a" pos="0 0 0.3"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>'
    world = load(tmp_path, f"<worldbody>{FLOOR}{body}</worldbody>")
    shape: Any = world.bodies[1].geometries[0].shape
    np.testing.assert_allclose(shape.extent, (0.1, 0.2, 0.3), rtol=1e-12)
    assert shape.volume() == pytest.approx(4 / 3 * math.pi * 0.006, rel=1e-2)
    assert len(shape.vertices) == 4 * EDGE_PARTS**2 + 2
    assert world.bodies[1].mass == pytest.approx(1000 * 4 / 3 * math.pi * 0.006, rel=1e-12)


# --- joints, state, settings ---------------------------------------------------------------------------------------

PENDULUM = (
    '<worldbody><body name="a"><joint name="hinge" axis="0 1 0" {}/>'
    '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5"/></body></worldbody>'
)


def test_limit_holds_in_degrees(tmp_path: Path) -> None:
    world = load(tmp_path, PENDULUM.format('range="20 60" ref="40"'))
    simulator = Simulator(world)
    joint = simulator.joint("hinge")
    assert joint.position == pytest.approx(math.radians(40)) and joint.lower == pytest.approx(math.radians(20))
    world = load(tmp_path, PENDULUM.format('range="-60 -20"') + '<keyframe><key qpos="-1"/></keyframe>', keyframe=0)
    simulator = Simulator(world)
    simulator.advance(1.0)
    assert simulator.joint("hinge").position == pytest.approx(math.radians(-20), abs=1e-3)


def test_friction_loss_holds_a_joint(tmp_path: Path) -> None:
    text = PENDULUM.format('frictionloss="{}"') + '<keyframe><key qpos="0.1"/></keyframe>'
    held, free = (load(tmp_path, text.format(friction), keyframe=0) for friction in ("2", "0"))
    for world, moves in ((held, False), (free, True)):
        simulator = Simulator(world)
        simulator.advance(0.2)
        assert (abs(simulator.joint("hinge").position - 0.1) > 1e-3) == moves


def test_mocap_body_is_prescribed_and_keyframes_place_it(tmp_path: Path) -> None:
    text = (
        '<worldbody><body name="tool" mocap="true" pos="0 0 1"><geom size="0.1"/></body>'
        '<body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody>'
        '<equality><weld body1="tool" body2="ball"/></equality>'
        '<keyframe><key name="k" mpos="1 0 1" mquat="0 1 0 0" qpos="1 0 1.5 0 1 0 0"/></keyframe>'
    )
    world = load(tmp_path, text, keyframe="k")
    simulator = Simulator(world)
    assert world.bodies[world.number("tool")].kind == "prescribed"
    simulator.dynamics.prescribe("tool", (0.1, 0, 0, 0, 0, 0))
    simulator.advance(1.0)
    assert simulator.state("tool").position[0] == pytest.approx(1.1)
    np.testing.assert_allclose(simulator.state("ball").position, [1.1, 0, 1.5], atol=2e-3)


def test_timestep_is_the_period_of_a_simulator_that_is_given_none(tmp_path: Path) -> None:
    world = load(tmp_path, f'<option timestep="0.004"/>{PENDULUM.format("")}')
    assert world.period == 0.004 and Simulator(world).period == 0.004 and Simulator(world, period=0.01).period == 0.01
    assert load(tmp_path, PENDULUM.format("")).period == 0.002
    with pytest.raises(ValueError, match="period, accuracy: expected one of them"):
        Simulator(World())


def test_control_is_set_by_the_name_of_the_actuator(tmp_path: Path) -> None:
    text = PENDULUM.format("") + '<actuator><motor name="m" joint="hinge" ctrlrange="-1 1" gear="2"/></actuator>'
    for flags, torque in (("", 2.0), ('<option><flag clampctrl="disable"/></option>', 10.0)):
        world = load(tmp_path, text + flags + '<option><flag gravity="disable"/></option>')
        simulator = Simulator(world, relative_tolerance=1e-12)
        simulator.actuator("m").control = 5.0
        simulator.step()
        inertia = world.trees[0].model.mass_matrix(world.trees[0].q)[0, 0]
        assert simulator.joint("hinge").velocity == pytest.approx(0.002 * torque / inertia, rel=1e-9)
    with pytest.raises(WorldError, match="actuator: expected one of m, got 'x'"):
        simulator.actuator("x")
    with pytest.raises(ValueError, match="m: control: "):
        simulator.actuator("m").control = math.nan
    state = simulator.state()
    simulator.actuator("m").control = -1.0
    simulator.restore(state)
    assert simulator.actuator("m").control == 5.0


def test_tree_of_an_mjcf_has_no_form_in_a_world_file(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="a: a tree of an MJCF file has no form in a world file"):
        load(tmp_path, PENDULUM.format("")).to_yaml()


def test_tendon_stays_in_its_range(tmp_path: Path) -> None:
    slides = "".join(
        f'<body name="{n}" pos="{i} 0 0"><joint name="{n}" type="slide"/><geom size="0.1"/></body>'
        for i, n in enumerate("ab")
    )
    tendon = '<tendon><fixed range="-0.3 5"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed></tendon>'
    simulator = Simulator(load(tmp_path, f"<worldbody>{slides}</worldbody>{tendon}"))
    simulator.advance(1.0)
    a, b = (simulator.joint(name).position for name in "ab")
    assert 2 * a + b == pytest.approx(-0.3, abs=1e-3)
    assert len(simulator.world.trees) == 1  # coupled


def test_faces_of_a_mesh_are_its_surface(tmp_path: Path) -> None:
    """A unit cube with a pyramid of depth h cut out of its base has 1 - h/3 of its volume; its hull has all of it."""
    vertices = "0 0 0  0 1 0  1 1 0  1 0 0  0.5 0.5 0.2  0 0 1  0 1 1  1 1 1  1 0 1"
    faces = "0 1 4  1 2 4  2 3 4  3 0 4  5 8 7  5 7 6  0 5 6  0 6 1  1 6 7  1 7 2  2 7 8  2 8 3  3 8 5  3 5 0"
    for inertia, volume in (("exact", 1.0 - 0.2 / 3.0), ("convex", 1.0)):
        mesh = f'<mesh name="m" inertia="{inertia}" vertex="{vertices}" face="{faces}"/>'
        body = '<body name="b"><freejoint/><geom type="mesh" mesh="m" density="1"/></body>'
        path = tmp_path / f"{inertia}.xml"
        path.write_text(f"<mujoco><asset>{mesh}</asset><worldbody>{body}</worldbody></mujoco>")
        assert World.load(path).bodies[0].mass == pytest.approx(volume, rel=1e-12)


POSITION = '<position kp="12" kv="0.5"/>'
GENERAL = '<general gaintype="affine" biastype="affine" gainprm="2 3" biasprm="1 2 -3" dyntype="filter" dynprm="0.3"/>'


# gain, bias and activation of MuJoCo 4.0.1
@pytest.mark.parametrize(
    "outer, inner, actuator, gain, bias, dynamics",
    [
        (POSITION, "", "velocity", (1, 0, 0), (0, 0, -1), "none"),
        (POSITION, "", 'intvelocity actrange="-2 2"', (1, 0, 0), (0, -1, 0), "integrator"),
        (POSITION, '<motor gear="3"/>', "position", (12, 0, 0), (0, -12, -0.5), "none"),
        (POSITION, '<velocity kv="4"/>', "position", (12, 0, 0), (0, -12, -0.5), "none"),
        (POSITION, '<velocity kv="4"/>', "general", (4, 0, 0), (0, 0, -4), "none"),
        (POSITION, '<position kv="2"/>', "position", (12, 0, 0), (0, -12, -2), "none"),
        (POSITION + '<motor gear="3"/>', "", "position", (1, 0, 0), (0, -1, 0), "none"),
        ('<position kp="5" timeconst="0.1"/>', "<motor/>", "position", (5, 0, 0), (0, -5, 0), "filter"),
        (GENERAL, "", "general", (2, 3, 0), (1, 2, -3), "filter"),
        (GENERAL, "", "position", (1, 0, 0), (0, -1, 0), "none"),
        (GENERAL, "", "velocity", (1, 0, 0), (0, 0, -1), "none"),
        ('<damper kv="2" ctrlrange="0 1"/>', "", "damper", (0, 0, -2), (0, 0, 0), "none"),
        ('<motor gear="3"/>', POSITION, "motor", (1, 0, 0), (0, 0, 0), "none"),
    ],
)
def test_special_actuators_have_the_gains_of_their_kind(
    tmp_path: Path, outer: str, inner: str, actuator: str, gain: tuple, bias: tuple, dynamics: str
) -> None:
    text = f"""<mujoco><default>{outer}<default class="inner">{inner}</default></default>
<worldbody><body><joint name="j"/><geom size="0.1" pos="0.1 0 0"/></body></worldbody>
<actuator><{actuator} name="it" class="inner" joint="j"/></actuator></mujoco>"""
    (tmp_path / "model.xml").write_text(text)
    (law,) = World.load(tmp_path / "model.xml").joint_laws
    assert isinstance(law, TendonActuator)
    assert (law.gain, law.bias, law.dynamics) == (gain, bias, dynamics)
