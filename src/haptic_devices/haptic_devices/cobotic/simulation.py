"""A simulated 6-DOF admittance display that stands in for the Cobotic Hand Controller, held by a simulated hand.

The paper (Faulring et al.) gives neither the display's linkage nor its dimensions. This model replaces it: slides
x, y, z with a gimbal whose axes meet at the tool point. With the joint positions (x, y, z, yaw, tilt, roll)

    p = (x, y, z),    R = Rz(yaw) Rx(tilt) Ry(roll),    twist = J q',    J = diag(I, E)
    E = [z | Rz x | Rz Rx y],    det E = -cos(tilt),    singular values 1, sqrt(1 +- sin(tilt))

The origin of the base frame is the tool point at home, where the tool's axes are those of the base, z upwards. The
drives' reflected inertia M dominates, so the mass matrix is diagonal and the display has no centrifugal forces.
Footnote 5 gives the apparent inertia at a transmission ratio of 1:1 and the backdrive friction F_c of the
translations. Their dependence on the steering of the transmissions is not modelled. The equation of each joint is

    M v' = u - F_c sgn(v) + (J^T w)_i,    w = hand's wrench + end effector's wrench

with dry friction by the implicit Euler method: the friction impulse is the one that would stop the joint, limited to
F_c dt, so that the joint sticks exactly. Weight and inertial force of hand and end effector are computed from the
acceleration of the last step. This converges if the drives' inertia exceeds theirs; it must be at least twice as large.
Stops are inelastic.

A velocity servo in each joint follows the command v_c, a_c after `servo_latency`:

    u = M (2 pi f (v_c - v) + (pi f)^2 integral of (v_c - v) dt + a_c)

Both poles are at pi f; a constant force causes the permanent displacement force / (M (pi f)^2). Once in a period the
driver computes v_c = v_d + g (q_d - T v_d - q_measured), where q_d is the desired position at the end of the period.
Thus the measured position is compared with the desired one of the same time.

The load cell, between platform and end effector and fixed to the tool frame, measures the wrenches of both user and
end effector. The driver subtracts the end effector's weight and inertia (end of section II-H) through a filter like
the cell's. It uses the measured orientation and twist, and the acceleration that the servo follows now. It reports the
user's wrench in the base frame. The Newton-Euler equations of the end effector (mass m, centre c, inertia J_c, gravity
g) are

    force = m (g - a_c),    moment = c x force - J_c alpha - omega x J_c omega
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_devices.cobotic.kinematics import bias, forward, rotation, tool_jacobian
from haptic_devices.components import force_sensor
from haptic_devices.hands.spatial_hand import muscle_wrench
from haptic_devices.motions.spatial import GRIP

#: integration steps per control period: 0.1 ms at 1 kHz, 1/80 of the servo's time constant
SUBSTEPS = 10

GRAVITY = 9.81


@njit(cache=True)
def own_wrench(
    matrix: np.ndarray, body: np.ndarray, omega: np.ndarray, rate: np.ndarray, gravity: float, wrench: np.ndarray
) -> None:
    """Writes the wrench (6,) of the end effector on the platform at the tool point, in the base frame.

    Args:
        matrix: R (3, 3), tool to base.
        body: mass, centre of mass (3) and principal moments of inertia (3) in the tool frame.
        omega: angular velocity of the tool (3,) [rad/s].
        rate: time derivative of the tool's twist (6,).
        gravity: gravitational acceleration along -z [m/s^2].
        wrench: result.
    """
    c = matrix @ body[1:4]
    omega_tool, alpha = matrix.T @ omega, matrix.T @ rate[3:6]
    w = omega
    w_dot_c = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    f, moment = wrench[0:3], np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a = rate[i] + rate[3 + j] * c[k] - rate[3 + k] * c[j] + w[i] * w_dot_c - c[i] * square
        f[i] = -body[0] * (a + (gravity if i == 2 else 0.0))
        moment[i] = body[4 + i] * alpha[i] + (body[4 + k] - body[4 + j]) * omega_tool[j] * omega_tool[k]
    moment = matrix @ moment
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[3 + i] = c[j] * f[k] - c[k] * f[j] - moment[i]


@njit(cache=True)
def to_tool(matrix: np.ndarray, wrench: np.ndarray, result: np.ndarray) -> None:
    """Transforms a wrench (6,) from the base frame to the tool frame."""
    for i in range(3):
        result[i] = result[3 + i] = 0.0
        for j in range(3):
            result[i] += matrix[j, i] * wrench[j]
            result[3 + i] += matrix[j, i] * wrench[3 + j]


@njit(cache=True)
def joint_loads(q: np.ndarray, wrench: np.ndarray, load: np.ndarray) -> None:
    """Writes the joint efforts J^T w (6,) of a wrench (6,) at the tool point, base frame."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    load[0:3] = wrench[0:3]
    load[3] = wrench[5]
    load[4] = cy * wrench[3] + sy * wrench[4]
    load[5] = ct * (-sy * wrench[3] + cy * wrench[4]) + st * wrench[5]


