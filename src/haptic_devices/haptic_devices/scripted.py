"""A clock without a device: plays a script and ignores commands, for experiments of the papers' figures.

A script has the channels position_0..2 [m] (x, y, z), velocity_0..5 ([m/s], then [rad/s]) and force_0..5 ([N],
then [N m]); missing channels are zero. It is one of

* a CSV file (`Script`) with a header line: `time` [s] and any of the channels, interpolated linearly between the lines;
* a hand's `MotionPlan` (`Script`), whose target is the motion of the tool;
* a YAML file (`SignalScript`): sums of constants, ramps, sines and lines over time, evaluated at each tick's time.

After the end the position stays and velocity and force are zero. The tool does not rotate. Nothing is integrated or
differentiated: a script with only velocities leaves the position at zero, and vice versa.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from haptic_core.errors import ParameterError
from haptic_core.messages import LARGEST
from haptic_devices.device import TRANSLATIONS, Device, DeviceParameters, Joint, Reading, load_parameters
from haptic_devices.motions.planar import FORCE, POSITION, VELOCITY, MotionPlan
from haptic_files import FileError, kind_of, read_text

_KINDS = ("position", "velocity", "force")
#: kind and axis of each channel
_COLUMNS = {f"{kind}_{i}": (kind, i) for kind, axes in zip(_KINDS, (3, 6, 6), strict=True) for i in range(axes)}
#: ticks that are evaluated together, which costs little more than a single tick
_BLOCK = 256


class Script:
    """Sampled values over time.

    Args:
        time: times (n,) [s], ascending.
        values: position [m], velocity [m/s], force [N], each (n, 6).

    Raises:
        ParameterError: the times do not rise, a kind is missing or has another shape, or a number is not finite.
    """

    def __init__(self, time: np.ndarray, values: dict[str, np.ndarray]) -> None:
        if len(time) < 2 or not (np.diff(time) > 0.0).all() or not np.isfinite(time).all():
            raise ParameterError("time: expected two or more rising, finite times [s]")
        for name in _KINDS:
            shape = np.shape(values.get(name, ()))
            if shape != (len(time), 6):
                raise ParameterError(f"{name}: expected shape ({len(time)}, 6), as many rows as times, got {shape}")
        for name, column in values.items():
            if not (np.abs(column) < LARGEST).all():  # also true for NaN
                raise ParameterError(f"{name}: expected finite numbers below {LARGEST:g}")
        self.time = time
        self.values = {kind: np.asfortranarray(table) for kind, table in values.items()}
        self._used = {kind: np.flatnonzero(table.any(axis=0)) for kind, table in values.items()}

    @classmethod
    def from_csv(cls, path: Path) -> Script:
        """Reads a CSV file; raises ParameterError with the line and column that cannot be used."""
        try:
            reader = csv.reader(io.StringIO(read_text(path), newline=""))
            lines = [(reader.line_num, row) for row in reader if row]
        except FileError as error:
            raise ParameterError(str(error)) from None
        except csv.Error:
            raise ParameterError(f"{path}: not a CSV file: line {reader.line_num}") from None
        header = lines[0][1] if lines else []
        if header[:1] != ["time"]:
            got = f"{len(header)} field{'s' * (len(header) != 1)}" if header else "an empty file"
            raise ParameterError(f"{path}: expected a header that starts with time, got {got}")
        for column, name in enumerate(header[1:], start=1):
            if name not in _COLUMNS or name in header[:column]:
                raise ParameterError(
                    f"{path}: line {lines[0][0]}, column {column + 1}: "
                    f"expected each of position_0..2, velocity_0..5, force_0..5 at most once"
                )
        table = np.array([cls._row(path, line, row, header) for line, row in lines[1:]]).reshape(-1, len(header))
        values = {kind: np.zeros((len(table), 6)) for kind in _KINDS}
        for column, name in enumerate(header[1:], start=1):
            kind, axis = _COLUMNS[name]
            values[kind][:, axis] = table[:, column]
        try:
            return cls(table[:, 0], values)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None

    @staticmethod
    def _row(path: Path, line: int, row: list[str], header: list[str]) -> list[float]:
        if len(row) != len(header):
            raise ParameterError(f"{path}: line {line}: expected {len(header)} numbers, got {len(row)}")
        numbers: list[float] = []
        for text in row:
            try:
                numbers.append(float(text))
            except ValueError:
                where = f"line {line}, column {len(numbers) + 1}"
                raise ParameterError(f"{path}: {where}: expected a number, got {kind_of(text)}") from None
        return numbers

    @classmethod
    def from_plan(cls, plan: MotionPlan) -> Script:
        """Makes a script of the target and the extra force of a hand's plan."""
        values = {kind: np.zeros((len(plan.table), 6)) for kind in _KINDS}
        for kind, columns in (("position", POSITION), ("velocity", VELOCITY), ("force", FORCE)):
            values[kind][:, 0:2] = plan.table[:, columns]
        return cls(np.arange(len(plan.table)) * plan.period, values)

    def at(self, time: float | np.ndarray) -> dict[str, np.ndarray]:
        """Interpolates position, velocity and force (..., 6) at times (...) [s]."""
        values = {kind: np.zeros((*np.shape(time), 6)) for kind in self.values}
        for kind, axes in self._used.items():
            for axis in axes:
                values[kind][..., axis] = np.interp(time, self.time, self.values[kind][:, axis])
        return _stopped(values, time > self.time[-1])

    @property
    def end(self) -> float:
        """Time of the last sample [s]."""
        return float(self.time[-1])


