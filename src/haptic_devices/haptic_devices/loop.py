"""The tick loop of a device without ROS: commands in, one period, reading out.

Order of one period: the commands that answer tick k are added up (an admittance device takes the motion
that one of them gives), delayed by `command_delay_ticks`, handed to the device, the period passes,
tick k + 1 is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from haptic_core.commands import CommandCollector, Motion
from haptic_devices.device import Device, DeviceError, Reading

OK, SAFE_STOP, FAULT = range(3)


class TickLoop:
    """Advances a device tick by tick.

    Args:
        device: configured and activated by the caller.
        sources: who must answer.
        command_delay_ticks: extra delay of the commands' effect [ticks].
        watchdog_periods: silence of a source after which `advance` stops the device safely [ticks];
            None where the caller waits for every answer.

    Attributes:
        tick: number of the tick that is out.
        status: OK, SAFE_STOP (until `restart`) or FAULT.
        missed: ticks that advanced without the answers of all sources.
        reason: why the device is not OK.
    """

    def __init__(
        self,
        device: Device,
        sources: Sequence[str],
        *,
        command_delay_ticks: int = 0,
        watchdog_periods: int | None = None,
    ) -> None:
        self.device = device
        self.collector = CommandCollector(sources, len(device.joints))
        self._delay = command_delay_ticks
        self._watchdog = watchdog_periods
        self._follows = device.kind == "admittance"
        self.restart()

    def restart(self, tick: int = 0) -> None:
        """Opens this tick as the first one: no commands, silence counts from it, status OK."""
        self.collector.reset()
        self.collector.expect(tick)
        self.tick = tick
        self.missed = 0
        self.resume()

    def resume(self) -> None:
        """Out of the safe state without starting anew: silence counts from the present tick."""
        self.collector.resume()
        self._forget()

    def _forget(self) -> None:
        self._drop_delayed()
        self.status = OK
        self.reason = ""

    def _drop_delayed(self) -> None:
        self._queue: deque[np.ndarray | Motion | None] = deque(self._idle() for _ in range(self._delay))

    def _idle(self) -> np.ndarray | None:
        """What the device gets where nothing is commanded: zero effort, or None to hold."""
        return None if self._follows else np.zeros(len(self.device.joints))

    def _commanded(self) -> np.ndarray | Motion | None:
        if self.status != OK:
            return self._idle()
        return self.collector.motion() if self._follows else self.collector.effort(self.device.jacobian())

    def offer(self, command: Any) -> bool:
        """Takes a command; True when all sources have answered. Raises InputError to reject."""
        self.collector.offer(command)
        return self.collector.complete

    def advance(self) -> Reading:
        """Lets one period pass with what has been commanded and opens the next tick."""
        collector, device = self.collector, self.device
        if not collector.complete:
            self.missed += 1
        if self.status == OK and self._watchdog is not None:
            silent = collector.silent(self._watchdog)
            if silent:
                self.stop(SAFE_STOP, f"source {', '.join(silent)}: silent for {self._watchdog} ticks")
        self._queue.append(self._commanded())
        act: Callable[[Any], None] = device.follow if self._follows else device.write
        try:
            act(self._queue.popleft())
            reading = device.read()
        except DeviceError as error:
            self.stop(FAULT, str(error))
            reading = device.read()
        self._check_speed(reading)
        self.tick += 1
        collector.expect(self.tick)
        return reading

    def stop(self, status: int, reason: str) -> None:
        """Brings the device to its safe state and drops the delayed commands."""
        self.status = status
        self.reason = reason
        self._drop_delayed()
        self.device.safe_stop()

    def _check_speed(self, reading: Reading) -> None:
        if self.status != OK:
            return
        for joint, velocity in zip(self.device.joints, reading.velocity.tolist(), strict=True):
            if not abs(velocity) <= joint.velocity_limit:  # also true for NaN
                self.stop(
                    SAFE_STOP,
                    f"joint {joint.name}: speed {velocity:.3g} above the limit {joint.velocity_limit:g}",
                )