@njit(cache=True)
def drive_joints(
    truth: np.ndarray,
    command: np.ndarray,
    load: np.ndarray,
    drive: np.ndarray,
    bandwidth: float,
    powered: bool,
    dt: float,
    integral: np.ndarray,
    followed: np.ndarray,
) -> None:
    """Moves each joint by one step with its servo, friction and stop.

    Args:
        truth: values of `Truth`; positions and velocities are updated, the step's part of the period's mean efforts is
            added.
        command: velocity (6,) and acceleration (6,) that the servo follows in this step.
        load: (6,) joint efforts of hand and end effector.
        drive, bandwidth, powered: as in `integrate`.
        dt: length of the step [s].
        integral, followed: as in `integrate`; updated.
    """
    q, qd, effort = truth[0:6], truth[6:12], truth[12:18]
    for i in range(6):
        inertia, friction, limit, end = drive[0, i], drive[1, i], drive[2, i], drive[3, i]
        u = 0.0
        if powered:
            error = command[i] - qd[i]
            wanted = inertia * (bandwidth * error + integral[i] + command[6 + i])
            u = min(max(wanted, -limit), limit)
            if u == wanted or error * u < 0.0:
                integral[i] += dt * 0.25 * bandwidth * bandwidth * error
            followed[i] += command[6 + i] / SUBSTEPS
        effort[i] += u / SUBSTEPS
        speed = qd[i] + dt * (u + load[i]) / inertia
        slowed = abs(speed) - dt * friction / inertia
        qd[i] = math.copysign(slowed, speed) if slowed > 0.0 else 0.0
        q[i] += dt * qd[i]
        if abs(q[i]) >= end:
            q[i] = math.copysign(end, q[i])
            if q[i] * qd[i] > 0.0:  # inelastic
                qd[i] = 0.0


