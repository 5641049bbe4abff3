"""The flight recorder of a realtime loop names what held a tick up."""

from __future__ import annotations

import gc
import mmap
import time
from collections.abc import Callable

import pytest

from haptic_core.flight_recorder import FlightRecorder, TickRecord

MS = 1_000_000
USUAL = {"callbacks": 0.9 * MS, "device": 0.1 * MS}


def record(callbacks: float, device: float, **counted: int) -> TickRecord:
    zeros = ("on_core", "runnable", "minor_faults", "major_faults", "voluntary", "involuntary", "collections")
    counters = dict.fromkeys((*zeros, "collecting"), 0) | counted
    phases = {"callbacks": round(callbacks * MS), "device": round(device * MS)}
    return TickRecord(tick=7, phases=phases, usual=USUAL, **counters)


@pytest.mark.parametrize(
    ("counted", "cause"),
    [
        ({"runnable": 30 * MS}, "it waited for a core that others had"),
        ({"on_core": 30 * MS}, "it computed, on a slow core or for the first time"),
        ({"on_core": 30 * MS, "collections": 1, "collecting": 25 * MS}, "Python collected garbage"),
        ({"major_faults": 3}, "it waited for pages from a disk"),
        ({"minor_faults": 3}, "it slept or was stopped"),
    ],
)
def test_the_cause_is_what_most_of_the_time_went_into(counted: dict[str, int], cause: str) -> None:
    assert record(0.9, 39.0, **counted).cause == cause


def test_the_phase_that_is_longest_beyond_what_is_usual_is_named() -> None:
    held_up = record(1.2, 0.9, on_core=2 * MS)
    assert held_up.longest_phase == "device"
    assert str(held_up).startswith("tick 7 took 2.10 ms, device 0.90 ms of it (usually 0.10): it computed; 2.00 ms on")
    assert held_up.cause == "it computed"  # nine times as long as usual


def last_tick(work: Callable[[], object], ticks: int = 12) -> TickRecord:
    """The last tick of a loop, in which it does something."""
    recorder = FlightRecorder(("callbacks", "device"))
    with recorder:
        for tick in range(ticks):
            recorder.mark(0)
            if tick == ticks - 1:
                work()
            recorder.mark(1)
            recorder.end(tick)
    found = recorder.longest(last=1)
    assert found is not None and found.tick == ticks - 1
    return found


def test_a_tick_that_sleeps_is_seen_with_its_switch() -> None:
    found = last_tick(lambda: time.sleep(0.2))
    assert found.longest_phase == "device"
    assert found.duration >= 200 * MS and found.voluntary >= 1
    assert found.on_core < found.duration


def test_a_tick_that_computes_is_seen_with_its_time_on_a_core() -> None:
    def compute() -> None:
        end = time.thread_time_ns() + 200 * MS
        while time.thread_time_ns() < end:
            pass

    assert last_tick(compute).on_core >= 200 * MS


@pytest.mark.slow
def test_pages_and_collections_are_counted_in_their_tick() -> None:
    size = 2000 * mmap.PAGESIZE

    def touch() -> None:
        with mmap.mmap(-1, size) as memory:
            for place in range(0, size, mmap.PAGESIZE):
                memory[place] = 1
        gc.collect()

    found = last_tick(touch)
    assert found.minor_faults >= 1000  # a kernel may map more pages than one at once
    assert found.collections == 1 and found.collecting > 0


def test_a_tick_that_has_not_ended_counts_and_old_ones_do_not() -> None:
    recorder = FlightRecorder(("all",), size=8)
    assert recorder.longest() is None
    with recorder:
        for tick in range(40):
            recorder.mark(0)
            recorder.end(tick)
        found = recorder.longest()
        assert found is not None and found.tick > 31
        recorder.mark(0)
        found = recorder.longest(last=0, tick=40)
        assert found is not None and found.tick == 40
    recorder.end(41)  # outside nothing is recorded
    found = recorder.longest()
    assert found is not None and found.tick <= 39
