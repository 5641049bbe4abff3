"""Drawings of mechanisms: simple shapes in the spatial frame.

A mechanism draws itself on a `Canvas` (`Mechanism.draw`). A node makes markers of the shapes, a notebook a plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

#: red, green, blue, opacity
Color = tuple[float, float, float, float]

#: body that the user holds, constraint that it is subject to, path of the body
MOVING: Color = (0.12, 0.47, 0.71, 0.9)
FIXED: Color = (0.6, 0.6, 0.6, 0.35)
TRACK: Color = (0.85, 0.33, 0.1, 1.0)


class Canvas(Protocol):
    """Surface that draws shapes by name; a shape replaces an earlier one of the same name.

    Positions [m] and quaternions (x, y, z, w) are in the frame of the mechanism.
    """

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: Color
    ) -> None:
        """Draws a cylinder about its z axis, centred at the position; radius and length [m]."""

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        """Draws a sphere; radius [m]."""

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        """Draws a line through points (n, 3); width [m]."""

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        """Draws an arrow; width [m]."""

    def trail(self, name: str, point: np.ndarray, width: float, color: Color) -> None:
        """Draws a line through this point and the earlier ones of the same name; width [m]."""


def circle(center: np.ndarray, radius: float, corners: int = 64) -> np.ndarray:
    """Gives points of a closed circle in a plane x3 = constant, shape (corners + 1, 3) [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    return center + radius * np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
