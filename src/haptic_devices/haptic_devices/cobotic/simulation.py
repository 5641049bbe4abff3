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
from haptic_devices.cobotic.records import FULL, WEIGHT, Compensation, EndEffector, Servo
from haptic_devices.components import force_sensor
from haptic_devices.components.force_sensor import LoadCell
from haptic_devices.device import DeviceValues
from haptic_devices.hands.operator import HandArrays, planned_row
from haptic_devices.hands.spatial_hand import muscle_wrench
from haptic_devices.motions.spatial import GRIP
from haptic_math.array_assignment import assign

#: integration steps per control period: 0.1 ms at 1 kHz, 1/80 of the servo's time constant
SUBSTEPS = 10

GRAVITY = 9.81


@njit(cache=True)
def own_wrench(
    matrix: np.ndarray, body: EndEffector, omega: np.ndarray, rate: np.ndarray, gravity: float, wrench: np.ndarray
) -> None:
    """Writes the wrench (6,) of the end effector on the platform at the tool point, in the base frame.

    Args:
        matrix: R (3, 3), tool to base.
        body: end effector.
        omega: angular velocity of the tool (3,) [rad/s].
        rate: time derivative of the tool's twist (6,).
        gravity: gravitational acceleration along -z [m/s^2].
        wrench: result.
    """
    c, moments = matrix @ body.center, body.moments
    omega_tool, alpha = matrix.T @ omega, matrix.T @ rate[3:6]
    w = omega
    w_dot_c = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    f, moment = wrench[0:3], np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a = rate[i] + rate[3 + j] * c[k] - rate[3 + k] * c[j] + w[i] * w_dot_c - c[i] * square
        f[i] = -body.mass * (a + (gravity if i == 2 else 0.0))
        moment[i] = moments[i] * alpha[i] + (moments[k] - moments[j]) * omega_tool[j] * omega_tool[k]
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
    assign(load[0:3], wrench[0:3])
    load[3] = wrench[5]
    load[4] = cy * wrench[3] + sy * wrench[4]
    load[5] = ct * (-sy * wrench[3] + cy * wrench[4]) + st * wrench[5]


@njit(cache=True)
def drive_joints(
    truth: DeviceValues, command: np.ndarray, load: np.ndarray, servo: Servo, powered: bool, dt: float
) -> None:
    """Moves each joint by one step with its servo, friction and stop.

    Args:
        truth: true state; positions and velocities are updated, the step's part of the period's mean efforts is added.
        command: rows velocities and accelerations that the servo follows in this step (2, 6).
        load: (6,) joint efforts of hand and end effector.
        servo: integral part and followed acceleration are updated.
        powered: whether the servo acts.
        dt: length of the step [s].
    """
    q, qd, effort = truth.position, truth.velocity, truth.effort
    velocity, acceleration, integral, bandwidth = command[0], command[1], servo.integral, servo.bandwidth
    for i in range(6):
        inertia, friction, limit, end = servo.inertia[i], servo.friction[i], servo.effort_limit[i], servo.stop[i]
        u = 0.0
        if powered:
            error = velocity[i] - qd[i]
            wanted = inertia * (bandwidth * error + integral[i] + acceleration[i])
            u = min(max(wanted, -limit), limit)
            if u == wanted or error * u < 0.0:
                integral[i] += dt * 0.25 * bandwidth * bandwidth * error
            servo.followed[i] += acceleration[i] / SUBSTEPS
        effort[i] += u / SUBSTEPS
        speed = qd[i] + dt * (u + load[i]) / inertia
        slowed = abs(speed) - dt * friction / inertia
        qd[i] = math.copysign(slowed, speed) if slowed > 0.0 else 0.0
        q[i] += dt * qd[i]
        if abs(q[i]) >= end:
            q[i] = math.copysign(end, q[i])
            if q[i] * qd[i] > 0.0:  # inelastic
                qd[i] = 0.0


