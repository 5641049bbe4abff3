"""The contact node on a live graph: its answers, resets, failures and markers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from contact_inputs import BASE, OWN, SHORT, tool
from node_bench import FAILURE, SUCCESS, NodeBench, made_benches
from rclpy.context import Context
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker

from convex_contact import ConvergenceError
from convex_contact.haptics.rendering import ContactRendering, make_rendering
from convex_contact.node import ContactNode, fill_contacts, worlds_folder
from haptic_core.commands import NONE, WRENCH
from haptic_core.errors import ParameterError
from haptic_core.messages import set_pose, set_twist, view, wrench_array
from haptic_core.parameters import check_all
from haptic_core.qos import latched_qos, tick_qos
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceState,
    FrictionState,
    Scene,
    SolverStatistics,
    WallState,
)


def wall_state(push: list[float]) -> WallState:
    """Planes that push; nothing but that matters here."""
    rows = {name: [0.0] * 3 * len(push) for name in ("point", "normal", "velocity")}
    return WallState(push=push, penetration=[0.0] * len(push), in_contact=[True] * len(push), **rows)


class Bench(NodeBench):
    """The contact node; `seen` are its messages so far by topic."""

    def __init__(self, context: Context, **parameters: Any) -> None:
        super().__init__(context, ContactNode, parameters)
        self.values = check_all({**OWN, **BASE}, parameters)
        self.seen: dict[str, list[Any]] = {
            "device_command": self.commands,
            "contact/state": self.subscribe(BodyStates, "contact/state"),
            "contact/contacts": self.subscribe(ContactArray, "contact/contacts"),
            "contact/statistics": self.subscribe(SolverStatistics, "contact/statistics"),
            "tick_event": self.events,
            "scene": self.subscribe(Scene, "scene", latched_qos()),
        }
        self.others: dict[str, Any] = {}

    def other(self, name: str, message: Any) -> None:
        """Another node's state of this tick."""
        if name not in self.others:
            self.others[name] = self.device.create_publisher(type(message), f"{name}/state", tick_qos("lockstep"))
            self.until(self.others[name].get_subscription_count)
        message.tick = self.tick
        self.others[name].publish(message)

    def answer(self, k: int, status: int = DeviceState.STATUS_OK) -> dict[str, Any]:
        """All that is published of the next tick, the tool being where it is at tick k."""
        self.tick += 1
        state = DeviceState(tick=self.tick, period=self.values["period"], status=status)
        state.header.frame_id = "base"
        pose, twist = tool(k)
        set_pose(state.tool_pose, pose)
        set_twist(state.tool_twist, twist)
        self.states.publish(state)
        topics = ("device_command", "contact/state", "contact/contacts", "contact/statistics")
        return {name: self.last(self.seen[name]) for name in topics}

    def twin(self) -> ContactRendering:
        """A rendering made beside the node from the same parameters."""
        return make_rendering(self.values, {}, worlds_folder())


@pytest.fixture
def make(context: Context, world: str) -> Iterator[Callable[..., Bench]]:
    yield from made_benches(lambda **parameters: Bench(context, **{"world": world, **SHORT, **parameters}))


def test_node_and_library_agree(make: Callable[..., Bench]) -> None:
    """Command, bodies, contacts and statistics of each tick, to the last bit."""
    bench = make(substeps=2, condition_interval=5).start()
    twin, expected = bench.twin(), ContactArray()
    touched = 0
    for k in range(40):
        told = bench.answer(k)
        wrench = twin.step(*tool(k))
        command, state, contacts, solver = told.values()
        assert (command.mode, command.source, command.header.frame_id) == (WRENCH, "contact", "base")
        np.testing.assert_array_equal(wrench_array(command.tool_wrench), wrench)
        bodies = twin.bodies.read()
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_array_equal(view(getattr(state, name)), getattr(bodies, name).ravel(), err_msg=name)
        fill_contacts(expected, twin.simulator.contacts, 0.5e-3)
        for name in ContactArray.get_fields_and_field_types():
            if name not in ("header", "tick"):
                assert getattr(contacts, name) == getattr(expected, name), name
        assert state.header.frame_id == contacts.header.frame_id == "world"
        assert solver.approximation == "lagged"
        asked = k > 0 and k % 5 == 0
        assert math.isnan(solver.condition_number) != asked and math.isnan(solver.cost) != asked
        if k:
            done = twin.simulator.statistics
            assert (solver.iterations, solver.contacts) == (done.iterations, done.contacts)
            assert solver.residual == done.residual and solver.solve_time > 0.0
        else:
            assert (solver.iterations, solver.contacts) == (0, 0) and not len(contacts.body_a)
        if asked:
            solution = twin.simulator.solution
            assert (solver.cost, solver.condition_number) == (solution.cost, solution.condition_number)
        touched += any({a, b} == {1, 2} for a, b in zip(contacts.body_a, contacts.body_b, strict=True))
    assert touched and np.abs(wrench).max() > 0.1
    assert bench.node.rejections.counts == {}
    (scene,) = bench.seen["scene"]
    assert list(scene.name)[1] == "finger" and scene.header.frame_id == "world"


