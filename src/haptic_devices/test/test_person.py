"""A person at the device node: pause, step, pace, and the simulated hand led by a topic."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped
from machine_speed import limit
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from haptic_core.events import make_event
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_devices.node.device_node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState, SimulationState, TickEvent
from haptic_msgs.srv import Step

_namespaces = (f"/test_person_{os.getpid()}_{number}" for number in itertools.count())


class Person(Node):
    """Answers as a source, calls the device's services, and keeps what the device says."""

    def __init__(self, context: Any, namespace: str) -> None:
        super().__init__("person", context=context, namespace=namespace)
        self.states: list[DeviceState] = []
        self.truths: list[SimulationState] = []
        self.events: list[TickEvent] = []
        self.shown: list[JointState] = []
        self.answers = True
        self._waiting: list[tuple[int, Future]] = []
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        self._events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self._events.publish(make_event("person", "state", {"state": "active", "mode": "WRENCH"}))
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"))
        self.create_subscription(SimulationState, "simulation_state", self.truths.append, tick_qos("lockstep"))
        self.create_subscription(TickEvent, "tick_event", self.events.append, latched_qos(EVENT_DEPTH))
        self.create_subscription(JointState, "joint_states", self.shown.append, display_qos())
        self.led = self.create_publisher(PoseStamped, "operator_handle", display_qos())
        kinds = {"pause": SetBool, "hold": SetBool, "step": Step, "reset": Trigger}
        self._called = {name: self.create_client(kind, f"device/{name}") for name, kind in kinds.items()}

    def _answer(self, state: DeviceState) -> None:
        self.states.append(state)
        if self.answers:
            self._commands.publish(DeviceCommand(source="person", tick=state.tick, mode=DeviceCommand.MODE_WRENCH))
        for tick, future in self._waiting:
            if state.tick >= tick and not future.done():
                future.set_result(None)

    async def tick(self, number: int) -> None:
        """Waits until this tick has come."""
        future = Future()
        self._waiting.append((number, future))
        if not (self.states and self.states[-1].tick >= number):
            await future

    async def call(self, name: str, **request: Any) -> Any:
        """Calls one of the services."""
        client = self._called[name]
        return await client.call_async(client.srv_type.Request(**request))

    async def round_trips(self) -> None:
        """So long that a run that goes on would go on: calls that change nothing."""
        for _ in range(5):
            assert not (await self.call("step", ticks=0)).success

    def of_kind(self, *kinds: str) -> list[tuple[int, str, dict[str, Any]]]:
        """Events of the device of these kinds."""
        events = [event for event in self.events if event.source == "device" and event.kind in kinds]
        return [(event.tick, event.kind, detail_of(event)) for event in events]


