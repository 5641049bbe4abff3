"""The scene of the page: the robot, markers and forces."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core.markers import MarkerCanvas
from haptic_core.parameters import load_parameter_specs
from haptic_devices.node.device_node import find_device
from haptic_viewer.force_shapes import Arrow
from haptic_viewer.marker_shapes import Markers, spring
from haptic_viewer.picture import Picture
from haptic_viewer.scene import Robot, unit_mesh
from haptic_viewer.stage import directions, length_text, square_of

SOURCES = Path(__file__).parents[2]


class Scene:
    """Stands for viser's: objects by name, with what was set last, and how often."""

    def __init__(self) -> None:
        self.things: dict[str, Any] = {}

    def __getattr__(self, method: str) -> Any:
        def add(name: str, *arguments: Any, **options: Any) -> Any:
            thing = Thing(self, name, method, arguments, options)
            self.things[name] = thing
            return thing

        return add


class Thing:
    def __init__(self, scene: Scene, name: str, method: str, arguments: Any, options: dict[str, Any]) -> None:
        self.__dict__.update(scene=scene, name=name, method=method, arguments=arguments, sent=0, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self.__dict__["sent"] += 1

    def remove(self) -> None:
        del self.scene.things[self.name]


def test_unit_meshes_have_edges_diameters_and_height_one() -> None:
    for kind in ("box", "sphere", "cylinder"):
        vertices, faces = unit_mesh(kind)
        np.testing.assert_allclose(vertices.max(axis=0), 0.5, atol=2e-3)  # a sphere of 642 corners
        np.testing.assert_allclose(vertices.min(axis=0), -0.5, atol=2e-3)
        assert faces.max() == len(vertices) - 1


@pytest.mark.parametrize(
    ("name", "motion"), [("joystick", "paper"), ("five_bar", "paper_admittance"), ("tau", "wall_push")]
)
def test_the_robot_stands_where_its_joints_are(name: str, motion: str) -> None:
    specs = load_parameter_specs(SOURCES / "haptic_devices" / "haptic_devices" / "device_node.yaml")
    values = {name: spec.default for name, spec in specs.items()} | {"device": name, "motion": motion}
    device: Any = find_device(name)(values)
    device.configure(1e-3)
    device.activate()
    scene, reading = Scene(), device.read()
    robot = Robot(scene, device.robot_description())  # type: ignore[arg-type]
    joints = dict(zip([joint.name for joint in device.joints], reading.position, strict=True))
    joints |= dict(zip(device.passive_joints, device.passive_state()[0], strict=True))
    before = [thing.position for thing in scene.things.values()]
    robot.move(joints, device.base_frame)
    places = [np.array(thing.position) for thing in scene.things.values()]
    assert max(np.linalg.norm(a - b) for a, b in zip(before, places, strict=True)) > 1e-3
    # the tool's ball is at the tool point of the description; the TAU's rods meet there
    least = min(np.linalg.norm(place - reading.tool_pose[:3]) for place in places)
    assert least < (0.06 if name == "tau" else 1e-6)
    robot.move({**joints, "no joint of it": 1.0})
    robot.remove()
    assert scene.things == {}


@pytest.mark.parametrize(
    "name", ["{}", "file://{}", "file:/{}", "FILE://{}", "/dev/zero", "package://../..{}", "../..{}"]
)
@pytest.mark.parametrize("tag", ["mesh", "mesh xmlns='other'"])
def test_a_description_with_a_mesh_that_blocks_is_refused(tmp_path: Path, name: str, tag: str) -> None:
    """Any program can publish one; the page hung."""
    fifo = tmp_path / "mesh.stl"
    os.mkfifo(fifo)
    shape = f"<{tag} filename='{name.format(fifo)}'/>"
    text = f"<robot name='a'><link name='b'><visual><geometry>{shape}</geometry></visual></link></robot>"
    with pytest.raises(ValueError):
        Robot(Scene(), text)  # type: ignore[arg-type]


def canvas_message(*shapes: tuple[Any, ...]) -> MarkerArray:
    canvas = MarkerCanvas("base", "node")
    for method, *arguments in shapes:
        getattr(canvas, method)(*arguments)
    return canvas.message(Marker().header.stamp)


RED, CLEAR, HIDDEN = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.25), (1.0, 0.0, 0.0, 0.0)
TURN = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])


