"""The report of friction_impedance: its claims on synthetic runs, and the files that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from haptic_bags.bags import Bag, Event
from haptic_core.errors import HapticError
from haptic_core.flight_recorder import FlightRecorder
from haptic_experiments import report
from haptic_experiments.experiments import friction_impedance
from haptic_experiments.experiments.friction_impedance import analyse
from haptic_experiments.experiments.friction_impedance.joystick import Run, rest_drifts
from haptic_experiments.report import Claim, safety_of, write_report
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.runner import effective_arguments, write_run_file

Signals = Callable[..., Run]
Bags = Callable[..., Bag]
Claims = Callable[[Run], list[Claim]]

F = 4.0
#: of the synthetic signals: one count of the encoder at the tip (m), and the force K + B/T that it makes (N)
COUNT = 7.854e-5 * 0.15
COUNT_FORCE = (6000.0 + 10.0 / 1e-3) * COUNT


# Claims


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Makes the directory of a run, with an empty file where a bag has its metadata."""
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag/metadata.yaml").touch()
    return tmp_path


@pytest.fixture
def claims(bag_of: Bags) -> Claims:
    """Claims of the report about a run: opposition, drift, chatter (identification: test_bag_identification.py)."""
    return lambda run: analyse({"bag": bag_of(run)}).claims[:3]


def test_the_verdicts_in_words() -> None:
    verdicts = [Claim("text", "measured", shown).verdict for shown in (True, False, None)]
    assert verdicts == ["shown", "NOT shown", "not reached in this run"]


def test_a_comparison_of_numpy_numbers_is_a_verdict() -> None:
    claims = [Claim("text", "measured", np.float64(3.0) <= limit) for limit in (4.0, 2.0)]  # type: ignore[arg-type]
    assert [claim.verdict for claim in claims] == ["shown", "NOT shown"]
    assert [type(claim.shown) for claim in claims] == [bool, bool]  # JSON takes no other


def test_a_perfect_run_shows_every_claim(signals: Signals, bag_of: Bags) -> None:
    result = analyse({"bag": bag_of(signals()), "bag_delayed": bag_of(signals(), delay=1)})
    assert [claim.shown for claim in result.claims[:5]] == [True] * 5
    assert "0 ticks of delay" in result.claims[1].text and "1 tick of delay" in result.claims[2].text
    assert result.metrics["encoder_count_at_tip"] == pytest.approx(COUNT)
    assert result.metrics["force_of_one_count"] == pytest.approx(COUNT_FORCE)
    assert result.metrics["runs"]["bag"]["ticks"] == 4000


def test_a_run_that_is_cut_reaches_no_rest(signals: Signals, claims: Claims) -> None:
    assert [claim.shown for claim in claims(signals(duration=2.0))] == [True, None, None]


def test_without_sliding_opposition_is_not_reached(signals: Signals, claims: Claims) -> None:
    run = signals()
    assert [claim.shown for claim in claims(replace(run, velocity=0.0 * run.velocity))] == [None, True, True]


def test_force_across_the_motion_does_not_show_opposition(signals: Signals, claims: Claims) -> None:
    run = signals()
    run.force[:1000] = [F * np.cos(0.5), F * np.sin(0.5)]
    assert [claim.shown for claim in claims(run)] == [False, True, True]


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_drift_of_one_encoder_count_is_the_limit(share: float, signals: Signals, claims: Claims) -> None:
    length = rest_drifts(signals())[0].length
    assert [claim.shown for claim in claims(signals(drift=share * COUNT / length))] == [True, share < 1.0, True]


def test_a_rest_above_f_does_not_reach_the_claim_of_drift(signals: Signals, claims: Claims) -> None:
    run = signals()
    run.force[1000:] *= 2.0
    assert claims(run)[1].shown is None


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_chatter_of_one_encoder_counts_force_is_the_limit(share: float, signals: Signals, claims: Claims) -> None:
    run = signals()
    amplitude = share * COUNT_FORCE * np.sqrt(2.0)
    run.force[1000:, 0] += amplitude * np.sin(2 * np.pi * 200.0 * run.time[1000:])
    assert [claim.shown for claim in claims(run)] == [True, True, share < 1.0]


def test_a_flipping_force_is_chatter(signals: Signals, claims: Claims) -> None:
    run = signals()
    run.force[500:600] *= -1.0
    assert claims(run)[2].shown is False


# Other models and laws


