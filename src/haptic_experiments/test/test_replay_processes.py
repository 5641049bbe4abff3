"""What a replay is made of, without nodes: events in order, arguments, processes, the comparison of messages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosHistory, QosReliability
from rosbags.rosbag2 import StoragePlugin, Writer

from haptic_bags import replay
from haptic_bags.bag_comparison import compare_topic, device_differs
from haptic_bags.bags import Event, typestore
from haptic_bags.recorder import _offered_qos
from haptic_bags.recording import (
    DEVICE_COMMAND,
    DEVICE_STATE,
    SIMULATION_STATE,
    TICK_EVENT,
    Recording,
    ReplayError,
    changes_of,
    find_bag,
    source_of,
)
from haptic_experiments.replay_report import IDENTITY, changed_parameters, is_replay, plot, write_replay_report
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import parameters_of
from haptic_launch.runner import UsageError

FRICTION_STATE = "haptic_msgs/msg/FrictionState"
STATISTICS = "haptic_msgs/msg/SolverStatistics"
TYPES = typestore().types


def make(kind: str, tick: int, /, **fields: Any) -> Any:
    """A message with zeros where nothing is given."""

    def zero(definition: Any) -> Any:
        node, content = definition
        if node == 1:  # a name
            return {"string": "", "bool": False}.get(content[0], 0.0 if content[0].startswith("float") else 0)
        if node == 2:
            return build(content)
        element = content[0][1][0]
        return np.zeros(0, dtype=bool if element == "bool" else element)

    def build(name: str) -> Any:
        return TYPES[name](**{field: zero(d) for field, d in typestore().fielddefs[name][1]})

    message = build(kind)
    message.header.stamp.nanosec = tick * 1_000_000
    for name, value in {"tick": tick, **fields}.items():
        *path, last = name.split("__")
        target = message
        for part in path:
            target = getattr(target, part)
        setattr(target, last, value)
    return message


def wire(kind: str, tick: int, /, **fields: Any) -> bytes:
    return bytes(typestore().serialize_cdr(make(kind, tick, **fields), kind))


def write_bag(path: Path, messages: Iterable[tuple[str, str, int, bytes]], **custom: str) -> Path:
    """Writes (topic, type, tick, data) with the recorder's own profiles."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    for name, value in custom.items():
        writer.set_custom_data(name, value)
    with writer:
        connections: dict[str, Any] = {}
        for topic, kind, tick, data in messages:
            if topic not in connections:
                qos = [_offered_qos(kind == TICK_EVENT)]
                connections[topic] = writer.add_connection(topic, kind, typestore=typestore(), offered_qos_profiles=qos)
            writer.write(connections[topic], tick * 1_000_000, data)
    return path


def event(tick: int, source: str, kind: str, /, **detail: Any) -> tuple[str, str, int, bytes]:
    data = wire(TICK_EVENT, tick, source=source, kind=kind, detail=json.dumps(detail))
    return "/joystick/tick_event", TICK_EVENT, tick, data


def a_run(ticks: Iterable[int] = range(5), answered: Iterable[int] = range(5), **friction: Any) -> list[Any]:
    """The messages of a short run on the joystick."""
    device = {"device": "joystick", "sources": ["friction"], "period": 0.001}
    run = [
        event(0, "friction", "state", state="active", mode="WRENCH", parameters={"stiffness": 6000.0, **friction}),
        event(0, "device", "state", state="active", parameters=device),
    ]
    for k in ticks:
        state = wire(DEVICE_STATE, k, period=0.001, joint_position=np.array([0.1 * k, 0.0]))
        run.append(("/joystick/device_state", DEVICE_STATE, k, state))
    for k in answered:
        run.append(("/joystick/device_command", DEVICE_COMMAND, k, wire(DEVICE_COMMAND, k, source="friction", mode=2)))
    return run


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """For all tests that only read."""
    path = tmp_path_factory.mktemp("recorded") / "bag"
    return Recording.read(write_bag(path, a_run(), experiment="friction_impedance", mode="lockstep"))


@pytest.fixture
def damaged(recording: Recording, tmp_path: Path) -> Path:
    """A copy of the bag, to be damaged."""
    return Path(shutil.copytree(recording.path, tmp_path / "bag"))


# Events


