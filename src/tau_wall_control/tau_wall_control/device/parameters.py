"""Parameters of a TAU-type device and of its wall control, from one YAML file.

The file that comes with the package (`DEFAULT_FILE`) is this project's stand-in, not the paper's device: the
table of design parameters is lost in the text that the project has. A user's own device is another file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from haptic_files import FileError, kind_of, read_yaml
from haptic_files.fast_yaml import load_yaml
from haptic_files.schema import describe_refusal
from tau_wall_control.errors import TauError

DEFAULT_FILE = Path(__file__).parents[1] / "tau.yaml"

Vector3 = Annotated[tuple[float, float, float], Field(min_length=3, max_length=3)]
Mass = Annotated[float, Field(gt=0.0, le=10.0)]
Inertia = Annotated[float, Field(gt=0.0, le=1.0)]
Length = Annotated[float, Field(gt=0.0, le=2.0)]


class Section(BaseModel):
    """Base of all sections: unknown names are refused, numbers are finite and bounded."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Frame(Section):
    """World frame: x right, y up, z towards the user."""

    axes: str = Field("", description="the axes in words")
    origin: str = Field("", description="the origin in words")
    rotation: str = Field("", description="the angles of a pose in words")
    gravity: Vector3 = Field(description="acceleration of gravity in world axes [m/s^2]")


class Workspace(Section):
    """Workspace of the analyses and of the operating points."""

    cube_edge: float = Field(gt=0.0, le=2.0, description="edge of the cube around the origin [m]")
    orientation_range: float = Field(ge=0.0, le=1.5, description="about each axis at the centre [rad]")
    characteristic_length: Length = Field(description="makes rotation comparable with translation [m]")


class LinkParameters(Section):
    """One link: a slender body on the line between its joints."""

    mass: Mass = Field(description="[kg]")
    com: float = Field(ge=0.0, le=2.0, description="centre of mass from the proximal joint, along the link [m]")
    inertia_axial: float = Field(ge=0.0, le=1.0, description="about the link's axis [kg m^2]")
    inertia_transverse: Inertia = Field(description="about the axes across, through the centre of mass [kg m^2]")


class ChainParameters(Section):
    """A chain: yaw, pitch, elbow, spherical joint; yaw and pitch are actuated."""

    base_origin: Vector3 = Field(description="A_i, where yaw and pitch axes meet, world axes [m]")
    platform_point: Vector3 = Field(description="b_i, the spherical joint, platform axes from the TCP [m]")
    link_1_length: Length = Field(description="[m]")
    link_2_length: Length = Field(description="[m]")
    elbow_sign: int = Field(description="s_i, sign of the elbow angle: 1 or -1")
    carriage_inertia_yaw: float = Field(ge=0.0, le=1.0, description="of what only yaws, about the yaw axis [kg m^2]")
    link_1: LinkParameters
    link_2: LinkParameters

    @field_validator("elbow_sign")
    @classmethod
    def _sign(cls, value: int) -> int:
        if value not in (-1, 1):
            raise ValueError("expected 1 or -1")
        return value


