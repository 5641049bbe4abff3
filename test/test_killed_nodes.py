"""A node of a running scene is killed: the device is safe, says for whose sake, and the scene comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ros_domain import worker_domain

from haptic_msgs.msg import DeviceState
from haptic_verification.faults import WatchedRun

pytestmark = pytest.mark.realtime

#: so long that also a slow machine that does other work answers within it [s]
PERIOD = 0.02
#: silence after which the device stops [ticks]: longer than other programs on the machine hold a node up
WATCHDOG = 100
NODES = ("wall", "friction", "device")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[..., WatchedRun]]:
    scenes: list[WatchedRun] = []

    def make(layout: str = "processes") -> WatchedRun:
        words = (f"period:={PERIOD}", f"watchdog_periods:={WATCHDOG}", "duration:=3600.0", "respawn:=true")
        words += (f"layout:={layout}",)
        scenes.append(WatchedRun("tau_rough_wall", *words, folder=tmp_path, domain=worker_domain()))
        scenes[-1].goes_on(WATCHDOG + 10)
        return scenes[-1]

    yield make
    for made in scenes:
        made.close()


def test_nodes_that_are_killed_are_started_again_and_the_device_is_safe_meanwhile(
    scene: Callable[..., WatchedRun],
) -> None:
    """First the rendering nodes, one after the other, then the device."""
    run = scene()
    locked = {"VmLck:\t       0 kB" not in Path(f"/proc/{pid}/status").read_text() for pid in run.pids().values()}
    assert locked == {"no locked memory" not in run.text}
    reasons = {
        "wall": f"source wall: silent for {WATCHDOG} ticks; friction waits for it",
        "friction": f"source friction: silent for {WATCHDOG} ticks",
    }
    for name in reasons:
        assert any(run.device.joint_effort)  # at least the tool's weight is held
        with run.runner_held():
            run.kill(run.pid(name))
            run.until(lambda: run.device.status == DeviceState.STATUS_SAFE_STOP)
        run.until(lambda name=name: run.started(name) == 2)
        for node in NODES:
            run.reset(node)
        run.goes_on(WATCHDOG + 10)
        run.until(lambda: any(run.device.joint_effort))
        assert run.text.count(f"haptics: {name} failed: killed by SIGKILL; it is started again") == 1
        assert run.text.count(reasons[name]) == 1
    assert run.forces == 0.0 and len(run.stops) == 2
    assert run.reasons() == list(reasons.values())
    assert [run.started(name) for name in NODES] == [2, 2, 1]

    run.kill(run.pid("device"))
    run.until(lambda: run.started("device") == 2 and run.new_starts)
    run.goes_on(WATCHDOG + 10)
    resets = [source for source, kind, detail in run.events if kind == "reset" and "because" in detail]
    assert sorted(resets) == ["friction", "wall"]
    assert [run.started(name) for name in NODES] == [2, 2, 2]
    assert run.text.count("haptics: device failed: killed by SIGKILL; it is started again") == 1
    assert run.close() == 130, run.text


def test_of_nodes_in_one_process_all_start_again(scene: Callable[..., WatchedRun]) -> None:
    run = scene("composed")
    run.kill(run.pid("nodes"))
    run.until(lambda: run.started("device") == 2 and run.new_starts)
    run.goes_on(WATCHDOG + 10)
    assert [run.started(name) for name in NODES] == [2, 2, 2]
    assert run.close() == 130, run.text
