"""Emulators of vendors' libraries, compiled from C, and what the tests of drivers share."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haptic_core.commands import WRENCH
from haptic_core.messages import set_vector
from haptic_devices.control.hosted import RUN, HostedDevice
from haptic_devices.device import Reading
from haptic_devices.drivers.driver import Driver
from haptic_devices.loop import TickLoop
from haptic_msgs.msg import DeviceCommand

EMULATORS = Path(__file__).parent / "emulators"
PATIENCE = 120.0  # longest wait for a condition [s]; only a defect lets it pass


def compile_library(name: str, folder: Path) -> Path:
    """Compiles emulators/<name>.c to a shared library, which is found by its name once it is loaded by its path."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    library = folder / f"lib{name}.so"
    command = [compiler, "-std=c11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    subprocess.run([*command, "-o", str(library), str(EMULATORS / f"{name}.c")], check=True)
    return library


def vector_of(function: Any) -> list[float]:
    """Three numbers that a function of an emulator writes."""
    numbers = (ctypes.c_double * 3)()
    function(numbers)
    return list(numbers)


def make(driver: Driver, *entries: str, held_axis: str = "", mode: str = "realtime") -> Any:
    """The device of a driver with entries that replace its parameters."""
    node = {"mode": mode, "device_file": "", "device_parameters": list(entries), "held_axis": held_axis}
    return driver(node)


def run(loop: TickLoop, ticks: int, force: tuple[float, float, float]) -> Reading:
    """Lets ticks pass with a constant wrench of source a."""
    for _ in range(ticks):
        command = DeviceCommand(source="a", tick=loop.tick, mode=WRENCH)
        set_vector(command.tool_wrench.force, force)
        loop.offer(command)
        reading = loop.advance()
    return reading


def host(driver: Driver, *entries: str, force: float) -> HostedDevice:
    """The device of a driver as the plugin of ros2_control hosts it; a force along x [N] is commanded."""
    hosted = HostedDevice(driver.name, {"device": driver.name, "device_parameters": json.dumps(entries)})
    commands = dict(zip(hosted.command_names, range(len(hosted.commands)), strict=True))
    hosted.commands[commands[f"{driver.name}_loop/run"]] = RUN
    hosted.commands[commands[f"{driver.name}_tool/force.x"]] = force
    return hosted


def pass_period(hosted: HostedDevice) -> dict[str, float]:
    """Lets one period pass as the plugin does: the states by their names."""
    hosted.write()
    hosted.read()
    values = [float(value) for array in hosted.states for value in array]
    return dict(zip(hosted.state_names, values, strict=True))


def until(condition: Callable[[], Any], between: Callable[[], object] = lambda: None) -> None:
    """Waits for a condition, and calls a function before each look."""
    end = time.monotonic() + PATIENCE
    while True:
        between()
        if condition():
            return
        assert time.monotonic() < end, "the awaited condition did not come"
        time.sleep(1e-3)
