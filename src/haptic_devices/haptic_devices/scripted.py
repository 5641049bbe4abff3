"""A clock without a device: plays a script and ignores the answers, for experiments of the papers' figures.

A script is a CSV file with a header line: `time` [s] and any of position_0..2 [m] (x, y, z), velocity_0..5
([m/s], then [rad/s]) and force_0..5 ([N], then [N m]), or a hand's `MotionPlan`, whose target is then what
the tool does; the tool does not turn. Between the samples of a file the values are interpolated linearly;
after the end the last position stays and velocity and force are zero.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core.errors import ParameterError
from haptic_devices.device import Device, Joint, Reading
from haptic_devices.motion import MotionPlan

_KINDS = ("position", "velocity", "force")
_COLUMNS = {f"{kind}_{axis}" for kind, axes in zip(_KINDS, (3, 6, 6), strict=True) for axis in range(axes)}


class Script:
    """Values over time.

    Args:
        time: (n,) [s], rising.
        values: position [m], velocity [m/s], force [N], each (n, 6).
    """

    def __init__(self, time: np.ndarray, values: dict[str, np.ndarray]) -> None:
        if len(time) < 2 or not (np.diff(time) > 0.0).all() or not np.isfinite(time).all():
            raise ParameterError("time: expected two or more rising, finite times [s]")
        for name, column in values.items():
            if not np.isfinite(column).all():
                raise ParameterError(f"{name}: expected finite numbers")
        self.time = time
        self.values = values

    @classmethod
    def from_csv(cls, path: Path) -> Script:
        """Reads a file; raises ParameterError naming the column or line that cannot be used."""
        try:
            with path.open(newline="") as file:
                reader = csv.reader(file)
                lines = [(reader.line_num, row) for row in reader if row]
        except OSError as error:
            raise ParameterError(f"{path}: cannot be read: {error.strerror}") from None
        except (csv.Error, UnicodeDecodeError) as error:
            raise ParameterError(f"{path}: not a CSV file: {error}") from None
        header = lines[0][1] if lines else []
        if header[:1] != ["time"]:
            raise ParameterError(f"{path}: expected a header that starts with time, got {','.join(header)!r}")
        for place, name in enumerate(header[1:], start=1):
            if name not in _COLUMNS or name in header[:place]:
                raise ParameterError(
                    f"{path}: column {name}: expected each of position_0..2, velocity_0..5, force_0..5 at most once"
                )
        table = np.array([cls._row(path, line, row, header) for line, row in lines[1:]]).reshape(-1, len(header))
        values = {kind: np.zeros((len(table), 6)) for kind in _KINDS}
        for column, name in enumerate(header[1:], start=1):
            kind, _, axis = name.partition("_")
            values[kind][:, int(axis)] = table[:, column]
        try:
            return cls(table[:, 0], values)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None

    @staticmethod
    def _row(path: Path, line: int, row: list[str], header: list[str]) -> list[float]:
        if len(row) != len(header):
            raise ParameterError(f"{path}: line {line}: expected {len(header)} numbers, got {len(row)}")
        try:
            return [float(text) for text in row]
        except ValueError as error:
            raise ParameterError(f"{path}: line {line}: {error}") from None

    @classmethod
    def from_plan(cls, plan: MotionPlan) -> Script:
        """The target and the extra force of a hand's plan."""
        values = {kind: np.zeros((len(plan.table), 6)) for kind in _KINDS}
        for kind, columns in (("position", (0, 1)), ("velocity", (2, 3)), ("force", (4, 5))):
            values[kind][:, 0:2] = plan.table[:, columns]
        return cls(np.arange(len(plan.table)) * plan.period, values)

    def at(self, time: float) -> dict[str, np.ndarray]:
        """Position, velocity and force (6,) at a time [s]."""
        over = time > self.time[-1]
        return {
            kind: np.zeros(6)
            if over and kind != "position"
            else np.array([np.interp(time, self.time, column) for column in table.T])
            for kind, table in self.values.items()
        }


class ScriptedDevice(Device):
    """Plays a script as the tool's motion and the measured wrench; has one joint per axis x, y, z.

    Args:
        script: what happens.
    """

    base_frame = "script_base"
    has_force_sensor = True

    def __init__(self, script: Script) -> None:
        self.script = script
        infinite = float("inf")
        self.joints = tuple(Joint(axis, infinite, infinite, -infinite, infinite, "prismatic") for axis in "xyz")
        self._reading = Reading(3)
        self._jacobian = np.eye(6, 3)

    def configure(self, period: float) -> None:
        self.period = period
        self.activate()

    def activate(self) -> None:
        self._tick = 0
        self._play()

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        """Records the effort in the next reading; the script goes on whatever it is."""
        self._reading.effort[:] = effort
        self._tick += 1
        self._play()

    def _play(self) -> None:
        now, reading = self.script.at(self._tick * self.period), self._reading
        reading.position[:], reading.velocity[:] = now["position"][:3], now["velocity"][:3]
        reading.tool_pose[:3], reading.tool_twist[:] = now["position"][:3], now["velocity"]
        reading.tool_wrench[:] = now["force"]

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        """Nothing moves by commands."""

    def deactivate(self) -> None:
        """Nothing is powered."""

    def description(self) -> dict[str, Any]:
        return {"device": "script"}

    @property
    def end_time(self) -> float:
        return float(self.script.time[-1]) + self.period
