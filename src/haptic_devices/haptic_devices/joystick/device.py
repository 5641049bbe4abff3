"""A simulated 2-DOF force-feedback joystick held by a simulated hand.

The gimbal's outer ring rotates by q1 about the base's y axis, the stick inside it by -q2 about the ring's
x axis, R = Ry(q1) Rx(-q2). With the tip at distance L,

    tip = L (sin q1 cos q2, sin q2, cos q1 cos q2),     angular velocity = (-cos q1 q2', q1', sin q1 q2').

The stick is counterbalanced (no gravity). With the hand's mass m at the tip, I_s = inertia_stick + m L^2,

    (I_1 + I_s cos^2 q2) q1'' - 2 I_s sin q2 cos q2 q1' q2' = tau_1
    (I_2 + I_s) q2''         + I_s sin q2 cos q2 q1'^2      = tau_2

Semi-implicit Euler with substeps; the bearings' Coulomb friction is solved implicitly in each substep.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple
from pydantic import Field

from haptic_devices.components import encoder
from haptic_devices.components.device_values import views_of
from haptic_devices.components.urdf import FRAME, MOVED, STEEL, TOOL, Robot
from haptic_devices.device import DeviceParameters, DeviceValues, Joint, Reading, Truth, load_parameters
from haptic_devices.hands.operator import (
    RELEASED,
    HandArrays,
    HandHeldDevice,
    SimulatedHand,
    hand_of,
    muscle_force,
    planned_row,
    write_planar_target,
)
from haptic_devices.motions.planar import POSITION
from haptic_math.array_assignment import assign

DEFAULT_FILE = Path(__file__).with_name("joystick.yaml")

#: integration steps per control period: 0.1 ms at 1 kHz, 1/200 of the stiffest oscillation's period
SUBSTEPS = 10


class JoystickParameters(DeviceParameters):
    """Numbers of the joystick; see joystick.yaml for the reasons."""

    length: float = Field(gt=0.0, le=1.0, description="length L from pivot to tip [m]")
    inertia_outer: float = Field(gt=0.0, le=1.0, description="inertia I_1 of motor 1 and outer ring [kg m^2]")
    inertia_inner: float = Field(gt=0.0, le=1.0, description="inertia I_2 of motor 2 and inner ring [kg m^2]")
    inertia_stick: float = Field(ge=0.0, le=1.0, description="inertia of the stick about the pivot [kg m^2]")
    friction_coulomb: float = Field(ge=0.0, le=1.0, description="Coulomb friction of each joint [N m]")
    friction_viscous: float = Field(ge=0.0, le=1.0, description="viscous friction of each joint [N m s/rad]")
    effort_limit: float = Field(gt=0.0, le=100.0, description="largest motor torque at the joint [N m]")
    effort_rate_limit: float = Field(gt=0.0, le=1e6, description="fastest change of the torque [N m/s]")
    velocity_limit: float = Field(gt=0.0, le=1000.0, description="largest joint speed [rad/s]")
    workspace: float = Field(gt=0.0, le=1.0, description="largest distance of the tip along x and y [m]")
    range: float = Field(gt=0.0, lt=math.pi / 2, description="mechanical stop, on both sides of home [rad]")
    encoder_resolution: float = Field(ge=0.0, le=0.1, description="one count at the joint [rad]")
    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")


@njit(cache=True)
def tip_state(length: float, q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tip's pose (7,) with quaternion x, y, z, w, and twist (6,), in the base frame."""
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    pose[0], pose[1], pose[2] = length * s1 * c2, length * s2, length * c1 * c2
    a, b = 0.5 * q[0], -0.5 * q[1]  # quaternion of Ry(q1) times that of Rx(-q2)
    pose[3], pose[4] = np.cos(a) * np.sin(b), np.sin(a) * np.cos(b)
    pose[5], pose[6] = -np.sin(a) * np.sin(b), np.cos(a) * np.cos(b)
    twist[0] = length * (c1 * c2 * qd[0] - s1 * s2 * qd[1])
    twist[1] = length * c2 * qd[1]
    twist[2] = -length * (s1 * c2 * qd[0] + c1 * s2 * qd[1])
    twist[3], twist[4], twist[5] = -c1 * qd[1], qd[0], s1 * qd[1]


