"""The simulated 6-DOF TAU device, held by a simulated hand: the mechanism of `tau_wall_control` with its sensors.

Platform pose and twist are the coordinates (`tau_wall_control.device.kernels`). With the hand's mass m and rotational
inertia J at the tool point (the same about every axis, so it has no gyroscopic moment), grip g, and the muscles'
wrench w_h (`spatial_hand`), the equation of motion is

    (M_x + g diag(m I, J I)) V' + n_x + g_x = G^T tau + w_h + w_stop

It is integrated by RK4. Torque, plan and grip are constant in a period; the wrenches of muscles and stops are computed
in every stage. The arm supports the hand's weight. End stops are unilateral springs with dampers on the tool: in
translation along each axis beyond a range, in rotation against the rotation vector from home. The motors exert at
most their peak torque, without lag.

The driver quantises the joint angles, differentiates and filters them, and finds the measured pose by Newton's method
from the last one. The base frame is the world frame of the mechanism: x right, y up, z towards the user, origin in the
middle of the workspace. There is no force sensor.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

from haptic_devices.components import encoder
from haptic_devices.components.device_values import views_of
from haptic_devices.device import DeviceValues
from haptic_devices.hands.operator import HandArrays, hand_of, planned_row
from haptic_devices.hands.spatial_hand import muscle_wrench, rotation_error
from haptic_devices.motions.spatial import GRIP, POSE
from haptic_math.array_assignment import assign
from tau_wall_control.device import kernels
from tau_wall_control.device.arrays import MechanismArrays


class EndStops(NamedTuple):
    """Unilateral springs with dampers on the tool.

    Attributes:
        reach: stop of the translation along each axis, from home [m].
        stiffness: stiffness of the translation's stops [N/m].
        damping: damping of the translation's stops [N s/m].
        angle: stop of the rotation from home [rad].
        rotational_stiffness: stiffness of the rotation's stop [N m/rad].
        rotational_damping: damping of the rotation's stop [N m s/rad].
    """

    reach: float
    stiffness: float
    damping: float
    angle: float
    rotational_stiffness: float
    rotational_damping: float


class MeasuredPose(NamedTuple):
    """Pose of the tool that the driver finds from the encoders.

    Attributes:
        position: p (3,) [m]; updated.
        rotation: R (3, 3), tool to base; updated.
        jacobian: Jacobian at this pose (6, 6); updated.
    """

    position: np.ndarray
    rotation: np.ndarray
    jacobian: np.ndarray


@njit(cache=True)
def stop_wrench(stops: EndStops, pose: np.ndarray, twist: np.ndarray, wrench: np.ndarray) -> None:
    """Adds the wrench of the end stops to a wrench (6,) on the tool.

    Args:
        stops: end stops.
        pose: pose of the tool (7,).
        twist: twist of the tool (6,).
        wrench: wrench on the tool (6,); updated.
    """
    for i in range(3):
        if abs(pose[i]) > stops.reach:
            side = math.copysign(1.0, pose[i])
            push = stops.stiffness * (abs(pose[i]) - stops.reach) + side * stops.damping * twist[i]
            wrench[i] -= side * max(0.0, push)
    home, axis = np.array((0.0, 0.0, 0.0, 1.0)), np.empty(3)
    rotation_error(pose[3:7], home, axis)
    angle = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    if angle > stops.angle:
        axis /= angle
        rate = axis[0] * twist[3] + axis[1] * twist[4] + axis[2] * twist[5]
        moment = max(0.0, stops.rotational_stiffness * (angle - stops.angle) + stops.rotational_damping * rate)
        for i in range(3):
            wrench[3 + i] -= moment * axis[i]


@njit(cache=True, error_model="numpy")
def state_rate(state: np.ndarray, acceleration: np.ndarray, rate: np.ndarray) -> None:
    """Writes the time derivative (13,) of a state (13,), see `integrate`, for an acceleration V' (6,)."""
    x, y, z, w, a, b, c = state[3], state[4], state[5], state[6], state[10], state[11], state[12]
    rate[0], rate[1], rate[2] = state[7], state[8], state[9]
    rate[3] = 0.5 * (w * a + b * z - c * y)
    rate[4] = 0.5 * (w * b + c * x - a * z)
    rate[5] = 0.5 * (w * c + a * y - b * x)
    rate[6] = -0.5 * (a * x + b * y + c * z)
    assign(rate[7:], acceleration)