@pytest.fixture
def run(context) -> Iterator[Callable[..., tuple[DeviceNode, Person]]]:
    made: list[Any] = []

    def start(act: Callable[[Person], Any], **parameters: Any) -> tuple[DeviceNode, Person]:
        namespace = next(_namespaces)
        values = {"duration": 0.2, "sources": ["person"], "motion": "paper", "answer_timeout": limit(2.0), **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = DeviceNode(context=context, namespace=namespace, parameter_overrides=overrides)
        person = Person(context, namespace)
        executor = SingleThreadedExecutor(context=context)
        made.extend([executor.shutdown, node.destroy_node, person.destroy_node])
        for each in (node, person):
            executor.add_node(each)
        node.start()
        while any(not client.service_is_ready() for client in person._called.values()):
            executor.spin_once(timeout_sec=1.0)
        task = executor.create_task(act, person)
        node.spin(executor)
        assert task.done()
        task.result()  # raises what the person found wrong
        assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
        while len(person.states) < node.tick + 1:
            executor.spin_once(timeout_sec=1.0)
        return node, person

    yield start
    for end in made:
        end()


def test_a_paused_run_stands_still_is_stepped_and_goes_on(run):
    seen = []

    async def act(person):
        await person.tick(20)
        assert (await person.call("pause", data=True)).success
        await person.round_trips()
        seen.append(person.states[-1].tick)
        assert (await person.call("step", ticks=3)).success
        await person.tick(seen[0] + 3)
        await person.round_trips()
        seen.append(person.states[-1].tick)
        assert (await person.call("pause", data=False)).success

    node, person = run(act)
    paused, stepped = seen
    assert stepped == paused + 3
    assert [state.tick for state in person.states] == list(range(200)) and node.rejections.counts == {}
    assert person.of_kind("pause", "step") == [
        (paused + 1, "pause", {"paused": True}),
        (paused + 1, "step", {"ticks": 3}),
        (stepped + 1, "pause", {"paused": False}),
    ]
    # what is shown is what stands still, though its tick is none of the display's
    stamps = {(joints.header.stamp.sec, joints.header.stamp.nanosec) for joints in person.shown}
    assert (0, stepped * 1_000_000) in stamps


@pytest.mark.slow
def test_pausing_changes_nothing_of_what_the_run_gives(run):
    async def nothing(person):
        pass

    async def act(person):
        await person.tick(30)
        await person.call("pause", data=True)
        await person.call("step", ticks=2)
        await person.round_trips()
        await person.call("pause", data=False)

    results = [run(script)[1] for script in (nothing, act)]
    truths = [[truth.joint_position.tolist() for truth in person.truths] for person in results]
    assert truths[0] == truths[1] and len(truths[0]) == 200


@pytest.mark.slow
def test_a_pause_is_no_silence_of_the_sources(run):
    """It lasts longer than the longest wait for an answer."""
    longest = limit(0.5)

    async def act(person):
        await person.tick(10)
        await person.call("pause", data=True)
        start = time.monotonic()
        while time.monotonic() - start < 1.5 * longest:
            await person.round_trips()
            time.sleep(0.1 * longest)
        await person.call("pause", data=False)

    node, person = run(act, answer_timeout=longest)
    assert node.exit_code == 0 and len(person.states) == 200


def test_impossible_calls_are_refused_with_a_reason(run):
    said = []

    async def act(person):
        await person.tick(5)
        said.append(await person.call("step", ticks=1))
        await person.call("pause", data=True)
        said.append(await person.call("step", ticks=0))
        await person.call("pause", data=False)
        said.append(await person.call("hold", data=True))

    _, person = run(act, held=False)
    assert [answer.success for answer in said] == [False] * 3
    assert "not paused" in said[0].message and "expected 1 or more" in said[1].message
    assert "the tool is released" in said[2].message
    assert [kind for _, kind, _ in person.of_kind("pause", "step", "hold")] == ["pause", "pause"]


def test_a_realtime_run_cannot_be_paused(context):
    overrides = [Parameter(name, value=value) for name, value in {"mode": "realtime", "held": False}.items()]
    node = DeviceNode(context=context, namespace=next(_namespaces), parameter_overrides=overrides)
    try:
        node.start()
        for answer in (
            node._on_pause(SetBool.Request(data=True), SetBool.Response()),
            node._on_step(Step.Request(ticks=1), Step.Response()),
        ):
            assert not answer.success and "mode realtime" in answer.message
    finally:
        node.destroy_node()


def test_a_script_has_no_hand_to_lead(run):
    said = []

    async def act(person):
        await person.tick(5)
        said.append(await person.call("hold", data=True))

    run(act, device="scripted", held=False)
    assert not said[0].success and "no simulated hand" in said[0].message


@pytest.mark.realtime
@pytest.mark.parametrize("pace", [0.2, 0.4])
def test_a_run_is_not_faster_than_its_pace(run, pace):
    times = []

    async def act(person):
        await person.tick(0)
        times.append(time.monotonic())
        await person.tick(199)
        times.append(time.monotonic())

    _, person = run(act, pace=pace)
    # slower it may be; a little faster only by what tick 0 is seen late
    assert times[1] - times[0] >= 0.199 / pace - 0.01
    assert len(person.states) == 200


@pytest.mark.slow
def test_the_hand_follows_the_topic_while_it_is_held(run):
    async def act(person):
        await person.tick(20)
        message = PoseStamped()
        message.header.frame_id = "joystick_base"
        message.pose.position.x, message.pose.position.y = 0.02, 0.01
        person.led.publish(message)  # it is released
        assert (await person.call("hold", data=True)).success
        person.led.publish(message)
        await person.tick(900)
        assert (await person.call("hold", data=False)).success

    node, person = run(act, duration=1.0, rest_duration=5.0)
    (held, _, first), (released, _, second) = person.of_kind("hold")
    assert first["held"] and not second["held"]
    plan = node.device.hand.plan.table
    targets = {truth.tick: truth.operator_target.position for truth in person.truths}
    assert targets[held - 1].x == plan[held - 1, 0]
    assert first["target"][:2] == pytest.approx(plan[held - 1, :2], abs=1e-12)  # the grip is 1: from there on
    last = targets[released - 1]
    assert (last.x, last.y) == pytest.approx((0.02, 0.01), abs=1e-5)
    assert second["target"][:2] == pytest.approx((0.02, 0.01), abs=1e-5)
    assert (targets[999].x, targets[999].y) == pytest.approx((0.02, 0.01), abs=1e-5)  # it stays
    tool = person.truths[-1].tool_pose.position
    assert (tool.x, tool.y) == pytest.approx((0.02, 0.01), abs=3e-3)  # by the impedance: friction and tremor


def test_a_reset_gives_the_plan_back(run):
    async def act(person):
        await person.tick(20)
        await person.call("hold", data=True)
        await person.tick(60)
        await person.call("pause", data=True)
        await person.call("reset")
        await person.call("pause", data=False)

    node, person = run(act)
    ((reset, _, _),) = person.of_kind("reset")
    plan = node.device.hand.plan.table
    assert person.truths[reset + 30].operator_target.position.x == plan[31, 0]


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"x": float("nan")}, "finite"),
        ({"w": 0.0}, "finite pose"),
        ({"frame": "elsewhere"}, "expected frame joystick_base, got 'elsewhere'"),
    ],
)
def test_a_handle_that_cannot_be_used_is_rejected_and_moves_nothing(run, change, what):
    def send(person):
        message = PoseStamped()
        message.header.frame_id = change.get("frame", "")
        message.pose.position.x = change.get("x", 0.1)
        message.pose.orientation.w = change.get("w", 1.0)
        person.led.publish(message)

    async def act(person):
        await person.tick(10)
        await person.call("pause", data=True)
        await person.call("hold", data=True)
        send(person)
        await person.round_trips()
        await person.call("pause", data=False)

    node, person = run(act)
    assert node.rejections.counts == {"operator_handle": 1}
    assert person.truths[-1].operator_target.position.x < 0.05
    assert what
