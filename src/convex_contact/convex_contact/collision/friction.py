"""Anisotropic friction of grooved surfaces, and static friction: a coefficient that falls with the slip speed.

**Grooves.** A surface with the unit direction u of its grooves in the tangent plane has the tensor
M = mu_along u u^T + mu_across (I - u u^T). Two surfaces combine as 2 A (A + B)^-1 B, for isotropic surfaces the
harmonic mean of their coefficients. A surface whose grooves are along the normal has mu_along in all directions.

**Static friction** of surfaces without grooves: mu(v) = mu + (mu_rest - mu) exp(-(v/v_s)^2) at the slip speed v at the
start of the step. The lagged approximations treat the normal force in the same manner. So the step's problem remains
convex, and friction never adds energy.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.arrays import (
    LAW_DIRECTIONAL,
    LAW_FRICTION,
    LAW_REST,
    LAW_STRIBECK,
    ContactRecord,
    WorldRecord,
)

#: directions whose projection on the tangent plane is shorter count as normal to it [-]
_ALONG_NORMAL = 1e-9


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def adjust_friction(w: WorldRecord, c: ContactRecord, k: int, one: int, two: int) -> None:
    """Writes friction coefficient and tensor of contact k between two classes of geometries."""
    law, tensor = w.law, c.friction_tensor
    if law[one, two, LAW_DIRECTIONAL] != 0.0:
        a11, a12, a22 = surface_tensor(w, c, k, 0, one)
        b11, b12, b22 = surface_tensor(w, c, k, 1, two)
        tensor[k, 0], tensor[k, 1], tensor[k, 2] = combined_tensor(a11, a12, a22, b11, b12, b22)
        c.friction[k] = 1.0
        if tensor[k, 0] + tensor[k, 2] == 0.0:  # no friction in any direction
            c.friction[k], tensor[k, 0], tensor[k, 2] = 0.0, 1.0, 1.0
        return
    sliding, rest = law[one, two, LAW_FRICTION], law[one, two, LAW_REST]
    speed = slip_speed(w, c, k) / law[one, two, LAW_STRIBECK]
    c.friction[k] = sliding + (rest - sliding) * np.exp(-speed * speed)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def surface_tensor(w: WorldRecord, c: ContactRecord, k: int, side: int, kind: int) -> tuple[float, float, float]:
    """Returns M11, M12, M22 of one surface of contact k along its t1, t2."""
    body, pose, frame, numbers = c.body[k, side], w.body_pose, c.frame, w.class_friction
    u1, u2 = 0.0, 0.0
    for i in range(3):
        along = 0.0
        for j in range(3):
            along += pose[body, 3 * i + j] * numbers[kind, j]
        u1 += frame[k, 0, i] * along
        u2 += frame[k, 1, i] * along
    length = np.sqrt(u1 * u1 + u2 * u2)
    mu, across = numbers[kind, 3], numbers[kind, 4]
    if length < _ALONG_NORMAL:
        return mu, 0.0, mu
    u1, u2 = u1 / length, u2 / length
    more = mu - across
    return across + more * u1 * u1, more * u1 * u2, across + more * u2 * u2


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def combined_tensor(
    a11: float, a12: float, a22: float, b11: float, b12: float, b22: float
) -> tuple[float, float, float]:
    """Returns the entries 11, 12, 22 of 2 A (A + B)^-1 B, which is symmetric."""
    s11, s12, s22 = a11 + b11, a12 + b12, a22 + b22
    determinant, trace = s11 * s22 - s12 * s12, s11 + s22
    if determinant <= 1e-14 * trace * trace:  # both are frictionless in the same direction
        fraction = 2.0 * (a11 + a22) * (b11 + b22) / (trace * trace) if trace > 0.0 else 0.0
        return fraction * s11, fraction * s12, fraction * s22
    # A (A + B)^-1 B = A - A (A + B)^-1 A
    c11, c12, c22 = s22 / determinant, -s12 / determinant, s11 / determinant
    p11, p12 = a11 * c11 + a12 * c12, a11 * c12 + a12 * c22
    p21, p22 = a12 * c11 + a22 * c12, a12 * c12 + a22 * c22
    return (
        2.0 * (a11 - p11 * a11 - p12 * a12),
        2.0 * (a12 - p11 * a12 - p12 * a22),
        2.0 * (a22 - p21 * a12 - p22 * a22),
    )


def friction_of_problem(coefficient: np.ndarray, tensor: np.ndarray) -> dict[str, np.ndarray]:
    """Returns coefficients (n,) and tensors (n, 2, 2) as arguments of `ContactProblem`."""
    plain = (tensor == np.eye(2)).all(axis=(1, 2))
    if plain.all():
        return {"friction": coefficient}
    if plain.any():
        return {"friction": coefficient, "friction_tensor": tensor}
    return {"friction": coefficient[:, None, None] * tensor}


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def slip_speed(w: WorldRecord, c: ContactRecord, k: int) -> float:
    """Returns the slip speed at contact k at the start of the step [m/s]."""
    twists, poses, frame, points = w.body_twist, w.body_pose, c.frame, c.point
    v1, v2 = 0.0, 0.0
    for side in range(2):
        b, sign = c.body[k, side], 2.0 * side - 1.0
        x, y, z = points[k, 0] - poses[b, 9], points[k, 1] - poses[b, 10], points[k, 2] - poses[b, 11]
        vx = sign * (twists[b, 0] + twists[b, 4] * z - twists[b, 5] * y)
        vy = sign * (twists[b, 1] + twists[b, 5] * x - twists[b, 3] * z)
        vz = sign * (twists[b, 2] + twists[b, 3] * y - twists[b, 4] * x)
        v1 += frame[k, 0, 0] * vx + frame[k, 0, 1] * vy + frame[k, 0, 2] * vz
        v2 += frame[k, 1, 0] * vx + frame[k, 1, 1] * vy + frame[k, 1, 2] * vz
    return float(np.sqrt(v1 * v1 + v2 * v2))
