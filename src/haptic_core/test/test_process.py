"""What a process asks of the system."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from haptic_core import process
from haptic_core.errors import HapticError


def test_cores_are_asked_to_stay_awake_while_the_loop_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = tmp_path / "cpu_dma_latency"
    request.touch()
    monkeypatch.setattr(process, "LATENCY_REQUEST", request)
    with process.awake_cores() as asked:
        assert asked and struct.unpack("i", request.read_bytes()) == (0,)
        held = {path.resolve() for path in Path("/proc/self/fd").iterdir() if path.exists()}
        assert request in held
    assert request not in {path.resolve() for path in Path("/proc/self/fd").iterdir() if path.exists()}


def test_who_may_not_ask_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LATENCY_REQUEST", tmp_path / "none")
    with process.awake_cores() as asked:
        assert not asked


@pytest.mark.parametrize(("text", "asked"), [(None, 20), ("35", 35), ("0", None)])
def test_the_environment_chooses_the_priority(text: str | None, asked: int | None, monkeypatch) -> None:
    taken = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, p: taken.append((policy, p.sched_priority)))
    monkeypatch.delenv("HAPTICS_PRIORITY", raising=False)
    if text is not None:
        monkeypatch.setenv("HAPTICS_PRIORITY", text)
    assert process.raise_priority()
    assert set(taken) == ({(os.SCHED_FIFO, asked)} if asked else set())


class Second:
    """A core of which a thread takes what it is told to, and rests when it wants to."""

    def __init__(self) -> None:
        self.now, self.used, self.rests = 0.0, 0.0, list[float]()

    def tick(self, wall: float, busy: float) -> None:
        self.now, self.used = self.now + wall, self.used + busy

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.rests.append(seconds)


@pytest.mark.parametrize(("busy", "rests"), [(0.5e-3, False), (0.91e-3, False), (0.96e-3, True), (1e-3, True)])
def test_a_loop_that_would_have_its_core_to_itself_leaves_the_kernel_s_share(busy: float, rests: bool) -> None:
    """Of each second Linux takes the rest from who had 95 % of it; the rests are shorter than the device's watchdog."""
    second = Second()
    share = process.RealtimeShare(lambda: second.now, lambda: second.used, second.sleep)
    for _ in range(3200):
        second.tick(1e-3, busy)
        share.keep()
    assert bool(second.rests) == rests
    assert second.used / second.now <= 0.92 + 1e-12
    assert all(0.0 < rest < 5e-3 for rest in second.rests)
    if rests:  # no longer than is needed
        assert second.used / second.now > 0.92 - 1e-9


def test_who_sends_again_keeps_its_ordinary_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a thread that ends meanwhile is no obstacle; one that may not be raised is told."""
    for number, name in {10: "device_node", 11: "dds.shm.7410", 12: "dds.asyn.0.0"}.items():
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "comm").write_text(name + "\n")
    (tmp_path / "13").mkdir()  # it has ended
    monkeypatch.setattr(process, "THREADS", tmp_path)
    monkeypatch.delenv("HAPTICS_PRIORITY", raising=False)
    taken: list[int] = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, p: taken.append(thread))
    assert process.raise_priority() and sorted(taken) == [10, 11]

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert not process.raise_priority()


@pytest.mark.parametrize("text", ["", "-1", "100", "high"])
def test_what_is_no_priority_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPTICS_PRIORITY", text)
    with pytest.raises(HapticError, match=rf"HAPTICS_PRIORITY: expected 0 to 99, got '{text}'"):
        process.raise_priority()
