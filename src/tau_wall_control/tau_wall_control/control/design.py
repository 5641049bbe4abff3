"""Design of the wall controllers over grids of operating points (docs/tau.md, "Controllers"): LQR, Kalman filters."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tau_wall_control.checks import instance
from tau_wall_control.control import laws
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.horizon import condense
from tau_wall_control.control.linearisation import LinearModel, linearise, zero_order_hold
from tau_wall_control.control.options import SCHEMES, DesignOptions
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError


def grid_points(device: TauDevice, per_axis: int) -> tuple[float, ...]:
    """Returns operating points along each axis for a grid of per_axis^3 points over the workspace [m]."""
    if not isinstance(per_axis, (int, np.integer)) or per_axis < 1:
        raise TauError(f"per_axis: expected 1 or more, a whole number, got {per_axis!r}")
    half = device.parameters.workspace.cube_edge / 2.0
    return (0.0,) if per_axis == 1 else tuple(float(x) for x in np.linspace(-half, half, per_axis))


def task_weight(device: TauDevice, normal: ArrayLike, along: float) -> np.ndarray:
    """Returns W (6, 6) = diag(1, 1, w, Lc^2, Lc^2, Lc^2) with its third axis along a normal."""
    n = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    W = np.zeros((6, 6))
    W[:3, :3] = np.eye(3) + (along - 1.0) * np.outer(n, n)
    W[3:, 3:] = device.parameters.workspace.characteristic_length**2 * np.eye(3)
    return W


def angle_weight(model: LinearModel, W: np.ndarray | None) -> np.ndarray:
    """Returns the weight of the joint angles before scaling (6, 6): identity, or J^T W J 6/tr(J^T W J) + 0.01 I."""
    if W is None:
        return np.eye(6)
    JWJ = model.jacobian.T @ W @ model.jacobian
    return 3.0 * (JWJ + JWJ.T) / np.trace(JWJ) + 0.01 * np.eye(6)


def lqr(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gain K of the discrete LQR u = -K x, and the solution of the Riccati equation.

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import lqr
        >>> A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])  # a mass, every 0.1 s
        >>> gain, _ = lqr(A, B, np.eye(2), np.eye(1))
        >>> bool(abs(np.linalg.eigvals(A - B @ gain)).max() < 1.0)  # stable
        True
    """
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    return scipy.linalg.solve(B.T @ P @ B + R, B.T @ P @ A), P


