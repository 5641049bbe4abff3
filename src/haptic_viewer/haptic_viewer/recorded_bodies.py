"""Markers for the bodies of a recorded world: the simple shapes of the scene at the poses of a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import MarkerArray

from convex_contact.view.drawing import FIXED, GROUND, PALETTE
from haptic_core.errors import InputError
from haptic_core.markers import MarkerCanvas
from haptic_math.rotations import matrix_from_quaternion
from haptic_msgs.msg import BodyStates, Scene

#: edge of the plate of a half space over the largest extent of all bodies, and its thickness over the edge
_PLATE, _THICKNESS = 1.5, 0.01


class RecordedBodies:
    """Bodies of a node's world.

    Args:
        scene: names, shapes and masses of the bodies.
        base_frame: base frame of the device.
        node: name of the node.
        parameters: parameters of the node, with the pose of its world in the base frame and its scale.

    Raises:
        InputError: the arrays of the scene differ in length.
    """

    def __init__(self, scene: Scene, base_frame: str, node: str, parameters: Mapping[str, Any]) -> None:
        names, shapes, masses = list(scene.name), list(scene.shape), list(scene.mass)
        self._sizes = np.array(scene.size, dtype=float).reshape(-1, 3)
        counts = (len(shapes), len(masses), len(self._sizes))
        if counts != (len(names),) * 3:
            raise InputError("malformed", f"scene: expected {len(names)} shapes, masses and sizes, got {counts}")
        self._names, self._shapes = names, shapes
        moving = [number for number, mass in enumerate(masses) if mass > 0.0]
        self._colors = {number: PALETTE[index % len(PALETTE)] for index, number in enumerate(moving)}
        self._scale = float(parameters.get("scale", 1.0))
        position = parameters.get("frame_position", (0.0, 0.0, 0.0))
        orientation = parameters.get("frame_orientation", (0.0, 0.0, 0.0, 1.0))
        self._canvas = MarkerCanvas(base_frame, node, position, orientation)
        self._middle: np.ndarray | None = None

    def markers(self, message: BodyStates) -> MarkerArray:
        """Returns the shapes at the poses of a message; raises InputError unless it has one pose for each body."""
        position = np.asarray(message.position, dtype=float).reshape(-1, 3)
        orientation = np.asarray(message.orientation, dtype=float).reshape(-1, 4)
        if not len(position) == len(orientation) == len(self._names):
            raise InputError("malformed", f"bodies: expected {len(self._names)} poses, got {len(position)}")
        if self._middle is None:
            solid = [number for number, shape in enumerate(self._shapes) if shape != Scene.SHAPE_HALF_SPACE]
            reach = position[solid] if solid else np.zeros((1, 3))
            self._middle = reach.mean(axis=0)
            self._extent = float(np.ptp(reach, axis=0).max() + self._sizes.max(initial=0.05))
        for number in range(len(self._names)):
            self._draw(number, position[number], orientation[number])
        return self._canvas.message(Time())

    def _draw(self, number: int, position: np.ndarray, orientation: np.ndarray) -> None:
        canvas, name, shape, s = self._canvas, self._names[number], self._shapes[number], 1.0 / self._scale
        color, size = self._colors.get(number, FIXED), s * self._sizes[number]
        at = s * position
        if shape == Scene.SHAPE_SPHERE:
            canvas.sphere(name, at, size[0], color)
        elif shape == Scene.SHAPE_BOX:
            canvas.box(name, at, orientation, tuple(size), color)
        elif shape in (Scene.SHAPE_CYLINDER, Scene.SHAPE_CAPSULE):
            canvas.cylinder(name, at, orientation, size[0], size[1], color)
            axis = matrix_from_quaternion(orientation)[:, 2]
            for end in (-0.5, 0.5) if shape == Scene.SHAPE_CAPSULE else ():
                canvas.sphere(f"{name} end {end:+g}", at + end * size[1] * axis, size[0], color)
        elif shape == Scene.SHAPE_HALF_SPACE and self._middle is not None:
            normal = matrix_from_quaternion(orientation)[:, 2]
            nearest = self._middle - ((self._middle - position) @ normal) * normal
            edge = _PLATE * self._extent
            below = nearest - 0.5 * _THICKNESS * edge * normal
            canvas.box(name, s * below, orientation, (s * edge, s * edge, s * _THICKNESS * edge), GROUND)
