"""Runs that are interrupted: by the user, by a node that is killed, and by a node that no longer answers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from machine_speed import limit
from ros_domain import worker_domain
from started_runs import find_child, wait_until

from haptic_bags.bags import Bag
from haptic_core.stop_records import find_records
from haptic_launch.shared_memory import FOLDER
from haptic_verification.faults import descendants

#: of realtime runs [s] and [ticks]: also a slow machine that does other work answers within them
PERIOD, WATCHDOG = 0.02, 100
#: of a run in lockstep that the test ends
ENDLESS = ("pace:=1.0", "duration:=3600.0")
#: nodes that can be killed or stopped one by one
APART = "layout:=processes"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def segments(pids: Iterable[int]) -> set[Path]:
    """Fast DDS segments that these processes have made, without the ports, which all processes share.

    Its maker holds the lock of the file beside a segment. Others have it mapped, at times also processes of another
    domain: the number of a port that becomes free is used again in any domain, while others still write to it.
    """
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # a process that has just ended
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                path = descriptor.readlink()
                locked = "FLOCK" in Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text()
                if locked and path.parent == FOLDER and "_port" not in path.name:
                    found.add(path.with_name(path.name.removesuffix("_el")))
    return found


@pytest.mark.experiment
def test_a_run_leaves_no_shared_memory_behind(start) -> None:
    run = start("command_delay_ticks:=0", "duration:=1.0", "pace:=1.0")
    made: set[Path] = set()
    while run.process.poll() is None:
        made |= segments(descendants(run.pid))
        time.sleep(0.1)
    assert run.finish() == 0, run.text
    assert len(made) >= 2  # one of each process at least
    assert not [path for path in made if path.exists()]


@pytest.mark.experiment
def test_a_killed_node_leaves_no_shared_memory_behind(start) -> None:
    run = start("command_delay_ticks:=0", APART, *ENDLESS)
    wait_until(run.is_running)
    made = segments(descendants(run.pid))
    os.kill(find_child(run.pid, "friction_node"), signal.SIGKILL)
    assert run.finish() == 1
    assert len(made) >= 3
    assert not [path for path in made if path.exists()]


@pytest.mark.parametrize(
    "size", [pytest.param(0, marks=pytest.mark.experiment), pytest.param(1, marks=pytest.mark.experiment), 200_000]
)
def test_ctrl_c_leaves_a_readable_bag_and_no_process(start, size: int) -> None:
    """At the start (size 0: before the bag exists), at the first byte, and in the middle of the run."""
    run = start("command_delay_ticks:=0", *ENDLESS)
    if size:
        wait_until(lambda: run.recorded_bytes() >= size)
    else:
        wait_until(lambda: find_child(run.pid, "composed_nodes"))
    nodes = descendants(run.pid)
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == 130, run.text
    assert not [pid for pid in nodes if alive(pid)]
    assert "Traceback" not in run.text
    bags = list(run.folder.glob("runs/*/bag"))
    if size:
        ticks = Bag(bags[0]).topics.get("/joystick/device_state", {"tick": np.zeros(0)})["tick"]
        np.testing.assert_array_equal(ticks, np.arange(len(ticks)))
    if size > 1:
        assert len(ticks) > 0


def test_run_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """A study's worker that is killed, as those of a study that has failed are, leaves no run that goes on."""
    command = "import time; time.sleep(600)"
    program = (
        "import sys, time; from pathlib import Path; from haptic_verification.faults import start\n"
        "here = Path(sys.argv[1])\n"
        f"run = start([sys.executable, '-c', {command!r}], here, {worker_domain()}, here / 'output.txt')\n"
        "print(run.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        run = int(starter.stdout.readline())
        # the command itself, no longer the guard that is replaced by it; for a moment in between there is no line
        wait_until(lambda: Path(f"/proc/{run}/cmdline").read_bytes().split(b"\0")[2:3] == [command.encode()])
        starter.kill()
    wait_until(lambda: not alive(run))


@pytest.mark.experiment
def test_node_that_is_interrupted_before_the_start_ends_the_run_which_names_it(start) -> None:
    """The friction node is stopped, so that the recorder waits for the start when it gets SIGINT and ends with 0."""
    run = start("command_delay_ticks:=0", APART, *ENDLESS)
    wait_until(lambda: find_child(run.pid, "friction_node"))
    friction = find_child(run.pid, "friction_node")
    os.kill(friction, signal.SIGSTOP)
    wait_until(lambda: list(run.folder.glob("runs/*/bag/*.mcap")))  # the recorder is configured, no longer imports
    os.kill(find_child(run.pid, "recorder"), signal.SIGINT)
    wait_until(lambda: "recorder failed: it ended before the run" in run.text)
    os.kill(friction, signal.SIGCONT)
    assert run.finish() == 1, run.text


@pytest.mark.experiment
def test_a_killed_node_ends_the_run_which_names_it(start) -> None:
    run = start("command_delay_ticks:=0", APART, *ENDLESS)
    wait_until(run.is_running)
    nodes = descendants(run.pid)
    os.kill(find_child(run.pid, "friction_node"), signal.SIGKILL)
    assert run.finish() == 1
    assert "friction failed: killed by SIGKILL" in run.text
    assert not [pid for pid in nodes if alive(pid)]
    assert len(Bag(run.directory / "bag").topics["/joystick/device_state"]["tick"]) > 0


@pytest.mark.realtime
def test_a_silent_source_brings_a_realtime_device_to_its_safe_state_in_time(start) -> None:
    run = start("mode:=realtime", f"period:={PERIOD}", f"watchdog_periods:={WATCHDOG}", "duration:=3600.0")
    wait_until(run.is_running)
    friction = find_child(run.pid, "friction_node")
    os.kill(friction, signal.SIGSTOP)
    wait_until(lambda: "safe state at tick" in run.text)
    os.kill(friction, signal.SIGCONT)
    wait_until(lambda: "rejected (late" in run.text)  # what it answers on waking is old and must not act
    # it slept, and writes its record when it sees the stop
    wait_until(lambda: "joystick.friction" in {node for node, _, _ in find_records(run.directory)})
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == 130, run.text
    bag = Bag(run.directory / "bag")
    (event,) = (event for event in bag.events if event.kind == "error")
    assert event.detail["reason"] == f"source friction: silent for {WATCHDOG} ticks"
    truth, state, command = (
        bag.topics[f"/joystick/{name}"] for name in ("simulation_state", "device_state", "device_command")
    )
    stopped = int(state["tick"][np.argmax(state["status"] == 1)])
    answered = command["tick"][command["tick"] < stopped].max()
    assert stopped - answered <= WATCHDOG + 1  # the tick that carries the news is the one after the decision
    assert not truth["applied_effort"][truth["tick"] >= stopped].any()
    assert truth["applied_effort"][truth["tick"] < stopped - 1].any()
    records = {node: (tick, file) for node, tick, file in find_records(run.directory)}
    assert records["joystick.device"][0] == stopped and f"flight record: {records['joystick.device'][1]}" in run.text
    assert records["joystick.friction"][0] >= stopped


@pytest.mark.realtime
def test_a_recorder_that_is_held_up_loses_nothing_in_realtime(start) -> None:
    run = start("mode:=realtime", f"period:={PERIOD}", "watchdog_periods:=500", "duration:=3600.0")
    wait_until(run.is_running)
    recorder = find_child(run.pid, "recorder")
    os.kill(recorder, signal.SIGSTOP)
    time.sleep(100 * PERIOD)  # ticks that wait for it
    os.kill(recorder, signal.SIGCONT)
    size = run.recorded_bytes()
    wait_until(lambda: run.recorded_bytes() > size + 150_000)  # more than these ticks
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == 130, run.text
    ticks = Bag(run.directory / "bag").topics["/joystick/device_state"]["tick"]
    np.testing.assert_array_equal(ticks, np.arange(len(ticks)))


@pytest.mark.realtime
def test_dds_keeps_a_realtime_recorder_that_is_stopped_for_longer_than_its_usual_lease(start) -> None:
    """At 1 kHz the removal of a recorder, 20 s after its last sign of life, would hold up the device until it stops.

    The nodes keep no messages for a recorder that they have removed, so that its bag would lack ticks.
    """
    run = start("mode:=realtime", f"period:={PERIOD}", "watchdog_periods:=500", "duration:=3600.0")
    wait_until(run.is_running)
    recorder = find_child(run.pid, "recorder")
    os.kill(recorder, signal.SIGSTOP)
    time.sleep(26.0)  # 20 s, and the 3 s between two signs of life of a process
    os.kill(recorder, signal.SIGCONT)
    size = run.recorded_bytes()
    wait_until(lambda: run.recorded_bytes() > size + 150_000)
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == 130, run.text  # all is there: 26 s are 1300 ticks
    assert "safe state" not in run.text
    ticks = Bag(run.directory / "bag").topics["/joystick/device_state"]["tick"]
    np.testing.assert_array_equal(ticks, np.arange(len(ticks)))


@pytest.mark.experiment
def test_a_silent_source_in_lockstep_ends_the_run_with_its_name(start) -> None:
    run = start(
        "command_delay_ticks:=0", f"answer_timeout:={limit(5.0)}", APART, *ENDLESS
    )  # the stop has to come first
    wait_until(run.is_running)
    friction = find_child(run.pid, "friction_node")
    os.kill(friction, signal.SIGSTOP)
    wait_until(lambda: "source friction: no answer to tick" in run.text)
    os.kill(friction, signal.SIGCONT)
    assert run.finish() == 1, run.text
    assert "device failed: exit code 1" in run.text
