"""Meshes with hollows as convex parts: a channel of which the hull is a block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator, World, WorldError
from convex_contact.model import decomposition

#: cross-section of the channel, its triangles, and its length [m]
SECTION = np.array([[0, 0], [3, 0], [3, 2], [2, 2], [2, 1], [1, 1], [1, 2], [0, 2]]) * 0.1
TRIANGLES = np.array([[0, 1, 4], [0, 4, 5], [1, 2, 3], [1, 3, 4], [0, 5, 6], [0, 6, 7]])
LENGTH, DEPTH, VOLUME = 0.4, 0.1, 0.3 * 0.1 * 0.4 + 2 * 0.1 * 0.1 * 0.4
RADIUS = 0.04


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CONVEX_CONTACT_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OBJ file; the channel lies along y and is open upwards."""
    n = len(SECTION)
    vertices = np.vstack([np.insert(SECTION, 1, y, axis=1) for y in (0.0, LENGTH)])
    sides = [[(i, j, n + j), (i, n + j, n + i)] for i, j in zip(range(n), np.roll(range(n), -1), strict=True)]
    faces = np.vstack([TRIANGLES, TRIANGLES[:, ::-1] + n, np.array(sides).reshape(-1, 3)[:, ::-1]])
    path = tmp_path_factory.mktemp("mesh") / "channel.obj"
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    path.write_text("\n".join(lines) + "\n")
    return path


def world_of(channel: Path, **options: Any) -> World:
    world = World()
    world.add_mesh("channel", channel, fixed=True, **options)
    world.add_sphere("ball", mass=0.1, radius=RADIUS, position=(0.15, 0.2, 0.3))
    return world


@pytest.mark.slow
@pytest.mark.parametrize(("decompose", "height"), [(False, 0.2), (True, DEPTH)])
def test_a_ball_falls_into_a_hollow_that_the_hull_closes(channel: Path, decompose: bool, height: float) -> None:
    simulator = Simulator(world_of(channel, decompose=decompose), period=2e-3)
    simulator.advance(1.0)
    # at rest it sinks by its weight over the stiffness, below 1e-5 m; CoACD's parts end within 1 % of the size
    assert simulator.state("ball").position[2] == pytest.approx(height + RADIUS, abs=3e-3)


def test_the_parts_have_the_volume_of_the_mesh(channel: Path) -> None:
    world = World.load(channel, decompose=True, density=500.0)
    (body,) = world.bodies
    assert len(body.geometries) > 1
    # CoACD moves surfaces by less than the concavity of 0.05 half sides of 0.4 m; for flat sides by far less
    assert body.mass == pytest.approx(500.0 * VOLUME, rel=0.03)
    assert body.center == pytest.approx([0.15, 0.2, 0.09], abs=3e-3)


@pytest.mark.slow
def test_the_scale_acts_before_the_search(channel: Path) -> None:
    small = World.load(channel, decompose=True, scale=(0.1, 0.1, 0.1))
    assert small.bodies[0].mass == pytest.approx(1e-3 * World.load(channel, decompose=True).bodies[0].mass, rel=1e-3)


def test_a_line_announces_a_search_and_names_its_file(
    channel: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = set(cache.rglob("*.npz"))
    scale = (0.5, 0.5, 0.5)  # of no other test
    for _ in range(2):
        World.load(channel, decompose=True, scale=scale)
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "convex decomposition" in line]
    (made,) = set(cache.rglob("*.npz")) - before
    assert line.startswith("convex decomposition of 28 triangles begins") and line.endswith(f"is kept in {made}")


def test_a_search_is_made_once(channel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [g.shape.points for g in world_of(channel, decompose=True).bodies[0].geometries]

    def search(*_: Any) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(decomposition, "_search", search)
    after = [g.shape.points for g in world_of(channel, decompose=True).bodies[0].geometries]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    with pytest.raises(AssertionError, match="searched again"):
        world_of(channel, decompose=True, concavity=0.5)


def test_a_larger_concavity_gives_fewer_parts(channel: Path) -> None:
    rough = world_of(channel, decompose=True, concavity=np.float64(1.0))
    assert len(rough.bodies[0].geometries) < len(world_of(channel, decompose=True).bodies[0].geometries)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decompose": True, "concavity": 0.0}, "channel.obj: concavity: expected a number from 0.01 to 1.0, got 0.0"),
        ({"decompose": True, "concavity": "x"}, "channel.obj: concavity: expected a number from .* to 1.0, got 'x'"),
        ({"density": -1.0}, "channel: density: expected a positive number of kg/m.3, got -1.0"),
    ],
)
def test_wrong_values_are_refused(channel: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        World().add_mesh("channel", channel, **options)


def test_a_search_without_parts_is_an_error_and_leaves_nothing_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONVEX_CONTACT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(decomposition.decomposition_process, "__file__", str(tmp_path / "missing.py"))
    mesh = tmp_path / "t.off"
    mesh.write_text("OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n")
    with pytest.raises(WorldError, match=r"t\.off: decompose: CoACD found no parts"):
        World().add_mesh("t", mesh, decompose=True)
    assert not list((tmp_path / "cache").iterdir())
