"""The clock without a device: scripts from files, signals and plans, and what is refused in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_core.errors import ParameterError
from haptic_devices import Script, ScriptedDevice, factories
from haptic_devices.motions.planar import paper_plan
from haptic_devices.scripted import SignalScript, load_script

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
        ("", "expected a header that starts with time, got an empty file"),
        ("t,force_0\n0,0\n1,0\n", "expected a header that starts with time, got 2 fields"),
        ("0,0\n1,0\n", "expected a header that starts with time, got 2 fields"),
        ("time,force_0\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n0,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\nnan,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\ninf,2\n", "time: expected two or more rising, finite times [s]"),
        ("time,force_0\n0,1\n1,nan\n", "force: expected finite numbers"),
        ("time,velocity_0\n0,1\n1,inf\n", "velocity: expected finite numbers"),
        ("time,force_6\n0,1\n1,2\n", "line 1, column 2: expected each of position_0..2"),
        ("time,position_3\n0,1\n1,2\n", "line 1, column 2: expected each of position_0..2"),
        ("time,torque_0\n0,1\n1,2\n", "line 1, column 2: expected each of position_0..2"),
        ("time,force_0,force_0\n0,1,1\n1,2,2\n", "line 1, column 3: expected each"),
        ("time,force_0\n0,1\n1\n", "line 3: expected 2 numbers, got 1"),
        ("time,force_0\n0,1\n1,2,3\n", "line 3: expected 2 numbers, got 3"),
        ("time,force_0,force_1\n0,1\n1,2\n", "line 2: expected 3 numbers, got 2"),
        ("time,force_0\n0,1\n1,strong\n", "line 3, column 2: expected a number, got a text of 6 characters"),
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
    with pytest.raises(ParameterError, match=r"script\.csv: not UTF-8 text: line 1$"):
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


def test_activation_forgets_the_last_effort(file):
    played = device(file)
    played.write(np.array([1.0, 2.0, 3.0]))
    played.activate()
    assert not played.read().effort.any()


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


# ---- signals -----------------------------------------------------------------------------------------

TICKS = np.arange(41) * PERIOD
LATE = np.arange(41) >= 20
MIDDLE = (np.arange(41) >= 10) & (np.arange(41) < 30)


def signals(file: Path, text: str) -> SignalScript:
    """A script that lasts 40 ticks, from the YAML text of its channels."""
    path = file.with_suffix(".yaml")
    path.write_text(f"duration: 0.04\n{text}")
    script = load_script(path)
    assert isinstance(script, SignalScript)
    return script


def force(file: Path, terms: str) -> np.ndarray:
    return signals(file, f"force_0: [{terms}]").at(TICKS)["force"][:, 0]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("constant: -1.5", np.full(41, -1.5)),
        ("ramp: 0.1", 0.1 * TICKS),
        ("ramp: 0.1, start: 0.02", 0.1 * TICKS * LATE),
        ("sine: {amplitude: 1.8, frequency: 30}", 1.8 * np.sin(2 * np.pi * 30 * TICKS)),
        ("sine: {amplitude: 2, frequency: 50, phase: 0.5}", 2 * np.sin(2 * np.pi * 50 * TICKS + 0.5)),
        ("sine: {amplitude: 1.8, frequency: 30}, start: 0.02", 1.8 * np.sin(2 * np.pi * 30 * TICKS) * LATE),
        ("from: 3, to: -1", 3 - 4 * TICKS / 0.04),
        ("from: 3, to: -1, start: 0.01, end: 0.03", (5 - 200 * TICKS) * MIDDLE),
    ],
)
def test_each_term_is_its_formula_at_the_time_of_the_tick(file, term, expected):
    # roundings of numbers below 10
    assert np.abs(force(file, f"{{{term}}}") - expected).max() < 1e-14


def test_the_terms_of_a_channel_are_added(file):
    one, two = "{constant: 2}", "{ramp: 7, start: 0.011}"
    assert (force(file, f"{one}, {two}") == force(file, one) + force(file, two)).all()


@pytest.mark.parametrize("period", [3e-4, 1e-3])
def test_a_term_starts_at_its_start_and_ends_before_its_end(file, period):
    """Also where tick x period is a rounding less (3e-4) or more (1e-3) than the decimal number."""
    ticks = np.arange(40)
    for tick in range(1, 40):
        time = f"{tick * round(period * 1e4)}.0e-4"
        first, second = (
            signals(file, f"force_0: [{{constant: 1, {bound}: {time}}}]").at(ticks * period)["force"][:, 0]
            for bound in ("end", "start")
        )
        assert (first == (ticks < tick)).all()
        assert (second == (ticks >= tick)).all()


def test_terms_meet_without_a_gap_at_every_period(file):
    terms = "{constant: 1, end: 0.03}, {constant: 1, start: 0.03}"
    script = signals(file, f"force_0: [{terms}]")
    for period in (1e-4, 3e-4, 7e-4, 1e-3 / 3):
        times = np.arange(int(0.04 / period)) * period
        assert (script.at(times)["force"][:, 0] == 1.0).all()


def test_a_term_that_ends_with_the_script_acts_at_the_last_tick(file):
    for end in ("", ", end: 0.04"):
        assert force(file, f"{{constant: 1{end}}}")[-1] == 1.0
    assert force(file, "{constant: 1, end: 0.0399}")[-1] == 0.0


def test_every_channel_reaches_its_own_value(file):
    channels = [("position", 3), ("velocity", 6), ("force", 6)]
    names = [(kind, axis) for kind, axes in channels for axis in range(axes)]
    text = "".join(f"{kind}_{axis}: [{{constant: {i}}}]\n" for i, (kind, axis) in enumerate(names, start=1))
    scripted = ScriptedDevice(signals(file, text))
    scripted.configure(PERIOD)
    reading = scripted.read()
    assert reading.position.tolist() == reading.tool_pose[:3].tolist() == [1, 2, 3]
    assert reading.velocity.tolist() == [4, 5, 6]
    assert [*reading.tool_twist, *reading.tool_wrench] == list(range(4, 16))
    assert reading.tool_pose[3:].tolist() == [0, 0, 0, 1]


def test_nothing_is_integrated(file):
    scripted = ScriptedDevice(signals(file, "velocity_0: [{constant: 1}]"))
    scripted.configure(PERIOD)
    for _ in range(10):
        scripted.write(np.zeros(3))
    assert scripted.read().velocity[0] == 1.0
    assert not scripted.read().position.any() and not scripted.read().tool_pose[:3].any()


def test_after_the_duration_the_position_stays_and_velocity_and_force_are_zero(file):
    now = signals(file, "".join(f"{kind}_0: [{{ramp: 2}}]\n" for kind in ("position", "velocity", "force"))).at(0.05)
    assert now["position"].tolist() == [0.08, 0, 0, 0, 0, 0]
    assert not now["velocity"].any() and not now["force"].any()


@pytest.mark.parametrize("period", [1e-3, 4e-3, 3e-4])
@pytest.mark.parametrize("duration", ["0.036", "0.3"])
def test_the_last_tick_is_the_one_at_the_duration(file, period, duration):
    file.with_suffix(".yaml").write_text(f"duration: {duration}\nvelocity_0: [{{constant: 1}}]")
    scripted = ScriptedDevice(load_script(file.with_suffix(".yaml")))
    scripted.configure(period)
    played = []
    for _ in range(round(0.31 / period)):  # beyond both
        played.append(scripted.read().velocity[0])
        scripted.write(np.zeros(3))
    ticks = round(float(duration) / period) + 1  # tick 0 is at t = 0
    assert played == [1.0] * ticks + [0.0] * (len(played) - ticks)
    assert round(scripted.end_time / period) == ticks


TERM = {"constant": 2.0}
SINE = {"amplitude": 2.0, "frequency": 30.0, "phase": 0.3}
LINE = {"from": 1.0, "to": 2.0}


@pytest.mark.parametrize(
    ("term", "change"),
    [
        (TERM, {"constant": 1.9}),
        ({"ramp": 2.0}, {"ramp": 1.9}),
        *(({"sine": SINE}, {"sine": SINE | {name: 0.9 * SINE[name]}}) for name in SINE),
        (LINE, {"from": 0.9}),
        (LINE, {"to": 1.9}),
        *((term, {"start": 0.01}) for term in (TERM, {"ramp": 2.0}, {"sine": SINE}, LINE)),
        *((term, {"end": 0.03}) for term in (TERM, {"ramp": 2.0}, {"sine": SINE}, LINE)),
    ],
)
def test_every_parameter_of_a_term_changes_the_signal(term, change):
    before, after = (SignalScript.model_validate({"duration": 0.04, "force_0": [t]}) for t in (term, term | change))
    assert (before.at(TICKS)["force"] != after.at(TICKS)["force"]).any()


def test_the_duration_changes_the_end():
    scripts = [SignalScript.model_validate({"duration": d, "force_0": [TERM]}) for d in (0.03, 0.04)]
    assert [script.end for script in scripts] == [0.03, 0.04]
    assert [np.count_nonzero(script.at(TICKS)["force"]) for script in scripts] == [31, 41]


FORM = "expected one of constant, ramp, sine, or from with to, got a mapping of"
SPAN = "expected start < end <= duration, got a list of"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a mapping"),
        ("force_0: []", "duration: field required"),
        ("duration: 0", "duration: input should be greater than 0, got a number"),
        ("duration: .inf", "duration: input should be a finite number, got"),
        ("duration: 2.0e+6", "duration: input should be less than or equal to 1000000, got a number"),
        ("duration: 1\nforce_6: []", "unknown field"),
        ("duration: 1\nposition_3: []", "unknown field"),
        ("duration: 1\nforce_0: {ramp: 1}", "force_0: input should be a valid list, got a mapping of 1"),
        ("duration: 1\nforce_0: [{}]", f"force_0.0: {FORM} 0"),
        ("duration: 1\nforce_0: [{start: 0.5}]", f"force_0.0: {FORM} 1"),
        ("duration: 1\nforce_0: [{constant: 1, ramp: 2}]", f"force_0.0: {FORM} 2"),
        ("duration: 1\nforce_0: [{ramp: 1, from: 1, to: 2}]", f"force_0.0: {FORM} 3"),
        ("duration: 1\nforce_0: [{ramp: 1, to: 2}]", f"force_0.0: {FORM} 2"),
        ("duration: 1\nforce_0: [{from: 1}]", f"force_0.0: {FORM} 1"),
        ("duration: 1\nforce_0: [{to: 1}]", f"force_0.0: {FORM} 1"),
        ("duration: 1\nforce_0: [{from_: 1, to: 1}]", "force_0.0: unknown field"),
        ("duration: 1\nforce_0: [{cosine: 1}]", "force_0.0: unknown field"),
        ("duration: 1\nforce_0: [{constant: strong}]", "force_0.0.constant: input should be a valid number"),
        *(
            (f"duration: 1\nforce_0: [{{{text}: {sign}2.0e+6}}]", f"force_0.0.{place}: input should be {than} than")
            for text, place in (("constant", "constant"), ("ramp", "ramp"), ("to: 1, from", "from"), ("to", "to"))
            for sign, than in (("", "less"), ("-", "greater"))
        ),
        (
            "duration: 1\nforce_0: [{constant: .nan}]",
            "force_0.0.constant: input should be a finite number, got",
        ),
        ("duration: 1\nforce_0: [{constant: 1}, {sine: 3}]", "force_0.1.sine: input should be a valid dictionary"),
        *(
            (f"duration: 1\nforce_0: [{{sine: {{{text}}}}}]", f"force_0.0.sine{message}")
            for text, message in (
                ("frequency: 1", ".amplitude: field required"),
                ("amplitude: 1", ".frequency: field required"),
                ("amplitude: 2.0e+6, frequency: 1", ".amplitude: input should be less than or equal to 1000000"),
                ("amplitude: 1, frequency: 0", ".frequency: input should be greater than 0, got a number"),
                (
                    "amplitude: 1, frequency: 5001",
                    ".frequency: input should be less than or equal to 5000, got",
                ),
                ("amplitude: 1, frequency: 1, phase: .inf", ".phase: input should be a finite number, got"),
                ("amplitude: 1, frequency: 1, phase: 2.0e+6", ".phase: input should be less than or equal"),
                ("amplitude: 1, frequency: 1, unit: m", ": unknown field"),
            )
        ),
        ("duration: 1\nforce_0: [{ramp: 1, start: -1}]", "force_0.0.start: input should be greater than or equal to 0"),
        ("duration: 1\nforce_0: [{ramp: 1, start: 1}]", f"force_0: term 0: {SPAN}"),
        ("duration: 1\nforce_0: [{ramp: 1}, {ramp: 1, end: 1.1}]", f"force_0: term 1: {SPAN}"),
        ("duration: 1\nforce_0: [{ramp: 1, start: 0.5, end: 0.5}]", f"force_0: term 0: {SPAN}"),
        (
            "duration: 1\nforce_0: [{ramp: 1, end: .inf}]",
            "force_0.0.end: input should be a finite number, got",
        ),
        ("duration: 1\nvelocity_5: [{ramp: 1, start: 0.5, end: 0.4}]", f"velocity_5: term 0: {SPAN}"),
    ],
)
def test_signals_that_cannot_be_used_are_refused_by_name(file, text, message):
    path = file.with_suffix(".yaml")
    path.write_text(text)
    with pytest.raises(ParameterError) as error:
        load_script(path)
    place = "" if message == "expected a mapping" else f"line {len(text.splitlines())}: "
    assert str(error.value).startswith(f"{path}: {place}{message}")
    assert "\n" not in str(error.value)


# ---- playing -----------------------------------------------------------------------------------------


def interpolated(script: Script, time: float) -> np.ndarray:
    """The 28 values of a reading, one number at a time."""
    now = {
        kind: np.array([np.interp(time, script.time, column) for column in table.T])
        for kind, table in script.values.items()
    }
    if time > script.time[-1]:
        now["velocity"][:] = now["force"][:] = 0.0
    position, velocity = now["position"][:3], now["velocity"]
    return np.concatenate((position, velocity[:3], np.zeros(3), position, [0, 0, 0, 1], velocity, now["force"]))


@pytest.mark.covering(2)
@pytest.mark.parametrize("period", [1e-3, 7e-4])
@pytest.mark.parametrize("source", ["file", "samples", "plan"])
def test_playing_gives_the_bits_of_plain_interpolation(file, source, period):
    if source == "plan":
        script = Script.from_plan(paper_plan(period))
    elif source == "file":
        script = device(file).script
    else:
        noise = np.random.default_rng(0)
        time = np.cumsum(noise.uniform(1e-4, 3e-3, 800))
        script = Script(time, {kind: noise.normal(size=(800, 6)) for kind in ("position", "velocity", "force")})
    scripted = ScriptedDevice(script)
    scripted.configure(period)
    for _ in range(2):
        for tick in range(600):
            assert scripted.read().values.tobytes() == interpolated(script, tick * period).tobytes()
            scripted.write(np.zeros(3))
        scripted.activate()


@pytest.mark.parametrize("shape", [(2, 6), (3, 3), (3, 7), None])
def test_values_that_do_not_fit_the_times_are_refused(shape):
    values = {kind: np.zeros((3, 6)) for kind in ("position", "velocity", "force")}
    values["velocity"] = np.zeros(shape) if shape else None
    with pytest.raises(ParameterError, match=r"velocity: expected shape \(3, 6\), as many rows as times, got "):
        Script(np.arange(3.0), values)


def test_signals_are_played_at_the_time_of_each_tick(file):
    script = SignalScript.model_validate({"duration": 0.55, "force_1": [{"sine": SINE}]})
    scripted = ScriptedDevice(script)
    scripted.configure(PERIOD)
    for tick in range(600):
        assert scripted.read().tool_wrench.tolist() == script.at(tick * PERIOD)["force"].tolist()
        scripted.write(np.zeros(3))


@pytest.mark.parametrize("name", ["script.txt", "script", "script.yaml.old"])
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    with pytest.raises(ParameterError, match=r"script.*: expected a script that ends in \.csv or \.yaml, got '"):
        load_script(tmp_path / name)


@pytest.mark.parametrize("suffix", [".csv", ".yaml"])
def test_the_node_parameter_chooses_the_script_by_its_suffix(file, suffix):
    text = {".csv": "time,force_0\n0,2\n1,2\n", ".yaml": "duration: 1\nforce_0: [{constant: 2}]"}[suffix]
    path = file.with_suffix(suffix)
    path.write_text(text)
    scripted = factories.scripted({"device_file": str(path)})
    scripted.configure(PERIOD)
    assert scripted.read().tool_wrench.tolist() == [2, 0, 0, 0, 0, 0]
    assert scripted.end_time == 1.0 + PERIOD
