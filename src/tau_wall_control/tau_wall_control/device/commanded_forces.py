"""Forces that commanded efforts exert on the tool beyond its weight, at the poses of a run; rows are ticks."""

from __future__ import annotations

import numpy as np

from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.device.tau_device import TauDevice


def forces_beyond_weight(device: TauDevice, poses: np.ndarray, efforts: np.ndarray) -> np.ndarray:
    """Computes the linear part of G^T (tau - tau_g), shape (n, 3) [N]; zero where no effort is commanded.

    Args:
        device: the device as its controller knows it.
        poses: positions [m] and quaternions (x, y, z, w) of the tool, shape (n, 7).
        efforts: tau, with the weight's [N m], shape (n, 6).
    """
    result = np.zeros((len(poses), 3))
    for k, (pose, effort) in enumerate(zip(poses, efforts, strict=True)):
        if effort.any():
            d = device.dynamics(pose[:3], rotation_from_quaternion(pose[3:]))
            result[k] = (d.actuated_map.T @ effort - d.gravity_force)[:3]
    return result


def limited_forces(
    device: TauDevice, poses: np.ndarray, rates: np.ndarray, efforts: np.ndarray, tool_forces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Adds forces at the tool to efforts, within the motors' limits.

    Args:
        device: the device as its controller knows it.
        poses: positions [m] and quaternions (x, y, z, w) of the tool, shape (n, 7).
        rates: rates of the actuated joints [rad/s], shape (n, 6).
        efforts: efforts of the first controller, with the weight's [N m], shape (n, 6).
        tool_forces: forces of the second one [N], shape (n, 3).

    Returns:
        Sum of the efforts (n, 6) [N m], and their force (n, 3) [N] and power (n,) [W] beyond the weight.
    """
    total, force, power = np.empty_like(efforts), np.empty((len(efforts), 3)), np.empty(len(efforts))
    for k, (pose, rate, one) in enumerate(zip(poses, rates, efforts, strict=True)):
        d = device.dynamics(pose[:3], rotation_from_quaternion(pose[3:]))
        G = d.actuated_map
        total[k] = one + np.linalg.solve(G.T, np.concatenate([tool_forces[k], np.zeros(3)]))
        wrench = G.T @ device.saturated(total[k]) - d.gravity_force
        force[k], power[k] = wrench[:3], float(wrench @ np.linalg.solve(G, rate))
    return total, force, power
