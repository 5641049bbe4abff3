"""Damaged URDFs and meshes: each loads to a finite world, or gives one WorldError of one line that names the file."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mesh_contents import PLY, PLY_TEXT, TETRAHEDRON

from convex_contact import UrdfWarning, World, WorldDynamics, WorldError
from convex_contact.model.tree_arrays import MAX_VELOCITIES
from convex_contact.model.urdf_document import MAX_LINKS
from convex_contact.model.xml_document import MAX_DEPTH, MAX_ELEMENTS

WEDGE = Path(__file__).with_name("data").joinpath("wedge.stl").read_bytes()
#: one element per line, so that errors can be compared with their places
ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 0" rpy="0 0 0.5"/>
      <mass value="2.0"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision>
      <origin xyz="0.1 0 0"/>
      <geometry><box size="0.2 0.1 0.1"/></geometry>
    </collision>
  </link>
  <link name="hand">
    <inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="wedge.stl" scale="0.5 1 2"/></geometry></collision>
    <collision><geometry><cylinder radius="0.05" length="0.1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 0.2"/>
    <axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/>
    <dynamics damping="0.1" friction="0.05"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="upper"/>
    <child link="hand"/>
    <axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="10" velocity="5"/>
    <mimic joint="shoulder" multiplier="0.1"/>
  </joint>
</robot>
"""

