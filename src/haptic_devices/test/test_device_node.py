"""The device node on a live graph: motions from a source to the device, and numbers of the device from parameters."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core.commands import CommandConflictError
from haptic_core.qos import EVENT_DEPTH, latched_qos, tick_qos
from haptic_devices.node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState, SimulationState, TickEvent

SPEED = 0.05
_namespaces = (f"/test_device_{os.getpid()}_{number}" for number in itertools.count())


class Leader(Node):
    """A source that leads the tool along x at a constant speed, and keeps what the device says."""

    def __init__(self, context: Context, namespace: str, mode: str, name: str = "leader") -> None:
        super().__init__(name, context=context, namespace=namespace)
        self.states: list[DeviceState] = []
        self.truths: list[SimulationState] = []
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        events.publish(TickEvent(source=name, kind="state", detail=json.dumps({"state": "active", "mode": mode})))
        self._events = events
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"))
        self.create_subscription(SimulationState, "simulation_state", self.truths.append, tick_qos("lockstep"))

    def _answer(self, state: DeviceState) -> None:
        self.states.append(state)
        command = DeviceCommand(source=self.get_name(), tick=state.tick, mode=DeviceCommand.MOTION, motion_fields=3)
        command.tool_pose.position.x = SPEED * state.period * (state.tick + 1)
        command.tool_twist.linear.x = SPEED
        self._commands.publish(command)


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        own = Context()
        rclpy.init(context=own, domain_id=52)
        yield own
        rclpy.shutdown(context=own)


@pytest.fixture
def run(context: Context) -> Iterator[Callable[..., tuple[DeviceNode, Leader]]]:
    made: list[Any] = []

    def start(*others: str, mode: str = "MOTION", **parameters: Any) -> tuple[DeviceNode, Leader]:
        namespace = next(_namespaces)
        values = {"held": False, "duration": 0.2, "sources": ["leader", *others], **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = DeviceNode(context=context, namespace=namespace, parameter_overrides=overrides)
        sources = [Leader(context, namespace, mode, name) for name in ("leader", *others)]
        executor = SingleThreadedExecutor(context=context)
        made.extend([executor.shutdown, node.destroy_node, *(source.destroy_node for source in sources)])
        for each in (node, *sources):
            executor.add_node(each)
        node.start()
        node.spin(executor)
        assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
        while len(sources[0].states) < node.tick + 1:  # the last state may still be on its way
            executor.spin_once(timeout_sec=1.0)
        return node, sources[0]

    yield start
    for end in made:
        end()


def test_a_motion_command_moves_the_five_bar(run):
    node, leader = run(device="five_bar")
    assert [state.tick for state in leader.states] == list(range(200))
    last, first = leader.states[-1], leader.states[0]
    assert first.header.frame_id == "five_bar_base" and first.has_force_sensor
    # the command of tick 198 asked for 199 periods' way; the servo, not yet settled, is within half a millimetre
    assert last.tool_pose.position.x == pytest.approx(SPEED * 0.199, abs=5e-4)
    assert last.tool_twist.linear.x == pytest.approx(SPEED, rel=0.2)
    assert last.joint_effort[0] * last.joint_effort[1] > 0.0 and node.rejections.counts == {}


def test_a_delay_of_the_commands_delays_the_motion(run):
    ways = [run(device="five_bar", command_delay_ticks=delay)[1].states[-1].tool_pose.position.x for delay in (0, 40)]
    assert ways[0] - ways[1] == pytest.approx(40e-3 * SPEED, abs=5e-4)


def test_the_parameters_of_the_device_are_chosen_by_the_node_s(run):
    results = []
    for entries in ([""], ["compensation=parallel"], ["effort_limit=5.0", "friction_coulomb=20", "friction_static=20"]):
        node, leader = run(device="five_bar", device_parameters=entries)
        results.append((node.device.parameters, leader.states[-1]))
    assert [parameters.compensation for parameters, _ in results] == ["none", "parallel", "none"]
    assert results[2][0].effort_limit == 5.0
    assert abs(results[2][1].tool_pose.position.x) < 1e-3  # too weak to move
    assert results[0][1] != results[1][1]


def test_an_impedance_device_refuses_a_source_of_motion(run):
    with pytest.raises(CommandConflictError, match="source leader: an impedance device takes EFFORT or WRENCH"):
        run(device="joystick")


def test_two_sources_of_motion_are_refused_by_an_admittance_device_and_taken_by_a_script(run):
    with pytest.raises(CommandConflictError, match="sources leader, second: at most one may command MOTION"):
        run("second", device="five_bar")
    node, leader = run("second", device="scripted")
    assert len(leader.states) == 200 and node.rejections.counts == {}