@njit(cache=True, error_model="numpy")
def integrate(
    mechanism: MechanismArrays,
    state: np.ndarray,
    torque: np.ndarray,
    hand: HandArrays,
    target: np.ndarray,
    stops: EndStops,
    time: float,
    dt: float,
    muscles: np.ndarray,
) -> int:
    """Advances the state [p (3), unit quaternion x, y, z, w (4), V (6)] by an RK4 step; on failure the state stays.

    Args:
        mechanism: constants of the mechanism.
        state: (13,); updated.
        torque: torques of the joints (6,) [N m].
        hand: the hand.
        target: row of the hand's plan (20,); grip 0: released.
        stops: end stops.
        time: time at the beginning of the step [s].
        dt: length of the step [s].
        muscles: (6,) integral of the muscles' wrench over time, to which that of this step is added.

    Returns:
        Result code of `kernels`.
    """
    chains, base, platform = mechanism
    q, H, bias, M = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3)), np.empty((6, 6))
    n, g, R = np.empty(6), np.empty(6), np.empty((3, 3))
    s, rates, total, wrench = state.copy(), np.empty(13), np.zeros(13), np.empty(6)
    for stage in range(4):
        ahead = 0.0 if stage == 0 else (dt if stage == 3 else 0.5 * dt)
        if stage > 0:
            for k in range(13):
                s[k] = state[k] + ahead * rates[k]
        kernels.rotation_of(s[3:7], R)
        code = kernels.assemble(chains, base, platform, s[:3], R, s[7:], q, H, M, n, g, bias)
        if code != kernels.OK:
            return code
        muscle_wrench(hand, target, time + ahead, s[:7], s[7:], wrench)
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        for k in range(6):
            muscles[k] += weight / 6.0 * dt * wrench[k]
            M[k, k] += target[GRIP] * hand.inertia[k]
        stop_wrench(stops, s[:7], s[7:], wrench)
        for k in range(6):
            wrench[k] -= n[k] + g[k]
            for i in range(3):
                wrench[k] += H[i, 0, k] * torque[2 * i] + H[i, 1, k] * torque[2 * i + 1]
        kernels.cholesky_solve(M, wrench)
        state_rate(s, wrench, rates)
        for k in range(13):
            total[k] += weight / 6.0 * dt * rates[k]
    for k in range(13):
        s[k] = state[k] + total[k]
    length = math.sqrt(s[3] ** 2 + s[4] ** 2 + s[5] ** 2 + s[6] ** 2)
    for k in range(3, 7):
        s[k] /= length
    kernels.rotation_of(s[3:7], R)
    code = kernels.chain_angles(chains, base, s[:3], R, q)
    if code == kernels.OK:
        assign(state, s)
    return code


