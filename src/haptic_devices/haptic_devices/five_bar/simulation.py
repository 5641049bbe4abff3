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

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

from haptic_devices.components import encoder, force_sensor, joint_friction
from haptic_devices.components.device_values import views_of
from haptic_devices.components.force_sensor import LoadCell, cell_of
from haptic_devices.components.joint_friction import JointFriction
from haptic_devices.device import DeviceValues
from haptic_devices.five_bar.control import servo
from haptic_devices.five_bar.kinematics import Linkage, forward, linkage_of, stop, tool_jacobian
from haptic_devices.five_bar.parameters import LinkInertia
from haptic_devices.hands.operator import HandArrays, hand_of, muscle_force, planned_row, write_planar_target
from haptic_math.array_assignment import assign
from haptic_math.borrowed_arrays import borrowed

#: integration steps per control period: 0.1 ms at 1 kHz, 1/100 of the period of the gears' fastest oscillation
SUBSTEPS = 10


class Arm(NamedTuple):
    """Constants of links, gears and motors.

    Attributes:
        inertia: inertia of the links, with all masses that move with the tool.
        motor: N^2 J_r [kg m^2].
        stiffness: K of a gear [N m/rad].
        damping: C of a gear [N m s/rad].
        grip: mass of the grip, beyond the force sensor [kg].
        friction: friction of a joint.
    """

    inertia: LinkInertia
    motor: float
    stiffness: float
    damping: float
    grip: float
    friction: JointFriction

    def numbers(self) -> np.ndarray:
        """Returns the numbers as one array (12,), for `arm_of`."""
        return np.array([*self.inertia, self.motor, self.stiffness, self.damping, self.grip, *self.friction])


@njit(cache=True)
def arm_of(numbers: np.ndarray) -> Arm:
    """Returns the arm of `Arm.numbers`."""
    n = to_fixed_tuple(numbers, 12)
    motor, stiffness, damping, grip = n[3:7]
    return Arm(LinkInertia(*n[:3]), motor, stiffness, damping, grip, JointFriction(*n[7:]))


class ArmState(NamedTuple):
    """State of the arm beside its `Truth`.

    Attributes:
        position: angles of the links, on the output side of the gears (2,) [rad].
        velocity: their angular velocities (2,) [rad/s].
        deflection: deflections of the joints' friction (2, ELEMENTS) [rad].
        friction_torque: friction torque, mean over the last period (2,) [N m].
    """

    position: np.ndarray
    velocity: np.ndarray
    deflection: np.ndarray
    friction_torque: np.ndarray