def test_markers_become_shapes_of_their_size_place_and_colour() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    shapes = [
        ("box", "wall 1", p, TURN, (1.0, 2.0, 3.0), CLEAR),
        ("sphere", "ball", p, 0.05, RED),
        ("cylinder", "disk", p, TURN, 0.1, 0.02, RED),
        ("arrow", "force", p, 2 * p, 0.002, RED),
        ("line", "rope", [p, 2 * p, 3 * p], 0.001, RED),
        ("sphere", "gone", p, 0.05, HIDDEN),
    ]
    markers.show(canvas_message(*shapes))
    box, ball, disk, force, rope, gone = scene.things.values()
    assert box.scale == (1.0, 2.0, 3.0) and box.opacity == pytest.approx(0.25) and box.color == (0, 0, 255)
    assert box.position == (0.1, 0.2, 0.3) and box.wxyz == (TURN[3], 0.0, 0.0, TURN[2])
    assert ball.scale == (0.1, 0.1, 0.1) and disk.scale == (0.2, 0.2, 0.02) and ball.opacity is None
    np.testing.assert_allclose(force.points, [[p, 2 * p]], rtol=1e-6)
    np.testing.assert_allclose(rope.points, [[p, 2 * p], [2 * p, 3 * p]], rtol=1e-6)
    assert ball.visible and not gone.visible
    ends = np.array(markers.points())  # of ball and disk; the wall is scenery
    assert len(ends) == 4
    np.testing.assert_allclose(ends[:2], [p - 0.05, p + 0.05])
    assert markers.color_of("ball") == (255, 0, 0) and markers.color_of("gone") is None


def test_triangles_have_their_place_and_are_sent_where_they_change() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    corners, triangles = np.array([[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]]), np.array([[0, 1, 2]])
    markers.show(canvas_message(("mesh", "gear", p, TURN, corners, triangles, CLEAR)))
    (gear,) = scene.things.values()
    np.testing.assert_allclose(gear.vertices, corners, rtol=1e-6)
    assert gear.faces.tolist() == [[0, 1, 2]] and gear.opacity == pytest.approx(0.25) and gear.color == (0, 0, 255)
    assert gear.position == (0.1, 0.2, 0.3) and gear.wxyz == (TURN[3], 0.0, 0.0, TURN[2])
    ends = [[-0.2, 0.2, 0.3], [0.1, 0.5, 0.6]]
    np.testing.assert_allclose(markers.points(), ends, atol=1e-7)  # a quarter turn about z
    first, sent = gear.vertices, gear.sent
    markers.show(canvas_message(("mesh", "gear", 2 * p, TURN, corners, triangles, CLEAR)))
    assert gear.vertices is first and gear.sent == sent + 1 and gear.position == (0.2, 0.4, 0.6)
    markers.show(canvas_message(("mesh", "gear", 2 * p, TURN, 2 * corners, triangles, CLEAR)))
    np.testing.assert_allclose(gear.vertices, 2 * corners, rtol=1e-6)