@pytest.mark.parametrize("length", range(9))
def test_the_source_of_a_command_is_found_whatever_the_frame_id(length: int) -> None:
    data = wire(DEVICE_COMMAND, 7, source="friction", header__frame_id="abcdefghi"[:length])
    assert source_of(data) == "friction"


ACTIVE = Event(0, "friction", "state", {"state": "active"})


def test_changes_are_those_of_the_nodes_after_they_became_active_in_order() -> None:
    reset, first, second = (
        Event(3, "friction", "reset", {}),
        *(Event(3, "friction", "parameter", {"k": i}) for i in (1, 2)),
    )
    other = Event(3, "device", "reset", {})
    before, nothing = Event(0, "friction", "parameter", {"k": 0}), Event(4, "friction", "parameter", {})
    remarks = [Event(4, "friction", kind, {"state": "inactive"}) for kind in ("state", "error", "timing")]
    events = [before, ACTIVE, first, other, reset, second, nothing, *remarks]
    assert changes_of(events, ["friction"]) == [first, reset, second]
    assert changes_of(events, ["device"]) == []


@pytest.mark.parametrize(
    ("again", "message"),
    [
        (Event(5, "friction", "state", {"state": "active"}), "friction became active again at tick 5"),
        (Event(5, "friction", "calibrate", {}), "event 'calibrate' of friction at tick 5 is unknown"),
    ],
)
def test_what_cannot_be_repeated_is_refused(again: Event, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        changes_of([ACTIVE, again], ["friction"])
    assert changes_of([ACTIVE, again], ["other"]) == []


# Bags


def test_a_recording_knows_its_device_sources_and_ticks(tmp_path: Path) -> None:
    run = a_run(ticks=range(6), answered=[0, 1, 4])
    recording = Recording.read(write_bag(tmp_path / "bag", run, experiment="friction_impedance"))
    assert (recording.clock, recording.device, recording.sources) == ("/joystick/device_state", "device", ["friction"])
    assert recording.ticks == list(range(6)) and recording.played == [0, 1, 4]
    assert recording.kind == "impedance"
    assert recording.parameters("friction") == {"stiffness": 6000.0}


@pytest.mark.parametrize(
    ("mode", "device", "kind"), [("MOTION", "five_bar", "admittance"), ("MOTION", "script", "scripted")]
)
def test_the_kind_of_the_device_follows_from_what_it_took(tmp_path: Path, mode: str, device: str, kind: str) -> None:
    started = [
        event(0, "friction", "state", state="active", mode=mode, parameters={}),
        event(0, "device", "state", state="active", parameters={"device": device, "sources": ["friction"]}),
    ]
    assert Recording.read(write_bag(tmp_path / "bag", started + a_run()[2:], experiment="x")).kind == kind


@pytest.mark.parametrize(
    ("run", "custom", "message"),
    [
        (a_run(), {}, "no run of the suite, it lacks the experiment's name"),
        (a_run()[:2], {"experiment": "x"}, "no run of the suite, it lacks one topic device_state, DeviceCommand"),
        (a_run()[2:], {"experiment": "x"}, "no run of the suite, it lacks TickEvent"),
        (a_run(answered=[9]), {"experiment": "x"}, "no tick with an answer to replay"),
    ],
)
def test_a_bag_of_something_else_is_refused(
    tmp_path: Path, run: list[Any], custom: dict[str, str], message: str
) -> None:
    path = write_bag(tmp_path / "bag", run, **custom)
    with pytest.raises(ReplayError) as caught:
        Recording.read(path)
    assert str(caught.value).startswith(f"{path}: {message}") and caught.value.hint


@pytest.mark.parametrize("length", [0, 1000, -100])
def test_a_truncated_bag_is_refused_in_one_line(damaged: Path, length: int) -> None:
    (path,) = damaged.glob("*.mcap")
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ReplayError) as caught:
        Recording.read(damaged)
    assert str(caught.value).startswith(f"{damaged}: not a readable bag: ") and "\n" not in str(caught.value)


def test_a_bag_without_metadata_and_no_bag_are_refused(damaged: Path, tmp_path: Path) -> None:
    (damaged / "metadata.yaml").unlink()
    with pytest.raises(ReplayError, match="not a readable bag"):
        Recording.read(damaged)
    with pytest.raises(ReplayError, match="no such bag"):
        Recording.read(tmp_path / "nowhere")


