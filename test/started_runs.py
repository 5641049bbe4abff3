"""Helpers of the integration tests: they start the real processes on a ROS domain of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

RUN = [sys.executable, "-m", "haptic_bringup", "run", "friction_impedance"]


def environment(domain: int) -> dict[str, str]:
    return {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def wait_until(condition: Callable[[], object], timeout: float = 60.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.005)


def children(pid: int) -> dict[int, str]:
    """Process ids and command lines of all descendants of a process."""
    found: dict[int, str] = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found |= children(child)
            except OSError:
                continue  # it has just ended
    return found


def find_child(pid: int, executable: str) -> int | None:
    """Process id of a node by the name of its executable."""
    for child, command in children(pid).items():
        if f"/{executable} " in command and "process_guard" not in command:
            return child
    return None


def start(command: Sequence[str], folder: Path, domain: int, output: Path) -> subprocess.Popen[bytes]:
    """Starts a command in a folder with its output in a file; it can be interrupted, as from a terminal."""
    with output.open("w") as file:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment(domain),
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )


class Run:
    """A run of the command line in a working directory of its own."""

    def __init__(self, folder: Path, domain: int, *arguments: str) -> None:
        self.folder = folder
        self.output = folder / "output.txt"
        self.process = start([*RUN, *arguments], folder, domain, self.output)

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
        return self.process.wait(timeout)
