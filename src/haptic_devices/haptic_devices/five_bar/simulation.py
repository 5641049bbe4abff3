"""A simulated 2-DOF parallel-link (five-bar) manipulator under admittance control, held by a simulated hand.

The parallelogram linkage moves in the horizontal plane. Both motors have the same axis at the base. The first rotates
the upper arm (length a_1) to the angle q1; the second rotates a crank (length b). A coupling rod, parallel to the
upper arm, joins the crank to the forearm's rear end: the forearm (a_2 from elbow to tool, b behind the elbow)
points to q2 for every q1. With e(q) = (cos q, sin q) and the motors' axis at x_0,

    tool = x_0 + a_1 e(q1) + a_2 e(q2),    crank's end = -b e(q2),    forearm's rear end = a_1 e(q1) - b e(q2).

The links are uniform slender rods with masses m_1 (upper arm), m_2 (crank), m_3 (coupling rod), m_4 (forearm);
m_t moves with the tool. With c_4 = (a_2 - b)/2, the forearm's centre ahead of the elbow,

    M_11 = (m_1 + m_3) a_1^2/3 + (m_4 + m_t) a_1^2
    M_22 = m_2 b^2/3 + m_3 b^2 + m_4 ((a_2 + b)^2/12 + c_4^2) + m_t a_2^2
    h    = a_1 (m_4 c_4 + m_t a_2 - m_3 b/2)

    M_11 q1'' + h cos(q1 - q2) q2'' + h sin(q1 - q2) q2'^2 = s_1 + (J^T F)_1
    M_22 q2'' + h cos(q1 - q2) q1'' - h sin(q1 - q2) q1'^2 = s_2 + (J^T F)_2

with the hand's force F at the tool. The Harmonic Drive gears are springs: s_i = K (p_i - q_i) + C (p_i' - q_i'),
where p_i is the motor's angle divided by the ratio N. The equation of a motor with the rotor inertia J_r and the
friction f is

    N^2 J_r p_i'' = tau_i - f_i - s_i

The joint positions and velocities of this device, measured and true, are those p of the motors; the true tool pose is
computed from the links' q. The friction is that of `joint_friction`. The integration is semi-implicit Euler with
substeps.

The origin of the base frame, which is also the frame of the hand's plan, is the tool's position at the home angles; q1
and q2 are measured from its axes. A servo at the control period converts the commanded motion to motor torques; the
force sensor is between forearm and grip.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from haptic_devices.components import force_sensor, joint_friction
from haptic_devices.five_bar.kinematics import forward, stop, tool_jacobian
from haptic_devices.hands.operator import muscle_force

#: integration steps per control period: 0.1 ms at 1 kHz, 1/100 of the period of the gears' fastest oscillation
SUBSTEPS = 10


@njit(cache=True)
def move_links(model: np.ndarray, dt: float, tau: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
    """Moves the links by one step of semi-implicit Euler.

    Args:
        model: M_11, M_22, h, ..., as in `integrate`.
        dt: length of the step [s].
        tau: (2,) torques of gears and hand on the links [N m]; changed.
        q: (2,) angles [rad]; updated.
        qd: (2,) angular velocities [rad/s]; updated.
    """
    m11, m22, h = model[0:3]
    coupling, rotation = h * np.cos(q[0] - q[1]), h * np.sin(q[0] - q[1])
    tau[0] -= rotation * qd[1] ** 2
    tau[1] += rotation * qd[0] ** 2
    determinant = m11 * m22 - coupling * coupling
    qd[0] += dt * (m22 * tau[0] - coupling * tau[1]) / determinant
    qd[1] += dt * (m11 * tau[1] - coupling * tau[0]) / determinant
    q += dt * qd


@njit(cache=True)
def integrate(
    truth: np.ndarray,
    links: np.ndarray,
    friction_state: np.ndarray,
    sensor_state: np.ndarray,
    friction_torque: np.ndarray,
    geometry: np.ndarray,
    model: np.ndarray,
    friction: np.ndarray,
    sensor_filter: np.ndarray,
    table: np.ndarray,
    tremor: np.ndarray,
    start: int,
    period: float,
) -> None:
    """Integrates one control period.

    Args:
        truth: values of `Truth`; position, velocity and operator wrench are updated, the effort is an input.
        links: angles (2) and velocities (2) of the links, on the output side of the gears; updated.
        friction_state: (2, ELEMENTS) deflections of the joints' friction; updated.
        sensor_state: (2, 2) state of the force sensor's filter, for x and y; updated.
        friction_torque: (2,) friction torque, mean over the period [N m]; result.
        geometry: geometry of the linkage.
        model: M_11, M_22, h with all masses that move with the tool, motor's N^2 J_r, gear's K and C, grip's and
            hand's mass, hand's K_h, B_h, F_a.
        friction: constants of `joint_friction.step`.
        sensor_filter: constants of `force_sensor.low_pass`.
        table: plan of the hand; empty: the grip is released.
        tremor: tremor of the hand.
        start: number of the period.
        period: control period T [s].
    """
    p, pd, effort, wrench = truth[0:2], truth[2:4], truth[4:6], truth[19:25]
    q, qd = links[0:2], links[2:4]
    motor, stiffness, damping, grip, hand = model[3:8]
    dt = period / SUBSTEPS
    force, motion, tau = np.zeros(2), np.zeros(4), np.zeros(2)
    pose, twist, after, jacobian = np.zeros(7), np.zeros(6), np.zeros(6), np.zeros((6, 2))
    wrench[:] = 0.0
    friction_torque[:] = 0.0
    held = table.shape[0] > 0
    row = min(start, table.shape[0] - 1)
    forward(geometry, q, qd, pose, twist)
    for n in range(SUBSTEPS):
        tool_jacobian(geometry, q, jacobian)
        if held:
            motion[0], motion[1], motion[2], motion[3] = pose[0], pose[1], twist[0], twist[1]
            muscle_force(table[row], tremor, start * period + n * dt, model[8:11], motion, force)
        for i in range(2):
            spring = stiffness * (p[i] - q[i]) + damping * (pd[i] - qd[i])
            tau[i] = spring + jacobian[0, i] * force[0] + jacobian[1, i] * force[1]
            resistance = joint_friction.step(friction, dt, pd[i], friction_state[i])
            friction_torque[i] += resistance / SUBSTEPS
            pd[i] += dt * (effort[i] - resistance - spring) / motor
            p[i] += dt * pd[i]
        hit = stop(geometry, p)
        for i in range(2):
            if hit & (1 << i) and (p[i] - geometry[4 + i]) * pd[i] > 0.0:  # inelastic
                pd[i] = 0.0
        move_links(model, dt, tau, q, qd)
        forward(geometry, q, qd, pose, after)
        for i in range(2):  # part of the muscles' force accelerates the masses beyond the sensor
            acceleration = (after[i] - twist[i]) / dt
            wrench[i] += (force[i] - hand * acceleration) / SUBSTEPS
            force_sensor.low_pass(sensor_filter, force[i] - (hand + grip) * acceleration, sensor_state[i])
        twist[:] = after


@njit(cache=True)
def observe(
    truth: np.ndarray,
    links: np.ndarray,
    reading: np.ndarray,
    jacobian: np.ndarray,
    geometry: np.ndarray,
    sensor_state: np.ndarray,
    sensor: np.ndarray,
    noise: np.ndarray,
) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, the measured wrench and the measured Jacobian.

    `sensor`: noise, resolution and range of the forces, noise and resolution of the torques.
    """
    forward(geometry, links[0:2], links[2:4], truth[6:13], truth[13:19])
    forward(geometry, reading[0:2], reading[2:4], reading[6:13], reading[13:19])
    reading[4:6] = truth[4:6]
    for i in range(6):
        value = sensor_state[i, 0] if i < 2 else 0.0
        if i < 3:
            reading[19 + i] = force_sensor.report(value, sensor[0] * noise[i], sensor[2], sensor[1])
        else:
            reading[19 + i] = force_sensor.report(value, sensor[3] * noise[i], np.inf, sensor[4])
    tool_jacobian(geometry, reading[0:2], jacobian)
