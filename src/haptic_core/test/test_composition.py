"""Several nodes in one process: which nodes, with which parameters, their start and their end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ament_index_python.packages import get_package_prefix
from machine_speed import limit
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from haptic_core.composition import node_class, split
from haptic_core.errors import ParameterError
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, latched_qos, tick_qos
from haptic_friction.network_node import NetworkNode
from haptic_friction.node import FrictionNode
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent

FRICTION = "haptic_friction/friction_node"


def test_a_node_is_found_by_its_installed_executable() -> None:
    assert node_class(FRICTION) is FrictionNode
    assert node_class("haptic_friction/network_node") is NetworkNode  # another one of the same package


@pytest.mark.parametrize(
    ("executable", "message"),
    [
        ("haptic_friction/wall_node", "parameter nodes: expected package/executable of an installed node, got 'haptic"),
        ("/tmp/friction_node", "expected package/executable of an installed node, got '/tmp/friction_node'"),
        ("friction_node", "expected package/executable of an installed node, got 'friction_node'"),
        ("haptic_devices/state_publisher", "haptic_devices/state_publisher cannot share a process"),
    ],
)  # fmt: skip
def test_executable_that_is_not_installed_is_refused(executable: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        node_class(executable)


def test_parameters_go_to_the_node_before_the_first_dot() -> None:
    given = {"nodes": [f"one={FRICTION}", "two=a/b"], "one.mode": "lockstep", "two.deep.name": 3}
    assert split(given) == {"one": (FRICTION, {"mode": "lockstep"}), "two": ("a/b", {"deep.name": 3})}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "parameter nodes: expected a list of name=package/executable, got None"),
        ({"nodes": []}, "parameter nodes: expected a list"),
        ({"nodes": ["a/b"]}, "expected name=package/executable, each name once, got 'a/b'"),
        ({"nodes": ["one=a/b", "one=a/b"]}, "each name once, got 'one=a/b'"),
        ({"nodes": ["one=a/b"], "two.mode": 1}, "parameter two.mode: expected the name of one of one before a dot"),
        ({"nodes": ["one=a/b"], "one": 1}, "parameter one: expected the name of one of one before a dot"),
    ],
)
def test_a_malformed_composition_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        split(given)


def start(folder: Path, **parameters: Any) -> subprocess.Popen[str]:
    """composed_nodes with these parameters, in the namespace /pair."""
    file = folder / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    program = Path(get_package_prefix("haptic_core")) / "lib" / "haptic_core" / "composed_nodes"
    command = [str(program), "--ros-args", "-r", "__node:=shell", "-r", "__ns:=/pair", "--params-file", str(file)]
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_nodes_in_one_process_are_nodes_as_ever(tmp_path: Path, context: Context) -> None:
    """Two sources answer a device of another process, each with its own name and parameters, and end orderly."""
    forces = {"soft": 1.0, "hard": 3.0}
    device = Node("device", context=context, namespace="/pair")
    commands: dict[str, float] = {}
    events: list[TickEvent] = []

    def take(command: DeviceCommand) -> None:
        commands[command.source] = command.tool_wrench.force.x

    device.create_subscription(DeviceCommand, "device_command", take, tick_qos("lockstep"))
    device.create_subscription(TickEvent, "tick_event", events.append, latched_qos(EVENT_DEPTH))
    states = device.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(device)

    def said(what: str) -> set[str]:
        executor.spin_once(timeout_sec=0.1)
        return {event.source for event in events if event.kind == "state" and detail_of(event)["state"] == what}

    parameters = {name: {"friction_force": force, "recorded": False} for name, force in forces.items()}
    process = start(tmp_path, nodes=[f"{name}={FRICTION}" for name in forces], **parameters)
    try:
        while said("active") != set(forces):
            assert process.poll() is None, process.communicate()
        while {name for name, space in device.get_node_names_and_namespaces() if space == "/pair"} != {
            "device",
            *forces,
        }:
            executor.spin_once(timeout_sec=0.1)  # no node beside those, or pytest's time is up
        state = DeviceState(tick=0, period=1e-3)
        state.tool_twist.linear.x = 1.0
        states.publish(state)
        while len(commands) < 2:
            executor.spin_once(timeout_sec=0.1)
            assert process.poll() is None, process.communicate()
        assert commands == {name: pytest.approx(-force) for name, force in forces.items()}
        process.send_signal(signal.SIGINT)
        while said("inactive") != set(forces):
            pass
        output, _ = process.communicate(timeout=limit(200.0))
        assert (process.returncode, output) == (0, "")
    finally:
        process.kill()
        process.wait()
        executor.shutdown()
        device.destroy_node()


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"friction_force": -1.0}, "error: two: parameter friction_force: expected from 0"),
        ({"model": "C", "inputs": ["walls"]}, "configure refused: parameter inputs: expected kinds of"),
    ],
)
def test_one_node_that_cannot_start_ends_the_process_with_one_line(
    tmp_path: Path, second: dict[str, Any], message: str
) -> None:
    process = start(tmp_path, nodes=[f"one={FRICTION}", f"two={FRICTION}"], two=second)
    output, _ = process.communicate(timeout=limit(200.0))
    assert process.returncode == 1
    assert output.count(message) == 1 and "Traceback" not in output, output
