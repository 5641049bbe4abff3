"""The driver of the Touch against an emulator of HDAPI: units, frames, the scheduler's callback, faults."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_emulators import compile_library, host, make, pass_period, run, vector_of
from numpy.testing import assert_allclose, assert_array_equal

from haptic_devices.device import DeviceError, Reading
from haptic_devices.drivers import touch
from haptic_devices.loop import FAULT, OK, TickLoop

PERIOD, MASS = 1e-3, 0.25  # s, kg, of the emulator


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library("hd", tmp_path_factory.mktemp("hd"))


@pytest.fixture
def api(library: Path) -> Iterator[Any]:
    found = ctypes.CDLL(str(library))
    found.emulator_place.argtypes = [ctypes.c_double] * 3
    found.emulator_reset()
    yield found
    found.emulator_reset()  # no callback of a test stays


def start(library: Path, *entries: str, held_axis: str = "") -> Any:
    device = make(touch.DRIVER, f"library={library.name}", *entries, held_axis=held_axis)
    device.configure(PERIOD)
    device.activate()
    return device


def turn(api: Any, loop: TickLoop, ticks: int, force: tuple[float, float, float]) -> Reading:
    """Lets ticks of the loop pass, each with one callback of the scheduler before it."""
    for _ in range(ticks):
        api.emulator_tick()
        reading = run(loop, 1, force)
    return reading


def test_millimetres_become_metres_and_the_motion_is_newton_s(library: Path, api: Any) -> None:
    device = start(library)
    loop = TickLoop(device, ["a"])
    turn(api, loop, 1, (1.0, 0.5, -1.0))  # the callback before the first command had no force
    reading = turn(api, loop, 100, (1.0, 0.5, -1.0))
    api.emulator_tick()
    reading = device.read()
    direction = np.array([1.0, 0.5, -1.0]) / MASS
    assert_allclose(reading.velocity, 0.1 * direction, rtol=1e-12)
    assert_allclose(reading.position, 100 * 101 / 2 * PERIOD**2 * direction, rtol=1e-12)
    assert_array_equal(reading.effort, [1.0, 0.5, -1.0])


def test_the_base_frame_is_right_forward_up_where_the_library_has_right_up_user(library: Path, api: Any) -> None:
    device = start(library)
    api.emulator_place(10.0, 20.0, 30.0)  # right, up, towards the user
    device.write(np.array([0.1, 0.2, 0.3]))
    api.emulator_tick()
    assert_allclose(device.read().position, [0.01, -0.03, 0.02], atol=1e-15)
    assert_allclose(vector_of(api.emulator_force), [0.1, 0.3, -0.2])
    assert np.linalg.det(touch.AXES) == pytest.approx(1.0)


def test_orientation_and_buttons(library: Path, api: Any) -> None:
    api.emulator_set(1, 1, 3, b"3.40.0")
    device = start(library)
    api.emulator_tick()
    reading = device.read()
    assert reading.buttons == 3
    turned = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # about the library's x axis, upwards
    x, y, z, w = reading.tool_pose[3:7]
    second_column = [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)]
    assert_allclose(second_column, (touch.AXES @ turned)[:, 1], atol=1e-12)
    assert_array_equal(reading.tool_twist[3:6], [1.0, -3.0, 2.0])


@pytest.mark.parametrize("code", [0x0302, 0x0204])
def test_an_error_of_the_library_is_a_fault_until_a_reset(library: Path, api: Any, code: int) -> None:
    device = start(library)
    loop = TickLoop(device, ["a"])
    turn(api, loop, 3, (1.0, 0.0, 0.0))
    api.emulator_fail(code)
    turn(api, loop, 2, (1.0, 0.0, 0.0))
    assert loop.status == FAULT and loop.reason.startswith("touch: frame: ")
    api.emulator_tick()
    assert not api.emulator_enabled() and not any(vector_of(api.emulator_force))
    device.activate()
    loop.resume()
    turn(api, loop, 3, (1.0, 0.0, 0.0))
    assert loop.status == OK and vector_of(api.emulator_force)[0] == 1.0


def test_warm_motors_are_no_fault(library: Path, api: Any) -> None:
    loop = TickLoop(start(library), ["a"])
    api.emulator_fail(0x0200)
    turn(api, loop, 3, (1.0, 0.0, 0.0))
    assert loop.status == OK


def test_a_scheduler_that_stands_still_is_a_fault(library: Path, api: Any) -> None:
    device = start(library, "stale_periods=4")
    loop = TickLoop(device, ["a"])
    turn(api, loop, 3, (0.0, 0.0, 0.0))
    run(loop, 3, (0.0, 0.0, 0.0))
    assert loop.status == OK
    run(loop, 1, (0.0, 0.0, 0.0))
    assert (loop.status, loop.reason) == (FAULT, "touch: no new values for 4 periods")


def test_a_force_that_is_not_renewed_becomes_zero(library: Path, api: Any) -> None:
    device = start(library, "hold_periods=3")
    device.write(np.array([1.0, 0.0, 0.0]))
    forces = []
    for _ in range(5):
        api.emulator_tick()
        forces.append(vector_of(api.emulator_force)[0])
    assert forces == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_a_position_that_is_not_a_number_is_a_fault(library: Path, api: Any) -> None:
    loop = TickLoop(start(library), ["a"])
    turn(api, loop, 2, (1.0, 0.0, 0.0))
    api.emulator_place(float("nan"), 0.0, 0.0)
    reading = turn(api, loop, 2, (1.0, 0.0, 0.0))
    assert loop.status == FAULT and "expected finite position and velocity" in loop.reason
    assert np.isfinite(reading.values).all() and not api.emulator_enabled()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ((0, 1, 0, b"3.40.0"), "touch: communication error"),
        ((1, 0, 0, b"3.40.0"), "touch: not calibrated"),
        ((1, 1, 0, b"2.0.0"), "expected version 3 of HDAPI, got '2.0.0'"),
    ],
)
def test_a_device_that_cannot_be_used_is_refused_at_configure(
    library: Path, api: Any, state: tuple[int, int, int, bytes], message: str
) -> None:
    api.emulator_set(*state)
    with pytest.raises(DeviceError, match=message):
        make(touch.DRIVER, f"library={library.name}").configure(PERIOD)
    assert not api.emulator_opened()


def test_parameters_of_the_library_act(library: Path, api: Any) -> None:
    with pytest.raises(DeviceError, match="communication error"):
        start(library, "device=Right Device")
    api.emulator_set(1, 0, 0, b"3.40.0")
    assert start(library, "device=Left Device", "require_calibration=false").read() is not None
    with pytest.raises(DeviceError, match=r"library no_such\.so"):
        make(touch.DRIVER, "library=no_such.so").configure(PERIOD)


def test_a_safe_stop_ends_the_forces_and_deactivate_gives_the_device_back(library: Path, api: Any) -> None:
    device = start(library)
    device.write(np.ones(3))
    device.safe_stop()
    api.emulator_tick()
    assert not api.emulator_enabled() and not any(vector_of(api.emulator_force))
    device.deactivate()
    assert not api.emulator_opened()
    device.activate()
    assert api.emulator_opened() and api.emulator_enabled()
    device.deactivate()


def test_the_search_names_the_model_and_leaves_the_device_closed(library: Path, api: Any) -> None:
    parameters = make(touch.DRIVER, f"library={library.name}").parameters
    found = touch.search(parameters)
    assert (found.connected, found.detail, api.emulator_opened()) == (True, "Touch", 0)
    api.emulator_set(0, 1, 0, b"3.40.0")
    found = touch.search(parameters)
    assert (found.connected, found.detail) == (False, "library found, no device (communication error)")


def test_ros2_control_hosts_the_driver(library: Path, api: Any) -> None:
    hosted = host(touch.DRIVER, f"library={library.name}", force=0.5)
    for _ in range(10):
        states = pass_period(hosted)
        api.emulator_tick()
    assert hosted.status == OK and vector_of(api.emulator_force) == [0.5, 0.0, 0.0]
    assert states["translation_x/velocity"] > 0.0
    hosted.deactivate()