@pytest.mark.parametrize("model", ["A", "D", "lugre", "karnopp", "parallel"])
def test_another_model_has_numbers_and_a_figure_but_no_verdict(model: str, signals: Signals, bag_of: Bags) -> None:
    bag = bag_of(signals(), model=model)
    if model == "parallel":  # three elements, of which the last one holds on longest
        friction = bag.topics["/joystick/friction/state"]
        friction["elastic_displacement"] = np.hstack((np.full((4000, 4), 7.0), friction["elastic_displacement"]))
    result = analyse({"bag": bag})
    assert [claim.shown for claim in result.claims] == [None] * 5
    assert all(claim.measured.startswith(f"model {model}, not C: ") for claim in result.claims[:3])
    assert result.metrics["runs"]["bag"]["rests"][0]["drift"] == pytest.approx(0.0, abs=1e-13)
    assert result.figure.axes


@pytest.mark.parametrize("law", ["table", "function", "anisotropic"])
def test_a_law_without_one_friction_force_is_not_judged(law: str, signals: Signals, bag_of: Bags) -> None:
    result = analyse({"bag": bag_of(signals(), law=law)})
    assert [claim.shown for claim in result.claims] == [None] * 5
    assert all(claim.measured.startswith(f"law {law}, which has no F: ") for claim in result.claims[:3])


def test_elements_in_parallel_slide_at_the_end_of_their_loading_curve(signals: Signals, bag_of: Bags) -> None:
    result = analyse({"bag": bag_of(signals(), model="parallel", friction_force=9.0, loading_force=[1.0, 3.0])})
    assert "Below F = 3 N" in result.claims[1].text


def test_the_stribeck_law_begins_to_slide_at_its_static_force(signals: Signals, bag_of: Bags) -> None:
    """The encoder's counts rotate the force by their ratio to the elastic displacement, here Fs/K and not F/K."""
    run = signals()
    turned = 0.6 * np.sqrt(2.0) * 1.1781e-5 / (F / 6000.0)  # of one count, 11.8 um, across F/K
    cosine, sine = np.cos(turned), np.sin(turned)
    run = replace(run, force=run.force @ [[cosine, sine], [-sine, cosine]])
    shares = [
        analyse({"bag": bag_of(run, law=law, static_force=3.0 * F)}).metrics["runs"]["bag"]["sliding"][
            "within_steady_lag_share"
        ]
        for law in ("coulomb", "stribeck")
    ]
    assert shares == [1.0, 0.0]


# Files