def test_without_a_proxy_the_mode_is_none_and_the_world_moves(make: Callable[..., Bench]) -> None:
    bench = make(proxy="").start()
    first = bench.answer(0)
    for k in range(1, 10):
        told = bench.answer(k)
    assert first["device_command"].mode == told["device_command"].mode == NONE
    assert view(told["contact/state"].position)[9] != view(first["contact/state"].position)[9]


def test_while_the_device_is_in_its_safe_state_nothing_is_felt(make: Callable[..., Bench]) -> None:
    bench = make().start()
    for k in range(30):
        felt = bench.answer(k)
    assert wrench_array(felt["device_command"].tool_wrench).any()
    for k in range(30, 33):
        told = bench.answer(k, status=DeviceState.STATUS_SAFE_STOP)
        assert told["device_command"].mode == WRENCH and not wrench_array(told["device_command"].tool_wrench).any()


def test_planes_are_published_and_forces_on_the_tool_act_on_their_bodies(make: Callable[..., Bench]) -> None:
    """To the last bit as the library does it; a push that fits no planes is counted and does nothing."""
    inputs = ["wall", "rub:friction", "between:friction"]
    touching = {"proxy": "", "touch_radius": 0.005, "touch_reach": 0.02}
    ends = ["between.first=ball", "between.second=can"]
    heard = {"consumers": ["device:planes"]}  # active only once the planes are heard
    bench = make(inputs=inputs, delayed_inputs=inputs, friction_bodies=ends, **touching, **heard)
    bench.device.create_subscription(
        ContactPlanes, "contact/planes", bench.seen.setdefault("planes", []).append, tick_qos("lockstep")
    )
    bench.start()
    twin, last = bench.twin(), None
    for k in range(40):
        told = bench.answer(k)
        if last is not None:
            twin.release()
            for body, sign in ((4, 1.0), (3, -1.0)):
                twin.pull(body, sign * np.array([0.3, 0.0, 0.0]))
            if k != 21:
                twin.react(last, 2.0 + np.arange(len(last.key)), -np.array([0.5, -0.2, 0.1]))
        twin.step(*tool(k))
        bodies = twin.bodies.read()
        np.testing.assert_array_equal(view(told["contact/state"].velocity), bodies.velocity.ravel())
        last = twin.planes(tool(k)[0][:3])
        bench.until(lambda: bench.seen["planes"] and bench.seen["planes"][-1].tick == bench.tick)
        message = bench.seen["planes"][-1]
        assert list(message.key) == last.key.tolist() and list(message.body) == last.body.tolist()
        for name in ("point", "normal", "signed_distance", "velocity", "inverse_mass"):
            np.testing.assert_array_equal(view(getattr(message, name)), getattr(last, name).ravel(), err_msg=name)
        assert message.header.frame_id == "base"
        push = [1.0] * 7 if k == 20 else [2.0 + i for i in range(len(last.key))]
        for name, state in (
            ("wall", wall_state(push)),
            ("rub", FrictionState(force=[0.5, -0.2, 0.1])),
            ("between", FrictionState(force=[0.3])),
        ):
            bench.other(name, state)
    assert bench.node.rejections.counts == {"unknown planes": 1}
    assert last is not None and len(last.key) >= 2


def test_a_change_of_the_coupling_acts_at_the_next_tick_and_a_bad_one_changes_nothing(
    make: Callable[..., Bench],
) -> None:
    bench = make(change_time=0.0).start()
    twin = bench.twin()
    for k in range(30):
        if k == 20:
            refused = bench.set(coupling_stiffness=900.0, max_force=-1.0)
            assert not refused.successful and refused.reason.startswith("parameter max_force: expected")
            assert not bench.set(approximation="sap").successful  # the world is made at configure
        if k == 25:
            assert bench.set(coupling_stiffness=900.0, max_force=0.3).successful
            numbers = {**vars(twin.numbers), "stiffness": 900.0, "max_force": 0.3}
            twin.retune(type(twin.numbers)(**numbers))
        told = bench.answer(k)
        np.testing.assert_array_equal(wrench_array(told["device_command"].tool_wrench), twin.step(*tool(k)))
    kinds = [event.kind for event in bench.seen["tick_event"]]
    assert kinds.count("parameter") == 1


def test_a_reset_brings_the_world_back(make: Callable[..., Bench]) -> None:
    bench = make().start()
    before = [bench.answer(k) for k in range(15)]
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    for k in range(15):
        told = bench.answer(k)
        assert told["contact/state"].position == before[k]["contact/state"].position
        assert told["device_command"].tool_wrench == before[k]["device_command"].tool_wrench


