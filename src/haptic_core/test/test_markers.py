"""Shapes as markers: frames against SciPy, names, colours, trails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose
from rclpy.serialization import deserialize_message, serialize_message
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core import markers
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import pose_array

BLUE, GREY = (0.1, 0.2, 0.9, 1.0), (0.5, 0.5, 0.5, 0.25)
POSITION, TURN = np.array([0.3, -0.2, 0.5]), Rotation.from_rotvec([0.3, -1.1, 0.7])
PLACE, ORIENTATION = np.array([0.01, 0.02, -0.03]), Rotation.from_rotvec([-0.9, 0.2, 2.0])
START, END = np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.2, 0.05])
CORNERS, TRIANGLES = np.array([START, END, START + 0.1, PLACE]), np.array([[0, 1, 2], [2, 1, 3]])

DRAW: dict[str, Callable[[MarkerCanvas, str], None]] = {
    "cylinder": lambda canvas, name: canvas.cylinder(name, PLACE, ORIENTATION.as_quat(), 0.03, 0.01, BLUE),
    "box": lambda canvas, name: canvas.box(name, PLACE, ORIENTATION.as_quat(), (0.1, 0.2, 0.3), BLUE),
    "sphere": lambda canvas, name: canvas.sphere(name, PLACE, 0.05, GREY),
    "line": lambda canvas, name: canvas.line(name, [START, END, PLACE], 0.002, GREY),
    "arrow": lambda canvas, name: canvas.arrow(name, START, END, 0.004, BLUE),
    "trail": lambda canvas, name: canvas.trail(name, PLACE, 0.001, BLUE),
    "mesh": lambda canvas, name: canvas.mesh(name, PLACE, ORIENTATION.as_quat(), CORNERS, TRIANGLES, GREY),
}


@pytest.fixture
def canvas() -> MarkerCanvas:
    return MarkerCanvas("base", "constraints", POSITION, TURN.as_quat())


def message_of(canvas: MarkerCanvas) -> MarkerArray:
    """The message as it arrives: serialisation refuses what is no message."""
    return deserialize_message(serialize_message(canvas.message(Time(sec=3, nanosec=5))), MarkerArray)


def only(canvas: MarkerCanvas) -> Marker:
    (marker,) = message_of(canvas).markers
    return marker


def placed(pose: Pose, points: Any) -> np.ndarray:
    """Points (n, 3) of a marker's own frame in the frame of its header."""
    numbers = pose_array(pose)
    return Rotation.from_quat(numbers[3:]).apply(points) + numbers[:3]


def points_of(marker: Marker) -> np.ndarray:
    return np.array([[p.x, p.y, p.z] for p in marker.points])


@pytest.mark.parametrize(
    ("shape", "kind", "scale", "color"),
    [
        ("cylinder", Marker.CYLINDER, (0.06, 0.06, 0.01), BLUE),
        ("box", Marker.CUBE, (0.1, 0.2, 0.3), BLUE),
        ("sphere", Marker.SPHERE, (0.1, 0.1, 0.1), GREY),
        ("line", Marker.LINE_STRIP, (0.002, 0.0, 0.0), GREY),
        ("arrow", Marker.ARROW, (0.004, 0.008, 0.0), BLUE),
        ("trail", Marker.LINE_STRIP, (0.001, 0.0, 0.0), BLUE),
        ("mesh", Marker.TRIANGLE_LIST, (1.0, 1.0, 1.0), GREY),
    ],
)
def test_kind_size_and_colour(
    canvas: MarkerCanvas, shape: str, kind: int, scale: tuple[float, ...], color: tuple[float, ...]
) -> None:
    DRAW[shape](canvas, "it")
    marker = only(canvas)
    assert marker.type == kind and marker.action == Marker.ADD
    assert (marker.header.frame_id, marker.header.stamp) == ("base", Time(sec=3, nanosec=5))
    np.testing.assert_allclose([marker.scale.x, marker.scale.y, marker.scale.z], scale, rtol=1e-15)
    c = marker.color
    np.testing.assert_allclose([c.r, c.g, c.b, c.a], color, rtol=1e-7)  # float32
    assert marker.lifetime.sec == marker.lifetime.nanosec == 0 and not marker.frame_locked


@pytest.mark.parametrize("shape", ["cylinder", "box"])
def test_a_solid_stands_where_two_frames_one_after_another_put_it(canvas: MarkerCanvas, shape: str) -> None:
    DRAW[shape](canvas, "it")
    corners = np.eye(3)
    expected = POSITION + TURN.apply(PLACE + ORIENTATION.apply(corners))
    np.testing.assert_allclose(placed(only(canvas).pose, corners), expected, atol=1e-15)


