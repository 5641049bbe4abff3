"""Topics of the device's node: states of each tick, energy at the actuators, and display topics for common tools."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from haptic_core.messages import ToolWriter, allocate, set_pose, set_stamp, set_wrench
from haptic_core.qos import clock_qos, display_qos, latched_qos, tick_publisher_qos
from haptic_core.suite_node import SuiteNode
from haptic_devices.device import Device, Reading
from haptic_devices.loop import TickLoop
from haptic_math.passivity import PassivityRule, Port
from haptic_msgs.msg import DeviceState, PassivityState, SimulationState


class DeviceTopics:
    """Publishers of a device and their messages, which are reused in each tick.

    Args:
        node: node with the publishers, from configure to cleanup.
        device: device of the node.
        loop: tick loop of the device.

    Attributes:
        states: publisher of DeviceState.
    """

    def __init__(self, node: SuiteNode, device: Device, loop: TickLoop) -> None:
        self._node, self._device, self._loop = node, device, loop
        p = node.parameters
        qos = tick_publisher_qos(p["mode"])
        self._make_messages(len(device.joints))
        self.states = node.create_lifecycle_publisher(
            DeviceState,
            "device_state",
            tick_publisher_qos(p["mode"], p["period"]),
            event_callbacks=node.deadline_events("device_state"),
        )
        self._truths = (
            node.create_lifecycle_publisher(SimulationState, "simulation_state", qos)
            if device.truth() is not None
            else None
        )
        self._port: Port | None = None
        self._balances: Any = None
        if p["passivity"] != "off":
            self._port = Port(PassivityRule(p["period"]), (1.0,) * len(device.joints))
            self._balances = node.create_lifecycle_publisher(PassivityState, "~/passivity", qos)
            self._balance = PassivityState(port=node.get_name())
        self._clocks = (
            node.create_lifecycle_publisher(Clock, "/clock", clock_qos()) if p["mode"] == "lockstep" else None
        )
        self._joint_states = node.create_lifecycle_publisher(JointState, "joint_states", display_qos())
        self._wrenches = node.create_lifecycle_publisher(WrenchStamped, "rendered_wrench", display_qos())
        self._measured_wrenches = (
            node.create_lifecycle_publisher(WrenchStamped, "measured_wrench", display_qos())
            if device.has_force_sensor
            else None
        )
        description = device.robot_description()  # published before the device is active
        self._descriptions = node.create_publisher(String, "robot_description", latched_qos()) if description else None
        if self._descriptions is not None:
            self._descriptions.publish(String(data=description))

    def _make_messages(self, n: int) -> None:
        device = self._device
        frame = device.base_frame
        self._state = DeviceState(period=self._node.parameters["period"], has_force_sensor=device.has_force_sensor)
        self._truth = SimulationState()
        self._joint_state = JointState(name=[*(joint.name for joint in device.joints), *device.passive_joints])
        self._wrench = WrenchStamped()
        for message in (self._state, self._truth, self._joint_state):
            message.header.frame_id = frame
        self._wrench.header.frame_id = device.tool_frame or frame
        self._no_efforts = [0.0] * device.passive_state().shape[1]  # compiles the device's kernels, too
        state, truth = self._state, self._truth
        self._state_joints = [allocate(state, f"joint_{name}", n) for name in ("position", "velocity", "effort")]
        self._truth_joints = [
            allocate(truth, name, n) for name in ("joint_position", "joint_velocity", "applied_effort")
        ]
        self._state_tool = ToolWriter(state.tool_pose, state.tool_twist, state.tool_wrench)
        self._truth_tool = ToolWriter(truth.tool_pose, truth.tool_twist, truth.operator_wrench)

    def tick_publishers(self) -> list[Any]:
        """Returns the publishers with one message a tick, that of DeviceState first."""
        return [one for one in (self.states, self._truths, self._balances) if one is not None]

    def restart(self) -> None:
        """Restarts the energy at the actuators, because the device may be at another position."""
        if self._port is not None:
            self._port.restart()
            self._last_position: list[float] | None = None

    def destroy(self) -> None:
        """Destroys all publishers."""
        displays = (self._clocks, self._joint_states, self._wrenches, self._measured_wrenches, self._descriptions)
        for publisher in (*self.tick_publishers(), *displays):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    def publish(self, reading: Reading, stamp: int) -> None:
        """Publishes the state of the loop's present tick, with true state and energy if there are topics for them.

        Args:
            reading: reading of the tick.
            stamp: stamp of the messages [ns].
        """
        state, loop, node = self._state, self._loop, self._node
        set_stamp(state.header, stamp)
        state.tick = loop.tick
        position, velocity, effort = self._state_joints
        position[:], velocity[:], effort[:] = reading.position, reading.velocity, reading.effort
        self._state_tool.write(reading.tool.tolist())
        state.buttons = reading.buttons
        state.status = loop.status
        state.limited = loop.safety.limited
        node.publish_tick(self.states, state)
        if self._truths is not None and node.transport.has_subscribers(self._truths):
            self._publish_truth(loop.tick, stamp)
        if self._port is not None:
            self._publish_balance(self._port, reading)

    def _publish_truth(self, tick: int, stamp: int) -> None:
        truth, message = self._device.truth(), self._truth
        assert truth is not None and self._truths is not None
        set_stamp(message.header, stamp)
        message.tick = tick
        position, velocity, effort = self._truth_joints
        position[:], velocity[:], effort[:] = truth.position, truth.velocity, truth.effort
        self._truth_tool.write(truth.tool.tolist())
        set_pose(message.operator_target, truth.operator_target)
        self._node.publish_tick(self._truths, message)

    def _publish_balance(self, port: Port, reading: Reading) -> None:
        position, last = reading.position.tolist(), self._last_position
        self._last_position = position
        if last is not None:
            port.absorb(reading.effort.tolist(), [now - then for now, then in zip(position, last, strict=True)])
        balance = self._balance
        balance.header, balance.tick = self._state.header, self._state.tick
        balance.energy, balance.power = port.energy, port.power
        self._node.publish_tick(self._balances, balance)

    def publish_display(self, reading: Reading) -> None:
        """Publishes time, joint states and wrenches of the last published tick, for displays.

        The time comes first, so that a viewer that follows /clock receives no message from the future.
        """
        if self._clocks is not None and self._clocks.get_subscription_count():
            self._clocks.publish(Clock(clock=self._state.header.stamp))
        if self._joint_states.get_subscription_count():
            passive = self._device.passive_state().tolist()
            joints = self._joint_state
            joints.header.stamp = self._state.header.stamp
            joints.position = [*reading.position.tolist(), *passive[0]]
            joints.velocity = [*reading.velocity.tolist(), *passive[1]]
            joints.effort = [*reading.effort.tolist(), *self._no_efforts]
            self._joint_states.publish(joints)
        self._publish_wrench(self._wrenches, reading, self._loop.collector.wrench())
        self._publish_wrench(self._measured_wrenches, reading, reading.tool_wrench)

    def _publish_wrench(self, publisher: Any, reading: Reading, wrench: np.ndarray) -> None:
        """Publishes a wrench as common tools expect it: at the origin and in the axes of its frame, the tool frame."""
        if publisher is None or not publisher.get_subscription_count():
            return
        self._wrench.header.stamp = self._state.header.stamp
        if self._device.tool_frame:
            wrench = _in_tool_axes(reading.tool_pose[3:7], wrench)
        set_wrench(self._wrench.wrench, wrench)
        publisher.publish(self._wrench)


def _in_tool_axes(orientation: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Rotates a wrench (6,) from the base frame to the axes of a frame with a unit quaternion (x, y, z, w)."""
    u, w, both = orientation[:3], orientation[3], wrench.reshape(2, 3)
    return (both + 2.0 * np.cross(u, np.cross(u, both) - w * both)).reshape(6)  # type: ignore[no-any-return]
