"""Friction between two partners, bodies or the tool: relative velocity, and the force on the tool. No ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: partner of an element that is the device's tool; others are numbers of bodies
TOOL = -1


def relative_velocity(first: int, second: int, tool: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Velocity of the first partner less that of the second (3,) [m/s].

    Args:
        first: number of a body, or TOOL.
        second: likewise.
        tool: velocity of the tool (3,) [m/s].
        bodies: of the bodies (n, 3) [m/s].
    """
    one, other = (tool if partner == TOOL else bodies[partner] for partner in (first, second))
    return one - other


def share_of_tool(partners: Sequence[int]) -> float:
    """Factor of an element's force f that acts on the tool: -1 for the first partner, 1 for the second, else 0."""
    first, second = partners
    return float(second == TOOL) - float(first == TOOL)
