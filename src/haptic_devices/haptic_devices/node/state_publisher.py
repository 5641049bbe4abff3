"""Starts the standard robot_state_publisher with the description that the device publishes.

In Jazzy that node accepts a description only as a parameter, and a launch file does not have the description, which
depends on the device's parameters. So this process waits for the device's topic and then replaces itself by
robot_state_publisher, with the same name, namespace and further arguments.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import rclpy
import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String

from haptic_core.qos import latched_qos

PACKAGE = "robot_state_publisher"


def find_publisher() -> Path:
    """Returns the executable of robot_state_publisher; raises PackageNotFoundError if it is not installed."""
    return Path(get_package_prefix(PACKAGE)) / "lib" / PACKAGE / PACKAGE


def wait_for_description(arguments: list[str]) -> str:
    """Waits for the device's URDF and returns it; empty after Ctrl-C.

    Args:
        arguments: arguments of this process, with the namespace of the topic.
    """
    received: list[str] = []
    rclpy.init(args=arguments)
    try:
        node = Node("state_publisher")
        node.create_subscription(String, "robot_description", lambda m: received.append(m.data), latched_qos())
        while not received:
            rclpy.spin_once(node)
        node.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
    return received[0] if received else ""


def publisher_command(executable: Path, arguments: list[str], description: str) -> list[str]:
    """Makes the command line of robot_state_publisher.

    The description is in a file that only this process, also as robot_state_publisher, can read. Joint states are used
    whatever their stamp, because in lockstep the time of each run begins at 0.

    Args:
        executable: executable of robot_state_publisher.
        arguments: arguments of this process, without its name.
        description: URDF of the device.
    """
    parameters = {"robot_description": description, "ignore_timestamp": True}
    file = os.memfd_create("robot_description", 0)
    os.write(file, yaml.safe_dump({"/**": {"ros__parameters": parameters}}).encode())
    # another topic for its copy of the description, since the device publishes robot_description
    own = ["--ros-args", "--params-file", f"/proc/self/fd/{file}", "-r", "robot_description:=~/robot_description"]
    return [str(executable), *arguments, *own]


def main() -> NoReturn:
    """Runs the executable state_publisher."""
    try:
        executable = find_publisher()
    except PackageNotFoundError:
        sys.exit(f"error: {PACKAGE} is not installed; install ros-jazzy-robot-state-publisher")
    description = wait_for_description(sys.argv)
    if not description:
        sys.exit(0)
    command = publisher_command(executable, sys.argv[1:], description)
    sys.stdout.flush()
    os.execv(command[0], command)
