"""A recorder that is killed, or whose disk is full: the loop goes on, the bag is repaired, its loss is bounded."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from machine_speed import limit
from started_runs import HAPTICS, find_child, wait_until

from haptic_bags.bag_writer import FLUSH_INTERVAL
from haptic_bags.bags import Bag


def repaired(bag: Path) -> tuple[str, Bag]:
    """What the command says, and the bag; its ticks must be contiguous."""
    done = subprocess.run([*HAPTICS, "repair", str(bag)], capture_output=True, text=True, timeout=limit(200.0))
    assert done.returncode == 0, done.stdout + done.stderr
    read = Bag(bag)
    ticks = read.topics["/joystick/device_state"]["tick"]
    np.testing.assert_array_equal(ticks, np.arange(len(ticks)))
    assert read.custom["experiment"] == "friction_impedance"
    assert f"/joystick/device_state: last tick {len(ticks) - 1}\n" in done.stdout
    return done.stdout, read


@pytest.mark.realtime
def test_a_killed_recorder_leaves_all_but_the_last_interval(start) -> None:
    """The stamps of a realtime run are the system's time: they say what the moment of the kill left out."""
    run = start("mode:=realtime", "period:=0.02", "watchdog_periods:=500", "duration:=3600.0")
    wait_until(run.is_running)
    time.sleep(random.uniform(0.0, FLUSH_INTERVAL))  # anywhere within the interval
    killed = time.time()
    os.kill(find_child(run.pid, "recorder"), signal.SIGKILL)
    assert run.finish() == 1, run.text
    assert "recorder failed: killed by SIGKILL" in run.text and "Traceback" not in run.text
    said, bag = repaired(run.directory / "bag")
    assert "repaired, " in said
    # beside the interval: what waits for a recorder that is held up, which the publishers keep for 5000 ticks
    assert killed - bag.topics["/joystick/device_state"]["stamp"][-1] < FLUSH_INTERVAL + limit(10.0)


@pytest.mark.experiment
def test_a_full_disk_ends_the_recording_and_not_the_run(start) -> None:
    """The disk is full for the recorder's process: RLIMIT_FSIZE makes its writes fail beyond a size.

    The whole bag has 2.5 MB, a chunk of a recorder that was held up 1 MB.
    """
    run = start("command_delay_ticks:=0", "duration:=2.0")
    wait_until(lambda: find_child(run.pid, "recorder"))
    resource.prlimit(find_child(run.pid, "recorder"), resource.RLIMIT_FSIZE, (1_400_000, 1_400_000))
    assert run.finish() == 1, run.text
    (line,) = (line for line in run.text.splitlines() if "[FATAL]" in line)
    bag = run.directory / "bag"
    assert "File too large at tick " in line and f"the run goes on; later: ./haptics repair {bag}" in line
    assert " 2000 ticks in " in run.text and "Traceback" not in run.text
    assert "recorder failed: exit code 1" in run.text
    _, read = repaired(bag)
    assert 0 < len(read.topics["/joystick/device_state"]["tick"]) < 2000
    assert len(read.topics["/joystick/device_command"]["tick"]) > 0
