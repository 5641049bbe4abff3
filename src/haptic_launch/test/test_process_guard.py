"""Tests of the program that prepares a process for its runner."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

from haptic_launch import process_guard


def test_a_realtime_priority_is_not_inherited() -> None:
    """A thread takes the priority, where the user may have one, so that it ends with the thread."""
    found = list[str]()

    def run() -> None:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        command = process_guard.start_command([sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"])
        found.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [f"{os.SCHED_OTHER}\n"]
