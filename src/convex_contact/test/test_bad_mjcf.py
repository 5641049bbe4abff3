"""Damaged MJCF files: each gives one WorldError of one line that names the file, or loads to a finite world."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from convex_contact import World, WorldDynamics, WorldError
from convex_contact.model.mjcf import MjcfWarning
from convex_contact.model.mjcf.bodies import MAX_BODIES
from convex_contact.model.xml_document import MAX_DEPTH

#: one element per line, so that errors can be compared with their places
ARM = """<mujoco model="arm">
  <compiler angle="radian" meshdir="." boundmass="0"/>
  <option timestep="0.002" gravity="0 0 -9.81"/>
  <default>
    <geom density="500" friction="0.8"/>
    <default class="soft"><joint damping="0.1"/></default>
  </default>
  <asset>
    <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.5 1 2"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1" euler="0 0 0.5">
      <joint name="shoulder" class="soft" type="hinge" axis="0 1 0" range="-2 2"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.02 0.02"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0.2 0 0" size="0.05"/>
      <body name="hand" pos="0.2 0 0">
        <joint name="wrist" type="slide" axis="1 0 0"/>
        <geom name="palm" type="box" size="0.1 0.1 0.02"/>
        <geom name="tool" type="mesh" mesh="wedge"/>
        <site name="grip" pos="0 0 0.1"/>
      </body>
    </body>
    <body name="ball" pos="1 0 1">
      <freejoint name="root"/>
      <geom name="skin" size="0.1"/>
    </body>
  </worldbody>
  <contact>
    <exclude body1="hand" body2="ball"/>
    <pair geom1="floor" geom2="skin" condim="3"/>
  </contact>
  <tendon>
    <fixed name="cable" range="-1 1" stiffness="2"><joint joint="wrist" coef="2"/></fixed>
  </tendon>
  <equality>
    <joint joint1="wrist" joint2="shoulder" polycoef="0 0.1 0 0 0"/>
    <connect body1="ball" body2="hand" anchor="0 0 0"/>
  </equality>
  <actuator>
    <position name="servo" joint="shoulder" kp="10" kv="1" ctrlrange="-1 1"/>
    <general name="pull" tendon="cable" gainprm="2" biastype="affine" biasprm="0 -1 -1"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0.1 0.01 1 0 1 1 0 0 0" ctrl="0.1 0.2"/>
  </keyframe>
