"""The tick loop of a device without ROS: commands in, one period, reading out.

Order of one period: the commands of tick k are added (an admittance device uses the only motion command), delayed by
`command_delay_ticks`, limited by the safety layer and passed to the device. After the period the reading of tick k + 1
is checked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from haptic_core.commands import CommandCollector, Motion
from haptic_core.errors import ParameterError
from haptic_core.safety import SafetyError, SafetyLayer
from haptic_devices.device import Device, DeviceError, Reading

OK, SAFE_STOP, FAULT = range(3)


class SteadyClock:
    """Times at which the ticks of a realtime loop are due: once a period, on the grid that starts at `now`.

    A late tick does not move the grid; whole periods that have passed without a tick are skipped. If nodes share the
    device's process, the computation of an answer and the next tick compete for one thread. Then the tick waits for
    the answer, up to a period. Otherwise a node that takes a little longer than a period would answer each tick too
    late, so that none of its commands could act.

    Args:
        period: control period T [s].
        now: present time on a steady clock [s].

    Attributes:
        due: time at which the next tick is due [s].
    """

    def __init__(self, period: float, now: float) -> None:
        self._period, self._opened = period, now
        self.due = now + period

    def is_due(self, now: float, *, answering: bool) -> bool:
        """Returns whether the next tick is due; later if an answer is being computed in this process (`answering`)."""
        return now >= (max(self.due, self._opened + 2.0 * self._period) if answering else self.due)

    def open(self, now: float) -> int:
        """Opens the next tick; returns how many whole periods before it have passed without one."""
        skipped = max(0, int((now - self.due) / self._period))
        self.due += (1 + skipped) * self._period
        self._opened = now
        return skipped


class TickLoop:
    """Advances a device tick by tick.

    Args:
        device: device, configured and activated by the caller.
        sources: names of the nodes that must answer.
        command_delay_ticks: extra delay of the commands' effect [ticks].
        watchdog_periods: silence of a source after which `advance` stops the device safely [ticks];
            None if the caller waits for every answer.
        period: control period T [s].
        engagement_time: duration of the ramp of commands after a stop [s].

    Attributes:
        tick: number of the open tick.
        status: OK, SAFE_STOP (until `resume` or `restart`) or FAULT.
        missed: ticks that advanced without the answers of all sources, and skipped ticks.
        inputs: names of the sources that a source waits for before it answers, by its name.
        reason: reason of the status, if it is not OK.
        safety: safety layer that limits the commands and counts the limited ticks.
    """

    def __init__(
        self,
        device: Device,
        sources: Sequence[str],
        *,
        command_delay_ticks: int = 0,
        watchdog_periods: int | None = None,
        period: float = 1e-3,
        engagement_time: float = 0.0,
    ) -> None:
        self.device = device
        self.safety = SafetyLayer(device.limits(), period=period, engagement_time=engagement_time)
        self.collector = CommandCollector(sources, len(device.joints))
        if command_delay_ticks < 0:
            raise ParameterError(f"command_delay_ticks: expected 0 or more, got {command_delay_ticks}")
        self._delay = command_delay_ticks
        self._watchdog = watchdog_periods
        self._follows = device.kind == "admittance"
        self._reading: Reading | None = None
        self.inputs: dict[str, set[str]] = {}
        self.restart()

    def restart(self, tick: int = 0) -> None:
        """Restarts at a tick without commands, with status OK.

        Silence counts from this tick. Commands are ramped in, unless the tick is 0.
        """
        self.collector.reset()
        self.collector.expect(tick)
        self.tick = tick
        self.missed = 0
        self.resume()
        if not tick:
            self.safety.restart()

    def resume(self) -> None:
        """Continues after a reset of the device, without a restart: silence counts from the present tick.

        Commands are ramped in, also if the status was OK, since the device starts with zero effort at its start.
        """
        self.safety.disengage()
        self.collector.resume()
        self._forget()

    def _forget(self) -> None:
        self._drop_delayed()
        self.status = OK
        self.reason = ""

    def _drop_delayed(self) -> None:
        self._queue: deque[np.ndarray | Motion | None] = deque(self._idle() for _ in range(self._delay))

    def _idle(self) -> np.ndarray | None:
        """Returns the device's command while no source commands: zero effort, or None to hold its position."""
        return None if self._follows else np.zeros(len(self.device.joints))

    def _commanded(self) -> np.ndarray | Motion | None:
        if self.status != OK:
            return self._idle()
        return self.collector.motion() if self._follows else self.collector.effort(self.device.jacobian())

    def offer(self, command: Any) -> bool:
        """Stores a command; returns whether all sources have answered. Raises InputError to reject it."""
        self.collector.offer(command)
        return self.collector.complete

    def advance(self, skipped: int = 0) -> Reading:
        """Advances the device by one period with the present commands, and opens the next tick.

        Args:
            skipped: number of whole periods that have passed without a tick, by the caller's steady clock.
        """
        collector, device = self.collector, self.device
        if not collector.complete:
            self.missed += 1
        if skipped:
            self.missed += skipped
            collector.age(skipped)
        if self.status == OK and self._watchdog is not None:
            silent = collector.silent(self._watchdog)
            if skipped >= self._watchdog:
                self.stop(SAFE_STOP, f"the device was held up for {skipped} ticks")
            elif silent:
                self.stop(SAFE_STOP, self._silence(silent))
        self._queue.append(self._commanded())
        act: Callable[[Any], None] = device.follow if self._follows else device.write
        try:
            act(self._limited(self._queue.popleft()))
            reading = device.read()
        except DeviceError as error:
            self.stop(FAULT, str(error))
            reading = device.read()
        self._reading = reading
        if self.status == OK:
            try:
                self.safety.check(reading.velocity, reading.tool_pose)
            except SafetyError as error:
                self.stop(SAFE_STOP, str(error))
        self.tick += 1
        collector.expect(self.tick)
        return reading

    def _limited(self, command: Any) -> Any:
        """Limits a command; a command that is not finite stops the device."""
        if self.status != OK:
            return command
        try:
            if not self._follows:
                return self.safety.effort(command)
            reading = self._reading or self.device.read()
            return self.safety.motion(command, reading.tool_pose, reading.position)
        except SafetyError as error:
            self.stop(SAFE_STOP, str(error))
            return self._idle()

    def _silence(self, silent: Sequence[str]) -> str:
        """Describes the silent sources; those that only wait for another of them come last."""
        # the source that others wait for may have answered one tick more than they
        quiet = self.collector.silent(max(1, (self._watchdog or 0) - 2))
        waiting = [source for source in silent if self.inputs.get(source, set()).intersection(quiet)]
        silent = [*silent, *(s for s in quiet if s not in silent and any(s in self.inputs.get(w, ()) for w in waiting))]
        first = [source for source in silent if source not in waiting] or silent
        text = f"source {', '.join(first)}: silent for {self._watchdog} ticks"
        return f"{text}; {', '.join(waiting)} waits for it" if len(first) < len(silent) else text

    def stop(self, status: int, reason: str) -> None:
        """Brings the device to its safe state and drops the delayed commands."""
        self.status = status
        self.reason = reason
        self._drop_delayed()
        self.safety.disengage()
        self.device.safe_stop()
