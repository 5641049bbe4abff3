"""Driver of the manipulator: converts a commanded motion to the servo's target; and the servo."""

from __future__ import annotations

import numpy as np
from numba import njit

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.components.joint_rates import limit_rates
from haptic_devices.five_bar.kinematics import inverse, joint_rates, stop


@njit(cache=True)
def aim(
    geometry: np.ndarray,
    inertia: np.ndarray,
    speeds: np.ndarray,
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    period: float,
    target: np.ndarray,
) -> None:
    """Advances the servo's target by a commanded motion.

    Args:
        geometry: geometry of the linkage.
        inertia: M_11, M_22, h of motors and links up to the force sensor.
        speeds: largest speeds of the joints (2,) [rad/s].
        fields: fields of the `Motion`; 0 holds the target's position.
        motion: x, y, velocity (2), acceleration (2) of the tool, joint positions (2), joint velocities (2).
        by_joints: (2,) whether the joint positions and velocities replace those of the tool.
        period: control period T [s].
        target: joint positions (2), velocities (2), rigid-body feedforward (2); updated.
    """
    q, qd, torque = target[0:2], target[2:4], target[4:6]
    qd[:] = 0.0
    torque[:] = 0.0
    if fields & POSITION:
        if by_joints[0]:
            q[:] = motion[6:8]
        else:
            inverse(geometry, motion[0], motion[1], q)
    stop(geometry, q)
    if fields & VELOCITY:
        if by_joints[1]:
            qd[:] = motion[8:10]
        else:
            joint_rates(geometry, q, motion[2], motion[3], qd)
        limit_rates(qd, speeds)
    if not fields & POSITION:
        q += period * qd
    blocked = stop(geometry, q)
    for i in range(2):
        if blocked & (1 << i):
            qd[i] = 0.0
    if fields & ACCELERATION and not blocked:
        qdd = np.zeros(2)
        ax = motion[4] + geometry[0] * np.cos(q[0]) * qd[0] ** 2 + geometry[1] * np.cos(q[1]) * qd[1] ** 2
        ay = motion[5] + geometry[0] * np.sin(q[0]) * qd[0] ** 2 + geometry[1] * np.sin(q[1]) * qd[1] ** 2
        joint_rates(geometry, q, ax, ay, qdd)
        coupling, rotation = inertia[2] * np.cos(q[0] - q[1]), inertia[2] * np.sin(q[0] - q[1])
        torque[0] = inertia[0] * qdd[0] + coupling * qdd[1] + rotation * qd[1] ** 2
        torque[1] = inertia[1] * qdd[1] + coupling * qdd[0] - rotation * qd[0] ** 2


@njit(cache=True)
def servo(
    target: np.ndarray,
    measured: np.ndarray,
    added: np.ndarray,
    gains: np.ndarray,
    integral: np.ndarray,
    effort: np.ndarray,
) -> None:
    """Computes the motors' torques (2,) [N m] by PID control of the joint angles with a velocity target.

    The integral part stays constant while the torque is at its limit and would grow further (anti-windup).

    Args:
        target: target from `aim`.
        measured: joint positions (2) and velocities (2) of the encoders.
        added: (2,) feedforward of friction [N m].
        gains: position gain, integral gain times T, velocity gain, torque limit.
        integral: (2,) integral part [N m]; updated.
        effort: result.
    """
    proportional, summed, derivative, limit = gains
    for i in range(2):
        error = target[i] - measured[i]
        torque = proportional * error + derivative * (target[2 + i] - measured[2 + i]) + target[4 + i] + added[i]
        torque += integral[i] + summed * error
        effort[i] = min(max(torque, -limit), limit)
        if effort[i] == torque or error * torque < 0.0:
            integral[i] += summed * error