</mujoco>
"""

VERTICES = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"'

#: (text, what stands in its place, the error after the file's name); None: it loads
EDITS: list[tuple[str, str, str | None]] = [
    ('<mujoco model="arm">', '<mujoco version="3">', "line 1: mujoco: attribute version is not supported"),
    ("mujoco", "robot", "line 1: expected an MJCF, whose root is mujoco, got another element"),
    ('angle="radian"', 'angle="turns"', "line 2: compiler: angle: expected one of degree, radian, got another word"),
    ('angle="radian"', 'eulerseq="xyw"', "line 2: compiler: eulerseq: expected three of x, y, z"),
    ('angle="radian"', 'eulerseq="xy"', "line 2: compiler: eulerseq: expected three of x, y, z"),
    ('angle="radian"', 'coordinate="global"', "line 2: compiler: coordinate: expected local, got another value"),
    ('boundmass="0"', 'boundmass="-1"', "line 2: compiler: boundmass: expected a number of 0 or more .* got -1"),
    ('boundmass="0"', 'inertiafromgeom="maybe"', "line 2: compiler: inertiafromgeom: expected one of true, false"),
    ('boundmass="0"', 'autolimits="1"', "line 2: compiler: autolimits: expected one of true, false"),
    ('boundmass="0"', 'inertiagrouprange="0"', "line 2: compiler: inertiagrouprange: expected 2 numbers"),
    ('timestep="0.002"', 'timestep="0"', "line 3: option: timestep: expected a number above 0, got 0"),
    ('timestep="0.002"', 'timestep="fast"', "line 3: option: timestep: expected a number"),
    ('timestep="0.002"', 'density="1.2"', "line 3: option: density: expected 0, got another value, which is not"),
    ('gravity="0 0 -9.81"', 'gravity="-9.81"', "line 3: option: gravity: expected 3 numbers"),
    ('gravity="0 0 -9.81"', 'gravity="0 0 nan"', "line 3: option: gravity: expected 3 numbers"),
    ('gravity="0 0 -9.81"/>', '><flag contact="off"/></option>', "line 3: flag: contact: expected one of enable, "),
    ('gravity="0 0 -9.81"/>', '><flag magic="enable"/></option>', "line 3: flag: attribute magic is not supported"),
    ("<default>\n", "<default>\n<hair/>\n", r"line 4: default: element hair \(line 5\) is not supported"),
    ('class="soft"><', "><", "line 6: default: class: expected a name"),
    ('class="soft"><', 'class="main"><', "line 6: default: class: expected a class that is defined once"),
    ('density="500"', 'weight="500"', "line 5: geom: attribute weight is not supported"),
    ('density="500"', 'density="-500"', "line 19: geom: density: expected a number of 0 or more .* got -500"),
    ('friction="0.8"', 'friction="-0.8"', "line 12: geom: friction: expected 3 numbers of 0 or more"),
    ('friction="0.8"', 'friction="1 2 3 4"', "line 12: geom: friction: expected 3 numbers"),
    ('friction="0.8"', 'shellinertia="true"', "line 5: geom: shellinertia: expected false, got another value"),
    (VERTICES, 'file="none.stl"', "line 9: mesh: file: .*none.stl: cannot be read: No such file"),
    (VERTICES, 'file=""', "line 9: mesh: file: expected the path of a mesh, got none"),
    (VERTICES, 'file="arm.xml"', "line 9: mesh: file: .*arm.xml: expected a file ending in .dae"),
    (VERTICES, "", "line 9: mesh: expected a file or vertices, got neither"),
    (VERTICES, f'{VERTICES} face="0 2 1 0"', "line 9: mesh: face: expected 3 numbers for each triangle, got 4"),
    (VERTICES, f'{VERTICES} face="0 2 4"', "line 9: mesh: face: expected whole numbers of vertices, 0 to 3"),
    (VERTICES, f'{VERTICES} face="0 2 0.5"', "line 9: mesh: face: expected whole numbers of vertices, 0 to 3"),
    (VERTICES, 'vertex="0 0 0 1 0 0"', "line 9: mesh: vertex: expected 3 numbers for each of 4 vertices"),
    (VERTICES, 'vertex="0 0 0 1 0 0 0 1 0 1 1 0"', "line 9: mesh: points: expected points that do not lie"),
    ('scale="0.5 1 2"', 'scale="0 1 2"', "line 9: mesh: scale: expected 3 numbers other than 0, got a 0"),
    ('scale="0.5 1 2"', 'refquat="0 0 0 0"', "line 9: mesh: quat: expected a quaternion w x y z that is not 0"),
    ('scale="0.5 1 2"', 'inertia="shell"', "line 9: mesh: inertia: expected one of convex, exact, legacy"),
    ('name="wedge"', 'name="other"', "line 20: geom: mesh: expected the name of a mesh, got that of none"),
    ("<asset>", '<asset><model name="x" file="y"/>', r"line 8: asset: element model \(line 8\) is not supported"),
    ('type="plane" size="1 1 1"', 'type="hfield" hfield="h"', "line 12: geom: type: expected one of plane, sphere"),
    ('type="plane" size="1 1 1"', 'type="sdf"', "line 12: geom: type: expected one of plane, sphere"),
    ('type="plane" size="1 1 1"', "", "line 12: geom: size: expected 1 to 3 numbers, got 0"),
    ('name="floor"', 'name="skin"', "line 26: geom: name: expected a name that no other geom has, got one twice"),
    ('<body name="upper"', '<body name="ball"', "line 24: body: name: expected a name that no other body has"),
    ('<body name="upper"', '<body name="world"', "line 13: body: name: expected a name that no other body has"),
    ('<body name="upper"', '<body name=""', "line 13: body: name: expected a name of 1 to 120"),
    ('<body name="upper"', '<body gravcomp="1"', "line 13: body: gravcomp: expected 0, got another value"),
    ('<body name="upper"', '<body childclass="hard"', "line 13: body: childclass: expected the name of a default"),
    (
        'euler="0 0 0.5"',
        'euler="0 0 0.5" quat="1 0 0 0"',
        "line 13: body: expected one orientation, got euler and quat",
    ),
    ('euler="0 0 0.5"', 'quat="0 0 0 0"', "line 13: body: quat: expected a quaternion w x y z that is not 0"),
    ('euler="0 0 0.5"', 'axisangle="0 0 0 1"', "line 13: body: axisangle: expected a vector that is not 0"),
    ('euler="0 0 0.5"', 'xyaxes="1 0 0 2 0 0"', "line 13: body: xyaxes: expected a vector that is not 0"),
    ('euler="0 0 0.5"', 'zaxis="0 0"', "line 13: body: zaxis: expected 3 numbers"),
    ('pos="0 0 1"', 'pos="0 0 1e12"', "line 13: body: pos: expected 3 numbers with absolute values up to"),
    ('class="soft" type', 'class="hard" type', "line 14: joint: class: expected the name of a default class"),
    ('type="hinge"', 'type="screw"', "line 14: joint: type: expected one of hinge, slide, ball, free"),
    ('type="hinge"', 'type="ball"', "line 14: joint: range: expected no limits, those of a ball joint"),
    (
        'type="hinge"',
        'type="free"',
        "line 41: position: joint: expected the name of a hinge",
    ),
    ('axis="0 1 0"', 'axis="0 0 0"', "line 14: joint: axis: expected a vector that is not 0, such as 0 0 1"),
    ('range="-2 2"', 'range="2 -2"', "line 14: joint: range: expected two numbers that increase, got 2 and -2"),
    ('range="-2 2"', 'limited="true"', "line 14: joint: range: expected two numbers that increase, got 0 and 0"),
    ('range="-2 2"', 'limited="yes"', "line 14: joint: limited: expected one of true, false, auto"),
    ('range="-2 2"', 'damping="-1"', "line 14: joint: damping: expected a number of 0 or more .* got -1"),
    ('range="-2 2"', 'damping="1 2"', "line 14: joint: damping: expected a number"),
    ('range="-2 2"', 'armature="x"', "line 14: joint: armature: expected a number"),
    ('range="-2 2"', 'springdamper="1 1"', "line 14: joint: springdamper: expected 0, got another value"),
    ('range="-2 2"', 'actuatorfrclimited="true"', "line 14: joint: actuatorfrclimited: expected auto or false"),
    ('name="shoulder"', 'name="wrist"', "line 18: joint: name: expected a name that no other joint has"),
    ('name="shoulder"', 'name="universe"', "line .*: expected a name other than universe|line .*: expected the name"),
    ('mass="2"', 'mass="-2"', "line 15: inertial: mass: expected a number of 0 or more .* got -2"),
    ('mass="2"', "", "line 15: inertial: mass: expected a number of 0 or more .* got nothing"),
    ('pos="0.1 0 0" mass', "mass", "line 15: inertial: pos: expected the centre of mass, got nothing"),
    ('diaginertia="0.02 0.02 0.02"', "", "line 15: inertial: expected one of diaginertia and fullinertia, got neither"),
    ('diaginertia="0.02 0.02 0.02"', 'diaginertia="1 1 3"', "line 15: inertial: expected principal moments of which"),
    ('diaginertia="0.02 0.02 0.02"', 'diaginertia="1 1 -1"', "line 15: inertial: diaginertia: expected principal"),
    ('diaginertia="0.02 0.02 0.02"', 'fullinertia="1 1 1"', "line 15: inertial: fullinertia: expected 6 numbers"),
    (
        '<joint name="wrist"',
        '<inertial pos="0 0 0" mass="0"/><joint name="wrist"',
        "line 18: joint: expected a",
    ),
    ('fromto="0 0 0 0.2 0 0"', 'fromto="0 0 0 0 0 0"', "line 16: geom: fromto: expected two points, got the same"),
    ('fromto="0 0 0 0.2 0 0"', 'fromto="0 0 0"', "line 16: geom: fromto: expected 6 numbers"),
    ('fromto="0 0 0 0.2 0 0"', "", "line 16: geom: size: expected 2 numbers for a capsule, got 1"),
    ('size="0.1 0.1 0.02"', 'size="0.1 0 0.02"', "line 19: geom: size: expected numbers above 0, got 0"),
    ('name="palm"', 'contype="0.5"', "line 19: geom: contype: expected a whole number, got 0.5"),
    ('name="palm"', 'condim="2"', "line 19: geom: condim: expected one of 1, 3, 4, 6"),
    ('name="palm"', 'mass="heavy"', "line 19: geom: mass: expected a number"),
    ('type="box" size="0.1 0.1 0.02"', 'type="plane"', "line 19: geom: type: expected a plane in a body that joints"),
    ('<site name="grip" pos="0 0 0.1"/>', '<composite type="rope"/>', r"line 17: body: element composite \(line 21\)"),
    ('<site name="grip" pos="0 0 0.1"/>', '<plugin plugin="x"/>', r"line 17: body: element plugin \(line 21\)"),
    ('<site name="grip" pos="0 0 0.1"/>', "<freejoint/>", "line 21: freejoint: expected a free joint alone in a body"),
    ('<site name="grip" pos="0 0 0.1"/>', '<body mocap="true"/>', "line 21: body: mocap: expected a body of the world"),
    ('<geom name="skin" size="0.1"/>', "<geom name='skin' size='0.1' mass='0'/>", "line 24: body: expected a mass and"),
    ('body1="hand"', 'body1="foot"', "line 30: exclude: body1: expected the name of a body, got that of none"),
    ('body1="hand"', "", "line 30: exclude: body1: expected a name"),
    ('geom1="floor"', 'geom1="sky"', "line 31: pair: geom1: expected the name of a geom, got that of none"),
    ('geom1="floor"', 'geom1="skin"', "line 31: pair: expected two geoms, got the same one twice"),
    ('condim="3"', 'friction="1 2"', "line 31: pair: friction: expected the same friction along both tangents"),
    ('range="-1 1" stiffness', 'range="1 -1" stiffness', "line 34: fixed: range: expected two numbers that increase"),
    ('stiffness="2"', 'springlength="0 1"', "line 34: fixed: springlength: expected one length"),
    ('stiffness="2"', 'frictionloss="1"', "line 34: fixed: frictionloss: expected 0, got another value"),
    ('joint="wrist" coef', 'joint="root" coef', "line 34: joint: joint: expected the name of a hinge or slide"),
    ('coef="2"', "", "line 34: joint: coef: expected a number"),
    ('<joint joint="wrist" coef="2"/>', "", "line 34: fixed: expected a joint or more, got none"),
    ("<tendon>", '<tendon><spatial range="0 1"><site site="grip"/><site site="x"/></spatial>', "line 33: site: site: "),
    ('joint1="wrist"', 'joint1="elbow"', "line 37: joint: joint1: expected the name of a hinge or slide"),
    ('joint1="wrist"', 'joint1="shoulder"', "line 37: joint: expected two joints, got the same one twice"),
    ('polycoef="0 0.1 0 0 0"', 'polycoef="0 1 0 0 0 0"', "line 37: joint: polycoef: expected 1 to 5 numbers, got 6"),
    ('body1="ball" body2', 'body1="cube" body2', "line 38: connect: body1: expected the name of a body"),
    ('body2="hand" anchor', 'body2="ball" anchor', "line 38: connect: expected two bodies that move against each"),
    ('anchor="0 0 0"', "", "line 38: connect: anchor: expected 3 numbers"),
    ("<equality>", '<equality><flex flex="x"/>', r"line 36: equality: element flex \(line 36\) is not supported"),
    ('joint="shoulder" kp', 'joint="elbow" kp', "line 41: position: joint: expected the name of a hinge or slide"),
    ('joint="shoulder" kp', "kp", "line 41: position: expected one of joint, jointinparent, tendon, got 0"),
    ('joint="shoulder" kp', 'site="grip" kp', "line 41: position: attribute site is not supported"),
    ('kp="10"', 'kp="-10"', "line 41: position: kp: expected a number of 0 or more .* got -10"),
    ('kp="10"', 'gainprm="10"', "line 41: position: attribute gainprm is not supported"),
    ('kp="10"', 'dampratio="1"', "line 41: position: attribute dampratio is not supported"),
    ('ctrlrange="-1 1"', 'ctrlrange="1 -1"', "line 41: position: ctrlrange: expected two numbers that increase"),
    ('ctrlrange="-1 1"', 'gear="a"', "line 41: position: gear: expected a number"),
    ('name="servo"', 'name="pull"', "line 42: general: name: expected a name that no other actuator has"),
    ("<actuator>", '<actuator><muscle joint="wrist"/>', r"line 40: actuator: element muscle \(line 40\)"),
    ('gainprm="2"', 'gaintype="user"', "line 42: general: gaintype: expected one of fixed, affine"),
    ('gainprm="2"', 'dyntype="muscle"', "line 42: general: dyntype: expected one of none, integrator, filter"),
    ('gainprm="2"', 'dyntype="filter" dynprm="0"', "line 42: general: dynprm: expected a time constant above 0"),
    ('biasprm="0 -1 -1"', 'biasprm="0 -1 1"', "line 42: general: biasprm: expected a third number of 0 or less"),
    ('tendon="cable"', 'tendon="rope"', "line 42: general: tendon: expected the name of a fixed tendon"),
    ('qpos="0.1 0.01 1', 'qpos="0.1 1', "line 45: key: qpos: expected 9 numbers"),
    ('1 1 0 0 0"', '1 0 0 0 0"', "line 45: key: qpos: expected quaternions that are not 0"),
    ('ctrl="0.1 0.2"', 'ctrl="0.1"', "line 45: key: ctrl: expected 2 numbers"),
    ('ctrl="0.1 0.2"', 'time="1"', "line 45: key: time: expected 0, got another value"),
    ('name="home"', 'name="away"', "keyframe: expected one of away, got 'home'"),
    ("<worldbody>", "<worldbody><joint/>", r"line 11: worldbody: element joint \(line 11\) is not supported"),
    ("<worldbody>", "<worldbody><replicate/>", r"line 11: worldbody: element replicate \(line 11\)"),
    ("<worldbody>", '<include file="none.xml"/><worldbody>', "line 11: include: file: .*none.xml: cannot be read"),
    ("<worldbody>", '<include file="arm.xml"/><worldbody>', "line 11: include: file: expected a file that is included"),
    ("<worldbody>", '<include file="part.xml"/><worldbody>', "part.xml: line 2: option: timestep: expected a number"),
    ("<worldbody>", '<include file="cut.xml"/><worldbody>', "cut.xml: line 1, column .*: not XML: "),
    ("<worldbody>", '<include name="x"/><worldbody>', "line 11: include: attribute name is not supported"),
    ("<worldbody>", "<include/><worldbody>", "line 11: include: file: expected the path of an MJCF file, got none"),
    ("</mujoco>", "", "line 48, column 1: not XML: no element found"),
    ("</worldbody>", "", "line 47, column 3: not XML: mismatched tag"),
    (
        '<mujoco model="arm">',
        '<!DOCTYPE mujoco SYSTEM "file:///etc/passwd"><mujoco>',
        "line 1: expected no document type",
    ),
    ('boundmass="0"', 'boundmass="0" balanceinertia="true"', None),
    ('type="hinge"', "", None),
    ('condim="3"', 'condim="6" friction="1"', None),
    ('timestep="0.002"', 'integrator="RK4"', None),
    ('<site name="grip" pos="0 0 0.1"/>', "<camera/><light/>", None),
]

#: whole files: content, the error after the file's name
FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "line 1, column 1: not XML: no element found"),
    "garbage": (np.random.default_rng(1).bytes(5000), "line 1, column .*: not XML: "),
    "urdf": (b'<robot name="x"/>', "line 1: expected an MJCF, whose root is mujoco, got another element"),
    "no_world": (b"<mujoco/>", "expected a worldbody, got none"),
    "deep": (b"<mujoco>" + b"<a>" * 100_000, f"line 1: expected elements nested {MAX_DEPTH} deep at the most"),
    "many": (
        b"<mujoco><worldbody>" + b"<body/>" * (MAX_BODIES + 1) + b"</worldbody></mujoco>",
        f"line 1: worldbody: expected {MAX_BODIES} bodies at the most, got {MAX_BODIES + 1}",
    ),
    "joints": (
        b'<mujoco><worldbody><body name="a">' + b"<joint/>" * 401 + b'<geom size="1"/></body></worldbody></mujoco>',
        "line 1: body: expected joints with 400 velocities at the most in a tree, got 401",
    ),
    "massless": (
        b'<mujoco><worldbody><body><joint/><geom size="1" mass="0"/></body></worldbody></mujoco>',
        "line 1: joint: expected a joint that moves mass, got one that moves none",
    ),
    "point": (
        b'<mujoco><worldbody><body><joint/><inertial pos="0 0 0" mass="1" diaginertia="0 0 0"/></body>'
        b"</worldbody></mujoco>",
        "line 1: body: expected joints that move mass and inertia, got one that moves too little",
    ),
}


def outcome(path: Path) -> str | None:
    """The error of a file, checked for its form; None if it gives a finite world."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MjcfWarning)
            world = (
                World.load(path, keyframe="home") if "<key " in path.read_text(errors="replace") else World.load(path)
            )
    except WorldError as error:
        message = str(error)
        assert path.name in message and "\n" not in message and len(message) < 300 + 2 * len(str(path)), message
        return message
    d = WorldDynamics(world, period=1e-3)
    d.prepare()
    for values in (d.arrays.q, d.arrays.v, d.arrays.v_star, d.arrays.A, d.arrays.body_pose):
        assert np.isfinite(values).all()
    return None


