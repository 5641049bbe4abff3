"""Start of a device beside another run of the same experiment in its ROS domain: nodes of the same names and topics."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from machine_speed import limit
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core.errors import HapticError
from haptic_core.events import make_event
from haptic_core.qos import EVENT_DEPTH, latched_qos, tick_qos
from haptic_devices.node.device_node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent

_namespaces = (f"/test_beside_{os.getpid()}_{number}" for number in itertools.count())


class Source(Node):
    """A source of this or of another run; it announces itself when it is asked to, and answers each tick."""

    def __init__(self, context: Context, namespace: str, name: str, events: list[str]) -> None:
        super().__init__(name, context=context, namespace=namespace)
        self._events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"))
        self.heard = events
        self.create_subscription(TickEvent, "tick_event", self._hear, latched_qos(EVENT_DEPTH))

    def _hear(self, event: TickEvent) -> None:
        self.heard.append(next(value.value for value in event.values if value.key == "state"))

    def _answer(self, state: DeviceState) -> None:
        self._commands.publish(DeviceCommand(source=self.get_name(), tick=state.tick, mode=DeviceCommand.WRENCH))

    def announce(self, state: str) -> None:
        detail = {"state": state} | ({"mode": "WRENCH"} if state == "active" else {})
        self._events.publish(make_event(self.get_name(), "state", detail))

    def end(self) -> None:
        """Removes the publisher of the events, as the end of the process does."""
        self.destroy_publisher(self._events)


class Bench:
    """A joystick whose sources are `one` and `two`, on one executor with the nodes that a test adds."""

    def __init__(self, context: Context) -> None:
        self.context, self.namespace = context, next(_namespaces)
        values = {"device": "joystick", "sources": ["one", "two"], "duration": 0.05, "activation_timeout": 20.0}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.device = DeviceNode(context=context, namespace=self.namespace, parameter_overrides=overrides)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.device)
        self.nodes: list[Node] = [self.device]

    def add(self, node: Any) -> Any:
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def source(self, name: str) -> Source:
        return self.add(Source(self.context, self.namespace, name, []))

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + limit(120.0)
        while not condition():
            assert time.monotonic() < end, "the condition was not met in time"
            self.executor.spin_once(timeout_sec=0.1)

    def run(self) -> int:
        """Runs the device to its end, and returns the number of its ticks."""
        self.device.spin(self.executor)
        return self.device.tick + 1

    def close(self) -> None:
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()


@pytest.fixture
def bench(context: Context) -> Iterator[Bench]:
    made = Bench(context)
    yield made
    made.close()


def test_the_end_of_another_run_leaves_the_own_source_active(bench):
    own, other, late = (bench.source(name) for name in ("one", "one", "two"))
    bench.device.start()
    other.announce("active")
    bench.until(lambda: "active" in own.heard)
    own.announce("active")
    bench.until(lambda: bench.device.waiting_for == "source two")
    other.announce("inactive")
    bench.until(lambda: bench.device.waiting_for == "source one, source two")
    other.end()
    late.announce("active")
    assert bench.run() == 50


def test_a_source_that_ended_during_the_wait_counts_once_it_is_started_again(bench):
    killed, second = (bench.source(name) for name in ("one", "two"))
    bench.device.start()
    killed.announce("active")
    bench.until(lambda: bench.device.waiting_for == "source two")
    killed.end()
    bench.until(lambda: bench.device.waiting_for == "source one, source two")
    second.announce("active")
    bench.until(lambda: bench.device.waiting_for == "source one")
    bench.source("one").announce("active")
    assert bench.run() == 50


def test_events_of_a_run_that_came_and_went_before_the_activation_do_not_count(bench):
    own = [bench.source(name) for name in ("one", "two")]
    for source in own:
        source.announce("active")
    bench.device.prepare()
    other = bench.source("one")
    other.announce("active")
    other.announce("inactive")
    bench.until(lambda: own[1].heard[-1:] == ["inactive"])
    other.end()
    bench.until(lambda: bench.device.count_publishers("tick_event") == 3)  # of both sources and the device
    bench.device.start()
    assert bench.run() == 50


def test_a_device_refuses_at_once_beside_one_that_publishes_while_its_sources_are_missing(bench):
    other = bench.add(Node("device", context=bench.context, namespace=bench.namespace))
    states = other.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
    bench.device.start()
    bench.until(lambda: "another device" in bench.device.waiting_for)
    other.create_timer(0.01, lambda: states.publish(DeviceState(tick=7)))
    with pytest.raises(HapticError, match=r"another device already publishes /test_.*/device_state in this ROS domain"):
        bench.run()