#: (text, what stands in its place, the error after the file's name); None: it loads
EDITS: list[tuple[str, str, str | None]] = [
    (
        '<robot name="arm">',
        "<robot>",
        "line 2: robot: name: expected a name of 1 to 120 printable characters, got nothing",
    ),
    ('<robot name="arm">', '<robot name="">', "line 2: robot: name: expected a name"),
    ('<robot name="arm">', f'<robot name="{"a" * 500}">', "line 2: robot: name: expected a name"),
    ('<robot name="arm">', '<robot name="a&#10;b">', "line 2: robot: name: expected a name"),
    ("robot", "model", "line 2: expected a URDF, whose root is a robot, got another element"),
    ('<link name="base"/>', "", "line 21: parent: link: expected the name of a link, got that of none"),
    ('<link name="base"/>', "<link/>", "line 3: link: name: expected a name"),
    ('<link name="base"/>', '<link name="upper"/>', "line 4: link: name: expected a name that no other link has"),
    (
        '<link name="base"/>',
        '<link name="base"/><link name="alone"/>',
        "line 3: link: expected one link that no joint moves",
    ),
    ('<link name="base"/>', '<link name="base"/><xacro:arm/>', "line 3: expected a URDF, got macros; xacro makes one"),
    ('value="2.0"', "", "line 7: mass: value: expected a number of 0 or more .* got nothing"),
    ('value="2.0"', 'value="-2.0"', "line 7: mass: value: expected a number of 0 or more .* got -2"),
    ('value="2.0"', 'value="nan"', "line 7: mass: value: expected a number .* got a text of 3 characters"),
    ('value="2.0"', 'value="inf"', "line 7: mass: value: "),
    ('value="2.0"', 'value="1e400"', "line 7: mass: value: "),
    ('value="2.0"', 'value="1e300"', r"line 7: mass: value: expected .* up to 1e\+09, got 1e\+300"),
    ('value="2.0"', 'value="${mass}"', "line 7: mass: value: "),
    ('value="2.0"', 'value="2,0"', "line 7: mass: value: "),
    ('value="2.0"', 'value="0x2"', "line 7: mass: value: "),
    ('value="2.0"', 'value="1_0"', "line 7: mass: value: "),
    ('value="2.0"', 'value="\u0662"', "line 7: mass: value: "),
    ('value="2.0"', 'value="2 3"', "line 7: mass: value: "),
    ('value="2.0"', 'value="1e-300"', None),
    ('value="2.0"', 'value="0"', None),
    ('<mass value="2.0"/>', "", "line 5: inertial: expected a mass, got none"),
    (
        '<mass value="2.0"/>',
        '<mass value="2.0"/><mass value="3"/>',
        "line 7: mass: expected one in its inertial, got a second",
    ),
    ('<mass value="0.5"/>', '<mass value="0"/>', "joint slide moves no mass; its link needs an <inertial>"),
    (
        '<mass value="0.5"/>',
        '<mass value="${m}"/>',
        "line 16: mass: value: expected a value, got an expression of xacro",
    ),
    ('ixx="0.02"', "", "line 8: inertia: ixx: expected a number"),
    ('ixx="0.02"', 'ixx="-0.02"', "line 8: inertia: ixx: expected a number of -1e-12 or more .* got -0.02"),
    ('ixx="0.02"', 'ixx="1e9"', None),
    (
        'ixx="0.02" iyy="0.02" izz="0.02" ixy="0"',
        'ixx="0.02" iyy="0.02" izz="0.02" ixy="1"',
        None,
    ),
    (
        'xyz="0.1 0 0" rpy="0 0 0.5"',
        'xyz="0.1 0"',
        "line 6: origin: xyz: expected 3 numbers .* got a text of 5 characters",
    ),
    ('xyz="0.1 0 0" rpy="0 0 0.5"', 'xyz="0 0 1e12"', "line 6: origin: xyz: expected 3 numbers"),
    ('rpy="0 0 0.5"', 'rpy="0 0 nan"', "line 6: origin: rpy: "),
    ('rpy="0 0 0.5"', 'rpy=""', "line 6: origin: rpy: "),
    ('rpy="0 0 0.5"', 'rpy="0 0 0.5" xyz="0 0 0"', "line 6, column 43: not XML: duplicate attribute"),
    ("<geometry><box", "<geometry/><x><box", "line 12, column"),
    ('<box size="0.2 0.1 0.1"/>', "", "line 12: geometry: expected one of box, capsule, cylinder, mesh, sphere"),
    ('<box size="0.2 0.1 0.1"/>', "<torus/>", "line 12: geometry: expected one of box, "),
    ('<box size="0.2 0.1 0.1"/>', "<box/>", "line 12: box: size: expected 3 numbers"),
    ('<box size="0.2 0.1 0.1"/>', '<box size="0.2 0 0.1"/>', "line 12: .*size"),
    ('<box size="0.2 0.1 0.1"/>', '<box size="-1 1 1"/>', "line 12: .*size"),
    ('<box size="0.2 0.1 0.1"/>', '<box size="1 1 1"/><sphere radius="1"/>', "line 12: geometry: expected one of box"),
    ('<box size="0.2 0.1 0.1"/>', '<sphere radius="-1"/>', "line 12: .*radius"),
    ('<box size="0.2 0.1 0.1"/>', '<capsule radius="1"/>', "line 12: capsule: length: "),
    (
        'filename="wedge.stl"',
        'filename="none.stl"',
        "line 17: mesh: filename: expected a file, .* got none that exists",
    ),
    ('filename="wedge.stl"', 'filename=""', "line 17: mesh: filename: expected the path of a mesh, got none"),
    ('filename="wedge.stl"', "", "line 17: mesh: filename: expected the path of a mesh, got none"),
    ('filename="wedge.stl"', 'filename="package://"', "mesh: .*not a regular file|mesh: .*(directory|ending in)"),
    ('filename="wedge.stl"', 'filename="robot.urdf"', "mesh: .*: expected a file ending in .dae"),
    ('filename="wedge.stl"', 'filename="/dev/zero"', "mesh: /dev/zero: expected "),
    ('filename="wedge.stl"', f'filename="{"x/" * 3000}w.stl"', "line 17: mesh: filename: expected a file"),
    ('filename="wedge.stl"', 'filename="http://example.org/w.stl"', "line 17: mesh: filename: expected a file"),
    ('scale="0.5 1 2"', 'scale="0.5"', "line 17: mesh: scale: expected 3 numbers"),
    ('scale="0.5 1 2"', 'scale="0.5 0 1"', "line 17: mesh: scale: expected 3 numbers other than 0, got a 0"),
    ('scale="0.5 1 2"', 'scale="1e9 1e-9 1"', "line 17: mesh: points: expected"),
    ('radius="0.05" length="0.1"', 'radius="0.05"', "line 18: cylinder: length: expected a number"),
    ('radius="0.05" length="0.1"', 'radius="0" length="0.1"', "line 18: .*radius"),
    ('name="shoulder" type="revolute"', 'type="revolute"', "line 20: joint: name: expected a name"),
    (
        'name="shoulder" type="revolute"',
        'name="shoulder"',
        "line 20: joint: type: expected one of revolute, .* got nothing",
    ),
    ('type="revolute"', 'type="ball"', "line 20: joint: type: expected one of revolute, .* got a text of 4 characters"),
    ('type="revolute"', 'type="fixed"', "line 33: mimic: joint: expected two joints that are revolute"),
    ('type="revolute"', 'type="planar"', "line 33: mimic: joint: expected two joints that are revolute"),
    ('type="revolute"', 'type="continuous"', None),
    ('name="shoulder"', 'name="slide"', "line 28: joint: name: expected a name that no other joint has"),
    ('name="shoulder"', 'name="universe"', "line 20: joint: name: expected a name .* not universe"),
    ('name="shoulder"', 'name="upper"', "line 33: mimic: joint: expected two joints"),
    ('<parent link="base"/>', "", "line 20: joint: expected a parent, got none"),
    ('<parent link="base"/>', "<parent/>", "line 21: parent: link: expected a name"),
    ('<parent link="base"/>', '<parent link="nobody"/>', "line 21: parent: link: expected the name of a link"),
    ('<parent link="base"/>', '<parent link="upper"/>', "line 4: link: expected a tree of links, got a loop"),
    ('<parent link="base"/>', '<parent link="hand"/>', "line 4: link: expected a tree of links, got a loop"),
    (
        '<child link="hand"/>',
        '<child link="upper"/>',
        "line 30: child: link: expected a link that no other joint moves",
    ),
    ('<child link="hand"/>', '<child link="base"/>', "line 15: .*loop|line 3: link: expected a tree|line 4: .*loop"),
    ('<child link="hand"/>', "", "line 28: joint: expected a child, got none"),
    (
        '<axis xyz="0 0 1"/>',
        '<axis xyz="0 0 0"/>',
        "line 24: axis: xyz: expected a vector that is not 0, such as 0 0 1",
    ),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1e-200"/>', "line 24: axis: xyz: expected a vector that is not 0"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 1"/>', "line 24: axis: xyz: expected 3 numbers"),
    ('<axis xyz="0 0 1"/>', "<axis/>", "line 24: axis: xyz: expected 3 numbers"),
    ('<axis xyz="0 0 1"/>', "", None),
    (
        '<limit lower="-2" upper="2" effort="10" velocity="5"/>',
        "",
        "line 20: joint: expected a limit with effort and velocity",
    ),
    ('effort="10" velocity="5"/>\n    <dyn', 'velocity="5"/>\n    <dyn', "line 25: limit: effort: expected a number"),
    (
        'effort="10" velocity="5"/>\n    <dyn',
        'effort="-1" velocity="5"/>\n    <dyn',
        "line 25: limit: effort: .* got -1",
    ),
    ('lower="-2" upper="2"', 'lower="2" upper="-2"', "line 25: limit: expected lower up to upper, got 2 and -2"),
    ('lower="-2" upper="2"', 'lower="nan" upper="2"', "line 25: limit: lower: expected a number"),
    ('lower="-2" upper="2"', 'lower="-1e308" upper="1e308"', None),
    ('damping="0.1"', 'damping="-0.1"', "line 26: dynamics: damping: expected a number of 0 or more .* got -0.1"),
    ('friction="0.05"', 'friction="NaN"', "line 26: dynamics: friction: expected a number of 0 or more"),
    ('damping="0.1" friction="0.05"', "", None),
    ('joint="shoulder" multiplier="0.1"', 'joint="elbow"', "line 33: mimic: joint: expected two joints"),
    ('multiplier="0.1"', 'multiplier="0"', "line 33: mimic: multiplier: expected a number other than 0"),
    ('multiplier="0.1"', 'multiplier="1e400"', "line 33: mimic: multiplier: expected a number"),
    ("</robot>", "", "line 36, column 1: not XML: no element found"),
    ("</robot>", "</robot><robot/>", "line 35, column 9: not XML: junk after document element"),
    ('<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-16"?>', "line 1, column .*: not XML: "),
    ('<?xml version="1.0"?>', '<?xml version="1.0" encoding="none"?>', "not XML: |line 1, column "),
    ('<?xml version="1.0"?>', '<!DOCTYPE robot SYSTEM "file:///etc/passwd">', "line 1: expected no document type"),
    ("<link name=", "\x00<link name=", "line 3, column 3: not XML: not well-formed"),
    ("<link name=", "&x;<link name=", "line 3, column 3: not XML: undefined entity"),
]

