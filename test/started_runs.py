"""Helpers of the integration tests: they start the real processes, on the ROS domain of the worker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from machine_speed import limit
from ros_domain import worker_domain
from rosbags.highlevel import AnyReader

from haptic_bags.bag_comparison import compare_topic
from haptic_bags.bags import read_custom_data, typestore
from haptic_bags.recorder import tick_of
from haptic_bags.recording import DEVICE_COMMAND, source_of
from haptic_launch.experiments import load_experiment
from haptic_verification.faults import descendants, start

HAPTICS = [sys.executable, "-m", "haptic_bringup"]
#: so long that no slow node reaches it; what hangs reaches the limits of the tests first [s]
ANSWER_TIMEOUT = 3600.0


def run_command(name: str, *words: str) -> list[str]:
    """The command line of a run; no slow answer ends it, unless the words say so."""
    given = any(word.startswith("answer_timeout:=") for word in words)
    return [*HAPTICS, "run", name, *words, *([] if given else [f"answer_timeout:={ANSWER_TIMEOUT}"])]


def finished_run(folder: Path, name: str, *words: str, timeout: float = 900.0) -> Path:
    """Runs an experiment to its end in a working directory of its own: the run's directory."""
    finish(folder, run_command(name, *words), timeout)
    (directory,) = (folder / "runs").iterdir()
    return directory


def recorded_run(folder: Path, name: str, *words: str, timeout: float = 900.0) -> Path:
    """Runs an experiment to its end without a report: its bag."""
    finish(folder, run_command(name, *words, f"output:={folder / 'bag'}"), timeout)
    return folder / "bag"


def finish(folder: Path, command: list[str], timeout: float = 900.0) -> str:
    """Runs a command in a working directory, which is made if needed, until it has ended well: its output."""
    folder.mkdir(exist_ok=True)
    options: dict[str, Any] = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, cwd=folder, timeout=limit(timeout), **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def metrics_of(directory: Path) -> dict[str, Any]:
    """The metrics of a run's report."""
    return json.loads((directory / "metrics.json").read_text())


def assert_same_bits(whole: Path, part: Path, ticks: int) -> None:
    """Every topic has these first ticks in both bags, and every field but measured times is the same bit for bit."""
    types = load_experiment(read_custom_data(whole)["experiment"]).recorded.every_tick
    one, other = (first_ticks(bag, types, ticks) for bag in (whole, part))
    for topic, kind in types.items():
        assert one[topic].keys() == other[topic].keys(), topic
        np.testing.assert_array_equal(sorted({tick for tick, _ in one[topic]}), np.arange(ticks), err_msg=topic)
        found = compare_topic(kind, one[topic], other[topic])
        assert found.compared == len(one[topic]) and found.equal, (topic, found.first, found.fields)


def first_ticks(bag: Path, topics: Collection[str], ticks: int) -> dict[str, dict[tuple[int, str], bytes]]:
    """Serialised messages of a run in lockstep with a period of 1 ms: by topic, then by tick and source."""
    found: dict[str, dict[tuple[int, str], bytes]] = {topic: {} for topic in topics}
    with AnyReader([bag], default_typestore=typestore()) as reader:
        wanted = [connection for connection in reader.connections if connection.topic in topics]
        for connection, _, data in reader.messages(wanted, stop=1_000_000 * ticks):  # a message's time is its tick's
            source = source_of(data) if connection.msgtype == DEVICE_COMMAND else ""
            found[connection.topic][tick_of(data), source] = bytes(data)
    return found


def wait_until(condition: Callable[[], object], timeout: float = 200.0) -> None:
    end = time.monotonic() + limit(timeout)
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.02)


def find_child(pid: int, executable: str) -> int | None:
    """Process id of a node by the name of its executable."""
    for child, command in descendants(pid).items():
        if f"/{executable} " in command and "process_guard" not in command:
            return child
    return None


class Run:
    """A run of friction_impedance in a working directory of its own, unless the arguments begin with another name."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.output = folder / "output.txt"
        named = bool(arguments) and ":=" not in arguments[0]
        command = run_command(*(arguments if named else ("friction_impedance", *arguments)))
        self.process = start(command, folder, worker_domain(), self.output)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def text(self) -> str:
        return self.output.read_text()

    @property
    def directory(self) -> Path:
        """runs/<time>-<name> of this run."""
        (directory,) = (self.folder / "runs").iterdir()
        return directory

    def is_running(self) -> bool:
        """Whether so much is recorded that all nodes must have answered; a new bag has some bytes before tick 0."""
        return self.recorded_bytes() > 100_000

    def recorded_bytes(self) -> int:
        return sum(path.stat().st_size for path in (self.folder / "runs").glob("*/bag*/*.mcap"))

    def finish(self, timeout: float = 120.0) -> int:
        return self.process.wait(limit(timeout))

    def end(self) -> None:
        """Ends the run if it goes on; one that does not end is killed, else the next in its domain would be refused."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.finish()
            finally:
                self.process.kill()
