"""A rendering node and the device's side of its topics on a live graph, for the tests of the nodes."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from machine_speed import limit
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from visualization_msgs.msg import MarkerArray

from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_namespaces = (f"/test_{os.getpid()}_{number}" for number in itertools.count())

Own = TypeVar("Own", bound="NodeBench")


class NodeBench:
    """A rendering node and a device's side of its topics, served by one executor.

    Args:
        context: rclpy's.
        node_type: class of the node.
        parameters: by name; the others have their defaults.

    Attributes:
        commands, events, markers: messages of the node so far; markers after `watch`.
        tick: the last published.
    """

    def __init__(self, context: Context, node_type: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
        options = {"context": context, "namespace": next(_namespaces)}
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.node = node_type(parameter_overrides=overrides, **options)
        self.device = Node("device", **options)
        self.states = self.device.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
        self.commands: list[DeviceCommand] = self.subscribe(DeviceCommand, "device_command")
        self.events: list[TickEvent] = self.subscribe(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self.markers: list[MarkerArray] = []
        self.executor = SingleThreadedExecutor(context=context)
        for node in (self.node, self.device):
            self.executor.add_node(node)
        self.tick = -1

    def subscribe(self, kind: type, topic: str, qos: QoSProfile | None = None) -> list[Any]:
        """Returns the list to which the messages of a topic are appended from now on."""
        messages: list[Any] = []
        self.device.create_subscription(kind, topic, messages.append, qos or tick_qos("lockstep"))
        return messages

    def until(self, condition: Callable[[], Any]) -> Any:
        """Spins until the condition is true, and returns its value."""
        end = time.monotonic() + limit(120.0)
        while not (result := condition()):
            assert time.monotonic() < end, "the condition was not met in time"
            self.executor.spin_once(timeout_sec=0.1)
        return result

    def start(self: Own) -> Own:
        """Configures and activates the node."""
        assert (self.node.trigger_configure(), self.node.trigger_activate()) == (SUCCESS, SUCCESS)
        self.until(self.states.get_subscription_count)
        return self

    def watch(self) -> None:
        """Subscribes to the node's markers."""
        self.markers = self.subscribe(MarkerArray, f"{self.node.get_name()}/markers", display_qos())
        self.until(lambda: self.node._markers.get_subscription_count())

    def last(self, messages: list[Any]) -> Any:
        """Returns the message of this tick, the last of a list."""
        self.until(lambda: messages and messages[-1].tick == self.tick)
        return messages[-1]

    def call(self, kind: type, name: str, request: Any) -> Any:
        """Calls a service of the node."""
        client = self.device.create_client(kind, f"{self.node.get_name()}/{name}")
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def set(self, **values: Any) -> SetParametersResult:
        """Sets parameters of the node, all or none."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, "set_parameters_atomically", request).result

    def close(self) -> None:
        """Ends both nodes."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.device.destroy_node()


def made_benches(make: Callable[..., NodeBench]) -> Iterator[Callable[..., Any]]:
    """Yields, for a fixture, a function that makes benches, and closes them afterwards."""
    benches: list[NodeBench] = []

    def made(*arguments: Any, **parameters: Any) -> NodeBench:
        benches.append(make(*arguments, **parameters))
        return benches[-1]

    yield made
    for bench in benches:
        bench.close()
