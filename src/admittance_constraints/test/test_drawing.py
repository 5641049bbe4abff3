"""Drawings of mechanisms satisfy their geometry, which is worked out here from the angles by SciPy."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    DiskOnSphere,
    DiskOnSphereAsPrinted,
    FourBar,
    KnifeEdge,
    Mechanism,
    Pendulum,
    PointOnParaboloid,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    TwoLinkOnCircle,
    mechanisms,
)
from admittance_constraints.model.drawing import FIXED, MOVING, TRACK, Canvas, Color, circle
from haptic_core.markers import MarkerCanvas


class Sheet:
    """A canvas that keeps the shapes: (kind, arguments) by name."""

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[Any, ...]] = {}
        self.trails: dict[str, list[np.ndarray]] = {}

    def _keep(self, name: str, *shape: Any, color: Color) -> None:
        assert len(color) == 4 and all(isinstance(part, float) and 0.0 <= part <= 1.0 for part in color)
        self.shapes[name] = shape

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: Color
    ) -> None:
        assert position.shape == (3,) and orientation.shape == (4,) and radius > 0.0 and length > 0.0
        self._keep(name, "cylinder", position, orientation, radius, length, color=color)

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        assert position.shape == (3,) and radius > 0.0
        self._keep(name, "sphere", position, radius, color=color)

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        rows = np.array(points)
        assert rows.ndim == 2 and rows.shape[1] == 3 and len(rows) >= 2 and width > 0.0
        self._keep(name, "line", rows, color=color)

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        assert start.shape == end.shape == (3,) and width > 0.0
        self._keep(name, "arrow", start, end, color=color)

    def trail(self, name: str, point: np.ndarray, width: float, color: Color) -> None:
        assert point.shape == (3,) and width > 0.0
        self._keep(name, "trail", point, color=color)
        self.trails.setdefault(name, []).append(point)


def drawn(m: Mechanism, q: Any) -> dict[str, tuple[Any, ...]]:
    sheet = Sheet()
    m.draw(sheet, np.asarray(q, dtype=float))
    return sheet.shapes


ROWS = np.random.default_rng(0).uniform(-3.0, 3.0, (6, 6))


@pytest.mark.parametrize("row", ROWS[:3])
def test_the_rolling_disk(row: np.ndarray) -> None:
    m = RollingDisk(radius=0.04)
    q = m.configuration(row[:4])
    shapes = drawn(m, q)
    _, center, orientation, radius, length = shapes["disk"]
    np.testing.assert_array_equal(center, q[:3])
    assert (radius, center[2]) == (0.04, 0.04) and length < radius
    turn = Rotation.from_euler("ZXZ", [q[3], np.pi / 2, q[4]])
    assert (Rotation.from_quat(orientation).inv() * turn).magnitude() < 1e-14
    axis = turn.apply([0, 0, 1])
    heading = np.array([np.cos(q[3]), np.sin(q[3]), 0.0])
    np.testing.assert_allclose([axis[2], axis @ heading], 0.0, atol=1e-15)
    _, spoke = shapes["spoke"]
    np.testing.assert_array_equal(spoke[0], center)
    # in the disk's plane, within it, rotating with it
    np.testing.assert_allclose(spoke[1] - center, 0.9 * 0.04 * turn.apply([1, 0, 0]), atol=1e-16)
    np.testing.assert_array_equal(shapes["tyre track"][1], [q[0], q[1], 0.0])


@pytest.mark.parametrize("m", [DiskOnSphere(center=(0.1, 0.0, -0.05)), DiskOnSphereAsPrinted(center=(0.1, 0.0, -0.05))])
@pytest.mark.parametrize("row", ROWS[:3])
def test_the_disk_on_the_sphere(m: DiskOnSphere, row: np.ndarray) -> None:
    q = m.configuration(row[:3])
    shapes = drawn(m, q)
    assert shapes["sphere"][2] == 0.05
    np.testing.assert_array_equal(shapes["sphere"][1], [0.1, 0.0, -0.05])
    _, place, orientation, radius, _ = shapes["disk"]
    out = place - shapes["sphere"][1]
    assert np.linalg.norm(out) == pytest.approx(0.05, rel=1e-14) and radius < 0.05
    turn = Rotation.from_quat(orientation)
    assert (turn.inv() * Rotation.from_euler("ZXZ", row[[0, 2, 1]])).magnitude() < 1e-14
    if type(m) is DiskOnSphere:  # tangent
        np.testing.assert_allclose(turn.apply([0, 0, 0.05]), out, atol=1e-16)
    _, start, end = shapes["heading"]
    np.testing.assert_array_equal(start, place)
    np.testing.assert_allclose(np.cross(end - start, turn.apply([1, 0, 0])), 0.0, atol=1e-16)
    assert np.linalg.norm(end - start) > radius  # it is seen beyond the rim
    np.testing.assert_array_equal(shapes["path"][1], place)


@pytest.mark.parametrize("elbow", [1, -1])
def test_the_two_links(elbow: int) -> None:
    m = TwoLinkOnCircle(link_length=0.16, base=(-0.2, 0.03), circle_radius=0.06, elbow=elbow)
    for angle in (0.3, -2.0):
        q = m.configuration([angle])
        shapes = drawn(m, q)
        _, links = shapes["links"]
        np.testing.assert_allclose(np.linalg.norm(np.diff(links, axis=0), axis=1), 0.16, rtol=1e-14)
        np.testing.assert_array_equal(links[0], [-0.2, 0.03, 0.0])
        np.testing.assert_allclose(links[2], [0.06 * np.cos(angle), 0.06 * np.sin(angle), 0.0], atol=1e-15)
        bend = np.cross(links[1] - links[0], links[2] - links[1])
        np.testing.assert_allclose(bend, [0, 0, 0.16**2 * np.sin(q[1])], atol=1e-16)
        assert np.sign(bend[2]) == elbow
        _, rim = shapes["circle"]
        np.testing.assert_allclose(np.linalg.norm(rim, axis=1), 0.06, rtol=1e-14)
        for name, place in zip(("base", "elbow", "end point"), links, strict=True):
            np.testing.assert_array_equal(shapes[name][1], place)


def test_the_pendulum() -> None:
    for angle in (0.3, -2.0):
        shapes = drawn(Pendulum(length=0.25), [angle])
        mass = 0.25 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
        np.testing.assert_allclose(shapes["rod"][1], [np.zeros(3), mass], atol=1e-16)
        np.testing.assert_allclose(shapes["mass"][1], mass, atol=1e-16)


def test_the_four_bars() -> None:
    m = FourBar(lengths=(0.05, 0.12, 0.10), ground=0.13)
    for near in ([1.0, -0.6], [3.0, -0.5], [-1.5, 0.8]):
        q = m.project_position(near)
        shapes = drawn(m, q)
        _, bars = shapes["bars"]
        np.testing.assert_allclose(np.linalg.norm(np.diff(bars, axis=0), axis=1), [0.05, 0.12, 0.10], rtol=1e-13)
        np.testing.assert_array_equal(bars[[0, 3]], [[0, 0, 0], [0.13, 0, 0]])
        np.testing.assert_array_equal(shapes["ground"][1], bars[[0, 3]])
        np.testing.assert_array_equal(shapes["path"][1], bars[2])
        crank = np.arctan2(bars[1, 1], bars[1, 0])
        assert np.cos(crank - q[0]) == pytest.approx(1.0, abs=1e-15)


def test_the_knife_edge() -> None:
    shapes = drawn(KnifeEdge(), [0.02, -0.01, 2.5])
    _, start, end = shapes["blade"]
    np.testing.assert_allclose((start + end) / 2, [0.02, -0.01, 0.0], atol=1e-17)
    along = (end - start) / np.linalg.norm(end - start)
    np.testing.assert_allclose(along, [np.cos(2.5), np.sin(2.5), 0.0], atol=1e-15)
    np.testing.assert_array_equal(shapes["track"][1], [0.02, -0.01, 0.0])


def test_the_paraboloid() -> None:
    m = PointOnParaboloid(curvature=(3.0, -5.0))
    q = m.configuration([0.02, -0.03])
    shapes = drawn(m, q)
    np.testing.assert_array_equal(shapes["tool"][1], q)
    np.testing.assert_array_equal(shapes["trail"][1], q)
    lines = [shapes[name][1] for name in shapes if name.startswith("surface")]
    assert len(lines) == 18 and {tuple(np.ptp(line[:, :2], axis=0)) for line in lines} == {(0.24, 0.0), (0.0, 0.24)}
    for points in lines:
        assert max(abs(m.holonomic_residual(point)[0]) for point in points) < 1e-16


def test_default_drawing_is_a_ball_with_a_trail() -> None:
    shapes = drawn(PointOnSurface(), [0.1, 0.02, 0.01])
    assert sorted(shapes) == ["tool", "trail"]
    for name in shapes:
        np.testing.assert_array_equal(shapes[name][1], [0.1, 0.02, 0.01])


@pytest.mark.parametrize("corners", [3, 64])
def test_a_circle_closes(corners: int) -> None:
    points = circle(np.array([1.0, 2.0, 3.0]), 0.5, corners)
    assert points.shape == (corners + 1, 3) and (points[:, 2] == 3.0).all()
    np.testing.assert_allclose(points[0], points[-1], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(points - [1, 2, 3], axis=1), 0.5, rtol=1e-15)
    sides = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(sides, 2 * 0.5 * np.sin(np.pi / corners), rtol=1e-13)


def test_track_lies_on_the_plane_and_has_the_length_that_the_disk_has_rolled() -> None:
    g, sheet = ReferenceGenerator(RollingDisk(), z=[0, 0, 0.3, 0], integrator="rk4", compiled=False), Sheet()
    angles = []
    for _ in range(300):
        r = g.step(wrench=[-1.0, -0.3, 0, 0, 0, 0.01])
        g.mechanism.draw(sheet, r.q)
        angles.append(r.q[4])
    track = np.array(sheet.trails["tyre track"])
    np.testing.assert_allclose(track[:, 2], 0.0, atol=1e-16)
    way = np.linalg.norm(np.diff(track, axis=0), axis=1).sum()
    # chords of 0.1 mm are shorter than their arcs by 1e-7 of them or less, as the track turns by some 0.1 rad/mm
    assert way == pytest.approx(0.03 * np.abs(np.diff(angles)).sum(), rel=1e-5)
    assert way > 0.01


def test_about_a_pole_the_drawing_follows_the_quaternion() -> None:
    """q are angles that a step in quaternions reports beside; the drawing must show the same orientation."""
    m = DiskOnSphere()
    g = ReferenceGenerator(m, z=[0.4, 0.2, 0.02], z_velocity=[0, 1, -2], orientation="quaternion", compiled=False)
    places = []
    for _ in range(30):
        r = g.step(wrench=np.zeros(6))
        _, place, orientation, *_ = drawn(m, r.q)["disk"]
        np.testing.assert_allclose(place, r.x[:3], atol=1e-15)
        # an angle next to the pole is an arccosine of 1 - 1e-16 at worst
        assert (Rotation.from_quat(orientation).inv() * Rotation.from_quat(r.orientation)).magnitude() < 1e-7
        places.append(place)
    assert places[0][:2] @ places[-1][:2] < 0.0  # it has passed the pole


@pytest.mark.covering(3)
@pytest.mark.parametrize("name", mechanisms.__all__)
def test_shapes_keep_their_names_and_the_same_configuration_gives_the_same_drawing(name: str) -> None:
    """A name stands for one shape: the next drawing replaces the last one, and nothing is left behind."""
    m: Mechanism = getattr(mechanisms, name)()
    g = ReferenceGenerator(m, z=[0.4, 0.2, 1.2] if "Sphere" in name else None, compiled=False)
    first = drawn(m, g.step(wrench=np.zeros(6)).q)
    r = [g.step(wrench=[0.5, 0.4, 0.3, 0.01, 0.01, 0.01]) for _ in range(50)][-1]
    second = drawn(m, r.q)
    assert {key: shape[0] for key, shape in first.items()} == {key: shape[0] for key, shape in second.items()}
    assert any(not np.array_equal(a, b) for key in first for a, b in zip(first[key][1:], second[key][1:], strict=True))


@pytest.mark.parametrize("method", ["cylinder", "sphere", "line", "arrow", "trail"])
def test_markers_and_the_tests_sheet_are_canvases(method: str) -> None:
    def arguments(kind: type) -> list[tuple[str, Any]]:
        return [(p.name, p.kind) for p in inspect.signature(getattr(kind, method)).parameters.values()]

    assert arguments(MarkerCanvas) == arguments(Canvas) == arguments(Sheet)
    assert method in vars(Canvas) and len([name for name in vars(Canvas) if not name.startswith("_")]) == 5


def test_colours_differ() -> None:
    assert len({MOVING, FIXED, TRACK}) == 3
