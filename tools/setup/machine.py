"""Checks of the machine that setup makes before it downloads anything; ``doctor`` shows them as a table.

The system's Python runs this file: the standard library is all it may import.
"""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

#: Python versions of the ROS 2 wheels
PYTHON_RANGE = ((3, 10), (3, 14))
#: downloads of setup and size of the environment, measured with Python 3.11; free space that setup needs [bytes]
DOWNLOAD, ENVIRONMENT, DISK_NEEDED = 550e6, 1.7e9, 2.5e9
#: characters of a path that ROS 2's CMake files or colcon's scripts do not take, besides letters beyond ASCII
_UNUSABLE = " \t\n\"'\\$;#&()<>|*?[]:"


class SetupError(Exception):
    """An expected failure: one line for the user, a hint what to do, and the log with the details."""

    def __init__(self, message: str, hint: str = "", log: Path | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.log = log


def dotted(version: tuple[Any, ...]) -> str:
    """Major and minor number of a Python version."""
    return f"{version[0]}.{version[1]}"


def python_problem(ros: str) -> str:
    """What is wrong with the running Python for the environment; empty if nothing is."""
    lowest, highest = map(dotted, PYTHON_RANGE)
    if sys.version_info[:2] < PYTHON_RANGE[0]:
        return f"it is older than {lowest}"
    if ros == "wheels" and sys.version_info[:2] > PYTHON_RANGE[1]:
        return f"the ROS 2 wheels exist for Python {lowest} to {highest}"
    if not has_venv():
        return "it has no venv module (apt install python3-venv)"
    if not has_headers():
        return "it has no headers (apt install python3-dev)"
    if ros == "system" and subprocess.run([sys.executable, "-c", "import rclpy"], capture_output=True).returncode:
        return "it cannot import the rclpy of the sourced ROS 2; set HAPTICS_PYTHON to the Python of that ROS"
    return ""


def has_venv() -> bool:
    """Whether this Python can make virtual environments."""
    try:
        importlib.import_module("venv")
        importlib.import_module("ensurepip")
    except ImportError:
        return False
    return True


def has_headers() -> bool:
    """Whether extensions can be compiled for this Python."""
    return Path(sysconfig.get_paths()["include"], "Python.h").exists()


def compiler() -> str | None:
    """The C++ compiler that CMake will find."""
    named = os.environ.get("CXX", "").split()
    return next(filter(None, map(shutil.which, [*named[:1], "c++", "g++", "clang++"])), None)


def machine_problem(ros: str) -> str:
    """Why the ROS 2 wheels do not run on this machine; empty if they do."""
    machine, (libc, version) = platform.machine(), platform.libc_ver()
    if ros == "system":
        return ""
    if machine != "x86_64":
        return f"the ROS 2 wheels exist for x86_64, this is {machine}"
    if libc != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 28):
        return f"the ROS 2 wheels need glibc 2.28 or newer, this is {libc or 'another C library'} {version}"
    return ""


def path_problem(home: Path) -> str:
    """Why an environment cannot lie at a path; empty if it can."""
    unusable = sorted(letter for letter in set(str(home)) if letter in _UNUSABLE or not letter.isascii())
    if unusable:
        return f"ROS 2's build cannot use the path {str(home)!r}, because of {', '.join(map(repr, unusable))}"
    return ""


def existing_parent(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    return next(place for place in [path, *path.parents] if place.exists())


def check_machine(home: Path, ros: str) -> None:
    """Refuses early what would fail late.

    Raises:
        SetupError: The first problem, with the way out.
    """
    problem = machine_problem(ros)
    if problem:
        raise SetupError(problem, "source a ROS 2 Jazzy installation, or use the container in docker/")
    if not compiler():
        raise SetupError("no C++ compiler", "apt install g++")
    elsewhere = "set HAPTICS_HOME to a folder for the environment, for example HAPTICS_HOME=/var/tmp/haptics"
    problem = path_problem(home)
    if problem:
        raise SetupError(problem, elsewhere)
    place = existing_parent(home)
    if not os.access(place, os.W_OK | os.X_OK):
        raise SetupError(f"{place} cannot be written, where the environment belongs", elsewhere)
    free = shutil.disk_usage(place).free
    if free < DISK_NEEDED and not (home / "stages" / "packages").exists():
        raise SetupError(
            f"{free / 1e9:.1f} GB of disk space are free in {place}, setup needs {DISK_NEEDED / 1e9:.1f} GB",
            "free some, or set HAPTICS_HOME to a larger disk",
        )