def test_a_sphere_stands_where_the_frame_puts_it(canvas: MarkerCanvas) -> None:
    DRAW["sphere"](canvas, "it")
    pose = only(canvas).pose
    np.testing.assert_allclose(placed(pose, np.zeros((1, 3)))[0], POSITION + TURN.apply(PLACE), atol=1e-15)
    assert np.linalg.norm(pose_array(pose)[3:]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("shape", "points"), [("line", [START, END, PLACE]), ("arrow", [START, END]), ("trail", [PLACE])]
)
def test_points_are_where_the_frame_puts_them(canvas: MarkerCanvas, shape: str, points: list[np.ndarray]) -> None:
    DRAW[shape](canvas, "it")
    marker = only(canvas)
    np.testing.assert_allclose(placed(marker.pose, points_of(marker)), POSITION + TURN.apply(points), atol=1e-15)


def test_loads_are_points_and_lines_and_both_are_hidden_where_nothing_touches(canvas: MarkerCanvas) -> None:
    points, arrows = np.array([START, END, PLACE]), np.array([[0.0, 0.0, 0.1], [0.0, 0.2, 0.0], [0.3, 0.0, 0.0]])
    canvas.loads(points, arrows, 0.002, (GREY, BLUE))
    at, forces = message_of(canvas).markers
    assert (at.type, at.scale.x, at.color.a) == (Marker.SPHERE_LIST, 0.006, GREY[3])
    assert (forces.type, forces.scale.x, forces.color.b) == (Marker.LINE_LIST, 0.002, pytest.approx(BLUE[2]))
    np.testing.assert_allclose(placed(at.pose, points_of(at)), POSITION + TURN.apply(points), atol=1e-15)
    ends = np.stack([points, points + arrows], axis=1).reshape(-1, 3)
    np.testing.assert_allclose(placed(forces.pose, points_of(forces)), POSITION + TURN.apply(ends), atol=1e-15)
    canvas.loads(points[:0], arrows[:0], 0.002, (GREY, BLUE))
    assert all(marker.points and marker.color.a == 0.0 for marker in message_of(canvas).markers)


def test_triangles_are_where_two_frames_one_after_another_put_them(canvas: MarkerCanvas) -> None:
    DRAW["mesh"](canvas, "it")
    marker = only(canvas)
    corners = CORNERS[[0, 1, 2, 2, 1, 3]]
    expected = POSITION + TURN.apply(PLACE + ORIENTATION.apply(corners))
    np.testing.assert_allclose(placed(marker.pose, points_of(marker)), expected, atol=1e-15)


def test_a_frame_whose_quaternion_was_rounded_is_a_rotation() -> None:
    """A unit quaternion typed with three digits; viewers refuse to draw with one that is not of length 1."""
    canvas = MarkerCanvas("base", "it", orientation=[0.707, 0.0, 0.0, 0.707])
    for shape, draw in DRAW.items():
        draw(canvas, shape)
    for marker in message_of(canvas).markers:
        assert np.linalg.norm(pose_array(marker.pose)[3:]) == pytest.approx(1.0, abs=1e-15)
    (sphere,) = [marker for marker in message_of(canvas).markers if marker.type == Marker.SPHERE]
    np.testing.assert_allclose(pose_array(sphere.pose)[:3], [0.01, 0.03, 0.02], atol=1e-16)


def test_without_a_frame_the_drawing_is_in_the_base() -> None:
    canvas = MarkerCanvas("base", "it")
    DRAW["cylinder"](canvas, "it")
    expected = np.concatenate([PLACE, ORIENTATION.as_quat()])
    np.testing.assert_allclose(pose_array(only(canvas).pose), expected, atol=1e-16)


def test_every_name_is_one_marker() -> None:
    """A viewer keeps markers by namespace and id; the namespaces of two nodes differ, too."""
    canvases = [MarkerCanvas("base", node) for node in ("constraints", "wall")]
    keys = []
    for canvas in canvases:
        for _ in range(2):
            for shape, draw in DRAW.items():
                draw(canvas, shape)
                draw(canvas, f"other {shape}")
        keys += [(marker.ns, marker.id) for marker in message_of(canvas).markers]
    assert len(keys) == len(set(keys)) == 2 * 2 * len(DRAW)
    assert {ns.split("/")[0] for ns, _ in keys} == {"constraints", "wall"}


