"""The TAU-type device: kinematics, dynamics and limits (docs/tau.md; geometry and masses are stand-ins).

World axes: x right, y up, z towards the user. A pose is a position p (3,) [m] of the TCP and a rotation R (3, 3)
of the platform; a twist V (6,) is [v; w] in world axes at the TCP [m/s, rad/s]; a wrench is [force; moment about the
TCP] [N, N m]; theta (6,) [rad] is yaw and pitch of chains 1, 2, 3. The independent coordinates are those of the
platform: inverse kinematics gives all nine chain angles in closed form, so the loops need no multipliers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import one_line
from tau_wall_control.checks import instance, vector
from tau_wall_control.device import kernels
from tau_wall_control.device.arrays import chain_of
from tau_wall_control.device.parameters import TauParameters, load_parameters, with_overrides
from tau_wall_control.device.rotations import quaternion_from_rotation, rotation_from_quaternion
from tau_wall_control.errors import ForwardKinematicsError, SingularError, TauError, UnreachableError

Pose = tuple[np.ndarray, np.ndarray]

JOINT_NAMES = ("yaw_1", "pitch_1", "yaw_2", "pitch_2", "yaw_3", "pitch_3")
_IDENTITY = np.eye(3)


@dataclass(frozen=True)
class TaskDynamics:
    """Terms of the equation of motion M_x Vdot + n_x + g_x = G^T tau + W at one state.

    Attributes:
        mass_matrix: M_x (6, 6).
        velocity_force: n_x (6,), centrifugal, Coriolis and friction forces [N, N m].
        gravity_force: g_x (6,) [N, N m].
        actuated_map: G (6, 6), thetadot = G V.
        actuated_bias: thetaddot - G Vdot (6,) [rad/s^2].
        chain_maps: H (3, 3, 6), qdot_i = H_i V.
    """

    mass_matrix: np.ndarray
    velocity_force: np.ndarray
    gravity_force: np.ndarray
    actuated_map: np.ndarray
    actuated_bias: np.ndarray
    chain_maps: np.ndarray


class TauDevice:
    """A TAU-type parallel device.

    Args:
        parameters: contents of the device's YAML file.

    Attributes:
        peak_torque: limit of each joint torque [N m].
        home: pose (zeros, identity) in the centre of the workspace.
        arrays: arrays for the kernels (`arrays.MechanismArrays`): chains, base, platform.

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import TauDevice
        >>> device = TauDevice.default()
        >>> angles = device.inverse_kinematics((0.0, 0.0, 0.01))
        >>> position, rotation = device.forward_kinematics(angles, guess=((0.0, 0.0, 0.0), np.eye(3)))
        >>> position.round(9).tolist()
        [0.0, 0.0, 0.01]
    """

    def __init__(self, parameters: TauParameters) -> None:
        self.parameters = instance("parameters", parameters, TauParameters, "load_parameters()")
        self.arrays = kernels.pack(parameters)
        self.peak_torque = parameters.actuators.peak_torque_joint
        self.continuous_torque = parameters.actuators.continuous_torque_joint
        self.home: Pose = (np.zeros(3), np.eye(3))

    def __repr__(self) -> str:
        return f"TauDevice(peak_torque={self.peak_torque:g}, fingerprint={self.fingerprint!r})"

    @classmethod
    def default(cls) -> TauDevice:
        """Returns the default device, a stand-in for the paper's device, whose parameters are not available."""
        return cls(load_parameters())

    @classmethod
    def from_file(cls, path: Path | str, overrides: Sequence[str] = ()) -> TauDevice:
        """Returns the device of a YAML file; overrides are entries "section.name=value".

        Raises:
            TauError: the file or a value is refused; the message names the field.
        """
        return cls(load_parameters(path, overrides))

    def with_parameters(self, *overrides: str) -> TauDevice:
        """Returns this device with entries "section.name=value" replaced; for studies of model errors.

        Raises:
            TauError: an entry or a value is refused; the message names it.
        """
        return TauDevice(with_overrides(self.parameters, overrides))

    @property
    def fingerprint(self) -> str:
        """Hash of all parameters of dynamics, torque limits and encoders."""
        sections = ("frame", "chains", "platform", "actuators", "encoders", "friction")
        document = self.parameters.model_dump(mode="json", include=set(sections))
        for words in ("axes", "origin", "rotation"):
            document["frame"].pop(words)
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def tool_resolution(self) -> float:
        """Largest displacement of the tool by one count of the encoders, at home [m]."""
        resolution = self.parameters.encoders.joint_resolution
        return resolution * float(np.linalg.norm(self.jacobian_at(self.home[0])[:3], 2))

    # --- kinematics -----------------------------------------------------------------------------------------

    def raise_for(self, code: int, p: np.ndarray, R: np.ndarray) -> None:
        """Raises the error of a code of `kernels` at a pose; nothing for OK."""
        if code == kernels.OK:
            return
        where, chain = f"position {np.round(p, 6).tolist()} m", chain_of(code)
        if code < kernels.SINGULAR:
            c = self.parameters.chains.all[chain - 1]
            distance = float(np.linalg.norm(p + R @ np.array(c.platform_point) - np.array(c.base_origin)))
            low, high = abs(c.link_1_length - c.link_2_length), c.link_1_length + c.link_2_length
            raise UnreachableError(
                f"{where} is out of reach of chain {chain}: its platform point is {distance:.4f} m from its base, "
                f"expected {low:.4f} to {high:.4f} m",
                chain,
            )
        if code < kernels.FK_DIVERGED:
            raise SingularError(f"chain {chain} is singular at {where}: stretched, or on its axis")
        raise ForwardKinematicsError(f"no pose found in {kernels.FK_ITERATIONS} steps, the last at {where}")

    def chain_angles(self, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
        """Returns all chain angles (3, 3) [rad], rows yaw, pitch, elbow of chains 1 to 3; branch r > 0, elbow_sign.

        Raises:
            UnreachableError: names the chain.
        """
        p, R = self.pose(position, rotation)
        q = np.empty((3, 3))
        self.raise_for(kernels.chain_angles(*self.arrays[:2], p, R, q), p, R)
        return q

    def inverse_kinematics(self, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
        """Returns theta (6,) [rad] of a pose.

        Args:
            position: p (3,) [m].
            rotation: R (3, 3); identity if not given.

        Raises:
            UnreachableError: names the chain.
        """
        return self.chain_angles(position, rotation)[:, :2].reshape(6).copy()

    def forward_kinematics(
        self, theta: ArrayLike, guess: tuple[ArrayLike, ArrayLike] | None = None, *, tolerance: float = 1e-12
    ) -> Pose:
        """Returns position (3,) and rotation (3, 3) of joint angles, by Newton's method.

        Args:
            theta: (6,) [rad].
            guess: pose near the result, such as that of the period before; home if not given.
            tolerance: tolerance of every joint angle [rad].

        Raises:
            ForwardKinematicsError: no convergence in 20 steps.
            UnreachableError, SingularError: a step leaves the workspace; the message names the chain.
        """
        angles = vector("theta", theta, (6,))
        if guess is not None and not (isinstance(guess, (tuple, list)) and len(guess) == 2):
            raise TauError(f"guess: expected a pose (position, rotation), got {one_line(guess)}")
        p, R = self.pose(*(self.home if guess is None else guess))
        code, _ = kernels.forward_kinematics(*self.arrays[:2], angles, p, R, tolerance)
        if code != kernels.OK:
            try:
                self.raise_for(code, p, R)
            except (UnreachableError, SingularError) as error:
                raise ForwardKinematicsError(
                    f"no pose found for joint angles {np.round(angles, 4).tolist()}: Newton's method left the "
                    f"workspace ({error})"
                ) from None
        return p, R

    def pose(self, position: ArrayLike, rotation: ArrayLike | None) -> Pose:
        """Returns position (3,) and rotation (3, 3) as checked copies; identity if no rotation is given."""
        p = vector("position", position, (3,))
        if rotation is None:
            return p, np.eye(3)
        R = vector("rotation", rotation, (3, 3))
        (a, b, c), (d, e, f), (g, h, i) = R.tolist()
        is_proper = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0.0
        if not (is_proper and np.abs(R @ R.T - _IDENTITY).max() < 1e-5):
            raise TauError("rotation: expected an orthogonal matrix of shape (3, 3) and determinant 1")
        return p, R

    def dynamics(
        self, position: ArrayLike, rotation: ArrayLike | None = None, twist: ArrayLike | None = None
    ) -> TaskDynamics:
        """Returns the terms of the equation of motion in task space at a pose and twist (zero if not given)."""
        p, R = self.pose(position, rotation)
        V = np.zeros(6) if twist is None else vector("twist", twist, (6,))
        q, H, bias, M = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3)), np.empty((6, 6))
        n, g, G = np.empty(6), np.empty(6), np.empty((6, 6))
        self.raise_for(kernels.assemble(*self.arrays, p, R, V, q, H, M, n, g, bias), p, R)
        kernels.actuated_map(H, G)
        return TaskDynamics(M, n, g, G, bias[:, :2].reshape(6).copy(), H)

    def _theta_dynamics(self, theta: ArrayLike, guess: Pose | None) -> tuple[TaskDynamics, np.ndarray]:
        d = self.dynamics(*self.forward_kinematics(theta, guess))
        try:
            return d, np.linalg.inv(d.actuated_map)
        except np.linalg.LinAlgError:
            raise SingularError("the platform is singular: the Jacobian does not exist") from None

    def jacobian(self, theta: ArrayLike, guess: Pose | None = None) -> np.ndarray:
        """Returns J (6, 6), V = J thetadot.

        Raises:
            ForwardKinematicsError, SingularError: the pose or J does not exist.
        """
        return self._theta_dynamics(theta, guess)[1]

    def jacobian_at(self, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
        """Returns J (6, 6) at a pose."""
        try:
            return np.linalg.inv(self.dynamics(position, rotation).actuated_map)
        except np.linalg.LinAlgError:
            raise SingularError(f"the platform is singular at position {position!r}") from None

    # --- dynamics -------------------------------------------------------------------------------------------

    def mass_matrix(self, theta: ArrayLike, guess: Pose | None = None) -> np.ndarray:
        """Returns M_theta (6, 6) [kg m^2] in joint space."""
        d, J = self._theta_dynamics(theta, guess)
        return J.T @ d.mass_matrix @ J

    def gravity_torque(self, theta: ArrayLike, guess: Pose | None = None) -> np.ndarray:
        """Returns tau_g (6,) [N m]: joint torques that hold the device at rest."""
        d, J = self._theta_dynamics(theta, guess)
        return J.T @ d.gravity_force

    def gravity_torque_at(self, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
        """Returns tau_g (6,) [N m] at a pose."""
        d = self.dynamics(position, rotation)
        return np.linalg.solve(d.actuated_map.T, d.gravity_force)

    def acceleration(
        self,
        position: ArrayLike,
        rotation: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns Vdot (6,) and thetaddot (6,) under joint torques (6,) and a wrench on the platform (6,)."""
        d = self.dynamics(position, rotation, twist)
        force = -d.velocity_force - d.gravity_force
        if torque is not None:
            force = force + d.actuated_map.T @ vector("torque", torque, (6,))
        if wrench is not None:
            force = force + vector("wrench", wrench, (6,))
        Vdot = np.linalg.solve(d.mass_matrix, force)
        return Vdot, d.actuated_map @ Vdot + d.actuated_bias

    def inverse_dynamics(
        self,
        position: ArrayLike,
        rotation: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> np.ndarray:
        """Returns joint torques (6,) [N m] that give the free device a task acceleration Vdot (6,), with friction.

        Raises:
            UnreachableError, SingularError: the torques do not exist.
        """
        d = self.dynamics(position, rotation, twist)
        force = d.velocity_force + d.gravity_force
        if acceleration is not None:
            force = force + d.mass_matrix @ vector("acceleration", acceleration, (6,))
        try:
            return np.linalg.solve(d.actuated_map.T, force)
        except np.linalg.LinAlgError:
            raise SingularError(f"the platform is singular at position {position!r}") from None

    def energy(self, position: ArrayLike, rotation: ArrayLike | None, twist: ArrayLike) -> tuple[float, float]:
        """Returns kinetic and potential energy [J]; the latter is zero with all centres of mass at the origin."""
        p, R = self.pose(position, rotation)
        V = vector("twist", twist, (6,))
        kinetic = 0.5 * V @ self.dynamics(p, R).mass_matrix @ V
        potential = 0.0
        gravity = np.array(self.parameters.frame.gravity)
        for _, mass, com in self.centres_of_mass(p, R):
            potential -= mass * gravity @ com
        return float(kinetic), float(potential)

    def centres_of_mass(self, position: ArrayLike, rotation: ArrayLike | None = None) -> list[tuple[str, float, Any]]:
        """Returns name, mass [kg] and centre of mass (3,) [m], world axes, of every body with mass."""
        p, R = self.pose(position, rotation)
        bodies = []
        for i, (points, c) in enumerate(zip(self.points(p, R), self.parameters.chains.all, strict=True)):
            shoulder, elbow, wrist = points
            first = shoulder + c.link_1.com / c.link_1_length * (elbow - shoulder)
            second = elbow + c.link_2.com / c.link_2_length * (wrist - elbow)
            bodies += [(f"link_1_{i + 1}", c.link_1.mass, first), (f"link_2_{i + 1}", c.link_2.mass, second)]
        platform = self.parameters.platform
        return [*bodies, ("platform", platform.mass, p + R @ np.array(platform.com))]

    def points(self, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
        """Returns shoulder, elbow and platform point of each chain, shape (3, 3, 3): chain, point, world axes [m]."""
        p, R = self.pose(position, rotation)
        q = self.chain_angles(p, R)
        R_B = self.arrays[1]
        result = np.empty((3, 3, 3))
        for i, c in enumerate(self.parameters.chains.all):
            direction = [np.cos(q[i, 1]) * np.cos(q[i, 0]), np.cos(q[i, 1]) * np.sin(q[i, 0]), np.sin(q[i, 1])]
            result[i, 0] = c.base_origin
            result[i, 1] = result[i, 0] + c.link_1_length * R_B @ direction
            result[i, 2] = p + R @ np.array(c.platform_point)
        return result

    # --- motion ---------------------------------------------------------------------------------------------

    def state(self, position: ArrayLike, rotation: ArrayLike | None = None, twist: ArrayLike | None = None) -> TauState:
        """Returns the initial state of a simulation."""
        return TauState(self, position, rotation, twist)

    def saturated(self, torque: ArrayLike) -> np.ndarray:
        """Returns joint torques (6,) clipped to the motors' peak."""
        return np.clip(vector("torque", torque, (6,)), -self.peak_torque, self.peak_torque)


class TauState:
    """A moving device: pose and twist, advanced by RK4 with the full nonlinear model.

    Args:
        device: the device.
        position: position at the start (3,) [m].
        rotation: rotation at the start (3, 3); identity if not given.
        twist: twist at the start (6,) [m/s, rad/s]; zero if not given.

    Attributes:
        values: position, unit quaternion x, y, z, w, and twist, (13,).

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import TauDevice, TauState
        >>> state = TauState(TauDevice.default(), (0.0, 0.0, 0.0))
        >>> state.step(np.zeros(6), np.zeros(6), period=1e-3)  # no torque: the platform falls
        >>> bool(state.twist[2] < 0.0)
        True
    """

    def __init__(
        self,
        device: TauDevice,
        position: ArrayLike,
        rotation: ArrayLike | None = None,
        twist: ArrayLike | None = None,
    ) -> None:
        self.device = instance("device", device, TauDevice, "TauDevice.default()")
        theta = device.inverse_kinematics(position, rotation)
        p, R = device.pose(position, rotation)
        V = np.zeros(6) if twist is None else vector("twist", twist, (6,))
        self.values = np.concatenate([p, quaternion_from_rotation(R), V])
        self._work = np.zeros((20, 6, 6))
        self._theta = theta

    def __repr__(self) -> str:
        p, V = self.values[:3].tolist(), self.values[7:].tolist()
        return f"TauState(position={p}, quaternion={self.values[3:7].tolist()}, twist={V})"

    @property
    def position(self) -> np.ndarray:
        """p (3,) [m]."""
        return self.values[:3]

    @property
    def rotation(self) -> np.ndarray:
        """R (3, 3)."""
        return rotation_from_quaternion(self.values[3:7])

    @property
    def twist(self) -> np.ndarray:
        """V (6,) [m/s, rad/s]."""
        return self.values[7:]

    def joints(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns theta (6,) [rad] and thetadot (6,) [rad/s]."""
        chains, base, _ = self.device.arrays
        q, H, R = np.empty((3, 3)), np.empty((3, 3, 6)), self.rotation
        kernels.chain_angles(chains, base, self.values[:3], R, q)
        kernels.chain_maps(chains, base, R, q, H)
        return q[:, :2].reshape(6).copy(), np.einsum("ijk,k->ij", H[:, :2], self.values[7:]).reshape(6)

    def step(self, torque: ArrayLike, wrench: ArrayLike, period: float, substeps: int = 1) -> None:
        """Advances by a period [s] with constant torques (6,), clipped to the peak, and a constant wrench (6,).

        A negative period goes back in time.

        Raises:
            TauError: an argument is out of its range; the state has not changed.
            UnreachableError, SingularError: the motion leaves the workspace; the state has not changed.
        """
        if not math.isfinite(period):
            raise TauError(f"period: expected a finite number [s], got {period!r}")
        tau, W = self.device.saturated(torque), vector("wrench", wrench, (6,))
        before = self.values.copy()
        for _ in range(substeps):
            code = kernels.integrate(*self.device.arrays, self.values, tau, W, period / substeps, self._work)
            if code != kernels.OK:
                self.values[:] = before
                start = f"the motion from position {np.round(before[:3], 6).tolist()} m"
                chain = chain_of(code)
                if code < kernels.SINGULAR:
                    raise UnreachableError(f"{start} leaves the reach of chain {chain} within {period:g} s", chain)
                raise SingularError(f"{start} stretches chain {chain}, or meets its axis, within {period:g} s")
