"""Recorded signals from a CSV file of the user."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haptic_files import FileError, read_text
from haptic_friction.identification.records import FEWEST
from haptic_friction.laws import checked

#: largest deviation of a step of time from the period, as a fraction of it
_LARGEST_JITTER = 0.01


@dataclass(frozen=True)
class Signals:
    """A record of velocity and force at a fixed rate.

    Attributes:
        velocity: sliding velocity [m/s], shape (n_samples, dimension).
        force: friction force in the direction of sliding [N], the same shape.
        period: sampling period T [s].

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import Signals, identify_law
        >>> velocity = np.linspace(-0.1, 0.1, 400)[:, None]
        >>> record = Signals(velocity, 2.0 * np.sign(velocity), period=1e-3)
        >>> round(identify_law(record.velocity, record.force, law="coulomb").estimates["force"].value, 6)
        2.0
    """

    velocity: np.ndarray
    force: np.ndarray
    period: float

    def __repr__(self) -> str:
        n, dimension = self.velocity.shape
        return f"Signals({n} samples, dimension {dimension}, period={self.period:g})"


def read_signals(
    path: str | Path,
    *,
    velocity: str | Sequence[str],
    force: str | Sequence[str],
    period: float | None = None,
    time: str | None = None,
    delimiter: str = ",",
) -> Signals:
    """Reads the columns of a CSV file that an identification needs; the first line has the names of the columns.

    Args:
        path: path of the file, UTF-8 text of at most 64 MiB. Empty lines are skipped.
        velocity: name of the column of the velocity [m/s], or one name per dimension.
        force: name of the column of the force [N], in the direction of sliding, or one name per dimension.
        period: sampling period T [s], if there is no column of time.
        time: name of the column of time [s]; its steps may differ from T by 1 %.
        delimiter: character between the fields.

    Raises:
        ValueError: The file cannot be read, lacks a column, has a value that is not a finite number in one of the
            columns, has steps of time that are not uniform, or has fewer than 50 samples; or the arguments are
            inconsistent. The message has the name of the file, and the line.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from haptic_friction import read_signals
        >>> path = Path(tempfile.mkdtemp(), "record.csv")
        >>> _ = path.write_text("t,v,f\\n" + "".join(f"{k / 1000},0.1,2.0\\n" for k in range(100)))
        >>> signals = read_signals(path, velocity="v", force="f", time="t")
        >>> signals.force.shape, round(signals.period, 6)
        ((100, 1), 0.001)
    """
    if (period is None) == (time is None):
        raise ValueError("period, time: expected one of both")
    if not isinstance(path, (str, Path)):
        raise ValueError(f"path: expected the path of a CSV file, got {path!r}")
    velocities, forces = ([names] if isinstance(names, str) else list(names) for names in (velocity, force))
    if not velocities or len(velocities) != len(forces):
        raise ValueError(f"force: expected a column for each of velocity, {len(velocities)}, got {len(forces)}")
    columns = [*velocities, *forces, *([] if time is None else [time])]
    lines, values = _read_columns(path, columns, delimiter)
    n = len(velocities)
    if period is None:
        period = _period(path, columns[-1], lines, values[:, -1])
    return Signals(values[:, :n], values[:, n : 2 * n], checked("period", period, "s", positive=True))


def _read_columns(path: str | Path, columns: Sequence[str], delimiter: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads the numbers of the lines (n,), and the values of the columns in them (n, columns)."""
    try:
        text = read_text(path, encoding="utf-8-sig")
    except FileError as error:
        raise ValueError(str(error)) from None
    header: list[str] = []
    numbers: list[int] = []
    rows: list[list[float]] = []
    for number, row in _split(path, text, delimiter):
        where = f"{path}: line {number}"
        if not header:
            header = [name.strip() for name in row]
            indices = [_column_index(f"{where}: ", header, name) for name in columns]
            continue
        if len(row) != len(header):
            raise ValueError(f"{where}: expected {len(header)} fields, got {len(row)}")
        values = []
        for index, name in zip(indices, columns, strict=True):
            try:
                values.append(float(row[index]))
            except ValueError:
                kind = "text" if row[index].strip() else "nothing"
                raise ValueError(f"{where}: column {name!r}: expected a number, got {kind}") from None
            if not math.isfinite(values[-1]):
                raise ValueError(f"{where}: column {name!r}: expected a finite number, got {values[-1]}")
        numbers.append(number)
        rows.append(values)
    if len(rows) < FEWEST:
        raise ValueError(f"{path}: expected {FEWEST} samples or more, got {len(rows)}")
    return np.array(numbers), np.array(rows)


def _split(path: str | Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the fields of each line that is not empty."""
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        for row in reader:
            if any(row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num}: {error}") from None


def _column_index(where: str, header: Sequence[str], name: str) -> int:
    """Returns the index of a column in the header; raises ValueError unless there is exactly one of that name."""
    if header.count(name) != 1:
        problem = "no column" if name not in header else f"{header.count(name)} columns"
        raise ValueError(f"{where}{problem} {name!r}, expected one; the file has: {', '.join(header)}")
    return header.index(name)


def _period(path: str | Path, name: str, lines: np.ndarray, time: np.ndarray) -> float:
    """Computes the sampling period [s] of a column of time; raises ValueError if its steps are not uniform."""
    steps = np.diff(time)
    usual = float(np.median(steps))
    wrong = np.flatnonzero(~((usual > 0.0) & (np.abs(steps - usual) <= _LARGEST_JITTER * usual)))
    if len(wrong):
        first = int(wrong[0])
        expected = f"a step of {usual:.6g} s within 1 %, as most" if usual > 0.0 else "rising times"
        raise ValueError(
            f"{path}: line {lines[first + 1]}: column {name!r}: expected {expected}, got {steps[first]:.6g} s "
            f"({len(wrong)} of {len(steps)} steps differ)"
        )
    return float((time[-1] - time[0]) / len(steps))
