"""A rendering node and the device's side of its topics on a live graph, for the tests of the nodes."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hypothesis import settings
from machine_speed import limit
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core.errors import HapticError
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_core.rendering_node import RenderingNode
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, TickEvent

# repeatable, and no test fails because the machine is busy
settings.register_profile("haptic_suite", derandomize=True, deadline=None, database=None)
settings.load_profile("haptic_suite")

SUCCESS = TransitionCallbackReturn.SUCCESS

DAMPER = """
damper:
  damping: {type: double, default_value: 2.0, validation: {"bounds<>": [0.0, 100.0]}, description: "Damping [N s/m]"}
  mass: {type: double, default_value: 1.0, validation: {"bounds<>": [0.1, 100.0]}, description: "Mass [kg]"}
"""
_namespaces = (f"/test_{os.getpid()}_{number}" for number in itertools.count())


class DamperNode(RenderingNode):
    """The smallest rendering node: answers with -damping * velocity along x."""

    command_mode = "WRENCH"
    state_type = FrictionState

    def __init__(self, **options: Any) -> None:
        self.damping = math.nan
        super().__init__("damper", **options)

    def build(self, parameters: dict[str, Any]) -> float:
        if parameters["damping"] > 50.0 * parameters["mass"]:
            raise HapticError("damping: too much for the mass")
        return parameters["damping"]

    def install(self, built: float) -> None:
        self.damping = built

    def reset(self) -> None:
        self.state.dissipated_energy = 0.0

    def render(self, device: DeviceState) -> None:
        self.command.tool_wrench.force.x = -self.damping * device.tool_twist.linear.x

    def fill_state(self) -> None:
        self.state.dissipated_energy += 1.0


class Bench:
    """A rendering node and a device's side of its topics, served by one executor."""

    def __init__(self, context: Context, node_type: type = DamperNode, **parameters: Any) -> None:
        options = {"context": context, "namespace": next(_namespaces)}
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.node = node_type(parameter_overrides=overrides, **options)
        self.device = Node("device", **options)
        self.states = self.device.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
        self.commands: list[DeviceCommand] = []
        self.events: list[TickEvent] = []
        self.diagnostics: list[DiagnosticStatus] = []
        subscribe = self.device.create_subscription
        subscribe(DeviceCommand, "device_command", self.commands.append, tick_qos("lockstep"))
        subscribe(TickEvent, "tick_event", self.events.append, latched_qos(EVENT_DEPTH))
        subscribe(DiagnosticArray, "/diagnostics", lambda m: self.diagnostics.extend(m.status), display_qos())
        self.executor = SingleThreadedExecutor(context=context)
        for node in (self.node, self.device):
            self.executor.add_node(node)

    def until(self, condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + limit(120.0)
        while not (result := condition()):
            assert time.monotonic() < end, "the awaited condition did not come"
            self.executor.spin_once(timeout_sec=0.1)
        return result

    def start(self) -> Bench:
        assert (self.node.trigger_configure(), self.node.trigger_activate()) == (SUCCESS, SUCCESS)
        self.until(self.states.get_subscription_count)
        return self

    def publish(self, tick: int, *, velocity: float = 0.0, period: float = 1e-3) -> None:
        state = DeviceState(tick=tick, period=period)
        state.tool_twist.linear.x = velocity
        self.states.publish(state)

    def answer(self, tick: int, **state: float) -> DeviceCommand:
        self.publish(tick, **state)
        return self.until(lambda: [command for command in self.commands if command.tick == tick])[0]

    def event(self, kind: str) -> TickEvent:
        return self.until(lambda: [event for event in self.events if event.kind == kind])[-1]

    def call(self, kind: type, name: str, request: Any) -> Any:
        client = self.device.create_client(kind, f"{self.node.get_name()}/{name}")
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def set(self, **values: Any) -> SetParametersResult:
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, "set_parameters_atomically", request).result


@pytest.fixture(scope="session", autouse=True)
def damper_parameters(tmp_path_factory: pytest.TempPathFactory) -> None:
    DamperNode.parameter_file = tmp_path_factory.mktemp("parameters") / "damper.yaml"
    DamperNode.parameter_file.write_text(DAMPER)


@pytest.fixture
def damper_type() -> type[DamperNode]:
    return DamperNode


@pytest.fixture
def make(context: Context) -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def made(*arguments: Any, **parameters: Any) -> Bench:
        benches.append(Bench(context, *arguments, **parameters))
        return benches[-1]

    yield made
    for bench in benches:
        bench.executor.shutdown()
        bench.node.destroy_node()
        bench.device.destroy_node()
