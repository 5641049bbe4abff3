"""Signals from a CSV file: what is read is what was written, to the last bit; a bad file gives one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_friction import CoulombLaw, ModelC, identify_model_c, read_signals

T = 1e-3
TIME = T * np.arange(4000)
VELOCITY = 0.1 * np.sin(2.0 * np.pi * TIME)
FORCE = ModelC(CoulombLaw(2.0), stiffness=6000.0, damping=10.0, period=T).simulate(VELOCITY[:, None])[:, 0]
COLUMNS = {"velocity": "v", "force": "f"}


def write(path: Path, *, delimiter: str = ",", ends: str = "\n", **lines: str) -> Path:
    """Writes the record; `line7="..."` replaces a line, counted from 1."""
    rows = (
        ["note", "t", "v", "f"],
        *(["x y", *map(repr, row)] for row in zip(*map(np.ndarray.tolist, (TIME, VELOCITY, FORCE)), strict=True)),
    )
    text = [delimiter.join(row) for row in rows]
    for name, line in lines.items():
        text[int(name.removeprefix("line")) - 1] = line
    path.write_bytes(ends.join([*text, ""]).encode())
    return path


@pytest.mark.parametrize(
    ("delimiter", "ends", "mark"), [(",", "\n", b""), (";", "\r\n", b"\xef\xbb\xbf"), ("\t", "\n\n", b"")]
)
def test_columns_come_back_to_the_last_bit(tmp_path: Path, delimiter: str, ends: str, mark: bytes) -> None:
    path = write(tmp_path / "record.csv", delimiter=delimiter, ends=ends)
    path.write_bytes(mark + path.read_bytes())
    found = read_signals(path, **COLUMNS, time="t", delimiter=delimiter)
    np.testing.assert_array_equal(found.velocity, VELOCITY[:, None])
    np.testing.assert_array_equal(found.force, FORCE[:, None])
    assert found.period == pytest.approx(T, rel=1e-12)
    both = read_signals(path, velocity=["v", "t"], force=["f", "v"], period=0.5, delimiter=delimiter)
    np.testing.assert_array_equal(both.velocity, np.column_stack((VELOCITY, TIME)))
    np.testing.assert_array_equal(both.force, np.column_stack((FORCE, VELOCITY)))
    assert both.period == 0.5


def test_identification_of_a_file_is_that_of_the_arrays(tmp_path: Path) -> None:
    signals = read_signals(write(tmp_path / "record.csv"), **COLUMNS, period=T)
    found = identify_model_c(signals.velocity, signals.force, period=signals.period)
    assert found.estimates == identify_model_c(VELOCITY, FORCE, period=T).estimates
    assert found.estimates["force"].value == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        ({}, {"force": "F"}, r"line 1: no column 'F', expected one; the file has: note, t, v, f"),
        ({"line1": "v,t,v,f"}, {}, "line 1: 2 columns 'v', expected one; the file has: v, t, v, f"),
        ({"line7": "x,0.005,abc,1.0"}, {}, "line 7: column 'v': expected a number, got text"),
        ({"line7": "x,0.005,0.1,"}, {}, "line 7: column 'f': expected a number, got nothing"),
        ({"line7": "x,0.005,0.1,nan"}, {}, "line 7: column 'f': expected a finite number, got nan"),
        ({"line7": "x,0.005,-inf,1.0"}, {}, "line 7: column 'v': expected a finite number, got -inf"),
        ({"line7": "x,0.005,0.1"}, {}, "line 7: expected 4 fields, got 3"),
        (
            {"line7": "x,0.0055,0.1,1.0"},
            {},
            r"line 7: column 't': expected a step of 0\.001 s within 1 %, as most, got 0\.0015 s \(2 of 3999",
        ),
        ({"line7": "x,0.004,0.1,1.0"}, {}, "line 7: column 't': expected a step of .* got 0 s"),
        ({}, {"time": "note"}, "line 2: column 'note': expected a number, got text"),
        ({}, {"delimiter": ";"}, r"line 1: no column 'v', expected one; the file has: note,t,v,f"),
        ({"line7": f"x,0.005,0.1,{'1' * 200000}"}, {}, "line 7: field larger than field limit"),
        ({}, {"period": T}, "^period, time: expected one of both"),
        ({}, {"time": None}, "^period, time: expected one of both"),
        ({}, {"time": None, "period": 0.0}, "^period: expected "),
        ({}, {"force": ["f", "f"]}, "^force: expected a column for each of velocity, 1, got 2"),
        ({}, {"velocity": [], "force": []}, "^force: expected a column for each of velocity, 0"),
    ],
)
def test_bad_files_and_arguments_are_refused_in_one_line(
    tmp_path: Path, lines: dict[str, str], arguments: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "record.csv", **lines)
    with pytest.raises(ValueError, match=message) as caught:
        read_signals(path, **{**COLUMNS, "time": "t", **arguments})
    text = str(caught.value)
    assert "\n" not in text and (message.startswith("^") or text.startswith(str(path)))


def test_time_that_falls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.csv"
    path.write_text("t,v,f\n" + "".join(f"{-k},1,1\n" for k in range(100)))
    with pytest.raises(ValueError, match="line 3: column 't': expected rising times, got -1 s"):
        read_signals(path, **COLUMNS, time="t")


def test_files_without_enough_samples_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.csv"
    for text, count in (("", 0), ("\n\n", 0), ("v,f\n", 0), ("v,f\n" + "1,1\n" * 49, 49)):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"expected 50 samples or more, got {count}"):
            read_signals(path, **COLUMNS, period=T)
    path.write_text("v,f\n" + "1,1\n" * 50)
    assert len(read_signals(path, **COLUMNS, period=T).force) == 50


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: cannot be read: No such file"):
        read_signals(tmp_path / "nowhere", **COLUMNS, period=T)
    (tmp_path / "x").write_bytes(b"v,f\n\xff\n")
    with pytest.raises(ValueError, match="not UTF-8 text: line 2"):
        read_signals(tmp_path / "x", **COLUMNS, period=T)