class BaseAxes(Section):
    """Columns of R_B in world axes, the same for all chains."""

    x_local: Vector3 = Field(description="forward, out of the column [-]")
    y_local: Vector3 = Field(description="[-]")
    z_local: Vector3 = Field(description="yaw axis [-]")

    @model_validator(mode="after")
    def _orthonormal(self) -> BaseAxes:
        R = self.rotation
        if not np.allclose(R.T @ R, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0.0:
            raise ValueError("expected three unit vectors at right angles, right-handed")
        return self

    @property
    def rotation(self) -> np.ndarray:
        """R_B, shape (3, 3): local to world axes."""
        return np.array([self.x_local, self.y_local, self.z_local], dtype=float).T


class Chains(Section):
    """The three chains; they may differ."""

    base_axes: BaseAxes
    chain_1: ChainParameters
    chain_2: ChainParameters
    chain_3: ChainParameters

    @property
    def all(self) -> tuple[ChainParameters, ChainParameters, ChainParameters]:
        """Chains 1, 2, 3."""
        return self.chain_1, self.chain_2, self.chain_3


class Platform(Section):
    """Platform and tool handle; the TCP is the origin of the platform axes."""

    mass: Mass = Field(description="with the tool handle [kg]")
    com: Vector3 = Field(description="c_p, centre of mass from the TCP, platform axes [m]")
    inertia_about_com: tuple[Inertia, Inertia, Inertia] = Field(description="principal, platform axes [kg m^2]")


class Actuators(Section):
    """The six motors, identical."""

    rotor_inertia: float = Field(ge=0.0, le=1.0, description="[kg m^2]")
    capstan_ratio: float = Field(gt=0.0, le=1000.0, description="N, motor to joint [-]")
    peak_torque_motor: float = Field(gt=0.0, le=1000.0, description="[N m]")
    peak_torque_joint: float = Field(gt=0.0, le=1000.0, description="[N m]")
    continuous_torque_joint: float = Field(gt=0.0, le=1000.0, description="that a motor gives for good [N m]")
    thermal_time_constant: float = Field(15.0, gt=0.0, le=1e6, description="of the windings; 1e6: no thermal limit [s]")

    @model_validator(mode="after")
    def _consistent(self) -> Actuators:
        if not math.isclose(self.peak_torque_joint, self.capstan_ratio * self.peak_torque_motor, rel_tol=1e-6):
            raise ValueError("expected peak_torque_joint = capstan_ratio x peak_torque_motor")
        if self.continuous_torque_joint > self.peak_torque_joint:
            raise ValueError("expected continuous_torque_joint of peak_torque_joint or less")
        return self


class Encoders(Section):
    """Encoders on the motors."""

    joint_resolution: float = Field(gt=0.0, le=0.1, description="one count at the joint [rad]")
    counts_per_motor_revolution: int | None = Field(
        None, ge=4, le=2**30, description="if given, joint_resolution must be 2 pi/(this x capstan_ratio) [-]"
    )


class Friction(Section):
    """Joint friction: b qdot on all joints, tau_c tanh(qdot / v_s) on the actuated ones."""

    viscous_actuated: float = Field(ge=0.0, le=10.0, description="b of yaw and pitch [N m s/rad]")
    viscous_elbow: float = Field(ge=0.0, le=10.0, description="b of the elbow [N m s/rad]")
    coulomb_actuated: float = Field(ge=0.0, le=10.0, description="tau_c [N m]")
    coulomb_smoothing_speed: float = Field(gt=0.0, le=10.0, description="v_s [rad/s]")


class Control(Section):
    """Design of the wall controllers."""

    sample_time: float = Field(gt=0.0, le=0.1, description="Ts [s]")
    operating_points_per_axis: tuple[float, ...] = Field(min_length=1, max_length=9, description="rising [m]")
    subspace_half_width: float = Field(gt=0.0, le=1.0, description="half the edge of the cube of one point [m]")
    weight_angle: float = Field(gt=0.0, description="Q = 1/weight^2 [rad]")
    weight_rate: float = Field(gt=0.0, description="[rad/s]")
    weight_integral: float = Field(gt=0.0, description="[rad s]")
    weight_torque: float = Field(gt=0.0, description="[N m]")

    @field_validator("operating_points_per_axis")
    @classmethod
    def _rising(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if any(b <= a for a, b in pairwise(value)):
            raise ValueError("expected rising numbers")
        return value


class Disturbance(Section):
    """The test signal: a push that starts as a step."""

    direction: Vector3 = Field(description="unit vector into the wall z = plane_z; turns with another wall [-]")
    step_force: float = Field(ge=0.0, le=1000.0, description="[N]")
    step_time: float = Field(ge=0.0, le=100.0, description="[s]")
    noise_std: float = Field(ge=0.0, le=1000.0, description="of each sample from step_time on [N]")
    duration: float = Field(gt=0.0, le=1000.0, description="[s]")

    @field_validator("direction")
    @classmethod
    def _into_the_wall(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if abs(math.hypot(*value) - 1.0) > 1e-7 or value[2] >= 0.0:
            raise ValueError("expected a unit vector with a negative z")
        return value


class Wall(Section):
    """The wall of the study, parallel to the xy plane."""

    plane_z: float = Field(description="[m]")
    query_grid: tuple[int, int] = Field(description="rows (y) and columns (x) of query points [-]")
    runs_per_point: int = Field(ge=2, le=100000, description="[-]")
    significance: float = Field(gt=0.0, lt=1.0, description="of the t-test [-]")


class TauParameters(Section):
    """A TAU-type device: everything in its YAML file.

    Examples:
        >>> from tau_wall_control import TauParameters, load_parameters
        >>> values = load_parameters().model_dump()
        >>> values["platform"]["mass"] = 0.2  # a heavier handle [kg]
        >>> TauParameters.model_validate(values).platform.mass
        0.2
    """

    frame: Frame
    workspace: Workspace
    chains: Chains
    platform: Platform
    actuators: Actuators
    encoders: Encoders
    friction: Friction
    control: Control
    disturbance: Disturbance
    wall: Wall

    @model_validator(mode="after")
    def _counts(self) -> TauParameters:
        e, ratio = self.encoders, self.actuators.capstan_ratio
        if e.counts_per_motor_revolution is not None:
            one = 2.0 * math.pi / (e.counts_per_motor_revolution * ratio)
            if not math.isclose(e.joint_resolution, one, rel_tol=1e-6):
                raise ValueError(
                    "encoders: expected joint_resolution = 2 pi/(counts_per_motor_revolution x capstan_ratio) "
                    f"= {one:.8g} rad, got {e.joint_resolution:.8g} rad"
                )
        return self


def load_parameters(path: Path | str | None = None, overrides: Sequence[str] = ()) -> TauParameters:
    """Reads a device's YAML file.

    Args:
        path: the file; the package's stand-in if none is given.
        overrides: entries "section.name=value" that replace values of the file, the value in YAML.

    Raises:
        TauError: the file is missing, is not YAML, or a value is refused; one line that names the field.

    Examples:
        >>> from tau_wall_control import load_parameters
        >>> sorted(type(load_parameters()).model_fields)[0]
        'actuators'
    """
    if not isinstance(path, (str, Path, type(None))):
        raise TauError(f"path: expected the path of a YAML file, got {path!r}")
    path = DEFAULT_FILE if path is None else Path(path)
    try:
        document = read_yaml(path)
    except FileError as error:
        raise TauError(str(error)) from None
    if not isinstance(document.value, dict):
        raise TauError(f"{path}: expected a mapping of sections, got {kind_of(document.value)}")
    replaced = [_override(document.value, entry) for entry in overrides]
    try:
        return TauParameters.model_validate(document.value)
    except ValidationError as error:
        name, text = _refusal(error)
        if name in replaced:  # the value is the caller's, not the file's
            raise TauError(f"{path}: {text}") from None
        raise TauError(describe_refusal(error, TauParameters, document)) from None


def with_overrides(parameters: TauParameters, overrides: Sequence[str]) -> TauParameters:
    """Returns the parameters with entries "section.name=value" replaced, the value in YAML.

    Raises:
        TauError: an entry or a value is refused; the message names it.
    """
    document = parameters.model_dump(mode="json")
    for entry in overrides:
        _override(document, entry)
    try:
        return TauParameters.model_validate(document)
    except ValidationError as error:
        raise TauError(_refusal(error)[1]) from None


def _refusal(error: ValidationError) -> tuple[str, str]:
    """Returns the name of the first refused field, and a line with name, expectation and value."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    text = first["msg"].removeprefix("Value error, ").lower()
    return name, f"{name}: {text}, got {first['input']!r:.200}"


def _override(document: dict[str, Any], entry: str) -> str:
    """Replaces a value of the document; returns the name of its field."""
    name, sign, text = (part.strip() for part in str(entry).partition("="))
    *sections, field = name.split(".")
    target: Any = document
    for section in sections:
        target = target.get(section) if isinstance(target, dict) else None
    if not sign or not isinstance(target, dict) or field not in target:
        raise TauError(f"entry {entry!r}: expected section.name=value with a name of the device's file")
    try:
        target[field] = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise TauError(f"entry {entry[:200]!r}: the value is not YAML") from None
    return name
