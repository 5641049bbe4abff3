"""A wall controller: gains over a grid of operating points, and the 6-DOF hold of a contact pose.

As in the paper, the whole pose at contact becomes the reference, r = IK(X_c), and the controller holds it. The
unilateral walls along which the tool can slide are in `walls`; they use the same gains.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_files import FileError, read_archive
from haptic_math.array_assignment import assign
from tau_wall_control.checks import instance, vector
from tau_wall_control.control import laws
from tau_wall_control.control.options import DesignOptions
from tau_wall_control.device import kernels
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import ControllerFileError, SingularError, TauError

FORMAT = 1
#: weights of torque sharing: of force across the normal, and of all other components
SHARING_ACROSS, SHARING_ALONG = 1.0, 100.0


@njit(cache=True, error_model="numpy")
def nearest(edges: np.ndarray, x: float) -> int:
    """Returns the index of the subspace of one axis; on an edge, of the one nearer to the middle."""
    i = 0
    for e in edges:
        if x > e or (x == e and x < 0.0):
            i += 1
    return i


@njit(cache=True, error_model="numpy")
def select(
    table: np.ndarray, points: np.ndarray, edges: np.ndarray, interpolated: bool, p: np.ndarray, row: np.ndarray
) -> int:
    """Writes the gains at a position, as many as the row has; returns the index of the subspace."""
    n, m = points.shape[0], row.shape[0]
    index = (nearest(edges, p[0]) * n + nearest(edges, p[1])) * n + nearest(edges, p[2])
    if not interpolated or n == 1:
        assign(row, table[index, :m])
        return index
    low, part = np.empty(3, dtype=np.int64), np.empty(3)
    for k in range(3):
        x = min(max(p[k], points[0]), points[n - 1])
        i = 0
        while i < n - 2 and x >= points[i + 1]:
            i += 1
        low[k], part[k] = i, (x - points[i]) / (points[i + 1] - points[i])
    row[:] = 0.0
    for corner in range(8):
        a, b, c = corner // 4, corner // 2 % 2, corner % 2
        weight = (part[0] if a else 1.0 - part[0]) * (part[1] if b else 1.0 - part[1])
        weight *= part[2] if c else 1.0 - part[2]
        if weight != 0.0:
            source = table[((low[0] + a) * n + low[1] + b) * n + low[2] + c]
            for k in range(m):
                row[k] += weight * source[k]
    return index


class WallController:
    """Controller that holds a contact pose against a push.

    Args:
        device: device of the design.
        options: options of the design, with the grid's `points`.
        scheme: name of the scheme.
        table: gains of the operating points (points^3, `laws.row_length`), z fastest.
        design_time: time of the design [s].

    Attributes:
        mode: flags of `laws`.
        period: Ts [s].
        operating_point: index of the subspace in use.
        saturated: true if torque limits were active in the last step.
        saturated_steps: number of consecutive steps with active torque limits.

    Examples:
        >>> from tau_wall_control import TauDevice, design_wall_controller
        >>> controller = design_wall_controller(TauDevice.default(), scheme="stiff")
        >>> controller.device.tool_resolution > 0.0
        True
    """

    def __init__(
        self, device: TauDevice, *, options: DesignOptions, scheme: str, table: np.ndarray, design_time: float = 0.0
    ) -> None:
        self.device, self.options, self.scheme = device, options, scheme
        self.table, self.design_time = np.ascontiguousarray(table, dtype=float), design_time
        self.points = np.array(options.points, dtype=float)
        self.mode, self.delay = options.mode, options.delay
        self.normal = np.asarray(options.normal, dtype=float) / np.linalg.norm(options.normal)
        self.period = device.parameters.control.sample_time
        middle = 0.5 * (self.points[1:] + self.points[:-1])
        half = device.parameters.control.subspace_half_width
        if options.points == device.parameters.control.operating_points_per_axis and len(self.points) == 3:
            middle = np.array([self.points[1] - half, self.points[1] + half])
        self.edges = middle
        self._memory = np.zeros(laws.MEMORY)
        self._row = np.zeros(self.table.shape[1])
        self._torque, self._weight, self._reference = np.zeros(6), np.zeros((6, 6)), np.zeros(6)
        self._reference_rate = np.zeros(6)
        self.operating_point, self.saturated_steps = 0, 0
        self._started = False

    def __repr__(self) -> str:
        digest = hashlib.sha256(self.table.tobytes()).hexdigest()[:16]
        return f"WallController({self.scheme!r}, {self.options}, device={self.device.fingerprint}, table={digest})"

    @property
    def memory_bytes(self) -> int:
        """Memory of the gains [bytes]."""
        return self.table.nbytes

    @property
    def saturated(self) -> bool:
        """True if torque limits were active in the last step."""
        return bool(self._memory[laws.SATURATED])

    def gains(self, position: ArrayLike) -> tuple[np.ndarray, int]:
        """Returns the row of gains at a position, and the index of its subspace's operating point."""
        row = np.empty(self.table.shape[1])
        p = vector("position", position, (3,))
        return row, select(self.table, self.points, self.edges, self.options.interpolated, p, row)

    def prepare(
        self, position: ArrayLike, rotation: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns gains, weight of torque sharing (6, 6) and reference r (6,) for holding a contact pose.

        Raises:
            UnreachableError, SingularError: the pose cannot be held.
        """
        row, self.operating_point = self.gains(position)
        d = self.device.dynamics(position, rotation)
        G = d.actuated_map
        if np.linalg.cond(G) > 1e12:
            raise SingularError(f"the platform is singular at position {position!r}")
        if self.options.exact_gravity:
            row[laws.TORQUE] = np.linalg.solve(G.T, d.gravity_force)
        W = SHARING_ALONG * np.eye(6)
        W[:3, :3] = SHARING_ACROSS * np.eye(3) + (SHARING_ALONG - SHARING_ACROSS) * np.outer(self.normal, self.normal)
        return row, G @ W @ G.T, self.device.inverse_kinematics(position, rotation)

    def start(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Takes a pose as the reference and starts with integral and estimates at zero."""
        self._row, self._weight, self._reference = self.prepare(position, rotation)
        self._memory[:], self._reference_rate[:] = 0.0, 0.0
        self.saturated_steps, self._started = 0, True

    def follow(
        self,
        position: ArrayLike,
        rotation: ArrayLike | None = None,
        *,
        twist: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> None:
        """Moves the reference to the contact pose of this sample; integral and estimates stay.

        With the option `feedforward`, tau0 becomes the inverse dynamics of the reference's motion and x the deviation
        from this motion. Without the option, the motion is a disturbance for the controller.

        Args:
            position: position of the contact pose (3,) [m].
            rotation: rotation of the contact pose (3, 3); identity if not given.
            twist: twist of the contact pose (6,) [m/s, rad/s]; zero if not given.
            acceleration: acceleration of the contact pose (6,) [m/s^2, rad/s^2]; zero if not given.

        Raises:
            UnreachableError, SingularError: the pose cannot be held.
        """
        self._row, self._weight, self._reference = self.prepare(position, rotation)
        self._started = True
        if self.options.feedforward:
            motion = np.zeros(6) if twist is None else vector("twist", twist, (6,))
            self._row[laws.TORQUE] = self.device.inverse_dynamics(position, rotation, motion, acceleration)
            self._reference_rate = self.device.dynamics(position, rotation).actuated_map @ motion

    def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
        """Returns joint torques (6,) within the limits [N m] for joint angles [rad] and velocities [rad/s], (6,) each.

        Raises:
            TauError: wrong shape, a number that is not finite, or no contact pose yet (`start`).
        """
        if not self._started:
            raise TauError("step: expected start(position) before it, which takes the contact pose")
        angles, rates = vector("theta", theta, (6,)), vector("rate", rate, (6,))
        laws.control(
            self.mode,
            self.delay,
            self.period,
            self.device.peak_torque,
            self._row,
            self._weight,
            self._memory,
            self._reference,
            angles,
            rates - self._reference_rate,
            self._torque,
        )
        self.saturated_steps = self.saturated_steps + 1 if self.saturated else 0
        return self._torque.copy()

    # --- files ----------------------------------------------------------------------------------------------

    def save(self, path: Path | str) -> None:
        """Writes the controller to a .npz file, with the fingerprint of its device.

        Raises:
            ControllerFileError: the file cannot be written.
        """
        facts: dict[str, Any] = {
            "format": FORMAT,
            "fingerprint": self.device.fingerprint,
            "sample_time": self.period,
            "scheme": self.scheme,
            "options": asdict(self.options),
            "design_time": self.design_time,
        }
        try:
            with Path(path).open("wb") as file:
                np.savez(file, facts=np.array(json.dumps(facts)), table=self.table)
        except OSError as error:
            raise ControllerFileError(f"{path}: cannot be written: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path | str, device: TauDevice) -> WallController:
        """Reads a controller for a device.

        Raises:
            ControllerFileError: the file cannot be read, or does not fit the device.
        """
        instance("device", device, TauDevice, "TauDevice.default()")
        try:
            with np.load(read_archive(path), allow_pickle=False) as content:
                facts, table = json.loads(str(content["facts"])), content["table"]
            options: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts["options"].items()}
            if facts["format"] != FORMAT:
                raise ControllerFileError(f"{path}: expected format {FORMAT}, got another one; design it again")
            chosen = DesignOptions(**options)
            expected = (len(chosen.points) ** 3, laws.row_length(chosen.mode))
            if table.shape != expected or not np.isfinite(table).all():
                raise ControllerFileError(f"{path}: expected finite gains of shape {expected}, got {table.shape}")
        except FileError as error:
            raise ControllerFileError(str(error)) from None
        except ControllerFileError:
            raise
        except Exception:
            raise ControllerFileError(f"{path}: not a controller file") from None
        if facts["fingerprint"] != device.fingerprint:
            raise ControllerFileError(
                f"{path}: designed for another device than this one, {device.fingerprint}; design it again"
            )
        if facts["sample_time"] != device.parameters.control.sample_time:
            raise ControllerFileError(
                f"{path}: designed for another sample time than "
                f"{device.parameters.control.sample_time:g} s; design it again"
            )
        return cls(device, options=chosen, scheme=facts["scheme"], table=table, design_time=float(facts["design_time"]))


@njit(cache=True, error_model="numpy")
def joint_state(
    chains: np.ndarray,
    base: np.ndarray,
    state: np.ndarray,
    R: np.ndarray,
    q: np.ndarray,
    H: np.ndarray,
    theta: np.ndarray,
    rate: np.ndarray,
) -> int:
    """Writes theta and thetadot (6,) of a state (13,), and R, q, H; returns a code of `kernels`."""
    kernels.rotation_of(state[3:7], R)
    code = kernels.chain_angles(chains, base, state[:3], R, q)
    if code != kernels.OK:
        return code
    code = kernels.chain_maps(chains, base, R, q, H)
    if code != kernels.OK:
        return code
    kernels.actuated(q, theta)
    for i in range(3):
        for j in range(2):
            total = 0.0
            for a in range(6):
                total += H[i, j, a] * state[7 + a]
            rate[2 * i + j] = total
    return kernels.OK
