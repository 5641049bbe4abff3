"""Latency of the emergency stop: from the call to the first state of the device that is safe and without effort.

A run of friction_impedance is stopped and reset again and again, by the topic and by the service. The state is that of
the next tick, so the device itself stood still up to a period earlier.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from options import Parser, positive
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rich.console import Console
from rich.table import Table
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from haptic_core.qos import display_qos
from haptic_msgs.msg import DeviceState
from haptic_verification.faults import StartedRun

DOMAIN = 89
#: ticks between a reset and the next stop
CALM = 200
WORDS = ("record:=false", "duration:=100000", "command_delay_ticks:=0", "pace:=1.0", "answer_timeout:=600.0")


class Stops:
    """Stops a device that runs, and measures how long that takes."""

    def __init__(self, run: StartedRun) -> None:
        self._run, self._state, self._arrival = run, DeviceState(), 0.0
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # no queue in which a state waits
        run.node.create_subscription(DeviceState, "device_state", self._on_state, newest)
        self._button = run.node.create_publisher(Bool, "emergency_stop", display_qos())
        self._stop = run.node.create_client(Trigger, "device/emergency_stop")
        run.until(lambda: self._stop.service_is_ready() and self._button.get_subscription_count(), "the device")

    def _on_state(self, state: DeviceState) -> None:
        self._state, self._arrival = state, time.monotonic()

    def _wait(self, condition: Callable[[DeviceState], bool]) -> float:
        """Time at which the first state arrives for which the condition holds."""
        self._run.until(lambda: condition(self._state), "the device")
        return self._arrival

    def by_topic(self) -> None:
        """Presses the button."""
        self._button.publish(Bool(data=True))

    def by_service(self) -> None:
        """Calls the service."""
        self._stop.call_async(Trigger.Request())

    def latency(self, stop: Callable[[], None]) -> float:
        """Time from the stop of a device that has an effort to its safe state [s]; the device goes on afterwards."""
        self._wait(lambda state: state.status == DeviceState.STATUS_OK and any(state.joint_effort))
        start = time.monotonic()
        stop()
        end = self._wait(lambda state: state.status != DeviceState.STATUS_OK and not any(state.joint_effort))
        self._button.publish(Bool(data=False))
        while self._state.status != DeviceState.STATUS_OK:  # a reset before the button is seen released ends nothing
            self._run.reset("device")
            begin = self._state.tick + CALM
            self._wait(lambda state, begin=begin: state.tick > begin)
        return end - start


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--samples", type=positive, default=200, help="stops of each kind")
    samples = parser.parse_args().samples
    table = Table("mode", "by", "p50 [ms]", "p99 [ms]", "largest [ms]")
    for mode in ("realtime", "lockstep"):
        words = ("friction_impedance", f"mode:={mode}", *WORDS)
        with tempfile.TemporaryDirectory() as folder, StartedRun(*words, folder=Path(folder), domain=DOMAIN) as run:
            stops = Stops(run)
            for name, stop in (("topic", stops.by_topic), ("service", stops.by_service)):
                latency = 1e3 * np.array([stops.latency(stop) for _ in range(samples)])
                numbers = (*np.percentile(latency, [50, 99]), latency.max())
                table.add_row(mode, name, *(f"{number:.2f}" for number in numbers))
    Console().print(table)


if __name__ == "__main__":
    main()
