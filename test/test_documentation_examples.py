"""The examples of the documentation: a driver in front of a stand-in for its SDK, a rendering node, both together."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core.commands import EFFORT, WRENCH
from haptic_core.errors import HapticError, ParameterError
from haptic_core.messages import set_vector
from haptic_core.qos import tick_qos
from haptic_devices.device import DeviceError, Reading
from haptic_devices.loop import FAULT, OK, SAFE_STOP, TickLoop
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


force_dimension = load("force_dimension")
spring_node = load("spring_node")


class FakeSdk:
    """The SDK's functions in front of a free mass: each reading of the position lets one period pass."""

    def __init__(self) -> None:
        self.position, self.velocity, self.force = np.zeros(3), np.zeros(3), np.zeros(3)
        self.calls: list[str] = []
        self.enabled = 0
        self.broken = ""

    def _answer(self, name: str) -> int:
        self.calls.append(name)
        return -1 if name == self.broken else 0

    def _write(self, name: str, values: np.ndarray, pointers: tuple[Any, ...]) -> int:
        answer = self._answer(name)
        if answer == 0:
            for pointer, value in zip(pointers, values.tolist(), strict=True):
                pointer._obj.value = value
        return answer

    def dhdOpen(self) -> int:  # noqa: N802
        return self._answer("dhdOpen")

    def dhdClose(self, device: int) -> int:  # noqa: N802
        return self._answer("dhdClose")

    def dhdEnableForce(self, on: int, device: int) -> int:  # noqa: N802
        self.enabled = on
        return self._answer("dhdEnableForce")

    def dhdGetPosition(self, x: Any, y: Any, z: Any, device: int) -> int:  # noqa: N802
        if self.enabled:
            self.velocity += PERIOD / MASS * self.force
            self.position += PERIOD * self.velocity
        return self._write("dhdGetPosition", self.position, (x, y, z))

    def dhdGetLinearVelocity(self, x: Any, y: Any, z: Any, device: int) -> int:  # noqa: N802
        return self._write("dhdGetLinearVelocity", self.velocity, (x, y, z))

    def dhdGetButtonMask(self, device: int) -> int:  # noqa: N802
        return 5

    def dhdSetForce(self, x: float, y: float, z: float, device: int) -> int:  # noqa: N802
        self.force = np.array([x, y, z])
        return self._answer("dhdSetForce")

    def dhdErrorGetLastStr(self) -> bytes:  # noqa: N802
        return b"no communication"


@pytest.fixture
def sdk() -> FakeSdk:
    return FakeSdk()


@pytest.fixture
def device(sdk: FakeSdk) -> Any:
    made = force_dimension.make(force_dimension.DEFAULT_FILE, sdk=sdk)
    made.configure(PERIOD)
    made.activate()
    return made


def run(loop: TickLoop, ticks: int, force: tuple[float, float, float]) -> Reading:
    for _ in range(ticks):
        command = DeviceCommand(source="a", tick=loop.tick, mode=WRENCH)
        set_vector(command.tool_wrench.force, force)
        loop.offer(command)
        reading = loop.advance()
    return reading


# ---- the driver -------------------------------------------------------------------------------------------


def test_a_constant_force_moves_the_stand_in_as_newton_says(device: Any) -> None:
    reading = run(TickLoop(device, ["a"]), 100, (1.0, 0.0, -2.0))
    # semi-implicit Euler of a constant force: v = n T F/m exactly, x = n (n + 1)/2 T^2 F/m; only rounding remains
    direction = np.array([1.0, 0.0, -2.0]) / MASS
    np.testing.assert_allclose(reading.tool_twist[0:3], 0.1 * direction, rtol=1e-12)
    np.testing.assert_allclose(reading.tool_pose[0:3], 100 * 101 / 2 * PERIOD**2 * direction, rtol=1e-12)
    np.testing.assert_array_equal(reading.position, reading.tool_pose[0:3])
    np.testing.assert_array_equal(reading.effort, [1.0, 0.0, -2.0])
    assert reading.buttons == 5


def test_joint_efforts_are_forces_and_add_to_wrenches(device: Any, sdk: FakeSdk) -> None:
    loop = TickLoop(device, ["a", "b"])
    wrench = DeviceCommand(source="a", tick=0, mode=WRENCH)
    wrench.tool_wrench.force.y = 3.0
    loop.offer(wrench)
    loop.offer(DeviceCommand(source="b", tick=0, mode=EFFORT, joint_effort=[0.0, 1.0, 2.0]))
    loop.advance()
    np.testing.assert_array_equal(sdk.force, [0.0, 4.0, 2.0])


def test_forces_are_limited_along_each_axis(sdk: FakeSdk) -> None:
    limited = force_dimension.make(force_dimension.DEFAULT_FILE, ["force_limit=3.0"], sdk)
    limited.configure(PERIOD)
    limited.activate()
    limited.write(np.array([10.0, -10.0, 1.0]))
    np.testing.assert_array_equal(sdk.force, [3.0, -3.0, 1.0])


