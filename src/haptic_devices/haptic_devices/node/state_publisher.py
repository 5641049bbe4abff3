"""Starts the standard robot_state_publisher with the description that the device publishes.

In Jazzy that node takes a description as a parameter only, and a launch file cannot know the description, which depends
on the device's parameters. So this process waits for the device's topic and then becomes robot_state_publisher, with
its own name, namespace and further arguments.
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
    """Its executable; raises PackageNotFoundError where it is not installed."""
    return Path(get_package_prefix(PACKAGE)) / "lib" / PACKAGE / PACKAGE


def wait_for_description(arguments: list[str]) -> str:
    """The device's URDF; empty after Ctrl-C.

    Args:
        arguments: of this process; the topic is in the namespace that they give.
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
    """The command line for robot_state_publisher.

    The description is in a file that only this process, also as robot_state_publisher, can read. Every joint state is
    taken, whatever its stamp: in lockstep the time of the next run begins at 0 again.

    Args:
        executable: of robot_state_publisher.
        arguments: of this process, after its name.
        description: URDF.
    """
    parameters = {"robot_description": description, "ignore_timestamp": True}
    file = os.memfd_create("robot_description", 0)
    os.write(file, yaml.safe_dump({"/**": {"ros__parameters": parameters}}).encode())
    # its own copy of the description gets another topic: the device's exists already
    own = ["--ros-args", "--params-file", f"/proc/self/fd/{file}", "-r", "robot_description:=~/robot_description"]
    return [str(executable), *arguments, *own]


def main() -> NoReturn:
    """Entry point of the executable state_publisher."""
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
