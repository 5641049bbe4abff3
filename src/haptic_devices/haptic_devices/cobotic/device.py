"""A simulated 6-DOF admittance display that stands in for the Cobotic Hand Controller, held by a simulated hand.

The equations are in `simulation`.
"""

from __future__ import annotations

import math

import numpy as np

from haptic_core.commands import Motion
from haptic_devices.cobotic.kinematics import inverse, rotation
from haptic_devices.cobotic.parameters import DEFAULT_FILE, CoboticHandControllerParameters
from haptic_devices.cobotic.period import pass_period
from haptic_devices.cobotic.records import COMPENSATIONS, Compensation, Driver, EndEffector, Servo
from haptic_devices.cobotic.simulation import GRAVITY, SUBSTEPS, observe, own_wrench, to_tool
from haptic_devices.components import encoder, force_sensor
from haptic_devices.components.commanded_motion import MotionArrays
from haptic_devices.components.urdf import FRAME, MOVED, STEEL, TOOL, Robot
from haptic_devices.device import TRANSLATIONS, Joint, Reading, Truth
from haptic_devices.hands.operator import SimulatedAdmittanceDevice
from haptic_devices.hands.spatial_hand import RELEASED, SpatialHand
from haptic_devices.motions.spatial import POSE

_NAMES = (*TRANSLATIONS, "yaw", "tilt", "roll")
_LINKS = ("base", "x", "y", "z", "yaw", "tilt", "tool")


