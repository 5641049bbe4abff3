"""The walls: planes, their compiled step, the renderer that the node steps. See the README of the package."""

from tau_wall_control.walls.planes import MovingPlanes, Plane, box
from tau_wall_control.walls.renderer import WallRenderer, WallReport
from tau_wall_control.walls.wall_state import WallState

__all__ = ["MovingPlanes", "Plane", "WallRenderer", "WallReport", "WallState", "box"]
