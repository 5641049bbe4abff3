"""Angle by which the force of a sliding element with a spring lags behind the velocity on a curved path."""

from __future__ import annotations

import numpy as np


def steady_lag(radius: np.ndarray, yield_distance: float) -> np.ndarray:
    """Computes the steady lag [rad] on a circle: sin(lag) = F/(K R), a right angle for R below F/K.

    Args:
        radius: R [m], any shape; infinite on a straight line.
        yield_distance: F/K [m].
    """
    return np.asarray(np.arcsin(np.minimum(yield_distance / radius, 1.0)))


def path_lag(position: np.ndarray, velocity: np.ndarray, yield_distance: float) -> np.ndarray:
    """Computes the lag [rad] of a spring's elongation behind the velocity; NaN where the contact does not slide.

    The element is a massless model C without damping: the elongation e grows with the displacement of the tip, and is
    limited to |e| = F/K. On a path of curvature 1/R the lag d obeys d'(s) = 1/R - sin(d) K/F over the arc length s. So
    after a sharp bend of the path it settles to `steady_lag` within a few F/K.

    Args:
        position: positions of the tip [m], shape (n, 2); the spring starts relaxed.
        velocity: velocities of the tip [m/s], shape (n, 2).
        yield_distance: F/K [m], above 0.

    Returns:
        Lag [rad], shape (n,).
    """
    lag, elongation = np.full(len(position), np.nan), np.zeros(2)
    for k, displacement in enumerate(np.diff(position, axis=0, prepend=position[:1])):
        elongation = elongation + displacement
        length = float(np.linalg.norm(elongation))
        if length > yield_distance:
            elongation *= yield_distance / length
            speed = float(np.linalg.norm(velocity[k]))
            if speed > 0.0:
                cosine = elongation @ velocity[k] / (yield_distance * speed)
                lag[k] = np.arccos(min(1.0, max(-1.0, float(cosine))))
    return lag


def radius_of_curvature(velocity: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Computes the radius of a path, |v|^3/|v x a|, by differences of the velocity; infinite where it is straight.

    Args:
        velocity: velocities without noise [m/s], shape (n, 2).
        time: times [s], shape (n,).

    Returns:
        Radius [m], shape (n,).
    """
    acceleration = np.gradient(velocity, time, axis=0)
    speed = np.linalg.norm(velocity, axis=1)
    turning = np.abs(velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0])
    return np.divide(speed**3, turning, out=np.full_like(speed, np.inf), where=turning > 0.0)
