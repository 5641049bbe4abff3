"""Arguments and processes of a replay, without nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from replay_bags import a_run, event, write_bag

from haptic_bags import replay
from haptic_bags.recording import Recording, ReplayError
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import parameters_of
from haptic_launch.runner import UsageError

# Arguments


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("motion", "paper", "acts on the device alone, and the device is replayed"),
        ("seed", "1", "acts on the device alone, and the device is replayed"),
        ("command_delay_ticks", "1", "acts on the device alone, and the device is replayed"),
        ("duration", "1.0", "acts on the device alone, and the device is replayed"),
        ("mode", "realtime", "a replay waits for every answer, also that of a realtime recording"),
        ("record", "false", "a replay is always recorded"),
        ("output", "x", "a replay writes runs/<time>-replay-<experiment>"),
        ("period", "0.002", "the period is the recording's"),
        ("input_device", "gamepad", "a replay has the motion of the recorded hand"),
        ("stifness", "1.0", None),
    ],
)
def test_an_argument_that_changes_nothing_is_refused_by_name(name: str, value: str, reason: str | None) -> None:
    description = load_launch_file(load_experiment("friction_impedance").launch_file)
    with pytest.raises(UsageError) as caught:
        replay.check_overrides(description, {"friction_force": "2.0", name: value})
    assert str(caught.value).startswith(f"argument {name}: {reason}" if reason else f"argument {name!r} is unknown")


def test_arguments_of_the_nodes_and_the_timeouts_of_the_player_are_taken() -> None:
    description = load_launch_file(load_experiment("friction_impedance").launch_file)
    replay.check_overrides(description, {"model": "lugre", "friction_force": "2.0", "answer_timeout": "1.0"})
    for name in experiment_names("haptic_bringup"):
        reachable = replay.reachable_arguments(load_launch_file(load_experiment(name).launch_file))
        assert reachable and not {"seed", "motion", "command_delay_ticks", "duration"} & set(reachable), name


LAUNCH = """
launch:
- arg: {name: base, default: "1.0"}
- arg: {name: derived, default: "$(var base)"}
- arg: {name: inner, default: "a"}
- arg: {name: gate, default: "true"}
- arg: {name: idle, default: "0"}
- arg: {name: text, default: "x"}
- arg: {name: numbers, default: "[1.0]"}
- arg: {name: small, default: "1.0"}
- let: {name: outer, value: "$(var inner)"}
- group:
    if: $(var gate)
    children: [{node: {pkg: p, exec: node, name: own, namespace: n, param: [
      {name: a, value: $(var derived), type: float}, {name: b, value: $(var outer)}, {name: t, value: $(var text)},
      {name: l, value: $(var numbers)}, {name: s, value: $(var small)}, {name: c.d, value: $(var base), type: float}]}}]
- node: {pkg: p, exec: device_node, name: device, namespace: n, on_exit: shutdown, param: [
    {name: sources, value: [own]}, {name: seed, value: $(var idle)}, {name: answer_timeout, value: 3.0}]}
