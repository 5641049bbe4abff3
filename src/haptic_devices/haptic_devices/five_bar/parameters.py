"""Numbers of the five-bar manipulator, its servo and its sensors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from haptic_devices.device import DeviceParameters

DEFAULT_FILE = Path(__file__).with_name("five_bar.yaml")


class FiveBarParameters(DeviceParameters):
    """Numbers of the manipulator, its servo and its sensors; see five_bar.yaml for the reasons."""

    length_upper_arm: float = Field(gt=0.0, le=2.0, description="length a_1 from motors' axis to elbow [m]")
    length_forearm: float = Field(gt=0.0, le=2.0, description="length a_2 from elbow to tool [m]")
    length_crank: float = Field(gt=0.0, le=1.0, description="length b of the crank, and of the forearm's rear part [m]")
    mass_upper_arm: float = Field(gt=0.0, le=100.0, description="m_1 [kg]")
    mass_crank: float = Field(gt=0.0, le=100.0, description="m_2 [kg]")
    mass_coupling_rod: float = Field(ge=0.0, le=100.0, description="m_3 [kg]")
    mass_forearm: float = Field(ge=0.0, le=100.0, description="m_4 [kg]")
    mass_tool: float = Field(ge=0.0, le=20.0, description="mass of sensor and mount, robot's side [kg]")
    mass_grip: float = Field(ge=0.0, le=20.0, description="mass of grip and half of the sensor, hand's side [kg]")
    gear_ratio: float = Field(ge=1.0, le=500.0, description="gear ratio N, motor revolutions per joint revolution [-]")
    gear_stiffness: float = Field(ge=1e3, le=1e6, description="torsional stiffness K of each gear [N m/rad]")
    gear_damping: float = Field(ge=0.0, le=100.0, description="damping C of each gear [N m s/rad]")
    rotor_inertia: float = Field(gt=0.0, le=0.1, description="inertia J_r of rotor and wave generator [kg m^2]")
    friction_coulomb: float = Field(ge=0.0, le=200.0, description="Coulomb friction F_c of each joint [N m]")
    friction_static: float = Field(gt=0.0, le=200.0, description="static friction F_s, F_c or more [N m]")
    friction_stribeck_velocity: float = Field(gt=0.0, le=10.0, description="Stribeck velocity v_s [rad/s]")
    friction_viscous: float = Field(ge=0.0, le=100.0, description="viscous friction D [N m s/rad]")
    friction_displacement: float = Field(ge=1e-5, le=0.1, description="angle s of presliding [rad]")
    effort_limit: float = Field(gt=0.0, le=1000.0, description="largest motor torque at the joint [N m]")
    velocity_limit: float = Field(gt=0.0, le=100.0, description="largest joint speed [rad/s]")
    home_upper_arm: float = Field(ge=-math.pi, le=math.pi, description="q1 at the origin of the base frame [rad]")
    home_forearm: float = Field(ge=-math.pi, le=math.pi, description="q2 at the origin of the base frame [rad]")
    range: float = Field(gt=0.0, le=math.pi / 2, description="mechanical stop of each joint, from home [rad]")
    encoder_resolution: float = Field(ge=0.0, le=0.1, description="one count, at the joint [rad]")
    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    sensor_cutoff: float = Field(gt=0.0, le=2000.0, description="corner frequency of the force sensor's filter [Hz]")
    force_noise: float = Field(ge=0.0, le=10.0, description="RMS noise of each force reading [N]")
    force_resolution: float = Field(ge=0.0, le=10.0, description="one count of force [N]")
    force_range: float = Field(gt=0.0, le=1e5, description="largest force that the sensor reports [N]")
    torque_noise: float = Field(ge=0.0, le=1.0, description="RMS noise of each torque reading [N m]")
    torque_resolution: float = Field(ge=0.0, le=1.0, description="one count of torque [N m]")
    position_gain: float = Field(ge=0.0, le=1e7, description="servo gain on the angle error [N m/rad]")
    integral_gain: float = Field(ge=0.0, le=1e9, description="servo gain on the integral of the error [N m/(rad s)]")
    velocity_gain: float = Field(ge=0.0, le=1e5, description="servo gain on the velocity error [N m s/rad]")
    compensation: Literal["none", "model_c", "parallel"] = Field(description="friction feedforward, none: without")
    compensation_coulomb: float = Field(gt=0.0, le=200.0, description="predicted Coulomb friction [N m]")
    compensation_viscous: float = Field(ge=0.0, le=100.0, description="predicted viscous friction [N m s/rad]")
    compensation_displacement: float = Field(ge=1e-5, le=0.1, description="predicted angle of presliding [rad]")
    compensation_elements: int = Field(ge=1, le=20, description="models C per joint of compensation parallel [-]")


class LinkInertia(NamedTuple):
    """Constants M_11, M_22 and h of the links' mass matrix [kg m^2], see `simulation`."""

    m11: float
    m22: float
    h: float


def inertia_constants(p: FiveBarParameters, tool_mass: float) -> LinkInertia:
    """Computes M_11, M_22 and h [kg m^2] of the equations in `simulation`, for a mass m_t [kg] at the tool."""
    a1, a2, b = p.length_upper_arm, p.length_forearm, p.length_crank
    centre = (a2 - b) / 2.0
    m11 = (p.mass_upper_arm + p.mass_coupling_rod) * a1**2 / 3.0 + (p.mass_forearm + tool_mass) * a1**2
    m22 = (p.mass_crank / 3.0 + p.mass_coupling_rod) * b**2 + tool_mass * a2**2
    m22 += p.mass_forearm * ((a2 + b) ** 2 / 12.0 + centre**2)
    return LinkInertia(m11, m22, a1 * (p.mass_forearm * centre + tool_mass * a2 - p.mass_coupling_rod * b / 2.0))
