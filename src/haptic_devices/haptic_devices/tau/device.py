"""The simulated 6-DOF TAU device, held by a simulated hand: the mechanism of `tau_wall_control` with its sensors.

The equations are in `simulation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core.errors import ParameterError
from haptic_core.parameters import parse_entries
from haptic_devices.components import encoder
from haptic_devices.device import DeviceError, Joint, Reading, Truth, load_parameters
from haptic_devices.hands.operator import HandHeldDevice
from haptic_devices.hands.spatial_hand import RELEASED, SpatialHand
from haptic_devices.motions.spatial import POSE, SpatialPlan
from haptic_devices.tau.parameters import DEFAULT_FILE, TauDriverParameters
from haptic_devices.tau.simulation import EndStops, MeasuredPose, observe, pass_period
from tau_wall_control import TauDevice, TauError
from tau_wall_control.device import kernels
from tau_wall_control.device.parameters import load_parameters as load_mechanism
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.device.tau_device import JOINT_NAMES
from tau_wall_control.device.urdf import PLATFORM_JOINTS, urdf

#: largest RK4 step as a fraction of the shortest time constant, and largest number of steps in a period
_STEP_FRACTION, _MAX_SUBSTEPS = 0.5, 50


class Tau(HandHeldDevice):
    """The simulated device.

    Args:
        mechanism: kinematics, dynamics and limits.
        parameters: parameters of driver and end stops.
        hand: simulated hand that holds the tool; None: the tool is released.
    """

    parameters: TauDriverParameters
    hand: SpatialHand | None
    base_frame, tool_frame, up_axis = "tau_base", "tau_platform", "y"
    passive_joints = ("elbow_1", "elbow_2", "elbow_3", *(f"platform_{name}" for name, _, _ in PLATFORM_JOINTS))

    def __init__(self, mechanism: TauDevice, parameters: TauDriverParameters, hand: SpatialHand | None = None) -> None:
        p = self.parameters = parameters
        self.mechanism, self.hand = mechanism, hand
        self.joints = tuple(
            Joint(
                name,
                mechanism.peak_torque,
                p.velocity_limit,
                -math.pi,
                math.pi,
                effort_rate_limit=p.effort_rate_limit,
            )
            for name in JOINT_NAMES
        )
        self.workspace = ((-p.workspace,) * 3, (p.workspace,) * 3)
        self._set_hand(hand.arrays if hand else RELEASED)
        translation = p.range_translation, p.stop_stiffness, p.stop_damping
        self._stops = EndStops(*translation, p.range_rotation, p.stop_rotational_stiffness, p.stop_rotational_damping)
        self._reading, self._truth = Reading(6), Truth(6)
        self._state, self._measured = np.zeros(13), MeasuredPose(np.zeros(3), np.eye(3), np.zeros((6, 6)))

    @classmethod
    def from_file(cls, path: Path | None = None, hand: SpatialHand | None = None, overrides: Sequence[str] = ()) -> Tau:
        """Makes the device of a mechanism's YAML file.

        Args:
            path: path of the mechanism's file; default: the default mechanism.
            hand: simulated hand that holds the tool.
            overrides: entries that replace numbers: "section.name=value" of the mechanism, "name=value" of the driver.

        Raises:
            ParameterError: the file is refused.
            EntryError: an entry is refused; the message quotes it.
        """
        entries = parse_entries(overrides)
        mechanical = [entry for name, (_, entry) in entries.items() if "." in name]
        driver = [entry for name, (_, entry) in entries.items() if "." not in name]
        try:
            mechanism = TauDevice(load_mechanism(path, mechanical))
        except TauError as error:
            raise ParameterError(str(error)) from None
        return cls(mechanism, load_parameters(TauDriverParameters, DEFAULT_FILE, driver), hand)

    def description(self) -> dict[str, Any]:
        mechanism = self.mechanism.parameters.model_dump(mode="json")
        return {**super().description(), "mechanism": mechanism}

    def _fastest(self) -> float:
        """Computes the fastest rate [1/s] at home of friction, hand and end stops on the apparent inertia."""
        d = self.mechanism.dynamics(np.zeros(3))
        friction, stops = self.mechanism.parameters.friction, self._stops
        stiffness, damping, rotational_stiffness, rotational_damping = self._hand.impedance
        slope = friction.viscous_actuated + friction.coulomb_actuated / friction.coulomb_smoothing_speed
        free, held = np.linalg.inv(d.mass_matrix), np.linalg.inv(d.mass_matrix + np.diag(self._hand.inertia))
        pairs = [
            (free, np.zeros(6), np.repeat([stops.damping, stops.rotational_damping], 3)),
            (free, np.repeat([stops.stiffness, stops.rotational_stiffness], 3), np.zeros(6)),
            (held, np.repeat([stiffness, rotational_stiffness], 3), np.repeat([damping, rotational_damping], 3)),
        ]
        rates = [float(np.linalg.eigvals(free @ d.actuated_map.T @ d.actuated_map).real.max()) * slope]
        for inverse, springs, dampers in pairs:
            rates.append(float(np.linalg.eigvals(inverse @ np.diag(dampers)).real.max()))
            rates.append(math.sqrt(float(np.linalg.eigvals(inverse @ np.diag(springs)).real.max())))
        return max(rates)

    def configure(self, period: float) -> None:
        p = self.parameters
        fastest = self._fastest()
        followed = f"{_MAX_SUBSTEPS} steps follow friction, hand and end stops"
        longest = _MAX_SUBSTEPS * _STEP_FRACTION / fastest if fastest > 0.0 else math.inf
        self._check_period(period, longest, followed)
        self._substeps = max(1, math.ceil(period * fastest / _STEP_FRACTION))
        resolution = self.mechanism.parameters.encoders.joint_resolution
        self._encoders = encoder.constants(resolution=resolution, cutoff=p.velocity_cutoff, period=period)
        self._mechanism_tuple, self._measured_tuple = tuple(self.mechanism.arrays), tuple(self._measured)
        self._constants = self.mechanism.peak_torque, np.array(self._stops), self._encoders
        self.activate()
        self.write(np.zeros(6))  # compiles the integration, or loads it from the cache
        self.activate()

    def activate(self) -> None:
        """Starts at rest, with the tool at the start of the hand's plan."""
        self._follow_plan()
        truth, reading, state = self._truth, self._reading, self._state
        state[:] = 0.0
        state[:7] = self._hand.table[0, POSE]
        measured = self._measured
        measured.position[:], measured.rotation[:] = state[:3], rotation_from_quaternion(state[3:7])
        for array in (truth.values, reading.values):
            array[:] = 0.0
        truth.operator_target[:] = state[:7]
        self._period_number = 0
        self._powered = True
        try:
            mechanism = self.mechanism.arrays
            self._check(observe(mechanism, state, truth.views, reading.views, measured, self._encoders, True))
        except TauError as error:
            raise ValueError(f"the hand's plan starts out of reach: {error}") from None

    def playing(self, plan: SpatialPlan) -> Tau:
        """Returns an unconfigured device with the same parameters, whose hand follows another plan."""
        return Tau(self.mechanism, self.parameters, None if self.hand is None else self.hand.playing(plan))

    def take_over(self, other: Tau) -> None:
        """Copies the state of another device with the same parameters."""
        for mine, its in (
            (self._state, other._state),
            (self._truth.values, other._truth.values),
            (self._reading.values, other._reading.values),
            *zip(self._measured, other._measured, strict=True),
        ):
            mine[:] = its
        self._period_number, self._powered = other._period_number, other._powered

    def _check(self, code: int) -> None:
        if code != kernels.OK:
            self.mechanism.raise_for(code, self._state[:3].copy(), rotation_from_quaternion(self._state[3:7]))

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        """Simulates the next period with efforts (6,) [N m], which are limited to the motors' peak torque.

        Raises:
            DeviceError: the tool has left the workspace, which only happens if an end stop is too soft.
        """
        self._lead(self._encoders[encoder.PERIOD])
        truth = self._truth
        truth.effort[:] = effort if self._powered else 0.0
        code = pass_period(
            self._mechanism_tuple,
            self._state,
            truth.values,
            self._reading.values,
            self._measured_tuple,
            self._hand_tuple,
            *self._constants,
            self._period_number,
            self._substeps,
        )
        try:
            self._check(code)
        except TauError as error:
            raise DeviceError(f"the tool has left the workspace: {error}") from None
        self._period_number += 1

    def jacobian(self) -> np.ndarray:
        return self._measured.jacobian

    def safe_stop(self) -> None:
        self._powered = False

    def deactivate(self) -> None:
        self._powered = False

    def truth(self) -> Truth:
        return self._truth

    def robot_description(self) -> str:
        """Returns the URDF: three chains, and the platform on six virtual joints, since URDF has no closed loops."""
        return urdf(self.mechanism, "joints", prefix="tau_", upright=True)

    def passive_state(self) -> np.ndarray:
        """Returns positions and rates (2, 9) of elbows and platform at the measured pose.

        The platform's joints are x, y, z and the angles c, b, a of R = Rz(c) Ry(b) Rx(a).
        """
        chains, base, _ = self.mechanism.arrays
        (p, R, _), V = self._measured, self._reading.tool_twist
        q, H, both = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((2, 9))
        both[0] = self._passive_positions(p, R, q)
        kernels.chain_maps(chains, base, R, q, H)
        c, cosine = both[0, 6], math.hypot(R[0, 0], R[1, 0])  # of b
        along, across = math.cos(c) * V[3] + math.sin(c) * V[4], math.cos(c) * V[4] - math.sin(c) * V[3]
        both[1] = [*(H[:, 2] @ V), *V[:3], V[5] - R[2, 0] / cosine * along, across, along / cosine]
        return both

    def passive_positions(self, position: np.ndarray, tool_pose: np.ndarray) -> np.ndarray:
        return self._passive_positions(tool_pose[:3], rotation_from_quaternion(tool_pose[3:]), np.empty((3, 3)))

    def _passive_positions(self, p: np.ndarray, R: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Computes elbow angles and platform joints (9,) of a pose; writes the angles of the chains (3, 3) to q."""
        kernels.chain_angles(*self.mechanism.arrays[:2], p, R, q)
        b = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
        return np.array([*q[:, 2], *p, math.atan2(R[1, 0], R[0, 0]), b, math.atan2(R[2, 1], R[2, 2])])
