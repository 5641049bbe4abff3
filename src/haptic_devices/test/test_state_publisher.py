"""The process that becomes robot_state_publisher: what that is started with, and when."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
import yaml
from machine_speed import limit
from rclpy.context import Context
from rclpy.node import Node
from std_msgs.msg import String

from haptic_core.qos import latched_qos
from haptic_devices.node.state_publisher import publisher_command

#: what YAML could take for something else
DESCRIPTION = '<robot name="a: b">\n  <!-- \'x\' # - [1, {2}] -->\n  <link name="tau_base"/>\n</robot>\n'
#: says with what it was started, and what the file of parameters holds
PUBLISHER = """#!{python}
import sys
from pathlib import Path
import yaml
arguments = sys.argv[1:]
file = arguments[len(arguments) - 1 - arguments[::-1].index("--params-file") + 1]
(values,) = yaml.safe_load(Path(file).read_text()).values()
arguments[arguments.index(file)] = "FILE"
Path({output!r}).write_text(yaml.safe_dump([arguments, values["ros__parameters"]]))
"""


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    own = Context()
    yield own
    rclpy.try_shutdown(context=own)


def test_ros_reads_the_description_as_it_is(context: Context) -> None:
    command = publisher_command(Path("/publisher"), ["--ros-args", "-r", "__ns:=/tau"], DESCRIPTION)
    assert command[:4] == ["/publisher", "--ros-args", "-r", "__ns:=/tau"]
    rclpy.init(args=command, context=context)
    node = Node("robot_state_publisher", context=context)
    assert node.get_namespace() == "/tau"
    assert node.declare_parameter("robot_description", "").value == DESCRIPTION
    assert node.declare_parameter("ignore_timestamp", False).value is True
    assert node.resolve_topic_name("robot_description") == "/tau/robot_state_publisher/robot_description"
    assert node.resolve_topic_name("joint_states") == "/tau/joint_states"
    node.destroy_node()


def start(prefix: Path | None, *arguments: str) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    if prefix is not None:
        environment["AMENT_PREFIX_PATH"] = f"{prefix}:{environment['AMENT_PREFIX_PATH']}"
    return subprocess.Popen(
        [sys.executable, "-c", "from haptic_devices.node.state_publisher import main; main()", *arguments],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_becomes_the_publisher_once_the_device_has_described_itself(context: Context, tmp_path: Path) -> None:
    output, program = tmp_path / "started.yaml", tmp_path / "lib/robot_state_publisher/robot_state_publisher"
    marker = tmp_path / "share/ament_index/resource_index/packages/robot_state_publisher"
    for path in (program, marker):
        path.parent.mkdir(parents=True)
    marker.touch()
    program.write_text(PUBLISHER.format(python=sys.executable, output=str(output)))
    program.chmod(0o755)
    rclpy.init(context=context)
    device = Node("device", context=context, namespace="/joystick")
    arguments = ["--ros-args", "-r", "__node:=robot_state_publisher", "-r", "__ns:=/joystick"]
    process = start(tmp_path, *arguments)
    publisher = device.create_publisher(String, "robot_description", latched_qos())
    publisher.publish(String(data=DESCRIPTION))
    assert process.wait(timeout=limit(60.0)) == 0, process.stderr.read()
    given, parameters = yaml.safe_load(output.read_text())
    own = ["--ros-args", "--params-file", "FILE", "-r", "robot_description:=~/robot_description"]
    assert given == [*arguments, *own]
    assert parameters == {"robot_description": DESCRIPTION, "ignore_timestamp": True}
    device.destroy_node()


@pytest.mark.slow
def test_error_without_robot_state_publisher_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    process = start(None)
    _, said = process.communicate(timeout=limit(60.0))
    assert process.returncode == 1
    assert said == ("error: robot_state_publisher is not installed; install ros-jazzy-robot-state-publisher\n")
