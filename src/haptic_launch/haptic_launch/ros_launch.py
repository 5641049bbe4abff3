"""Runs a launch file with ROS 2's own launch, and returns an exit code that depends on the nodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launch.actions import EmitEvent, IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.launch_description_sources import AnyLaunchDescriptionSource

from haptic_launch.launch_nodes import is_required
from haptic_launch.processes import ENDED_EARLY, VIEWERS, ProcessSpec
from launch import LaunchContext, LaunchDescription, LaunchService


def run_launch_file(path: Path, arguments: Mapping[str, str]) -> int:
    """Runs the file until it ends.

    Returns:
        0; 1 if a node failed or the file could not be evaluated; 130 after Ctrl-C.
    """
    state = {"code": 0}

    def on_exit(event: ProcessExited, context: LaunchContext) -> Any:
        if context.is_shutdown and event.returncode in (0, -2, 130):
            return None
        if event.returncode == 0 and not is_required(_spec(event)):
            return None
        if not state["code"]:
            reason = f"ended with exit code {event.returncode}" if event.returncode else f"failed: {ENDED_EARLY}"
            print(f"error: {event.process_name} {reason}", file=sys.stderr)
        if Path(event.cmd[0]).name in VIEWERS or arguments.get("respawn") == "true":
            return None
        state["code"] = 1
        return EmitEvent(event=Shutdown(reason="a node failed"))

    def on_shutdown(event: Shutdown, context: LaunchContext) -> None:
        if event.due_to_sigint and not state["code"]:
            state["code"] = 130

    # as in `ros2 launch`: a terminal sends Ctrl-C to the nodes itself, without a terminal launch forwards it
    service = LaunchService(noninteractive=not sys.stdin.isatty())
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(OnProcessExit(on_exit=on_exit)),
                RegisterEventHandler(OnShutdown(on_shutdown=on_shutdown)),
                IncludeLaunchDescription(
                    AnyLaunchDescriptionSource(str(path)), launch_arguments=list(arguments.items())
                ),
            ]
        )
    )
    return service.run() or state["code"]


def _spec(event: ProcessExited) -> ProcessSpec:
    """Returns the description of an ended process; the launch file's names of node and namespace give the full name."""
    names = dict(word.split(":=", 1) for word in event.cmd if word.startswith(("__node:=", "__ns:=")))
    full_name = f"{names.get('__ns', '').rstrip('/')}/{names.get('__node', 'node')}"
    return ProcessSpec(event.process_name, event.cmd, fully_qualified_name=full_name)