@pytest.mark.parametrize("call", ["dhdGetPosition", "dhdGetLinearVelocity", "dhdSetForce"])
def test_a_failure_of_the_sdk_is_a_fault_with_the_motors_off_until_a_reset(
    device: Any, sdk: FakeSdk, call: str
) -> None:
    loop = TickLoop(device, ["a"])
    run(loop, 10, (1.0, 0.0, 0.0))
    sdk.broken = call
    run(loop, 3, (1.0, 0.0, 0.0))
    assert (loop.status, loop.reason) == (FAULT, f"{call}: no communication")
    assert sdk.enabled == 0 and not sdk.force.any()
    sdk.broken = ""
    device.activate()
    loop.resume()
    run(loop, 1, (1.0, 0.0, 0.0))
    assert loop.status == OK and sdk.enabled == 1 and sdk.force[0] == 1.0


def test_overspeed_takes_the_force_away_but_the_sensors_go_on(sdk: FakeSdk) -> None:
    slow = force_dimension.make(force_dimension.DEFAULT_FILE, ["velocity_limit=0.1"], sdk)
    slow.configure(PERIOD)
    slow.activate()
    loop = TickLoop(slow, ["a"])
    run(loop, 100, (1.0, 0.0, 0.0))  # reaches 0.1 m/s after 25 ms
    assert loop.status == SAFE_STOP and sdk.enabled == 0 and not sdk.force.any()
    slow.write(np.ones(3))  # by any command
    assert not sdk.force.any()
    sdk.position[:] = 0.01, 0.02, 0.03  # the user moves it
    np.testing.assert_array_equal(run(loop, 1, (1.0, 0.0, 0.0)).position, [0.01, 0.02, 0.03])


def test_a_device_that_is_not_there_is_refused_at_configure(sdk: FakeSdk) -> None:
    sdk.broken = "dhdOpen"
    with pytest.raises(DeviceError, match="dhdOpen: no communication"):
        force_dimension.make(force_dimension.DEFAULT_FILE, sdk=sdk).configure(PERIOD)
    with pytest.raises(DeviceError, match=r"library no_such_sdk\.so"):
        force_dimension.make(force_dimension.DEFAULT_FILE, ["library=no_such_sdk.so"]).configure(PERIOD)


SHARED_LIBRARY = """
static double force[3];
static int enabled;
extern "C" {
int dhdOpen(void) { return 0; }
int dhdClose(char id) { return id == -1 ? 0 : -1; }
int dhdEnableForce(unsigned char on, char id) { enabled = on; return id == -1 ? 0 : -1; }
int dhdGetPosition(double *x, double *y, double *z, char id) {
  *x = 0.01; *y = -0.02; *z = 0.03;
  return id == -1 ? 1 : -1;
}
int dhdGetLinearVelocity(double *x, double *y, double *z, char id) {
  *x = 0.1 * force[0]; *y = 0.1 * force[1]; *z = 0.1 * force[2];
  return id == -1 ? 0 : -1;
}
unsigned int dhdGetButtonMask(char id) { return id == -1 && enabled ? 0x80000001u : 0u; }
int dhdSetForce(double x, double y, double z, char id) {
  force[0] = x; force[1] = y; force[2] = z;
  return x > 5.0 ? -1 : 0;
}
const char *dhdErrorGetLastStr(void) { return "too much"; }
}
"""


def test_the_calls_fit_the_types_of_the_sdk(tmp_path: Path) -> None:
    compiler, source, library = shutil.which("c++") or shutil.which("g++"), tmp_path / "dhd.cpp", tmp_path / "libdhd.so"
    assert compiler is not None
    source.write_text(SHARED_LIBRARY)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    device = force_dimension.make(force_dimension.DEFAULT_FILE, [f"library={library}"])
    device.configure(PERIOD)
    device.activate()
    device.write(np.array([1.0, 2.0, -3.0]))
    reading = device.read()
    np.testing.assert_array_equal(reading.tool_pose[0:3], [0.01, -0.02, 0.03])
    np.testing.assert_array_equal(reading.tool_twist[0:3], 0.1 * np.array([1.0, 2.0, -3.0]))
    assert reading.buttons == 0x80000001  # not negative: the mask is unsigned
    with pytest.raises(DeviceError, match="dhdSetForce: too much"):
        device.write(np.array([6.0, 0.0, 0.0]))
    device.deactivate()


def test_deactivate_ends_with_the_motors_off_and_the_device_closed(device: Any, sdk: FakeSdk) -> None:
    device.write(np.ones(3))
    device.deactivate()
    assert sdk.calls[-3:] == ["dhdSetForce", "dhdEnableForce", "dhdClose"]
    assert sdk.enabled == 0 and not sdk.force.any()


def test_the_factory_makes_the_device_and_refuses_lockstep() -> None:
    parameters = {"mode": "realtime", "device_file": "", "device_parameters": ["reach=0.05"]}
    assert [joint.upper for joint in force_dimension.force_dimension(parameters).joints] == [0.05] * 3
    with pytest.raises(ParameterError, match="expected realtime"):
        force_dimension.force_dimension({**parameters, "mode": "lockstep"})
    with pytest.raises(HapticError, match="reach"):
        force_dimension.force_dimension({**parameters, "device_parameters": ["reach=-1.0"]})


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
    device: Any, ask: Callable[[Any], Any]
) -> None:
    loop = TickLoop(device, ["spring"])
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
