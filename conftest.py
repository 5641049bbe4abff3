"""Shared by all tests: their tiers, a ROS domain for each worker, the order of the files, and a ROS context."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, settings
from machine_speed import SLOWNESS, limit
from ros_domain import claim_domain

#: tiers that the default leaves out; pyproject.toml says what each is for
_TIERS = ("experiment", "fuzz", "realtime", "study", "slow")
_RUNS = Path(__file__).parent / "test"
#: compiles the contact simulator for minutes; it starts first, and the package's other tests come after the other
#: packages, so that no worker waits for it
_COMPILES, _COMPILED = "test_bad_mjcf", Path(__file__).parent / "src" / "convex_contact"
#: CPU time of the longest runs' files [s], whole; they start first, so that the workers end at about the same time
_SECONDS = {
    "test_tau_experiments": 124.0,
    "test_contact_experiments": 70.0,
    "test_constrained_experiments": 63.0,
    "test_tau_touch_world": 63.0,
    "test_view": 46.0,
    "test_interruption": 32.0,
    "test_scripted_experiments": 29.0,
    "test_repository": 26.0,
    "test_joystick_stick_slip": 21.0,
    "test_guided_tool": 19.0,
    "test_killed_nodes": 19.0,
}

# every test and every process that it starts; the workers' domains differ
os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

# repeatable, and no property test fails because the machine is busy or a first call compiles a kernel
settings.register_profile(
    "haptic_suite",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("haptic_suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--all``."""
    parser.addoption("--all", action="store_true", help=f"also the tiers {', '.join(_TIERS)}")


def pytest_configure(config: pytest.Config) -> None:
    """Scales the time limit against hanging by the machine's speed; a test that hangs costs a run 20 minutes."""
    config.option.timeout = config.option.timeout or min(limit(900.0), 1200.0)
    if "PYTEST_XDIST_WORKER" in os.environ:
        from compilation_lock import compile_in_one_process  # imports Numba, which a single test may not need

        compile_in_one_process()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tiers out unless they are asked for, and sorts."""
    _mark_products(items)
    named = any("::" in word or word.endswith(".py") for word in config.args)
    if not (config.option.all or config.option.markexpr or named):
        left_out = [item for item in items if any(item.get_closest_marker(tier) for tier in _TIERS)]
        config.hook.pytest_deselected(items=left_out)
        unwanted = set(left_out)
        items[:] = [item for item in items if item not in unwanted]
    items.sort(key=lambda item: _place(item.path))


def pytest_collection_finish() -> None:
    """Lets the garbage collector leave out what the collection of 15 000 tests made, and come less often."""
    from haptic_files.garbage_collection import collect_rarely

    gc.collect()
    gc.freeze()
    collect_rarely()


@cache
def _place(path: Path) -> tuple[bool, bool, bool, float]:
    """Key by which the files are sorted: the longest compilation, then packages, whose tests compile what runs need."""
    seconds = _SECONDS.get(path.stem, 0.0)
    return path.stem != _COMPILES, _RUNS in path.parents, _COMPILED in path.parents, -seconds


def _mark_products(items: list[pytest.Item]) -> None:
    """Marks as slow all cases of a test with `covering` but those that hold each value of each parameter once.

    `covering(n)`: but n of those, evenly spread.
    """
    cases: dict[tuple[Path, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for same in cases.values():
        values = [_by_decorator(item) for item in same]
        kinds = [list(dict.fromkeys(column)) for column in zip(*values, strict=True)]
        most = max(len(kind) for kind in kinds)
        (wanted,) = same[0].get_closest_marker("covering").args or (most,)
        chosen = {tuple(kind[i * most // wanted % len(kind)] for kind in kinds) for i in range(wanted)}
        for item, value in zip(same, values, strict=True):
            if value not in chosen:
                item.add_marker("slow")


def _by_decorator(item: pytest.Function) -> tuple[tuple[int, ...], ...]:
    """Returns a row of values for each decorator `parametrize` of a test, then for each fixture with parameters.

    A value is given by its id, so that cases with the same value have the same entry.
    """
    left, rows = dict(item.callspec.params), []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        rows.append(tuple(id(left.pop(name)) for name in names))
    return (*rows, *((id(value),) for value in left.values()))


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """rclpy's context for nodes inside the test process.

    A node of its own keeps the DDS participant from test to test. Fast DDS 2.14 hangs if it destroys a participant
    while another thread tells it of what it discovers: `set_listener` waits for that thread with a deadline that
    overflows, and never releases the mutex that the thread needs.
    """
    import rclpy
    from rclpy.node import Node

    own = rclpy.Context()
    rclpy.init(context=own)
    keeper = Node("_tests", context=own, start_parameter_services=False, enable_rosout=False)
    yield own
    keeper.destroy_node()
    rclpy.shutdown(context=own)


def pytest_report_header() -> list[str]:
    """Lines at the start of the output: what cannot be tested on this machine, and how long the time limits are."""
    return [_ros2_control(), _browser(), f"time limits: {SLOWNESS:.1f} times those of the machine of README.md"]


def _browser() -> str:
    programs = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((path for path in map(shutil.which, programs) if path), None)
    if found:
        return f"live view: through its websocket, and in {found}"
    return "live view: through its websocket; not in a browser, since no Chromium is installed"


def _ros2_control() -> str:
    """Says whether ros2_control was found and the plugins of haptic_hardware were compiled."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    manifests = [prefix / "share" / "hardware_interface" / "package.xml" for prefix in prefixes]
    found = next((manifest for manifest in manifests if manifest.exists()), None)
    if found is None:
        return "ros2_control: not found, haptic_hardware's plugins were not compiled"
    version = ElementTree.parse(found).findtext("version")
    compiled = any((prefix / "lib" / "libhaptic_hardware.so").exists() for prefix in prefixes)
    return f"ros2_control: {version}, haptic_hardware's plugins were {'' if compiled else 'not '}compiled"
