"""Compiles the headers without ROS for their tests; the plugins are tested where they were compiled.

The root's conftest.py says whether the plugins were compiled.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

_PREFIXES = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
_COMPILED = any((Path(prefix) / "lib" / "libhaptic_hardware.so").exists() for prefix in _PREFIXES)
collect_ignore = [] if _COMPILED else ["test_plugins.py"]

TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Library of the C functions in this directory; it needs a compiler, not ros2_control."""
    file = tmp_path_factory.mktemp("core") / "headers.so"
    compiler = os.environ.get("CXX", "c++")
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra", "-Werror"]
    sources = [str(path) for path in sorted(TESTS.glob("*_shim.cpp"))]
    subprocess.run([compiler, *options, f"-I{TESTS.parent}/include", *sources, "-o", str(file)], check=True)
    return file


@pytest.fixture(scope="session")
def library(library_file: Path) -> ctypes.CDLL:
    """The loaded library, with the types of what its functions return."""
    loaded = ctypes.CDLL(str(library_file))
    for name in ("make", "grid_make", "recorder_make"):
        getattr(loaded, name).restype = ctypes.c_void_p
    for name in ("percentile", "cost_of_recording"):
        getattr(loaded, name).restype = ctypes.c_double
    for name in ("grid_update", "recorder_slow_reads", "rows_under_way"):
        getattr(loaded, name).restype = ctypes.c_int64
    return loaded
