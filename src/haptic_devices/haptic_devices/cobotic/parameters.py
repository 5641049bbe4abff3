"""Numbers of the display, its servo and its sensors."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from haptic_devices.device import DeviceParameters

DEFAULT_FILE = Path(__file__).with_name("cobotic_hand_controller.yaml")


class CoboticHandControllerParameters(DeviceParameters):
    """Numbers of the display, its servo and its sensors; cobotic_hand_controller.yaml gives the reasons.

    Quantities of the end effector are in the tool frame.
    """

    range_translation: float = Field(gt=0.0, le=1.0, description="stop of each slide, on both sides of home [m]")
    range_yaw: float = Field(gt=0.0, le=10.0, description="stop of the yaw, on both sides [rad]")
    range_tilt: float = Field(gt=0.0, le=1.4, description="stop of the tilt, on both sides, below pi/2 [rad]")
    range_roll: float = Field(gt=0.0, le=20.0, description="stop of the roll, on both sides [rad]")
    inertia_translation: float = Field(ge=0.1, le=100.0, description="apparent inertia of each slide [kg]")
    inertia_rotation: float = Field(ge=0.001, le=1.0, description="apparent inertia of each gimbal joint [kg m^2]")
    friction_translation: float = Field(ge=0.0, le=100.0, description="backdrive friction of each slide [N]")
    friction_rotation: float = Field(ge=0.0, le=10.0, description="backdrive friction of each gimbal joint [N m]")
    force_limit: float = Field(gt=0.0, le=1e4, description="largest effort of each slide [N]")
    torque_limit: float = Field(gt=0.0, le=1e3, description="largest effort of each gimbal joint [N m]")
    speed_limit: float = Field(gt=0.0, le=10.0, description="largest speed of each slide [m/s]")
    rate_limit: float = Field(gt=0.0, le=100.0, description="largest speed of each gimbal joint [rad/s]")
    servo_bandwidth: float = Field(ge=1.0, le=200.0, description="proportional gain over inertia f [Hz]")
    servo_latency: float = Field(ge=0.0, le=0.1, description="time from the command until the servo follows it [s]")
    position_gain: float = Field(ge=0.0, le=500.0, description="gain g of the outer loop on the position error [1/s]")
    position_resolution: float = Field(ge=0.0, le=0.01, description="one count of a slide's position [m]")
    angle_resolution: float = Field(ge=0.0, le=0.1, description="one count of a gimbal joint's angle [rad]")
    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    end_effector_mass: float = Field(ge=0.0, le=20.0, description="mass beyond the load cell [kg]")
    end_effector_center_x: float = Field(ge=-0.5, le=0.5, description="centre of mass from the tool point, along x [m]")
    end_effector_center_y: float = Field(ge=-0.5, le=0.5, description="centre of mass from the tool point, along y [m]")
    end_effector_center_z: float = Field(ge=-0.5, le=0.5, description="centre of mass from the tool point, along z [m]")
    end_effector_inertia_x: float = Field(ge=0.0, le=1.0, description="principal moment of inertia about x [kg m^2]")
    end_effector_inertia_y: float = Field(ge=0.0, le=1.0, description="principal moment of inertia about y [kg m^2]")
    end_effector_inertia_z: float = Field(ge=0.0, le=1.0, description="principal moment of inertia about z [kg m^2]")
    compensation: Literal["full", "weight", "none"] = Field(
        description="subtracted from the load cell's wrench: weight and inertia of the end effector, or its weight"
    )
    sensor_cutoff: float = Field(gt=0.0, le=2000.0, description="corner frequency of the load cell's filter [Hz]")
    force_noise: float = Field(ge=0.0, le=10.0, description="RMS noise of each force reading [N]")
    force_resolution: float = Field(ge=0.0, le=10.0, description="one count of force [N]")
    force_range: float = Field(gt=0.0, le=1e5, description="largest force that the load cell reports [N]")
    torque_noise: float = Field(ge=0.0, le=1.0, description="RMS noise of each torque reading [N m]")
    torque_resolution: float = Field(ge=0.0, le=1.0, description="one count of torque [N m]")
    torque_range: float = Field(gt=0.0, le=1e5, description="largest torque that the load cell reports [N m]")
