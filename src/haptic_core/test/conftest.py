"""A rendering node and the device's side of its topics on a live graph, for the tests of the nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from node_bench import NodeBench, made_benches
from rclpy.context import Context

from haptic_core.errors import HapticError
from haptic_core.qos import display_qos
from haptic_core.rendering_node import RenderingNode
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, TickEvent

DAMPER = """
damper:
  damping: {type: double, default_value: 2.0, validation: {"bounds<>": [0.0, 100.0]}, description: "Damping [N s/m]"}
  mass: {type: double, default_value: 1.0, validation: {"bounds<>": [0.1, 100.0]}, description: "Mass [kg]"}
"""


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


class Bench(NodeBench):
    """A rendering node; `diagnostics` are its messages so far."""

    def __init__(self, context: Context, node_type: type = DamperNode, **parameters: Any) -> None:
        super().__init__(context, node_type, parameters)
        self.diagnostics: list[DiagnosticStatus] = []
        self.device.create_subscription(
            DiagnosticArray, "/diagnostics", lambda m: self.diagnostics.extend(m.status), display_qos()
        )

    def publish(self, tick: int, *, velocity: float = 0.0, period: float = 1e-3) -> None:
        state = DeviceState(tick=tick, period=period)
        state.tool_twist.linear.x = velocity
        self.states.publish(state)

    def answer(self, tick: int, **state: float) -> DeviceCommand:
        self.publish(tick, **state)
        return self.until(lambda: [command for command in self.commands if command.tick == tick])[0]

    def event(self, kind: str) -> TickEvent:
        return self.until(lambda: [event for event in self.events if event.kind == kind])[-1]


@pytest.fixture(scope="session", autouse=True)
def damper_parameters(tmp_path_factory: pytest.TempPathFactory) -> None:
    DamperNode.parameter_file = tmp_path_factory.mktemp("parameters") / "damper.yaml"
    DamperNode.parameter_file.write_text(DAMPER)


@pytest.fixture
def damper_type() -> type[DamperNode]:
    return DamperNode


@pytest.fixture
def make(context: Context) -> Iterator[Callable[..., Bench]]:
    yield from made_benches(lambda *arguments, **parameters: Bench(context, *arguments, **parameters))
