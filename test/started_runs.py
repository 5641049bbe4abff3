"""Helpers of the integration tests: they start the real processes, on the ROS domain of the worker."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from machine_speed import limit
from ros_domain import worker_domain

from haptic_bringup.faults import descendants, start

RUN = [sys.executable, "-m", "haptic_bringup", "run", "friction_impedance"]


def finished_run(folder: Path, *words: str, timeout: float) -> Path:
    """Runs an experiment to its end in a working directory of its own: the run's directory."""
    command = [sys.executable, "-m", "haptic_bringup", "run", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit(timeout))
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = (folder / "runs").iterdir()
    return directory


def wait_until(condition: Callable[[], object], timeout: float = 200.0) -> None:
    end = time.monotonic() + limit(timeout)
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.005)


def find_child(pid: int, executable: str) -> int | None:
    """Process id of a node by the name of its executable."""
    for child, command in descendants(pid).items():
        if f"/{executable} " in command and "process_guard" not in command:
            return child
    return None


class Run:
    """A run of the command line in a working directory of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.output = folder / "output.txt"
        self.process = start([*RUN, *arguments], folder, worker_domain(), self.output)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def text(self) -> str:
        return self.output.read_text()

    @property
    def directory(self) -> Path | None:
        """runs/<time>-<name> of this run, once it exists."""
        return next(iter(sorted((self.folder / "runs").glob("*"))), None)

    def recorded_bytes(self) -> int:
        return sum(path.stat().st_size for path in (self.folder / "runs").glob("*/bag*/*.mcap"))

    def finish(self, timeout: float = 120.0) -> int:
        return self.process.wait(limit(timeout))