BOMB = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
CHAIN = "".join(f'<link name="l{i}"/>' for i in range(MAX_LINKS + 1))

#: whole files: content, the error after the file's name
FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "line 1, column 1: not XML: no element found"),
    "blank": (b" \n \n", "line 3, column 1: not XML: no element found"),
    "garbage": (np.random.default_rng(1).bytes(5000), "line 1, column .*: not XML: "),
    "zeros": (bytes(5000), "line 1, column 1: not XML: "),
    "latin_1": (ARM.replace("upper", "\xfcber").encode("latin-1"), "line 4, column 15: not XML: "),
    "utf_16_cut": (ARM.encode("utf-16")[:1001], "line .*: not XML: "),
    "text": (b"a robot", "line 1, column 1: not XML: "),
    "yaml": (b"bodies: []", "line 1, column 1: not XML: "),
    "robot_alone": (b'<robot name="x"/>', f"line 1: robot: expected 1 to {MAX_LINKS} links, got 0"),
    "joint_alone": (
        b'<robot name="x"><link name="a"/><joint name="j" type="fixed"/></robot>',
        "line 1: joint: expected a parent",
    ),
    "bomb": (
        f'<!DOCTYPE robot [<!ENTITY e0 "x">{BOMB}]><robot name="&e11;"/>'.encode(),
        "line 1: expected no document type",
    ),
    "deep": (b"<robot name='x'>" + b"<a>" * 100_000, f"line 1: expected elements nested {MAX_DEPTH} deep at the most"),
    "many": (
        b"<robot name='x'>" + b"<a/>" * (MAX_ELEMENTS + 1),
        f"line 1: expected {MAX_ELEMENTS} elements at the most",
    ),
    "many_links": (
        f'<robot name="x">{CHAIN}</robot>'.encode(),
        f"line 1: robot: expected 1 to {MAX_LINKS} links, got 1001",
    ),
}


