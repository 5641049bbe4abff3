"""The interface that a device driver implements, real or simulated. No ROS import.

The order of calls is: configure, activate, then in every period read (the sensors' present values) and write
(the efforts of the next period); at the end deactivate. An admittance device has follow (the motion of the
next period) instead of write. A simulated device integrates the period in write or follow. safe_stop may be
called at any time and must be safe for the user's hand.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from haptic_core.commands import Motion
from haptic_core.errors import EntryError, HapticError, ParameterError, shortened
from haptic_core.parameters import parse_entries
from haptic_core.safety import EVERYWHERE, Corner, SafetyLimits
from haptic_files import FileError, kind_of, read_yaml
from haptic_files.schema import describe_refusal


class DeviceError(HapticError):
    """The device refused a request or failed."""


@dataclass(frozen=True)
class Joint:
    """Name and limits of one actuated joint; units rad, rad/s, N m, N m/s (revolute) or m, m/s, N, N/s (prismatic)."""

    name: str
    effort_limit: float
    velocity_limit: float
    lower: float
    upper: float
    kind: str = "revolute"
    effort_rate_limit: float = math.inf


class DeviceValues(NamedTuple):
    """Views of the values of a `Reading` or a `Truth` with n joints, in their order.

    Attributes:
        position: (n,) joint positions [rad] or [m].
        velocity: (n,) joint velocities [rad/s] or [m/s].
        effort: (n,) joint efforts that acted in the period that ends now [N m] or [N].
        tool_pose: (7,) x, y, z [m] and quaternion x, y, z, w.
        tool_twist: (6,) velocity [m/s] and angular velocity [rad/s].
        tool_wrench: (6,) wrench of the user on the tool [N], [N m].
        operator_target: (7,) target pose of the simulated hand; empty in a `Reading`.
    """

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    tool_pose: np.ndarray
    tool_twist: np.ndarray
    tool_wrench: np.ndarray
    operator_target: np.ndarray


def views(values: np.ndarray, joints: int) -> DeviceValues:
    """Returns views of the values of a `Reading` or a `Truth`; Numba can compile this function."""
    n, tool = joints, 3 * joints
    return DeviceValues(
        values[0:n],
        values[n : 2 * n],
        values[2 * n : tool],
        values[tool : tool + 7],
        values[tool + 7 : tool + 13],
        values[tool + 13 : tool + 19],
        values[tool + 19 : tool + 26],
    )


class Reading:
    """Values of the sensors: named views of one array, filled in place by the driver.

    Args:
        joints: number of joints n.

    Attributes:
        values: whole array, n + n + n + 19 numbers in the order of `DeviceValues`.
        views: `DeviceValues` of the array; position, velocity, effort, tool_pose, tool_twist and tool_wrench are its
            fields.
        tool: (19,) tool_pose, tool_twist and tool_wrench together.
        buttons: button states; bit i is button i.
    """

    _TOOL = 19

    def __init__(self, joints: int) -> None:
        self.values = np.zeros(3 * joints + self._TOOL)
        v = self.views = views(self.values, joints)
        self.position, self.velocity, self.effort = v.position, v.velocity, v.effort
        self.tool_pose, self.tool_twist, self.tool_wrench = v.tool_pose, v.tool_twist, v.tool_wrench
        self.tool = self.values[3 * joints : 3 * joints + 19]
        self.tool_pose[6] = 1.0
        self.buttons = 0


class Truth(Reading):
    """The true state of a simulated device, without sensor errors.

    Attributes:
        operator_target: (7,) target pose of the simulated hand, after the 19 numbers of the tool.
    """

    _TOOL = 26

    def __init__(self, joints: int) -> None:
        super().__init__(joints)
        self.operator_target = self.views.operator_target
        self.operator_target[6] = 1.0


#: joints along the axes of the base frame; YAML reads a plain y as true
TRANSLATIONS = ("translation_x", "translation_y", "translation_z")


class Device(ABC):
    """A haptic device with n joints and one tool.

    Attributes:
        kind: "impedance" (takes efforts, implements `write`), "admittance" (takes motion, implements
            `follow`) or "scripted" (takes any command and ignores it, implements `write`).
        joints: names and limits.
        base_frame: frame of poses, twists and wrenches.
        has_force_sensor: whether the wrench of the reading is measured.
        tool_frame: frame of the tool in the robot description; empty: there is none.
        passive_joints: names of the robot description's joints that are not in `joints`.
        up_axis: axis of the base frame that points upwards.
        workspace: lower and upper corner of the box in the base frame that the tool point must not leave [m].
    """

    kind: str = "impedance"
    joints: tuple[Joint, ...]
    base_frame: str
    has_force_sensor: bool = False
    tool_frame: str = ""
    passive_joints: tuple[str, ...] = ()
    up_axis: str = "z"
    workspace: tuple[Corner, Corner] = EVERYWHERE

    def limits(self) -> SafetyLimits:
        """Returns the limits of `joints` and `workspace`, for the safety layer of this device."""
        joints = self.joints
        return SafetyLimits(
            joints=tuple(joint.name for joint in joints),
            effort=[joint.effort_limit for joint in joints],
            effort_rate=[joint.effort_rate_limit for joint in joints],
            velocity=[joint.velocity_limit for joint in joints],
            lower=[joint.lower for joint in joints],
            upper=[joint.upper for joint in joints],
            workspace=self.workspace,
        )

    @abstractmethod
    def configure(self, period: float) -> None:
        """Opens the device for a control period [s]; raises DeviceError or ValueError to refuse."""

    @abstractmethod
    def activate(self) -> None:
        """Switches the device on, with zero effort (impedance device) or holding its position (admittance device)."""

    @abstractmethod
    def read(self) -> Reading:
        """Reads the sensors; returns the same object at every call."""

    def write(self, effort: np.ndarray) -> None:
        """Commands joint efforts (n,) [N m] or [N] for the next period; the device limits them."""
        raise NotImplementedError(f"{type(self).__name__} takes no efforts")

    def follow(self, motion: Motion | None) -> None:
        """Commands the motion of the next period; None: hold the last commanded position."""
        raise NotImplementedError(f"{type(self).__name__} takes no motion")

    @abstractmethod
    def jacobian(self) -> np.ndarray:
        """Returns the Jacobian (6, n) of the tool point, base frame, last reading, rows [linear; angular]."""

    @abstractmethod
    def safe_stop(self) -> None:
        """Sets zero effort (impedance device) or holds the position (admittance device), until `activate`."""

    @abstractmethod
    def deactivate(self) -> None:
        """Switches the device off."""

    def truth(self) -> Truth | None:
        """Returns the true state of a simulated device; None for a real one."""
        return None

    def description(self) -> dict[str, Any]:
        """Returns data about the device and its operator for reports, as JSON values."""
        return {}

    def robot_description(self) -> str:
        """Returns the URDF of the device, from `base_frame` to `tool_frame`; empty if it has none.

        The root has z up (REP 103): `base_frame`, or with another `up_axis` a link to which `base_frame` is fixed.
        """
        return ""

    def passive_state(self) -> np.ndarray:
        """Returns positions and velocities of the m `passive_joints` at the last reading, shape (2, m)."""
        return np.zeros((2, 0))

    def passive_positions(self, position: np.ndarray, tool_pose: np.ndarray) -> np.ndarray:
        """Computes positions (m,) of the `passive_joints` in a recorded state, independent of the device's state.

        Args:
            position: joint positions (n,) [rad] or [m].
            tool_pose: tool pose of the same reading (7,), position [m] and quaternion x, y, z, w in the base frame.
        """
        return np.zeros(0)

    @property
    def end_time(self) -> float:
        """End of the operator's plan [s]; infinite for a device without a plan."""
        return float("inf")


