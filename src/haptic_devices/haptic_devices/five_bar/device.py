"""A simulated 2-DOF parallel-link (five-bar) manipulator under admittance control, held by a simulated hand.

The equations are in `simulation`, with those of the linkage in `kinematics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from haptic_core.commands import Motion
from haptic_devices.components import encoder, force_sensor, joint_friction
from haptic_devices.components.commanded_motion import MotionArrays
from haptic_devices.components.friction_compensation import FrictionCompensation
from haptic_devices.components.joint_friction import JointFriction
from haptic_devices.components.urdf import FRAME, MOVED, STEEL, TOOL, Robot
from haptic_devices.device import Joint, Reading, Truth
from haptic_devices.five_bar.control import update_target
from haptic_devices.five_bar.kinematics import Linkage, inverse, stop
from haptic_devices.five_bar.parameters import DEFAULT_FILE, FiveBarParameters, LinkInertia, inertia_constants
from haptic_devices.five_bar.simulation import SUBSTEPS, Arm, ArmState, observe, pass_period
from haptic_devices.hands.operator import RELEASED, SimulatedAdmittanceDevice, SimulatedHand
from haptic_devices.motions.planar import POSITION


def make_compensation(p: FiveBarParameters, period: float) -> FrictionCompensation:
    """Makes the friction compensation of the servo for a control period [s]."""
    return FrictionCompensation(
        p.compensation,
        2,
        coulomb=p.compensation_coulomb,
        viscous=p.compensation_viscous,
        displacement=p.compensation_displacement,
        elements=p.compensation_elements,
        period=period,
    )


class FiveBar(SimulatedAdmittanceDevice):
    """The simulated manipulator.

    Args:
        parameters: parameters of the manipulator.
        hand: simulated hand that holds the grip; None: the grip is released.
        seed: seed of the force sensor's noise.

    Attributes:
        geometry: geometry of the linkage.
        friction: constants of `joint_friction.step`, and of `joint_friction.history` for recorded positions.
        friction_torque: (2,) true friction torque of the joints, mean over the last period [N m].
        compensation_torque: (2,) torque of the friction compensation in the last period [N m].
        target_position: (2,) joint angles that the servo follows [rad].
        target_velocity: (2,) joint velocities that the servo follows [rad/s].
        links: (4,) true angles [rad] and velocities [rad/s] of the links, on the output side of the gears.
    """

    parameters_type, default_file = FiveBarParameters, DEFAULT_FILE
    parameters: FiveBarParameters
    hand: SimulatedHand | None
    base_frame, tool_frame = "five_bar_base", "five_bar_tool"
    passive_joints = ("elbow", "coupling_rod")

    def __init__(self, parameters: FiveBarParameters, hand: SimulatedHand | None = None, seed: int = 0) -> None:
        super().__init__(parameters, hand, seed)
        p = parameters
        self._check()
        home = (p.home_upper_arm, p.home_forearm)
        self.joints = tuple(
            Joint(name, p.effort_limit, p.velocity_limit, angle - p.range, angle + p.range)
            for name, angle in zip(("upper_arm", "forearm"), home, strict=True)
        )
        a1, a2 = p.length_upper_arm, p.length_forearm
        axis = -a1 * math.cos(home[0]) - a2 * math.cos(home[1]), -a1 * math.sin(home[0]) - a2 * math.sin(home[1])
        self.geometry = Linkage(a1, a2, axis, home, p.range)
        self._set_hand(hand.arrays if hand else RELEASED)
        motor = p.gear_ratio**2 * p.rotor_inertia
        m11, m22, h = inertia_constants(p, p.mass_tool)
        self._own_inertia = np.array(LinkInertia(m11 + motor, m22 + motor, h))
        curve = (p.friction_coulomb, p.friction_static, p.friction_stribeck_velocity)
        self.friction = JointFriction(*curve, p.friction_viscous, p.friction_displacement)
        moved = inertia_constants(p, p.mass_tool + p.mass_grip + float(self._hand.inertia[0]))
        self._arm = Arm(moved, motor, p.gear_stiffness, p.gear_damping, p.mass_grip, self.friction)
        self._reading, self._truth = Reading(2), Truth(2)
        self._jacobian = np.zeros((6, 2))
        self._target, self._motion, self._integral = np.zeros((3, 2)), MotionArrays(2), np.zeros(2)
        self.target_position, self.target_velocity = self._target[0], self._target[1]
        self.links, deflection = np.zeros(4), np.zeros((2, joint_friction.ELEMENTS))
        self.friction_torque, self.compensation_torque = np.zeros(2), np.zeros(2)
        self._state = ArmState(self.links[:2], self.links[2:], deflection, self.friction_torque)

    def _check(self) -> None:
        """Refuses combinations of parameters that are not possible together."""
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
        """Returns the longest period [s] at which the integration is stable, with a safety factor of two.

        A step dt of an oscillator x'' = -w^2 x - c x' is stable for w^2 dt^2/2 + c dt < 2. The fastest oscillator has
        the smallest inertia of the links, at the extended arm, and the springs of both friction and gear.
        """
        p = self.parameters
        (m11, m22, h), motor, stiffness, damping, *_ = self._arm
        links = (m11 + m22) / 2.0 - math.hypot((m11 - m22) / 2.0, h)
        n = joint_friction.ELEMENTS
        bristles = p.friction_static * n / p.friction_displacement * sum(1.0 / i**2 for i in range(1, n + 1))
        w2 = (stiffness + bristles) / motor + stiffness / links
        c = damping / links + (damping + p.friction_viscous) / motor
        return SUBSTEPS * (math.sqrt(c * c + 2.0 * w2) - c) / w2

    def configure(self, period: float) -> None:
        p = self.parameters
        followed = f"{SUBSTEPS} steps follow the springs of gears and friction"
        self._check_period(period, self._longest_period(), followed)
        self._encoder = encoder.constants(resolution=p.encoder_resolution, cutoff=p.velocity_cutoff, period=period)
        self._cell = force_sensor.make_cell(
            force_sensor.filter_constants(p.sensor_cutoff, period / SUBSTEPS),
            noise=(p.force_noise, p.torque_noise),
            resolution=(p.force_resolution, p.torque_resolution),
            limits=(p.force_range, math.inf),
        )
        gains = np.array([p.position_gain, p.integral_gain * period, p.velocity_gain, p.effort_limit])
        self._servo = self._target, self.compensation_torque, gains, self._integral
        self._linkage = self.geometry.numbers()
        self._arguments = self._linkage, self._arm.numbers(), tuple(self._state), self._servo, self._cell.arrays()
        self._speeds = np.array([joint.velocity_limit for joint in self.joints])
        self._period = period
        self._compensation = make_compensation(p, period)
        self.activate()
        self.follow(None)  # compiles the integration, or loads it from the cache

    def activate(self) -> None:
        """Starts at rest, with the tool at the start of the hand's plan, and holds this position."""
        self._follow_plan()
        truth, reading = self._truth, self._reading
        start = self._hand.table[0, POSITION] if self.hand is not None else np.zeros(2)
        inverse(self.geometry, start[0], start[1], truth.position)
        if stop(self.geometry, truth.position):
            raise ValueError(f"the hand's plan starts out of reach, at x = {start[0]:.3g} m, y = {start[1]:.3g} m")
        for array in (truth.velocity, truth.effort, truth.tool_wrench, reading.velocity, self._target, self.links):
            array[:] = 0.0
        self.links[:2] = truth.position
        for array in (self._integral, self._cell.state, self._state.deflection, self.friction_torque):
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
        noise = self._random.standard_normal(6)
        observe(truth.views, self._state, reading.views, self._jacobian, self.geometry, self._cell, noise)

    def follow(self, motion: Motion | None) -> None:
        """Commands the motion of the next period and simulates this period.

        Only x and y of pose, twist and acceleration are used, or the joint values that replace them. Without POSITION
        the velocity advances the target; without VELOCITY the desired velocity is zero. ACCELERATION adds the torques
        for the arm's own inertia. Targets are limited to the joints' stops. None holds the target's position.
        """
        self._lead(self._period)
        self._aim(None if self._stopped else motion)
        self.compensation_torque[:] = self._compensation.step(self.target_velocity)
        pass_period(
            self._truth.values,
            self._reading.values,
            self._jacobian,
            *self._arguments,
            self._hand_tuple,
            self._encoder,
            self._random.standard_normal(6),
            self._powered,
            self._period_number,
        )
        self._period_number += 1

    def _aim(self, motion: Motion | None) -> None:
        wanted, fields = self._motion, self._motion.hold(motion)
        update_target(
            self._linkage,
            self._own_inertia,
            self._speeds,
            fields,
            wanted.values,
            wanted.by_joints,
            self._period,
            self._target,
        )

    def compensation_history(self, motions: Iterable[Motion | None]) -> np.ndarray:
        """Computes the torques (n, 2) [N m] of the friction compensation for n motions from the start.

        For recorded commands (`haptic_core.commands.motion_of`, shifted by the run's `command_delay_ticks`), row k acts
        in the period that ends at tick k + 1, like row k + 1 of `joint_friction.history`. Restarts the device before
        and after the computation.
        """
        self.activate()
        rows = []
        for motion in motions:
            self._aim(motion)
            rows.append(self._compensation.step(self.target_velocity).copy())
        self.activate()
        return np.array(rows).reshape(-1, 2)

    def robot_description(self) -> str:
        """Returns the URDF: upper arm with forearm and tool, crank with coupling rod.

        The rod's end is at the forearm's rear end. The second motor's joint, `forearm`, rotates the crank; `elbow` is
        q2 - q1, `coupling_rod` is q1 - q2. The tool's mass includes the grip beyond the sensor.
        """
        p, robot = self.parameters, Robot("five_bar")
        a1, a2, b = p.length_upper_arm, p.length_forearm, p.length_crank
        axis, origin, z = (*self.geometry.axis, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)

        def rod(name: str, mass: float, rear: float, front: float) -> None:
            """Adds a uniform slender rod along x."""
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
        home = p.home_forearm - p.home_upper_arm
        elbow, coupling = (
            Joint(name, 0.0, 2.0 * p.velocity_limit, sign * home - 2.0 * p.range, sign * home + 2.0 * p.range)
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

    @property
    def tool_resolution(self) -> float:
        """Largest displacement of the tool by one count of one encoder [m]."""
        p = self.parameters
        return p.encoder_resolution * max(p.length_upper_arm, p.length_forearm)

    def passive_state(self) -> np.ndarray:
        both = np.array([self._reading.position, self._reading.velocity])
        return np.array([self.passive_positions(row, self._reading.tool_pose) for row in both])

    def passive_positions(self, position: np.ndarray, tool_pose: np.ndarray) -> np.ndarray:
        elbow = position[1] - position[0]
        return np.array([elbow, -elbow])
