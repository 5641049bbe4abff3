"""Sources of worlds: files by name and path, entries that replace values, functions, refused ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from convex_contact import WorldError
from convex_contact.model.world_source import open_world


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"toss": 285}, "toss: expected a number from 0 to 284, got 285"),
        ({"colour": 1}, "colour: no number of the cube; expected one of gravity, half_width, "),
        ({"radius": 0.1}, "radius: expected more than 0 and less than half_width"),
    ],
)
def test_a_toss_that_is_none_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        open_world("convex_contact.toss_scene:toss_beside_simulation", values)


TEXT = """
materials:
  wood: {stiffness: 1.0e+5}
bodies:
- {name: floor, shape: {type: half_space}, material: wood, fixed: true}
- {name: ball, shape: {type: sphere, radius: 0.1}, mass: 1.0, material: wood, position: [0, 0, 1]}
pairs:
- {a: ball, b: floor, friction: 0.3}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hall.yaml").write_text(TEXT)
    return tmp_path


def test_a_world_is_found_by_name_and_by_path(folder: Path) -> None:
    for source in ("hall", str(folder / "hall.yaml")):
        assert [body.name for body in open_world(source, folder=folder).bodies] == ["floor", "ball"]


def test_a_path_may_begin_with_the_home_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    (folder / "my hall.yml").write_text(TEXT)
    (folder / "cube.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "f 1 2 3\nf 4 5 6\nf 6 7 8\n"
    )
    assert [body.name for body in open_world("~/my hall.yml", folder=folder).bodies] == ["floor", "ball"]
    assert "cube" in [body.name for body in open_world("~/cube.obj", folder=folder).bodies]


def test_a_file_of_another_kind_or_a_directory_is_refused_with_the_suffixes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "notes.txt").write_text(TEXT)
    (folder / "models").mkdir()
    for source in ("notes.txt", "./notes.txt", "models", str(folder / "models")):
        with pytest.raises(WorldError, match=rf"^{Path(source).name}: expected a file ending in \.dae, .*\.yml$"):
            open_world(source, folder=folder)


def test_entries_replace_values_of_the_file(folder: Path) -> None:
    values = {
        "bodies.ball.mass": 2.5,
        "bodies.1.shape.radius": "2e-1",
        "bodies.ball.velocity": [1, 2, 3],
        "materials.wood.stiffness": "1e7",
        "pairs.0.friction": 0.7,
        "gravity": [0, 0, -1.6],
    }
    world = open_world("hall", values, folder)
    ball = world.bodies[1]
    assert ball.mass == 2.5 and ball.geometries[0].shape.radius == 0.2
    assert ball.geometries[0].material.stiffness == 1e7 and world.gravity.tolist() == [0.0, 0.0, -1.6]
    assert ball.velocity.tolist() == [1.0, 2.0, 3.0] and world.pair_laws[0, 1].friction == 0.7


def test_a_function_makes_the_world_from_its_arguments() -> None:
    world = open_world("convex_contact.scenes:falling_sphere", {"height": "7.5e-2"})
    assert world.bodies[1].placement.position.tolist() == [0.0, 0.0, 0.075]


@pytest.mark.parametrize(
    ("source", "values", "message"),
    [
        ("tower", {}, "^tower: no such world; expected a path, module:function, or one of hall$"),
        ("/no/where.yaml", {}, r"^/no/where\.yaml: cannot be read: No such file or directory$"),
        ("/no/where.urdf", {}, r"^/no/where\.urdf: cannot be read: No such file or directory$"),
        (
            "hall",
            {"bodies.cube.mass": 1},
            r"^entry bodies\.cube\.mass: hall\.yaml\.bodies has no 'cube', it is a list of 2$",
        ),
        (
            "hall",
            {"stones.wood": 1},
            r"^entry stones\.wood: hall\.yaml has no 'stones', it is a mapping of 3$",
        ),
        ("hall", {"bodies.7": 1}, r"^entry bodies\.7: hall\.yaml\.bodies has no '7', it is a list of 2$"),
        (
            "hall",
            {"bodies.ball.mass": -1},
            r"^entry bodies\.ball\.mass: hall\.yaml: bodies\.1: \*: mass: expected a positive number",
        ),
        (
            "hall",
            {"gravity": [0, 0, -1], "bodies.ball.colour": 1},
            r"^entry bodies\.ball\.colour: hall\.yaml: line 6: bodies\.1: unknown field",
        ),
        (
            "no_module:tower",
            {},
            "^no_module:tower: expected a function of the entry points of group haptic_worlds: ",
        ),
        ("convex_contact.scenes:stack", {}, "^convex_contact.scenes:stack: expected a function of the entry points"),
        (
            "convex_contact.scenes:falling_sphere",
            {"width": 1},
            "^convex_contact.scenes:falling_sphere: got an unexpected",
        ),
        ("convex_contact.scenes:falling_sphere", {"height": "high"}, "^convex_contact.scenes:falling_sphere: "),
        (
            "os:system",
            {"command": "exit 1"},
            "^os:system: expected a function of the entry points of group haptic_worlds",
        ),
    ],
)
def test_a_world_that_is_none_is_refused_in_one_line(
    source: str, values: dict[str, Any], message: str, folder: Path
) -> None:
    with pytest.raises(WorldError, match=message) as caught:
        open_world(source, values, folder)
    assert "\n" not in str(caught.value)
