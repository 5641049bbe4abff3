"""The driver of the Inverse3 against an emulator of Haply's service: units, frames, faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from device_emulators import host, make, pass_period, run, until
from inverse_service import MASS, PERIOD, InverseService
from numpy.testing import assert_allclose, assert_array_equal

from haptic_core.errors import ParameterError
from haptic_devices.device import DeviceError
from haptic_devices.drivers import inverse3
from haptic_devices.loop import FAULT, OK, TickLoop

#: no fault is found by waiting for so long, unless the test is about it
PATIENT = ("answer_timeout=10.0", "stale_periods=1000", "hold_periods=200", "plane_damping=0.0")


@pytest.fixture
def service() -> Iterator[InverseService]:
    with InverseService().running() as found:
        yield found


@pytest.fixture
def devices(service: InverseService) -> Iterator[Any]:
    """Makes configured and activated devices, and leaves none connected."""
    made: list[Any] = []

    def start(*entries: str, held_axis: str = "") -> Any:
        chosen = {entry.partition("=")[0]: entry for entry in (*PATIENT, f"address={service.address}", *entries)}
        device = make(inverse3.DRIVER, *chosen.values(), held_axis=held_axis)
        made.append(device)
        device.configure(PERIOD)
        device.activate()
        return device

    yield start
    for device in made:
        device.deactivate()


def exchange(device: Any, service: InverseService, force: tuple[float, float, float]) -> None:
    """Writes twice, each time until an answer has come: the second message surely has the force."""
    for _ in range(2):
        number = device._connection.number
        device.write(np.array(force))
        until(lambda number=number: device._connection.number > number)


def test_metres_and_newtons_arrive_unchanged_along_right_forward_up(devices: Any, service: InverseService) -> None:
    device = devices("center=[0.0, -0.14, 0.18]")
    start = service.position.copy()
    for _ in range(20):
        exchange(device, service, (1.0, -0.5, 0.25))
    reading = device.read()
    force = np.array([1.0, -0.5, 0.25])
    assert_array_equal(service.forces[-1], force)
    assert_array_equal(reading.effort, force)
    moved = sum(map(any, service.forces))  # the first messages may have zero force
    assert_allclose(reading.velocity, moved * PERIOD / MASS * force, rtol=1e-12)
    assert_allclose(reading.position, service.position - start, atol=1e-15)
    assert_array_equal(reading.tool_pose[0:3], reading.position)
    assert_array_equal(reading.tool_twist[0:3], reading.velocity)
    assert set(service.ids) == {"049D"}
    assert device.description()["product"] == "Haply Inverse3 049D, service 3.5.0"


def test_a_proxy_of_the_environment_is_not_asked(
    devices: Any, service: InverseService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ws_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # the port of discard, where no proxy listens
    monkeypatch.setenv("no_proxy", "")
    assert devices().read() is not None


def test_read_and_write_do_not_wait_for_a_service_that_is_silent(devices: Any, service: InverseService) -> None:
    device = devices()
    service.fault = "silent"
    for _ in range(100):
        device.write(np.ones(3))
        device.read()  # returns, though no answer comes


@pytest.mark.parametrize(
    ("kind", "state", "buttons"),
    [
        ("wireless_verse_grip", {"buttons": {"a": True, "b": False, "c": True}}, 5),
        ("verse_grip", {"button": True, "hall": 0}, 1),
    ],
)
def test_a_grip_gives_orientation_and_buttons(
    devices: Any, service: InverseService, kind: str, state: dict[str, Any], buttons: int
) -> None:
    turned = {"x": 0.6, "y": 0.0, "z": 0.0, "w": 0.8}
    service.grip = (kind, {**state, "orientation": turned})
    reading = devices().read()
    assert_allclose(reading.tool_pose[3:7], [0.6, 0.0, 0.0, 0.8], rtol=1e-12)
    assert reading.buttons == buttons


def test_a_grip_that_sleeps_leaves_the_last_orientation(devices: Any, service: InverseService) -> None:
    service.grip = ("verse_grip", {"button": False, "orientation": dict.fromkeys("xyzw", 0.0)})
    assert_array_equal(devices().read().tool_pose[3:7], [0.0, 0.0, 0.0, 1.0])


# ---- faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("nan", "inverse3: expected finite position and velocity, got [nan"),
        ("unplugged", "inverse3: device 049D is disconnected"),
        ("garbage", "inverse3: expected a JSON object, got '[1, 2'"),
    ],
)
def test_a_fault_ends_the_forces_until_a_reset(devices: Any, service: InverseService, fault: str, reason: str) -> None:
    device = devices()
    loop = TickLoop(device, ["a"])
    until(lambda: any(service.forces), lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    service.fault = fault
    until(lambda: loop.status == FAULT, lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert loop.reason.startswith(reason)
    last = device.read().position.copy()
    assert np.isfinite(last).all()
    service.fault = ""
    run(loop, 3, (1.0, 0.0, 0.0))
    assert loop.status == FAULT
    device.activate()  # the service's reset connects anew
    loop.resume()
    service.forces.clear()
    until(lambda: (1.0, 0.0, 0.0) in service.forces, lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert loop.status == OK


def test_a_service_that_ends_is_a_fault(devices: Any, service: InverseService) -> None:
    device = devices()
    loop = TickLoop(device, ["a"])
    service.connections[-1].close()
    until(lambda: loop.status == FAULT, lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert loop.reason.startswith("inverse3: ")
    device.safe_stop()  # raises nothing


def test_a_state_that_does_not_change_for_some_periods_is_a_fault(devices: Any, service: InverseService) -> None:
    device = devices("stale_periods=5")
    service.fault = "silent"
    with pytest.raises(DeviceError, match="inverse3: no new values for 5 periods"):
        for _ in range(1000):  # some answers may still be on their way
            device.write(np.zeros(3))
            device.read()


def test_a_service_that_hangs_is_named_after_the_timeout(devices: Any, service: InverseService) -> None:
    device = devices("answer_timeout=0.2", "hold_periods=5")
    service.fault = "silent"
    until(lambda: device._connection.failure)
    with pytest.raises(DeviceError, match=r"no answer within 0\.2 s"):
        device.read()


def test_a_force_that_is_not_renewed_becomes_zero(devices: Any, service: InverseService) -> None:
    device = devices("hold_periods=5")
    until(lambda: (1.0, 1.0, 1.0) in service.forces, lambda: device.write(np.ones(3)))
    until(lambda: service.forces[-1] == (0.0, 0.0, 0.0))


def test_states_stay_new_without_commands(devices: Any, service: InverseService) -> None:
    device = devices("stale_periods=4", "hold_periods=1000")
    number = device._connection.number
    until(lambda: device._connection.number > number + 3)  # by itself, every second period


def test_a_safe_stop_sends_zero_force_and_write_does_nothing_after_it(devices: Any, service: InverseService) -> None:
    device = devices()
    until(lambda: (1.0, 1.0, 1.0) in service.forces, lambda: device.write(np.ones(3)))
    device.safe_stop()
    until(lambda: service.forces[-1] == (0.0, 0.0, 0.0))
    number = device._connection.number
    until(lambda: device._connection.number > number, lambda: device.write(np.ones(3)))  # the sensors go on
    assert service.forces[-1] == (0.0, 0.0, 0.0)
    assert_array_equal(device.read().effort, np.zeros(3))
    device.deactivate()
    assert service.forces[-1] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("version", ["3.0.0.0", "2.1.1", "4.0.0.0"])
def test_a_version_with_other_messages_is_refused_at_configure(service: InverseService, version: str) -> None:
    service.version = version
    device = make(inverse3.DRIVER, f"address={service.address}")
    with pytest.raises(DeviceError, match=r"Inverse Service: expected version 3\.1 or newer, below 4, got"):
        device.configure(PERIOD)


def test_a_program_that_is_no_inverse_service_is_refused(service: InverseService) -> None:
    service.version = "unknown"
    with pytest.raises(DeviceError, match="expected a version of the Inverse Service"):
        make(inverse3.DRIVER, f"address={service.address}").configure(PERIOD)


def test_a_service_that_does_not_run_is_refused() -> None:
    with InverseService().running() as ended:
        address = ended.address
    with pytest.raises(DeviceError, match=f"address {address}: the Inverse Service does not answer"):
        make(inverse3.DRIVER, f"address={address}").configure(PERIOD)


@pytest.mark.parametrize(
    ("status", "entries", "message"),
    [
        ({"power_supply": False}, (), "device 049D has no power supply"),
        ({"calibrated": False}, (), "device 049D is not calibrated"),
        ({}, ("device_id=XXXX",), "device_id: expected one of 049D, got 'XXXX'"),
    ],
)
def test_a_device_that_is_not_ready_is_refused(
    service: InverseService, status: dict[str, bool], entries: tuple[str, ...], message: str
) -> None:
    service.status |= status
    with pytest.raises(DeviceError, match=message):
        make(inverse3.DRIVER, f"address={service.address}", *entries).configure(PERIOD)


def test_a_service_that_ends_the_connection_at_once_is_refused(service: InverseService) -> None:
    service.fault = "closed"
    with pytest.raises(DeviceError, match="the service sends no inventory"):
        make(inverse3.DRIVER, f"address={service.address}").configure(PERIOD)


def test_a_service_without_a_device_is_refused(service: InverseService) -> None:
    service.devices = []
    with pytest.raises(DeviceError, match="runs, but no Inverse3 is connected"):
        make(inverse3.DRIVER, f"address={service.address}").configure(PERIOD)


def test_calibration_is_optional_by_parameter(devices: Any, service: InverseService) -> None:
    service.status["calibrated"] = False
    assert devices("require_calibration=false").read() is not None


def test_one_of_several_devices_is_chosen_by_its_identifier(devices: Any, service: InverseService) -> None:
    service.devices = ["049D", "04BA"]
    device = devices("device_id=04BA")
    until(lambda: bool(service.ids), lambda: device.write(np.zeros(3)))
    assert set(service.ids) == {"04BA"}


# ---- what all Cartesian devices do ----------------------------------------------------------------------


def test_forces_are_limited_along_each_axis(devices: Any, service: InverseService) -> None:
    device = devices("force_limit=2.0")
    exchange(device, service, (5.0, -5.0, 1.0))
    assert service.forces[-1] == (2.0, -2.0, 1.0)


def test_a_held_axis_is_led_back_to_the_plane_of_the_first_command(devices: Any, service: InverseService) -> None:
    device = devices("plane_stiffness=300.0", "plane_force=2.0", held_axis="z")
    device.read()
    exchange(device, service, (0.5, 0.0, 9.0))
    assert service.forces[-1] == (0.5, 0.0, 0.0)  # what was commanded along z does not act
    service.velocity = np.zeros(3)
    for height, force in ((0.002, -0.6), (-0.002, 0.6), (0.05, -2.0)):
        service.position[2] = 0.18 + height
        exchange(device, service, (0.0, 0.0, 0.0))  # brings the new place
        device.read()
        exchange(device, service, (0.0, 0.0, 0.0))
        assert service.forces[-1][2] == pytest.approx(force, rel=0.05)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [("plane_stiffness=150.0", -0.3), ("plane_force=0.1", -0.1), ("plane_stiffness=0.0", 0.0)],
)
def test_the_parameters_of_the_plane_act(devices: Any, service: InverseService, entry: str, expected: float) -> None:
    device = devices("plane_stiffness=300.0", entry, held_axis="z")
    device.read()
    exchange(device, service, (0.0, 0.0, 0.0))
    service.position[2] += 0.002
    exchange(device, service, (0.0, 0.0, 0.0))
    device.read()
    exchange(device, service, (0.0, 0.0, 0.0))
    assert service.forces[-1][2] == pytest.approx(expected, rel=0.05)


def test_the_damping_of_the_plane_acts_against_the_velocity(devices: Any, service: InverseService) -> None:
    device = devices("plane_stiffness=1.0", "plane_damping=4.0", held_axis="z")
    service.velocity = np.array([0.0, 0.0, 0.1])
    exchange(device, service, (0.0, 0.0, 0.0))
    device.read()
    exchange(device, service, (0.0, 0.0, 0.0))
    assert service.forces[-1][2] == pytest.approx(-0.4, rel=0.05)


def test_the_center_moves_the_origin_and_limits_become_joint_limits(devices: Any, service: InverseService) -> None:
    device = devices("center=[0.01, -0.14, 0.18]", "reach=0.2", "velocity_limit=1.5", "force_rate_limit=100.0")
    assert device.read().position[0] == pytest.approx(-0.01)
    joint = device.joints[0]
    assert (joint.lower, joint.upper, joint.velocity_limit, joint.effort_rate_limit) == (-0.2, 0.2, 1.5, 100.0)
    assert device.workspace == ((-0.2,) * 3, (0.2,) * 3)


@pytest.mark.parametrize("entry", ["force_limit=-1.0", "center=[0.0, 0.0]", "address=http://here", "reach=.nan"])
def test_a_parameter_that_cannot_be_used_is_named(entry: str) -> None:
    with pytest.raises(ParameterError, match=f"parameter device_parameters: entry '{entry.partition('[')[0][:8]}"):
        make(inverse3.DRIVER, entry)


def test_lockstep_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected realtime for the real device inverse3, got 'lockstep'"):
        make(inverse3.DRIVER, mode="lockstep")


# ---- the search -----------------------------------------------------------------------------------------


def test_the_search_names_the_device_and_sends_nothing(service: InverseService) -> None:
    service.grip = ("verse_grip", {"button": False})
    parameters = make(inverse3.DRIVER, f"address={service.address}").parameters
    found = inverse3.search(parameters)
    assert (found.connected, found.detail) == (True, "device 049D with verse_grip")
    assert service.forces == []
    service.devices = []
    found = inverse3.search(parameters)
    assert (found.connected, found.detail) == (False, "Inverse Service: runs, but no Inverse3 is connected")


def test_search_reports_that_the_service_does_not_run() -> None:
    with InverseService().running() as ended:
        address = ended.address
    found = inverse3.search(make(inverse3.DRIVER, f"address={address}").parameters)
    assert (found.connected, found.detail) == (False, f"service not running at {address}")


def test_ros2_control_hosts_the_driver(service: InverseService) -> None:
    hosted = host(inverse3.DRIVER, *PATIENT, f"address={service.address}", force=0.5)
    try:
        until(lambda: any(force[0] == 0.5 for force in list(service.forces)), lambda: pass_period(hosted))
        until(lambda: pass_period(hosted)["translation_x/velocity"] > 0.0)
        assert hosted.status == OK
    finally:
        hosted.deactivate()
