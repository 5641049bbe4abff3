"""Ctrl-C at any time of a run ends it without a traceback or a process; what it recorded has a report or one line.

`HAPTICS_INTERRUPTIONS` is the number of runs that are interrupted (8), half of them in lockstep and half in realtime.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from machine_speed import limit
from rich.console import Console
from ros_domain import worker_domain
from started_runs import wait_until

from haptic_core.errors import HapticError
from haptic_experiments.report import write_report

SCRIPT = Path(__file__).parents[1] / "haptics"
COUNT = int(os.environ.get("HAPTICS_INTERRUPTIONS", "8"))
#: arguments of the run: also a slow machine that does other work keeps the clock
WORDS = {
    "lockstep": ("duration:=1.0", "command_delay_ticks:=0"),
    "realtime": ("mode:=realtime", "duration:=1.0", "period:=0.02", "watchdog_periods:=500"),
}


class Ended(NamedTuple):
    """A run that has ended: its exit code, its output and its duration [s]."""

    code: int
    text: str
    duration: float


def marked_processes(mark: str) -> dict[int, str]:
    """Command lines of all processes that have this text in their environment, by process id."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # a process that has just ended
            if mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def run(folder: Path, mode: str, interrupt_after: float | None) -> Ended:
    """Runs the experiment as a terminal does, in a process group of its own, to which Ctrl-C goes."""
    folder.mkdir()
    mark = f"HAPTICS_TEST_RUN={uuid.uuid4()}"
    name, value = mark.split("=")
    environment = {**os.environ, "ROS_DOMAIN_ID": str(worker_domain()), name: value}
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    output, began = folder / "output.txt", time.monotonic()
    with output.open("w") as file:
        process = subprocess.Popen(
            [str(SCRIPT), "run", "friction_impedance", *WORDS[mode]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            with contextlib.suppress(ProcessLookupError):  # the run is over
                os.killpg(process.pid, signal.SIGINT)
        code = process.wait(limit(120.0))
        ended = Ended(code, output.read_text(), time.monotonic() - began)
        wait_until(lambda: not marked_processes(mark), 30.0)
        return ended
    finally:
        for pid in marked_processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def report_of(directory: Path) -> str:
    """The error of the report of a run; empty if there is a report."""
    try:
        write_report(directory, Console(file=StringIO()))
    except HapticError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "mode", [pytest.param("lockstep", marks=pytest.mark.fuzz), pytest.param("realtime", marks=pytest.mark.realtime)]
)
def test_a_run_that_is_interrupted_at_a_random_time_ends_cleanly(mode: str, tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", mode, None)
    assert whole.code == 0, whole.text
    chosen = random.Random(f"{mode} 1")
    for number in range(max(1, COUNT // 2)):
        after = chosen.uniform(0.0, (0.25, 0.2 * whole.duration, whole.duration)[number % 3])  # many at its start
        folder = tmp_path / str(number)
        ended = run(folder, mode, after)
        place = f"{mode}, run {number}, {after:.3f} of {whole.duration:.3f} s: code {ended.code}\n{ended.text}"
        assert ended.code in (0, 130, -signal.SIGINT), place
        assert "Traceback" not in ended.text and "KeyboardInterrupt" not in ended.text, place
        directories = list((folder / "runs").glob("*"))
        assert len(directories) <= 1, place
        for directory in directories:
            assert "\n" not in report_of(directory), place
        print(f"{mode} {number}: {after:.2f} s, code {ended.code}, {[report_of(d) for d in directories]}")
