"""Bags that were not closed: what is lost is bounded, the rest opens after a repair, in every reader."""

from __future__ import annotations

import errno
import os
import random
import shutil
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import get_chunk_data_stream
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader

from haptic_bags import bag_writer
from haptic_bags.bag_writer import FLUSH_INTERVAL, UNFINISHED, BagWriter
from haptic_bags.bags import Bag, BagError, typestore
from haptic_bags.recorder import stamp_of, tick_of
from haptic_bags.repair import repair
from haptic_experiments.report import bags_of
from haptic_msgs.msg import DeviceState

TOPIC, KIND = "/joystick/device_state", "haptic_msgs/msg/DeviceState"
CUSTOM = {"experiment": "friction_impedance", "mode": "realtime"}
PERIOD = 0.001


@cache
def template() -> bytes:
    """An empty DeviceState as a reader gets it: rclpy.serialization leaves spare bytes behind its end."""
    data = bytes(serialize_message(DeviceState()))
    definition = typestore().get_msgdef(KIND)
    return data[: 4 + definition.deserialize_cdr_le(data[4:], 0, definition.cls, typestore())[1]]


def message(tick: int) -> bytes:
    data = bytearray(template())
    struct.pack_into("<iI", data, 4, *divmod(round(tick * PERIOD * 1e9), 1_000_000_000))
    struct.pack_into("<Q", data, 20, tick)
    assert (tick_of(bytes(data)), stamp_of(bytes(data))) == (tick, round(tick * PERIOD * 1e9))
    return bytes(data)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(bag_writer, "time", made)
    yield made


def begun(path: Path) -> tuple[BagWriter, object]:
    writer = BagWriter(path, CUSTOM)
    writer.open()
    return writer, writer.add_connection(TOPIC, KIND, typestore=typestore())


def record(path: Path, ticks: int, clock: Clock, *, close: bool = True) -> BagWriter:
    writer, connection = begun(path)
    for tick in range(ticks):
        clock.now = tick * PERIOD
        writer.write(connection, round(tick * PERIOD * 1e9), message(tick))
    if close:
        writer.close()
    return writer


def insert(path: Path, clock: Clock, opcode: int, content: bytes) -> None:
    """Records a bag that is not closed, and puts a record before those of its file."""
    record(path, 2100, clock, close=False).abort()
    (file,) = path.glob("*.mcap")
    whole = file.read_bytes()
    file.write_bytes(whole[:8] + struct.pack("<BQ", opcode, len(content)) + content + whole[8:])


def copied(path: Path, target: Path) -> Path:
    """Copies the files of a bag, as a process that dies now leaves them: without what it has in memory."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(path, target))


def ticks_of(path: Path) -> list[int]:
    return Bag(path).topics[TOPIC]["tick"].tolist()


def test_a_recorder_that_dies_loses_at_most_one_interval(tmp_path: Path, clock: Clock) -> None:
    writer, connection = begun(tmp_path / "bag")
    dies, written = iter(sorted(random.Random(3).sample(range(600, 2000), 5))), 0
    due = next(dies)
    for tick in range(2000):
        clock.now = tick * PERIOD
        writer.write(connection, round(tick * PERIOD * 1e9), message(tick))
        if tick == due:
            due = next(dies, -1)
            left = copied(tmp_path / "bag", tmp_path / "left" / "bag")
            result = repair(left)
            kept = ticks_of(left)
            assert kept == list(range(len(kept))) and result.messages == len(kept)
            assert (tick + 1 - len(kept)) * PERIOD <= FLUSH_INTERVAL + PERIOD
            written += 1
    assert written == 5


def test_buffered_messages_are_written_although_no_more_come(tmp_path: Path, clock: Clock) -> None:
    """Two messages: less than the file's own buffer."""
    writer = record(tmp_path / "bag", 2, clock, close=False)
    with pytest.raises(BagError, match="holds no message"):
        repair(copied(tmp_path / "bag", tmp_path / "left"))
    clock.now += FLUSH_INTERVAL
    writer.flush()
    left = copied(tmp_path / "bag", tmp_path / "left" / "bag")
    repair(left)
    assert ticks_of(left) == [0, 1]


