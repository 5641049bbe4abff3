"""Driver of the display: converts a commanded motion to the command of the velocity servo."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.cobotic.kinematics import bias, inverse, joint_rates
from haptic_devices.components.joint_rates import limit_rates


@njit(cache=True)
def aim(
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    measured: np.ndarray,
    limits: np.ndarray,
    speeds: np.ndarray,
    gain: float,
    period: float,
    target: np.ndarray,
    unclipped: np.ndarray,
    command: np.ndarray,
) -> None:
    """Advances the target by a commanded motion, and computes the servo's command.

    Args:
        fields: fields of the `Motion`; 0 holds the target's position.
        motion: pose (7), twist (6), acceleration (6), joint positions (6), joint velocities (6).
        by_joints: (2,) whether the joint positions and velocities replace pose and twist.
        measured: joint positions (6).
        limits: (6,) stops [m], [rad].
        speeds: largest speeds of the joints (6,) [m/s], [rad/s].
        gain: gain of the outer loop [1/s].
        period: control period T [s].
        target: joint positions (6), velocities (6), accelerations (6); updated.
        unclipped: (6,) positions before the limitation to the stops; the inverse kinematics selects the revolution
            nearest to them; updated.
        command: velocities (6) and accelerations (6) for the servo; result.
    """
    q, qd, qdd = target[0:6], target[6:12], target[12:18]
    qd[:] = 0.0
    qdd[:] = 0.0
    if fields & POSITION:
        if by_joints[0]:
            unclipped[:] = motion[19:25]
        else:
            inverse(motion[0:7], unclipped.copy(), unclipped)
        q[:] = unclipped
    elif fields & VELOCITY:
        q[:] = measured
    for i in range(6):
        q[i] = min(max(q[i], -limits[i]), limits[i])
    if fields & VELOCITY:
        if by_joints[1]:
            qd[:] = motion[25:31]
        else:
            joint_rates(q, motion[7:13], qd)
        limit_rates(qd, speeds)
        if fields & ACCELERATION:
            rate = motion[13:19].copy()
            angular = np.empty(3)
            bias(q, qd, angular)
            rate[3:6] -= angular
            joint_rates(q, rate, qdd)
        if not fields & POSITION:
            q += period * qd
            unclipped[:] = q
    for i in range(6):
        if abs(q[i]) >= limits[i]:
            q[i] = math.copysign(limits[i], q[i])
            if q[i] * qd[i] > 0.0:
                qd[i] = qdd[i] = 0.0
    position_gain = gain if fields & POSITION or not fields & VELOCITY else 0.0
    for i in range(6):
        command[i] = qd[i] + position_gain * (q[i] - period * qd[i] - measured[i])
        command[6 + i] = qdd[i]
