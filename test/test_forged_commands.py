"""Commands that another program forges over DDS change neither effort nor status of a device in realtime.

`haptic_devices/test/test_loop.py` has the same without DDS, and all orders of arrival. Here the device runs in its own
process, and the forged commands have ticks that its source has answered, that are past, or that are far ahead.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from machine_speed import limit
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from ros_domain import worker_domain
from std_srvs.srv import Trigger

from haptic_core.commands import EFFORT, WRENCH
from haptic_core.dds import dds_environment
from haptic_core.events import make_event
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_launch.launch_file import find_executable
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent
from haptic_verification.faults import WatchedRun, start

pytestmark = pytest.mark.realtime

#: also a slow machine that does other work answers within them [s], [ticks]
PERIOD, WATCHDOG = 0.02, 100
#: forces that no source of the runs commands [N] or [N m]
VALUES = (math.nan, math.inf, -math.inf, 1e300, 1000.0)
#: ticks after the present one that the device does not reach in the test, or never
AHEAD = (10_000, 10**9, 2**64 - 1)
#: forged commands of each kind that the device must have refused
REFUSED = 150
#: effort of the right commands [N m]
STEADY = 0.01


def forged(source: str, tick: int, value: float) -> DeviceCommand:
    """A command with this value in every field that can hold a force."""
    mode = WRENCH if tick % 2 else EFFORT
    command = DeviceCommand(source=source, tick=tick, mode=mode, joint_effort=[value, value])
    force, torque = command.tool_wrench.force, command.tool_wrench.torque
    force.x = force.y = force.z = torque.x = torque.y = torque.z = value
    return command


class Forger:
    """A participant of its own that publishes forged commands, and counts those that the device has refused.

    Attributes:
        refused: counts of the device's rejections by kind, from its diagnostics.
        missed: ticks without an answer, from the same diagnostics.
    """

    def __init__(self, namespace: str, source: str, domain: int) -> None:
        self._source = source
        self._context = Context()
        self._context.init(args=[], domain_id=domain)
        self._node = Node("forger", context=self._context, namespace=namespace)
        self._commands = self._node.create_publisher(DeviceCommand, "device_command", tick_qos("realtime"))
        self._device = f"{namespace.strip('/')}/device"
        self.refused: Counter[str] = Counter()
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, display_qos())
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._device:
                values = {entry.key: entry.value for entry in status.values}
                self.refused |= {
                    key.removeprefix("rejected: "): int(value)
                    for key, value in values.items()
                    if key.startswith("rejected: ")
                }

    def connected(self) -> bool:
        """Whether the device receives what this participant publishes."""
        return self._commands.get_subscription_count() > 0

    def publish(self, tick: int, ticks: Sequence[int] = (), values: Sequence[float] = VALUES) -> None:
        """Forges commands around a tick that was published already.

        Args:
            tick: tick of which only a command of another name is refused for sure.
            ticks: ticks that the source has answered or that are past.
            values: values of the forged commands.
        """
        for value in values:
            self._commands.publish(forged("stranger", tick, value))
            for other in (*ticks, *(min(tick + ahead, 2**64 - 1) for ahead in AHEAD)):
                self._commands.publish(forged(self._source, other, value))
        self._executor.spin_once(timeout_sec=0.0)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


@contextlib.contextmanager
def forger(namespace: str, source: str) -> Iterator[Forger]:
    made = Forger(namespace, source, worker_domain())
    try:
        yield made
    finally:
        made.close()


def value_of(tick: int) -> float:
    """Returns the forged value of a tick, each in turn."""
    return VALUES[tick % len(VALUES)]


class ObservedRun(WatchedRun):
    """A realtime run without a bag whose states are all kept."""

    def __init__(self, *words: str, **options: Any) -> None:
        self.states: list[DeviceState] = []
        super().__init__(*words, **options)

    def _on_state(self, state: DeviceState) -> None:
        self.states.append(state)
        super()._on_state(state)


def test_forged_commands_change_nothing_in_a_run_of_an_experiment(tmp_path: Path) -> None:
    words = (f"period:={PERIOD}", f"watchdog_periods:={WATCHDOG}", "duration:=3600.0", "friction_force:=1.0")
    options: dict[str, Any] = {"folder": tmp_path, "domain": worker_domain()}
    with ObservedRun("friction_impedance", *words, **options) as run, forger("/joystick", "friction") as program:
        run.goes_on(20)
        run.until(program.connected, "the device's subscription")
        quiet = len(run.states)
        last = -1
        while min(program.refused[kind] for kind in ("unknown source", "late", "wrong tick")) < REFUSED:
            run.until(lambda last=last: run.device.tick > last, "a tick")
            last = run.device.tick
            program.publish(last, [last - 1, last - 2])  # past: the device has published the next one
        run.goes_on(20)
        under_fire = run.states[quiet:]
        assert {state.status for state in run.states} == {DeviceState.STATUS_OK}
        assert {state.limited for state in run.states} == {0}  # what was forged is beyond each limit
        efforts = [abs(effort) for state in under_fire for effort in state.joint_effort]
        assert np.isfinite(efforts).all() and 0.0 < max(efforts) < 1.0  # 1 N on a stick shorter than 1 m
        assert run.reasons() == [] and "safe state" not in run.text
        assert run.close() == 130, run.text


class Source(Node):
    """The only source of a device: commands the same effort in every tick, and then a forged one with its publisher.

    The messages of one publisher keep their order. Those of two have none: the forged command of another participant
    could be the first of its tick, and the device would take it. There are fewer commands a tick than the device's
    subscription keeps: of more, one that is held up would lose the first.
    """

    def __init__(self, context: Context, namespace: str) -> None:
        super().__init__("source", context=context, namespace=namespace)
        self.states: list[DeviceState] = []
        self.answered = -1
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("realtime"))
        self._events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self._events.publish(make_event("source", "state", {"state": "active", "mode": "EFFORT"}))
        self.emergency_stop = self.create_client(Trigger, "device/emergency_stop")
        self.create_subscription(DeviceState, "device_state", self._answer, QoSProfile(depth=1000))

    def _answer(self, state: DeviceState) -> None:
        self.states.append(state)
        self._commands.publish(
            DeviceCommand(source="source", tick=state.tick, mode=EFFORT, joint_effort=[STEADY, STEADY])
        )
        self._commands.publish(forged("source", state.tick, value_of(state.tick)))
        self.answered = state.tick


def test_the_effort_of_a_device_is_that_of_its_source_whatever_is_forged_after_each_answer(tmp_path: Path) -> None:
    """Forged commands of the present tick come after the source's own, those of past ticks from another program.

    An emergency stop follows; the source and the forged commands go on.
    """
    namespace, domain = f"/forged_{os.getpid()}", worker_domain()
    given = {
        **{"device": "joystick", "mode": "realtime", "sources": "['source']", "duration": 3600.0},
        **{"period": PERIOD, "watchdog_periods": WATCHDOG},
    }
    command = [find_executable("haptic_devices", "device_node"), "--ros-args", "-r", f"__ns:={namespace}"]
    command += [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    context = Context()
    context.init(args=[], domain_id=domain)
    source = Source(context, namespace)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(source)
    output = tmp_path / "output.txt"
    device = start(command, tmp_path, domain, output, dds_environment(command, os.environ))
    try:
        with forger(namespace, "source") as program:
            end, forged_at = time.monotonic() + limit(120.0), -1
            kinds = ("unknown source", "late", "wrong tick", "duplicate")
            while min(program.refused[kind] for kind in kinds) < REFUSED:
                assert time.monotonic() < end and device.poll() is None, (program.refused, output.read_text())
                executor.spin_once(timeout_sec=0.05)
                if source.answered > forged_at and source.answered > 1 and program.connected():
                    forged_at = source.answered
                    program.publish(forged_at, [forged_at - 1], [value_of(forged_at)])
            running, refused = len(source.states), Counter(program.refused)
            stopped = source.emergency_stop.call_async(Trigger.Request())
            while not stopped.done() or min(program.refused[kind] - refused[kind] for kind in kinds[:2]) < REFUSED:
                assert time.monotonic() < end and device.poll() is None, (program.refused, output.read_text())
                executor.spin_once(timeout_sec=0.05)
                if stopped.done() and source.answered > forged_at:
                    forged_at = source.answered
                    program.publish(forged_at, [forged_at - 1], [value_of(forged_at)])
        device.send_signal(signal.SIGINT)
        assert device.wait(limit(60.0)) == 0, output.read_text()
    finally:
        if device.poll() is None:
            device.kill()
            device.wait()
        executor.shutdown()
        source.destroy_node()
        context.try_shutdown()
    acting = [state for state in source.states if state.status == DeviceState.STATUS_OK]
    safe = source.states[len(acting) :]
    assert stopped.result().success and running <= len(acting)
    assert {state.limited for state in acting} == {0}
    efforts = [list(state.joint_effort) for state in acting]
    first = efforts.index([STEADY, STEADY])
    assert first <= 2 and efforts[first:] == [[STEADY, STEADY]] * (len(efforts) - first)
    assert {state.status for state in safe} == {DeviceState.STATUS_SAFE_STOP} and len(safe) > 10
    assert not any(effort for state in safe for effort in state.joint_effort)
