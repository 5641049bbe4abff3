"""The driver of Force Dimension's devices against an emulator of the DHD library: units, frames, faults."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_emulators import compile_library, make, run, vector_of
from numpy.testing import assert_allclose, assert_array_equal

from haptic_core.commands import EFFORT, WRENCH
from haptic_core.errors import ParameterError
from haptic_devices.control.description import control_urdf, controller_parameters
from haptic_devices.control.hosted import RUN, HostedDevice
from haptic_devices.device import DeviceError
from haptic_devices.drivers import force_dimension
from haptic_devices.loop import FAULT, OK, SAFE_STOP, TickLoop
from haptic_msgs.msg import DeviceCommand

PERIOD, MASS = 1e-3, 0.25  # s, kg, of the emulator


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library("dhd", tmp_path_factory.mktemp("dhd"))


@pytest.fixture
def sdk(library: Path) -> Any:
    found = ctypes.CDLL(str(library))
    found.emulator_place.argtypes = [ctypes.c_double] * 3
    found.emulator_reset()
    return found


def start(library: Path, *entries: str, held_axis: str = "") -> Any:
    device = make(force_dimension.DRIVER, f"library={library.name}", *entries, held_axis=held_axis)
    device.configure(PERIOD)
    device.activate()
    return device


def test_constant_force_accelerates_the_emulated_mass_by_newtons_law(library: Path, sdk: Any) -> None:
    device = start(library)
    reading = run(TickLoop(device, ["a"]), 100, (1.0, 0.5, -2.0))
    # semi-implicit Euler of a constant force: v = n T F/m exactly, x = n (n + 1)/2 T^2 F/m; only rounding remains
    direction = np.array([1.0, 0.5, -2.0]) / MASS
    assert_allclose(reading.velocity, 0.1 * direction, rtol=1e-12)
    assert_allclose(reading.position, 100 * 101 / 2 * PERIOD**2 * direction, rtol=1e-12)
    assert_array_equal(reading.tool_pose[0:3], reading.position)
    assert_array_equal(reading.tool_twist[0:3], reading.velocity)
    assert_array_equal(reading.effort, [1.0, 0.5, -2.0])
    assert reading.buttons == 0x80000001  # not negative: the mask is unsigned


def test_the_base_frame_is_right_forward_up_where_the_sdk_has_user_right_up(library: Path, sdk: Any) -> None:
    device = start(library)
    sdk.emulator_place(0.01, 0.02, 0.03)  # towards the user, right, up
    assert_allclose(device.read().position, [0.02, -0.01, 0.03], atol=1e-15)
    device.write(np.array([1.0, 2.0, 3.0]))
    assert_array_equal(vector_of(sdk.emulator_force), [-2.0, 1.0, 3.0])
    assert np.linalg.det(force_dimension.AXES) == pytest.approx(1.0)
    assert_allclose(force_dimension.AXES @ [0.01, 0.02, 0.03], [0.02, -0.01, 0.03])


def test_a_wrist_gives_orientation_and_angular_velocity_in_the_base_frame(library: Path, sdk: Any) -> None:
    assert_array_equal(start(library).read().tool_pose[3:7], [0.0, 0.0, 0.0, 1.0])  # without a wrist
    sdk.emulator_set(3, 1, 1, 1, 1)
    reading = start(library).read()
    turned = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # in the SDK's frame
    x, y, z, w = reading.tool_pose[3:7]
    first_column = [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]
    assert_allclose(first_column, (force_dimension.AXES @ turned)[:, 0], atol=1e-12)
    assert_array_equal(reading.tool_twist[3:6], [2.0, -1.0, 3.0])


def test_joint_efforts_are_forces_and_add_to_wrenches(library: Path, sdk: Any) -> None:
    loop = TickLoop(start(library), ["a", "b"])
    wrench = DeviceCommand(source="a", tick=0, mode=WRENCH)
    wrench.tool_wrench.force.y = 3.0
    loop.offer(wrench)
    loop.offer(DeviceCommand(source="b", tick=0, mode=EFFORT, joint_effort=[0.0, 1.0, 2.0]))
    loop.advance()
    assert_array_equal(vector_of(sdk.emulator_force), [-4.0, 0.0, 2.0])


def test_forces_are_limited_along_each_axis(library: Path, sdk: Any) -> None:
    device = start(library, "force_limit=3.0")
    device.write(np.array([10.0, -10.0, 1.0]))
    assert_array_equal(device.read().effort, [3.0, -3.0, 1.0])
    assert_array_equal(vector_of(sdk.emulator_force), [3.0, 3.0, 1.0])


@pytest.mark.parametrize("call", ["dhdGetPosition", "dhdGetLinearVelocity", "dhdSetForce"])
def test_a_failure_of_the_sdk_is_a_fault_with_the_motors_off_until_a_reset(library: Path, sdk: Any, call: str) -> None:
    device = start(library)
    loop = TickLoop(device, ["a"])
    run(loop, 10, (1.0, 0.0, 0.0))
    sdk.emulator_break(call.encode())
    run(loop, 3, (1.0, 0.0, 0.0))
    assert (loop.status, loop.reason) == (FAULT, f"{call}: no communication")
    assert not sdk.emulator_enabled() and not any(vector_of(sdk.emulator_force))
    with pytest.raises(DeviceError):  # the reset fails as long as the device does, and names the call
        device.activate()
        device.read()
    sdk.emulator_break(b"")
    device.activate()
    loop.resume()
    run(loop, 1, (1.0, 0.0, 0.0))
    assert loop.status == OK and sdk.emulator_enabled() and vector_of(sdk.emulator_force)[1] == 1.0


def test_a_position_that_is_not_a_number_is_a_fault(library: Path, sdk: Any) -> None:
    device = start(library)
    loop = TickLoop(device, ["a"])
    run(loop, 2, (1.0, 0.0, 0.0))
    sdk.emulator_place(float("nan"), 0.0, 0.0)
    reading = run(loop, 1, (1.0, 0.0, 0.0))
    assert loop.status == FAULT and "expected finite position and velocity" in loop.reason
    assert np.isfinite(reading.values).all() and not sdk.emulator_enabled()


def test_overspeed_takes_the_force_away_but_the_sensors_go_on(library: Path, sdk: Any) -> None:
    device = start(library, "velocity_limit=0.1")
    loop = TickLoop(device, ["a"])
    run(loop, 100, (1.0, 0.0, 0.0))  # reaches 0.1 m/s after 25 ms
    assert loop.status == SAFE_STOP and not sdk.emulator_enabled() and not any(vector_of(sdk.emulator_force))
    device.write(np.ones(3))  # by any command
    assert not any(vector_of(sdk.emulator_force))
    sdk.emulator_place(-0.02, 0.01, 0.03)  # the user moves it
    assert_allclose(run(loop, 1, (1.0, 0.0, 0.0)).position, [0.01, 0.02, 0.03], atol=1e-12)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ((2, 1, 1, 1, 0), "expected version 3 of the SDK, got 2.17.1"),
        ((3, 0, 1, 1, 0), "dhdOpen: no communication"),
        ((3, 1, 0, 1, 0), "omega.3: no power"),
        ((3, 1, 1, 0, 0), "omega.3: not calibrated"),
    ],
)
def test_a_device_that_cannot_be_used_is_refused_at_configure(
    library: Path, sdk: Any, state: tuple[int, ...], message: str
) -> None:
    sdk.emulator_set(*state)
    with pytest.raises(DeviceError, match=message):
        make(force_dimension.DRIVER, f"library={library.name}").configure(PERIOD)
    assert not sdk.emulator_opened()


def test_parameters_of_the_sdk_act(library: Path, sdk: Any) -> None:
    start(library, "serial=1234", "gravity_compensation=false")
    assert (sdk.emulator_serial(), sdk.emulator_gravity()) == (1234, 0)
    start(library)
    assert sdk.emulator_gravity() == 1
    sdk.emulator_set(3, 1, 1, 0, 0)
    assert start(library, "require_calibration=false").read() is not None


def test_a_missing_library_is_named() -> None:
    with pytest.raises(DeviceError, match=r"library no_such_sdk\.so"):
        make(force_dimension.DRIVER, "library=no_such_sdk.so").configure(PERIOD)


@pytest.mark.parametrize("name", ["/tmp/evil.so", "../evil.so", "./evil.so"])
def test_a_parameter_cannot_name_a_file_that_is_loaded(name: str) -> None:
    with pytest.raises(ParameterError, match="parameter device_parameters: entry 'library="):
        make(force_dimension.DRIVER, f"library={name}")


def test_a_library_without_the_functions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"library libc\.so\.6: has no function dhdOpen"):
        make(force_dimension.DRIVER, "library=libc.so.6").configure(PERIOD)


def test_deactivate_ends_with_the_motors_off_and_the_device_closed_and_activate_opens_it_again(
    library: Path, sdk: Any
) -> None:
    device = start(library)
    device.write(np.ones(3))
    device.deactivate()
    assert not sdk.emulator_enabled() and not any(vector_of(sdk.emulator_force)) and not sdk.emulator_opened()
    device.activate()
    assert sdk.emulator_opened() and sdk.emulator_enabled()


def test_safe_stop_raises_nothing_whatever_the_sdk_returns(library: Path, sdk: Any) -> None:
    device = start(library)
    sdk.emulator_break(b"dhdSetForce")
    device.safe_stop()
    assert not sdk.emulator_enabled()
    make(force_dimension.DRIVER).safe_stop()  # nor before the library is loaded


def test_the_factory_refuses_lockstep_and_bad_numbers() -> None:
    with pytest.raises(ParameterError, match="expected realtime for the real device force_dimension"):
        make(force_dimension.DRIVER, mode="lockstep")
    with pytest.raises(ParameterError, match=r"parameter device_parameters: entry 'reach=-1\.0'"):
        make(force_dimension.DRIVER, "reach=-1.0")


def test_ros2_control_hosts_the_driver_and_its_description_opens_no_device(library: Path, sdk: Any) -> None:
    texts = {"device": "force_dimension", "device_parameters": f"['library={library.name}']", "held_axis": "z"}
    closed = make(force_dimension.DRIVER, f"library={library.name}")
    urdf = control_urdf(closed, "force_dimension", "ros2_control", texts)
    assert not sdk.emulator_opened() and '<joint name="translation_z" type="prismatic">' in urdf
    assert controller_parameters(closed, "force_dimension")["simulated"] is False
    hosted = HostedDevice("force_dimension", texts)
    hosted.commands[hosted.command_names.index("force_dimension_loop/run")] = RUN
    hosted.commands[hosted.command_names.index("force_dimension_tool/force.x")] = 1.0
    for _ in range(10):
        hosted.write()
        hosted.read()
    assert hosted.status == OK and vector_of(sdk.emulator_force) == [0.0, 1.0, 0.0]
    velocity = hosted.states[0][hosted.state_names.index("translation_x/velocity")]
    assert velocity == pytest.approx(10 * PERIOD / MASS, rel=1e-12)
    sdk.emulator_break(b"dhdGetPosition")
    hosted.read()
    assert (hosted.status, hosted.reason) == (FAULT, "dhdGetPosition: no communication")
    assert not sdk.emulator_enabled()
    sdk.emulator_break(b"")
    hosted.deactivate()


def test_the_search_counts_devices_and_opens_none(library: Path, sdk: Any) -> None:
    parameters = make(force_dimension.DRIVER, f"library={library.name}").parameters
    found = force_dimension.search(parameters)
    assert (found.connected, found.detail, sdk.emulator_opened()) == (True, "1 connected", 0)
    sdk.emulator_set(3, 0, 1, 1, 0)
    assert not force_dimension.search(parameters).connected
    absent = force_dimension.search(make(force_dimension.DRIVER, "library=no_such_sdk.so").parameters)
    assert (absent.connected, absent.detail) == (False, "library no_such_sdk.so not found")


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        ([1.0, np.nan, 0.0], r"effort: expected finite numbers, got nan at \[1\]"),
        ([np.inf, 0.0, 0.0], "effort: expected finite numbers, got inf"),
        ([1.0], r"effort: expected shape \(3,\), got \(1,\)"),
    ],
)
def test_forces_that_no_limit_holds_stop_the_device(library: Path, sdk: Any, effort: Any, message: str) -> None:
    """NaN passed the limit to the device, and one number acted along all axes."""
    device = start(library)
    device.write(np.array([1.0, 2.0, 3.0]))
    with pytest.raises(DeviceError, match=message):
        device.write(np.array(effort))
    assert_array_equal(vector_of(sdk.emulator_force), np.zeros(3))
    assert not device.read().effort.any()
