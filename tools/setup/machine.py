"""Checks of the machine: setup makes them before it downloads anything, doctor shows them.

The `haptics` script starts this file with the system's Python: the standard library is all it may import.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import timeit
from collections.abc import Iterator
from pathlib import Path

#: Pythons of the ROS 2 wheels; free space for setup and for runs [bytes]
PYTHON_RANGE, DISK_FOR_SETUP, DISK_FOR_RUNS = ((3, 10), (3, 14)), 2.5e9, 0.5e9
#: of each part of the environment: time on the machine of README.md [s], download and disk [MB]
COSTS = {"packages": (8, 270, 900), "messages": (10, 0, 0), "rest": (10, 260, 900), "links": (1, 0, 0)}
#: characters of a path that ROS 2's CMake files or colcon's scripts do not take, besides letters beyond ASCII
_UNUSABLE = " \t\n\"'\\$;#&()<>|*?[]:"


def slowness() -> float:
    """Measures how many times slower this machine is now than the one of README.md."""
    return timeit.timeit("for _ in range(200_000): pass", number=1) / 0.0033


def checks(ros: str, home: Path, disk_needed: float) -> Iterator[tuple[str, str, str, str]]:
    """Gives name, what was found, what is wrong (or nothing), what to do. ``ros``: "wheels", "kilted", "system"."""
    lowest, highest = (f"{major}.{minor}" for major, minor in PYTHON_RANGE)
    problem = "" if sys.version_info[:2] >= PYTHON_RANGE[0] else f"it is older than {lowest}"
    if ros != "system" and sys.version_info[:2] > PYTHON_RANGE[1]:
        problem = f"the ROS 2 wheels exist for Python {lowest} to {highest}"
    elif ros == "system" and subprocess.run([sys.executable, "-c", "import rclpy"], capture_output=True).returncode:
        problem = "it cannot import the rclpy of the sourced ROS 2"
    found = f"{platform.python_version()}, {sys.executable}"
    yield "Python", found, problem, f"install Python {lowest} to {highest}, or set HAPTICS_PYTHON to one"
    headers = Path(sysconfig.get_paths()["include"], "Python.h").exists()
    yield "Python headers", "", "" if headers else "it has no headers", "apt install python3-dev"
    venv = importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")
    yield "venv module", "", "" if venv else "it has no venv module", "apt install python3-venv"
    libc, version = platform.libc_ver()
    problem = "" if platform.machine() == "x86_64" else f"the ROS 2 wheels exist for x86_64, not {platform.machine()}"
    if libc != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 28):
        problem = f"the ROS 2 wheels need glibc 2.28 or newer, this is {libc or 'another C library'} {version}"
    found = f"{platform.platform()}, {os.cpu_count()} cores"
    advice = "source a ROS 2 Jazzy installation, or use the container in docker/"
    yield "system", found, problem if ros != "system" else "", advice
    named = os.environ.get("CXX", "").split()[:1]
    found = next(filter(None, map(shutil.which, [*named, "c++", "g++", "clang++"])), "")
    problem = "" if found else "no C++ compiler"
    test = [found, "-x", "c++", "-fsyntax-only", "-"]
    if found and subprocess.run(test, input=b"#include <vector>\n", capture_output=True).returncode:
        problem = f"{found} does not compile a trivial program"
    yield "C++ compiler", found, problem, "apt install g++"
    place = next(folder for folder in [home, *home.parents] if folder.exists())
    free = shutil.disk_usage(place).free
    problem = f"{free / 1e9:.1f} GB of disk space are free in {place}, {disk_needed / 1e9:.1f} GB are needed"
    advice = "free some, or set HAPTICS_HOME to a larger disk"
    yield "disk space", f"{free / 1e9:.0f} GB free", problem if free < disk_needed else "", advice
    problem = "" if os.access(place, os.W_OK | os.X_OK) else f"{place} cannot be written, where the environment belongs"
    unusable = sorted(letter for letter in set(str(home)) if letter in _UNUSABLE or not letter.isascii())
    if unusable:
        problem = f"ROS 2's build cannot use the path {str(home)!r}, because of {', '.join(map(repr, unusable))}"
    advice = "set HAPTICS_HOME to a folder for the environment, for example HAPTICS_HOME=/var/tmp/haptics"
    yield "environment", str(home), problem, advice


def rows(ros: str, home: Path, current: bool) -> Iterator[tuple[str, str, str, str]]:
    """Gives name, state, detail and advice. What only setup needs is optional where the environment is current."""
    for name, found, problem, advice in checks(ros, home, DISK_FOR_RUNS if current else DISK_FOR_SETUP):
        if not problem:
            yield name, "ok", found, ""
        elif current and name in ("Python headers", "venv module", "C++ compiler"):
            yield name, "optional", f"{problem}; needed when setup makes something again", advice
        else:
            yield name, "broken" if found else "missing", problem, advice


def show(table: list[tuple[str, str, str, str]]) -> int:
    """Prints rows of name, state, detail and advice, wrapped to the terminal. Returns 1 if an experiment cannot run."""
    terminal = sys.stdout.isatty()
    width = (max(80, shutil.get_terminal_size().columns) - 30) // 2 if terminal else 60
    colours = {"ok": 32, "optional": 33, "missing": 31, "broken": 31}
    for name, state, *texts in [("check", "state", "detail", "what to do"), *table]:
        cells = (textwrap.wrap(text, width - 2, break_on_hyphens=False) or [""] for text in texts)
        for index, (detail, advice) in enumerate(itertools.zip_longest(*cells, fillvalue="")):
            label = f"{'' if index else state:10}"
            label = f"\x1b[{colours[state]}m{label}\x1b[0m" if terminal and state in colours else label
            print(f"{'' if index else name:20}{label}{detail:{width}}{advice}".rstrip())
    bad = [name for name, state, *_ in table if state in ("missing", "broken")]
    print(f"\nAn experiment cannot run: {', '.join(bad)}." if bad else "\nAn experiment can run.")
    return bool(bad)


def main(task: str, ros: str, home: str, *more: str) -> int | str:
    """Checks this "python", the machine for "setup" of parts (and prints slowness [%] and cost), or all for "doctor".

    Returns the first problem, or 0; as doctor, which cannot enter the environment, 1.
    """
    if task == "doctor":
        found = [row for row in rows(ros, Path(home), current=False) if row[0] != "environment"]
        return show([*found, ("environment", *more)])
    found = checks(ros, Path(home), DISK_FOR_SETUP if {"packages", "rest"} & {*more} else 0.0)
    for _, _, problem, advice in itertools.islice(found, 3 if task == "python" else None):
        if problem:
            return f"{problem}\n{advice}"
    if task == "setup":
        slow = min(slowness() for _ in range(5))
        seconds, download, disk = map(sum, zip(*(COSTS[part] for part in more), strict=True))
        print(f"{100 * slow:.0f} {download} MB of downloads, {disk} MB of disk, at least {slow * seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
