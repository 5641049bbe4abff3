"""The wall node: its answers, its service and its safe stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from node_bench import FAILURE, SUCCESS, NodeBench, made_benches
from numpy.testing import assert_allclose, assert_array_equal
from rclpy.context import Context
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker
from wall_cases import guarded, way

from haptic_core.commands import EFFORT, NONE
from haptic_core.messages import allocate, detail_of
from haptic_core.qos import tick_qos
from haptic_msgs.msg import ContactPlanes, DeviceCommand, DeviceState, TickEvent
from haptic_msgs.msg import WallState as WallMessage
from haptic_msgs.srv import SetWalls
from tau_wall_control import (
    TauDevice,
)
from tau_wall_control.node import WallNode
from tau_wall_control.walls.planes import MovingPlanes

pytestmark = pytest.mark.usefixtures("designs")

# ---- on a live graph --------------------------------------------------------------------------------


class Bench(NodeBench):
    """The wall node; `walls` are its states so far."""

    def __init__(self, context: Context, **parameters: Any) -> None:
        super().__init__(context, WallNode, parameters)
        self.planes = self.device.create_publisher(ContactPlanes, "contact/planes", tick_qos("lockstep"))
        self.walls: list[WallMessage] = self.subscribe(WallMessage, "wall/state")

    def answer(
        self,
        theta: np.ndarray,
        rate: Any = None,
        status: int = DeviceState.STATUS_OK,
        planes: ContactPlanes | None = None,
    ) -> tuple[DeviceCommand, WallMessage]:
        self.tick += 1
        state = DeviceState(tick=self.tick, period=1e-3, status=status)
        state.header.frame_id = "tau_base"
        for name, numbers in (("position", theta), ("velocity", np.zeros(6) if rate is None else rate)):
            allocate(state, f"joint_{name}", len(numbers))[:] = numbers
        allocate(state, "joint_effort", len(theta))
        state.tool_pose.orientation.w = 1.0
        if planes is not None:
            place = state.tool_pose.position
            place.x, place.y, place.z = TauDevice.default().forward_kinematics(theta)[0].tolist()
            planes.tick = self.tick
            self.planes.publish(planes)
        self.states.publish(state)
        return self.last(self.commands), self.last(self.walls)

    def heard(self, kind: str) -> list[TickEvent]:
        return [event for event in self.events if event.kind == kind]


@pytest.fixture
def make(context: Context) -> Iterator[Callable[..., Bench]]:
    yield from made_benches(lambda **parameters: Bench(context, **parameters))


def test_node_and_walls_agree(make: Callable[..., Bench]) -> None:
    device, bench, twin = TauDevice.default(), make(scheme="scheduled").start(), guarded(scheme="scheduled")
    touched = 0
    for theta, rate in way(device, 40):
        command, state = bench.answer(theta, rate)
        rendered = twin.step(theta, rate)
        torque = rendered.torque
        assert (command.mode, command.source, command.header.frame_id) == (EFFORT, "wall", "tau_base")
        assert_array_equal(command.joint_effort, torque)
        assert_array_equal(state.effort, torque)
        assert_array_equal(state.saturation, np.abs(torque) / device.peak_torque)
        assert_array_equal(state.penetration, np.maximum(rendered.penetration, 0.0))
        assert (state.in_contact, state.operating_point) == (rendered.in_contact.tolist(), rendered.operating_point)
        assert state.rendered_stiffness == twin.rendered_stiffness
        assert (list(state.point), list(state.normal)) == ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
        touched += state.in_contact[0]
    assert 5 < touched < 40


def test_walls_are_set_between_ticks_whole_or_not_at_all_and_published(make: Callable[..., Bench]) -> None:
    device, bench = TauDevice.default(), make().start()
    theta = device.inverse_kinematics((0.0, 0.0, 0.002))
    _, before = bench.answer(theta)
    assert before.in_contact == [False]
    # the second wall has the tool behind it; the first stays
    request = SetWalls.Request(points=[0.0, 0.0, 0.0, 0.0, 0.0, 0.003], normals=[0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    response = bench.call(SetWalls, "set_walls", request)
    assert response.success and response.message == "wall: 2 walls before tick 1"
    _, state = bench.answer(theta)
    assert state.in_contact == [False, True] and list(state.point) == list(request.points)
    assert state.penetration[1] == pytest.approx(1e-3, abs=1e-9)
    event = bench.until(lambda: bench.heard("parameter"))[-1]
    assert (event.tick, event.source) == (1, "wall")
    assert detail_of(event) == {"wall_points": list(request.points), "wall_normals": list(request.normals)}
    for points, normals, reason in (
        ([0.0] * 6, [0.0, 0.0, 1.0], "wall_normals: expected 6 numbers"),
        ([0.0] * 3, [0.0, 0.0, 0.0], "wall 1: normal: expected a direction"),
        ([0.0, 0.0, float("nan")], [0.0, 0.0, 1.0], "wall_points: expected finite"),
        ([], [], "wall_points: expected three numbers a wall, got 0"),
    ):
        response = bench.call(SetWalls, "set_walls", SetWalls.Request(points=points, normals=normals))
        assert not response.success and reason in response.message
        _, state = bench.answer(theta)
        assert list(state.point) == list(request.points)


def test_safe_stop_lasts_until_a_reset_and_is_reported_once(make: Callable[..., Bench]) -> None:
    device, bench = TauDevice.default(), make(longest_saturation=0.02).start()
    away, deep = (device.inverse_kinematics((0.0, 0.0, z)) for z in (0.005, -0.01))
    held, _ = bench.answer(away)
    assert held.mode == EFFORT
    commands = [bench.answer(deep)[0].mode for _ in range(80)]
    last = commands.index(NONE)
    assert last >= 20 and commands == [EFFORT] * last + [NONE] * (80 - last)
    command, state = bench.answer(away)
    assert command.mode == NONE and not any(command.joint_effort)
    assert (state.operating_point, state.rendered_stiffness, state.in_contact) == (-1, 0.0, [False])
    (event,) = bench.until(lambda: bench.heard("error"))
    assert detail_of(event)["reason"].startswith("the torque limits have acted for 0.021 s, expected 0.02 s")
    assert bench.node.rejections.counts == {"safe stop": 81 - last}
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    again, _ = bench.answer(away)
    assert again.mode == EFFORT
    assert_array_equal(again.joint_effort, held.joint_effort)


def test_states_that_cannot_be_used_get_no_effort(make: Callable[..., Bench]) -> None:
    device, bench = TauDevice.default(), make().start()
    theta = device.inverse_kinematics((0.0, 0.0, 0.005))
    assert bench.answer(theta[:5])[0].mode == NONE
    assert bench.node.rejections.counts == {"wrong length": 1}
    command, _ = bench.answer(theta, status=DeviceState.STATUS_SAFE_STOP)
    assert command.mode == EFFORT and not any(command.joint_effort)
    assert any(bench.answer(theta)[0].joint_effort)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"controller_file": "/no/gains.npz"}, "cannot be read"), ({"wall_normals": [0.0, 0.0]}, "three numbers a wall")],
)
def test_the_node_does_not_configure_with_what_cannot_be_used(
    make: Callable[..., Bench], parameters: dict[str, Any], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert make(**parameters).node.trigger_configure() == FAILURE
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "refused" in line]
    assert words in line


def test_markers_show_the_device_and_walls_that_are_gone_vanish(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=500.0).start()
    bench.watch()
    theta = TauDevice.default().inverse_kinematics((0.0, 0.0, 0.005))
    for _ in range(4):  # every second tick
        bench.answer(theta)
    bench.until(lambda: len(bench.markers) == 2)
    first, second = ([marker.ns for marker in message.markers] for message in bench.markers)
    assert bench.markers[0].markers[0].action == Marker.DELETEALL and first[1:] == second
    assert {"wall/wall 1", "wall/chain 3", "wall/platform", "wall/force 1", "wall/contact 1"} <= set(second)
    assert {marker.header.frame_id for marker in bench.markers[1].markers} == {"tau_base"}
    request = SetWalls.Request(points=[0.0, 0.0, -0.01], normals=[0.0, 0.0, 1.0])
    assert bench.call(SetWalls, "set_walls", request).success
    for _ in range(2):
        bench.answer(theta)
    bench.until(lambda: len(bench.markers) == 3)
    assert bench.markers[2].markers[0].action == Marker.DELETEALL


def test_computing_times_of_the_steps_are_reported_at_the_end(make: Callable[..., Bench]) -> None:
    bench = make().start()
    for _ in range(5):
        bench.answer(TauDevice.default().inverse_kinematics((0.0, 0.0, 0.005)))
    assert bench.node.trigger_deactivate() == SUCCESS
    (event,) = bench.until(lambda: bench.heard("timing"))
    times = detail_of(event)
    assert 0.0 < times["control_step_p50"] <= times["control_step_p99"] and times["processor_time_p99"] > 0.0


# ---- walls that are an input ------------------------------------------------------------------------

RADIUS = 1e-3


def near(*surfaces: tuple[int, Any, Any, Any, float], p: np.ndarray) -> ContactPlanes:
    """ContactPlanes of a tool of RADIUS at p: key, point on the surface, normal, velocity, inverse mass of each."""
    message = ContactPlanes(key=[s[0] for s in surfaces], body=[s[0] for s in surfaces])
    for k, name in enumerate(("point", "normal", "velocity"), 1):
        allocate(message, name, 3 * len(surfaces))[:] = np.ravel([s[k] for s in surfaces])
    distance = [(p - s[1]) @ np.array(s[2]) - RADIUS for s in surfaces]
    allocate(message, "signed_distance", len(surfaces))[:] = distance
    allocate(message, "inverse_mass", len(surfaces))[:] = [s[4] for s in surfaces]
    return message


def test_surfaces_of_another_node_are_rendered_and_published(make: Callable[..., Bench]) -> None:
    """Several, one, none: the answers are the library's for planes that lie the sphere's radius further out."""
    bench, twin = make(inputs=["contact:planes"]).start(), guarded(moving=True)
    device = TauDevice.default()
    touched = 0
    for k, (theta, rate) in enumerate(way(device, 40)):
        p = device.forward_kinematics(theta)[0]
        surfaces = [
            (7, (0.0, 0.0, 1e-5 - RADIUS), (0.0, 0.0, 1.0), (0.01, 0.0, 0.002), 0.5),
            (3, (-0.01, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0),
        ][: (2, 1, 0)[0 if k < 20 else (k - 20) // 10]]
        command, state = bench.answer(theta, rate, planes=near(*surfaces, p=p))
        points = [np.array(s[1]) + RADIUS * np.array(s[2]) for s in surfaces]
        rows = (np.reshape([s[i] for s in surfaces], (-1, 3)) for i in (2, 3))
        planes = MovingPlanes([s[0] for s in surfaces], np.reshape(points, (-1, 3)), *rows, [s[4] for s in surfaces])
        rendered = twin.step(theta, rate, planes)
        torque = rendered.torque
        assert_allclose(command.joint_effort, torque, rtol=0.0, atol=1e-6)  # the angles' pose is found to 1e-11 m
        assert_allclose(state.push, rendered.push, rtol=0.0, atol=1e-5)
        assert state.in_contact == rendered.in_contact.tolist()
        assert_array_equal(state.point, np.ravel([s[1] for s in surfaces]))
        assert_array_equal(state.normal, np.ravel([s[2] for s in surfaces]))
        assert_array_equal(state.velocity, np.ravel([s[3] for s in surfaces]))
        assert len(state.penetration) == len(surfaces)
        touched += any(state.in_contact)
    assert 5 < touched < 40


def test_surfaces_that_cannot_be_used_get_no_effort_and_the_next_do(make: Callable[..., Bench]) -> None:
    device, bench = TauDevice.default(), make(inputs=["contact:planes"]).start()
    p = np.array([0.0, 0.0, -1e-4])
    theta = device.inverse_kinematics(p)

    def wall(normal: float = 1.0, key: int = 1) -> tuple[int, Any, Any, Any, float]:
        return key, (0.0, 0.0, -RADIUS), (0.0, 0.0, normal), (0.0, 0.0, 0.0), 0.0

    bad = [near(wall(1.5), p=p), near(wall(), wall(), p=p), near(wall(np.nan), p=p), near(wall(), p=p)]
    bad[3].inverse_mass = []
    for message in bad:
        command, state = bench.answer(theta, planes=message)
        assert command.mode == NONE and not any(command.joint_effort) and not any(state.push)
    assert bench.node.rejections.counts == {"bad planes": 2, "not finite": 1, "wrong length": 1, "unusable input": 2}
    command, state = bench.answer(theta, planes=near(wall(), p=p))
    assert command.mode == EFFORT and state.push[0] > 1.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"inputs": ["a:planes", "b:planes"]}, "inputs: expected planes of one node at the most"),
        ({"inputs": ["a:planes"], "delayed_inputs": ["a:planes"]}, "delayed_inputs: expected planes of the same tick"),
        ({"inputs": ["a:planes"], "contact": "holding"}, "contact: expected sliding for walls that move"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    make: Callable[..., Bench], parameters: dict[str, Any], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert make(**parameters).node.trigger_configure() == FAILURE
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "refused" in line]
    assert words in line
