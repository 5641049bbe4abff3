"""Shapes as visualization_msgs markers, in the device's base frame, so that RViz needs no tf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core.messages import set_pose
from haptic_math.quantities import quaternion_length

#: largest number of points of a trail, and smallest distance between two of them along one axis [m]
_TRAIL_POINTS, _TRAIL_STEP = 3000, 5e-4

_Color = tuple[float, float, float, float]


class MarkerCanvas:
    """Draws shapes into one MarkerArray; a shape of a name that was drawn before replaces it.

    Args:
        frame_id: frame of the markers.
        namespace: namespace of the markers, the node's name.
        position: of the drawing's own frame in `frame_id` [m], shape (3,).
        orientation: of the drawing's own frame, quaternion (x, y, z, w), which is normalised; ValueError for zero.

    Positions (3,) [m] and quaternions (x, y, z, w) of the methods are in the drawing's own frame.
    """

    def __init__(
        self, frame_id: str, namespace: str, position: Any = (0.0, 0.0, 0.0), orientation: Any = (0.0, 0.0, 0.0, 1.0)
    ) -> None:
        self._frame_id, self._namespace = frame_id, namespace
        rotation = np.asarray(orientation, dtype=float)
        length = quaternion_length("orientation", rotation)
        self._origin = np.concatenate([np.asarray(position, dtype=float), rotation / length])
        self._markers: dict[str, Marker] = {}
        self._trails: dict[str, list[Point]] = {}

    def message(self, stamp: Time) -> MarkerArray:
        """Returns all shapes, with one stamp."""
        for marker in self._markers.values():
            marker.header.stamp = stamp
        return MarkerArray(markers=list(self._markers.values()))

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: _Color
    ) -> None:
        """Draws a cylinder about its z axis, centred at the position; radius and length [m]."""
        marker = self._marker(name, Marker.CYLINDER, color, (2 * radius, 2 * radius, length))
        set_pose(marker.pose, _chained(self._origin, np.concatenate([position, orientation])))

    def box(
        self, name: str, position: np.ndarray, orientation: np.ndarray, size: Sequence[float], color: _Color
    ) -> None:
        """Draws a box with edges `size` (3,) [m], centred at the position."""
        marker = self._marker(name, Marker.CUBE, color, tuple(size))
        set_pose(marker.pose, _chained(self._origin, np.concatenate([position, orientation])))

    def sphere(self, name: str, position: np.ndarray, radius: float, color: _Color) -> None:
        """Draws a sphere; radius [m]."""
        marker = self._marker(name, Marker.SPHERE, color, (2 * radius,) * 3)
        set_pose(marker.pose, _chained(self._origin, np.concatenate([position, [0.0, 0.0, 0.0, 1.0]])))

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: _Color) -> None:
        """Draws a line of a width [m] through points (n, 3) [m]."""
        self._points(name, Marker.LINE_STRIP, color, (width, 0.0, 0.0), [_point(p) for p in points])

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: _Color) -> None:
        """Draws an arrow whose shaft has a width [m]."""
        self._points(name, Marker.ARROW, color, (width, 2 * width, 0.0), [_point(start), _point(end)])

    def loads(self, points: np.ndarray, arrows: np.ndarray, width: float, colors: tuple[_Color, _Color]) -> None:
        """Draws contact points (n, 3) in one marker, and forces as lines (n, 3) of a width [m] from them in another.

        RViz has no list of arrows. `colors` has the colour of the points and that of the lines.
        """
        ends = [_point(p) for pair in zip(points, points + arrows, strict=True) for p in pair]
        for name, kind, size, color, points_of_marker in (
            ("contacts", Marker.SPHERE_LIST, 3.0 * width, colors[0], ends[::2]),
            ("contact forces", Marker.LINE_LIST, width, colors[1], ends),
        ):
            shown = color if points_of_marker else (*color[:3], 0.0)  # RViz refuses a list without points
            self._points(name, kind, shown, (size,) * 3, points_of_marker or [Point(), Point()])

    def mesh(
        self, name: str, position: np.ndarray, orientation: np.ndarray, vertices: np.ndarray, triangles: np.ndarray,
        color: _Color,
    ) -> None:  # fmt: skip
        """Draws triangles (m, 3), counterclockwise seen from outside, of vertices (n, 3) [m] in the pose's frame."""
        marker = self._marker(name, Marker.TRIANGLE_LIST, color, (1.0, 1.0, 1.0))
        set_pose(marker.pose, _chained(self._origin, np.concatenate([position, orientation])))
        used, corners = np.unique(triangles, return_inverse=True)
        points = [Point(x=x, y=y, z=z) for x, y, z in vertices[used].tolist()]  # triangles share them: a Point is slow
        marker.points = [points[i] for i in corners.ravel().tolist()]

    def trail(self, name: str, point: np.ndarray, width: float, color: _Color) -> None:
        """Extends the line of this name to a point (3,) [m]."""
        trail = self._trails.setdefault(name, [])
        new = _point(point)
        if not trail or max(abs(new.x - trail[-1].x), abs(new.y - trail[-1].y), abs(new.z - trail[-1].z)) > _TRAIL_STEP:
            trail.append(new)
            del trail[:-_TRAIL_POINTS]
        self._points(name, Marker.LINE_STRIP, color, (width, 0.0, 0.0), trail)

    def _points(self, name: str, kind: int, color: _Color, scale: tuple[float, ...], points: list[Point]) -> None:
        marker = self._marker(name, kind, color, scale)
        set_pose(marker.pose, self._origin)
        marker.points = points

    def _marker(self, name: str, kind: int, color: _Color, scale: tuple[float, ...]) -> Marker:
        marker = self._markers.get(name)
        if marker is None:
            marker = Marker(ns=f"{self._namespace}/{name}", id=0, action=Marker.ADD)
            marker.header.frame_id = self._frame_id
            self._markers[name] = marker
        if marker.type != kind:
            marker.type, marker.points = kind, []
        marker.scale.x, marker.scale.y, marker.scale.z = (float(value) for value in scale)
        r, g, b, a = color
        marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
        return marker


def _point(p: np.ndarray) -> Point:
    x, y, z = (float(value) for value in p)
    return Point(x=x, y=y, z=z)


def _chained(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Composes two poses (7,): `inner` is given in the frame of `outer`."""
    a, b, c, ux, uy, uz, w = outer.tolist()  # plain numbers: NumPy takes ten times as long for vectors of three
    px, py, pz, vx, vy, vz, s = inner.tolist()
    tx, ty, tz = uy * pz - uz * py + w * px, uz * px - ux * pz + w * py, ux * py - uy * px + w * pz
    return np.array(
        [
            a + px + 2.0 * (uy * tz - uz * ty),
            b + py + 2.0 * (uz * tx - ux * tz),
            c + pz + 2.0 * (ux * ty - uy * tx),
            w * vx + s * ux + uy * vz - uz * vy,
            w * vy + s * uy + uz * vx - ux * vz,
            w * vz + s * uz + ux * vy - uy * vx,
            w * s - ux * vx - uy * vy - uz * vz,
        ]
    )