@njit(cache=True, error_model="numpy")
def observe(
    mechanism: MechanismArrays,
    state: np.ndarray,
    truth: DeviceValues,
    reading: DeviceValues,
    measured: MeasuredPose,
    encoders: np.ndarray,
    settled: bool,
) -> int:
    """Fills joints and tool of `Truth` from the state, and those of `Reading` from the encoder counts.

    Args:
        mechanism: constants of the mechanism.
        state: (13,) state, see `integrate`.
        truth, reading: true state and values of the sensors; updated.
        measured: measured pose of the last period; updated.
        encoders: constants of `encoder.sample`.
        settled: whether the device has been at rest; then the measured velocity is zero.

    Returns:
        Result code of `kernels`.
    """
    chains, base, _ = mechanism
    p, R, jacobian = measured
    q, H, G, rotation = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((6, 6)), np.empty((3, 3))
    kernels.rotation_of(state[3:7], rotation)
    code = kernels.chain_angles(chains, base, state[:3], rotation, q)
    if code == kernels.OK:
        code = kernels.chain_maps(chains, base, rotation, q, H)
    if code != kernels.OK:
        return code
    kernels.actuated(q, truth.position)
    kernels.actuated_map(H, G)
    truth.velocity[:] = 0.0
    for i in range(6):
        for k in range(6):
            truth.velocity[i] += G[i, k] * state[7 + k]
    assign(truth.tool_pose, state[:7])
    assign(truth.tool_twist, state[7:])
    if settled:
        for i in range(6):
            reading.position[i] = encoder.quantise(truth.position[i], encoders[encoder.RESOLUTION])
            reading.velocity[i] = 0.0
    else:
        encoder.sample(truth.position, encoders, reading.position, reading.velocity)
    assign(reading.effort, truth.effort)
    code, _ = kernels.forward_kinematics(chains, base, reading.position, p, R, 1e-11)
    if code == kernels.OK:
        code = kernels.chain_angles(chains, base, p, R, q)
    if code == kernels.OK:
        code = kernels.chain_maps(chains, base, R, q, H)
    if code != kernels.OK:
        return code
    kernels.actuated_map(H, G)
    jacobian[:] = 0.0
    for i in range(6):
        jacobian[i, i] = 1.0
    if not kernels.gauss_solve(G, jacobian):
        return kernels.FK_DIVERGED
    pose, twist = reading.tool_pose, reading.tool_twist
    assign(pose[0:3], p)
    w = 0.5 * math.sqrt(1.0 + R[0, 0] + R[1, 1] + R[2, 2])  # never near 0: the stop's range is at most 3 rad
    pose[3], pose[4] = (R[2, 1] - R[1, 2]) / (4.0 * w), (R[0, 2] - R[2, 0]) / (4.0 * w)
    pose[5], pose[6] = (R[1, 0] - R[0, 1]) / (4.0 * w), w
    twist[:] = 0.0
    for i in range(6):
        for k in range(6):
            twist[i] += jacobian[i, k] * reading.velocity[k]
    return kernels.OK


@njit(cache=True, error_model="numpy")
def pass_period(
    mechanism_arrays: tuple[np.ndarray, ...],
    state: np.ndarray,
    truth_values: np.ndarray,
    reading_values: np.ndarray,
    measured_arrays: tuple[np.ndarray, ...],
    hand_arrays: tuple[np.ndarray, ...],
    peak_torque: float,
    stop_numbers: np.ndarray,
    encoders: np.ndarray,
    start: int,
    substeps: int,
) -> int:
    """Simulates control period number `start`: physics, encoders, measured pose.

    Args:
        mechanism_arrays, measured_arrays, hand_arrays: `MechanismArrays`, `MeasuredPose` and `HandArrays` as plain
            tuples.
        state: (13,) state, see `integrate`; updated.
        truth_values, reading_values: values of `Truth` and `Reading`; updated. The true effort is an input, which is
            limited.
        peak_torque: largest torque of a motor [N m].
        stop_numbers: numbers of `EndStops`.
        encoders: constants of `encoder.sample`.
        start: number of the period.
        substeps: steps of the integration.

    Returns:
        Result code of `kernels`.
    """
    truth, reading, hand = views_of(truth_values, 6), views_of(reading_values, 6), hand_of(hand_arrays)
    mechanism, measured = MechanismArrays(*mechanism_arrays), MeasuredPose(*measured_arrays)
    stops, period = EndStops(*to_fixed_tuple(stop_numbers, 6)), encoders[encoder.PERIOD]
    for i in range(6):
        truth.effort[i] = min(max(truth.effort[i], -peak_torque), peak_torque)
    target = planned_row(hand, start)
    muscles, before = np.zeros(6), state[7:].copy()
    for step in range(substeps):
        dt = period / substeps
        time = start * period + step * dt
        code = integrate(mechanism, state, truth.effort, hand, target, stops, time, dt, muscles)
        if code != kernels.OK:
            return code
    for k in range(6):  # part of the muscles' force accelerates the hand's own mass
        own = target[GRIP] * hand.inertia[k] * (state[7 + k] - before[k])
        truth.tool_wrench[k] = (muscles[k] - own) / period
    assign(truth.operator_target, planned_row(hand, start + 1)[POSE])
    settled = np.bool_(False)  # for a literal `observe` would be compiled once more
    return observe(mechanism, state, truth, reading, measured, encoders, settled)