@njit(cache=True)
def tip_jacobian(length: float, q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tip's Jacobian (6, 2) in the base frame, rows [linear; angular]."""
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    jacobian[0, 0], jacobian[0, 1] = length * c1 * c2, -length * s1 * s2
    jacobian[1, 0], jacobian[1, 1] = 0.0, length * c2
    jacobian[2, 0], jacobian[2, 1] = -length * s1 * c2, -length * c1 * s2
    jacobian[3, 0], jacobian[3, 1] = 0.0, -c1
    jacobian[4, 0], jacobian[4, 1] = 1.0, 0.0
    jacobian[5, 0], jacobian[5, 1] = 0.0, s1


class Gimbal(NamedTuple):
    """Constants of the equations of motion.

    Attributes:
        outer, inner: inertias I_1 and I_2 [kg m^2].
        stick: inertia I_s, with the hand's mass [kg m^2].
        coulomb: Coulomb friction of each joint [N m].
        viscous: viscous friction of each joint [N m s/rad].
        length: L [m].
        stop: mechanical stop of each joint, on both sides of home [rad].
        effort_limit: largest motor torque at the joint [N m].
    """

    outer: float
    inner: float
    stick: float
    coulomb: float
    viscous: float
    length: float
    stop: float
    effort_limit: float


_GIMBAL = len(Gimbal._fields)


@njit(cache=True)
def integrate(truth: DeviceValues, gimbal: Gimbal, hand: HandArrays, start: int, period: float) -> None:
    """Integrates one control period.

    Args:
        truth: true state; position, velocity and tool wrench are updated, the effort is an input.
        gimbal: constants of the joystick.
        hand: the hand.
        start: number of the period.
        period: control period T [s].
    """
    q, qd, effort, wrench = truth.position, truth.velocity, truth.effort, truth.tool_wrench
    outer, inner, stick, coulomb, viscous, length, stop, _ = gimbal
    dt = period / SUBSTEPS
    force, tau, mass = np.zeros(2), np.zeros(2), np.zeros(2)
    pose, twist, before = np.zeros(7), np.zeros(6), np.zeros(6)
    wrench[:] = 0.0
    held = hand.table.shape[0] > 0
    if held:
        row = planned_row(hand, start)
    tip_state(length, q, qd, pose, before)
    for n in range(SUBSTEPS):
        s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
        mass[0], mass[1] = outer + stick * c2 * c2, inner + stick
        tau[0] = effort[0] + 2.0 * stick * s2 * c2 * qd[0] * qd[1]
        tau[1] = effort[1] - stick * s2 * c2 * qd[0] * qd[0]
        if held:
            tip_state(length, q, qd, pose, twist)
            muscle_force(hand, row, start * period + n * dt, pose, twist, force)
            tau[0] += length * c1 * c2 * force[0]
            tau[1] += length * (-s1 * s2 * force[0] + c2 * force[1])
            wrench[0] += force[0] / SUBSTEPS
            wrench[1] += force[1] / SUBSTEPS
        for i in range(2):
            free = qd[i] + dt * tau[i] / mass[i]
            drop = dt * coulomb / mass[i]
            if abs(free) <= drop:
                qd[i] = 0.0
            else:
                qd[i] = (free - math.copysign(drop, free)) / (1.0 + dt * viscous / mass[i])
            q[i] += dt * qd[i]
            if abs(q[i]) > stop:  # inelastic
                q[i] = math.copysign(stop, q[i])
                qd[i] = 0.0
    tip_state(length, q, qd, pose, twist)
    for i in range(3):  # part of the muscles' force accelerates the hand's own mass
        wrench[i] -= hand.inertia[i] * (twist[i] - before[i]) / period


@njit(cache=True)
def observe(truth: DeviceValues, reading: DeviceValues, jacobian: np.ndarray, length: float) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, and the measured Jacobian."""
    tip_state(length, truth.position, truth.velocity, truth.tool_pose, truth.tool_twist)
    tip_state(length, reading.position, reading.velocity, reading.tool_pose, reading.tool_twist)
    assign(reading.effort, truth.effort)
    tip_jacobian(length, reading.position, jacobian)


@njit(cache=True)
def pass_period(
    truth_values: np.ndarray,
    reading_values: np.ndarray,
    jacobian: np.ndarray,
    gimbal_constants: np.ndarray,
    hand_arrays: tuple[np.ndarray, ...],
    encoder_constants: np.ndarray,
    start: int,
) -> None:
    """Simulates one control period: physics, encoders, kinematics. It is compiled, as it runs in every tick.

    Args:
        truth_values, reading_values: values of `Truth` and `Reading`; updated. The true effort is an input, which is
            limited.
        jacobian: (6, 2) measured Jacobian; result.
        gimbal_constants: numbers of `Gimbal`.
        hand_arrays: `HandArrays` as a plain tuple.
        encoder_constants: constants of `encoder.sample`.
        start: number of the period.
    """
    truth, reading = views_of(truth_values, 2), views_of(reading_values, 2)
    gimbal, hand = Gimbal(*to_fixed_tuple(gimbal_constants, _GIMBAL)), hand_of(hand_arrays)
    for i in range(2):
        truth.effort[i] = min(max(truth.effort[i], -gimbal.effort_limit), gimbal.effort_limit)
    integrate(truth, gimbal, hand, start, encoder_constants[encoder.PERIOD])
    write_planar_target(hand, start + 1, truth.operator_target)
    encoder.sample(truth.position, encoder_constants, reading.position, reading.velocity)
    observe(truth, reading, jacobian, gimbal.length)


class Joystick(HandHeldDevice):
    """The simulated joystick.

    Args:
        parameters: parameters of the joystick.
        hand: simulated hand that holds the tip; None: the stick is released.
    """

    parameters: JoystickParameters
    hand: SimulatedHand | None
    base_frame, tool_frame = "joystick_base", "joystick_tool"

    def __init__(self, parameters: JoystickParameters, hand: SimulatedHand | None = None) -> None:
        p = self.parameters = parameters
        self.hand = hand
        self.joints = tuple(
            Joint(name, p.effort_limit, p.velocity_limit, -p.range, p.range, effort_rate_limit=p.effort_rate_limit)
            for name in ("roll", "pitch")
        )
        self.workspace = ((-p.workspace, -p.workspace, -math.inf), (p.workspace, p.workspace, math.inf))
        self._set_hand(hand.arrays if hand else RELEASED)
        self._gimbal = np.array(self._constants())
        self._reading, self._truth = Reading(2), Truth(2)
        self._jacobian = np.zeros((6, 2))

    def _constants(self) -> Gimbal:
        p, (mass, *_) = self.parameters, self._hand.inertia.tolist()
        stick = p.inertia_stick + mass * p.length**2
        friction = p.friction_coulomb, p.friction_viscous
        return Gimbal(p.inertia_outer, p.inertia_inner, stick, *friction, p.length, p.range, p.effort_limit)

    @classmethod
    def from_file(cls, path: Path | None = None, hand: SimulatedHand | None = None) -> Joystick:
        """Makes the joystick from a YAML file (default: the suite's own)."""
        return cls(load_parameters(JoystickParameters, path or DEFAULT_FILE), hand)

    def _longest_period(self) -> float:
        """Returns the longest period [s] at which the steps follow the hand's impedance, with a safety factor of two.

        A step dt of an oscillator x'' = -w^2 x - c x' is stable for w^2 dt^2/2 + c dt < 2. Its inertia is the smaller
        one of both joints; the hand's springs and dampers act at the lever L.
        """
        outer, inner, stick, *_ = self._gimbal.tolist()
        inertia = (min(outer, inner) + stick) / self.parameters.length**2
        stiffness, damping, _ = self._hand.impedance / inertia
        rate = damping + math.sqrt(damping**2 + 2.0 * stiffness)
        return SUBSTEPS * 2.0 / rate if rate > 0.0 else math.inf

    def configure(self, period: float) -> None:
        p = self.parameters
        self._check_period(period, self._longest_period(), f"{SUBSTEPS} steps follow the hand")
        self._encoder = encoder.constants(resolution=p.encoder_resolution, cutoff=p.velocity_cutoff, period=period)
        self.activate()
        self.write(np.zeros(2))  # compiles the integration, or loads it from the cache

    def activate(self) -> None:
        """Starts at rest, with the tip at the start of the hand's plan; raises ValueError if that is out of reach."""
        self._follow_plan()
        truth = self._truth
        truth.position[:] = self._start()
        for array in (truth.velocity, truth.effort, truth.tool_wrench, self._reading.velocity):
            array[:] = 0.0
        for i in range(2):
            self._reading.position[i] = encoder.quantise(truth.position[i], self.parameters.encoder_resolution)
        observe(truth.views, self._reading.views, self._jacobian, self.parameters.length)
        if self.hand is not None:
            truth.operator_target[0:2] = self._hand.table[0, POSITION]
        self._period_number = 0
        self._powered = True

    def _start(self) -> tuple[float, float]:
        """Returns the joint angles at the start of the hand's plan [rad]."""
        if self.hand is None:
            return 0.0, 0.0
        p, start = self.parameters, self._hand.table[0, POSITION]
        x, y = start / p.length
        if abs(y) < 1.0 and abs(x) < math.sqrt(1.0 - y * y):
            pitch = math.asin(y)
            roll = math.asin(x / math.cos(pitch))
            if max(abs(roll), abs(pitch)) <= p.range:
                return roll, pitch
        raise ValueError(f"the hand's plan starts out of reach, at x = {start[0]:.3g} m, y = {start[1]:.3g} m")

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        self._lead(self._encoder[encoder.PERIOD])
        self._truth.effort[:] = effort if self._powered else 0.0
        pass_period(
            self._truth.values,
            self._reading.values,
            self._jacobian,
            self._gimbal,
            self._hand_tuple,
            self._encoder,
            self._period_number,
        )
        self._period_number += 1

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        self._powered = False

    def deactivate(self) -> None:
        self._powered = False

    def truth(self) -> Truth:
        return self._truth

    def robot_description(self) -> str:
        """Returns the URDF: base, outer ring, stick, tool, without I_1 and I_2, which belong to the joints."""
        length, robot = self.parameters.length, Robot("joystick")
        width = 0.25 * length
        roll, pitch = self.joints
        base = robot.link("joystick_base")
        ring = robot.link("joystick_ring")
        # a uniform rod with the pivot in the middle is counterbalanced and has the stick's inertia
        mass, moment = 3.0 * self.parameters.inertia_stick / length**2, self.parameters.inertia_stick
        stick = robot.link("joystick_stick", mass, inertia=(moment, moment, 0.0))
        tool = robot.link("joystick_tool")
        robot.joint(roll, "joystick_base", "joystick_ring", (0.0, 1.0, 0.0))
        robot.joint(pitch, "joystick_ring", "joystick_stick", (-1.0, 0.0, 0.0))
        robot.fixed("joystick_stick", "joystick_tool", (0.0, 0.0, length))
        for side in (-1.5 * width, 1.5 * width):
            base.bar((0.0, side, -width), (0.0, side, 0.5 * width), 0.2 * width, FRAME)
        ring.bar((0.0, -1.5 * width, 0.0), (0.0, 1.5 * width, 0.0), 0.1 * width, STEEL)
        ring.bar((-0.8 * width, 0.0, 0.0), (0.8 * width, 0.0, 0.0), 0.1 * width, STEEL)
        stick.bar((0.0, 0.0, 0.0), (0.0, 0.0, length), 0.1 * width, MOVED)
        tool.ball((0.0, 0.0, 0.0), 0.25 * width, TOOL)
        return robot.xml()