def outcome(path: Path, load: Callable[[Path], World] = World.load) -> str | None:
    """The error of a file, checked for its form; None if it gives a finite world."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UrdfWarning)
            world = load(path)
    except WorldError as error:
        message = str(error)
        assert path.name in message and "\n" not in message and len(message) < 300 + len(str(path)), message
        return message
    d = WorldDynamics(world, period=1e-3)
    d.prepare()
    for values in (d.arrays.q, d.arrays.v, d.arrays.v_star, d.arrays.A, d.arrays.body_pose):
        assert np.isfinite(values).all()
    return None


def robot(folder: Path, content: bytes) -> Path:
    (folder / "wedge.stl").write_bytes(WEDGE)
    path = folder / "robot.urdf"
    path.write_bytes(content)
    return path


def test_the_undamaged_file_loads(tmp_path: Path) -> None:
    assert outcome(robot(tmp_path, ARM.encode())) is None


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EDITS)))
def test_an_edited_urdf_is_refused_at_its_line_or_loads(
    tmp_path: Path, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new, expected = EDITS[number]
    assert old in ARM
    everywhere = old == "robot"
    found = outcome(robot(tmp_path, ARM.replace(old, new, -1 if everywhere else 1).encode()))
    if expected is None:
        assert found is None
    else:
        assert found is not None and re.search(rf"robot\.urdf: ({expected})", found), found
    assert capfd.readouterr() == ("", "")  # no parser prints


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_urdf_is_refused(tmp_path: Path, name: str) -> None:
    content, expected = FILES[name]
    found = outcome(robot(tmp_path, content))
    assert found is not None and re.search(rf"robot\.urdf: {expected}", found), found


def test_a_urdf_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = ARM.encode()
    for end in range(0, len(content.rstrip()), 23):
        found = outcome(robot(tmp_path, content[:end]))
        assert found is not None and ": not XML: " in found, end


def test_a_urdf_with_changed_bytes_is_refused_or_finite(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    content = ARM.replace('<mesh filename="wedge.stl" scale="0.5 1 2"/>', '<sphere radius="0.1"/>').encode()
    loaded = 0
    for _ in range(200):
        damaged = bytearray(content)
        for at in rng.integers(len(content), size=rng.integers(1, 4)):
            damaged[at] = rng.choice(list(b'0123456789-.e"<>/ ax\xff\x00'))
        loaded += outcome(robot(tmp_path, bytes(damaged))) is None
    assert 0 < loaded < 200


def test_a_directory_and_a_fifo_are_refused_at_once(tmp_path: Path) -> None:
    for suffix in (".urdf", ".stl", ".yaml"):
        (tmp_path / f"folder{suffix}").mkdir()
        os.mkfifo(tmp_path / f"fifo{suffix}")
        for name in ("folder", "fifo"):
            found = outcome(tmp_path / f"{name}{suffix}")
            assert found is not None and "expected a regular file" in found


def test_the_longest_tree_loads(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(MAX_LINKS))
    welds = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(MAX_LINKS - 1)
    )
    world = World.load(robot(tmp_path, f'<robot name="chain">{links}{welds}</robot>'.encode()))
    assert world.trees[0].model.model.nv == 0


def test_a_tree_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(MAX_VELOCITIES + 2))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(MAX_VELOCITIES + 1)
    )
    found = outcome(robot(tmp_path, f'<robot name="chain">{links}{joints}</robot>'.encode()))
    assert found is not None and "expected joints with 400 velocities at the most, got 401" in found


# --- meshes ------------------------------------------------------------------------------------------------------

#: content by name; each gives no mesh
MESHES: dict[str, bytes] = {
    "empty.stl": b"",
    "cut.stl": WEDGE[:100],
    "garbage.stl": np.random.default_rng(2).bytes(3000),
    "count.stl": bytes(80) + b"\xff\xff\xff\xff" + bytes(500),
    "cut_binary.stl": bytes(80) + b"\x04\x00\x00\x00" + bytes(120),
    "flat_binary.stl": bytes(80) + b"\x04\x00\x00\x00" + bytes(200),
    "nan.stl": WEDGE.replace(b"vertex 0", b"vertex nan"),
    "text.stl": b"solid nothing\nendsolid nothing\n",
    "empty.obj": b"",
    "points.obj": b"v 0 0 0\nv 1 0 0\n",
    "far.obj": TETRAHEDRON.replace("v 1", "v 1e30").encode(),
    "flat.obj": TETRAHEDRON.replace("v 0 0 1", "v 1 1 0").encode(),
    "nan.obj": TETRAHEDRON.replace("v 1", "v nan").encode(),
    "index.obj": b"v 0 0 0\nf 1 2 3\nf 99999999 -5 0\n",
    "garbage.obj": np.random.default_rng(3).bytes(3000),
    "empty.dae": b"",
    "garbage.dae": np.random.default_rng(4).bytes(3000),
    "root.dae": b"<COLLADA/>",
    "deep.dae": b"<COLLADA>" + b"<node>" * 100_000,
    "cut.ply": PLY,  # Assimp crashes
    "empty.ply": b"ply\n",
    "cut_text.ply": PLY_TEXT[:-16].encode(),  # Assimp repeats the last face that is there
    "count.ply": PLY_TEXT.replace("vertex 4", "vertex 100000000").encode(),  # and counts for a minute
    "empty.off": b"OFF\n",
    "counts.off": b"OFF\n4000000000 4000000000 0\n",
    "garbage.glb": b"glTF" + np.random.default_rng(5).bytes(300),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MESHES)
def test_a_damaged_mesh_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(MESHES[name])
    assert outcome(path) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cut.ply", "flat.obj", "garbage.stl"])
def test_a_damaged_mesh_is_refused_with_its_urdf(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(MESHES[name])
    path = robot(tmp_path, ARM.replace("wedge.stl", name).encode())
    found = outcome(path)
    assert found is not None and re.search(rf"robot\.urdf: (line 17: )?mesh: (.*{name}|points)", found), found


@pytest.mark.slow
def test_an_stl_with_changed_bytes_is_refused_or_finite(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    for i in range(8):
        damaged = bytearray(WEDGE if i % 2 else TETRAHEDRON.encode())
        for at in rng.integers(len(damaged), size=3):
            damaged[at] = rng.integers(256)
        path = tmp_path / f"mesh_{i}.{'stl' if i % 2 else 'obj'}"
        path.write_bytes(bytes(damaged[: rng.integers(len(damaged) // 2, len(damaged))]))
        outcome(path)
