"""How far the force of a sliding element with a spring lags behind the velocity on a curved path."""

from __future__ import annotations

import numpy as np


def steady_lag(radius: np.ndarray, yield_distance: float) -> np.ndarray:
    """Lag [rad] on a circle that goes on: sin(lag) = F/(K R), a right angle below R = F/K.

    Args:
        radius: R [m], any shape; infinite on a straight line.
        yield_distance: F/K [m].
    """
    return np.asarray(np.arcsin(np.minimum(yield_distance / radius, 1.0)))


def path_lag(position: np.ndarray, velocity: np.ndarray, yield_distance: float) -> np.ndarray:
    """Lag [rad] (n,) of a spring's stretch behind the velocity along a path; NaN where the contact does not slide.

    A massless element of model C without damping: the stretch e follows the tip's way, and slides back to |e| = F/K. On
    a path of curvature 1/R its lag d obeys d'(s) = 1/R - sin(d) K/F over the way s, so that after a sharp turn it needs
    a way of some F/K to settle to `steady_lag`.

    Args:
        position: Of the tip (n, 2) [m], starting without stretch.
        velocity: Of the tip (n, 2) [m/s].
        yield_distance: F/K [m], above 0.
    """
    lag, stretch = np.full(len(position), np.nan), np.zeros(2)
    for k, way in enumerate(np.diff(position, axis=0, prepend=position[:1])):
        stretch = stretch + way
        length = float(np.linalg.norm(stretch))
        if length > yield_distance:
            stretch *= yield_distance / length
            speed = float(np.linalg.norm(velocity[k]))
            if speed > 0.0:
                cosine = stretch @ velocity[k] / (yield_distance * speed)
                lag[k] = np.arccos(min(1.0, max(-1.0, float(cosine))))
    return lag
