"""Exact results for comparison with simulations: gliding distance, rolling, rest and friction in contact surfaces.

Equations are those of Castro, Han, Masterjohn (Table I) where a number is given, else elementary mechanics.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike


def gliding_time(approximation: str, period: float, relaxation_time: float = 0.0) -> float:
    """Returns t of the gap mu |v_t| t at which a sliding body glides (Table I) [s].

    It is dt + tau_d for SAP, dt for Similar, and 0 for Lagged.

    Args:
        approximation: name.
        period: dt [s].
        relaxation_time: tau_d [s].
    """
    if approximation == "sap":
        return period + relaxation_time
    return period if approximation.startswith("similar") else 0.0


def sliding_time(speed: float, friction: float, gravity: float) -> float:
    """Returns 2 U0/(7 mu g) [s], after which a uniform ball that starts to slide at U0 [m/s] without spin rolls.

    A ball that falls first, and does not rebound, rolls that long after its release: by then the ground has given
    the impulse m g t of its weight, most of it at the impact, and friction mu times that.
    """
    return 2.0 * speed / (7.0 * friction * gravity)


def rolling_speed(speed: float) -> float:
    """Returns 5/7 U0 [m/s], at which that ball then rolls: its angular momentum about the ground is constant."""
    return 5.0 / 7.0 * speed


def pressure_force_of_sphere(modulus: float, radius: float, depth: float) -> float:
    """Returns the force of a compliant sphere on a rigid plane [N]: int p dA of p = E (1 - r/R) over the cut.

    Args:
        modulus: E, the pressure at the centre [Pa].
        radius: R [m].
        depth: of the plane below the undeformed surface [m].
    """
    h = radius - depth
    return 2.0 * math.pi * modulus * ((radius**2 - h**2) / 2.0 - (radius**3 - h**3) / (3.0 * radius))


def pressure_force_of_box(gradient: float, a: float, b: float, depth: float) -> float:
    """Returns the force of a compliant box on a rigid plane along a face [N]: int p dA of p = g min(depth, d_rim).

    Args:
        gradient: g of the pressure [Pa/m].
        a: half side of the face [m].
        b: the other half side [m].
        depth: of the plane below the undeformed surface [m]; d_rim is a point's distance from the face's rim.
    """
    return gradient * (4.0 * a * b * depth - 2.0 * (a + b) * depth**2 + 4.0 / 3.0 * depth**3)


def depth_of_sphere(modulus: float, radius: float, load: float) -> float:
    """Returns the depth [m] at which :func:`pressure_force_of_sphere` is a load [N]."""
    return float(
        scipy.optimize.brentq(lambda depth: pressure_force_of_sphere(modulus, radius, depth) - load, 0.0, radius)
    )


def depth_of_box(gradient: float, half_sides: ArrayLike, load: float) -> float:
    """Returns the depth [m] at which :func:`pressure_force_of_box` is a load [N]; the box has three half sides [m]."""
    half = np.asarray(half_sides, dtype=float)
    a, b, most = float(half[0]), float(half[1]), 0.5 * float(half.min())
    return float(scipy.optimize.brentq(lambda depth: pressure_force_of_box(gradient, a, b, depth) - load, 0.0, most))


def facet_depth(resolution: float, radius: float) -> float:
    """Returns l^2/(6 R) [m], the largest depth of flat faces of size l [m] below a sphere of radius R [m]."""
    return resolution**2 / (6.0 * radius)


def sliding_deceleration(friction: float, gravity: float) -> float:
    """Returns mu g of a body that slides on a level plane [m/s^2]."""
    return friction * gravity


def spinning_deceleration(friction: float, gravity: float, radius: float) -> float:
    """Returns 4 mu g/(3 R) of a uniform disk that spins on its face [rad/s^2]: (2/3) mu m g R over m R^2/2."""
    return 4.0 * friction * gravity / (3.0 * radius)


def pressure_gap_of_sphere(distance: np.ndarray, radius: float, depth: float) -> np.ndarray:
    """Returns the gap p/g of :func:`pressure_force_of_sphere` along the plane [m], (1 - r/R) r R/h; h = R - depth.

    Args:
        distance: from the middle of the contact surface [m], any shape.
        radius: R [m].
        depth: of the plane below the undeformed surface [m].
    """
    h = radius - depth
    r = np.hypot(distance, h)
    return np.asarray((radius - r) * r / h)