# compiled into its caller, where the arrays of the records are known to need no reference counts: 0.6 us
@njit(cache=True, forceinline=True)
def integrate(
    truth: DeviceValues,
    rate: np.ndarray,
    servo: Servo,
    powered: bool,
    body: EndEffector,
    cell: LoadCell,
    hand: HandArrays,
    start: int,
    period: float,
) -> None:
    """Integrates one control period.

    Args:
        truth: true state; positions, velocities, efforts and tool wrench are updated.
        rate: (6,) time derivative of the tool's twist in the last step; updated.
        servo: integral part and followed acceleration are updated.
        powered: whether the servo acts.
        body: end effector.
        cell: load cell, whose state is updated.
        hand: the hand.
        start: number of the period.
        period: control period T [s].
    """
    q, qd, user = truth.position, truth.velocity, truth.tool_wrench
    dt = period / SUBSTEPS
    pose, twist, after, matrix = np.empty(7), np.empty(6), np.empty(6), np.empty((3, 3))
    felt, own, load, read = np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    truth.effort[:] = 0.0
    user[:] = 0.0
    servo.followed[:] = 0.0
    target = planned_row(hand, start)
    forward(q, qd, pose, twist)
    for n in range(SUBSTEPS):
        command = servo.commands[(start - (servo.latency + SUBSTEPS - 1 - n) // SUBSTEPS) % servo.commands.shape[0]]
        muscle_wrench(hand, target, start * period + n * dt, pose, twist, felt)
        for i in range(6):  # part of the muscles' wrench accelerates the hand's own mass
            felt[i] -= target[GRIP] * hand.inertia[i] * rate[i]
        rotation(q, matrix)
        own_wrench(matrix, body, twist[3:6], rate, GRAVITY, own)
        for i in range(6):
            user[i] += felt[i] / SUBSTEPS
            own[i] += felt[i]
        to_tool(matrix, own, read)
        joint_loads(q, own, load)
        for i in range(6):
            force_sensor.low_pass(cell.filter, read[i], cell.state[i])
        drive_joints(truth, command, load, servo, powered, dt)
        forward(q, qd, pose, after)
        for i in range(6):
            rate[i] = (after[i] - twist[i]) / dt
            twist[i] = after[i]


@njit(cache=True)
def observe(
    truth: DeviceValues,
    reading: DeviceValues,
    jacobian: np.ndarray,
    followed: np.ndarray,
    body: EndEffector,
    cell: LoadCell,
    compensation: Compensation,
    noise: np.ndarray,
    settled: bool,
) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, the measured Jacobian, and the user's wrench.

    Args:
        truth, reading: true state and values of the sensors; updated.
        jacobian: (6, 6) Jacobian at the measured position; result.
        followed: see `Servo`.
        body: end effector, as the driver knows it.
        cell: load cell.
        compensation: the filter of the expected wrench is updated.
        noise: (6,) standard normal numbers.
        settled: whether the device has been at rest; then that filter starts in its steady state.
    """
    forward(truth.position, truth.velocity, truth.tool_pose, truth.tool_twist)
    forward(reading.position, reading.velocity, reading.tool_pose, reading.tool_twist)
    assign(reading.effort, truth.effort)
    q, expected = reading.position, compensation.expected
    tool_jacobian(q, jacobian)
    matrix, own, model = np.empty((3, 3)), np.zeros(6), np.empty(6)
    rotation(q, matrix)
    if compensation.kind == FULL:
        rate, angular = jacobian @ followed, np.empty(3)
        bias(q, reading.velocity, angular)
        for i in range(3):
            rate[3 + i] += angular[i]
        own_wrench(matrix, body, reading.tool_twist[3:6], rate, GRAVITY, own)
    elif compensation.kind == WEIGHT:
        own_wrench(matrix, body, np.zeros(3), np.zeros(6), GRAVITY, own)
    to_tool(matrix, own, model)
    for i in range(6):
        if settled:
            expected[i, 0], expected[i, 1] = model[i], 0.0
        else:
            force_sensor.low_pass(compensation.filter, model[i], expected[i])
        model[i] = force_sensor.measure(cell, i, noise[i]) - expected[i, 0]
    assign(reading.tool_wrench[0:3], matrix @ model[0:3])
    assign(reading.tool_wrench[3:6], matrix @ model[3:6])