def model(folder: Path, content: bytes) -> Path:
    (folder / "part.xml").write_text('<mujoco>\n<option timestep="x"/></mujoco>')
    (folder / "cut.xml").write_text("<mujoco>")
    path = folder / "arm.xml"
    path.write_bytes(content)
    return path


def test_undamaged_file_loads(tmp_path: Path) -> None:
    assert outcome(model(tmp_path, ARM.encode())) is None


@pytest.mark.parametrize("number", range(len(EDITS)))
def test_edited_mjcf_is_refused_at_its_line_or_loads(
    tmp_path: Path, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new, expected = EDITS[number]
    assert old in ARM
    found = outcome(model(tmp_path, ARM.replace(old, new, -1 if old == "mujoco" else 1).encode()))
    if expected is None:
        assert found is None
    else:
        assert found is not None and re.search(rf"arm\.xml: ({expected})", found), found
    assert capfd.readouterr() == ("", "")  # no parser prints


@pytest.mark.parametrize("name", FILES)
def test_file_that_is_no_mjcf_is_refused(tmp_path: Path, name: str) -> None:
    content, expected = FILES[name]
    found = outcome(model(tmp_path, content))
    assert found is not None and re.search(rf"arm\.xml: {expected}", found), found


@pytest.mark.parametrize("path", ["none.xml", "folder.xml", "/dev/null", "/dev/zero"])
def test_path_that_is_no_file_is_refused(tmp_path: Path, path: str) -> None:
    from convex_contact.model.mjcf import load_mjcf

    (tmp_path / "folder.xml").mkdir()
    with pytest.raises(WorldError, match=re.escape(os.path.basename(path))):
        load_mjcf(tmp_path / path)