def whole_chunks(file: Path) -> list[tuple[int, int]]:
    """End of each chunk and how many messages there are up to it, by the index of the mcap package."""
    with file.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    ticks = [round(chunk.message_end_time / (PERIOD * 1e9)) for chunk in summary.chunk_indexes]
    ends = [chunk.chunk_start_offset + chunk.chunk_length for chunk in summary.chunk_indexes]
    return [(end, tick + 1) for end, tick in zip(ends, ticks, strict=True)]


@pytest.mark.slow
def test_truncated_bag_keeps_all_complete_messages_and_reports_the_loss(tmp_path: Path, clock: Clock) -> None:
    record(tmp_path / "bag", 1300, clock)
    whole = (tmp_path / "bag" / "bag.mcap").read_bytes()
    chunks = whole_chunks(tmp_path / "bag" / "bag.mcap")
    rng = random.Random(7)
    cuts = [place + shift for place, _ in chunks for shift in (-1, 0, 1)]
    cuts += [rng.randrange(9, len(whole)) for _ in range(8)]
    cut_bag = tmp_path / "cut" / "bag"
    for cut in cuts:
        copied(tmp_path / "bag", cut_bag)
        (cut_bag / "metadata.yaml").unlink()
        (cut_bag / UNFINISHED).write_text(yaml.safe_dump(CUSTOM))
        (cut_bag / "bag.mcap").write_bytes(whole[:cut])
        expected = max((count for end, count in chunks if end <= cut), default=0)
        if not expected:
            with pytest.raises(BagError, match="holds no message"):
                repair(cut_bag)
            continue
        result = repair(cut_bag)
        assert ticks_of(cut_bag) == list(range(expected)), cut
        assert result.damaged == 0 and result.ticks[TOPIC].last == expected - 1
        assert sorted(path.name for path in cut_bag.iterdir()) == ["bag.mcap", "metadata.yaml"]


def test_a_repaired_bag_is_the_one_that_would_have_been_closed_then(tmp_path: Path, clock: Clock) -> None:
    """metadata.yaml follows rosbag2's rules as that of every run does, the file's own statistics agree."""
    record(tmp_path / "killed" / "bag", 1700, clock, close=False)
    result = repair(tmp_path / "killed" / "bag")
    record(tmp_path / "closed" / "bag", result.messages, clock)
    found, expected = (yaml.safe_load((tmp_path / name / "bag/metadata.yaml").read_text())
                       for name in ("killed", "closed"))  # fmt: skip
    assert found == expected
    assert found["rosbag2_bagfile_information"]["custom_data"] == CUSTOM
    with (tmp_path / "killed/bag/bag.mcap").open("rb") as stream:
        statistics = make_reader(stream).get_summary().statistics
        assert statistics.message_count == result.messages > 0
    with Reader(tmp_path / "killed" / "bag") as reader:
        assert reader.message_count == result.messages
        assert [data for _, _, data in reader.messages()] == [message(tick) for tick in range(result.messages)]


def test_unreadable_chunk_is_dropped_and_reported(tmp_path: Path, clock: Clock) -> None:
    writer = record(tmp_path / "bag", 2100, clock, close=False)
    writer.abort()
    file = tmp_path / "bag" / "bag.mcap"
    data = bytearray(file.read_bytes())
    place = data.index(message(700))  # in the second chunk; the length of its record stands 30 bytes before it
    data[place - 30 : place - 22] = struct.pack("<Q", 2**40)
    file.write_bytes(data)
    result = repair(tmp_path / "bag")
    assert result.damaged == 1 and "dropped: 1 chunks whose contents cannot be read" in result.lines()
    kept = ticks_of(tmp_path / "bag")
    ((first, last),) = result.ticks[TOPIC].gaps
    assert first <= 700 <= last
    assert kept == [*range(first), *range(last + 1, result.ticks[TOPIC].last + 1)]
    assert f"{TOPIC}: last tick {kept[-1]}; lacks ticks {first}-{last}" in result.lines()


