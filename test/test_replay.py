"""`./haptics replay` as a user runs it: a recording drives the real nodes again, as they were or otherwise."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from machine_speed import limit
from rosbags.rosbag2 import StoragePlugin, Writer
from started_runs import HAPTICS, finish, metrics_of, recorded_run, wait_until

from haptic_bags.bag_comparison import compare_topic
from haptic_bags.bags import Bag, typestore
from haptic_bags.recording import TICK_EVENT, Recording
from haptic_bringup import cli

KEY_VALUE = "diagnostic_msgs/msg/KeyValue"
COMMAND, STATE = "/joystick/device_command", "/joystick/friction/state"
CHANGED_AT = 250


def replay(folder: Path, *words: str) -> tuple[Path, str]:
    """Runs a replay in a folder of its own; its directory and what it said."""
    output = finish(folder, [*HAPTICS, "replay", *words])
    (directory,) = (folder / "runs").iterdir()
    return directory, output


def rewritten(recording: Recording, path: Path, repeats: int = 1, change: tuple[str, str] | None = None) -> Path:
    """The recording again: with a change of a parameter at a tick, or its ticks several times over."""
    count = len(recording.ticks)
    events = [(TICK_EVENT, "/joystick/tick_event", e.event.tick, e.data) for e in recording.events]
    if change:
        message = typestore().deserialize_cdr(recording.events[0].data, TICK_EVENT)
        message.tick, message.source, message.kind = CHANGED_AT, "friction", "parameter"
        message.values = [typestore().types[KEY_VALUE](*change)]
        events.append((TICK_EVENT, "/joystick/tick_event", CHANGED_AT, typestore().serialize_cdr(message, TICK_EVENT)))
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    for name, value in recording.custom.items():
        writer.set_custom_data(name, value)
    with writer:
        topics = {t: writer.add_connection(t, kind, typestore=typestore()) for t, kind in recording.types.items()}
        for _, topic, tick, data in events:
            writer.write(topics[topic], tick, data)
        for topic, messages in recording.messages.items():
            for (tick, _), data in messages.items():
                for k in range(repeats):
                    (length,) = struct.unpack_from("<I", data, 12)
                    place = 4 + (12 + length + 7 & ~7)  # the tick stands behind the header
                    moved = data[:place] + (tick + k * count).to_bytes(8, "little") + data[place + 8 :]
                    writer.write(topics[topic], tick + k * count, moved)
    return path


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of half a second with a friction force that is not the default."""
    folder = tmp_path_factory.mktemp("recorded")
    return recorded_run(folder, "friction_impedance", "duration:=0.5", "command_delay_ticks:=0", "friction_force:=3.0")


def test_a_replay_is_the_recording_bit_for_bit(bag: Path, tmp_path: Path) -> None:
    directory, text = replay(tmp_path / "plain", str(bag))
    assert directory.name.endswith("-replay-friction_impedance")
    names = {path.name for path in directory.iterdir()}
    assert names == {"bag", "metrics.json", "figure.png", "report.html", "run.yaml"}
    recorded, replayed = Recording.read(bag), Recording.read(directory / "bag")
    assert len(recorded.messages[COMMAND]) == 500
    for topic, messages in recorded.messages.items():
        found = compare_topic(recorded.types[topic], messages, replayed.messages[topic])
        assert found.compared == len(messages) == len(replayed.messages[topic]) and found.equal, (topic, found.fields)
    assert recorded.types == replayed.types
    assert replayed.custom == {**recorded.custom, "replay_of": str(bag)}
    assert "the replay is the recording bit for bit: shown (0 of 1000 messages on 2 topics differ)" in text
    metrics = metrics_of(directory)
    assert metrics["changed_parameters"] == {} and metrics["claims"][0]["shown"] is True
    assert Bag(directory / "bag").parameters("device")["duration"] == 0.5  # the device's events are there, too


