"""Driver of the manipulator: converts a commanded motion to the servo's target; and the servo."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.components.commanded_motion import CommandedMotion, commanded
from haptic_devices.components.joint_rates import limit_rates
from haptic_devices.five_bar.kinematics import Linkage, inverse, joint_rates, linkage_of, stop
from haptic_devices.five_bar.parameters import LinkInertia
from haptic_math.array_assignment import assign


@njit(cache=True)
def aim(
    linkage: Linkage,
    inertia: LinkInertia,
    speeds: np.ndarray,
    motion: CommandedMotion,
    period: float,
    target: np.ndarray,
) -> None:
    """Advances the servo's target by a commanded motion.

    Args:
        linkage: geometry of the linkage.
        inertia: inertia of motors and links up to the force sensor.
        speeds: largest speeds of the joints (2,) [rad/s].
        motion: commanded motion, of which x and y of the tool are used.
        period: control period T [s].
        target: rows joint positions, velocities, rigid-body feedforward (3, 2); updated.
    """
    q, qd, torque = target[0], target[1], target[2]
    fields, by_joints = motion.fields, motion.by_joints
    qd[:] = 0.0
    torque[:] = 0.0
    if fields & POSITION:
        if by_joints[0]:
            assign(q, motion.joint_position)
        else:
            inverse(linkage, motion.pose[0], motion.pose[1], q)
    stop(linkage, q)
    if fields & VELOCITY:
        if by_joints[1]:
            assign(qd, motion.joint_velocity)
        else:
            joint_rates(linkage, q, motion.twist[0], motion.twist[1], qd)
        limit_rates(qd, speeds)
    if not fields & POSITION:
        q += period * qd
    blocked = stop(linkage, q)
    for i in range(2):
        if blocked & (1 << i):
            qd[i] = 0.0
    if fields & ACCELERATION and not blocked:
        a1, a2, qdd = linkage.upper_arm, linkage.forearm, np.zeros(2)
        ax = motion.acceleration[0] + a1 * np.cos(q[0]) * qd[0] ** 2 + a2 * np.cos(q[1]) * qd[1] ** 2
        ay = motion.acceleration[1] + a1 * np.sin(q[0]) * qd[0] ** 2 + a2 * np.sin(q[1]) * qd[1] ** 2
        joint_rates(linkage, q, ax, ay, qdd)
        coupling, rotation = inertia.h * np.cos(q[0] - q[1]), inertia.h * np.sin(q[0] - q[1])
        torque[0] = inertia.m11 * qdd[0] + coupling * qdd[1] + rotation * qd[1] ** 2
        torque[1] = inertia.m22 * qdd[1] + coupling * qdd[0] - rotation * qd[0] ** 2


@njit(cache=True)
def update_target(
    linkage: np.ndarray,
    inertia: np.ndarray,
    speeds: np.ndarray,
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    period: float,
    target: np.ndarray,
) -> None:
    """Calls `aim` with the records of arrays, which Numba takes from Python in less time.

    Args:
        linkage, inertia: numbers of `Linkage` and of `LinkInertia`.
        fields, motion, by_joints: fields of the motion and arrays of a `MotionArrays`.
        speeds, period, target: as in `aim`.
    """
    motion_record = commanded(fields, motion, by_joints, 2)
    aim(linkage_of(linkage), LinkInertia(*to_fixed_tuple(inertia, 3)), speeds, motion_record, period, target)


@njit(cache=True)
def servo(
    target: np.ndarray,
    position: np.ndarray,
    velocity: np.ndarray,
    added: np.ndarray,
    gains: np.ndarray,
    integral: np.ndarray,
    effort: np.ndarray,
) -> None:
    """Computes the motors' torques (2,) [N m] by PID control of the joint angles with a velocity target.

    The integral part stays constant while the torque is at its limit and would grow further (anti-windup).

    Args:
        target: target from `aim`.
        position, velocity: measured positions and velocities of the joints (2,) [rad], [rad/s].
        added: (2,) feedforward of friction [N m].
        gains: position gain, integral gain times T, velocity gain, torque limit.
        integral: (2,) integral part [N m]; updated.
        effort: result.
    """
    proportional, summed, derivative, limit = gains
    wanted, rate, feedforward = target[0], target[1], target[2]
    for i in range(2):
        error = wanted[i] - position[i]
        torque = proportional * error + derivative * (rate[i] - velocity[i]) + feedforward[i] + added[i]
        torque += integral[i] + summed * error
        effort[i] = min(max(torque, -limit), limit)
        if effort[i] == torque or error * torque < 0.0:
            integral[i] += summed * error
