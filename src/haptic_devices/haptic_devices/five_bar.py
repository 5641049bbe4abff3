"""A simulated 2-DOF parallel-link (five-bar) manipulator under admittance control, held by a simulated hand.

Parallelogram linkage in the horizontal plane. Both motors stand on one axis at the base. The first turns the
upper arm (length a_1) to the angle q1; the second turns a crank (length b) that a coupling rod, parallel to the
upper arm, joins to the forearm's rear end, so that the forearm (a_2 from elbow to tool, b behind the elbow)
points to q2, whatever q1 is. With e(q) = (cos q, sin q) and the motors' axis at x_0,

    tool = x_0 + a_1 e(q1) + a_2 e(q2),    crank's end = -b e(q2),    forearm's rear end = a_1 e(q1) - b e(q2).

The links are uniform slender rods with masses m_1 (upper arm), m_2 (crank), m_3 (coupling rod), m_4 (forearm);
m_t moves with the tool. With c_4 = (a_2 - b)/2, the forearm's centre ahead of the elbow,

    M_11 = (m_1 + m_3) a_1^2/3 + (m_4 + m_t) a_1^2
    M_22 = m_2 b^2/3 + m_3 b^2 + m_4 ((a_2 + b)^2/12 + c_4^2) + m_t a_2^2
    h    = a_1 (m_4 c_4 + m_t a_2 - m_3 b/2)

    M_11 q1'' + h cos(q1 - q2) q2'' + h sin(q1 - q2) q2'^2 = s_1 + (J^T F)_1
    M_22 q2'' + h cos(q1 - q2) q1'' - h sin(q1 - q2) q1'^2 = s_2 + (J^T F)_2

with the hand's force F at the tool. The Harmonic Drive gears are springs: s_i = K (p_i - q_i) + C (p_i' - q_i'),
where p_i is the motor's angle over the ratio N. A motor with its rotor's inertia J_r and its friction f moves by

    N^2 J_r p_i'' = tau_i - f_i - s_i

The joint positions and velocities of this device, measured and true, are the motors' p; the true tool is where the
links' q have it. The friction is that of `joint_friction`. Semi-implicit Euler with substeps.

The origin of the base frame is the tool's place at the home angles, where the hand's plan has its origin, too;
its axes are those from which q1 and q2 are counted. A servo of the control period turns the commanded motion
into motor torques; the force sensor sits between forearm and grip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numba import njit
from pydantic import Field

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_devices import encoder, force_sensor, joint_friction
from haptic_devices.device import DeviceParameters, Joint, Reading, Truth, load_parameters
from haptic_devices.friction_compensation import FrictionCompensation
from haptic_devices.operator import SimulatedAdmittanceDevice, SimulatedHand, muscle_force
from haptic_devices.urdf import FRAME, MOVED, STEEL, TOOL, Robot

DEFAULT_FILE = Path(__file__).with_name("five_bar.yaml")

#: integration steps per control period: 0.1 ms at 1 kHz, 1/100 of the period of the gears' fastest oscillation
SUBSTEPS = 10


class FiveBarParameters(DeviceParameters):
    """Numbers of the manipulator, its servo and its sensors; see five_bar.yaml for the reasons."""

    length_upper_arm: float = Field(gt=0.0, le=2.0, description="motors' axis to elbow a_1 [m]")
    length_forearm: float = Field(gt=0.0, le=2.0, description="elbow to tool a_2 [m]")
    length_crank: float = Field(gt=0.0, le=1.0, description="crank, and forearm behind the elbow, b [m]")
    mass_upper_arm: float = Field(gt=0.0, le=100.0, description="m_1 [kg]")
    mass_crank: float = Field(gt=0.0, le=100.0, description="m_2 [kg]")
    mass_coupling_rod: float = Field(ge=0.0, le=100.0, description="m_3 [kg]")
    mass_forearm: float = Field(ge=0.0, le=100.0, description="m_4 [kg]")
    mass_tool: float = Field(ge=0.0, le=20.0, description="sensor and its mount, on the robot's side [kg]")
    mass_grip: float = Field(ge=0.0, le=20.0, description="grip and half of the sensor, on the hand's side [kg]")
    gear_ratio: float = Field(ge=1.0, le=500.0, description="motor turns per turn of the joint N [-]")
    gear_stiffness: float = Field(ge=1e3, le=1e6, description="torsional stiffness of each gear K [N m/rad]")
    gear_damping: float = Field(ge=0.0, le=100.0, description="its damping C [N m s/rad]")
    rotor_inertia: float = Field(gt=0.0, le=0.1, description="rotor and wave generator J_r, at the motor [kg m^2]")
    friction_coulomb: float = Field(ge=0.0, le=200.0, description="Coulomb friction F_c of each joint [N m]")
    friction_static: float = Field(gt=0.0, le=200.0, description="static friction F_s, F_c or more [N m]")
    friction_stribeck_velocity: float = Field(gt=0.0, le=10.0, description="Stribeck velocity v_s [rad/s]")
    friction_viscous: float = Field(ge=0.0, le=100.0, description="viscous friction D [N m s/rad]")
    friction_displacement: float = Field(ge=1e-5, le=0.1, description="angle s of presliding [rad]")
    effort_limit: float = Field(gt=0.0, le=1000.0, description="largest motor torque at the joint [N m]")
    velocity_limit: float = Field(gt=0.0, le=100.0, description="largest joint speed [rad/s]")
    home_upper_arm: float = Field(ge=-math.pi, le=math.pi, description="q1 where the base frame has its origin [rad]")
    home_forearm: float = Field(ge=-math.pi, le=math.pi, description="q2 there [rad]")
    range: float = Field(gt=0.0, le=math.pi / 2, description="mechanical stop of each joint, both ways from home [rad]")
    encoder_resolution: float = Field(ge=0.0, le=0.1, description="one count, at the joint [rad]")
    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    sensor_cutoff: float = Field(gt=0.0, le=2000.0, description="corner frequency of the force sensor's filter [Hz]")
    force_noise: float = Field(ge=0.0, le=10.0, description="RMS noise of each force reading [N]")
    force_resolution: float = Field(ge=0.0, le=10.0, description="one count of force [N]")
    force_range: float = Field(gt=0.0, le=1e5, description="largest force that the sensor reports [N]")
    torque_noise: float = Field(ge=0.0, le=1.0, description="RMS noise of each torque reading [N m]")
    torque_resolution: float = Field(ge=0.0, le=1.0, description="one count of torque [N m]")
    position_gain: float = Field(ge=0.0, le=1e7, description="servo gain on the angle's error [N m/rad]")
    integral_gain: float = Field(ge=0.0, le=1e9, description="servo gain on its integral [N m/(rad s)]")
    velocity_gain: float = Field(ge=0.0, le=1e5, description="servo gain on the velocity's error [N m s/rad]")
    compensation: Literal["none", "model_c", "parallel"] = Field(description="friction feedforward, none: without")
    compensation_coulomb: float = Field(gt=0.0, le=200.0, description="predicted Coulomb friction [N m]")
    compensation_viscous: float = Field(ge=0.0, le=100.0, description="predicted viscous friction [N m s/rad]")
    compensation_displacement: float = Field(ge=1e-5, le=0.1, description="predicted angle of presliding [rad]")
    compensation_elements: int = Field(ge=1, le=20, description="models C per joint of compensation parallel [-]")


def inertia_constants(p: FiveBarParameters, tool_mass: float) -> tuple[float, float, float]:
    """M_11, M_22 and h [kg m^2] of the module's equations for a mass m_t [kg] at the tool."""
    a1, a2, b = p.length_upper_arm, p.length_forearm, p.length_crank
    centre = (a2 - b) / 2.0
    m11 = (p.mass_upper_arm + p.mass_coupling_rod) * a1**2 / 3.0 + (p.mass_forearm + tool_mass) * a1**2
    m22 = (p.mass_crank / 3.0 + p.mass_coupling_rod) * b**2 + tool_mass * a2**2
    m22 += p.mass_forearm * ((a2 + b) ** 2 / 12.0 + centre**2)
    return m11, m22, a1 * (p.mass_forearm * centre + tool_mass * a2 - p.mass_coupling_rod * b / 2.0)


