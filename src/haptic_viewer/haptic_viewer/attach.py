"""The page of an experiment that is already running."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

import rclpy

from haptic_core.errors import HapticError
from haptic_launch.launch_file import find_executable
from haptic_launch.runner import UsageError, parse_arguments
from haptic_viewer.page import check_view

_DEVICE_STATE = "haptic_msgs/msg/DeviceState"
#: longest search for a running experiment [s]
_SEARCH = 5.0


class SeveralRunError(HapticError):
    """More than one experiment is running.

    Attributes:
        hint: advice to the user.
    """

    hint = "stop the others, or give each its own ROS_DOMAIN_ID"


def running_namespaces(timeout: float = _SEARCH) -> list[str]:
    """Finds the namespaces in which a device publishes its state; waits up to `timeout` [s] for the first one."""
    rclpy.init()
    try:
        node = rclpy.create_node("viewer_search", start_parameter_services=False, enable_rosout=False)
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


def page_options(words: Sequence[str]) -> dict[str, str]:
    """Returns view_host, view_port and view_token of a page from words name:=value.

    Raises:
        UsageError: another argument was given, or the port is invalid.
        PageError: no page can be opened at this address.
    """
    options = {"view_host": "127.0.0.1", "view_port": "8080", "view_token": os.environ.get("HAPTICS_VIEW_TOKEN", "")}
    given = parse_arguments(words)
    for name in given:
        if name not in options:
            raise UsageError(
                f"argument {name!r} is unknown, expected one of: {', '.join(options)}", "./haptics view --help"
            )
    options |= given
    check_view(options)
    return options


def show_what_runs(words: Sequence[str], command: Sequence[str]) -> NoReturn:
    """Replaces the process by the viewer of the running experiment; without one it shows the gallery and exits.

    Args:
        words: view_host:=, view_port:=, view_token:=.
        command: command line that the gallery calls with `run`.

    Raises:
        HapticError: no page can be opened, or several experiments are running.
    """
    options = page_options(words)
    found = running_namespaces()
    if not found:
        sys.exit(show_gallery(options, command))
    if len(found) > 1:
        raise SeveralRunError(f"several experiments are running: {', '.join(found)}")
    parameters = [f"{name.removeprefix('view_')}:={value!r}" for name, value in options.items() if name != "view_port"]
    parameters.append(f"port:={options['view_port']}")
    command = [find_executable("haptic_viewer", "viewer"), "--ros-args", "-r", f"__ns:={found[0]}"]
    sys.stdout.flush()
    os.execv(command[0], [*command, *(word for parameter in parameters for word in ("-p", parameter))])


def show_gallery(arguments: Mapping[str, str], command: Sequence[str], first: Sequence[str] = ()) -> int:
    """Shows the gallery until it is stopped.

    Args:
        arguments: view_host, view_port and view_token of the page, among others.
        command: command line that the gallery calls with `run`.
        first: name and arguments name:=value of the experiment that is started at once; empty: none.

    Returns:
        Exit code.
    """
    from haptic_viewer.gallery import run_gallery  # loads modules that only the gallery needs

    page = {"host": arguments["view_host"], "port": int(arguments["view_port"]), "token": arguments["view_token"]}
    return run_gallery(page, command, first)
