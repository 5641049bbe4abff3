"""Drawing of the device and its walls: simple shapes in the base frame on a canvas of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tau_wall_control.device.rotations import quaternion_from_rotation
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.walls.planes import Plane
from tau_wall_control.walls.wall_state import WallState

#: red, green, blue, opacity
Color = tuple[float, float, float, float]

LINK: Color = (0.12, 0.47, 0.71, 1.0)
PLATFORM: Color = (0.17, 0.63, 0.17, 1.0)
COLUMN: Color = (0.5, 0.5, 0.5, 1.0)
WALL: Color = (0.6, 0.6, 0.6, 0.35)
TOUCHED: Color = (0.95, 0.6, 0.1, 0.5)
FORCE: Color = (0.85, 0.2, 0.1, 1.0)
HIDDEN: Color = (0.0, 0.0, 0.0, 0.0)

#: drawn length of one newton [m/N]; edge and thickness of a wall, edge of a tangent plane [m]
_PER_NEWTON, _EDGE, _THICKNESS, _TANGENT_EDGE = 2e-3, 0.08, 5e-4, 0.01


class Canvas(Protocol):
    """Surface that takes shapes by name; a new shape replaces the old one of its name. Lengths in metres."""

    def box(
        self, name: str, position: np.ndarray, orientation: np.ndarray, size: Sequence[float], color: Color
    ) -> None:
        """Draws a box centred at `position`; `orientation` is a quaternion x, y, z, w."""

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        """Draws a sphere."""

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        """Draws a line through points (n, 3)."""

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        """Draws an arrow."""


def draw(
    canvas: Canvas, device: TauDevice, planes: Sequence[Plane], state: WallState, *, tangent: bool = False
) -> None:
    """Draws column, chains, platform and walls, and at each wall the contact point and the force on the tool.

    Args:
        canvas: the canvas.
        device: the device.
        planes, state: the walls and their rendered state.
        tangent: true if the planes are tangent to surfaces at their points; they are drawn small, with the contact
            at the point.
    """
    points = device.points(state.position, state.rotation)
    for i, chain in enumerate(points, 1):
        canvas.line(f"chain {i}", chain, 0.004, LINK)
        canvas.sphere(f"elbow {i}", chain[1], 0.004, LINK)
    canvas.line("column", points[[0, 2, 1, 0], 0], 0.006, COLUMN)
    canvas.line("platform", points[[0, 2, 1, 0], 2], 0.004, PLATFORM)
    canvas.sphere("tool", state.position, 0.003, PLATFORM)
    for i, plane in enumerate(planes, 1):
        _draw_wall(canvas, str(i), plane, state, i - 1, tangent)
    canvas.arrow(
        "friction",
        state.position,
        state.position + _PER_NEWTON * state.friction,
        0.002,
        FORCE if state.friction.any() else HIDDEN,
    )


def draw_plate(canvas: Canvas, name: str, plane: Plane, *, touched: bool, tangent: bool = False) -> None:
    """Draws a wall as a plate behind the plane, centred at the plane's point.

    Args:
        canvas: the canvas.
        name: name of the wall.
        plane: the wall.
        touched: true if the tool is in contact with the wall.
        tangent: true if the plane is tangent to a surface at its point; it is drawn small.
    """
    normal = np.array(plane.normal)
    centre = np.array(plane.point) - 0.5 * _THICKNESS * normal
    orientation = quaternion_from_rotation(_frame(normal))
    edge = _TANGENT_EDGE if tangent else _EDGE
    canvas.box(f"wall {name}", centre, orientation, (edge, edge, _THICKNESS), TOUCHED if touched else WALL)


def _draw_wall(canvas: Canvas, name: str, plane: Plane, state: WallState, i: int, tangent: bool) -> None:
    """Draws a wall, the contact point and the force on the tool."""
    normal, touched = np.array(plane.normal), bool(state.in_contact[i])
    draw_plate(canvas, name, plane, touched=touched, tangent=tangent)
    contact = np.array(plane.point) if tangent else state.position + float(state.penetration[i]) * normal
    canvas.sphere(f"contact {name}", contact, 0.002, FORCE if touched else HIDDEN)
    tip = contact + _PER_NEWTON * float(state.push[i]) * normal
    canvas.arrow(f"force {name}", contact, tip, 0.002, FORCE if state.push[i] > 0.0 else HIDDEN)


def _frame(normal: np.ndarray) -> np.ndarray:
    """Returns a rotation whose third axis is a unit vector; the other axes are near the world's axes."""
    axis = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = axis - (axis @ normal) * normal
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(normal, first), normal])
