"""Apparent inertia of the held tool over one period."""

from __future__ import annotations

import numpy as np

from haptic_devices.tau.device import Tau
from tau_wall_control.device.rotations import rotation_from_quaternion


def apparent_inertia(device: Tau, pose: np.ndarray, twist: np.ndarray, grip: float, period: float) -> np.ndarray:
    """Computes the apparent inertia at the tool over one period (3, 3) [kg], its rotation free, in the base frame.

    It consists of the inertia of mechanism and hand, and half the period times the slopes over velocity of the actuated
    joints' friction and of the hand's damping. The passive elbows' friction is left out, 0.01 % with the suite's
    numbers. Under a constant force the velocity is a ramp, whose mean has half the change of its end.

    Args:
        device: the device, with its hand.
        pose: position [m] and quaternion (x, y, z, w) of the tool (7,).
        twist: velocity [m/s] and angular velocity [rad/s] of the tool (6,).
        grip: fraction of the hand that holds the tool, from 0 to 1.
        period: T [s].
    """
    mechanism, hand = device.mechanism, device.hand
    d, f = mechanism.dynamics(pose[:3], rotation_from_quaternion(pose[3:])), mechanism.parameters.friction
    G, v = d.actuated_map, f.coulomb_smoothing_speed
    slope = f.viscous_actuated + f.coulomb_actuated / v / np.cosh(np.clip(G @ twist / v, -300.0, 300.0)) ** 2
    M = d.mass_matrix + 0.5 * period * (G.T * slope) @ G
    if hand is not None:
        damping = np.repeat([hand.parameters.damping, hand.parameters.rotational_damping], 3)
        M = M + grip * np.diag(hand.arrays.inertia + 0.5 * period * damping)
    return np.linalg.inv(np.linalg.inv(M)[:3, :3])
