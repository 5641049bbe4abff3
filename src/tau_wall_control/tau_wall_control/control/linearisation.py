"""The device linearised at rest at an operating point, and its zero-order-hold models (docs/tau.md, "Linearisation").

x = [theta - theta_ref; thetadot], u = tau - tau0, xdot = [0, I; A21, A22] x + [0; B2] u. It contains
viscous friction, but not the smoothed Coulomb friction (its slope at rest is an artefact of the smoothing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tau_wall_control.checks import instance
from tau_wall_control.device.rotations import rotation_from_vector
from tau_wall_control.device.tau_device import TauDevice

#: step of the central differences of gravity [rad]; their error is about 1e-9 relative
STEP = 1e-5


@dataclass(frozen=True)
class LinearModel:
    """The device about one operating point.

    Attributes:
        position, rotation: the pose.
        theta: theta0 (6,) [rad].
        torque: tau0 = tau_g(theta0) (6,) [N m].
        A21, A22, B2: (6, 6).
        jacobian: J (6, 6).
        task_mass: M_x (6, 6).

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import TauDevice, linearise
        >>> model = linearise(TauDevice.default(), (0.0, 0.0, 0.0))
        >>> bool(np.linalg.eigvalsh(model.task_mass).min() > 0.0)
        True
    """

    position: np.ndarray
    rotation: np.ndarray
    theta: np.ndarray
    torque: np.ndarray
    A21: np.ndarray
    A22: np.ndarray
    B2: np.ndarray
    jacobian: np.ndarray
    task_mass: np.ndarray

    def __repr__(self) -> str:
        return f"LinearModel(position={self.position.tolist()}, theta={self.theta.tolist()})"

    @property
    def A(self) -> np.ndarray:  # noqa: N802
        """(12, 12)."""
        return np.block([[np.zeros((6, 6)), np.eye(6)], [self.A21, self.A22]])

    @property
    def B(self) -> np.ndarray:  # noqa: N802
        """(12, 6)."""
        return np.vstack([np.zeros((6, 6)), self.B2])

    def augmented(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns A_a (18, 18) and B_a (18, 6) with the integral xi of r - theta."""
        A, B = np.zeros((18, 18)), np.zeros((18, 6))
        A[:12, :12], B[:12] = self.A, self.B
        A[12:, :6] = -np.eye(6)
        return A, B

    def push_response(self, direction: ArrayLike) -> np.ndarray:
        """Returns the state rate (12,) per newton of a force at the TCP along a direction in world axes."""
        force = np.concatenate([np.asarray(direction, dtype=float), np.zeros(3)])
        return self.B @ (self.jacobian.T @ force)


def linearise(device: TauDevice, position: ArrayLike, rotation: ArrayLike | None = None) -> LinearModel:
    """Returns the linear model at a pose.

    Raises:
        UnreachableError, SingularError: there is none.

    Examples:
        >>> from tau_wall_control import TauDevice, linearise
        >>> model = linearise(TauDevice.default(), (0.0, 0.0, 0.0))
        >>> model.A21.shape, model.B2.shape
        ((6, 6), (6, 6))
    """
    instance("device", device, TauDevice, "TauDevice.default()")
    q = device.chain_angles(position, rotation)
    p, R = device.pose(position, rotation)
    d = device.dynamics(p, R)
    J = device.jacobian_at(p, R)
    M_inverse = d.actuated_map @ np.linalg.solve(d.mass_matrix, d.actuated_map.T)
    gravity_slope = np.empty((6, 6))
    for j in range(6):
        step = STEP * J[:, j]  # to first order; the error is even in the step and cancels
        ahead = device.gravity_torque_at(p + step[:3], rotation_from_vector(step[3:]) @ R)
        behind = device.gravity_torque_at(p - step[:3], rotation_from_vector(-step[3:]) @ R)
        gravity_slope[:, j] = (ahead - behind) / (2.0 * STEP)
    f = device.parameters.friction
    viscous = np.array([f.viscous_actuated, f.viscous_actuated, f.viscous_elbow])
    B_x = np.einsum("ika,k,ikb->ab", d.chain_maps, viscous, d.chain_maps)
    return LinearModel(
        position=p,
        rotation=R,
        theta=q[:, :2].reshape(6).copy(),
        torque=J.T @ d.gravity_force,
        A21=-M_inverse @ gravity_slope,
        A22=-M_inverse @ (J.T @ B_x @ J),
        B2=M_inverse,
        jacobian=J,
        task_mass=d.mass_matrix,
    )


def zero_order_hold(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns A and B of the sampled system whose input is held over a period [s]."""
    n, m = B.shape
    held = scipy.linalg.expm(period * np.block([[A, B], [np.zeros((m, n + m))]]))  # of [x; u], u' = 0
    return held[:n, :n], held[:n, n:]


def spectral_radius(A: np.ndarray) -> float:
    """Returns the largest |eigenvalue|."""
    return float(np.abs(np.linalg.eigvals(A)).max())


def delayed(A: np.ndarray, B: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sampled system with an input delayed by some samples; its states are [x; u_k-1; ...; u_k-samples]."""
    n, m = B.shape
    size = n + m * samples
    A_d, B_d = np.zeros((size, size)), np.zeros((size, m))
    A_d[:n, :n] = A
    if samples == 0:
        B_d[:n] = B
        return A_d, B_d
    A_d[:n, size - m :] = B
    B_d[n : n + m] = np.eye(m)
    for k in range(samples - 1):
        A_d[n + m * (k + 1) : n + m * (k + 2), n + m * k : n + m * (k + 1)] = np.eye(m)
    return A_d, B_d