class CoboticHandController(SimulatedAdmittanceDevice):
    """The simulated display.

    Args:
        parameters: parameters of the display.
        hand: simulated hand that holds the handle; None: the handle is released.
        seed: seed of the load cell's noise.

    Attributes:
        target_position: (6,) joint positions that the driver follows [m], [rad].
        target_velocity: (6,) joint velocities that the driver follows [m/s], [rad/s].
        command: rows velocity and acceleration (2, 6) of the last command to the servo, before its latency.
    """

    parameters_type, default_file = CoboticHandControllerParameters, DEFAULT_FILE
    parameters: CoboticHandControllerParameters
    hand: SpatialHand | None
    base_frame, tool_frame = "cobotic_hand_controller_base", "cobotic_hand_controller_tool"

    def __init__(
        self, parameters: CoboticHandControllerParameters, hand: SpatialHand | None = None, seed: int = 0
    ) -> None:
        super().__init__(parameters, hand, seed)
        p = parameters
        self._check()
        reach = np.array([p.range_translation] * 3 + [p.range_yaw, p.range_tilt, p.range_roll])
        self._inertia = np.repeat([p.inertia_translation, p.inertia_rotation], 3)
        self._limits, effort_limits = reach, np.repeat([p.force_limit, p.torque_limit], 3)
        self.joints = tuple(
            Joint(
                name,
                effort,
                p.speed_limit if i < 3 else p.rate_limit,
                -end,
                end,
                "prismatic" if i < 3 else "revolute",
            )
            for i, (name, effort, end) in enumerate(zip(_NAMES, effort_limits.tolist(), reach.tolist(), strict=True))
        )
        self._speeds = np.array([joint.velocity_limit for joint in self.joints])
        center = np.array([p.end_effector_center_x, p.end_effector_center_y, p.end_effector_center_z])
        self._body = EndEffector(p.end_effector_mass, center, np.array(self._moments()))
        self._set_hand(hand.arrays if hand else RELEASED)
        self._reading, self._truth = Reading(6), Truth(6)
        self._jacobian, self._rate = np.zeros((6, 6)), np.zeros(6)
        self._target, self._unclipped, self.command = np.zeros((3, 6)), np.zeros(6), np.zeros((2, 6))
        self.target_position, self.target_velocity = self._target[0], self._target[1]
        self._motion = MotionArrays(6)

    def _moments(self) -> tuple[float, float, float]:
        p = self.parameters
        return p.end_effector_inertia_x, p.end_effector_inertia_y, p.end_effector_inertia_z

    def _check(self) -> None:
        """Refuses combinations of parameters that are not possible together."""
        p, hand = self.parameters, self.hand.parameters if self.hand else None
        moments = self._moments()
        for axis, moment in zip("xyz", moments, strict=True):
            others = sum(moments) - moment
            if moment > others * (1.0 + 1e-12):
                raise ValueError(
                    f"end_effector_inertia_{axis}: expected at most the sum of the other two, {others:g} kg m^2, "
                    f"got {moment:g}"
                )
        # both below one half: then the coupling by the last step's acceleration converges
        mass = p.end_effector_mass + (hand.mass if hand else 0.0)
        if mass > p.inertia_translation / 2.0:
            raise ValueError(
                f"end_effector_mass and the hand's mass: expected half of inertia_translation, "
                f"{p.inertia_translation / 2.0:g} kg, or less, got {mass:g} kg"
            )
        lever = p.end_effector_center_x**2 + p.end_effector_center_y**2 + p.end_effector_center_z**2
        inertia = max(moments) + p.end_effector_mass * lever + (hand.rotational_inertia if hand else 0.0)
        most = p.inertia_rotation / (2.0 * (1.0 + math.sin(p.range_tilt)))
        if inertia > most:
            raise ValueError(
                f"end_effector_inertia and the hand's rotational_inertia: expected half of what inertia_rotation is at "
                f"the largest tilt, {most:.3g} kg m^2, or less, got {inertia:.3g} kg m^2"
            )

    def _longest_period(self) -> float:
        """Returns the longest period [s] at which ten steps resolve the servo and the hand's impedance."""
        p = self.parameters
        longest = 1.0 / (2.0 * math.pi * p.servo_bandwidth)  # stable up to four times that
        light = (1.0, 1.0 + math.sin(p.range_tilt))
        for i in range(2):
            stiffness, damping = self._hand.impedance[2 * i : 2 * i + 2] * light[i] / self._inertia[3 * i]
            if stiffness > 0.0 or damping > 0.0:
                # semi-implicit Euler: stable for w^2 dt^2/2 + c dt < 2, taken with a factor of two in hand
                longest = min(longest, 2.0 / (damping + math.sqrt(damping**2 + 2.0 * stiffness)))
        return SUBSTEPS * longest

    def _servo_radius(self, period: float, latency: int) -> float:
        """Computes the spectral radius of one joint's sampled loop: velocity servo, latency, outer loop."""
        w, gain, dt = 2.0 * math.pi * self.parameters.servo_bandwidth, self.parameters.position_gain, period / SUBSTEPS
        delayed = -(-latency // SUBSTEPS)
        # state: position, velocity, integral part, velocity commands of this and earlier periods
        loop = np.eye(4 + delayed)
        loop[3] = 0.0
        loop[3, 0] = -gain
        loop[4:] = np.eye(4 + delayed)[3:-1] if delayed else loop[4:]
        first = loop.copy()
        step = np.eye(4 + delayed)
        for n in range(SUBSTEPS):
            step[:] = np.eye(4 + delayed)
            delay = 3 + (latency + SUBSTEPS - 1 - n) // SUBSTEPS
            step[1, 1] -= dt * w
            step[1, 2], step[1, delay] = dt, dt * w
            step[2, 1], step[2, delay] = -dt * w * w / 4.0, dt * w * w / 4.0
            step[0] += dt * step[1]
            first = step @ first
        return float(np.abs(np.linalg.eigvals(first)).max())

    def configure(self, period: float) -> None:
        p = self.parameters
        self._check_period(period, self._longest_period(), f"{SUBSTEPS} steps follow the servo and the hand")
        latency = round(p.servo_latency * SUBSTEPS / period)
        if self._servo_radius(period, latency) > 1.0 + 1e-9:
            raise ValueError(
                f"position_gain: expected less than {p.position_gain:g} 1/s, with which the loop of servo_bandwidth, "
                f"servo_latency and a period of {period:g} s is unstable"
            )
        self._driver = Driver(self._limits, self._speeds, p.position_gain, self._target, self._unclipped, self.command)
        self._servo = Servo(
            inertia=self._inertia,
            friction=np.repeat([p.friction_translation, p.friction_rotation], 3),
            effort_limit=np.array([joint.effort_limit for joint in self.joints]),
            stop=self._limits,
            bandwidth=2.0 * math.pi * p.servo_bandwidth,
            latency=latency,
            commands=np.zeros((1 - (-latency // SUBSTEPS), 2, 6)),
            integral=np.zeros(6),
            followed=np.zeros(6),
        )
        self._cell = force_sensor.make_cell(
            force_sensor.filter_constants(p.sensor_cutoff, period / SUBSTEPS),
            noise=(p.force_noise, p.torque_noise),
            resolution=(p.force_resolution, p.torque_resolution),
            limits=(p.force_range, p.torque_range),
        )
        self._compensation = Compensation(
            COMPENSATIONS[p.compensation], force_sensor.filter_constants(p.sensor_cutoff, period), np.zeros((6, 2))
        )
        encoders = [
            encoder.constants(resolution=resolution, cutoff=p.velocity_cutoff, period=period)
            for resolution in (p.position_resolution, p.angle_resolution)
        ]
        self._period = period
        sensors = self._body.arguments(), self._cell.arrays(), self._compensation.arguments()
        self._arguments = self._driver.arguments(), self._servo.arguments(), self._rate, (np.array(encoders), *sensors)
        self.activate()
        self.follow(None)  # compiles the integration, or loads it from the cache

    def activate(self) -> None:
        """Starts at rest, with the tool at the start of the hand's plan, and holds this position."""
        self._follow_plan()
        truth, reading = self._truth, self._reading
        pose = self._hand.table[0, POSE]
        inverse(pose, np.zeros(6), truth.position)
        for joint, position in zip(self.joints, truth.position.tolist(), strict=True):
            if not joint.lower <= position <= joint.upper:
                unit = "m" if joint.kind == "prismatic" else "rad"
                raise ValueError(
                    f"the hand's plan starts out of reach: joint {joint.name} at {position:.3g} {unit}, "
                    f"expected {joint.upper:g} {unit} or less both ways"
                )
        self._random = np.random.default_rng(self.seed)
        for array in (truth.velocity, truth.effort, truth.tool_wrench, reading.velocity, self._target, self.command):
            array[:] = 0.0
        for array in (self._servo.commands, self._servo.integral, self._servo.followed, self._rate, self._cell.state):
            array[:] = 0.0
        p = self.parameters
        for i in range(6):
            resolution = p.position_resolution if i < 3 else p.angle_resolution
            reading.position[i] = encoder.quantise(truth.position[i], resolution)
        self.target_position[:] = reading.position
        self._unclipped[:] = reading.position
        truth.operator_target[:] = pose
        matrix, own = np.zeros((3, 3)), np.zeros(6)
        rotation(truth.position, matrix)
        own_wrench(matrix, self._body, np.zeros(3), np.zeros(6), GRAVITY, own)
        to_tool(matrix, own, self._cell.state[:, 0])
        self._period_number = 0
        self._powered, self._stopped = True, False
        observe(
            *(truth.views, reading.views, self._jacobian, self._servo.followed, self._body, self._cell),
            *(self._compensation, self._random.standard_normal(6), True),
        )

    def follow(self, motion: Motion | None) -> None:
        """Commands the motion of the next period and simulates this period.

        With POSITION the driver's outer loop controls the position, without VELOCITY with a desired velocity of zero.
        VELOCITY alone is followed without control of the position. ACCELERATION is used with VELOCITY, as feedforward.
        Joint values replace pose and twist. Targets are limited to the joints' stops. None holds the target's position;
        after VELOCITY alone that is the measured position.
        """
        self._lead(self._period)
        pass_period(
            self._motion.hold(None if self._stopped else motion),
            self._motion.values,
            self._motion.by_joints,
            *self._arguments,
            self._hand_tuple,
            self._powered,
            self._random.standard_normal(6),
            self._period_number,
            self._truth.values,
            self._reading.values,
            self._jacobian,
        )
        self._period_number += 1

    def robot_description(self) -> str:
        """Returns the URDF: slides x, y, z and a gimbal with the end effector, above the tool so that it stays visible.

        The drives' inertia belongs to the joints and is left out; the tool has the inertia of the end effector.
        """
        p, prefix = self.parameters, "cobotic_hand_controller"
        reach, robot = p.range_translation, Robot(prefix)
        names = [f"{prefix}_{name}" for name in _LINKS]
        center = (p.end_effector_center_x, p.end_effector_center_y, p.end_effector_center_z)
        inertia = (p.end_effector_inertia_x, p.end_effector_inertia_y, p.end_effector_inertia_z)
        base, x, y, z, yaw, tilt = (robot.link(name) for name in names[:-1])
        tool = robot.link(names[-1], p.end_effector_mass, center, inertia)
        for i, (joint, parent, child) in enumerate(zip(self.joints, names[:-1], names[1:], strict=True)):
            robot.joint(joint, parent, child, np.eye(3)[(0, 1, 2, 2, 0, 1)[i]].tolist())
        high, thick = 2.0 * reach, 0.05 * reach
        base.bar((-1.2 * reach, 0.0, high), (1.2 * reach, 0.0, high), thick, FRAME)
        x.bar((0.0, -1.2 * reach, high), (0.0, 1.2 * reach, high), thick, STEEL)
        y.bar((0.0, 0.0, 0.8 * high), (0.0, 0.0, 1.2 * high), 1.5 * thick, STEEL)
        z.bar((0.0, 0.0, 0.3 * reach), (0.0, 0.0, high), thick, MOVED)
        yaw.bar((-0.3 * reach, 0.0, 0.3 * reach), (0.3 * reach, 0.0, 0.3 * reach), thick, MOVED)
        for side in (-0.3 * reach, 0.3 * reach):
            yaw.bar((side, 0.0, 0.0), (side, 0.0, 0.3 * reach), thick, MOVED)
        tilt.bar((-0.3 * reach, 0.0, 0.0), (0.3 * reach, 0.0, 0.0), 0.5 * thick, STEEL)
        tool.bar((0.0, -0.2 * reach, 0.0), (0.0, 0.2 * reach, 0.0), thick, TOOL)
        tool.bar((0.0, 0.0, 0.0), (0.0, 0.0, 0.15 * reach), 0.5 * thick, TOOL)
        return robot.xml()
