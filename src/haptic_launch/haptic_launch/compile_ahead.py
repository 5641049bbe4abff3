"""Compiles kernels of an experiment's first run in processes beside its nodes.

A package whose kernels take long to compile has a module `compile_ahead`. As a program it compiles a part of them,
while the nodes compile the rest on another core; a node that needs this part waits for it. What is compiled is in
Numba's cache, so that the part is compiled once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from haptic_launch import process_guard


@contextmanager
def compiling_ahead(packages: Iterable[str]) -> Iterator[None]:
    """Runs the modules `compile_ahead` of packages; ends those that still run when the context ends.

    On a single core it does nothing.
    """
    several = len(os.sched_getaffinity(0)) > 1
    started = [_start(package) for package in sorted(packages) if several and _has_module(package)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _has_module(package: str) -> bool:
    """Returns whether a package has the module, without importing the package."""
    found = find_spec(package)
    origin = found.origin if found else None
    return origin is not None and Path(origin).with_name("compile_ahead.py").exists()


def _start(package: str) -> subprocess.Popen[bytes]:
    """Starts the module's program in a session of its own; it ends with this process."""
    command = process_guard.start_command([sys.executable, "-m", f"{package}.compile_ahead"])
    none = subprocess.DEVNULL  # if it fails, the nodes compile all of it
    return subprocess.Popen(command, stdin=none, stdout=none, stderr=none, start_new_session=True)
