"""The simulated hand with six degrees of freedom: translation and rotation, and a grip that may open.

The muscles exert at the tool point, in the device's base frame,

    F = grip (K (x_d - x) + B (v_d - v) + F_tremor + F_plan)
    M = grip (K_r phi + B_r (omega_d - omega) + M_tremor + M_plan)

where phi is the rotation vector of R_d R^T, from the tool's orientation R to the wanted one; targets, extra wrench
and grip come from a `SpatialPlan`. Mass m and rotational inertia J (the same about every axis) move with the tool, so
the wrench of the hand on the tool is

    f = F - grip m a,    n = M - grip J alpha

At a grip of 0 the tool is released: the wrench is exactly zero. The tremor is that of `operator`, in six axes.
"""

from __future__ import annotations

import copy

import numpy as np
from numba import njit
from pydantic import Field

from haptic_devices.device import DeviceParameters
from haptic_devices.hands.operator import Hand, HandArrays, add_tremor, make_tremor
from haptic_devices.motions.spatial import (
    COLUMN_COUNT,
    GRIP,
    POSITION,
    QUATERNION,
    QUATERNION_W,
    TWIST,
    WRENCH,
    SpatialPlan,
)
from haptic_math.rotations import vector_entries

#: a spatial hand that has released the tool, with its target at the origin
RELEASED = HandArrays(np.eye(1, COLUMN_COUNT, QUATERNION_W), np.zeros((0, 13)), np.zeros(4), np.zeros(6))


class SpatialHandParameters(DeviceParameters):
    """Impedance of hand and wrist at the tool point, and tremor."""

    mass: float = Field(ge=0.0, le=5.0, description="mass of the hand that moves with the tool m [kg]")
    rotational_inertia: float = Field(ge=0.0, le=0.1, description="its inertia about the tool point J [kg m^2]")
    stiffness: float = Field(ge=0.0, le=5000.0, description="stiffness K towards the target [N/m]")
    damping: float = Field(ge=0.0, le=200.0, description="damping B towards the target's velocity [N s/m]")
    rotational_stiffness: float = Field(ge=0.0, le=50.0, description="rotational stiffness K_r [N m/rad]")
    rotational_damping: float = Field(ge=0.0, le=2.0, description="rotational damping B_r [N m s/rad]")
    tremor_force: float = Field(ge=0.0, le=5.0, description="RMS of the tremor force, all axes together [N]")
    tremor_torque: float = Field(ge=0.0, le=0.5, description="RMS of the tremor moment, all axes together [N m]")
    tremor_low: float = Field(gt=0.0, le=50.0, description="lowest tremor frequency [Hz]")
    tremor_high: float = Field(gt=0.0, le=50.0, description="highest tremor frequency [Hz]")


_vector_entries = njit(cache=True)(vector_entries)


@njit(cache=True)
def rotation_error(wanted: np.ndarray, present: np.ndarray, vector: np.ndarray) -> None:
    """Writes the rotation vector (3,) [rad] from one orientation to another, of length pi or less.

    R_wanted = exp([vector]) R_present, in the frame of both orientations; exact near 0 and near pi.

    Args:
        wanted: unit quaternion x, y, z, w.
        present: unit quaternion x, y, z, w.
        vector: result.
    """
    a, b = wanted, present
    w = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]  # of wanted times conjugate of present
    vector[0] = b[3] * a[0] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    vector[1] = b[3] * a[1] - a[3] * b[1] - a[2] * b[0] + a[0] * b[2]
    vector[2] = b[3] * a[2] - a[3] * b[2] - a[0] * b[1] + a[1] * b[0]
    vector[0], vector[1], vector[2] = _vector_entries(vector[0], vector[1], vector[2], w)


@njit(cache=True)
def muscle_wrench(
    hand: HandArrays, target: np.ndarray, time: float, pose: np.ndarray, twist: np.ndarray, wrench: np.ndarray
) -> None:
    """Writes the muscles' wrench (6,) [N], [N m] on the tool.

    Args:
        hand: impedance and tremor.
        target: one row of a plan's table.
        time: time since the start [s].
        pose: pose of the tool (7,).
        twist: twist of the tool (6,).
        wrench: result.
    """
    grip = target[GRIP]
    if grip == 0.0:
        wrench[:] = 0.0
        return
    impedance = hand.impedance
    position, velocity, extra = target[POSITION], target[TWIST], target[WRENCH]
    rotation_error(target[QUATERNION], pose[3:7], wrench[3:6])
    for i in range(3):
        wrench[i] = impedance[0] * (position[i] - pose[i])
        wrench[3 + i] *= impedance[2]
    for i in range(6):
        wrench[i] += impedance[1 + 2 * (i // 3)] * (velocity[i] - twist[i]) + extra[i]
    add_tremor(hand.tremor, time, wrench)
    wrench *= grip


class SpatialHand(Hand):
    """A spatial hand.

    Args:
        parameters: impedance and tremor.
        plan: intended motion and force of the hand.
        seed: seed of the tremor.
    """

    parameters: SpatialHandParameters

    def __init__(self, parameters: SpatialHandParameters, plan: SpatialPlan, seed: int) -> None:
        p = self.parameters = parameters
        self.plan = plan
        self.stiffness = (p.stiffness, p.rotational_stiffness)
        rms, random = (p.tremor_force, p.tremor_torque), np.random.default_rng(seed)
        self.arrays = HandArrays(
            np.ascontiguousarray(plan.table),
            make_tremor(rms, 3, p.tremor_low, p.tremor_high, random),
            np.array([p.stiffness, p.damping, p.rotational_stiffness, p.rotational_damping]),
            np.repeat([p.mass, p.rotational_inertia], 3),
        )

    def playing(self, plan: SpatialPlan) -> SpatialHand:
        """Returns a hand with the same impedance and tremor that follows another plan."""
        other = copy.copy(self)
        other.plan, other.arrays = plan, self.arrays._replace(table=np.ascontiguousarray(plan.table))
        return other