def test_markers_that_have_not_changed_are_not_sent_again_and_those_left_out_go() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    two = canvas_message(("sphere", "ball", p, 0.05, RED), ("arrow", "force", p, 2 * p, 0.002, RED))
    markers.show(two)
    sent = [thing.sent for thing in scene.things.values()]
    markers.show(two)
    assert [thing.sent for thing in scene.things.values()] == sent
    ball, _ = scene.things.values()
    markers.show(canvas_message(("sphere", "ball", 2 * p, 0.05, RED)))
    assert list(scene.things.values()) == [ball] and ball.position == (0.2, 0.4, 0.6)
    markers.show(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    assert scene.things == {}


def test_a_marker_of_another_kind_or_colour_replaces_the_one_of_its_name() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    markers.show(canvas_message(("sphere", "ball", p, 0.05, RED), ("line", "rope", [p, 2 * p], 0.001, RED)))
    markers.show(canvas_message(("box", "ball", p, TURN, (1.0, 1.0, 1.0), RED), ("line", "rope", [p, p], 0.001, CLEAR)))
    ball, rope = scene.things.values()
    np.testing.assert_array_equal(ball.arguments[0], unit_mesh("box")[0])
    assert rope.arguments[1] == (0, 0, 255)


def test_a_force_is_an_arrow_of_its_length_and_a_small_one_none() -> None:
    scene = Scene()
    arrow = Arrow(scene, "/force", (1, 2, 3))  # type: ignore[arg-type]
    (thing,) = scene.things.values()
    assert not thing.visible
    arrow.draw(np.array([0.1, 0.0, 0.0]), np.array([0.0, 5.0, 0.0]), 0.01)
    assert thing.visible
    np.testing.assert_allclose(thing.points, [[[0.1, 0.0, 0.0], [0.1, 0.05, 0.0]]], atol=1e-8)
    arrow.draw(np.zeros(3), np.array([0.0, 0.01, 0.0]), 0.01)
    assert not thing.visible


def test_a_coupling_is_a_spring_between_its_ends() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    markers.show(canvas_message(("line", "coupling", [p, 2 * p], 0.001, RED)))
    (coil,) = scene.things.values()
    np.testing.assert_allclose(coil.points[[0, -1], [0, 1]], [p, 2 * p], atol=1e-6)
    middle = coil.points[:, 0] - p
    away = np.linalg.norm(middle - np.outer(middle @ p, p) / (p @ p), axis=1)
    assert 5e-4 < away.max() < 0.01 and len(coil.points) > 50
    assert len(spring(p, p)) == 1  # without length it has no turns


def test_markers_of_forces_are_left_out_where_the_page_draws_them() -> None:
    scene, p = Scene(), np.zeros(3)
    names = ("contacts", "contact forces", "felt force", "force 1", "ball", "force plate")
    message = canvas_message(*(("sphere", name, p, 0.05, RED) for name in names))
    markers = Markers(scene, "/markers", with_forces=False)  # type: ignore[arg-type]
    markers.show(message)
    assert [name.split("/")[-2] for name in scene.things] == ["ball", "force_plate"]
    markers.with_forces = True
    markers.show(message)
    assert len(scene.things) == len(names)


def test_bodies_are_translucent_while_one_looks_through_them() -> None:
    scene = Scene()
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    markers.see_through = True
    markers.show(canvas_message(("sphere", "ball", np.zeros(3), 0.05, RED)))
    (ball,) = scene.things.values()
    assert ball.opacity < 0.5 and not ball.cast_shadow
    markers.see_through = False
    markers.show(canvas_message(("sphere", "ball", np.zeros(3), 0.05, RED)))
    assert ball.opacity is None and ball.cast_shadow


def picture_of(opened: list[str]) -> Any:
    taps = SimpleNamespace(open=lambda name, _: opened.append(name))
    server = SimpleNamespace(scene=Scene(), gui=Gui())
    return Picture(server, taps, "/tau/", Gui(), lambda _, show, *given: show(*given))  # type: ignore[arg-type]


def test_topics_of_markers_of_all_nodes_and_of_older_bags_are_shown() -> None:
    """Older bags have the markers of all nodes on `markers` in the device's namespace."""
    kind, opened = "visualization_msgs/msg/MarkerArray", list[str]()
    topics = ["/tau/markers", "/tau/wall/markers", "/tau/contact/markers", "/joystick/contact/markers"]
    picture = picture_of(opened)
    picture.look_around(dict.fromkeys(topics, kind) | {"/tau/wall/state": "haptic_msgs/msg/WallState"})
    assert set(opened) == {*topics[:3], "/tau/joint_states"}
    drawn = {name: markers.with_forces for name, markers in picture._markers.items()}
    assert drawn == {topics[0]: True, topics[1]: False, topics[2]: True}


def test_the_squares_of_the_floor_are_one_two_or_five_times_a_power_of_ten() -> None:
    assert [square_of(size) for size in (0.1, 0.25, 0.49, 1.0, 3.0)] == pytest.approx([0.01, 0.02, 0.02, 0.1, 0.2])
    assert [length_text(length) for length in (2.0, 0.05, 0.01, 0.002)] == ["2 m", "5 cm", "1 cm", "2 mm"]


@pytest.mark.parametrize("axis", "yz")
def test_front_side_and_up_are_a_right_handed_frame(axis: str) -> None:
    front, side, up = directions(axis)
    assert up["xyz".index(axis)] == 1.0
    np.testing.assert_array_equal(np.cross(up, front), side)
