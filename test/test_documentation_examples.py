"""The examples of the documentation: a driver in front of an emulated controller, a rendering node, both together."""

from __future__ import annotations

import importlib.util
import math
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from device_emulators import make, run
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core.commands import WRENCH
from haptic_core.errors import ParameterError
from haptic_core.messages import set_vector
from haptic_core.qos import tick_qos
from haptic_devices.loop import FAULT, OK, TickLoop
from haptic_msgs.msg import DeviceCommand, DeviceState, PassivityState

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
PERIOD = 1e-3
MASS = 0.25  # kg, of the stand-in
PATIENCE = 120.0  # longest wait for a condition [s]; only a defect lets it pass


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


udp_handle = load("udp_handle")
spring_node = load("spring_node")


class Handle:
    """A controller with a free mass: each datagram with a force lets one period pass, and is answered."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(PATIENCE)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.position, self.velocity, self.force = 0.0, 0.0, 0.0

    def step(self) -> None:
        """Takes one datagram; the answer has arrived when this returns, since both ends share the machine."""
        data, sender = self._socket.recvfrom(64)
        self.force = float(data)
        self.velocity += PERIOD / MASS * self.force
        self.position += PERIOD * self.velocity
        self.say(f"{self.position!r} {self.velocity!r}", sender)

    def say(self, text: str, address: tuple[str, int]) -> None:
        self._socket.sendto(text.encode(), address)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def handle() -> Iterator[Handle]:
    made = Handle()
    yield made
    made.close()


@pytest.fixture
def device(handle: Handle) -> Any:
    made = make(udp_handle.DRIVER, f"port={handle.port}")
    made.configure(PERIOD)
    made.activate()
    handle.step()
    return made


class Stepping:
    """The device as the loop sees it, with the handle's period after each command."""

    def __init__(self, device: Any, handle: Handle) -> None:
        self._device, self._handle = device, handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def write(self, effort: np.ndarray) -> None:
        self._device.write(effort)
        self._handle.step()


# ---- the driver -------------------------------------------------------------------------------------------


def test_constant_force_accelerates_the_handle_by_newtons_law(device: Any, handle: Handle) -> None:
    reading = run(TickLoop(Stepping(device, handle), ["a"]), 100, (1.0, 0.0, 0.0))
    # semi-implicit Euler of a constant force: v = n T F/m exactly, x = n (n + 1)/2 T^2 F/m; only rounding remains
    assert reading.velocity[0] == pytest.approx(0.1 / MASS, rel=1e-9)
    assert reading.position[0] == pytest.approx(100 * 101 / 2 * PERIOD**2 / MASS, rel=1e-9)
    assert reading.effort[0] == 1.0 and handle.force == 1.0


@pytest.mark.parametrize("text", ["nan 0.0", "hello", "0.1"])
def test_a_datagram_without_two_finite_numbers_is_a_fault(device: Any, handle: Handle, text: str) -> None:
    loop = TickLoop(device, ["a"])
    handle.say(text, device._socket.getsockname())
    run(loop, 1, (1.0, 0.0, 0.0))
    assert loop.status == FAULT and loop.reason.startswith("udp_handle: ")
    handle._socket.recv(64)  # the force of the tick
    handle.step()
    assert handle.force == 0.0


def test_a_silent_controller_is_a_fault(device: Any) -> None:
    loop = TickLoop(device, ["a"])
    run(loop, 30, (1.0, 0.0, 0.0))
    assert (loop.status, loop.reason) == (FAULT, "udp_handle: no new values for 20 periods")


# ---- the rendering node -----------------------------------------------------------------------------------


def test_the_spring_pulls_back_to_its_anchor_and_the_damper_brakes() -> None:
    numbers = {"anchor": np.array([0.1, 0.0, 0.0]), "stiffness": 200.0, "damping": 2.0}
    force = spring_node.spring_force(np.array([0.11, 0.0, 0.02]), np.array([0.0, 0.5, 0.0]), **numbers)
    np.testing.assert_allclose(force, [-2.0, -1.0, -4.0], rtol=1e-12)


