"""Largest stable stiffness per delay, linear loop: the wall controllers beside the classical spring-damper wall.

The loop is the sampled linear model at a point: plant with held torques, `delay` samples late, and the linear part of
the controller (no limits, no jumps). A controller's stiffness is scaled by one factor on all its gains; the classical
wall has its K along the normal and the best damping for it. The criterion of both is the spectral radius.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tau_wall_control.control import laws
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import task_weight
from tau_wall_control.control.linearisation import LinearModel, delayed, linearise, spectral_radius, zero_order_hold
from tau_wall_control.control.options import DesignOptions
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.push import PushResult

#: spectral radius above which a loop is unstable; the integrators of free directions lie at 1
STABLE = 1.0 - 1e-9


def closed_loop(
    controller: WallController,
    position: ArrayLike,
    *,
    delay: int = 0,
    gain: float = 1.0,
    model: LinearModel | None = None,
) -> np.ndarray:
    """Returns the state matrix of plant, delay line and linear controller at an operating point.

    Args:
        controller: the controller, without its limits, torque sharing and jumps.
        position: of the tool (3,) [m].
        delay: samples that the torques act late, whatever the controller knows.
        gain: factor on the feedback and integral gains.
        model: the plant's linear model, if not that of the controller's device.
    """
    row, _ = controller.gains(position)
    plant = linearise(controller.device, position) if model is None else model
    A, B = zero_order_hold(plant.A, plant.B, controller.period)
    A, B = delayed(A, B, delay)
    n, known = len(A), controller.delay
    K = gain * np.hstack([row[laws.K_THETA].reshape(6, 6), row[laws.K_RATE].reshape(6, 6)])
    measure = np.eye(12, n)
    if not controller.mode & laws.OBSERVER:
        K_i = gain * row[laws.K_INTEGRAL].reshape(6, 6)
        result = np.zeros((n + 6, n + 6))
        result[:n, :n], result[:n, n:] = A - B @ K @ measure, B @ K_i
        result[n:, :6], result[n:, n:] = -controller.period * np.eye(6), np.eye(6)
        return result
    A_d, B_d = row[laws.A_D].reshape(12, 12), row[laws.B_D].reshape(12, 6)
    L = row[laws.FILTER].reshape(18, 6)
    # states: plant, filter before its correction [x; d], past commands u_k-known ... u_k-1
    m = n + 18 + 6 * known
    S = np.eye(m)
    x, past = S[:n], [S[n + 18 + 6 * k : n + 24 + 6 * k] for k in range(known)]
    corrected = S[n : n + 18] + L @ (x[:6] - S[n : n + 6])
    d = corrected[12:]
    s = corrected[:12] if controller.mode & laws.ESTIMATED else measure @ x
    for u in past:
        s = A_d @ s + B_d @ (u + d)
    u_now = -K @ s - d
    line = [*past, u_now]
    return np.vstack([A @ x + B @ u_now, A_d @ corrected[:12] + B_d @ (line[0] + d), d, *line[1:]])


def rendered_stiffness(controller: WallController, position: ArrayLike, gain: float = 1.0) -> float:
    """Returns the stiffness of the proportional part along the controller's normal [N/m]: 1 / n^T (G^T K_theta G)^-1 n.

    Integral and observer make the static stiffness infinite; this is the instantaneous stiffness.
    """
    row, _ = controller.gains(position)
    G = controller.device.dynamics(position).actuated_map
    n = np.concatenate([controller.normal, np.zeros(3)])
    return gain / float(n @ np.linalg.solve(G.T @ row[laws.K_THETA].reshape(6, 6) @ G, n))


def _largest(stable: Callable[[float], bool], low: float, high: float, steps: int = 40) -> float:
    """Finds the largest number from low to high that is `stable`, by logarithmic bisection; 0 if low is not."""
    if not stable(low):
        return 0.0
    if stable(high):
        return high
    for _ in range(steps):
        middle = np.sqrt(low * high)
        if stable(middle):
            low = middle
        else:
            high = middle
    return float(low)


def largest_gain(controller: WallController, position: ArrayLike, *, delay: int = 0) -> float:
    """Returns the largest factor on all gains from 0.01 to 100 for which the linear loop is stable; 0 if there is none.

    Stability need not be monotonic in the factor; the result is the upper edge of one stable interval.
    """
    model = linearise(controller.device, position)
    none, full = (closed_loop(controller, position, delay=delay, gain=g, model=model) for g in (0.0, 1.0))

    def stable(gain: float) -> bool:
        return spectral_radius(none + gain * (full - none)) < STABLE  # the gain enters linearly

    gains = np.geomspace(1e-2, 100.0, 40)
    found = [g for g in gains if stable(g)]
    if not found:
        return 0.0
    return _largest(stable, found[-1], min(100.0, found[-1] * (gains[1] / gains[0])), steps=20)


class SpringDamperLoop:
    """The sampled loop of a wall f = -K x - B v along a normal that leaves the other directions alone.

    The mass is the apparent one, the viscous friction that of the joints; the tool is released.

    Args:
        model: of the device at the point.
        normal: of the wall.
        period: T [s].
        delay: samples that the force acts late.
        velocity_pole: v is the difference quotient of the positions through a filter with the pole exp(-p T); the
            true velocity if not given [rad/s].
    """

    def __init__(
        self,
        model: LinearModel,
        normal: ArrayLike,
        *,
        period: float,
        delay: int,
        velocity_pole: float | None = None,
    ) -> None:
        n = np.concatenate([np.asarray(normal, dtype=float) / np.linalg.norm(normal), np.zeros(3)])
        J = model.jacobian
        inverse_mass = float(n @ J @ model.B2 @ J.T @ n)
        friction = -float(n @ J @ model.A22 @ np.linalg.solve(J, n))
        A, B = np.array([[0.0, 1.0], [0.0, -friction]]), np.array([[0.0], [inverse_mass]])
        A, B = delayed(*zero_order_hold(A, B, period), delay)
        size = len(A)
        S = np.eye(size + 2)  # plant, x of the sample before, filtered v of the sample before
        self._position, self._rate = S[0], S[1]
        if velocity_pole is not None:
            a = float(np.exp(-velocity_pole * period))
            self._rate = a * S[size + 1] + (1.0 - a) / period * (S[0] - S[size])
        self._free = np.vstack([A @ S[:size], S[0], self._rate])
        self._drive = np.concatenate([B[:, 0], np.zeros(2)])[:, None]

    def matrix(self, stiffness: float, damping: float) -> np.ndarray:
        """Returns the state matrix for K [N/m] and B [N s/m]."""
        return self._free - self._drive * (stiffness * self._position + damping * self._rate)


@dataclass(frozen=True)
class SpringDamperLimit:
    """Largest stable stiffness [N/m] of the classical wall, and the damping [N s/m] at which it is reached."""

    stiffness: float
    damping: float


def spring_damper_limit(
    device: TauDevice,
    position: ArrayLike,
    *,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    delay: int = 0,
    velocity_pole: float | None = None,
) -> SpringDamperLimit:
    """Returns the largest stable stiffness of the spring-damper wall over all dampings; the tool is released.

    Args:
        device, position, normal: device, contact point (3,) [m] and normal of the wall.
        delay: samples that the force acts late.
        velocity_pole: of the velocity filter; true velocity if not given [rad/s].
    """
    model, period = linearise(device, position), device.parameters.control.sample_time

    loop = SpringDamperLoop(model, normal, period=period, delay=delay, velocity_pole=velocity_pole)

    def largest(damping: float) -> float:
        return _largest(lambda K: spectral_radius(loop.matrix(K, damping)) < 1.0, 1e-3, 1e8)

    dampings = np.geomspace(0.1, 1e4, 60)
    best = int(np.argmax([largest(b) for b in dampings]))
    low, high = dampings[max(best - 1, 0)], dampings[min(best + 1, len(dampings) - 1)]
    found = scipy.optimize.minimize_scalar(
        lambda b: -largest(b), bounds=(low, high), method="bounded", options={"xatol": 1e-3 * low}
    )
    return SpringDamperLimit(-float(found.fun), float(found.x))


def spring_damper_controller(
    device: TauDevice, *, stiffness: float, damping: float, normal: ArrayLike = (0.0, 0.0, 1.0)
) -> WallController:
    """Returns the classical wall as a controller for `simulate_push`: the same spring-damper in all directions.

    In rotation the stiffness is Lc^2 times as large. Gains are designed at the operating points of the device's file
    and interpolated, gravity is exact.
    """
    direction = tuple(float(x) for x in np.asarray(normal, dtype=float))
    points = device.parameters.control.operating_points_per_axis
    options = DesignOptions(normal=direction, points=points)  # type: ignore[arg-type]
    weight = task_weight(device, direction, 1.0)
    rows = []
    for position in product(points, points, points):
        model = linearise(device, position)
        row = np.zeros(laws.row_length(options.mode))
        row[laws.TORQUE] = model.torque
        K = model.jacobian.T @ weight @ model.jacobian
        row[laws.K_THETA], row[laws.K_RATE] = (stiffness * K).ravel(), (damping * K).ravel()
        rows.append(row)
    return WallController(device, options=options, scheme="spring_damper", table=np.array(rows))


def torque_activity(result: PushResult, seconds: float = 0.5) -> float:
    """Returns the standard deviation of the worst torque at the end of a push [N m]; infinite if the tool left."""
    if result.code:
        return float("inf")
    return float(result.torque[result.time >= result.time[-1] - seconds].std(axis=0).max())
