"""Numbers of the TAU device's driver and end stops."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from haptic_devices.device import DeviceParameters

DEFAULT_FILE = Path(__file__).with_name("tau.yaml")


class TauDriverParameters(DeviceParameters):
    """Numbers of driver and end stops; see tau.yaml for the reasons."""

    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    velocity_limit: float = Field(gt=0.0, le=1000.0, description="largest joint speed [rad/s]")
    effort_rate_limit: float = Field(gt=0.0, le=1e6, description="fastest change of a motor's torque [N m/s]")
    workspace: float = Field(gt=0.0, le=1.0, description="largest distance of the tool along each axis [m]")
    range_translation: float = Field(gt=0.0, le=1.0, description="stop of the tool along each axis, from home [m]")
    range_rotation: float = Field(gt=0.0, le=3.0, description="stop of the tool's rotation from home [rad]")
    stop_stiffness: float = Field(ge=0.0, le=1e6, description="stiffness of the translation's stops [N/m]")
    stop_damping: float = Field(ge=0.0, le=1e4, description="damping of the translation's stops [N s/m]")
    stop_rotational_stiffness: float = Field(ge=0.0, le=1e4, description="stiffness of the rotation's stop [N m/rad]")
    stop_rotational_damping: float = Field(ge=0.0, le=100.0, description="damping of the rotation's stop [N m s/rad]")
