"""A device as the ros2_control plugin drives it: shared arrays, against the device node's own loop."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from haptic_core.commands import EFFORT, MOTION, WRENCH, Motion
from haptic_core.errors import ParameterError
from haptic_core.safety import ENGAGING
from haptic_devices.control import hosted
from haptic_devices.control.description import DEVICES
from haptic_devices.control.hosted import IDLE, RAMP, RUN, STOP, HostedDevice, parse_parameters
from haptic_devices.device import DeviceError
from haptic_devices.factories import find_device
from haptic_devices.loop import FAULT, OK, SAFE_STOP, TickLoop

MOTIONS = {
    "joystick": "letters",
    "five_bar": "letters",
    "cobotic_hand_controller": "steering",
    "tau": "wall_push",
}
each_device = pytest.mark.parametrize("name", DEVICES)


def host(name: str, **texts: str) -> HostedDevice:
    return HostedDevice(name, {"device": name, "motion": MOTIONS[name], **texts})


def cells(host: HostedDevice) -> dict[str, tuple[np.ndarray, int]]:
    """Array and place of every state."""
    places = [(array, i) for array in host.states for i in range(len(array))]
    return dict(zip(host.state_names, places, strict=True))


def vector(values: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(**{f"_{axis}": float(value) for axis, value in zip("xyzw", values, strict=False)})


def message(tick: int, mode: int, *, effort: Any = (), wrench: Any = (), motion: Motion | None = None) -> Any:
    """What TickLoop needs of a DeviceCommand."""
    command = SimpleNamespace(tick=tick, source="s", mode=mode, joint_effort=list(effort))
    if mode == WRENCH:
        command.tool_wrench = SimpleNamespace(force=vector(wrench[:3]), torque=vector(wrench[3:]))
    if motion is not None:
        q = SimpleNamespace(**dict(zip("xyzw", motion.pose[3:].tolist(), strict=True)))
        command.motion_fields = motion.fields
        command.tool_pose = SimpleNamespace(position=vector(motion.pose[:3]), orientation=q)
        command.tool_twist = SimpleNamespace(linear=vector(motion.twist[:3]), angular=vector(motion.twist[3:]))
        command.tool_acceleration = SimpleNamespace(
            linear=vector(motion.acceleration[:3]), angular=vector(motion.acceleration[3:])
        )
        command.joint_position = [] if motion.joint_position is None else motion.joint_position.tolist()
        command.joint_velocity = [] if motion.joint_velocity is None else motion.joint_velocity.tolist()
    return command


@each_device
def test_it_does_to_the_last_bit_what_the_device_node_s_loop_does(name: str) -> None:
    one, random = host(name), np.random.default_rng(0)
    other = find_device(name)(parse_parameters({"device": name, "motion": MOTIONS[name]}))
    other.configure(1e-3)
    other.activate()
    loop, n = TickLoop(other, ["s"]), len(other.joints)
    one.commands[0] = RUN
    follows = other.kind == "admittance"
    for tick in range(300):
        if follows:
            joints = int(random.integers(0, 4)) if tick % 3 == 0 else 0
            fields = int(random.integers(1, 8))
            pose = other.read().tool_pose + np.array([*random.normal(scale=1e-4, size=3), 0.0, 0.0, 0.0, 0.0])
            values = [random.normal(scale=1e-3, size=size) for size in (6, 6)]
            position = other.read().position + random.normal(scale=1e-4, size=n)
            velocity = random.normal(scale=1e-3, size=n)
            one.commands[2:] = [fields, joints, *pose, *values[0], *values[1], *position, *velocity]
            given = Motion(fields, pose, *values, position if joints & 1 else None, velocity if joints & 2 else None)
            loop.offer(message(tick, MOTION, motion=given))
        elif tick % 2:
            effort = random.normal(scale=0.1, size=n)
            one.commands[2:] = [*effort, *np.zeros(6)]
            loop.offer(message(tick, EFFORT, effort=effort))
        else:
            wrench = random.normal(size=6)
            one.commands[2:] = [*np.zeros(n), *wrench]
            loop.offer(message(tick, WRENCH, wrench=wrench))
        one.write()
        one.read()
        expected = loop.advance()
        assert_array_equal(one.states[0], expected.values)
        assert_array_equal(one.states[1], other.truth().values)
    assert one.status == loop.status == OK
    assert np.abs(one.states[0]).sum() > 0.0
    found = {key: array[i] for key, (array, i) in cells(one).items()}
    assert found[f"{other.joints[-1].name}/velocity"] == other.read().velocity[-1]
    assert found[f"{name}_tool/orientation.w"] == other.read().tool_pose[6]
    assert found[f"{name}_force_torque/torque.z"] == other.read().tool_wrench[5]
    assert found[f"{name}_truth/{other.joints[0].name}.effort"] == other.truth().effort[0]
    assert found[f"{name}_truth/force.x"] == other.truth().tool_wrench[0]
    assert found[f"{name}_truth/target.orientation.w"] == other.truth().operator_target[6]


@pytest.mark.parametrize("name", ["five_bar", "tau"])
def test_passive_joints_are_brought_up_to_date_every_20_ms(name: str) -> None:
    one = host(name)
    one.commands[0] = RUN
    names = one.device.passive_joints
    for cycle in range(45):
        one.read()
        if cycle % 20 == 0:
            expected = one.device.passive_state().copy()
        found = cells(one)
        for row, kind in enumerate(("position", "velocity")):
            values = [found[f"{joint}/{kind}"][0][found[f"{joint}/{kind}"][1]] for joint in names]
            assert_array_equal(values, expected[row])
        one.commands[2:] = 0.0
        if name == "five_bar":
            one.commands[2:4] = [2.0, 0.0]
            one.commands[11] = 0.05  # x velocity, so that something moves
        one.write()
    assert np.abs(expected).max() > 0.0


def test_wrench_and_efforts_add() -> None:
    one = host("joystick", held="false")
    one.commands[0] = RUN
    one.commands[2:] = [0.25, -0.5, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    expected = np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]) @ one.device.jacobian() + [0.25, -0.5]
    one.write()
    # below the motors' limits; the same product and sum
    assert_allclose(one.device.truth().effort, expected, rtol=1e-14)


def test_time_stands_until_the_controller_runs_and_the_device_is_safe_after_it() -> None:
    one = host("joystick")
    before = one.states[1].copy()
    for _ in range(3):
        one.commands[2] = 1.0
        one.write()
        one.read()
    assert_array_equal(one.states[1], before)
    one.commands[0] = RUN
    for _ in range(10):
        one.write()
    moved = one.states[1].copy()
    assert np.abs(moved - before).max() > 0.0
    one.commands[0] = IDLE
    one.write()
    assert_array_equal(one.states[1], moved)
    one.commands[0] = RUN
    one.write()
    assert_array_equal(one.device.truth().effort, [0.0, 0.0])  # it was stopped: no effort acts


def test_the_controller_s_safe_stop_and_reset() -> None:
    one = host("joystick")
    one.commands[:3] = [RUN, 0.0, 0.5]
    one.write()
    assert one.device.truth().effort[0] == 0.5
    one.commands[0] = STOP
    one.write()
    one.read()
    assert one.status == SAFE_STOP and one.reason == "the controller asks for it"
    assert cells(one)["joystick_loop/status"][0][1] == SAFE_STOP
    one.commands[0] = RUN
    one.write()
    assert one.status == SAFE_STOP and one.device.truth().effort[0] == 0.0  # only a reset ends it
    one.commands[1] = 1.0
    one.write()
    one.read()
    assert one.status == OK and one.device.truth().effort[0] == 0.0
    check_ramp(one)


def test_a_source_that_starts_anew_is_ramped_in() -> None:
    one = host("joystick")
    one.commands[:3] = [RUN, 0.0, 0.5]
    one.write()
    assert one.device.truth().effort[0] == 0.5
    one.commands[0] = RAMP  # for one period
    one.write()
    one.read()
    assert one.device.truth().effort[0] == 0.0
    one.commands[0] = RUN
    check_ramp(one)


def check_ramp(one: HostedDevice) -> None:
    """An effort of 0.5 N m comes in over 50 ms."""
    acted = []
    for _ in range(60):
        one.write()
        one.read()
        acted.append(one.device.truth().effort[0])
        assert (cells(one)["joystick_loop/limited"][0][2] == ENGAGING) == (len(acted) < 50)
    assert_allclose(acted, 0.5 * np.minimum(1.0, np.arange(1, 61) / 50.0), rtol=1e-14)


@pytest.mark.parametrize("name", ["joystick", "five_bar"])
def test_a_joint_too_fast_is_a_safe_stop_that_names_it(name: str) -> None:
    one = host(name)
    one.read()
    one.device.read().velocity[1] = -2.0 * one.device.joints[1].velocity_limit
    one.read()
    assert one.status == SAFE_STOP
    assert one.reason.startswith(f"joint {one.device.joints[1].name}: speed ")
    one.commands[0] = RUN
    one.commands[2:4] = [2.0, 0.0] if name == "five_bar" else [1.0, 1.0]
    one.write()
    if name == "joystick":
        assert not one.device.truth().effort.any()


def test_a_driver_s_error_is_a_fault_and_any_other_exception_goes_on_to_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = host("joystick")
    one.commands[0] = RUN

    def refuse(effort: np.ndarray) -> None:
        raise DeviceError("no answer from the motor")

    monkeypatch.setattr(one.device, "write", refuse)
    one.write()
    assert one.status == FAULT and one.reason == "no answer from the motor"
    assert not one.device._powered

    def defect(effort: np.ndarray) -> None:
        raise ZeroDivisionError("in the driver")

    one.commands[1] += 1.0
    monkeypatch.setattr(one.device, "write", defect)
    with pytest.raises(ZeroDivisionError) as caught:
        one.write()
    text = hosted.describe_error(caught.value)
    assert "in the driver" in text and "in defect" in text and __file__ in text


def test_a_driver_s_error_in_read_is_a_fault_and_the_last_values_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    one = host("joystick")
    answers = iter([DeviceError("no answer from the encoder"), one.device.read(), one.device.read()])

    def read() -> Any:
        answer = next(answers)
        if isinstance(answer, DeviceError):
            raise answer
        return answer

    monkeypatch.setattr(one.device, "read", read)
    one.read()
    one.read()
    assert (one.status, one.reason) == (FAULT, "no answer from the encoder") and not one.device._powered


def test_a_device_that_changes_its_reading_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = host("joystick")
    monkeypatch.setattr(one.device, "read", lambda: type(one._reading)(2))
    with pytest.raises(TypeError, match="the same Reading"):
        one.read()


def test_deactivation_leaves_the_device_without_power() -> None:
    one = host("joystick")
    one.deactivate()
    assert not one.device._powered


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ({"device": "kettle"}, "parameter device: expected one of"),
        ({"device": "scripted"}, "got 'scripted'"),
        ({"device": "joystick", "colour": "red"}, "parameter colour: unknown"),
        ({"device": "joystick", "held": "perhaps"}, "parameter held"),
        ({"device": "joystick", "seed": "1.5"}, "parameter seed"),
        ({"device": "joystick", "strokes": "[1, "}, "parameter strokes: not YAML"),
        ({"device": "joystick", "device_parameters": "['lengths=1']"}, "lengths"),
        ({"device": "tau", "motion": "letters"}, "parameter motion"),
    ],
)
def test_parameters_are_checked(texts: dict[str, str], error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        HostedDevice("name", texts)


def test_texts_have_the_types_of_the_device_node_s_parameters() -> None:
    given = {"letters": "1234", "seed": "7", "period": "0.002", "strokes": "[3, 4]", "held": "false", "device_file": ""}
    found = parse_parameters(given)
    assert {name: found[name] for name in given} == {
        "letters": "1234", "seed": 7, "period": 0.002, "strokes": [3, 4], "held": False, "device_file": "",
    }  # fmt: skip


def test_no_ros_is_imported() -> None:
    source = Path(hosted.__file__).read_text()
    assert "rclpy" not in source and "_msgs" not in source


@each_device
def test_nothing_is_commanded_in_the_safe_state(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = host(name)
    acted: list[Any] = []
    monkeypatch.setattr(one.device, "write", lambda effort: acted.append(effort.copy()))
    monkeypatch.setattr(one.device, "follow", acted.append)
    one.commands[:] = 0.5
    one.commands[:4] = [RUN, 0.0, 1.0, 0.0]
    one.write()
    one.stop(SAFE_STOP, "why")
    one.write()
    before, after = acted
    if one.device.kind == "admittance":
        assert before.fields == 1 and after is None
    else:
        assert np.abs(before).max() > 0.1 and not after.any()