@pytest.mark.slow
@pytest.mark.parametrize("duration", [2.0, 4.0])
def test_a_report_has_metrics_a_figure_and_a_page(
    duration: float, run_folder: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, bag_of: Bags
) -> None:
    def read(path: Path) -> Bag:
        bag = bag_of(signals(duration))
        bag.path = path
        return bag

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    monkeypatch.setattr(report, "Bag", read)
    text = StringIO()
    written = write_report(run_folder, Console(file=text, width=200))
    metrics: dict[str, Any] = json.loads((run_folder / "metrics.json").read_text(), parse_constant=refuse)
    assert metrics["experiment"] == "friction_impedance" and "bag" in metrics["runs"]
    assert [claim["shown"] for claim in metrics["claims"]] == [claim.shown for claim in written.claims]
    assert (run_folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (run_folder / "report.html").read_text()
    assert "data:image/png;base64," in page and all(claim.verdict in page for claim in written.claims)
    assert all(claim.verdict in text.getvalue() for claim in written.claims)
    notes = [note.get_text() for axes in written.figure.axes for note in axes.texts]
    assert ("no rest reached in this run" in notes) == (duration == 2.0)


@pytest.mark.parametrize("given", [{}, {"law": "function", "law_function": "tustin"}])
def test_arguments_that_are_not_the_defaults_stand_below_the_summary(given: dict[str, str], tmp_path: Path) -> None:
    experiment = load_experiment("friction_impedance")
    for damaged in ("", "arguments", "a: [1", "\x00"):
        (tmp_path / "run.yaml").write_text(damaged)
        assert report.changed_arguments(tmp_path, experiment) == {}
    arguments = effective_arguments(load_launch_file(experiment.launch_file), given)
    write_run_file(tmp_path, experiment, arguments, {}, 0)
    assert report.changed_arguments(tmp_path, experiment) == given
    page = report.render_page(experiment, [], [], {}, {}, changed=given)
    assert ("<code>law:=function</code>, <code>law_function:=tustin</code>." in page) == bool(given)
    assert ("differ from them" in page) == bool(given)


def test_a_report_that_misses_a_number_names_its_line(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, bag_of: Bags
) -> None:
    bag = bag_of(signals())
    monkeypatch.setattr(bag, "started", lambda node: {"device": {}})
    monkeypatch.setattr(report, "Bag", lambda path: bag)
    place = r"KeyError: 'encoder_resolution' \(friction_impedance/__init__\.py, line \d+\)$"
    with pytest.raises(HapticError, match=place):
        write_report(run_folder, Console(file=StringIO()))


def test_a_module_that_returns_no_report_is_named(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, bag_of: Bags
) -> None:
    bag = bag_of(signals())
    monkeypatch.setattr(report, "Bag", lambda path: bag)
    monkeypatch.setattr(friction_impedance, "analyse", lambda bags: None)
    expected = r"friction_impedance\.analyse: expected a Report to be returned, got NoneType$"
    with pytest.raises(HapticError, match=expected):
        write_report(run_folder, Console(file=StringIO()))


def test_the_terminal_shows_what_is_in_brackets(tmp_path: Path) -> None:
    """Units in brackets are no styles."""
    claims = [Claim("Drift [m] is small.", "1e-6 [m]", True)]
    made = report.Report({}, claims, Figure, "", {})
    text = StringIO()
    report._print(made, tmp_path / "report.html", Console(file=text, width=120))
    assert "Drift [m] is small." in text.getvalue() and "1e-6 [m]" in text.getvalue()


def test_a_report_names_the_files_with_the_last_ticks_before_stops(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, bag_of: Bags
) -> None:
    bag = bag_of(signals())
    bag.path = run_folder / "bag"
    monkeypatch.setattr(report, "Bag", lambda path: bag)
    recorder = FlightRecorder(("callbacks", "device"))
    with recorder:
        recorder.mark(0)
        recorder.end(811)
        table = recorder.table()
    assert table is not None
    records = run_folder / "flight_records"
    records.mkdir()
    np.save(records / "joystick.device-tick-812.npy", table)
    (records / "joystick.device-tick-900.npy").write_bytes(b"no array")
    text = StringIO()
    write_report(run_folder, Console(file=text, width=200))
    first, second = (line for line in text.getvalue().splitlines() if line.startswith("stop of joystick.device"))
    assert first.startswith(f"stop of joystick.device at tick 812: {records / 'joystick.device-tick-812.npy'}: longest")
    assert "longest of the last ticks: tick 811 took " in first
    assert "at tick 900" in second and "cannot be read" in second
    page = (run_folder / "report.html").read_text()
    assert "<td>flight_records/joystick.device-tick-812.npy</td>" in page


def test_reports_of_two_bags_in_one_folder_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, bag_of: Bags
) -> None:
    """Also beside that of a run with all its bags; that of the only bag in a folder has the usual names."""

    def read(path: Path) -> Bag:
        bag = bag_of(signals())
        bag.path = path
        return bag

    monkeypatch.setattr(report, "Bag", read)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metadata.yaml").touch()
        write_report(tmp_path / name, Console(file=StringIO()))
    write_report(tmp_path / "first", Console(file=StringIO()))
    files = ("figure.png", "metrics.json", "report.html")
    expected = {f"{prefix}{file}" for prefix in ("", "first_", "second_") for file in files}
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == expected


def test_a_directory_without_a_bag_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(HapticError, match=r": no run and no bag \(no bag\*/metadata\.yaml in it\)$"):
        write_report(tmp_path, Console(file=StringIO()))


# What the safety layer did


def test_limits_and_stops_are_in_the_metrics_of_every_report(signals: Signals, bag_of: Bags) -> None:
    quiet, other, older = bag_of(signals()), bag_of(signals()), bag_of(signals())
    ticks = len(quiet.topics["/joystick/device_state"]["tick"])
    for bag in (quiet, other):
        bag.topics["/joystick/device_state"] |= {"limited": np.zeros(ticks, int), "status": np.zeros(ticks, int)}
    state = other.topics["/joystick/device_state"]
    state["limited"][:10] = 1
    state["limited"][5:8] = 3
    state["limited"][20:70] = 16  # a ramp is no limit
    state["status"][10:20] = 1
    other.events.append(Event(10, "device", "error", {"status": 1, "reason": "emergency stop by topic"}))
    other.events.append(Event(10, "wall", "error", {"reason": "of a node"}))
    older.topics["/joystick/device_state"].pop("limited", None)
    expected = {"limited_effort": 10, "limited_effort_rate": 3, "stopped": 10, "reasons": ["emergency stop by topic"]}
    assert safety_of({"quiet": quiet, "other": other, "older": older}) == {"other": expected}
