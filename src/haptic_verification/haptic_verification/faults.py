"""Runs in separate processes that are observed, and realtime runs whose nodes are killed or stopped on purpose.

The studies `faults` and `soak` and the tests use them. docs/loop.md, "A node that died", states the requirements.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from haptic_core.errors import HapticError
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, latched_qos
from haptic_launch import process_guard
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_msgs.msg import DeviceState, TickEvent

if TYPE_CHECKING:
    from typing import Self

#: longest wait for a condition [s]; the first compilation takes longest
PATIENCE = 240.0

#: name of the process that several nodes share
COMPOSED = "nodes"


def descendants(pid: int) -> dict[int, str]:
    """Returns the command lines of all descendants of a process, by process id."""
    found: dict[int, str] = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a process that has just ended
            for child in map(int, task.read_text().split()):
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found |= descendants(child)
    return found


def start(
    command: Sequence[str], folder: Path, domain: int, output: Path, variables: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[bytes]:
    """Starts a command in a folder and a ROS domain, with its output in a file; SIGINT ends it as in a terminal.

    The command is also interrupted when the thread that has started it ends, so that no run outlives its study.
    """
    fixed = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    with output.open("w") as file:
        return subprocess.Popen(
            process_guard.start_command(list(command)),
            cwd=folder,
            env={**os.environ, **variables, **fixed},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def arguments_of(experiment: str) -> set[str]:
    """Returns the names of the arguments of an experiment's launch file."""
    return {argument.name for argument in load_launch_file(load_experiment(experiment).launch_file).arguments}


def words_of(experiment: str, wanted: Mapping[str, Any]) -> list[str]:
    """Returns words name:=value for the wanted arguments that the experiment has."""
    known = arguments_of(experiment)
    return [f"{name}:={value}" for name, value in wanted.items() if name in known]


