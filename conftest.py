"""What all tests share: a ROS context, and their order and grouping for the workers of `./haptics test`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

_RUNS = Path(__file__).parent / "test"
#: of files with runs of whole experiments that take long, on a slow machine; two workers end at about the same time
_MINUTES = {
    "test_tau_experiments": 12.0,
    "test_tau_touch_world": 6.0,
    "test_contact_experiments": 5.0,
    "test_constrained_experiments": 4.0,
    "test_killed_nodes": 3.0,
    "test_joystick_stick_slip": 2.0,
    "test_guided_tool": 2.0,
    "test_errors": 2.0,
    "test_view": 1.0,
    "test_scripted_experiments": 1.0,
}


@pytest.fixture(scope="module")
def context(request: pytest.FixtureRequest) -> Iterator[Any]:
    """rclpy's context for nodes inside the test process, on the ROS domain DOMAIN of the test's module."""
    import rclpy

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        own = rclpy.Context()
        rclpy.init(context=own, domain_id=request.module.DOMAIN)
        yield own
        rclpy.shutdown(context=own)


def pytest_report_header() -> list[str]:
    """What is not tested here, and why."""
    return [_ros2_control(), _browser()]


def _browser() -> str:
    programs = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((path for path in map(shutil.which, programs) if path), None)
    if found:
        return f"live view: through its websocket, and in {found}"
    return "live view: through its websocket; not in a browser, since no Chromium is installed"


def _ros2_control() -> str:
    """Whether the plugins were compiled, and so whether anything but their core can be tested."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    manifests = [prefix / "share" / "hardware_interface" / "package.xml" for prefix in prefixes]
    found = next((manifest for manifest in manifests if manifest.exists()), None)
    if found is None:
        return "ros2_control: not found, haptic_hardware's plugins were not compiled"
    version = ElementTree.parse(found).findtext("version")
    compiled = any((prefix / "lib" / "libhaptic_hardware.so").exists() for prefix in prefixes)
    return f"ros2_control: {version}, haptic_hardware's plugins were {'' if compiled else 'not '}compiled"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The packages first, whose tests compile what runs of whole experiments need; then of these the longest first."""
    items.sort(key=lambda item: (_RUNS in item.path.parents, -_MINUTES.get(item.path.stem, 0.0)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a package share a worker, and its ROS domains; of the runs of whole experiments those of a file."""
    from xdist.scheduler import LoadScopeScheduling

    class ByPackage(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return path if path.startswith(f"{_RUNS.name}/") else path.rpartition("/")[0]

    config.option.loadscopereorder = False  # the order above
    return ByPackage(config, log)
