"""The report of a replay: parameters that differ, the figure, claims of identity."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from replay_bags import FRICTION_STATE, a_run, event, wire, write_bag
from rich.console import Console

from haptic_bags.recording import DEVICE_COMMAND, Recording, ReplayError
from haptic_experiments.replay_report import IDENTITY, changed_parameters, is_replay, plot, write_replay_report


def test_parameters_that_differ_are_named_with_both_values(tmp_path: Path) -> None:
    runs = {"one": a_run(mode="realtime", only_here=1), "other": a_run(stiffness=1.0, mode="lockstep", new=2)}
    one, other = (Recording.read(write_bag(tmp_path / name, run, experiment="x")) for name, run in runs.items())
    assert changed_parameters(one, other) == {"friction": {"stiffness": (6000.0, 1.0)}}


@pytest.mark.parametrize(
    ("mode", "fields", "shown"),
    [
        (2, {"tool_wrench__force__y": 1.0, "joint_effort": np.array([1.0])}, "tool_wrench.force"),
        (2, {"tool_wrench__torque__z": 1.0}, "tool_wrench.torque"),
        (1, {"joint_effort": np.array([1.0, 0.0])}, "joint_effort"),
        (3, {"tool_pose__position__x": 1.0}, "tool_pose.position"),
        (3, {"tool_pose__position__x": 1.0, "tool_twist__linear__x": 1.0}, "tool_twist.linear"),
        (0, {"tool_wrench__force__y": 1.0}, "velocity"),  # a command that says nothing: the node's state is shown
    ],
)
def test_the_figure_shows_what_was_commanded(tmp_path: Path, mode: int, fields: dict[str, Any], shown: str) -> None:
    run = a_run(answered=[])
    for k in range(5):
        command = wire(DEVICE_COMMAND, k, source="friction", mode=mode, **fields)
        run.append(("/joystick/device_command", DEVICE_COMMAND, k, command))
        state = wire(FRICTION_STATE, k, velocity=np.array([0.5 * k]))
        run.append(("/joystick/friction/state", FRICTION_STATE, k, state))
    recording = Recording.read(write_bag(tmp_path / "bag", run, experiment="x"))
    figure, caption = plot(recording, recording)
    upper, lower = figure.axes
    assert f" {shown}:" in caption and upper.get_ylabel().startswith(shown)
    assert lower.lines and not any(line.get_ydata().any() for line in lower.lines)
    assert any(line.get_ydata().any() for line in upper.lines)


def report_of(folder: Path, recorded: list[Any], replayed: list[Any], **run: Any) -> tuple[dict[str, Any], str]:
    """What metrics.json of a replay holds, and what was printed."""
    write_bag(folder / "recorded", recorded, experiment="friction_impedance", mode="realtime")
    write_bag(folder / "bag", replayed, experiment="friction_impedance")
    about = {"bag": str(folder / "recorded"), "experiment": "friction_impedance"}
    document = {"experiment": "friction_impedance", "replay_of": about, **run}
    assert not is_replay(folder)
    (folder / "run.yaml").write_text(yaml.safe_dump(document))
    assert is_replay(folder)
    output = StringIO()
    returned = write_replay_report(folder, Console(file=output, width=200))
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics == json.loads(json.dumps(returned))
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    return metrics, output.getvalue()


@pytest.mark.slow
def test_ticks_without_an_answer_are_counted_and_not_held_against_the_replay(tmp_path: Path) -> None:
    answered = [0, 1, 4]
    metrics, text = report_of(tmp_path, a_run(answered=answered), a_run(answered, answered))
    assert metrics["ticks"] == {"recorded": 5, "replayed": 3, "without_answer": 2}
    (claim,) = metrics["claims"]
    assert claim == {"claim": IDENTITY, "measured": "0 of 3 messages on 1 topics differ", "shown": True}
    assert f"{IDENTITY}: shown" in text
    assert "2 that nobody had answered were left out" in (tmp_path / "report.html").read_text().replace("\n", " ")


@pytest.mark.slow
def test_a_lost_answer_is_no_identity(tmp_path: Path) -> None:
    metrics, text = report_of(tmp_path, a_run(), a_run(answered=range(4)))
    assert metrics["claims"][0]["shown"] is False
    assert "NOT shown (0 of 4 messages on 1 topics differ; not every recorded message has a counterpart)" in text


@pytest.mark.slow
@pytest.mark.parametrize("run", [{"overrides": {"stiffness": "1.0"}}, {"experiment": "touch_clutter"}])
def test_with_other_nodes_identity_is_not_claimed(tmp_path: Path, run: dict[str, Any]) -> None:
    metrics, text = report_of(tmp_path, a_run(), a_run(stiffness=1.0), **run)
    assert metrics["claims"] == []
    assert "the answers are those of the recording, bit for bit" in text


@pytest.mark.slow
def test_with_other_nodes_lost_answers_are_not_those_of_the_recording(tmp_path: Path) -> None:
    _, text = report_of(tmp_path, a_run(), a_run(answered=range(4)), overrides={"stiffness": "1.0"})
    assert "the answers are not the recorded ones" in text


@pytest.mark.slow
def test_differences_have_units(tmp_path: Path) -> None:
    command = wire(DEVICE_COMMAND, 4, source="friction", mode=2, tool_wrench__force__x=1.0)
    other = [*a_run(answered=range(4)), ("/joystick/device_command", DEVICE_COMMAND, 4, command)]
    _, text = report_of(tmp_path, a_run(), other)
    assert "tool_wrench.force [N]" in text
    assert "tool_wrench.force [N]" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_change_at_another_tick_is_reported(tmp_path: Path) -> None:
    one, other = ([*a_run(), event(k, "friction", "parameter", stiffness=2.0)] for k in (2, 3))
    metrics, _ = report_of(tmp_path, one, other)
    assert [claim["shown"] for claim in metrics["claims"]] == [True, False]
    assert metrics["changes"] == {"recorded": 1, "replayed": 1, "equal": False, "without_a_node": 0}


def test_a_replay_that_is_not_whole_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"the replay is not whole: .* lacks 1 of 5 ticks, the first is 4"):
        report_of(tmp_path, a_run(), a_run(range(4), range(4)))
