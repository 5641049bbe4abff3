"""The recorder's parts: the log of ticks, stamp and tick read from serialised messages."""

from __future__ import annotations

import pytest
from rclpy.serialization import serialize_message

from haptic_bringup.recorder import TickLog, stamp_of, tick_of
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, SimulationState, TickEvent


def test_tick_log_counts_gaps_and_repeats() -> None:
    log = TickLog()
    assert log.missing_until(2) == [(0, 2)]
    for tick in (1, 2, 2, 5, 4):
        log.add(tick)
    assert log.gaps == [(0, 0), (3, 4)] and log.repeated == 2 and log.last == 5
    assert log.missing_until(5) == [(0, 0), (3, 4)]
    assert log.missing_until(7) == [(0, 0), (3, 4), (6, 7)]


def test_a_tick_of_several_writers_has_come_when_all_have_written() -> None:
    log = TickLog(writers=2)
    for tick in (0, 1, 0, 1, 2, 3, 3):
        log.add(tick)
    assert log.last == 3 and log.repeated == 0
    assert log.missing_until(3) == [(2, 2)]
    log.add(3)
    assert log.repeated == 1


@pytest.mark.parametrize("length", range(18))
@pytest.mark.parametrize("kind", [DeviceState, SimulationState, DeviceCommand, FrictionState, TickEvent])
def test_stamp_and_tick_are_found_whatever_the_frame_id(kind: type, length: int) -> None:
    message = kind(tick=2**63 + 12345)
    message.header.frame_id = "abcdefghijklmnopq"[:length]
    message.header.stamp.sec, message.header.stamp.nanosec = 2_000_000_000, 999_999_999
    data = bytes(serialize_message(message))
    assert stamp_of(data) == 2_000_000_000_999_999_999
    assert tick_of(data) == 2**63 + 12345