def test_a_run_stands_for_its_only_bag(tmp_path: Path) -> None:
    for name in ("bag", "bag_one_tick_delay"):
        (tmp_path / name).mkdir()
        assert find_bag(tmp_path / name) == tmp_path / name
        (tmp_path / name / "metadata.yaml").touch()
        if name == "bag":
            assert find_bag(tmp_path) == tmp_path / "bag"
    with pytest.raises(ReplayError, match="has several bags: bag, bag_one_tick_delay"):
        find_bag(tmp_path)


def test_the_bag_offers_what_the_nodes_ask_for(recording: Recording) -> None:
    """ros2 bag play offers the recorded profiles: rendering nodes ask for reliable, latched readers for latched."""
    with AnyReader([recording.path], default_typestore=typestore()) as reader:
        profiles = {c.topic: c.ext.offered_qos_profiles for c in reader.connections}
    for topic, (profile,) in profiles.items():
        latched = topic.endswith("tick_event")
        assert profile.reliability == QosReliability.RELIABLE
        assert profile.durability == (QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE)
        assert profile.history == (QosHistory.KEEP_LAST if latched else QosHistory.KEEP_ALL)


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
    for name in experiment_names():
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


# Comparison


def commands(forces: Mapping[int, tuple[float, float]], source: str = "friction", **more: Any) -> dict[Any, bytes]:
    return {
        (k, source): wire(
            DEVICE_COMMAND, k, source=source, mode=2, tool_wrench__force__x=x, tool_wrench__force__y=y, **more
        )
        for k, (x, y) in forces.items()
    }


STEADY = dict.fromkeys(range(4), (1.0, 2.0))


def test_equal_messages_are_equal() -> None:
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(STEADY))
    assert result.equal and result.compared == 4 and result.first is None and not result.fields


def test_a_difference_is_told_with_its_tick_and_size() -> None:
    """Of four messages two differ, by the vectors (3, -4) and (0, 1): RMS sqrt((25 + 1)/4)."""
    other = {**STEADY, 2: (4.0, -2.0), 3: (1.0, 3.0)}
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(other))
    assert not result.equal and (result.differing, result.first) == (2, 2)
    assert set(result.fields) == {"tool_wrench.force"}
    force = result.fields["tool_wrench.force"]
    assert (force.ticks, force.largest, force.unlike) == (2, 4.0, 0)
    assert force.rms == pytest.approx(np.sqrt(26 / 4), rel=1e-15)


def test_only_what_both_have_is_compared() -> None:
    result = compare_topic(DEVICE_COMMAND, commands(STEADY), commands(dict.fromkeys((2, 3, 4), (1.0, 2.0))))
    assert (result.recorded, result.replayed, result.compared) == (4, 3, 2) and result.equal
    assert not compare_topic(DEVICE_COMMAND, commands(STEADY), commands({9: (1.0, 2.0)})).equal


def test_single_sources_may_have_different_names_and_several_may_not() -> None:
    one, other = commands(STEADY), commands(STEADY, "contact")
    assert set(compare_topic(DEVICE_COMMAND, one, other).fields) == {"source"}
    both = one | other
    assert compare_topic(DEVICE_COMMAND, both, both).compared == 8
    assert compare_topic(DEVICE_COMMAND, both, other).compared == 4


def test_bits_are_compared_and_padding_is_not() -> None:
    one, zero = commands({0: (0.0, 0.0)}), commands({0: (-0.0, 0.0)})
    result = compare_topic(DEVICE_COMMAND, one, zero)
    assert result.differing == 1 and result.fields["tool_wrench.force"].largest == 0.0
    padded = bytearray(one[0, "friction"])
    place = padded.index(b"friction\0") + 9 + 1  # behind source and mode
    assert padded[place] == 0 and place % 4
    padded[place] = 77
    assert compare_topic(DEVICE_COMMAND, one, {(0, "friction"): bytes(padded)}).equal
    nan = commands({0: (float("nan"), 1.0)})
    assert compare_topic(DEVICE_COMMAND, nan, nan).equal
    result = compare_topic(DEVICE_COMMAND, one, nan)
    assert result.fields["tool_wrench.force"].unlike == 1 and result.fields["tool_wrench.force"].largest is None


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("model", "C", "B"),
        ("sticking", np.array([True]), np.array([False])),
        ("force", np.array([1.0]), np.array([1.0, 2.0])),
        ("force", np.array([1.0]), np.array([np.inf])),
    ],
)
def test_what_cannot_be_subtracted_is_counted(field: str, one: Any, other: Any) -> None:
    messages = [{(0, ""): wire(FRICTION_STATE, 0, **{field: value})} for value in (one, other)]
    result = compare_topic(FRICTION_STATE, *messages)
    found = result.fields[field]
    assert set(result.fields) == {field} and (found.ticks, found.unlike, found.largest, found.rms) == (1, 1, None, None)


