"""Limit of the joint rates of a commanded motion of the tool."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def limit_rates(rates: np.ndarray, limits: np.ndarray) -> None:
    """Scales joint rates by one factor, so that none exceeds its limit and the tool keeps its direction of motion.

    Args:
        rates: joint rates (n,) [rad/s] or [m/s]; scaled in place, unchanged to the last bit within the limits.
        limits: largest speeds (n,), above 0.
    """
    largest = 0.0
    for i in range(len(rates)):
        largest = max(largest, abs(rates[i]) / limits[i])
    if largest > 1.0:
        for i in range(len(rates)):
            rates[i] = rates[i] / largest if math.isfinite(largest) else 0.0
