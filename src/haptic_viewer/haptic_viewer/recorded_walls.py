"""Markers for the walls of a recorded run: plates at the planes of a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import MarkerArray

from haptic_core.errors import InputError
from haptic_core.markers import MarkerCanvas
from haptic_msgs.msg import WallState
from tau_wall_control.walls.drawing import draw_plate
from tau_wall_control.walls.factory import takes_planes
from tau_wall_control.walls.planes import planes_from_lists


class RecordedWalls:
    """Walls of a node.

    Args:
        base_frame: base frame of the device.
        node: name of the node.
        parameters: parameters of the node; they determine whether its walls are tangent planes of surfaces.
    """

    def __init__(self, base_frame: str, node: str, parameters: Mapping[str, Any]) -> None:
        self._base_frame, self._node = base_frame, node
        self._tangent = takes_planes(parameters)

    def markers(self, message: WallState) -> MarkerArray:
        """Returns a plate for each wall.

        Raises:
            InputError: the arrays of the message differ in length.
            TauError: a normal is zero.
        """
        canvas, touched = MarkerCanvas(self._base_frame, self._node), list(message.in_contact)
        points, normals = np.asarray(message.point), np.asarray(message.normal)
        if not len(points) == len(normals) == 3 * len(touched):
            raise InputError(
                "malformed",
                f"walls: expected {3 * len(touched)} numbers of points and of normals, got {len(points)} "
                f"and {len(normals)}",
            )
        planes = planes_from_lists(points, normals) if touched else ()
        for number, (plane, touches) in enumerate(zip(planes, touched, strict=True), 1):
            draw_plate(canvas, str(number), plane, touched=bool(touches), tangent=self._tangent)
        return canvas.message(Time())