def test_a_step_that_cannot_be_solved_ends_the_node_with_one_error_and_no_force(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make().start()
    for k in range(15):
        bench.answer(k)

    def fails(count: int = 1) -> None:
        raise ConvergenceError(
            "no convergence in the step from t = 0.014 s",
            velocity=np.zeros(3),
            iterations=200,
            residual=1.0,
            tolerance=1e-5,
        )

    assert bench.node.renderer is not None
    monkeypatch.setattr(bench.node.renderer.simulator, "step", fails)
    told = bench.answer(15)
    assert told["device_command"].mode == NONE
    assert bench.node.finished and bench.node.exit_code == 1
    assert bench.node.rejections.counts == {"no solution": 1}


def test_a_prescribed_proxy_follows_the_reference_of_the_same_tick(make: Callable[..., Bench]) -> None:
    bench = make(inputs=["constraints"], proxy="belt").start()
    twin = bench.twin()
    for k in range(10):
        pose, twist = tool(2 * k)
        reference = ConstrainedReference(tick=k)
        set_pose(reference.pose, pose)
        bench.tick += 1
        bench.other("constraints", reference)
        bench.tick -= 1
        told = bench.answer(k)  # the device's own tool is elsewhere
        assert told["device_command"].mode == NONE
        twin.step(pose, twist, arrives=True)
        np.testing.assert_array_equal(view(told["contact/state"].position), twin.bodies.read().position.ravel())
    np.testing.assert_allclose(view(told["contact/state"].position)[21:24], pose[:3], atol=1e-15)


def test_a_consumer_of_an_unknown_topic_is_refused(make: Callable[..., Bench]) -> None:
    bench = make(consumers=["wall:plane"])
    assert bench.node.trigger_configure() == SUCCESS
    with pytest.raises(ParameterError, match="expected topics of state, contacts, planes, as node:topic, got 'plane'"):
        bench.node.activate()


def test_a_missing_body_is_refused_at_configure(make: Callable[..., Bench], capfd: pytest.CaptureFixture[str]) -> None:
    bench = make(proxy="thumb")
    assert bench.node.trigger_configure() == FAILURE
    lines = [line for line in capfd.readouterr().err.splitlines() if "refused" in line]
    assert len(lines) == 1 and "thumb: no such body; the bodies that can move are: finger" in lines[0]


def test_it_can_be_cleaned_up_and_started_again(make: Callable[..., Bench]) -> None:
    bench = make().start()
    bench.answer(0)
    assert (bench.node.trigger_deactivate(), bench.node.trigger_cleanup()) == (SUCCESS, SUCCESS)
    assert bench.node.renderer is None
    bench.start()
    bench.tick = -1
    assert not wrench_array(bench.answer(0)["device_command"].tool_wrench).any()


def test_the_markers_show_bodies_contacts_and_the_coupling(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=500.0, force_length=0.02, frame_position=[0.001, 0.0, 0.0], scale=2.0).start()
    bench.watch()
    for k in range(21):
        told = bench.answer(k)
    bench.until(lambda: len(bench.markers) == 11)  # every second tick
    found = {marker.ns.partition("/")[2]: marker for marker in bench.markers[-1].markers}
    assert {"floor", "finger", "box", "pair 0", "pair 1", "pill", "pill end -0.5", "pill end +0.5"} <= found.keys()
    assert {marker.header.frame_id for marker in found.values()} == {"base"}
    ball = found["ball"]
    assert ball.type == Marker.SPHERE and ball.scale.x == pytest.approx(0.02 / 2.0)
    place = view(told["contact/state"].position)[9:12] / 2.0 + [0.001, 0.0, 0.0]
    np.testing.assert_allclose([getattr(ball.pose.position, axis) for axis in "xyz"], place, rtol=1e-12)
    contacts = told["contact/contacts"]
    ends = np.array([[p.x, p.y, p.z] for p in found["contact forces"].points]).reshape(-1, 2, 3)
    force = (
        view(contacts.normal_impulse)[:, None] * view(contacts.normal).reshape(-1, 3)
        + view(contacts.tangential_impulse).reshape(-1, 3)
    ) / contacts.period
    bearing = np.linalg.norm(force, axis=1) > 0.0  # Lagged may bear friction alone for a step
    assert len(ends) == len(found["contacts"].points) == bearing.sum() > 2
    longest = max(force, key=lambda f: float(np.linalg.norm(f)))
    np.testing.assert_allclose(ends[0, 1] - ends[0, 0], 0.02 / 2.0 * longest, rtol=1e-9, atol=1e-12)
    assert "coupling" in found and "felt force" in found