def kalman(A: np.ndarray, C: np.ndarray, noise: np.ndarray, measurement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gain L of the stationary Kalman filter x^ = x^- + L (y - C x^-), and the covariance of x^-."""
    unit = np.trace(measurement) / len(measurement)  # of all covariances: the solver fails on numbers as small as 1e-12
    P = unit * scipy.linalg.solve_discrete_are(A.T, C.T, noise / unit, measurement / unit)
    return np.linalg.solve(C @ P @ C.T + measurement, C @ P).T, P


def _filter(row: np.ndarray, A_d: np.ndarray, B_d: np.ndarray, options: DesignOptions, Ts: float, sd: float) -> None:
    """Writes the filter for [x; d], d a random walk, and the gains after a jump of d at the start of a period."""
    F, C, noise = np.eye(18), np.eye(6, 18), np.zeros((18, 18))
    F[:12, :12], F[:12, 12:] = A_d, B_d
    noise[12:, 12:] = options.disturbance_rate**2 * Ts * np.eye(6)
    measurement = sd**2 * np.eye(6)
    L, P = kalman(F, C, noise, measurement)
    row[laws.FILTER] = L.ravel()
    if not options.jump_threshold:
        return
    row[laws.SURPRISE] = np.linalg.inv(P[:6, :6] + measurement).ravel()
    row[laws.THRESHOLD] = options.jump_threshold
    jump = np.vstack([B_d, np.eye(6)])
    P = P + options.jump**2 * jump @ jump.T
    gains = []
    for _ in range(laws.JUMP_GAINS):
        L = np.linalg.solve(P[:6, :6] + measurement, P[:6]).T
        gains.append(L.ravel())
        P = P - L @ P[:6]
        P = F @ (0.5 * (P + P.T)) @ F.T + noise
    row[laws.JUMP_FILTER] = np.concatenate(gains)


def design_row(device: TauDevice, model: LinearModel, options: DesignOptions) -> np.ndarray:
    """Returns the row of `laws.control` for one operating point."""
    c = device.parameters.control
    row = np.zeros(laws.row_length(options.mode))
    W = None if options.normal_weight is None else task_weight(device, options.normal, options.normal_weight)
    Q_theta = angle_weight(model, W)
    R = np.eye(6) / (options.weight_torque or c.weight_torque) ** 2
    A_d, B_d = zero_order_hold(model.A, model.B, c.sample_time)
    row[laws.TORQUE] = model.torque
    row[laws.A_D], row[laws.B_D] = A_d.ravel(), B_d.ravel()
    Q = np.zeros((18, 18))
    Q[:6, :6] = Q_theta / (options.weight_angle or c.weight_angle) ** 2
    Q[6:12, 6:12] = np.eye(6) / (options.weight_rate or c.weight_rate) ** 2
    Q[12:, 12:] = Q_theta / c.weight_integral**2
    if options.observer:
        K, P = lqr(A_d, B_d, Q[:12, :12], R)
        _filter(row, A_d, B_d, options, c.sample_time, device.parameters.encoders.joint_resolution / math.sqrt(12.0))
        if options.constrained:
            H, slope, plan = condense(A_d, B_d, Q[:12, :12], R, P)
            row[laws.HESSIAN], row[laws.SLOPE], row[laws.PLAN] = H.ravel(), slope.ravel(), plan.ravel()
    else:
        K, _ = lqr(*zero_order_hold(*model.augmented(), c.sample_time), Q, R)
        row[laws.K_INTEGRAL] = -K[:, 12:].ravel()
    row[laws.K_THETA], row[laws.K_RATE] = K[:, :6].ravel(), K[:, 6:12].ravel()
    return row


def design_options(
    device: TauDevice, scheme: str = "scheduled", *, per_axis: int | None = None, **options: Any
) -> DesignOptions:
    """Returns the options of a scheme with replacements and with its operating points.

    The arguments are those of `design_wall_controller`.

    Raises:
        TauError: unknown scheme or option, or inconsistent options.
    """
    if scheme not in SCHEMES:
        raise TauError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
    known = [f.name for f in fields(DesignOptions)]
    unknown = options.keys() - set(known)
    if unknown:
        raise TauError(f"option {min(unknown)!r}: expected one of {', '.join(known)}")
    if per_axis is not None:
        options["points"] = grid_points(device, per_axis)
    chosen = replace(SCHEMES[scheme], **options)
    chosen.check()
    points = chosen.points or device.parameters.control.operating_points_per_axis
    return replace(chosen, points=tuple(float(x) for x in points))


def operating_points(options: DesignOptions) -> list[tuple[float, float, float]]:
    """Returns the grid's positions in the order of a controller's table, z fastest [m]."""
    points = options.points
    return [(x, y, z) for x in points for y in points for z in points]


def design_wall_controller(
    device: TauDevice,
    scheme: str = "scheduled",
    *,
    per_axis: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> WallController:
    """Designs a controller for a device.

    Args:
        device: the device.
        scheme: "sopc", "mopc", "scheduled", "observer", "stiff" or "predictive", see `options`.
        per_axis: number of operating points along each axis; default: those of the device file.
        options: fields of `DesignOptions` that replace those of the scheme.
        progress: function called after each operating point with the number of finished points and of all points.

    Raises:
        TauError: unknown scheme or option, inconsistent options, or an operating point that the device does not reach.

    Examples:
        >>> from tau_wall_control import TauDevice, design_wall_controller
        >>> controller = design_wall_controller(TauDevice.default(), scheme="sopc")
        >>> controller.scheme
        'sopc'
    """
    instance("device", device, TauDevice, "TauDevice.default()")
    chosen = design_options(device, scheme, per_axis=per_axis, **options)
    positions = operating_points(chosen)
    before = time.perf_counter()
    rows: list[np.ndarray] = []
    for position in positions:
        rows.append(design_row(device, linearise(device, position), chosen))
        if progress is not None:
            progress(len(rows), len(positions))
    return WallController(
        device, options=chosen, scheme=scheme, table=np.array(rows), design_time=time.perf_counter() - before
    )