def test_the_energy_taken_from_the_hand_is_that_of_the_spring() -> None:
    # led slowly from rest to 10 mm without damping: K x^2/2, to first order in the step, 1/1000 of the way
    spring = spring_node.Spring(np.zeros(3), stiffness=200.0, damping=0.0, period=PERIOD)
    for k in range(1000):
        spring.step(np.array([1e-5 * k, 0.0, 0.0]), np.array([0.01, 0.0, 0.0]))
    assert spring.energy == pytest.approx(0.5 * 200.0 * 0.01**2, rel=2e-3)
    spring.reset()
    assert spring.energy == 0.0


def test_an_anchor_that_is_no_point_is_refused(context: Context) -> None:
    overrides = [Parameter("anchor", value=[0.0, 0.1])]
    node = spring_node.SpringNode(context=context, namespace="/refused", parameter_overrides=overrides)
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    with pytest.raises(ParameterError, match="anchor: expected 3 numbers, got 2"):
        node.build(node.parameters)
    node.destroy_node()


@pytest.fixture
def ask(context: Context) -> Iterator[Callable[[Any], Any]]:
    """Starts a spring node; what it gives publishes a device state and returns the answer of the same tick."""
    overrides = [Parameter("anchor", value=[0.01, 0.0, 0.0]), Parameter("stiffness", value=400.0)]
    overrides.append(Parameter("damping", value=4.0))
    node = spring_node.SpringNode(context=context, namespace="/example", parameter_overrides=overrides)
    other = Node("device", context=context, namespace="/example")
    commands: list[DeviceCommand] = []
    states: list[PassivityState] = []
    publisher = other.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
    other.create_subscription(DeviceCommand, "device_command", commands.append, tick_qos("lockstep"))
    other.create_subscription(PassivityState, "spring/state", states.append, tick_qos("lockstep"))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    executor.add_node(other)

    def until(condition: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the awaited condition did not come"
            executor.spin_once(timeout_sec=0.1)

    def asked(state: DeviceState) -> tuple[DeviceCommand, PassivityState]:
        publisher.publish(state)
        until(lambda: len(commands) == len(states) == state.tick + 1)
        return commands[-1], states[-1]

    success = TransitionCallbackReturn.SUCCESS
    assert (node.trigger_configure(), node.trigger_activate()) == (success, success)
    until(publisher.get_subscription_count)
    yield asked
    executor.shutdown()
    node.destroy_node()
    other.destroy_node()


def test_driver_and_node_make_a_loop_in_which_the_tool_comes_to_rest_at_the_anchor(
    device: Any, handle: Handle, ask: Callable[[Any], Any]
) -> None:
    loop = TickLoop(Stepping(device, handle), ["spring"])
    reading = device.read()
    # m x'' = -K (x - x0) - B x': 6.4 Hz, damping ratio 0.2; after 30 ticks the exact solution from rest is
    # x = x0 (1 - e^(-d t) (cos w t + d/w sin w t)), d = B/2m, w^2 = K/m - d^2
    for tick in range(30):
        state = DeviceState(tick=tick, period=PERIOD)
        set_vector(state.tool_pose.position, reading.tool_pose[0:3])
        set_vector(state.tool_twist.linear, reading.tool_twist[0:3])
        command, passivity = ask(state)
        assert (command.tick, command.source, command.mode) == (tick, "spring", WRENCH)
        assert loop.offer(command)
        reading = loop.advance()
    t, d = 30 * PERIOD, 4.0 / (2 * MASS)
    w = math.sqrt(400.0 / MASS - d**2)
    expected = 0.01 * (1.0 - math.exp(-d * t) * (math.cos(w * t) + d / w * math.sin(w * t)))
    # first-order integration: the error is about w T/2 = 2 % of the amplitude
    assert reading.position[0] == pytest.approx(expected, abs=0.03 * 0.01)
    assert reading.position[0] > 0.003
    # what the spring gave to the tool is its kinetic energy, to the same order
    assert -passivity.energy == pytest.approx(0.5 * MASS * reading.velocity[0] ** 2, rel=0.1)
    assert loop.status == OK and loop.missed == 0