@pytest.mark.parametrize(("stated", "held"), [(100, 5000), (2**40, 100)])
def test_chunk_that_would_unpack_to_more_than_it_states_or_the_memory_is_dropped(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, stated: int, held: int
) -> None:
    packed = zstandard.compress(bytes(held))
    content = struct.pack("<QQQI", 0, 0, stated, 0) + struct.pack("<I4sQ", 4, b"zstd", len(packed)) + packed

    def unpack(chunk: Chunk, validate_crc: bool) -> Any:
        assert chunk.data != packed
        return get_chunk_data_stream(chunk, validate_crc)

    monkeypatch.setattr("haptic_bags.repair.get_chunk_data_stream", unpack)
    insert(tmp_path / "bag", clock, Opcode.CHUNK, content)
    assert repair(tmp_path / "bag").damaged == 1


@pytest.mark.parametrize("compression", [b"zstd", b"lz4", b"rar"])
def test_compressed_chunk_that_is_none_is_dropped(tmp_path: Path, clock: Clock, compression: bytes) -> None:
    content = struct.pack("<QQQI", 0, 0, 100, 0) + struct.pack("<I", len(compression)) + compression
    content += struct.pack("<Q", 8) + b"no chunk"
    insert(tmp_path / "bag", clock, Opcode.CHUNK, content)
    assert repair(tmp_path / "bag").damaged == 1


def test_message_of_a_channel_that_is_not_there_is_dropped(tmp_path: Path, clock: Clock) -> None:
    content = struct.pack("<HIQQ", 99, 0, 0, 0) + message(7)
    insert(tmp_path / "bag", clock, Opcode.MESSAGE, content)
    result = repair(tmp_path / "bag")
    assert result.damaged == 1 and result.ticks[TOPIC].last > 1000


def test_a_bag_that_is_whole_stays_as_it_is(tmp_path: Path, clock: Clock) -> None:
    record(tmp_path / "bag", 20, clock)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "bag").iterdir()}
    assert repair(tmp_path).lines() == [f"{tmp_path / 'bag'}: closed and readable, nothing to repair"]
    assert before == {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "bag").iterdir()}


def test_only_the_metadata_are_missing(tmp_path: Path, clock: Clock) -> None:
    """Killed between the end of the file and its metadata; without the recorder's note the experiment is lost."""
    record(tmp_path / "bag", 20, clock)
    (tmp_path / "bag" / "metadata.yaml").unlink()
    result = repair(tmp_path / "bag" / "bag.mcap")
    assert ticks_of(tmp_path / "bag") == list(range(20)) and result.tail == 0
    assert result.lines()[-1].startswith("which experiment it was is lost")


def test_a_repair_that_cannot_write_leaves_the_bag_as_it_is(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "bag", 2000, clock, close=False)
    before = {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(BagWriter, "close", full)
    with pytest.raises(BagError, match="cannot be repaired: No space left on device"):
        repair(tmp_path / "bag")
    assert {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()} == before


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "no bag"),
        (["bag/bag.mcap", "bag_b/bag_b.mcap"], "has several bags: bag, bag_b"),
        (["bag/bag.mcap"], "not an MCAP file"),
    ],
)
def test_directory_without_a_bag_is_refused_in_one_line(tmp_path: Path, files: list[str], said: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(BagError, match=said) as caught:
        repair(tmp_path)
    assert "\n" not in str(caught.value)


def test_error_of_a_bag_that_was_not_closed_names_the_repair_command(tmp_path: Path, clock: Clock) -> None:
    record(tmp_path / "bag", 20, clock, close=False)
    for read in (lambda: Bag(tmp_path / "bag"), lambda: bags_of(tmp_path), lambda: bags_of(tmp_path / "bag")):
        with pytest.raises(BagError) as caught:
            read()
        assert caught.value.hint.endswith(f"./haptics repair {tmp_path / 'bag'}")


@pytest.mark.parametrize("fifo", [False, True])
def test_repair_is_no_advice_for_a_bag_without_its_mcap_file(tmp_path: Path, clock: Clock, fifo: bool) -> None:
    record(tmp_path / "bag", 20, clock)
    (file,) = (tmp_path / "bag").glob("*.mcap")
    file.unlink()
    if fifo:
        os.mkfifo(file)
    with pytest.raises(BagError) as caught:
        Bag(tmp_path / "bag")
    assert caught.value.hint.endswith("./haptics repair cannot help")