@pytest.mark.experiment
def test_the_same_hand_on_another_friction_which_changes_between_ticks(bag: Path, tmp_path: Path) -> None:
    """A change is put into the recording; its replay with 2 N makes it at its tick."""
    changed = rewritten(Recording.read(bag), tmp_path / "changed", change=("friction_force", "1.0"))
    words = ("--into", "friction_impedance", "friction_force:=2.0")
    first, text = replay(tmp_path / "first", str(changed), *words)
    assert "the answers are not the recorded ones: the replay has another " in text and "bit for bit: shown" not in text
    recorded, replayed = Bag(bag), Bag(first / "bag")
    forces = [np.linalg.norm(run.topics[STATE]["force"], axis=1) for run in (recorded, replayed)]
    np.testing.assert_allclose(forces[0].max(), 3.0, rtol=1e-6)  # the element slides: Coulomb's force
    np.testing.assert_allclose(forces[1][:CHANGED_AT].max(), 2.0, rtol=1e-6)
    np.testing.assert_allclose(forces[1][CHANGED_AT:].max(), 1.0, rtol=1e-6)
    assert forces[1][CHANGED_AT - 1] > 1.5  # so it is this tick
    for name in ("joint_position", "tool_twist"):
        one, other = (run.topics["/joystick/device_state"][name] for run in (recorded, replayed))
        np.testing.assert_array_equal(one, other)
    metrics = metrics_of(first)
    both = {"friction_force": [3.0, 2.0], "backward_friction_force": [3.0, 2.0]}  # the latter's default is the former
    assert metrics["changed_parameters"] == {"friction": both}
    topic = metrics["topics"][COMMAND]
    difference = replayed.topics[COMMAND]["tool_wrench"] - recorded.topics[COMMAND]["tool_wrench"]
    field = topic["fields"]["tool_wrench.force"]
    assert 0 < topic["first"] == np.flatnonzero(difference.any(axis=1))[0] < CHANGED_AT
    assert field["largest"] == np.abs(difference).max()
    assert field["rms"] == pytest.approx(
        np.sqrt((difference**2).sum(axis=1).mean()), rel=1e-12
    )  # another order of sums
    assert "friction_force" in (first / "report.html").read_text()

    assert "in the same order: shown (1 recorded, 1 replayed)" in text
    events = [(e.tick, e.source, e.detail) for e in replayed.events if e.kind == "parameter"]
    assert events == [(CHANGED_AT, "friction", {"friction_force": 1.0})]


@pytest.mark.experiment
def test_ctrl_c_leaves_a_readable_bag(bag: Path, tmp_path: Path) -> None:
    long = rewritten(Recording.read(bag), tmp_path / "long", repeats=40)

    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob("runs/*/bag/*.mcap"))

    process = subprocess.Popen(
        [*HAPTICS, "replay", str(long)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_until(lambda: size() > 200_000)
        process.send_signal(signal.SIGINT)
        assert process.wait(limit(60.0)) == 130
    finally:
        process.kill()
    (directory,) = (tmp_path / "runs").iterdir()
    ticks = Recording.read(directory / "bag").ticks
    assert ticks == list(range(len(ticks))) and 0 < len(ticks) < 20_000
    assert not (directory / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere",), 1, "nowhere: no such bag"),
        (("BAG", "motion:=paper"), 2, "argument motion: acts on the device alone, and the device is replayed"),
        (("BAG", "--into", "friction_admittance"), 1, "experiment friction_admittance: its device is /five_bar/"),
        (("BAG", "--into", "nonsense"), 2, "experiment 'nonsense' is unknown, expected one of: "),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(
    bag: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["haptics", "replay", *(str(bag) if word == "BAG" else word for word in words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == code
    error, hint = capsys.readouterr().err.strip().splitlines()
    assert error.startswith(f"error: {message}") and hint.startswith("  hint: ")
    assert list(tmp_path.iterdir()) == []
