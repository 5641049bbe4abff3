"""Friction of a geared joint: parallel elastoplastic elements with Stribeck effect, and viscous friction.

The friction consists of n equal elements. Element i is a spring that slips when its force reaches its bound

    F_i(v) = g(v)/n,    g(v) = F_c + (F_s - F_c) exp(-(v/v_s)^2),    i = 1 .. n,

and begins to slip, from rest, after a rotation of the joint by s (i/n)^2. So the torque rises smoothly until a
rotation by s, and a reversal follows Masing's rule: presliding hysteresis with memory. The viscous
friction D v is added (generalised Maxwell slip: Iwan; Lampaert, Swevers, Al-Bender).

The model has no dependence on load, temperature or angle, and no frictional lag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

#: number n of parallel elements, and of corners of the presliding curve
ELEMENTS = 6


class JointFriction(NamedTuple):
    """Constants of the friction of one joint.

    Attributes:
        coulomb: F_c [N m].
        static: F_s [N m].
        stribeck_velocity: v_s [rad/s].
        viscous: D [N m s/rad].
        displacement: s [rad].
    """

    coulomb: float
    static: float
    stribeck_velocity: float
    viscous: float
    displacement: float


@njit(cache=True)
def step(friction: JointFriction, dt: float, velocity: float, deflection: np.ndarray) -> float:
    """Computes the friction torque [N m] of one joint after a step, positive along the velocity.

    Args:
        friction: constants of the joint.
        dt: length of the step [s].
        velocity: velocity of the joint during the step [rad/s].
        deflection: (n,) deflections of the elements' springs [rad]; updated.
    """
    coulomb, static, stribeck_velocity, viscous, displacement = friction
    n = deflection.size
    bound = (coulomb + (static - coulomb) * np.exp(-((velocity / stribeck_velocity) ** 2))) / n
    torque = viscous * velocity
    for i in range(n):
        stiffness = static / n / (displacement * ((i + 1) / n) ** 2)
        element_torque = min(max(stiffness * (deflection[i] + dt * velocity), -bound), bound)
        deflection[i] = element_torque / stiffness
        torque += element_torque
    return torque


@njit(cache=True)
def history(friction: JointFriction, position: np.ndarray, period: float) -> np.ndarray:
    """Computes friction torques from recorded true joint positions, for joints that started without deflection.

    Args:
        friction: constants of each joint.
        position: true positions (k, joints) [rad], one row a period.
        period: control period [s].

    Returns:
        Mean torque (k, joints) [N m] during the period that ends at each row, the first row zero. The joint
        velocity is constant within a period.
    """
    steps = 10
    torque = np.zeros(position.shape)
    for joint in range(position.shape[1]):
        deflection = np.zeros(ELEMENTS)
        for k in range(1, position.shape[0]):
            velocity = (position[k, joint] - position[k - 1, joint]) / period
            for _ in range(steps):
                torque[k, joint] += step(friction, period / steps, velocity, deflection) / steps
    return torque
