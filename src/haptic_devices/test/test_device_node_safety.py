"""The safety layer in the device node: emergency stop, ramp after a reset, published limits, faults."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from haptic_core.commands import EFFORT
from haptic_core.events import make_event
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_core.stop_records import find_records
from haptic_devices.device import DeviceError
from haptic_devices.loop import FAULT, SAFE_STOP
from haptic_devices.node.device_node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent

T = 1e-3

_namespaces = (f"/test_safety_{os.getpid()}_{number}" for number in itertools.count())


class Pusher(Node):
    """A source that pushes with a constant effort, and acts when a tick comes."""

    def __init__(self, context: Context, namespace: str, values: list[float]) -> None:
        super().__init__("pusher", context=context, namespace=namespace)
        self.states: list[DeviceState] = []
        self.events: list[TickEvent] = []
        self.answers: dict[str, Trigger.Response] = {}
        self.at: dict[int, Callable[[], None]] = {}
        self._values, self._waits = values, ""
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        self._own_events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self.announce()
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"))
        self.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        self.button = self.create_publisher(Bool, "emergency_stop", display_qos())
        self.asked = {name: self.create_client(Trigger, f"device/{name}") for name in ("emergency_stop", "reset")}

    def announce(self) -> None:
        """Says that it is active."""
        self._own_events.publish(make_event("pusher", "state", {"state": "active", "mode": "EFFORT"}))

    def announce_and_wait(self) -> None:
        """Answers the present tick only when the announcement has arrived."""
        self._waits = "state"
        self.announce()

    def press(self, down: bool) -> None:
        """Says so on the topic, and answers the present tick."""
        self.button.publish(Bool(data=down))
        self._send()

    def press_and_wait(self) -> None:
        """Answers the present tick only when the device has said that it stopped."""
        self._waits = "error"
        self.button.publish(Bool(data=True))

    def _on_event(self, event: TickEvent) -> None:
        self.events.append(event)
        if self._waits == event.kind:
            self._waits = ""
            self._send()

    def call(self, name: str) -> None:
        """Asks, and answers the present tick only when that is done."""
        future = self.asked[name].call_async(Trigger.Request())
        future.add_done_callback(lambda done: self.answers.__setitem__(name, done.result()))
        future.add_done_callback(lambda _: self._send())

    def _answer(self, state: DeviceState) -> None:
        self.states.append(state)
        if state.tick in self.at:
            self.at[state.tick]()
        else:
            self._send()

    def _send(self) -> None:
        tick = self.states[-1].tick
        self._commands.publish(DeviceCommand(source="pusher", tick=tick, mode=EFFORT, joint_effort=self._values))

    def errors(self) -> list[tuple[int, dict[str, Any]]]:
        return [(event.tick, detail_of(event)) for event in self.events if event.kind == "error"]


@pytest.fixture
def push(context: Context) -> Iterator[Callable[..., tuple[DeviceNode, Pusher, Callable[[], None]]]]:
    made: list[Any] = []

    def start(*values: float, **parameters: Any) -> tuple[DeviceNode, Pusher, Callable[[], None]]:
        namespace = next(_namespaces)
        given = {"device": "joystick", "held": False, "duration": 0.3, "sources": ["pusher"], **parameters}
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        node = DeviceNode(context=context, namespace=namespace, parameter_overrides=overrides)
        source = Pusher(context, namespace, list(values))
        executor = SingleThreadedExecutor(context=context)
        for each in (node, source):
            executor.add_node(each)
        made.extend([executor.shutdown, node.destroy_node, source.destroy_node])

        def run() -> None:
            node.start()
            while not all(client.service_is_ready() for client in source.asked.values()):
                executor.spin_once(timeout_sec=0.1)
            while not source.button.get_subscription_count():
                executor.spin_once(timeout_sec=0.1)
            node.spin(executor)
            assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
            while len(source.states) < node.tick + 1 or not any(
                detail_of(event).get("state") == "inactive" for event in source.events
            ):
                executor.spin_once(timeout_sec=0.1)
            assert node.exit_code == 0 and len(source.states) == round(
                node.parameters["duration"] / node.parameters["period"]
            )

        return node, source, run

    yield start
    for end in made:
        end()


def efforts(source: Pusher) -> np.ndarray:
    return np.array([list(state.joint_effort) for state in source.states])


def test_an_emergency_stop_by_service_is_latched_until_a_reset_and_then_the_force_comes_in_slowly(push):
    _, source, run = push(0.01, 0.0)
    source.at = {50: lambda: source.call("emergency_stop"), 150: lambda: source.call("reset")}
    run()
    assert source.answers["emergency_stop"].success
    assert source.answers["emergency_stop"].message == "device: emergency stop by service; device/reset ends it"
    acted, status = efforts(source)[:, 0], np.array([state.status for state in source.states])
    assert (acted[1:51] == 0.01).all() and not status[:51].any()
    assert (status[51:151] == SAFE_STOP).all() and not acted[51:151].any()  # the next period is without force
    assert not status[151:].any()
    assert_allclose(acted[151:], 0.01 * np.minimum(1.0, np.arange(149) / 50.0), rtol=1e-14)
    limited = [state.limited for state in source.states]
    assert limited[151:201] == [DeviceState.ENGAGING] * 50 and not any(limited[:151] + limited[201:])
    assert source.errors() == [(51, {"status": SAFE_STOP, "reason": "emergency stop by service"})]


def test_an_emergency_stop_by_topic_is_latched_and_a_released_button_alone_ends_nothing(push):
    _, source, run = push(0.01, 0.0)
    source.at = {20: lambda: source.press(False), 50: source.press_and_wait}
    source.at |= {100: lambda: source.press(False), 150: lambda: source.press(True)}
    run()
    status = np.array([state.status for state in source.states])
    assert not status[:51].any() and (status[51:] == SAFE_STOP).all()
    assert not efforts(source)[51:].any()
    assert source.errors() == [(51, {"status": SAFE_STOP, "reason": "emergency stop by topic"})]  # said once


@pytest.mark.slow
def test_after_a_reset_the_next_emergency_stop_acts_again(push):
    _, source, run = push(0.01, 0.0)
    source.at = {20: source.press_and_wait, 40: lambda: source.call("reset"), 60: source.press_and_wait}
    run()
    status = np.array([state.status for state in source.states])
    assert (status[21:41] == SAFE_STOP).all() and not status[41:61].any() and (status[61:] == SAFE_STOP).all()
    assert not efforts(source)[61:].any()


@pytest.mark.slow
def test_the_force_of_a_source_that_was_started_anew_comes_in_slowly(push):
    _, source, run = push(0.01, 0.0)
    source.at = {50: source.announce_and_wait}
    run()
    engaging = np.array([state.limited == DeviceState.ENGAGING for state in source.states])
    first = int(np.argmax(engaging))
    assert first > 50 and engaging.sum() == 50
    assert_allclose(efforts(source)[1:first, 0], 0.01, rtol=1e-14)
    assert_allclose(efforts(source)[first:, 0], 0.01 * np.minimum(1.0, np.arange(300 - first) / 50.0), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("ramp", [0.0, 0.1])
def test_the_ramp_s_time_is_the_node_s_parameter(push, ramp):
    _, source, run = push(0.01, 0.0, engagement_time=ramp)
    source.at = {50: lambda: source.call("emergency_stop"), 60: lambda: source.call("reset")}
    run()
    scale = np.minimum(1.0, np.arange(239) * T / ramp) if ramp else 1.0
    assert_allclose(efforts(source)[61:, 0], 0.01 * scale * np.ones(239), rtol=1e-14)


@pytest.mark.slow
def test_an_emergency_stop_outlives_deactivation_and_a_new_configuration(push):
    node, source, run = push(0.01, 0.0)
    source.at = {100: lambda: source.call("reset")}
    request, response = Trigger.Request(), Trigger.Response()
    node._on_emergency_stop(request, response)  # before there is a device at all
    assert response.success
    assert node.trigger_configure() == node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    assert node.trigger_deactivate() == node.trigger_cleanup() == TransitionCallbackReturn.SUCCESS
    assert not node._on_reset(request, Trigger.Response()).success  # nothing is there to be reset
    run()
    status = np.array([state.status for state in source.states])
    assert (status[:101] == SAFE_STOP).all() and not status[101:].any()
    assert not efforts(source)[:101].any() and efforts(source)[-1, 0] == 0.01


@pytest.mark.slow
def test_active_limits_are_in_state_event_and_diagnostics(push):
    node, source, run = push(0.004, -5.0, device_parameters=["effort_limit=0.005", "effort_rate_limit=1"])
    run()
    bits = np.array([state.limited for state in source.states])
    # a torque of 0.005 N m at 0.001 N m a tick: five ticks, the last one of which is not limited by the rate
    assert bits[0] == 0 and (bits[1:5] == 3).all() and (bits[5:] == 1).all()
    assert_allclose(efforts(source)[1:6, 1], -1e-3 * np.arange(1, 6), rtol=1e-13)
    counts = {"effort": 299, "effort rate": 4}
    assert node._loop.safety.counts == counts
    told = [(event.tick, detail_of(event)) for event in source.events if event.kind == "limit"]
    assert told == [(1, {"limited": {"effort": 1, "effort rate": 1}})]
    (ending,) = (detail_of(event) for event in source.events if detail_of(event).get("state") == "inactive")
    assert ending["limited"] == counts
    values = node.diagnostic_values()
    assert (values["limited: effort"], values["limited: effort rate"]) == (299, 4)


def test_no_limit_is_reported_if_none_acts(push):
    node, source, run = push(0.01, 0.0)
    run()
    assert not any(state.limited for state in source.states)
    assert not any(event.kind == "limit" or "limited" in detail_of(event) for event in source.events)
    assert not any(name.startswith("limited") for name in node.diagnostic_values())


@pytest.mark.realtime
def test_realtime_device_stops_and_writes_its_last_ticks_after_its_process_was_suspended(push, monkeypatch, tmp_path):
    monkeypatch.setattr("haptic_devices.node.device_node.prepare_realtime", list)  # this process is pytest
    monkeypatch.setenv("HAPTICS_RUN_DIRECTORY", str(tmp_path))
    # a slow machine that does other work lets a source be silent for half a second, not for two
    _, source, run = push(0.01, 0.0, mode="realtime", period=0.02, watchdog_periods=100, duration=3.0)
    source.at = {50: lambda: (time.sleep(2.4), source._send())}  # fmt: skip
    run()
    ((tick, detail),) = source.errors()
    assert detail["reason"].startswith("the device was held up for ")
    assert not efforts(source)[tick:].any() and efforts(source)[:tick].any()
    ((_, stop, file),) = find_records(tmp_path)
    assert (stop, str(file)) == (tick, detail["flight_record"])
    ticks = np.load(file)
    assert list(ticks["tick"][-2:]) == [tick - 1, tick] and ticks["callbacks"].max() > 2e9  # 2.4 s of a callback


@pytest.mark.realtime
def test_each_emergency_stop_in_realtime_writes_the_last_ticks(push, monkeypatch, tmp_path):
    monkeypatch.setattr("haptic_devices.node.device_node.prepare_realtime", list)  # this process is pytest
    monkeypatch.setenv("HAPTICS_RUN_DIRECTORY", str(tmp_path))
    _, source, run = push(0.01, 0.0, mode="realtime", period=0.02, watchdog_periods=100, duration=3.0)
    source.at = {30: lambda: source.press(True), 70: lambda: source.call("reset"), 100: lambda: source.press(True)}
    run()
    errors = source.errors()
    assert [detail["reason"] for _, detail in errors] == ["emergency stop by topic"] * 2
    assert [tick for _, tick, _ in find_records(tmp_path)] == [tick for tick, _ in errors]


@pytest.mark.slow
def test_a_fault_stays_a_fault_under_an_emergency_stop(push):
    node, source, run = push(0.01, 0.0)

    def broken(effort: np.ndarray) -> None:
        node.device.write = write  # once  # type: ignore[method-assign]
        raise DeviceError("amplifier off")

    write: Any = None

    def breaks() -> None:
        nonlocal write
        write, node.device.write = node.device.write, broken  # type: ignore[method-assign]
        source._send()

    source.at = {
        50: breaks,
        60: lambda: source.call("emergency_stop"),
    }  # fmt: skip
    run()
    assert {state.status for state in source.states[51:]} == {FAULT}
