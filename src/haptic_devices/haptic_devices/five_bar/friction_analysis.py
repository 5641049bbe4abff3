"""Joint friction of the manipulator after a run: its torques, their compensation, and the forces at the tool.

Rows of arrays are the n ticks of a run, at intervals of T.
"""

from __future__ import annotations

import numpy as np

from haptic_devices.components import joint_friction
from haptic_devices.five_bar.device import FiveBar, make_compensation
from haptic_devices.five_bar.kinematics import inverse, joint_rates, tool_jacobian


def tool_jacobians(device: FiveBar, joints: np.ndarray) -> np.ndarray:
    """Computes the Jacobians (n, 2, 2) of the tool's x and y at joint angles (n, 2) [rad]."""
    found = np.zeros((len(joints), 6, 2))
    for row, q in enumerate(joints):
        tool_jacobian(device.geometry, q, found[row])
    return found[:, :2]


def friction_torque(device: FiveBar, joints: np.ndarray, period: float) -> np.ndarray:
    """Computes the mean friction torque of the joints in the period before each tick (n, 2) [N m].

    Args:
        device: the manipulator.
        joints: true angles of the motors (n, 2) [rad].
        period: control period T [s].
    """
    return np.asarray(joint_friction.history(device.friction, np.ascontiguousarray(joints), period))


def compensation_torque(device: FiveBar, position: np.ndarray, velocity: np.ndarray, period: float) -> np.ndarray:
    """Computes the torque that the servo's friction compensation added in the period before each tick (n, 2) [N m].

    Args:
        device: the manipulator.
        position: commanded position of the tool (n, 2) [m].
        velocity: commanded velocity of the tool (n, 2) [m/s].
        period: control period T [s].
    """
    p = device.parameters
    torque, q, rates = np.zeros((len(position), 2)), np.zeros(2), np.zeros(2)
    if p.compensation == "none":
        return torque
    compensation = make_compensation(p, period)
    for row in range(len(position) - 1):
        inverse(device.geometry, position[row, 0], position[row, 1], q)
        joint_rates(device.geometry, q, velocity[row, 0], velocity[row, 1], rates)
        torque[row + 1] = compensation.step(rates)
    return torque


def tool_forces(device: FiveBar, joints: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Computes the forces at the tool that balance joint torques, J^-T tau (n, 2) [N].

    Args:
        device: the manipulator.
        joints: joint angles (n, 2) [rad].
        torque: joint torques tau (n, 2) [N m].
    """
    return np.linalg.solve(tool_jacobians(device, joints).transpose(0, 2, 1), torque[:, :, None])[:, :, 0]


def coulomb_forces(device: FiveBar, q: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Computes the forces at the tool (k, 2) [N] against the joints' kinetic Coulomb friction, by direction of motion.

    In a direction in which one joint is at rest, the torque of its friction has any value from minus to plus the
    Coulomb torque; here it has a limit, as if the joint turned a little.

    Args:
        device: the manipulator.
        q: joint angles (2,) [rad].
        direction: directions of the tool's motion (k,) [rad].
    """
    unit = np.column_stack((np.cos(direction), np.sin(direction)))
    J = tool_jacobians(device, q[None])[0]
    return np.linalg.solve(J.T, device.parameters.friction_coulomb * np.copysign(1.0, np.linalg.solve(J, unit.T))).T
