"""What a replay reads in a bag: events in order, device, sources, ticks; damaged and other bags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from replay_bags import a_run, event, wire, write_bag
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosHistory, QosReliability

from haptic_bags.bags import BagError, Event, find_bag, typestore
from haptic_bags.recording import DEVICE_COMMAND, Recording, ReplayError, changes_of, source_of
from haptic_bags.repair import find_file
from haptic_experiments.report import bags_of

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
def test_changes_that_cannot_be_replayed_are_refused(again: Event, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        changes_of([ACTIVE, again], ["friction"])
    assert changes_of([ACTIVE, again], ["other"]) == []


# Bags


def test_recording_has_its_device_sources_and_ticks(tmp_path: Path) -> None:
    run = a_run(ticks=range(6), answered=[0, 1, 4])
    recording = Recording.read(write_bag(tmp_path / "bag", run, experiment="friction_impedance"))
    assert (recording.clock, recording.device, recording.sources) == ("/joystick/device_state", "device", ["friction"])
    assert recording.ticks == list(range(6)) and recording.played == [0, 1, 4]
    assert recording.kind == "impedance"
    assert recording.parameters("friction") == {"stiffness": 6000.0}


@pytest.mark.parametrize(
    ("mode", "device", "kind"), [("MOTION", "five_bar", "admittance"), ("MOTION", "scripted", "scripted")]
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
    with pytest.raises(BagError, match="has several bags: bag, bag_one_tick_delay"):
        find_bag(tmp_path)


def test_a_bag_that_is_named_by_a_dot_has_a_name_and_a_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """run.yaml and the report are looked for beside the bag."""
    bag = tmp_path / "bag"
    (bag / "inner").mkdir(parents=True)
    for name in ("metadata.yaml", "bag.mcap"):
        (bag / name).touch()
    monkeypatch.chdir(bag)
    assert find_bag(Path(".")) == find_file(Path(".")).parent == bag
    assert bags_of(Path(".")) == {"bag": bag}
    monkeypatch.chdir(bag / "inner")
    assert find_bag(Path("..")) == bag


def test_the_bag_offers_what_the_nodes_ask_for(recording: Recording) -> None:
    """ros2 bag play offers the recorded profiles: rendering nodes ask for reliable, latched readers for latched."""
    with AnyReader([recording.path], default_typestore=typestore()) as reader:
        profiles = {c.topic: c.ext.offered_qos_profiles for c in reader.connections}
    for topic, (profile,) in profiles.items():
        latched = topic.endswith("tick_event")
        assert profile.reliability == QosReliability.RELIABLE
        assert profile.durability == (QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE)
        assert profile.history == (QosHistory.KEEP_LAST if latched else QosHistory.KEEP_ALL)