@njit(cache=True)
def move_links(inertia: LinkInertia, dt: float, tau: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
    """Moves the links by one step of semi-implicit Euler.

    Args:
        inertia: inertia of the links.
        dt: length of the step [s].
        tau: (2,) torques of gears and hand on the links [N m]; changed.
        q: (2,) angles [rad]; updated.
        qd: (2,) angular velocities [rad/s]; updated.
    """
    m11, m22, h = inertia
    coupling, rotation = h * np.cos(q[0] - q[1]), h * np.sin(q[0] - q[1])
    tau[0] -= rotation * qd[1] ** 2
    tau[1] += rotation * qd[0] ** 2
    determinant = m11 * m22 - coupling * coupling
    qd[0] += dt * (m22 * tau[0] - coupling * tau[1]) / determinant
    qd[1] += dt * (m11 * tau[1] - coupling * tau[0]) / determinant
    q += dt * qd


@njit(cache=True)
def integrate(
    truth: DeviceValues,
    state: ArmState,
    linkage: Linkage,
    arm: Arm,
    cell: LoadCell,
    hand: HandArrays,
    start: int,
    period: float,
) -> None:
    """Integrates one control period.

    Args:
        truth: true state; position, velocity and tool wrench are updated, the effort is an input.
        state: state of the links and of the friction; updated.
        linkage: geometry of the linkage.
        arm: constants of links, gears and motors.
        cell: force sensor, of which the states of x and y are updated.
        hand: the hand.
        start: number of the period.
        period: control period T [s].
    """
    p, pd, effort, wrench = truth.position, truth.velocity, truth.effort, truth.tool_wrench
    q, qd = state.position, state.velocity
    dt = period / SUBSTEPS
    force, tau = np.zeros(2), np.zeros(2)
    pose, twist, after, jacobian = np.zeros(7), np.zeros(6), np.zeros(6), np.zeros((6, 2))
    wrench[:] = 0.0
    state.friction_torque[:] = 0.0
    held = hand.table.shape[0] > 0
    if held:
        target = planned_row(hand, start)
    forward(linkage, q, qd, pose, twist)
    for n in range(SUBSTEPS):
        tool_jacobian(linkage, q, jacobian)
        if held:
            muscle_force(hand, target, start * period + n * dt, pose, twist, force)
        for i in range(2):
            spring = arm.stiffness * (p[i] - q[i]) + arm.damping * (pd[i] - qd[i])
            tau[i] = spring + jacobian[0, i] * force[0] + jacobian[1, i] * force[1]
            resistance = joint_friction.step(arm.friction, dt, pd[i], state.deflection[i])
            state.friction_torque[i] += resistance / SUBSTEPS
            pd[i] += dt * (effort[i] - resistance - spring) / arm.motor
            p[i] += dt * pd[i]
        hit = stop(linkage, p)
        for i in range(2):
            if hit & (1 << i) and (p[i] - linkage.home[i]) * pd[i] > 0.0:  # inelastic
                pd[i] = 0.0
        move_links(arm.inertia, dt, tau, q, qd)
        forward(linkage, q, qd, pose, after)
        for i in range(2):  # part of the muscles' force accelerates the masses beyond the sensor
            acceleration = (after[i] - twist[i]) / dt
            mass = hand.inertia[i]
            wrench[i] += (force[i] - mass * acceleration) / SUBSTEPS
            force_sensor.low_pass(cell.filter, force[i] - (mass + arm.grip) * acceleration, cell.state[i])
        assign(twist, after)


@njit(cache=True)
def observe(
    truth: DeviceValues,
    state: ArmState,
    reading: DeviceValues,
    jacobian: np.ndarray,
    linkage: Linkage,
    cell: LoadCell,
    noise: np.ndarray,
) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, the measured wrench and the measured Jacobian.

    Args:
        truth, reading: true state and values of the sensors; updated.
        state: state of the links.
        jacobian: (6, 2) Jacobian at the measured position; result.
        linkage: geometry of the linkage.
        cell: force sensor.
        noise: (6,) standard normal numbers.
    """
    forward(linkage, state.position, state.velocity, truth.tool_pose, truth.tool_twist)
    forward(linkage, reading.position, reading.velocity, reading.tool_pose, reading.tool_twist)
    assign(reading.effort, truth.effort)
    for i in range(6):
        reading.tool_wrench[i] = force_sensor.measure(cell, i, noise[i])
    tool_jacobian(linkage, reading.position, jacobian)


@njit(cache=True)
def pass_period(
    truth_values: np.ndarray,
    reading_values: np.ndarray,
    jacobian: np.ndarray,
    linkage_numbers: np.ndarray,
    arm_numbers: np.ndarray,
    state_arrays: tuple[np.ndarray, ...],
    servo_arrays: tuple[np.ndarray, ...],
    cell_arrays: tuple[np.ndarray, ...],
    hand_arrays: tuple[np.ndarray, ...],
    encoder_constants: np.ndarray,
    noise: np.ndarray,
    powered: bool,
    start: int,
) -> None:
    """Simulates one control period: servo, physics, sensors. It is compiled, as it runs in every tick.

    Args:
        truth_values, reading_values: values of `Truth` and `Reading`; updated.
        jacobian: (6, 2) measured Jacobian; result.
        linkage_numbers, arm_numbers: numbers of `Linkage` and `Arm`.
        state_arrays, hand_arrays: `ArmState` and `HandArrays` as plain tuples.
        cell_arrays: arrays of `LoadCell`, see `cell_of`.
        servo_arrays: target, friction compensation, gains and integral part, see `servo`.
        encoder_constants: constants of `encoder.sample`.
        noise: (6,) standard normal numbers.
        powered: whether the servo acts.
        start: number of the period.
    """
    truth, reading = views_of(truth_values, 2), views_of(reading_values, 2)
    linkage, arm, cell, hand = (
        linkage_of(linkage_numbers),
        arm_of(arm_numbers),
        cell_of(cell_arrays),
        hand_of(hand_arrays),
    )
    position, velocity, deflection, friction_torque = state_arrays
    state = ArmState(borrowed(position), borrowed(velocity), borrowed(deflection), borrowed(friction_torque))
    target, compensation, gains, integral = servo_arrays
    if powered:
        servo(target, reading.position, reading.velocity, compensation, gains, integral, truth.effort)
    else:
        truth.effort[:] = 0.0
    integrate(truth, state, linkage, arm, cell, hand, start, encoder_constants[encoder.PERIOD])
    write_planar_target(hand, start + 1, truth.operator_target)
    encoder.sample(truth.position, encoder_constants, reading.position, reading.velocity)
    observe(truth, state, reading, jacobian, linkage, cell, noise)
