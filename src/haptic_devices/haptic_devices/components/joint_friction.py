"""Friction of a geared joint: parallel elastoplastic elements with Stribeck effect, and viscous friction.

The friction consists of n equal elements. Element i is a spring that slips when its force reaches its bound

    F_i(v) = g(v)/n,    g(v) = F_c + (F_s - F_c) exp(-(v/v_s)^2),    i = 1 .. n,

and begins to slip, at rest, after a rotation of the joint by s (i/n)^2. So the torque rises smoothly until a
rotation by s, and a reversal follows Masing's rule: presliding hysteresis with memory. The viscous
part D v adds to that (generalised Maxwell slip: Iwan; Lampaert, Swevers, Al-Bender).

The model has no dependence on load, temperature or angle, and no frictional lag.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: parallel elements n: the joints' presliding curve has so many corners
ELEMENTS = 6


@njit(cache=True)
def step(friction: np.ndarray, dt: float, velocity: float, deflection: np.ndarray) -> float:
    """Friction torque [N m] of one joint, along its velocity, after a step.

    Args:
        friction: F_c, F_s [N m], v_s [rad/s], D [N m s/rad], s [rad].
        dt: step [s].
        velocity: of the joint during the step [rad/s].
        deflection: (n,) of the elements' springs [rad]; updated.
    """
    coulomb, static, stribeck_velocity, viscous, displacement = friction
    n = deflection.size
    bound = (coulomb + (static - coulomb) * np.exp(-((velocity / stribeck_velocity) ** 2))) / n
    torque = viscous * velocity
    for i in range(n):
        stiffness = static / n / (displacement * ((i + 1) / n) ** 2)
        share = min(max(stiffness * (deflection[i] + dt * velocity), -bound), bound)
        deflection[i] = share / stiffness
        torque += share
    return torque


@njit(cache=True)
def history(friction: np.ndarray, position: np.ndarray, period: float) -> np.ndarray:
    """Friction torques of recorded true joint positions, for joints that started without deflection.

    Args:
        friction: of `step`.
        position: true positions (k, joints) [rad], one row a period.
        period: [s].

    Returns:
        Mean torque (k, joints) [N m] during the period that ends at each row, the first row zero. The joint
        velocity is taken as constant within a period.
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