def test_wall_clock_time_is_left_out_and_the_rest_is_not() -> None:
    one, other, worse = (
        {(0, ""): wire(STATISTICS, 0, solve_time=t, iterations=n)} for t, n in ((1e-3, 3), (2e-3, 3), (2e-3, 5))
    )
    assert compare_topic(STATISTICS, one, other).equal
    result = compare_topic(STATISTICS, one, worse)
    assert set(result.fields) == {"iterations"} and result.fields["iterations"].largest == 2.0
    assert result.left_out == ("solve_time",)


def test_a_device_that_is_not_the_recorded_one_is_told(tmp_path: Path, recording: Recording) -> None:
    def read(name: str, run: list[Any]) -> Recording:
        return Recording.read(write_bag(tmp_path / name, run, experiment="friction_impedance"))

    assert device_differs(recording, recording) == ""
    assert device_differs(read("more", a_run(ticks=range(6))), recording) == ""  # tick 5 has no answer
    short = read("short", a_run(ticks=range(4), answered=range(4)))
    assert device_differs(recording, short) == "/joystick/device_state lacks 1 of 5 ticks, the first is 4"
    moved = a_run()
    place = next(i for i, message in enumerate(moved) if message[1:3] == (DEVICE_STATE, 3))
    moved[place] = (*moved[place][:3], wire(DEVICE_STATE, 3, period=0.001, joint_position=np.zeros(2)))
    assert device_differs(recording, read("moved", moved)) == "/joystick/device_state differs from tick 3 on"
    truths = [("/joystick/simulation_state", SIMULATION_STATE, 0, wire(SIMULATION_STATE, 0))]
    assert "simulation_state lacks 1 of 1" in device_differs(read("truth", a_run() + truths), recording)


# The report


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


def test_ticks_without_an_answer_are_counted_and_not_held_against_the_replay(tmp_path: Path) -> None:
    answered = [0, 1, 4]
    metrics, text = report_of(tmp_path, a_run(answered=answered), a_run(answered, answered))
    assert metrics["ticks"] == {"recorded": 5, "replayed": 3, "without_answer": 2}
    (claim,) = metrics["claims"]
    assert claim == {"claim": IDENTITY, "measured": "0 of 3 messages on 1 topics differ", "shown": True}
    assert f"{IDENTITY}: shown" in text
    assert "2 that nobody had answered were left out" in (tmp_path / "report.html").read_text().replace("\n", " ")


def test_a_lost_answer_is_no_identity(tmp_path: Path) -> None:
    metrics, text = report_of(tmp_path, a_run(), a_run(answered=range(4)))
    assert metrics["claims"][0]["shown"] is False
    assert "NOT shown (0 of 4 messages on 1 topics differ; not every recorded message has a counterpart)" in text


@pytest.mark.parametrize("run", [{"overrides": {"stiffness": "1.0"}}, {"experiment": "touch_clutter"}])
def test_with_other_nodes_identity_is_not_claimed(tmp_path: Path, run: dict[str, Any]) -> None:
    metrics, text = report_of(tmp_path, a_run(), a_run(stiffness=1.0), **run)
    assert metrics["claims"] == []
    assert "the answers are those of the recording, bit for bit" in text


def test_a_change_that_comes_at_another_tick_is_told(tmp_path: Path) -> None:
    one, other = ([*a_run(), event(k, "friction", "parameter", stiffness=2.0)] for k in (2, 3))
    metrics, _ = report_of(tmp_path, one, other)
    assert [claim["shown"] for claim in metrics["claims"]] == [True, False]
    assert metrics["changes"] == {"recorded": 1, "replayed": 1, "equal": False, "without_a_node": 0}


def test_a_replay_that_is_not_whole_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"the replay is not whole: .* lacks 1 of 5 ticks, the first is 4"):
        report_of(tmp_path, a_run(), a_run(range(4), range(4)))
