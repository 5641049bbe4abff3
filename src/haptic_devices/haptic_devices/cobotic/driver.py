"""Driver of the display: converts a commanded motion to the command of the velocity servo."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.cobotic.kinematics import bias, inverse, joint_rates
from haptic_devices.cobotic.records import Driver
from haptic_devices.components.commanded_motion import CommandedMotion
from haptic_devices.components.joint_rates import limit_rates
from haptic_math.array_assignment import assign


@njit(cache=True)
def aim(motion: CommandedMotion, measured: np.ndarray, driver: Driver, period: float) -> None:
    """Advances the target by a commanded motion, and computes the servo's command.

    Args:
        motion: commanded motion.
        measured: joint positions (6,).
        driver: target and command are updated.
        period: control period T [s].
    """
    fields, limits, unclipped = motion.fields, driver.limits, driver.unclipped
    q, qd, qdd = driver.target[0], driver.target[1], driver.target[2]
    velocity, acceleration = driver.command[0], driver.command[1]
    qd[:] = 0.0
    qdd[:] = 0.0
    if fields & POSITION:
        if motion.by_joints[0]:
            assign(unclipped, motion.joint_position)
        else:
            inverse(motion.pose, unclipped.copy(), unclipped)
        assign(q, unclipped)
    elif fields & VELOCITY:
        assign(q, measured)
    for i in range(6):
        q[i] = min(max(q[i], -limits[i]), limits[i])
    if fields & VELOCITY:
        if motion.by_joints[1]:
            assign(qd, motion.joint_velocity)
        else:
            joint_rates(q, motion.twist, qd)
        limit_rates(qd, driver.speeds)
        if fields & ACCELERATION:
            rate = motion.acceleration.copy()
            angular = np.empty(3)
            bias(q, qd, angular)
            for i in range(3):
                rate[3 + i] -= angular[i]
            joint_rates(q, rate, qdd)
        if not fields & POSITION:
            q += period * qd
            assign(unclipped, q)
    for i in range(6):
        if abs(q[i]) >= limits[i]:
            q[i] = math.copysign(limits[i], q[i])
            if q[i] * qd[i] > 0.0:
                qd[i] = qdd[i] = 0.0
    gain = driver.gain if fields & POSITION or not fields & VELOCITY else 0.0
    for i in range(6):
        velocity[i] = qd[i] + gain * (q[i] - period * qd[i] - measured[i])
        acceleration[i] = qdd[i]