def _stopped(values: dict[str, np.ndarray], over: bool | np.ndarray) -> dict[str, np.ndarray]:
    """Sets velocity and force to zero at times after the end of the script."""
    for kind in ("velocity", "force"):
        values[kind][over] = 0.0
    return values


def _nanoseconds(time: float | np.ndarray) -> Any:
    """Rounds times [s] to whole nanoseconds, so that tick x period equals the same decimal number."""
    return np.rint(np.multiply(time, 1e9))


_Value = Annotated[float, Field(ge=-1e6, le=1e6)]


class Sine(DeviceParameters):
    """amplitude sin(2 pi frequency t + phase)."""

    amplitude: _Value = Field(description="in the channel's unit")
    frequency: float = Field(gt=0.0, le=5000.0, description="[Hz], up to half the fastest control rate")
    phase: _Value = Field(default=0.0, description="at t = 0 [rad]")


class Term(DeviceParameters):
    """One part of a channel: exactly one of `constant`, `ramp`, `sine`, or `from` with `to`.

    It acts for start <= t < end, so a term may begin at the end of another; a term that ends with the script also
    acts at that last instant. t is the time from the start of the script for every term.
    """

    constant: _Value | None = Field(default=None, description="in the channel's unit")
    ramp: _Value | None = Field(default=None, description="times t, in the channel's unit per second")
    sine: Sine | None = None
    from_: _Value | None = Field(default=None, alias="from", description="at `start`, in the channel's unit")
    to: _Value | None = Field(default=None, description="at `end`; linear in between")
    start: float = Field(default=0.0, ge=0.0, description="[s]")
    end: float | None = Field(default=None, description="[s]; none: the script's duration")

    @model_validator(mode="after")
    def _one_form(self) -> Term:
        line = (self.from_ is not None) + (self.to is not None)
        if line == 1 or sum(form is not None for form in (self.constant, self.ramp, self.sine)) + line // 2 != 1:
            raise PydanticCustomError("form", "expected one of constant, ramp, sine, or from with to")
        return self

    def at(self, time: np.ndarray, duration: float) -> np.ndarray:
        """Evaluates the term (...) at times (...) [s] up to the script's duration [s]."""
        end = duration if self.end is None else self.end
        if self.constant is not None:
            value = np.full_like(time, self.constant)
        elif self.ramp is not None:
            value = self.ramp * time
        elif self.sine is not None:
            value = self.sine.amplitude * np.sin(2.0 * np.pi * self.sine.frequency * time + self.sine.phase)
        else:
            assert self.from_ is not None and self.to is not None
            value = self.from_ + (self.to - self.from_) * (time - self.start) / (end - self.start)
        now, last = _nanoseconds(time), _nanoseconds(end)
        acts = (now >= _nanoseconds(self.start)) & ((now < last) | (last == _nanoseconds(duration)))
        return np.where(acts, value, 0.0)


_Signal = list[Term]


