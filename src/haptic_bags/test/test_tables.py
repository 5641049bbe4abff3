"""Runs as tables: arrays, data frames, datasets and files give what was recorded, to the last bit, or say what not."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from replay_bags import FRICTION_STATE, TYPES, event, wire, write_bag
from rosbags.rosbag2 import StoragePlugin, Writer
from scipy.io import loadmat

import haptic_bags
from haptic_bags.bags import typestore
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, Recording
from haptic_bags.table_files import identifiers
from haptic_bags.tables import SUFFIXES

DEVICE, FRICTION, COMMAND, CONTACTS, EVENTS = (
    f"/joystick/{name}" for name in ("device_state", "friction/state", "device_command", "contacts", "tick_event")
)
CONTACT_ARRAY = "haptic_msgs/msg/ContactArray"
TICKS = 12
#: tick that the friction node missed
MISSED = 4
random = np.random.default_rng(0)
#: any bits of float64 that are a finite number, and the zeros and sizes that a text loses first
POSITIONS = random.standard_normal((TICKS, 2)) * 10.0 ** random.integers(-300, 300, (TICKS, 2))
POSITIONS[0] = 0.1 + 0.2, -0.0
MODELS = ["C"] * 9 + ["", 'Stribeck, "quoted"', "µ\nline"]


def messages() -> list[tuple[str, str, int, bytes]]:
    run = [event(3, "friction", "parameter", stiffness=7000.0)]
    for k in range(TICKS):
        state = wire(DEVICE_STATE, k, period=1e-3, joint_position=POSITIONS[k], has_force_sensor=True, buttons=k)
        run.append((DEVICE, DEVICE_STATE, k, state))
        for source in ("friction", "wall"):
            run.append((COMMAND, DEVICE_COMMAND, k, wire(DEVICE_COMMAND, k, source=source, mode=len(source))))
        if k != MISSED:
            force = {"force": np.array([k / 3.0, 0.0, -k / 7.0]), "sticking": np.array([k % 2 == 0])}
            run.append((FRICTION, FRICTION_STATE, k, wire(FRICTION_STATE, k, model=MODELS[k], **force)))
        m = k % 3
        contact = {
            "body_a": np.arange(m, dtype=np.uint32),
            "normal": np.arange(3.0 * m) / 3.0,
            "sticking": np.ones(m, bool),
        }
        run.append((CONTACTS, CONTACT_ARRAY, k, wire(CONTACT_ARRAY, k, **contact)))
    return run


def wire_of(kind: str, *fields: Any) -> bytes:
    """A message with an empty header and these fields."""
    header = TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](0, 0), "")
    return bytes(typestore().serialize_cdr(TYPES[kind](header, *fields), kind))


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_bag(tmp_path / "run" / "bag", messages(), experiment="friction_impedance")


@pytest.fixture
def run(bag: Path) -> haptic_bags.Run:
    return haptic_bags.read(bag)


def bits(values: Any) -> bytes:
    return np.asarray(values, dtype=float).tobytes()


# ---- reading ------------------------------------------------------------------------------------------------


def test_a_run_its_bag_and_its_file_are_the_same_run(bag: Path) -> None:
    for path in (bag.parent, bag, next(bag.glob("*.mcap")), str(bag)):
        run = haptic_bags.read(path)
        assert set(run.topics) == {DEVICE, FRICTION, COMMAND, CONTACTS, EVENTS}
        assert bits(run[DEVICE]["joint_position"]) == bits(POSITIONS)


def test_a_directory_inside_a_bag_is_ignored(bag: Path) -> None:
    """A run that is started in the directory of a bag writes its own directory there."""
    (bag / "runs").mkdir()
    assert haptic_bags.read(bag).topics
    assert Recording.read(bag).ticks


def test_bag_with_the_markers_of_an_older_version_is_read(tmp_path: Path) -> None:
    """Made by `ros2 bag record -a`, when all nodes had one topic of markers."""
    kind = "visualization_msgs/msg/MarkerArray"
    drawn = ("/joystick/markers", kind, 0, bytes(typestore().serialize_cdr(TYPES[kind]([]), kind)))
    run = haptic_bags.read(write_bag(tmp_path / "bag", [*messages(), drawn]))
    assert run.bag.types[drawn[0]] == kind
    assert bits(run[DEVICE]["joint_position"]) == bits(POSITIONS)


def test_events_are_a_topic_too(run: haptic_bags.Run) -> None:
    table = run[EVENTS]
    assert table["tick"].tolist() == [3] and table["kind"] == ["parameter"] and table["source"] == ["friction"]
    assert json.loads(table["detail"][0]) == {"stiffness": 7000.0} == run.events[0].detail


def test_a_topic_that_is_not_there_is_refused_with_those_that_are(run: haptic_bags.Run) -> None:
    for ask in (run.__getitem__, run.data_frame, run.dataset):
        with pytest.raises(haptic_bags.BagError, match=r"no topic /nowhere, expected one of: .*/joystick/contacts"):
            ask("/nowhere")


def test_missing_or_damaged_bag_is_refused(bag: Path, tmp_path: Path) -> None:
    with pytest.raises(haptic_bags.BagError, match="no such bag"):
        haptic_bags.read(tmp_path / "nowhere")
    (file,) = bag.glob("*.mcap")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(haptic_bags.BagError, match="not a readable bag") as caught:
        haptic_bags.read(bag)
    assert "./haptics repair" in caught.value.hint
    write_bag(tmp_path / "run" / "bag_other", messages())
    with pytest.raises(haptic_bags.BagError, match="several bags: bag, bag_other"):
        haptic_bags.read(bag.parent)


def test_units_come_from_the_comments_of_the_messages(run: haptic_bags.Run) -> None:
    assert run.units(FRICTION)["force"] == ("N",)
    assert run.units(DEVICE)["joint_position"] == ("rad or m",)
    assert run.units(DEVICE)["tool_pose"] == ("m", "m", "m", "-", "-", "-", "-")
    assert run.units(DEVICE)["tool_twist"] == ("m/s",) * 3 + ("rad/s",) * 3
    assert "model" not in run.units(FRICTION)
    frame = run.data_frame(DEVICE)
    assert frame.attrs["units"]["tool_wrench[2]"] == "N" and frame.attrs["units"]["tool_wrench[3]"] == "N m"
    assert frame.attrs["units"]["period"] == frame.attrs["units"]["stamp"] == "s"
    assert run.data_frame(DEVICE, FRICTION).attrs["units"][f"{FRICTION}.force[1]"] == "N"
    assert run.dataset().variables[f"{FRICTION}.force"].attrs["units"] == "N"
    assert run.dataset().variables[f"{DEVICE}.tool_pose"].attrs["units"] == list("mmm----")


# ---- data frames --------------------------------------------------------------------------------------------


def test_frame_of_a_topic_has_all_its_messages_with_their_types(run: haptic_bags.Run) -> None:
    frame = run.data_frame(FRICTION)
    assert frame.index.name == "tick" and frame.index.tolist() == [k for k in range(TICKS) if k != MISSED]
    assert frame["force[2]"].loc[3] == -3 / 7 and frame["force[2]"].dtype == float
    assert frame["sticking[0]"].dtype == bool and frame["model"].tolist() == [
        m for k, m in enumerate(MODELS) if k != MISSED
    ]
    assert "velocity" in frame.attrs["left_out"] and not [name for name in frame if name.startswith("velocity")]
    assert run.data_frame(COMMAND).index.tolist() == [k // 2 for k in range(2 * TICKS)]


def test_topics_are_aligned_by_tick_and_what_is_left_out_is_named(run: haptic_bags.Run) -> None:
    frame = run.data_frame()
    ticks = [k for k in range(TICKS) if k != MISSED]
    assert frame.index.tolist() == ticks
    assert bits(frame[f"{DEVICE}.joint_position[0]"]) == bits(POSITIONS[ticks, 0])
    assert frame[f"{DEVICE}.buttons"].tolist() == ticks
    np.testing.assert_array_equal(frame[f"{FRICTION}.force[0]"], np.array(ticks) / 3.0)
    left_out = frame.attrs["left_out"]
    assert left_out[DEVICE] == f"1 of {TICKS} messages, at ticks that not all topics have"
    assert FRICTION not in left_out and left_out[EVENTS] == "at some ticks only"
    whole = run.data_frame(DEVICE, CONTACTS)
    assert whole.index.tolist() == list(range(TICKS)) and DEVICE not in whole.attrs["left_out"]


def test_commands_of_several_sources_have_columns_each(run: haptic_bags.Run) -> None:
    frame = run.data_frame(DEVICE, COMMAND)
    for source in ("friction", "wall"):
        assert set(frame[f"{COMMAND}[{source}].source"]) == {source}
        assert set(frame[f"{COMMAND}[{source}].mode"]) == {len(source)}
    assert len(frame) == TICKS


def test_lists_of_varying_length_stay_lists(run: haptic_bags.Run) -> None:
    for frame, prefix in ((run.data_frame(CONTACTS), ""), (run.data_frame(), f"{CONTACTS}.")):
        for k, normal in frame[f"{prefix}normal"].items():
            np.testing.assert_array_equal(normal, np.arange(3.0 * (k % 3)) / 3.0)


def test_lists_that_are_as_long_at_the_common_ticks_stay_lists(tmp_path: Path) -> None:
    """Cells of one length must not become a table of their own."""
    sizes = {0: 2, 1: 2, 2: 1}
    run = [(CONTACTS, CONTACT_ARRAY, k, wire(CONTACT_ARRAY, k, normal=np.ones(3 * m))) for k, m in sizes.items()]
    run += [(DEVICE, DEVICE_STATE, k, wire(DEVICE_STATE, k)) for k in (0, 1)]
    frame = haptic_bags.read(write_bag(tmp_path / "bag", run)).data_frame()
    assert [len(cell) for cell in frame[f"{CONTACTS}.normal"]] == [6, 6]


def test_topics_without_common_ticks_or_without_ticks_are_refused(tmp_path: Path) -> None:
    run = [(DEVICE, DEVICE_STATE, 0, wire(DEVICE_STATE, 0)), (FRICTION, FRICTION_STATE, 1, wire(FRICTION_STATE, 1))]
    apart = haptic_bags.read(write_bag(tmp_path / "apart", run))
    with pytest.raises(haptic_bags.BagError, match=f"no tick that all topics have: {DEVICE}, {FRICTION}"):
        apart.data_frame()
    back = [(DEVICE, DEVICE_STATE, k, wire(DEVICE_STATE, tick)) for k, tick in enumerate((0, 1, 1))]
    again = haptic_bags.read(write_bag(tmp_path / "again", [*back, run[1]]))
    with pytest.raises(haptic_bags.BagError, match=f"{DEVICE} cannot be aligned by tick: ticks that do not rise"):
        again.dataset(DEVICE)
    assert len(again.data_frame(DEVICE)) == 3
    assert again.data_frame().attrs["left_out"][DEVICE] == "ticks that do not rise"
    with pytest.raises(haptic_bags.BagError, match="cannot be aligned by tick: at some ticks only"):
        haptic_bags.read(write_bag(tmp_path / "events", [event(0, "a", "reset"), *run])).data_frame(DEVICE, EVENTS)


def test_topic_without_a_message_is_named(tmp_path: Path) -> None:
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.add_connection(FRICTION, FRICTION_STATE, typestore=typestore())
        connection = writer.add_connection(DEVICE, DEVICE_STATE, typestore=typestore())
        writer.write(connection, 0, wire(DEVICE_STATE, 0))
    run = haptic_bags.read(tmp_path / "bag")
    assert run.topics == [DEVICE] and run.data_frame().attrs["left_out"][FRICTION] == "no message"
    with pytest.raises(haptic_bags.BagError, match=f"no message on {FRICTION}, expected one of: {DEVICE}"):
        run.data_frame(FRICTION)


def test_fields_that_are_lists_of_messages_are_named(tmp_path: Path) -> None:
    kind, topic = "diagnostic_msgs/msg/DiagnosticArray", "/diagnostics"
    status = TYPES["diagnostic_msgs/msg/DiagnosticStatus"](0, "a", "b", "c", [])
    sizes = (1, 1, 2)
    run = [(topic, kind, k, wire_of(kind, [status] * count)) for k, count in enumerate(sizes)]
    read = haptic_bags.read(write_bag(tmp_path / "bag", run))
    assert [len(entries) for entries in read[topic]["status"]] == list(sizes)
    frame = read.data_frame(topic)
    assert frame.index.name == "message" and list(frame) == ["stamp"]
    assert frame.attrs["left_out"] == {"status": "messages inside a message"}
    for suffix in SUFFIXES:
        assert "messages inside a message" in read.write(tmp_path / f"x{suffix}", topic).values()


# ---- datasets -----------------------------------------------------------------------------------------------


def test_dataset_has_ticks_components_and_padded_lists(run: haptic_bags.Run) -> None:
    data = run.dataset()
    ticks = [k for k in range(TICKS) if k != MISSED]
    assert data["tick"].values.tolist() == ticks
    assert data[f"{DEVICE}.joint_position"].dims == ("tick", f"{DEVICE}.joint_position component")
    assert bits(data[f"{DEVICE}.joint_position"].values) == bits(POSITIONS[ticks])
    assert data[f"{DEVICE}.joint_velocity"].shape == (len(ticks), 0)
    assert data[f"{FRICTION}.model"].values.tolist() == [MODELS[k] for k in ticks]
    lengths, normals = data[f"{CONTACTS}.normal length"].values, data[f"{CONTACTS}.normal"].values
    assert lengths.tolist() == [3 * (k % 3) for k in ticks]
    for length, row in zip(lengths, normals, strict=True):
        np.testing.assert_array_equal(row[:length], np.arange(length) / 3.0)
        assert np.isnan(row[length:]).all()
    assert data.attrs["left_out"][DEVICE] == f"1 of {TICKS} messages, at ticks that not all topics have"


# ---- files --------------------------------------------------------------------------------------------------


def test_parquet_gives_every_bit_back(run: haptic_bags.Run, tmp_path: Path) -> None:
    left_out = run.write(tmp_path / "run.parquet")
    frame, again = run.data_frame(), pandas.read_parquet(tmp_path / "run.parquet")
    assert again.index.tolist() == frame.index.tolist() and list(again) == list(frame)
    assert again.attrs["units"] == frame.attrs["units"] and again.attrs["left_out"] == left_out
    for name in frame:
        if name.startswith(f"{CONTACTS}.") and isinstance(frame[name].iloc[0], np.ndarray):
            for one, other in zip(frame[name], again[name], strict=True):
                assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        else:
            assert again[name].dtype == frame[name].dtype and again[name].tolist() == frame[name].tolist()
    assert bits(again[f"{DEVICE}.joint_position[1]"]) == bits(frame[f"{DEVICE}.joint_position[1]"])


def test_csv_gives_every_bit_back(run: haptic_bags.Run, tmp_path: Path) -> None:
    run.write(tmp_path / "run.csv", [DEVICE, CONTACTS])
    frame = run.data_frame(DEVICE, CONTACTS)
    again = pandas.read_csv(tmp_path / "run.csv", index_col="tick", dtype=str)
    assert list(again) == list(frame)
    for i in range(2):
        assert bits([float(text) for text in again[f"{DEVICE}.joint_position[{i}]"]]) == bits(POSITIONS[:, i])
    assert set(again[f"{DEVICE}.has_force_sensor"]) == {"True"}
    for text, normal in zip(again[f"{CONTACTS}.normal"], frame[f"{CONTACTS}.normal"], strict=True):
        assert bits(json.loads(text)) == bits(normal)
    run.write(tmp_path / "friction.csv", FRICTION)
    friction = pandas.read_csv(tmp_path / "friction.csv", keep_default_na=False)
    assert (
        friction["model"].tolist() == run[FRICTION]["model"]
        and friction["tick"].tolist() == run[FRICTION]["tick"].tolist()
    )


def test_mat_has_all_messages_of_all_topics(run: haptic_bags.Run, tmp_path: Path) -> None:
    assert run.write(tmp_path / "run.mat") == {}
    content = loadmat(tmp_path / "run.mat", simplify_cells=True)
    device, contacts, friction = (
        content[name] for name in ("joystick_device_state", "joystick_contacts", "joystick_friction_state")
    )
    assert bits(device["joint_position"]) == bits(POSITIONS) and device["tick"].tolist() == list(range(TICKS))
    assert device["joint_velocity"].size == 0
    for k, normal in enumerate(contacts["normal"]):
        assert bits(normal) == bits(np.arange(3.0 * (k % 3)) / 3.0)
    assert [str(text) if np.size(text) else "" for text in friction["model"]] == run[FRICTION]["model"]
    assert len(content["joystick_device_command"]["source"]) == 2 * TICKS
    assert content["joystick_tick_event"]["detail"] == run[EVENTS]["detail"][0]
    assert content["units"]["joystick_friction_state"]["force"] == "N"
    assert content["units"]["joystick_device_state"]["tool_pose"].tolist() == list("mmm----")
    assert content["topics"]["joystick_friction_state"] == FRICTION
    columns = loadmat(tmp_path / "run.mat")["joystick_device_state"][0, 0]
    assert columns["tick"].shape == (TICKS, 1) and columns["joint_position"].shape == (TICKS, 2)


def test_names_become_different_identifiers_of_matlab() -> None:
    long = "/" + "a" * 70
    names = identifiers(["/a/b", "/a_b", "/1", "/end", "/é", long, long + "b"])
    assert names["/a/b"] == "a_b" and names["/a_b"] == "a_b_2" and names["/end"] == "x_end"
    assert len(set(names.values())) == 7
    assert all(
        name.isidentifier() and name.isascii() and name[0].isalpha() and len(name) <= 63 for name in names.values()
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_topic_can_be_written_alone(run: haptic_bags.Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    run.write(path, EVENTS)
    readers: dict[str, Any] = {".csv": pandas.read_csv, ".parquet": pandas.read_parquet, ".mat": loadmat}
    content = readers[suffix](path)
    found = (
        content["joystick_tick_event"][0, 0]["source"].ravel()[0][0]
        if suffix == ".mat"
        else content["source"][0 if suffix == ".csv" else 3]
    )
    assert found == "friction"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_replaced_whole_or_not_at_all(
    run: haptic_bags.Run, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_text("old")
    with pytest.raises(haptic_bags.BagError, match="no topic /nowhere"):
        run.write(path, "/nowhere")

    def full(self: Path, target: Path) -> Path:
        assert self.stat().st_size > 0  # what is written lies beside the file
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(haptic_bags.BagError, match=f"x{suffix}: cannot be written: No space left"):
            run.write(path)
    assert path.read_text() == "old" and list(tmp_path.glob(".*")) == []
    run.write(path)
    assert path.read_bytes()[:3] != b"old"


def test_files_that_cannot_be_written_are_refused_in_one_line(run: haptic_bags.Run, tmp_path: Path) -> None:
    with pytest.raises(haptic_bags.BagError, match=r"x\.xlsx: expected a file that ends in \.csv, \.parquet, \.mat"):
        run.write(tmp_path / "x.xlsx")
    for suffix in SUFFIXES:
        with pytest.raises(haptic_bags.BagError, match="cannot be written: No such file or directory"):
            run.write(tmp_path / "nowhere" / f"x{suffix}")
        (tmp_path / "file").touch()
        with pytest.raises(haptic_bags.BagError, match="cannot be written: Not a directory"):
            run.write(tmp_path / "file" / f"x{suffix}")
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(haptic_bags.BagError, match="cannot be written: Is a directory"):
            run.write(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize(
    ("package", "ask"),
    [
        ("pandas", lambda run, folder: run.data_frame()),
        ("xarray", lambda run, folder: run.dataset()),
        ("pyarrow", lambda run, folder: run.write(folder / "x.parquet")),
        ("scipy", lambda run, folder: run.write(folder / "x.mat")),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    run: haptic_bags.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, ask: Any
) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(haptic_bags.BagError, match=f"needs the package {package}"):
        ask(run, tmp_path)