class DeviceParameters(BaseModel):
    """Base of a device's parameters: refuses unknown names, numbers that are not finite, and true as a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuses true and false for other fields, for which pydantic takes 1 and 0."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise PydanticCustomError("number", "Input should be no truth value")
        return value


Parameters = TypeVar("Parameters", bound=DeviceParameters)


def load_parameters(model: type[Parameters], path: Path, overrides: Sequence[str] = ()) -> Parameters:
    """Reads a YAML file into a parameter model.

    Args:
        model: parameter model with the fields of the file.
        path: path of the file.
        overrides: entries "name=value" that replace values of the file, the value in YAML; empty entries are
            ignored.

    Raises:
        ParameterError: the file is missing, is not YAML, or a value is refused; the message has line and field of the
            first refused value.
        EntryError: an override is refused; the message names the entry.
    """
    try:
        document = read_yaml(path)
    except FileError as error:
        raise ParameterError(str(error)) from None
    given = document.value
    if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
        raise ParameterError(f"{path}: expected a mapping of parameter names to values, got {kind_of(given)}")
    entries = parse_entries(overrides)
    try:
        return model.model_validate({**given, **{name: value for name, (value, _) in entries.items()}})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        if name in entries:
            got = "" if first["type"] == "missing" else f", got {shortened(first['input'])}"
            raise EntryError(f"entry {entries[name][1]!r}: {first['msg'].lower()}{got}") from None
        raise ParameterError(describe_refusal(error, model, document)) from None
