"""The page of an experiment that is running already."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

import rclpy

from haptic_core.errors import HapticError
from haptic_launch.launch_file import find_executable
from haptic_launch.runner import UsageError, parse_arguments
from haptic_viewer.page import check_view

_DEVICE_STATE = "haptic_msgs/msg/DeviceState"
#: how long a running experiment is looked for [s]
_SEARCH = 5.0


class NothingRunsError(HapticError):
    """There is no experiment to show.

    Attributes:
        hint: advice to the user.
    """

    hint = "./haptics view EXPERIMENT runs one; one in another ROS_DOMAIN_ID is not seen"


def running_namespaces(timeout: float = _SEARCH) -> list[str]:
    """Namespaces in which a device publishes its state; those of the first one found, and beside it."""
    rclpy.init()
    try:
        node, end = rclpy.create_node("viewer_search", start_parameter_services=False, enable_rosout=False), 0.0
        end = time.monotonic() + timeout
        found: list[str] = []
        while not found and time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
            found = sorted(
                name.rpartition("/")[0]
                for name, kinds in node.get_topic_names_and_types()
                if kinds == [_DEVICE_STATE] and node.count_publishers(name)
            )
        node.destroy_node()
        return found
    finally:
        rclpy.try_shutdown()


def show_what_runs(words: Sequence[str]) -> NoReturn:
    """Becomes the viewer of the running experiment.

    Args:
        words: view_host:=, view_port:=, view_token:=.

    Raises:
        HapticError: no page can be opened, nothing or too much is running.
    """
    options = {"view_host": "127.0.0.1", "view_port": "8080", "view_token": ""}
    given = parse_arguments(words)
    for name in given:
        if name not in options:
            raise UsageError(
                f"argument {name!r} is unknown, expected one of: {', '.join(options)}", "./haptics view --help"
            )
    options |= given
    check_view(options)
    found = running_namespaces()
    if not found:
        raise NothingRunsError("no experiment is running")
    if len(found) > 1:
        raise NothingRunsError(f"several experiments are running: {', '.join(found)}")
    parameters = [f"{name.removeprefix('view_')}:={value!r}" for name, value in options.items() if name != "view_port"]
    parameters.append(f"port:={options['view_port']}")
    command = [find_executable("haptic_viewer", "viewer"), "--ros-args", "-r", f"__ns:={found[0]}"]
    sys.stdout.flush()
    os.execv(command[0], [*command, *(word for parameter in parameters for word in ("-p", parameter))])
