"""The walls: planes, their compiled step, the renderer that the node steps. See the README of the package."""

from tau_wall_control.walls.walls import MovingPlanes, Plane, WallRenderer, WallState, box

__all__ = ["MovingPlanes", "Plane", "WallRenderer", "WallState", "box"]