# The kernels' array `geometry` is a_1, a_2, x_0 (2), home angles (2), range: see FiveBar.geometry.


@njit(cache=True)
def tool_jacobian(geometry: np.ndarray, q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tool's Jacobian (6, 2) in the base frame, rows [linear; angular]: the tool turns with the forearm."""
    jacobian[0, 0], jacobian[0, 1] = -geometry[0] * np.sin(q[0]), -geometry[1] * np.sin(q[1])
    jacobian[1, 0], jacobian[1, 1] = geometry[0] * np.cos(q[0]), geometry[1] * np.cos(q[1])
    jacobian[2:6, :] = 0.0
    jacobian[5, 1] = 1.0


@njit(cache=True)
def forward(geometry: np.ndarray, q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tool's pose (7,), quaternion x, y, z, w, and twist (6,) in the base frame.

    The tool's frame is turned by q2 about z: its x axis lies along the forearm.
    """
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    pose[0] = geometry[2] + geometry[0] * c1 + geometry[1] * c2
    pose[1] = geometry[3] + geometry[0] * s1 + geometry[1] * s2
    pose[2:5] = 0.0
    pose[5], pose[6] = np.sin(0.5 * q[1]), np.cos(0.5 * q[1])
    twist[0] = -geometry[0] * s1 * qd[0] - geometry[1] * s2 * qd[1]
    twist[1] = geometry[0] * c1 * qd[0] + geometry[1] * c2 * qd[1]
    twist[2:5] = 0.0
    twist[5] = qd[1]


@njit(cache=True)
def inverse(geometry: np.ndarray, x: float, y: float, q: np.ndarray) -> None:
    """Writes the angles (2,) that bring the tool to x, y [m] with the elbow on the home position's side.

    A place out of reach gives the angles of the arm stretched or folded towards it.
    """
    a1, a2 = geometry[0], geometry[1]
    dx, dy = x - geometry[2], y - geometry[3]
    bend = (dx * dx + dy * dy - a1 * a1 - a2 * a2) / (2.0 * a1 * a2)  # cos(q2 - q1)
    elbow = math.copysign(np.arccos(min(max(bend, -1.0), 1.0)), np.sin(geometry[5] - geometry[4]))
    angle = np.arctan2(dy, dx) - np.arctan2(a2 * np.sin(elbow), a1 + a2 * np.cos(elbow))
    for i in range(2):
        turn = angle + i * elbow - geometry[4 + i]
        q[i] = geometry[4 + i] + turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi))  # the turn nearest to home


@njit(cache=True)
def joint_rates(geometry: np.ndarray, q: np.ndarray, vx: float, vy: float, rates: np.ndarray) -> None:
    """Writes the joint velocities (2,) [rad/s] that give the tool the velocity vx, vy [m/s]."""
    a1, a2 = geometry[0], geometry[1]
    determinant = np.sin(q[1] - q[0])
    rates[0] = (np.cos(q[1]) * vx + np.sin(q[1]) * vy) / (a1 * determinant)
    rates[1] = -(np.cos(q[0]) * vx + np.sin(q[0]) * vy) / (a2 * determinant)


@njit(cache=True)
def aim(
    geometry: np.ndarray,
    inertia: np.ndarray,
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    period: float,
    target: np.ndarray,
) -> None:
    """Moves the servo's target on by a commanded motion.

    Args:
        geometry: of the linkage.
        inertia: M_11, M_22, h up to the force sensor, with the motors.
        fields: of the `Motion`; 0 holds the target's position.
        motion: x, y, velocity (2), acceleration (2) of the tool, joint positions (2), joint velocities (2).
        by_joints: (2,) whether the joint positions and velocities hold instead of the tool's.
        period: T [s].
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
def stop(geometry: np.ndarray, q: np.ndarray) -> int:
    """Brings angles back between the mechanical stops; bit i of the result: joint i was at or beyond one."""
    blocked = 0
    for i in range(2):
        way = q[i] - geometry[4 + i]
        if abs(way) >= geometry[6]:
            q[i] = geometry[4 + i] + math.copysign(geometry[6], way)
            blocked |= 1 << i
    return blocked


@njit(cache=True)
def servo(
    target: np.ndarray,
    measured: np.ndarray,
    added: np.ndarray,
    gains: np.ndarray,
    integral: np.ndarray,
    effort: np.ndarray,
) -> None:
    """PID control of the joint angles with a velocity target; writes the motors' torques (2,) [N m].

    The integral stops where the torque is at its limit and would go on in that direction (anti-windup).

    Args:
        target: of `aim`.
        measured: joint positions (2) and velocities (2), as the encoders tell.
        added: (2,) feedforward of friction [N m].
        gains: position, integral times T, velocity, limit of the torque.
        integral: (2,) the integral part [N m]; updated.
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
    """Lets one control period pass.

    Args:
        truth: values of `Truth`; position, velocity and operator wrench are updated, the effort acts.
        links: angles (2) and velocities (2) of the links behind the gears; updated.
        friction_state: (2, ELEMENTS) deflections of the joints' friction; updated.
        sensor_state: (2, 2) of the force sensor's filter, for x and y; updated.
        friction_torque: (2,) mean over the period; result.
        geometry: of the linkage.
        model: M_11, M_22, h with everything that moves with the tool, motor's N^2 J_r, gear's K and C, grip's and
            hand's mass, hand's K_h, B_h, F_a.
        friction: of `joint_friction`.
        sensor_filter: of `force_sensor`.
        table: the hand's plan; empty: nobody holds the grip.
        tremor: of the hand.
        start: number of the period.
        period: T [s].
    """
    p, pd, effort, wrench = truth[0:2], truth[2:4], truth[4:6], truth[19:25]
    q, qd = links[0:2], links[2:4]
    m11, m22, h, motor, stiffness, damping, grip, hand = model[0:8]
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
        coupling, rotation = h * np.cos(q[0] - q[1]), h * np.sin(q[0] - q[1])
        tau[0] -= rotation * qd[1] ** 2
        tau[1] += rotation * qd[0] ** 2
        determinant = m11 * m22 - coupling * coupling
        qd[0] += dt * (m22 * tau[0] - coupling * tau[1]) / determinant
        qd[1] += dt * (m11 * tau[1] - coupling * tau[0]) / determinant
        q += dt * qd
        forward(geometry, q, qd, pose, after)
        for i in range(2):  # what is beyond the sensor takes part of the muscles' force
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


class FiveBar(SimulatedAdmittanceDevice):
    """The simulated manipulator; `hand` None leaves the grip alone.

    Args:
        parameters: numbers of the manipulator.
        hand: who holds the grip.
        seed: of the force sensor's noise.

    Attributes:
        geometry: constants of the kinematic functions of this module: a_1, a_2, x_0 (2), home angles (2), range.
        friction: constants of `joint_friction.step`, and of `joint_friction.history` for recorded positions.
        friction_torque: (2,) true friction torque of the joints, mean over the last period [N m].
        compensation_torque: (2,) torque that the friction compensation added in it [N m].
        target_position: (2,) joint angles that the servo follows [rad].
        target_velocity: (2,) [rad/s].
        links: (4,) true angles [rad] and velocities [rad/s] of the links behind the gears.
    """

    parameters: FiveBarParameters
    hand: SimulatedHand | None
    base_frame, tool_frame = "five_bar_base", "five_bar_tool"
    passive_joints = ("elbow", "coupling_rod")

    def __init__(self, parameters: FiveBarParameters, hand: SimulatedHand | None = None, seed: int = 0) -> None:
        p = self.parameters = parameters
        self.hand = hand
        self.seed = seed
        self._check()
        home = (p.home_upper_arm, p.home_forearm)
        self.joints = tuple(
            Joint(name, p.effort_limit, p.velocity_limit, angle - p.range, angle + p.range)
            for name, angle in zip(("upper_arm", "forearm"), home, strict=True)
        )
        a1, a2 = p.length_upper_arm, p.length_forearm
        axis = [-a1 * f(home[0]) - a2 * f(home[1]) for f in (math.cos, math.sin)]
        self.geometry = np.array([a1, a2, *axis, *home, p.range])
        self._table: np.ndarray = hand.table if hand else np.zeros((0, 7))
        self._tremor: np.ndarray = hand.tremor if hand else np.zeros((0, 5))
        mass = hand.parameters.mass if hand else 0.0
        motor = p.gear_ratio**2 * p.rotor_inertia
        moved = inertia_constants(p, p.mass_tool + p.mass_grip + mass)
        own = (*moved, motor, p.gear_stiffness, p.gear_damping, p.mass_grip, mass)
        self._model = np.array([*own, *(hand.impedance if hand else np.zeros(3))])
        m11, m22, h = inertia_constants(p, p.mass_tool)
        self._own_inertia = np.array([m11 + motor, m22 + motor, h])
        curve = (p.friction_coulomb, p.friction_static, p.friction_stribeck_velocity)
        self.friction = np.array([*curve, p.friction_viscous, p.friction_displacement])
        self._sensor = np.array([p.force_noise, p.force_resolution, p.force_range, p.torque_noise, p.torque_resolution])
        self._reading, self._truth = Reading(2), Truth(2)
        self._jacobian = np.zeros((6, 2))
        self._target, self._motion, self._by_joints = np.zeros(6), np.zeros(10), np.zeros(2, dtype=np.bool_)
        self.target_position, self.target_velocity = self._target[0:2], self._target[2:4]
        self.links, self._integral, self._sensor_state = np.zeros(4), np.zeros(2), np.zeros((2, 2))
        self._friction_state = np.zeros((2, joint_friction.ELEMENTS))
        self.friction_torque, self.compensation_torque = np.zeros(2), np.zeros(2)

    def _check(self) -> None:
        """Refuses numbers that are possible each but not together."""
        p = self.parameters
        if p.friction_static < p.friction_coulomb:
            raise ValueError(
                f"friction_static: expected friction_coulomb, {p.friction_coulomb:g} N m, or more, "
                f"got {p.friction_static:g}"
            )
        elbow = abs(math.remainder(p.home_forearm - p.home_upper_arm, 2.0 * math.pi))
        widest = min(elbow, math.pi - elbow) / 2.0
        if p.range >= widest:
            raise ValueError(
                f"range: expected below {widest:.4g} rad, where the arm of these home angles is stretched or folded, "
                f"got {p.range:g}"
            )

    def _longest_period(self) -> float:
        """Period [s] up to which the integration is stable, with a factor of two in hand.

        A step dt of an oscillator x'' = -w^2 x - c x' is stable for w^2 dt^2/2 + c dt < 2. The fastest one has the
        lightest motion of the links, which is that of the stretched arm, and the friction's springs beside the gear's.
        """
        p = self.parameters
        m11, m22, h, motor, stiffness, damping = self._model[:6]
        links = (m11 + m22) / 2.0 - math.hypot((m11 - m22) / 2.0, h)
        n = joint_friction.ELEMENTS
        bristles = p.friction_static * n / p.friction_displacement * sum(1.0 / i**2 for i in range(1, n + 1))
        w2 = (stiffness + bristles) / motor + stiffness / links
        c = damping / links + (damping + p.friction_viscous) / motor
        return SUBSTEPS * (math.sqrt(c * c + 2.0 * w2) - c) / w2

    @classmethod
    def from_file(
        cls, path: Path | None = None, hand: SimulatedHand | None = None, seed: int = 0, overrides: tuple[str, ...] = ()
    ) -> FiveBar:
        """The manipulator of a YAML file, the suite's own numbers if none is given; overrides are "name=value"."""
        return cls(load_parameters(FiveBarParameters, path or DEFAULT_FILE, overrides), hand, seed)

    def configure(self, period: float) -> None:
        p = self.parameters
        if self.hand is not None and abs(self.hand.plan.period - period) > 1e-12:
            raise ValueError(f"period: the hand's plan has {self.hand.plan.period:g} s, got {period:g} s")
        longest = self._longest_period()
        if period > longest:
            raise ValueError(
                f"period: expected {longest:.3g} s or less, so that {SUBSTEPS} steps follow the springs of gears and "
                f"friction, got {period:g} s"
            )
        self._encoder = encoder.constants(resolution=p.encoder_resolution, cutoff=p.velocity_cutoff, period=period)
        self._sensor_filter = force_sensor.filter_constants(p.sensor_cutoff, period / SUBSTEPS)
        self._gains = np.array([p.position_gain, p.integral_gain * period, p.velocity_gain, p.effort_limit])
        self._period = period
        self._compensation = FrictionCompensation(
            p.compensation,
            2,
            coulomb=p.compensation_coulomb,
            viscous=p.compensation_viscous,
            displacement=p.compensation_displacement,
            elements=p.compensation_elements,
            period=period,
        )
        self.activate()
        self.follow(None)  # compiles the integration, or loads what was compiled before

    def activate(self) -> None:
        """Starts at rest, with the tool where the hand's plan starts, and holds."""
        self._follow_plan()
        truth, reading = self._truth, self._reading
        start = self.hand.table[0, 0:2] if self.hand is not None else np.zeros(2)
        inverse(self.geometry, start[0], start[1], truth.position)
        if stop(self.geometry, truth.position):
            raise ValueError(f"the hand's plan starts out of reach, at x = {start[0]:.3g} m, y = {start[1]:.3g} m")
        for array in (truth.velocity, truth.effort, truth.tool_wrench, reading.velocity, self._target, self.links):
            array[:] = 0.0
        self.links[:2] = truth.position
        for array in (self._integral, self._sensor_state, self._friction_state, self.friction_torque):
            array[:] = 0.0
        for i in range(2):
            reading.position[i] = encoder.quantise(truth.position[i], self.parameters.encoder_resolution)
        self.target_position[:] = reading.position
        self._compensation.reset()
        self.compensation_torque[:] = 0.0
        self._random = np.random.default_rng(self.seed)
        truth.operator_target[0:2] = start
        self._period_number = 0
        self._powered, self._stopped = True, False
        self._observe()

    def _observe(self) -> None:
        noise = self._random.standard_normal(6)
        reading, truth = self._reading.values, self._truth.values
        observe(truth, self.links, reading, self._jacobian, self.geometry, self._sensor_state, self._sensor, noise)

    def follow(self, motion: Motion | None) -> None:
        """Commands the motion of the next period and lets it pass.

        Only x and y of pose, twist and acceleration count, or the joint values that stand instead of them.
        Without POSITION the target moves on by the velocity; without VELOCITY the servo brakes towards the
        position; ACCELERATION adds the torques that the arm's own inertia needs. Targets end at the joints'
        stops. None holds the target's position.
        """
        self._lead(self._period)
        self._aim(None if self._stopped else motion)
        self.compensation_torque[:] = self._compensation.step(self.target_velocity)
        truth, reading = self._truth, self._reading
        if self._powered:
            measured = reading.values[0:4]
            servo(self._target, measured, self.compensation_torque, self._gains, self._integral, truth.effort)
        else:
            truth.effort[:] = 0.0
        integrate(
            truth.values,
            self.links,
            self._friction_state,
            self._sensor_state,
            self.friction_torque,
            self.geometry,
            self._model,
            self.friction,
            self._sensor_filter,
            self._table,
            self._tremor,
            self._period_number,
            self._period,
        )
        self._period_number += 1
        if self.hand is not None:
            truth.operator_target[0:2] = self._table[min(self._period_number, len(self._table) - 1), 0:2]
        encoder.sample(truth.position, self._encoder, reading.position, reading.velocity)
        self._observe()

    def _aim(self, motion: Motion | None) -> None:
        fields = 0
        if motion is not None:
            fields, wanted = motion.fields, self._motion
            wanted[0:2], wanted[2:4], wanted[4:6] = motion.pose[:2], motion.twist[:2], motion.acceleration[:2]
            for i, joints in enumerate((motion.joint_position, motion.joint_velocity)):
                self._by_joints[i] = joints is not None
                if joints is not None:
                    wanted[6 + 2 * i : 8 + 2 * i] = joints
        aim(self.geometry, self._own_inertia, fields, self._motion, self._by_joints, self._period, self._target)

    def compensation_history(self, motions: Iterable[Motion | None]) -> np.ndarray:
        """Torques (n, 2) [N m] that the friction compensation adds for n motions followed from the start.

        For recorded commands (`haptic_core.commands.motion_of`, shifted by the run's `command_delay_ticks`): row k acts
        in the period that ends at tick k + 1, as does row k + 1 of `joint_friction.history`. Starts the device again.
        """
        self.activate()
        rows = []
        for motion in motions:
            self._aim(motion)
            rows.append(self._compensation.step(self.target_velocity).copy())
        return np.array(rows).reshape(-1, 2)

    def robot_description(self) -> str:
        """Upper arm with forearm and tool, crank with coupling rod; the rod's end meets the forearm's rear end.

        The second motor's joint, `forearm`, turns the crank; `elbow` is q2 - q1, `coupling_rod` the same the other way.
        What the hand holds beyond the sensor is in the tool's mass.
        """
        p, robot = self.parameters, Robot("five_bar")
        a1, a2, b = p.length_upper_arm, p.length_forearm, p.length_crank
        axis, origin, z = (self.geometry[2], self.geometry[3], 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)

        def rod(name: str, mass: float, rear: float, front: float) -> None:
            """A uniform slender rod along x."""
            moment = mass * (front - rear) ** 2 / 12.0
            link = robot.link(f"five_bar_{name}", mass, ((rear + front) / 2.0, 0.0, 0.0), (0.0, moment, moment))
            link.bar((rear, 0.0, 0.0), (front, 0.0, 0.0), 0.05 * b if "rod" in name else 0.1 * b, MOVED)
            for end in (rear, front):
                link.ball((end, 0.0, 0.0), 0.12 * b, STEEL)

        robot.link("five_bar_base").bar((*axis[:2], -b), (*axis[:2], 0.1 * b), 0.3 * b, FRAME)
        rod("upper_arm", p.mass_upper_arm, 0.0, a1)
        rod("forearm", p.mass_forearm, -b, a2)
        rod("crank", p.mass_crank, -b, 0.0)
        rod("coupling_rod", p.mass_coupling_rod, 0.0, a1)
        tool = robot.link("five_bar_tool", p.mass_tool + p.mass_grip)
        tool.bar(origin, (0.0, 0.0, b), 0.15 * b, TOOL)
        for name in ("forearm_end", "coupling_rod_end"):
            robot.link(f"five_bar_{name}")
        upper_arm, forearm = self.joints
        turn = p.home_forearm - p.home_upper_arm
        elbow, coupling = (
            Joint(name, 0.0, 2.0 * p.velocity_limit, sign * turn - 2.0 * p.range, sign * turn + 2.0 * p.range)
            for name, sign in zip(self.passive_joints, (1.0, -1.0), strict=True)
        )
        robot.joint(upper_arm, "five_bar_base", "five_bar_upper_arm", z, axis)
        robot.joint(elbow, "five_bar_upper_arm", "five_bar_forearm", z, (a1, 0.0, 0.0))
        robot.fixed("five_bar_forearm", "five_bar_tool", (a2, 0.0, 0.0))
        robot.fixed("five_bar_forearm", "five_bar_forearm_end", (-b, 0.0, 0.0))
        robot.joint(forearm, "five_bar_base", "five_bar_crank", z, axis)
        robot.joint(coupling, "five_bar_crank", "five_bar_coupling_rod", z, (-b, 0.0, 0.0))
        robot.fixed("five_bar_coupling_rod", "five_bar_coupling_rod_end", (a1, 0.0, 0.0))
        return robot.xml()

    def passive_state(self) -> np.ndarray:
        both = np.array([self._reading.position, self._reading.velocity])
        turn = both[:, 1] - both[:, 0]
        return np.column_stack([turn, -turn])