- node: {pkg: p, exec: recorder, name: recorder, param: [{name: experiment, value: friction_impedance}]}
"""


def test_arguments_reach_nodes_through_defaults_lets_and_conditions(tmp_path: Path) -> None:
    path = tmp_path / "x.launch.yaml"
    path.write_text(LAUNCH)
    reachable = replay.reachable_arguments(load_launch_file(path))
    assert reachable == ["base", "derived", "inner", "gate", "text", "numbers", "small"]


def test_arguments_reach_nodes_of_included_files(tmp_path: Path) -> None:
    (tmp_path / "inner.launch.yaml").write_text(LAUNCH)
    path = tmp_path / "x.launch.yaml"
    path.write_text("launch:\n- let: {name: base, value: '2.0'}\n- include: {file: $(dirname)/inner.launch.yaml}\n")
    reachable = replay.reachable_arguments(load_launch_file(path))
    assert reachable == ["base", "derived", "inner", "gate", "text", "numbers", "small"]


def test_the_arguments_are_those_of_the_run_and_its_variant(tmp_path: Path) -> None:
    bags = [tmp_path / name for name in ("bag", "bag_late")]
    assert replay.recorded_arguments(bags[0]) is None
    run = {"arguments": {"delay": "0", "letters": "a: b"}, "variants": {"early": {}, "late": {"delay": "1"}}}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(run, sort_keys=False))
    assert replay.recorded_arguments(bags[0]) == {"delay": "0", "letters": "a: b"}
    assert replay.recorded_arguments(bags[1]) == {"delay": "1", "letters": "a: b"}


@pytest.mark.parametrize("text", ["", "[]", "variants: {a: {}}", "arguments: 3", "variants: 3\narguments: {}", "a: ["])
def test_a_run_file_without_arguments_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ReplayError, match=r"run\.yaml: expected the arguments of a run"):
        replay.recorded_arguments(tmp_path / "bag")


@pytest.mark.parametrize(
    "values",
    [
        {"a": 2.5, "t": "C", "l": [1.0, 1e-05, -3e300], "s": 1e-05},
        {"a": 0.1 + 0.2, "t": "5", "l": ["", "a=[1, 2]"], "s": -0.0},
        {"a": 1e22, "t": "true", "l": [0], "s": 7},
        {"a": 1.0, "t": "a: b", "l": [True, False], "s": True},
        {"a": 1.0, "t": "", "l": ["x" * 200, "y"], "s": 0.0},
    ],
)
def test_a_bag_alone_is_replayed_with_the_recorded_parameters_but_for_the_user_s(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    path = tmp_path / "x.launch.yaml"
    path.write_text(LAUNCH)
    given, default = (
        load_launch_file(path).evaluate(arguments, find_executable=lambda package, name: f"/{name}")
        for arguments in ({"text": "mine"}, {})
    )
    recorded = values | {"mode": "realtime", "recorded": False, "extra": 1.5}
    run = [event(0, "own", "state", state="active", mode="WRENCH", parameters=recorded), *a_run()[1:]]
    recording = Recording.read(write_bag(tmp_path / "bag", run, experiment="x"))
    specs = replay.with_recorded_parameters(recording, given, default, tmp_path)
    assert specs[1:] == given[1:]
    again = parameters_of(specs[0])
    expected = values | {"t": "mine", "b": "a", "c.d": 1.0, "extra": 1.5}
    assert again == expected
    assert {name: type(again[name]) for name in values} == {name: type(value) for name, value in values.items()}


def test_a_bag_alone_is_replayed_with_a_process_that_an_argument_adds(tmp_path: Path, recording: Recording) -> None:
    """view:=true adds the viewer, before, between or after the others."""
    default = evaluated(tmp_path)
    added = dataclasses.replace(default[0], name="viewer", fully_qualified_name="/viewer")
    for specs in ([added, *default], [*default, added]):
        made = replay.with_recorded_parameters(recording, specs, default, tmp_path)
        assert [spec.name for spec in made] == [spec.name for spec in specs]
        assert made[specs.index(added)] == added


# Processes


def evaluated(tmp_path: Path, text: str = LAUNCH) -> Any:
    path = tmp_path / "x.launch.yaml"
    path.write_text(text)
    return load_launch_file(path).evaluate({}, find_executable=lambda package, name: f"/{name}")


def test_only_the_device_is_replaced(tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "find_executable", lambda package, name: f"/{package}/{name}")
    specs = evaluated(tmp_path)
    experiment = load_experiment("friction_impedance")
    own, player, recorder = replay.replay_processes(recording, experiment, specs, tmp_path / "new", tmp_path)
    assert own == specs[0]
    assert player.command[0] == "/haptic_bags/player" and player.on_exit_shutdown
    assert "__ns:=/n" in player.command and "__node:=device" not in player.command
    assert parameters_of(player) == {
        "bag": str(recording.path),
        "period": 0.001,
        "recorded": True,
        "sources": ["own"],
        "answer_timeout": 3.0,
    }
    assert recorder.command[: len(specs[2].command)] == specs[2].command
    assert parameters_of(recorder) == {
        "experiment": "friction_impedance",
        "output": str(tmp_path / "new"),
        "mode": "lockstep",
        "replay_of": str(recording.path),
    }


@pytest.mark.parametrize("executable", ["device_node", "recorder"])
def test_a_launch_file_without_device_or_recorder_is_refused(
    tmp_path: Path, recording: Recording, executable: str
) -> None:
    specs = evaluated(tmp_path, LAUNCH.replace(f"exec: {executable}", "exec: other"))
    with pytest.raises(ReplayError, match=f"expected one {executable} in .*, found 0"):
        replay.replay_processes(recording, load_experiment("friction_impedance"), specs, tmp_path / "b", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "parameters", "message"),
    [
        (
            "friction_admittance",
            {},
            "its device is /five_bar/device_state, that of the recording /joystick/device_state",
        ),
        ("touch_clutter", {"device": "five_bar"}, "its device is a five_bar, the recorded one a joystick"),
        ("touch_clutter", {"period": 0.002}, "its period is 0.002 s, the recording's 0.001 s"),
    ],
)
def test_another_device_is_refused(
    recording: Recording, experiment: str, parameters: Mapping[str, Any], message: str
) -> None:
    replay._check_device(recording, load_experiment("touch_clutter"), {"device": "joystick", "period": 0.001})
    with pytest.raises(ReplayError) as caught:
        replay._check_device(recording, load_experiment(experiment), parameters)
    assert message in str(caught.value)
    start, _, names = caught.value.hint.partition(": ")
    assert start == "the same device"
    assert {"friction_impedance", "touch_clutter"} <= set(names.split(", "))
    assert not {"friction_admittance", "tau_wall"} & set(names.split(", "))