class StartedRun:
    """An experiment that is started as a user starts it, and a node that observes it.

    Args:
        experiment: name of the experiment.
        words: arguments name:=value.
        folder: working directory of the run; its output goes to output.txt there.
        domain: ROS domain of the run.
        variables: additional environment variables.
    """

    def __init__(
        self,
        experiment: str,
        *words: str,
        folder: Path,
        domain: int,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.output = folder / "output.txt"
        command = [sys.executable, "-m", "haptic_bringup", "run", experiment, *words]
        self.process = start(command, folder, domain, self.output, variables)
        self.context = Context()
        self.context.init(args=[], domain_id=domain)
        namespace = load_experiment(experiment).clock.rpartition("/")[0]
        self.node = Node("watcher", context=self.context, namespace=namespace)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    @property
    def text(self) -> str:
        """Output of the run."""
        return self.output.read_text()

    def until(self, condition: Callable[[], Any], what: str = "a condition") -> Any:
        """Serves the observing node until a condition is true; returns the value of the condition.

        Raises:
            HapticError: the run ended, or the condition did not become true within `PATIENCE`.
        """
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            if self.process.poll() is not None:
                raise HapticError(f"the run ended while {what} was waited for: {self.last_words()}")
            if time.monotonic() > end:
                raise HapticError(f"waited {PATIENCE:g} s for {what}: {self.last_words()}")
            self.executor.spin_once(timeout_sec=0.1)
        return found

    def last_words(self) -> str:
        """Returns the last five lines of the output in one line."""
        return " | ".join(self.text.splitlines()[-5:])

    def pids(self) -> dict[str, int]:
        """Finds the process ids of the nodes, by name."""
        found = {}
        for pid, command in descendants(self.process.pid).items():
            name = re.search(r"__node:=(\S+)", command)
            if name and "process_guard" not in command:
                found[name[1]] = pid
        return found

    def reset(self, name: str) -> None:
        """Resets a node.

        Raises:
            HapticError: the node refused.
        """
        client = self.node.create_client(Trigger, f"{name}/reset")
        self.until(client.service_is_ready, f"the service of {name}")
        answer = client.call_async(Trigger.Request())
        self.until(answer.done, f"an answer of {name}")
        self.node.destroy_client(client)
        if not answer.result().success:
            raise HapticError(answer.result().message)

    def close(self) -> int:
        """Ends the run as Ctrl-C does; returns its exit code.

        Raises:
            HapticError: the run did not end within `PATIENCE`; it is killed.
        """
        try:
            return self._end()
        finally:
            self.executor.shutdown()
            self.node.destroy_node()
            self.context.try_shutdown()

    def _end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its nodes end with it, see process_guard
            raise HapticError(f"the run did not end {PATIENCE:g} s after SIGINT: {self.last_words()}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WatchedRun(StartedRun):
    """A `StartedRun` in realtime, without a bag, that observes every tick.

    Attributes:
        device: newest DeviceState.
        new_starts: number of times that the ticks began again.
        events: source, kind and detail of all TickEvents.
        forces: largest joint effort while the status of the device was not OK [N m or N].
        moved: largest distance of the tool from its position when the device stopped [m].
        stops: ticks at which the status of the device changed from OK to another one.
        struck: tick of the device at the last fault of a node.
    """

    def __init__(self, experiment: str, *words: str, **options: Any) -> None:
        super().__init__(experiment, "mode:=realtime", "record:=false", *words, **options)
        self.device, self.new_starts = DeviceState(), 0
        self.forces, self.moved, self.stops, self.struck = 0.0, 0.0, list[int](), 0
        self._stop_position = (0.0, 0.0, 0.0)
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.node.create_subscription(DeviceState, "device_state", self._on_state, QoSProfile(depth=1000))
        self.node.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))

    def _on_state(self, state: DeviceState) -> None:
        self.new_starts += state.tick < self.device.tick
        stopped = state.status != DeviceState.STATUS_OK
        position = (state.tool_pose.position.x, state.tool_pose.position.y, state.tool_pose.position.z)
        if stopped and self.device.status == DeviceState.STATUS_OK:
            self.stops.append(state.tick)
            self._stop_position = position
        elif stopped:  # joint_effort is of the period before: in the first stopped state it is of an obeyed command
            self.forces = max(self.forces, *map(abs, state.joint_effort))
            self.moved = max(self.moved, math.dist(position, self._stop_position))
        self.device = state

    def _on_event(self, event: TickEvent) -> None:
        self.events.append((event.source, event.kind, detail_of(event)))

    def goes_on(self, ticks: int, resets: Sequence[str] = ()) -> None:
        """Waits until the device's status was OK for a number of consecutive ticks, and its newest state is recent.

        Args:
            ticks: number of consecutive ticks.
            resets: nodes that are reset whenever the status is not OK.
        """
        first = None

        def obeyed() -> bool:
            nonlocal first
            if self.device.status != DeviceState.STATUS_OK:
                first = None
                for name in resets:
                    self.reset(name)
                return False
            if first is None or self.device.tick < first:
                first = self.device.tick or None
                return False
            stamp = self.device.header.stamp
            fresh = time.time() - stamp.sec - 1e-9 * stamp.nanosec < 2.0 * self.device.period
            return fresh and self.device.tick >= first + ticks

        self.until(obeyed, f"{ticks} ticks")

    def started(self, name: str) -> int:
        """Counts how often a node has become active."""
        return sum((source, kind, detail.get("state")) == (name, "state", "active")
                   for source, kind, detail in self.events)  # fmt: skip

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Returns the parameters with which a node last became active."""
        found = [detail["parameters"] for source, kind, detail in self.events
                 if source == name and kind == "state" and "parameters" in detail]  # fmt: skip
        return found[-1] if found else {}

    def after_stop(self) -> tuple[float, float]:
        """Returns `forces` of an impedance device and nan, or nan and `moved` of an admittance device."""
        holds = any(detail.get("mode") == "MOTION" for _, kind, detail in self.events if kind == "state")
        return (math.nan, self.moved) if holds else (self.forces, math.nan)

    def reasons(self) -> list[str]:
        """Returns the reasons of the device's safe stops, in order."""
        return [detail["reason"] for source, kind, detail in self.events if (source, kind) == ("device", "error")]

    def pid(self, name: str) -> int:
        """Returns the process id of a node.

        Raises:
            HapticError: there is no process of that node.
        """
        found = self.pids()
        if name not in found:
            raise HapticError(f"there is no process of the node {name}")
        return found[name]

    def kill(self, pid: int) -> None:
        """Kills the process of a node by SIGKILL."""
        self.struck = self.device.tick
        os.kill(pid, signal.SIGKILL)

    def hold_up(self, pid: int, duration: float) -> None:
        """Stops the process of a node by SIGSTOP for a duration [s]."""
        self.struck = self.device.tick
        with _stopped(pid):
            end = time.monotonic() + duration
            while (left := end - time.monotonic()) > 0.0:
                self.executor.spin_once(timeout_sec=left)

    def runner_held(self) -> contextlib.AbstractContextManager[None]:
        """Stops the runner inside the context, so that a killed node restarts only after the device has missed it."""
        return _stopped(self.process.pid)


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """Stops a process inside the context by SIGSTOP."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