class SignalScript(DeviceParameters):
    """Signals over time: each channel is the sum of its terms. Times are compared in whole nanoseconds."""

    duration: float = Field(gt=0.0, le=1e6, description="[s]; the last tick that plays is the one at this time")
    position_0: _Signal = Field(default=[], description="x [m]")
    position_1: _Signal = Field(default=[], description="y [m]")
    position_2: _Signal = Field(default=[], description="z [m]")
    velocity_0: _Signal = Field(default=[], description="along x [m/s]")
    velocity_1: _Signal = Field(default=[], description="along y [m/s]")
    velocity_2: _Signal = Field(default=[], description="along z [m/s]")
    velocity_3: _Signal = Field(default=[], description="about x [rad/s]")
    velocity_4: _Signal = Field(default=[], description="about y [rad/s]")
    velocity_5: _Signal = Field(default=[], description="about z [rad/s]")
    force_0: _Signal = Field(default=[], description="along x, of the user on the tool [N]")
    force_1: _Signal = Field(default=[], description="along y [N]")
    force_2: _Signal = Field(default=[], description="along z [N]")
    force_3: _Signal = Field(default=[], description="about x [N m]")
    force_4: _Signal = Field(default=[], description="about y [N m]")
    force_5: _Signal = Field(default=[], description="about z [N m]")

    @field_validator(*_COLUMNS)
    @classmethod
    def _within(cls, terms: _Signal, info: ValidationInfo) -> _Signal:
        duration = info.data.get("duration", np.inf)  # missing if it was refused itself
        for index, term in enumerate(terms):
            end = duration if term.end is None else term.end
            if not _nanoseconds(term.start) < _nanoseconds(end) <= _nanoseconds(duration):
                raise PydanticCustomError("span", "term {index}: expected start < end <= duration", {"index": index})
        return terms

    def at(self, time: float | np.ndarray) -> dict[str, np.ndarray]:
        """Evaluates position, velocity and force (..., 6) at times (...) [s]."""
        over = _nanoseconds(time) > _nanoseconds(self.duration)
        clock = np.where(over, self.duration, time)
        values = {kind: np.zeros((*clock.shape, 6)) for kind in _KINDS}
        for name, (kind, axis) in _COLUMNS.items():
            for term in getattr(self, name):
                values[kind][..., axis] += term.at(clock, self.duration)
        return _stopped(values, over)

    @property
    def end(self) -> float:
        """Duration of the script [s]."""
        return self.duration


def load_script(path: Path) -> Script | SignalScript:
    """Reads a .csv or .yaml file; raises ParameterError with the file and the part of it that cannot be used."""
    if path.suffix == ".csv":
        return Script.from_csv(path)
    if path.suffix == ".yaml":
        return load_parameters(SignalScript, path)
    raise ParameterError(f"{path}: expected a script that ends in .csv or .yaml, got {path.suffix!r}")


class ScriptedDevice(Device):
    """A device that plays a script as the tool's motion and the measured wrench, with one joint per axis x, y, z.

    Args:
        script: motion and wrench over time.
    """

    kind = "scripted"
    base_frame = "script_base"
    has_force_sensor = True

    def __init__(self, script: Script | SignalScript) -> None:
        self.script = script
        infinite = float("inf")
        self.joints = tuple(Joint(name, infinite, infinite, -infinite, infinite, "prismatic") for name in TRANSLATIONS)
        self._reading = Reading(3)
        self._jacobian = np.eye(6, 3)

    def configure(self, period: float) -> None:
        self.period = period
        self.activate()

    def activate(self) -> None:
        self._tick = 0
        self._reading.effort[:] = 0.0
        self._play()

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        """Stores the effort in the next reading and advances the script, whatever the effort."""
        self._reading.effort[:] = effort
        self._tick += 1
        self._play()

    def _play(self) -> None:
        row = self._tick % _BLOCK
        if row == 0:
            self._block = self.script.at((self._tick + np.arange(_BLOCK)) * self.period)
        position, velocity = self._block["position"][row], self._block["velocity"][row]
        reading = self._reading
        reading.position[:], reading.velocity[:] = position[:3], velocity[:3]
        reading.tool_pose[:3], reading.tool_twist[:] = position[:3], velocity
        reading.tool_wrench[:] = self._block["force"][row]

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        """Does nothing: no command moves the device."""

    def deactivate(self) -> None:
        """Does nothing: the device has no power."""

    def description(self) -> dict[str, Any]:
        return {"device": "script"}

    @property
    def end_time(self) -> float:
        return self.script.end + self.period
