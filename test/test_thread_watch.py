"""Threads of other processes, looked at from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from started_runs import wait_until

from haptic_verification.thread_watch import ThreadWatch, hindrances, parsed, stolen_time


def test_a_thread_s_name_may_have_brackets() -> None:
    assert parsed(b"12 (a (b) c) D 1 12 12 0") == ("a (b) c", "D")


def test_stolen_time_of_the_hypervisor_is_read() -> None:
    hundredths = os.sysconf("SC_CLK_TCK")
    assert stolen_time(f"cpu  1 2 3 4 5 6 7 {3 * hundredths} 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n") == 3.0


def test_the_longest_time_of_each_kind_is_found() -> None:
    stamps = 1e-3 * np.arange(11)
    states = np.array([list("SRRRSDDSRRR"), list("SSSSSSSSSSS"), list("TTTTTTTTTTT")]).T
    on_core = np.zeros((11, 3))
    on_core[8:, 0] = [0.0, 1e-3, 2e-3]  # at the end it runs
    found = hindrances(["one", "two", "three"], stamps, states, on_core)
    assert [(one.thread, one.state) for one in found] == [
        ("three", "stopped"),
        ("one", "without a core"),
        ("one", "waiting in the kernel"),
    ]
    assert [one.duration for one in found] == pytest.approx([10e-3, 3e-3, 2e-3])
    assert str(found[1]) == "one: without a core for 3.0 ms"


def test_a_process_that_is_stopped_is_seen() -> None:
    """The one that sleeps is not."""
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout is not None and process.stdout.readline()
        with ThreadWatch({"stopped": processes[0].pid, "sleeps": processes[1].pid}) as watch:
            os.kill(processes[0].pid, signal.SIGSTOP)
            wait_until(lambda: any("stopped for" in line for line in watch.found(1000.0)))
            first = watch.samples
            wait_until(lambda: watch.samples > first + 100)
            own, *seen = watch.found(1000.0)
        assert all(line.startswith("stopped, thread ") for line in seen if " stopped for " in line)
        assert not any(line.startswith("sleeps") and "stopped" in line for line in seen)
        assert own.startswith("looked at every ")
    finally:
        for process in processes:
            process.kill()
            process.wait()