def test_redrawn_marker_is_replaced_and_others_stay(canvas: MarkerCanvas) -> None:
    canvas.sphere("ball", PLACE, 0.05, GREY)
    canvas.sphere("other", PLACE, 0.05, GREY)
    canvas.sphere("ball", PLACE + 0.01, 0.02, BLUE)
    ball, other = message_of(canvas).markers
    assert (ball.scale.x, ball.color.a) == (0.04, 1.0) and other.scale.x == 0.1
    np.testing.assert_allclose(pose_array(ball.pose)[:3], POSITION + TURN.apply(PLACE + 0.01), atol=1e-15)


@pytest.mark.parametrize("first", list(DRAW))
@pytest.mark.parametrize("then", list(DRAW))
def test_a_shape_replaces_any_other_of_its_name(canvas: MarkerCanvas, first: str, then: str) -> None:
    fresh = MarkerCanvas("base", "constraints", POSITION, TURN.as_quat())
    DRAW[then](fresh, "it")
    DRAW[first](canvas, "it")
    DRAW[then](canvas, "it")
    assert only(canvas) == only(fresh)


def test_all_markers_of_a_message_have_its_stamp(canvas: MarkerCanvas) -> None:
    DRAW["line"](canvas, "line")
    message_of(canvas)
    DRAW["sphere"](canvas, "ball")
    stamps = {(m.header.stamp.sec, m.header.stamp.nanosec) for m in canvas.message(Time(sec=7)).markers}
    assert stamps == {(7, 0)}


def test_nothing_drawn_is_an_empty_message(canvas: MarkerCanvas) -> None:
    assert message_of(canvas).markers == []


def test_a_trail_keeps_the_way(canvas: MarkerCanvas) -> None:
    way = np.column_stack([np.linspace(0.0, 0.1, 51), np.zeros(51), np.zeros(51)])
    for point in way:
        canvas.trail("way", point, 0.001, BLUE)
    np.testing.assert_array_equal(points_of(only(canvas)), way)


def test_a_trail_takes_no_point_next_to_its_last(canvas: MarkerCanvas) -> None:
    """A tool that rests, or creeps, makes no points; they are compared with the last that was kept."""
    for k in range(1001):
        canvas.trail("way", np.array([0.0, 1e-6 * k, 0.0]), 0.001, BLUE)
    points = points_of(only(canvas))
    assert len(points) == 2
    np.testing.assert_allclose(points[:, 1], [0.0, 0.0005], atol=1.1e-6)
    for axis in range(3):
        canvas.trail("other", 0.001 * np.eye(3)[axis], 0.001, BLUE)
    assert [len(marker.points) for marker in message_of(canvas).markers] == [2, 3]


def test_a_trail_forgets_its_oldest_points(canvas: MarkerCanvas, monkeypatch: pytest.MonkeyPatch) -> None:
    assert markers._TRAIL_POINTS <= 10_000
    monkeypatch.setattr(markers, "_TRAIL_POINTS", 20)
    for k in range(75):
        canvas.trail("way", np.array([0.01 * k, 0.0, 0.0]), 0.001, BLUE)
    np.testing.assert_allclose(points_of(only(canvas))[:, 0], 0.01 * np.arange(55, 75))


def test_trails_of_two_names_are_apart(canvas: MarkerCanvas) -> None:
    for k in range(5):
        canvas.trail("one", np.array([0.01 * k, 0.0, 0.0]), 0.001, BLUE)
        canvas.trail("other", np.array([0.0, 0.01 * k, 0.0]), 0.001, GREY)
    one, other = message_of(canvas).markers
    np.testing.assert_allclose(points_of(one), [[0.01 * k, 0, 0] for k in range(5)])
    np.testing.assert_allclose(points_of(other), [[0, 0.01 * k, 0] for k in range(5)])


def test_markers_do_not_share_memory_with_the_arguments(canvas: MarkerCanvas) -> None:
    """Arguments are copied: the caller may refill its arrays."""
    place = PLACE.copy()
    canvas.trail("way", place, 0.001, BLUE)
    canvas.sphere("ball", place, 0.01, BLUE)
    before = message_of(canvas)
    place += 1.0
    assert message_of(canvas) == before


def test_an_orientation_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="orientation: expected a quaternion"):
        MarkerCanvas("base", "constraints", PLACE, (0.0, 0.0, 0.0, 0.0))