# Longer than other functions because of its arguments and their documentation.
@njit(cache=True)
def integrate(
    truth: np.ndarray,
    rate: np.ndarray,
    integral: np.ndarray,
    followed: np.ndarray,
    cell: np.ndarray,
    commands: np.ndarray,
    latency: int,
    drive: np.ndarray,
    bandwidth: float,
    powered: bool,
    body: np.ndarray,
    sensor_filter: np.ndarray,
    table: np.ndarray,
    tremor: np.ndarray,
    impedance: np.ndarray,
    hand_inertia: np.ndarray,
    start: int,
    period: float,
) -> None:
    """Integrates one control period.

    Args:
        truth: values of `Truth`; positions, velocities, efforts and operator wrench are updated.
        rate: (6,) time derivative of the tool's twist in the last step; updated.
        integral: (6,) integral part of the servo divided by the inertia [m/s^2], [rad/s^2]; updated.
        followed: (6,) joint accelerations commanded to the servo, mean over the period; result.
        cell: (6, 2) state of the load cell's filter, tool frame; updated.
        commands: (n, 12) velocities and accelerations of the last n periods, period k in row k modulo n.
        latency: latency of the servo [steps], at most SUBSTEPS (n - 1).
        drive: rows inertia, friction, effort limit, stop, (4, 6).
        bandwidth: 2 pi f [rad/s].
        powered: whether the servo acts.
        body: constants of the end effector, see `own_wrench`.
        sensor_filter: constants of `force_sensor.low_pass`.
        table: plan of the hand; empty: the tool is released.
        tremor: tremor of the hand.
        impedance: impedance of the hand.
        hand_inertia: (6,) mass and rotational inertia of the hand, for each axis.
        start: number of the period.
        period: control period T [s].
    """
    q, qd, effort, user = truth[0:6], truth[6:12], truth[12:18], truth[31:37]
    dt = period / SUBSTEPS
    pose, twist, after, matrix = np.empty(7), np.empty(6), np.empty(6), np.empty((3, 3))
    hand, own, load, read = np.zeros(6), np.empty(6), np.empty(6), np.empty(6)
    effort[:] = 0.0
    user[:] = 0.0
    followed[:] = 0.0
    held = table.shape[0] > 0
    row = table[min(start, table.shape[0] - 1)] if held else np.zeros(GRIP + 1)
    forward(q, qd, pose, twist)
    for n in range(SUBSTEPS):
        command = commands[(start - (latency + SUBSTEPS - 1 - n) // SUBSTEPS) % commands.shape[0]]
        if held:
            muscle_wrench(row, tremor, start * period + n * dt, impedance, pose, twist, hand)
            for i in range(6):
                hand[i] -= row[GRIP] * hand_inertia[i] * rate[i]
        rotation(q, matrix)
        own_wrench(matrix, body, twist[3:6], rate, GRAVITY, own)
        for i in range(6):
            user[i] += hand[i] / SUBSTEPS
            own[i] += hand[i]
        to_tool(matrix, own, read)
        joint_loads(q, own, load)
        for i in range(6):
            force_sensor.low_pass(sensor_filter, read[i], cell[i])
        drive_joints(truth, command, load, drive, bandwidth, powered, dt, integral, followed)
        forward(q, qd, pose, after)
        for i in range(6):
            rate[i] = (after[i] - twist[i]) / dt
            twist[i] = after[i]


@njit(cache=True)
def observe(
    truth: np.ndarray,
    followed: np.ndarray,
    cell: np.ndarray,
    expected: np.ndarray,
    body: np.ndarray,
    kind: int,
    sensor_filter: np.ndarray,
    sensor: np.ndarray,
    noise: np.ndarray,
    settled: bool,
    reading: np.ndarray,
    jacobian: np.ndarray,
) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, the measured Jacobian, and the user's wrench.

    Args:
        truth: values of `Truth`.
        followed, cell: as in `integrate`.
        expected: (6, 2) filter state of the end effector's wrench that the driver expects, tool frame; updated.
        body: constants of the end effector in the driver, see `own_wrench`.
        kind: kind of compensation: 0 none, 1 weight, 2 weight and inertia.
        sensor_filter: constants of `force_sensor.low_pass`, for a step of one period.
        sensor: rows noise, resolution, range, (3, 6).
        noise: (6,) standard normal numbers.
        settled: whether the device has been at rest; then the filter of `expected` starts in its steady state.
        reading: values of `Reading`.
        jacobian: (6, 6) Jacobian at the measured position; result.
    """
    forward(truth[0:6], truth[6:12], truth[18:25], truth[25:31])
    forward(reading[0:6], reading[6:12], reading[18:25], reading[25:31])
    reading[12:18] = truth[12:18]
    q, qd = reading[0:6], reading[6:12]
    tool_jacobian(q, jacobian)
    matrix, own, model = np.empty((3, 3)), np.zeros(6), np.empty(6)
    rotation(q, matrix)
    if kind == 2:
        rate, angular = jacobian @ followed, np.empty(3)
        bias(q, qd, angular)
        rate[3:6] += angular
        own_wrench(matrix, body, reading[28:31], rate, GRAVITY, own)
    elif kind == 1:
        own_wrench(matrix, body, np.zeros(3), np.zeros(6), GRAVITY, own)
    to_tool(matrix, own, model)
    for i in range(6):
        if settled:
            expected[i, 0], expected[i, 1] = model[i], 0.0
        else:
            force_sensor.low_pass(sensor_filter, model[i], expected[i])
        value = force_sensor.report(cell[i, 0], sensor[0, i] * noise[i], sensor[2, i], sensor[1, i])
        model[i] = value - expected[i, 0]
    reading[31:34] = matrix @ model[0:3]
    reading[34:37] = matrix @ model[3:6]
