"""Which fields of a command are checked, and which modes a device can combine."""

from __future__ import annotations

import math
from typing import Any

import pytest

from haptic_core import commands
from haptic_core.commands import EFFORT, MOTION, WRENCH, CommandConflictError, check_command, check_modes
from haptic_core.errors import InputError
from haptic_msgs.msg import DeviceCommand

JOINTS = 2


def effort(*values: float) -> DeviceCommand:
    return DeviceCommand(source="a", mode=EFFORT, joint_effort=values)


def wrench(*values: float) -> DeviceCommand:
    command = DeviceCommand(source="a", mode=WRENCH)
    f, t = command.tool_wrench.force, command.tool_wrench.torque
    f.x, f.y, f.z, t.x, t.y, t.z = values
    return command


def motion(**fields: Any) -> DeviceCommand:
    return DeviceCommand(**{"source": "a", "mode": MOTION, "motion_fields": DeviceCommand.FIELD_POSITION, **fields})


@pytest.mark.parametrize("place", range(JOINTS))
def test_every_joint_effort_must_be_finite(place):
    values = [0.0] * JOINTS
    values[place] = math.inf
    with pytest.raises(InputError, match=r"^joint_effort: expected finite"):
        check_command(effort(*values), JOINTS)


@pytest.mark.parametrize("place", range(6))
def test_every_component_of_a_wrench_must_be_finite(place):
    values = [0.0] * 6
    values[place] = math.nan
    with pytest.raises(InputError, match=r"^tool_wrench: expected finite numbers, got nan$"):
        check_command(wrench(*values), JOINTS)


MOTION_NUMBERS = [
    *[f"tool_pose.position.{axis}" for axis in "xyz"],
    *[f"tool_pose.orientation.{axis}" for axis in "xyzw"],
    *[f"tool_{part}.{axis}" for part in ("twist.linear", "twist.angular") for axis in "xyz"],
    *[f"tool_acceleration.{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"],
]


@pytest.mark.parametrize("path", MOTION_NUMBERS)
def test_every_number_of_a_motion_must_be_finite(path):
    command: Any = motion()
    *parents, last = path.split(".")
    target = command
    for parent in parents:
        target = getattr(target, parent)
    setattr(target, last, math.nan)
    with pytest.raises(InputError, match=f"^{parents[0]}: expected finite numbers, got nan$"):
        check_command(command, JOINTS)


@pytest.mark.parametrize("field", ["joint_position", "joint_velocity"])
def test_joint_motion_may_be_absent_but_not_incomplete_or_infinite(field):
    check_command(motion(**{field: []}), JOINTS)
    check_command(motion(**{field: [0.1, 0.2]}), JOINTS)
    with pytest.raises(InputError, match=f"^{field}: expected 2 numbers, got 3$"):
        check_command(motion(**{field: [0.0] * 3}), JOINTS)
    with pytest.raises(InputError, match=f"^{field}: expected finite numbers, got inf$"):
        check_command(motion(**{field: [0.0, math.inf]}), JOINTS)


@pytest.mark.parametrize("fields", [0, 8, 255])
def test_motion_fields_outside_1_to_7_are_refused(fields):
    with pytest.raises(InputError, match=f"^motion_fields: expected 1 to 7, got {fields}$"):
        check_command(motion(motion_fields=fields), JOINTS)


def test_the_fields_of_other_modes_are_not_looked_at():
    command = effort(1.0, 2.0)
    command.tool_wrench.force.x = command.tool_pose.position.x = math.nan
    check_command(command, JOINTS)
    command.mode = WRENCH
    with pytest.raises(InputError, match=r"^tool_wrench"):
        check_command(command, JOINTS)


@pytest.mark.parametrize(
    ("modes", "kind", "message"),
    [
        ({"b": "MOTION", "a": "MOTION"}, "admittance", "sources a, b: at most one may command MOTION"),
        ({"a": "MOTION", "b": "EFFORT"}, "admittance", r"sources a \(MOTION\) and b \(EFFORT\): motion and force"),
        ({"a": "WRENCH", "b": "MOTION"}, "impedance", r"sources b \(MOTION\) and a \(WRENCH\): motion and force"),
        ({"a": "MOTION"}, "impedance", "source a: an impedance device takes EFFORT or WRENCH, not MOTION"),
        ({"a": "EFFORT"}, "admittance", "source a: an admittance device takes MOTION, not EFFORT"),
        ({"a": "WRENCH"}, "admittance", "source a: an admittance device takes MOTION, not WRENCH"),
    ],
)
def test_modes_that_cannot_be_combined_are_refused_with_their_sources(modes, kind, message):
    with pytest.raises(CommandConflictError, match=f"^{message}"):
        check_modes(modes, kind)


@pytest.mark.parametrize(
    ("modes", "kind"),
    [({}, "impedance"), ({"a": "EFFORT", "b": "WRENCH"}, "impedance"), ({"a": "MOTION"}, "admittance")],
)
def test_modes_that_add_up_are_accepted(modes, kind):
    assert check_modes(modes, kind) is None


@pytest.mark.parametrize(
    "modes", [{"a": "MOTION", "b": "MOTION"}, {"a": "MOTION", "b": "WRENCH", "c": "EFFORT"}, {"a": "NONE"}]
)
def test_a_script_takes_any_modes_since_it_ignores_them(modes):
    assert check_modes(modes, "scripted") is None


@pytest.mark.parametrize("name", ["NONE", "EFFORT", "WRENCH", "MOTION", "POSITION", "VELOCITY", "ACCELERATION"])
def test_constants_without_a_prefix_stay_for_one_release(name: str) -> None:
    (prefixed,) = (f"{prefix}_{name}" for prefix in ("MODE", "FIELD") if hasattr(DeviceCommand, f"{prefix}_{name}"))
    assert getattr(DeviceCommand, name) == getattr(DeviceCommand, prefixed) == getattr(commands, name)
