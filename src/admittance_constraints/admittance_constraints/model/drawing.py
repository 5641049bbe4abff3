"""What a mechanism looks like: simple shapes in its spatial frame, for whoever can draw them.

A mechanism draws itself on a `Canvas` (`Mechanism.draw`); a node turns that into markers, a notebook into a plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

#: red, green, blue, opacity
Color = tuple[float, float, float, float]

#: what the user holds, what it is tied to, where it has been
MOVING: Color = (0.12, 0.47, 0.71, 0.9)
FIXED: Color = (0.6, 0.6, 0.6, 0.35)
TRACK: Color = (0.85, 0.33, 0.1, 1.0)


class Canvas(Protocol):
    """Takes shapes by name; a shape of a name that was drawn before replaces it.

    Positions [m] and quaternions (x, y, z, w) are in the frame of the mechanism.
    """

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: Color
    ) -> None:
        """A cylinder about its z axis, centred."""

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        """A sphere."""

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        """A line through points (n, 3)."""

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        """An arrow."""

    def trail(self, name: str, point: np.ndarray, width: float, color: Color) -> None:
        """A line through this point and those of the same name before it."""


def circle(center: np.ndarray, radius: float, corners: int = 64) -> np.ndarray:
    """Closed circle in a plane x3 = constant, shape (corners + 1, 3)."""
    angle = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    return center + radius * np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
