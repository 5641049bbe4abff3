"""H-infinity design of a wall controller at one operating point (docs/tau.md, "Comparators").

The plant has a disturbance w_1, measurement noise w_2, an input u and the measurement y:

    xdot = A x + B_1 w_1 + B_2 u,     z = [C_1 x; u],     y = C_2 x + w_2.

A controller u = K(s) y with |z| < gamma |w| for every w of finite energy exists if and only if two Riccati equations

    A^T X + X A + X (B_1 B_1^T/gamma^2 - B_2 B_2^T) X + C_1^T C_1 = 0,
    A Y + Y A^T + Y (C_1^T C_1/gamma^2 - C_2^T C_2) Y + B_1 B_1^T = 0

have stabilising solutions X, Y >= 0 with rho(X Y) < gamma^2 (Doyle, Glover, Khargonekar and Francis, "State-space
solutions to standard H2 and H-infinity control problems", IEEE Transactions on Automatic Control 34, 1989). The central
controller is then, with F = -B_2^T X, L = -Y C_2^T, Z = (I - Y X/gamma^2)^-1,

    x^' = (A + B_1 B_1^T X/gamma^2 + B_2 F + Z L C_2) x^ - Z L y,     u = F x^.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_array, finite_number
from tau_wall_control.checks import vector
from tau_wall_control.control.linearisation import LinearModel, linearise, spectral_radius, zero_order_hold
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError

#: relative accuracy of the smallest gamma
ACCURACY = 1e-4


@dataclass(frozen=True)
class HInfinityDesign:
    """A central H-infinity controller in continuous time: x^' = A x^ + B y, u = C x^.

    Attributes:
        gamma: bound of the closed loop's norm from w to z.
        smallest_gamma: least bound for which a controller exists, to a relative accuracy of 1e-4.
        A: (n, n) [1/s].
        B: (n, p).
        C: (m, n).

    Examples:
        >>> from tau_wall_control import h_infinity
        >>> design = h_infinity([[-1.0]], [[1.0]], [[1.0]], [[1.0]], [[1.0]], margin=1.2)
        >>> round(design.gamma / design.smallest_gamma, 3), design.A.shape
        (1.2, (1, 1))
    """

    gamma: float
    smallest_gamma: float
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray


def _riccati(A: np.ndarray, attenuated: np.ndarray, acting: np.ndarray, Q: np.ndarray) -> np.ndarray | None:
    """Returns the stabilising X >= 0 of A^T X + X A + X (D D^T - B B^T) X + Q = 0, D attenuated, B acting, or None."""
    inputs, weights = np.hstack([attenuated, acting]), np.ones(attenuated.shape[1] + acting.shape[1])
    weights[: attenuated.shape[1]] = -1.0
    try:
        X = scipy.linalg.solve_continuous_are(A, inputs, Q, np.diag(weights))
    except (np.linalg.LinAlgError, ValueError):
        return None
    eigenvalues = np.linalg.eigvalsh(X)
    closed = A + (attenuated @ attenuated.T - acting @ acting.T) @ X
    if eigenvalues[0] < -1e-9 * abs(eigenvalues[-1]) or np.linalg.eigvals(closed).real.max() >= 0.0:
        return None
    return np.asarray(X)


def h_infinity(
    A: ArrayLike, B_1: ArrayLike, B_2: ArrayLike, C_1: ArrayLike, C_2: ArrayLike, *, margin: float = 1.05
) -> HInfinityDesign:
    """Designs the central H-infinity controller for a plant of the module's form.

    Args:
        A: of the plant (n, n) [1/s].
        B_1: of the disturbance (n, d).
        B_2: of the input (n, m); scaled so that u itself stands in z.
        C_1: of the weighted states in z (k, n).
        C_2: of the measurement (p, n); scaled so that the noise in y has the weight 1.
        margin: gamma over the smallest one, above 1; near 1 the gains become large.

    Raises:
        TauError: a matrix is not finite or not of its shape, margin is not above 1, or no controller exists.

    Examples:
        >>> from tau_wall_control import h_infinity
        >>> design = h_infinity([[0.0]], [[1.0]], [[1.0]], [[1.0]], [[1.0]])  # x' = w_1 + u, y = x + w_2
        >>> round(design.smallest_gamma, 3)  # closed form: sqrt(2)
        1.414
    """
    n = len(np.atleast_2d(A))
    matrices = []
    for name, value, shape in (("A", A, (n, n)), ("B_1", B_1, (n, -1)), ("B_2", B_2, (n, -1)), ("C_1", C_1, (-1, n)),
                               ("C_2", C_2, (-1, n))):  # fmt: skip
        given = np.atleast_2d(np.asarray(value, dtype=float))
        sizes = tuple(given.shape[k] if size < 0 else size for k, size in enumerate(shape))
        matrices.append(finite_array(name, given, sizes, expected=f"finite numbers of shape {sizes}", error=TauError))
    a, b_1, b_2, c_1, c_2 = matrices
    if not 1.0 < margin < math.inf:
        raise TauError(f"margin: expected a number above 1, got {margin}")

    def solutions(gamma: float) -> tuple[np.ndarray, np.ndarray] | None:
        X = _riccati(a, b_1 / gamma, b_2, c_1.T @ c_1)
        Y = None if X is None else _riccati(a.T, c_1.T / gamma, c_2.T, b_1 @ b_1.T)
        if X is None or Y is None or spectral_radius(X @ Y) >= gamma**2:
            return None
        return X, Y

    low, high = 1e-6, 1.0
    while solutions(high) is None:
        low, high = high, 4.0 * high
        if high > 1e9:
            raise TauError("A: expected a plant that B_2 can stabilise and C_2 can observe; no bound up to 1e9 is met")
    while high > (1.0 + ACCURACY) * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if solutions(middle) is None else (low, middle)
    gamma = margin * high
    found = solutions(gamma)
    if found is None:
        raise TauError(f"margin: no controller found at {margin} times the smallest bound; expected a larger one")
    X, Y = found
    F, ZL = -b_2.T @ X, np.linalg.solve(np.eye(n) - Y @ X / gamma**2, -Y @ c_2.T)
    return HInfinityDesign(gamma, high, a + b_1 @ b_1.T @ X / gamma**2 + b_2 @ F + ZL @ c_2, -ZL, F)


@dataclass(frozen=True)
class WallPlant:
    """The wall's plant about a contact pose in the form of the module.

    The state is x = [theta - r; thetadot; xi] with xi' = r - theta - leak xi.

    Attributes:
        A, B_1, B_2, C_1, C_2: its matrices, (18, 18), (18, 6), (18, 6), (18, 18), (6, 18).
    """

    A: np.ndarray
    B_1: np.ndarray
    B_2: np.ndarray
    C_1: np.ndarray
    C_2: np.ndarray


class HInfinityController:
    """H-infinity controller that holds a contact pose, designed for one operating point; it needs joint angles only.

    The weights of angle, rate, integral and torque are those of the LQI controllers. The disturbance is a torque at
    the joints, the noise that of the angles. The continuous controller is sampled by Tustin's rule.

    Args:
        device: device of the design.
        position: operating point (3,) [m].
        disturbance: torque of w_1 = 1 at each joint [N m], above 0.
        noise: error of the angles for w_2 = 1 [rad], above 0.
        leak: decay rate of the integral [1/s], above 0.
        margin: gamma over the smallest one, above 1.
        normal: normal of the wall, world axes.

    Attributes:
        design: the controller in continuous time, from [(theta - r)/noise] to torque over the weight of torque.
        plant: the plant of the design.
        period: Ts [s].
        normal: unit vector (3,).

    Raises:
        TauError: a number is out of its range, or the sampled loop would be unstable.
        UnreachableError, SingularError: the device does not reach the operating point.

    Examples:
        >>> from tau_wall_control import HInfinityController, TauDevice, simulate_push
        >>> device = TauDevice.default()
        >>> controller = HInfinityController(device)
        >>> result = simulate_push(device, controller, point=(0.0, 0.0, 0.0), force=5.0, duration=1.2)
        >>> result.stiffness > 5e3
        True
    """

    def __init__(
        self,
        device: TauDevice,
        position: ArrayLike = (0.0, 0.0, 0.0),
        *,
        disturbance: float = 0.3,
        noise: float = 1e-4,
        leak: float = 1.0,
        margin: float = 1.1,
        normal: ArrayLike = (0.0, 0.0, 1.0),
    ) -> None:
        for name, value in (("disturbance", disturbance), ("noise", noise), ("leak", leak)):
            finite_number(name, value, above=0.0, expected="a number above 0", error=TauError)
        direction = vector("normal", normal, (3,))
        if not np.linalg.norm(direction) > 0.0:
            raise TauError(f"normal: expected a direction, got {direction.tolist()}")
        self.normal = direction / np.linalg.norm(direction)
        self.device, self.period = device, device.parameters.control.sample_time
        self._reference: np.ndarray | None = None
        self._scale = noise, device.parameters.control.weight_torque
        model, weights = linearise(device, position), device.parameters.control
        A, B_1, B_2 = np.zeros((18, 18)), np.zeros((18, 6)), np.zeros((18, 6))
        A[:12, :12] = model.A
        A[12:, :6], A[12:, 12:] = -np.eye(6), -leak * np.eye(6)
        B_1[6:12], B_2[6:12] = disturbance * model.B2, weights.weight_torque * model.B2
        sizes = np.repeat([weights.weight_angle, weights.weight_rate, weights.weight_integral], 6)
        self.plant = WallPlant(A, B_1, B_2, np.diag(1.0 / sizes), np.eye(6, 18) / noise)
        p = self.plant
        self.design = h_infinity(p.A, p.B_1, p.B_2, p.C_1, p.C_2, margin=margin)
        # Tustin: (x_k+1 - x_k)/T is A and B times the means of both samples' states and measurements
        half, identity = 0.5 * self.period, np.eye(18)
        inverse = np.linalg.inv(identity - half * self.design.A)
        self._A = inverse @ (identity + half * self.design.A)
        self._B = inverse @ self.design.B * self.period
        self._C = self.design.C @ inverse
        self._D = half * self._C @ self.design.B
        self._state = np.zeros(18)
        self._check_sampled_loop(model, disturbance)

    def _check_sampled_loop(self, model: LinearModel, disturbance: float) -> None:
        """Refuses a design that is stable in continuous time only, because the sampling is too slow for its gains."""
        noise, unit = self._scale
        A, B = zero_order_hold(model.A, model.B, self.period)
        measure = np.eye(6, 12) / noise
        loop = np.block([[A + unit * B @ self._D @ measure, unit * B @ self._C], [self._B @ measure, self._A]])
        radius = spectral_radius(loop)
        if radius >= 1.0:
            raise TauError(
                f"disturbance, noise: expected a design whose loop is stable at {1.0 / self.period:g} Hz, got "
                f"{disturbance:g} N m and {noise:g} rad, whose largest eigenvalue is {radius:.3g}"
            )

    def __repr__(self) -> str:
        return f"HInfinityController(gamma={self.design.gamma:.4g}, {self.device!r})"

    def start(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Takes a pose as the reference and starts with the estimates at zero.

        Args:
            position: of the contact pose (3,) [m].
            rotation: of the contact pose (3, 3); identity if not given.

        Raises:
            UnreachableError, SingularError: the pose cannot be held.
        """
        self._reference = self.device.inverse_kinematics(position, rotation)
        self._torque = self.device.gravity_torque_at(position, rotation)
        self._state[:] = 0.0

    def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
        """Returns joint torques (6,) within the limits [N m].

        Args:
            theta: angles of this sample (6,) [rad].
            rate: not used; other controllers need it (6,) [rad/s].

        Raises:
            TauError: wrong shape, a number that is not finite, or no contact pose yet (`start`).
        """
        if self._reference is None:
            raise TauError("step: expected start(position) before it, which takes the contact pose")
        noise, unit = self._scale
        y = (vector("theta", theta, (6,)) - self._reference) / noise
        u = unit * (self._C @ self._state + self._D @ y)
        self._state = self._A @ self._state + self._B @ y
        return self.device.saturated(self._torque + u)
