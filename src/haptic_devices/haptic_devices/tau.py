"""The simulated 6-DOF TAU device, held by a simulated hand: the mechanism of `tau_wall_control` with its sensors.

Platform pose and twist are the coordinates (`tau_wall_control.device.kernels`). With the hand's mass m and rotational
inertia J at the tool point (the same about every axis, so it has no gyroscopic moment), grip g, and the muscles'
wrench w_h (`spatial_hand`),

    (M_x + g diag(m I, J I)) V' + n_x + g_x = G^T tau + w_h + w_stop

by RK4, torque, plan and grip held over a period, muscles and stops acting in every stage. The arm bears the hand's
weight. End stops are springs with dampers on the tool that push and never pull: in translation along each axis beyond
a range, in rotation against the rotation vector from home. The motors give at most their peak torque, at once.

The driver counts the joints' angles, differentiates and filters them, and finds the measured pose by Newton's method
from the last one. The base frame is the mechanism's world: x right, y up, z towards the user, origin in the middle of
the workspace. There is no force sensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from pydantic import Field

from haptic_core.errors import ParameterError
from haptic_core.parameters import parse_entries
from haptic_devices import encoder
from haptic_devices.device import DeviceError, DeviceParameters, Joint, Reading, Truth, load_parameters
from haptic_devices.operator import HandHeldDevice
from haptic_devices.spatial_hand import SpatialHand, muscle_wrench, rotation_error
from haptic_devices.spatial_motion import GRIP
from tau_wall_control import TauDevice, TauError
from tau_wall_control.device import kernels
from tau_wall_control.device.parameters import load_parameters as load_mechanism
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.device.tau_device import JOINT_NAMES
from tau_wall_control.device.urdf import PLATFORM_JOINTS, urdf

DEFAULT_FILE = Path(__file__).with_name("tau.yaml")

#: RK4 steps are at most this share of the fastest time constant, and at most so many a period
_SHARE, _MOST_SUBSTEPS = 0.5, 50


class TauDriverParameters(DeviceParameters):
    """Numbers of driver and end stops; see tau.yaml for the reasons."""

    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    velocity_limit: float = Field(gt=0.0, le=1000.0, description="largest joint speed [rad/s]")
    effort_rate_limit: float = Field(gt=0.0, le=1e6, description="fastest change of a motor's torque [N m/s]")
    workspace: float = Field(gt=0.0, le=1.0, description="farthest place of the tool along each axis, both ways [m]")
    range_translation: float = Field(gt=0.0, le=1.0, description="stop of the tool along each axis, both ways [m]")
    range_rotation: float = Field(gt=0.0, le=3.0, description="stop of the tool's rotation from home [rad]")
    stop_stiffness: float = Field(ge=0.0, le=1e6, description="of the translation's stops [N/m]")
    stop_damping: float = Field(ge=0.0, le=1e4, description="of the translation's stops [N s/m]")
    stop_rotational_stiffness: float = Field(ge=0.0, le=1e4, description="of the rotation's stop [N m/rad]")
    stop_rotational_damping: float = Field(ge=0.0, le=100.0, description="of the rotation's stop [N m s/rad]")


@njit(cache=True)
def stop_wrench(stops: np.ndarray, pose: np.ndarray, twist: np.ndarray, wrench: np.ndarray) -> None:
    """Adds what the end stops exert to a wrench (6,) on the tool.

    Args:
        stops: range, stiffness, damping of the translation, then of the rotation.
        pose: (7,) of the tool.
        twist: (6,) of the tool.
        wrench: changed in place.
    """
    reach, stiffness, damping, turn, rotational_stiffness, rotational_damping = stops
    for i in range(3):
        if abs(pose[i]) > reach:
            side = math.copysign(1.0, pose[i])
            wrench[i] -= side * max(0.0, stiffness * (abs(pose[i]) - reach) + side * damping * twist[i])
    home, axis = np.array((0.0, 0.0, 0.0, 1.0)), np.empty(3)
    rotation_error(pose[3:7], home, axis)
    angle = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    if angle > turn:
        axis /= angle
        rate = axis[0] * twist[3] + axis[1] * twist[4] + axis[2] * twist[5]
        moment = max(0.0, rotational_stiffness * (angle - turn) + rotational_damping * rate)
        for i in range(3):
            wrench[3 + i] -= moment * axis[i]


@njit(cache=True, error_model="numpy")
def integrate(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    state: np.ndarray,
    torque: np.ndarray,
    row: np.ndarray,
    tremor: np.ndarray,
    impedance: np.ndarray,
    inertia: np.ndarray,
    stops: np.ndarray,
    time: float,
    dt: float,
    muscles: np.ndarray,
) -> int:
    """One RK4 step of the state [p (3), unit quaternion x, y, z, w (4), V (6)]; on failure the state stays.

    Args:
        chains, base, platform: of the mechanism.
        state: (13,), changed.
        torque: of the joints (6,) [N m].
        row: of the hand's plan, (20,); grip 0: nobody.
        tremor, impedance, inertia: of the hand.
        stops: of `stop_wrench`.
        time: at the beginning [s].
        dt: length of the step [s].
        muscles: the muscles' mean wrench (6,) times dt is added.

    Returns:
        A code of `kernels`.
    """
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
        muscle_wrench(row, tremor, time + ahead, impedance, s[:7], s[7:], wrench)
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        for k in range(6):
            muscles[k] += weight / 6.0 * dt * wrench[k]
            M[k, k] += row[GRIP] * inertia[k]
        stop_wrench(stops, s[:7], s[7:], wrench)
        for k in range(6):
            wrench[k] -= n[k] + g[k]
            for i in range(3):
                wrench[k] += H[i, 0, k] * torque[2 * i] + H[i, 1, k] * torque[2 * i + 1]
        kernels.cholesky_solve(M, wrench)
        x, y, z, w, a, b, c = s[3], s[4], s[5], s[6], s[10], s[11], s[12]
        rates[0], rates[1], rates[2] = s[7], s[8], s[9]
        rates[3] = 0.5 * (w * a + b * z - c * y)
        rates[4] = 0.5 * (w * b + c * x - a * z)
        rates[5] = 0.5 * (w * c + a * y - b * x)
        rates[6] = -0.5 * (a * x + b * y + c * z)
        rates[7:] = wrench
        for k in range(13):
            total[k] += weight / 6.0 * dt * rates[k]
    for k in range(13):
        s[k] = state[k] + total[k]
    s[3:7] /= math.sqrt(s[3] ** 2 + s[4] ** 2 + s[5] ** 2 + s[6] ** 2)
    kernels.rotation_of(s[3:7], R)
    code = kernels.chain_angles(chains, base, s[:3], R, q)
    if code == kernels.OK:
        state[:] = s
    return code


@njit(cache=True, error_model="numpy")
def observe(
    chains: np.ndarray,
    base: np.ndarray,
    state: np.ndarray,
    truth: np.ndarray,
    reading: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    jacobian: np.ndarray,
    encoders: np.ndarray,
    settled: bool,
) -> int:
    """Fills joints and tool of `Truth` from the state, and those of `Reading` from what the encoders count.

    Args:
        chains, base: of the mechanism.
        state: (13,).
        truth, reading: values of `Truth` and `Reading`.
        p, R: measured pose of the period before, which becomes the present one.
        jacobian: (6, 6) result, at the measured pose.
        encoders: constants of `encoder.sample`.
        settled: at rest since long: the measured velocity is zero.

    Returns:
        A code of `kernels`.
    """
    q, H, G, turn = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((6, 6)), np.empty((3, 3))
    kernels.rotation_of(state[3:7], turn)
    code = kernels.chain_angles(chains, base, state[:3], turn, q)
    if code == kernels.OK:
        code = kernels.chain_maps(chains, base, turn, q, H)
    if code != kernels.OK:
        return code
    kernels.actuated(q, truth[0:6])
    kernels.actuated_map(H, G)
    truth[6:12] = 0.0
    for i in range(6):
        for k in range(6):
            truth[6 + i] += G[i, k] * state[7 + k]
    truth[18:31] = state
    if settled:
        for i in range(6):
            reading[i], reading[6 + i] = encoder.quantise(truth[i], encoders[0]), 0.0
    else:
        encoder.sample(truth[0:6], encoders, reading[0:6], reading[6:12])
    reading[12:18] = truth[12:18]
    code, _ = kernels.forward_kinematics(chains, base, reading[0:6], p, R, 1e-11)
    if code == kernels.OK:
        code = kernels.chain_angles(chains, base, p, R, q)
    if code == kernels.OK:
        code = kernels.chain_maps(chains, base, R, q, H)
    if code != kernels.OK:
        return code
    kernels.actuated_map(H, G)
    jacobian[:] = np.eye(6)
    if not kernels.gauss_solve(G, jacobian):
        return kernels.FK_DIVERGED
    reading[18:21] = p
    w = 0.5 * math.sqrt(1.0 + R[0, 0] + R[1, 1] + R[2, 2])  # never near 0: the stop's range is at most 3 rad
    reading[21], reading[22] = (R[2, 1] - R[1, 2]) / (4.0 * w), (R[0, 2] - R[2, 0]) / (4.0 * w)
    reading[23], reading[24] = (R[1, 0] - R[0, 1]) / (4.0 * w), w
    reading[25:31] = 0.0
    for i in range(6):
        for k in range(6):
            reading[25 + i] += jacobian[i, k] * reading[6 + k]
    return kernels.OK


@njit(cache=True, error_model="numpy")
def pass_period(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    state: np.ndarray,
    truth: np.ndarray,
    reading: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    jacobian: np.ndarray,
    table: np.ndarray,
    tremor: np.ndarray,
    impedance: np.ndarray,
    inertia: np.ndarray,
    stops: np.ndarray,
    encoders: np.ndarray,
    start: int,
    substeps: int,
) -> int:
    """One control period: physics, encoders, measured pose. `start` is its number; returns a code of `kernels`."""
    period = encoders[2]
    row = table[min(start, table.shape[0] - 1)]
    muscles, before = np.zeros(6), state[7:].copy()
    for step in range(substeps):
        dt = period / substeps
        time = start * period + step * dt
        code = integrate(
            chains, base, platform, state, truth[12:18], row, tremor, impedance, inertia, stops, time, dt, muscles
        )
        if code != kernels.OK:
            return code
    for k in range(6):  # the hand's own mass takes part of the muscles' force
        truth[31 + k] = (muscles[k] - row[GRIP] * inertia[k] * (state[7 + k] - before[k])) / period
    truth[37:44] = table[min(start + 1, table.shape[0] - 1), 0:7]
    return observe(chains, base, state, truth, reading, p, R, jacobian, encoders, False)


class Tau(HandHeldDevice):
    """The simulated device; `hand` None leaves the tool alone.

    Args:
        mechanism: kinematics, dynamics and limits.
        parameters: driver and end stops.
        hand: who holds the tool.
    """

    parameters: TauDriverParameters
    hand: SpatialHand | None
    base_frame, tool_frame, up_axis = "tau_base", "platform", "y"
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
        nobody = np.zeros((1, GRIP + 1))
        nobody[0, 6] = 1.0
        self._table: np.ndarray = hand.table if hand else nobody
        self._tremor: np.ndarray = hand.tremor if hand else np.zeros((0, 13))
        self._impedance: np.ndarray = hand.impedance if hand else np.zeros(4)
        self._inertia: np.ndarray = hand.inertia if hand else np.zeros(6)
        self._stops = np.array(
            [
                *(p.range_translation, p.stop_stiffness, p.stop_damping),
                *(p.range_rotation, p.stop_rotational_stiffness, p.stop_rotational_damping),
            ]
        )
        self._reading, self._truth = Reading(6), Truth(6)
        self._jacobian, self._state = np.zeros((6, 6)), np.zeros(13)
        self._p, self._R = np.zeros(3), np.eye(3)

    @classmethod
    def from_file(cls, path: Path | None = None, hand: SpatialHand | None = None, overrides: Sequence[str] = ()) -> Tau:
        """The device of a mechanism's YAML file, the stand-in if none is given.

        Args:
            path: of the mechanism's file.
            hand: who holds the tool.
            overrides: entries "section.name=value" replace numbers of the mechanism, "name=value" those of the driver.

        Raises:
            ParameterError: the file is refused.
            EntryError: an entry is refused; the message has it.
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
        """Fastest rate [1/s] of the motion at home: friction, hand and end stops against the apparent inertia."""
        d = self.mechanism.dynamics(np.zeros(3))
        friction, K, B = self.mechanism.parameters.friction, self._impedance, self._stops
        slope = friction.viscous_actuated + friction.coulomb_actuated / friction.coulomb_smoothing_speed
        free, held = np.linalg.inv(d.mass_matrix), np.linalg.inv(d.mass_matrix + np.diag(self._inertia))
        pairs = [(free, np.zeros(6), np.repeat(B[[2, 5]], 3)), (free, np.repeat(B[[1, 4]], 3), np.zeros(6))]
        pairs.append((held, np.repeat(K[[0, 2]], 3), np.repeat(K[[1, 3]], 3)))
        rates = [float(np.linalg.eigvals(free @ d.actuated_map.T @ d.actuated_map).real.max()) * slope]
        for inverse, stiffness, damping in pairs:
            rates.append(float(np.linalg.eigvals(inverse @ np.diag(damping)).real.max()))
            rates.append(math.sqrt(float(np.linalg.eigvals(inverse @ np.diag(stiffness)).real.max())))
        return max(rates)

    def configure(self, period: float) -> None:
        p = self.parameters
        if self.hand is not None and abs(self.hand.plan.period - period) > 1e-12:
            raise ValueError(f"period: the hand's plan has {self.hand.plan.period:g} s, got {period:g} s")
        fastest = self._fastest()
        self._substeps = max(1, math.ceil(period * fastest / _SHARE))
        if self._substeps > _MOST_SUBSTEPS:
            raise ValueError(
                f"period: expected {_MOST_SUBSTEPS * _SHARE / fastest:.3g} s or less, so that {_MOST_SUBSTEPS} steps "
                f"follow friction, hand and end stops, got {period:g} s"
            )
        resolution = self.mechanism.parameters.encoders.joint_resolution
        self._encoders = encoder.constants(resolution=resolution, cutoff=p.velocity_cutoff, period=period)
        self.activate()
        self.write(np.zeros(6))  # compiles the integration, or loads what was compiled before
        self.activate()

    def activate(self) -> None:
        """Starts at rest, with the tool where the hand's plan starts."""
        self._follow_plan()
        truth, reading, state = self._truth, self._reading, self._state
        state[:] = 0.0
        state[0:7] = self._table[0, 0:7]
        self._p[:], self._R[:] = state[:3], rotation_from_quaternion(state[3:7])
        for array in (truth.values, reading.values):
            array[:] = 0.0
        truth.operator_target[:] = state[0:7]
        self._period_number = 0
        self._powered = True
        try:
            code = observe(
                *self._arrays(), state, truth.values, reading.values, *self._measured(), self._encoders, True
            )
            self._check(code)
        except TauError as error:
            raise ValueError(f"the hand's plan starts out of reach: {error}") from None

    def take_over(self, other: Tau) -> None:
        """Goes on from where another device of the same parameters stands, as if it were that one."""
        for mine, its in (
            (self._state, other._state),
            (self._truth.values, other._truth.values),
            (self._reading.values, other._reading.values),
            *zip(self._measured(), other._measured(), strict=True),
        ):
            mine[:] = its
        self._period_number, self._powered = other._period_number, other._powered

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        chains, base, _ = self.mechanism.arrays
        return chains, base

    def _measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._p, self._R, self._jacobian

    def _check(self, code: int) -> None:
        self.mechanism.raise_for(code, self._state[:3].copy(), rotation_from_quaternion(self._state[3:7]))

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        """Efforts of the next period, cut off at the motors' peak torque.

        Raises:
            DeviceError: the tool has left the workspace, as only a stop that is too soft lets it.
        """
        self._lead(self._encoders[2])
        truth, peak = self._truth, self.mechanism.peak_torque
        truth.effort[:] = np.clip(effort, -peak, peak) if self._powered else 0.0
        code = pass_period(
            *self.mechanism.arrays,
            self._state,
            truth.values,
            self._reading.values,
            *self._measured(),
            self._table,
            self._tremor,
            self._impedance,
            self._inertia,
            self._stops,
            self._encoders,
            self._period_number,
            self._substeps,
        )
        try:
            self._check(code)
        except TauError as error:
            raise DeviceError(f"the tool has left the workspace: {error}") from None
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
        """The three chains, and the platform on six virtual joints, since URDF closes no loops."""
        return urdf(self.mechanism, "joints", base=self.base_frame)

    def passive_state(self) -> np.ndarray:
        """Elbows of the measured pose; the platform's x, y, z and angles of Rz(c) Ry(b) Rx(a)."""
        chains, base, _ = self.mechanism.arrays
        p, R, V = self._p, self._R, self._reading.tool_twist
        q, H, both = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((2, 9))
        kernels.chain_angles(chains, base, p, R, q)
        kernels.chain_maps(chains, base, R, q, H)
        cosine = math.hypot(R[0, 0], R[1, 0])  # of b
        c = math.atan2(R[1, 0], R[0, 0])
        both[0] = [*q[:, 2], *p, c, math.atan2(-R[2, 0], cosine), math.atan2(R[2, 1], R[2, 2])]
        along, across = math.cos(c) * V[3] + math.sin(c) * V[4], math.cos(c) * V[4] - math.sin(c) * V[3]
        both[1] = [*(H[:, 2] @ V), *V[:3], V[5] - R[2, 0] / cosine * along, across, along / cosine]
        return both
