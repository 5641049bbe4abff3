"""Friction between two partners, bodies or the tool: relative velocity, and the force on the tool. No ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haptic_files.moved_modules import renamed

#: number of a partner that is the device's tool; other numbers are those of bodies
TOOL = -1


def relative_velocity(first: int, second: int, tool: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Computes the velocity of the first partner minus that of the second [m/s], shape (3,).

    Args:
        first, second: numbers of the partners' bodies, or TOOL.
        tool: velocity of the tool [m/s], shape (3,).
        bodies: velocities of the bodies [m/s], shape (n, 3).
    """
    one, other = (tool if partner == TOOL else bodies[partner] for partner in (first, second))
    return one - other


def tool_force_factor(partners: Sequence[int]) -> float:
    """Returns the factor of an element's force on the tool: -1 if it is the first partner, 1 if the second, else 0."""
    first, second = partners
    return float(second == TOOL) - float(first == TOOL)


__getattr__ = renamed(__name__, {"share_of_tool": "tool_force_factor"})
