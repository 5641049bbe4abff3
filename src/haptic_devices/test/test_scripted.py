"""The clock without a device: scripts from files and plans, and what is refused in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_core.errors import ParameterError
from haptic_devices import Script, ScriptedDevice
from haptic_devices.motion import paper_plan

PERIOD = 1e-3
TEXT = """time,position_0,velocity_0,velocity_5,force_1,force_3
0,0,1,0,0,0
0.01,0.01,1,2,4,0.5
0.03,0.03,1,0,-4,0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "script.csv"


def device(file: Path, text: str = TEXT) -> ScriptedDevice:
    file.write_text(text)
    made = ScriptedDevice(Script.from_csv(file))
    made.configure(PERIOD)
    return made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header that starts with time, got ''"),
        ("t,force_0\n0,0\n1,0\n", "expected a header that starts with time, got 't,force_0'"),
        ("0,0\n1,0\n", "expected a header that starts with time, got '0,0'"),
        ("time,force_0\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n0,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\nnan,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\ninf,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n1,nan\n", "force: expected finite numbers"),
        ("time,velocity_0\n0,1\n1,inf\n", "velocity: expected finite numbers"),
        ("time,force_6\n0,1\n1,2\n", "column force_6: expected each of position_0..2"),
        ("time,position_3\n0,1\n1,2\n", "column position_3: expected each of position_0..2"),
        ("time,torque_0\n0,1\n1,2\n", "column torque_0: expected each of position_0..2"),
        ("time,force_0,force_0\n0,1,1\n1,2,2\n", "column force_0: expected each"),
        ("time,force_0\n0,1\n1\n", "line 3: expected 2 numbers, got 1"),
        ("time,force_0\n0,1\n1,2,3\n", "line 3: expected 2 numbers, got 3"),
        ("time,force_0,force_1\n0,1\n1,2\n", "line 2: expected 3 numbers, got 2"),
        ("time,force_0\n0,1\n1,strong\n", "line 3: could not convert string to float: 'strong'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name_and_place(file, text, message):
    file.write_text(text)
    with pytest.raises(ParameterError) as error:
        Script.from_csv(file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_a_missing_file_is_refused_by_name(file):
    with pytest.raises(ParameterError, match=r"script\.csv: cannot be read: No such file"):
        Script.from_csv(file)


def test_a_file_that_is_not_text_is_refused_by_name(file):
    file.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ParameterError, match=r"script\.csv: not a CSV file"):
        Script.from_csv(file)


def test_empty_lines_do_not_matter(file):
    values = [device(file, text).script.values["force"] for text in (TEXT, TEXT.replace("\n", "\n\n"))]
    assert (values[0] == values[1]).all()


def test_between_samples_every_value_is_interpolated_linearly(file):
    now = device(file).script.at(0.02)
    # halves of numbers of size 1
    assert now["position"] == pytest.approx([0.02, 0, 0, 0, 0, 0], abs=1e-15)
    assert now["velocity"] == pytest.approx([1, 0, 0, 0, 0, 1], abs=1e-15)
    assert now["force"] == pytest.approx([0, 0, 0, 0.25, 0, 0], abs=1e-15)


def test_after_the_end_the_position_stays_and_velocity_and_force_are_zero(file):
    now = device(file).script.at(0.031)
    assert now["position"].tolist() == [0.03, 0, 0, 0, 0, 0]
    assert not now["velocity"].any() and not now["force"].any()


def test_the_device_measures_the_script_at_each_tick(file):
    scripted = device(file)
    assert scripted.has_force_sensor
    for tick in range(40):
        reading, now = scripted.read(), scripted.script.at(tick * PERIOD)
        assert (reading.position == now["position"][:3]).all() and (reading.velocity == now["velocity"][:3]).all()
        assert reading.tool_pose.tolist() == [*now["position"][:3], 0.0, 0.0, 0.0, 1.0]
        assert (reading.tool_twist == now["velocity"]).all()
        assert (reading.tool_wrench == now["force"]).all()
        scripted.write(np.zeros(3))


def test_efforts_are_reported_but_change_nothing(file):
    scripted = device(file)
    scripted.write(np.array([100.0, -50.0, 1.0]))
    reading = scripted.read()
    assert reading.effort.tolist() == [100.0, -50.0, 1.0]
    assert reading.position.tolist() == [scripted.script.at(PERIOD)["position"][0], 0.0, 0.0]


def test_activation_plays_the_script_from_the_start(file):
    scripted = device(file)
    for _ in range(5):
        scripted.write(np.zeros(3))
    scripted.activate()
    assert scripted.read().position[0] == 0.0


def test_the_end_is_one_period_after_the_last_sample(file):
    assert device(file).end_time == pytest.approx(0.03 + PERIOD)


def test_a_plan_is_played_sample_by_sample():
    plan = paper_plan(PERIOD)
    scripted = ScriptedDevice(Script.from_plan(plan))
    scripted.configure(PERIOD)
    rows = []
    for _ in range(len(plan.table)):
        reading = scripted.read()
        rows.append([*reading.position[:2], *reading.velocity[:2], *reading.tool_wrench[:2]])
        scripted.write(np.zeros(3))
    # interpolation at the samples: roundings of time, relative to the period, times the change in one of them
    assert np.abs(np.array(rows) - plan.table[:, :6]).max() < 1e-12
    assert scripted.end_time == pytest.approx(plan.duration)
