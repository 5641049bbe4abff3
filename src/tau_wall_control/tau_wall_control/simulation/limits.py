"""Limits of stiffness: a lower bound of the penetration with any controller (docs/tau.md, "The limit").

A push of unknown time and height starts with a sample. The first torque that can depend on the push acts 1 + delay
periods later. From then on the bound assumes the best torques for this push, which are limited by the motors only and
need not hold the other directions. On the linear model this is a linear program,

    minimise p,   -n^T x_k <= p for all k,   x_k+1 = A_d x_k + B_d (u_k + J^T F),   u_k = 0 for k <= delay,
    |tau0 + u_k| <= peak,   at rest at the end,

so no controller for this device reaches less than p in that model.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_number
from tau_wall_control.checks import vector, whole_number
from tau_wall_control.control.linearisation import linearise, zero_order_hold
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.simulation.push import stiffest_push

#: largest deviation of a joint from the operating point in the linear model [rad]
FARTHEST = 0.2


def penetration_bound(
    device: TauDevice,
    point: ArrayLike,
    *,
    force: float = 13.0,
    delay: int = 0,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    steps: int = 60,
    friction_helps: bool = True,
) -> float:
    """Returns the lower bound of the penetration for a step of force [m]; infinite where the motors cannot hold it.

    Args:
        device: the device.
        point: contact point (3,) [m].
        force: height of the step [N], against the normal.
        delay: delay of the torques [samples].
        normal: normal of the wall.
        steps: length of the program [samples]; more steps only lower the bound of pushes that take longer to stop.
        friction_helps: true if the smoothed Coulomb friction counts as additional torque of the controller.

    Raises:
        TauError: the point is out of reach or singular, or delay or steps are no whole numbers.

    Examples:
        >>> from tau_wall_control import TauDevice, penetration_bound
        >>> device = TauDevice.default()
        >>> late, early = (penetration_bound(device, (0.0, 0.0, 0.0), delay=delay) for delay in (1, 0))
        >>> 0.0 < early < late
        True
    """
    delay, steps = whole_number("delay", delay, "samples"), whole_number("steps", steps, "samples")
    force = finite_number("force", force, minimum=0.0, error=TauError)
    direction = vector("normal", normal, (3,))
    if steps < 2 or not np.linalg.norm(direction) > 0.0:
        raise TauError(f"steps, normal: expected 2 or more and a direction, got {steps} and {direction.tolist()}")
    m, Ts = linearise(device, point), device.parameters.control.sample_time
    A, B = zero_order_hold(m.A, m.B, Ts)
    n = np.concatenate([direction / np.linalg.norm(direction), np.zeros(3)])
    drive = B @ (m.jacobian.T @ (-force * n))
    states, inputs = 12 * steps, 6 * steps
    sparse = scipy.sparse  # loaded where it is needed, since few who import this package need it
    dynamics = sparse.kron(sparse.eye(steps), np.eye(12)) - sparse.kron(sparse.eye(steps, k=-1), A)
    equal = sparse.hstack([dynamics, sparse.kron(sparse.eye(steps), -B), sparse.csr_matrix((states, 1))])
    depth = sparse.kron(sparse.eye(steps), np.concatenate([-(n @ m.jacobian), np.zeros(6)])[None])
    above = sparse.hstack([depth, sparse.csr_matrix((steps, inputs)), -np.ones((steps, 1))])
    peak = device.peak_torque + (device.parameters.friction.coulomb_actuated if friction_helps else 0.0)
    bounds: list[tuple[float | None, float | None]] = []
    for k in range(steps):
        rest = (0.0, 0.0) if k == steps - 1 else (None, None)
        bounds += [(-FARTHEST, FARTHEST)] * 6 + [rest] * 6
    for k in range(steps):
        bounds += [(0.0, 0.0) if k <= delay else (-peak - t, peak - t) for t in m.torque]
    cost = np.zeros(states + inputs + 1)
    cost[-1] = 1.0
    solution = scipy.optimize.linprog(
        cost,
        A_ub=above.tocsr(),
        b_ub=np.zeros(steps),
        A_eq=equal.tocsr(),
        b_eq=np.tile(drive, steps),
        bounds=[*bounds, (0.0, None)],
        method="highs-ipm",  # in half the time of the simplex method; ends at a vertex as well
    )
    if solution.status == 2:
        return float("inf")
    if solution.status != 0:
        raise TauError(f"the program of the bound at {np.asarray(point).tolist()} was not solved: {solution.message}")
    return float(solution.x[-1])


def ballistic_bound(device: TauDevice, point: ArrayLike, *, force: float = 13.0, delay: int = 0) -> float:
    """Computes an estimate of `penetration_bound` for a wall along z [m]: free flight, then maximal braking.

    p = a t^2/2 + (a t)^2/(2 b), a = F/m, b = (F_max - F)/m, t = (1 + delay) Ts, with F_max the largest force of torques
    that act along z only. The estimate is in continuous time, without the slope of gravity, and close to
    `penetration_bound`.
    """
    m = linearise(device, point)
    inverse_mass = float(m.jacobian[2] @ m.B2 @ m.jacobian[2])
    effect = m.jacobian[2] @ m.B2
    strongest = float(np.abs(effect).sum() * device.peak_torque - effect @ m.torque) / inverse_mass
    if strongest <= force:
        return float("inf")
    t = (1 + delay) * device.parameters.control.sample_time
    return 0.5 * force * inverse_mass * t**2 * (1.0 + force / (strongest - force))


def tap_bound(device: TauDevice, point: ArrayLike, speed: float, *, normal: ArrayLike = (0.0, 0.0, 1.0)) -> float:
    """Returns the smallest penetration of a free tool that hits the wall at a speed [m/s]: m v^2/(2 F_max) [m].

    F_max is the largest force along the normal without effect in the other directions, m the apparent mass.
    """
    n = np.concatenate([np.asarray(normal, dtype=float) / np.linalg.norm(normal), np.zeros(3)])
    mass = 1.0 / float(n @ np.linalg.solve(device.dynamics(point).mass_matrix, n))
    return 0.5 * mass * speed**2 / stiffest_push(device, point, normal)
