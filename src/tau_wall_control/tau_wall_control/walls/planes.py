"""Planes: fixed walls, and moving walls that come with each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_math.quantities import one_line
from tau_wall_control.checks import vector
from tau_wall_control.errors import TauError


@dataclass(frozen=True)
class Plane:
    """An infinite plane.

    Attributes:
        point: point on the plane (3,) [m].
        normal: normal towards the free side (3,); it is normalised.

    Examples:
        >>> from tau_wall_control import Plane
        >>> Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0)).normal
        (0.0, 0.0, 1.0)
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    def __post_init__(self) -> None:
        point, normal = vector("point", self.point, (3,)), vector("normal", self.normal, (3,))
        length = float(np.linalg.norm(normal))
        if length < 1e-9:
            raise TauError(f"normal: expected a direction, got {self.normal}")
        object.__setattr__(self, "point", tuple(float(x) for x in point))
        object.__setattr__(self, "normal", tuple(float(x) for x in normal / length))


class MovingPlanes(NamedTuple):
    """Planes of one sample, at most 32. A plane is identified by its key and keeps its contact while it moves.

    Attributes:
        key: whole numbers that identify the planes (w,).
        point: point on each plane (w, 3) [m].
        normal: unit vectors towards the free side (w, 3).
        velocity: velocity of the surface at that point (w, 3) [m/s]; at rest if not given.
        inverse_mass: inverse mass of the plane's body along the normal (w,) [1/kg]; default: 0, a prescribed motion.
        body: whole numbers of the planes' bodies (w,); default: a body for each plane.
        surface_point: points on the surfaces (w, 3) [m], reported beside the planes; `point` if not given.

    Examples:
        >>> from tau_wall_control import MovingPlanes, TauDevice, WallRenderer, design_wall_controller
        >>> device = TauDevice.default()
        >>> walls = WallRenderer(design_wall_controller(device, scheme="stiff"), None)  # walls come with each step
        >>> planes = MovingPlanes(key=[7], point=[(0.0, 0.0, 2e-4)], normal=[(0.0, 0.0, 1.0)])
        >>> state = walls.step(device.inverse_kinematics((0.0, 0.0, 0.0)), [0.0] * 6, planes)
        >>> (1e3 * state.penetration).round(3).tolist()  # mm
        [0.2]
    """

    key: ArrayLike
    point: ArrayLike
    normal: ArrayLike
    velocity: ArrayLike | None = None
    inverse_mass: ArrayLike | None = None
    body: ArrayLike | None = None
    surface_point: ArrayLike | None = None

    @classmethod
    def at_distances(
        cls,
        position: np.ndarray,
        *,
        key: np.ndarray,
        signed_distance: np.ndarray,
        surface_point: np.ndarray | None = None,
        normal: np.ndarray,
        velocity: np.ndarray,
        inverse_mass: np.ndarray,
        body: np.ndarray,
    ) -> MovingPlanes:
        """Returns the planes near a tool, as a contact query gives them, for the tool's point.

        Each plane has the signed distance of the tool's surface from the tool's point, so only the distances depend on
        the shape of the tool. The other arguments are the attributes of these names.

        Args:
            position: position of the tool's point (3,) [m].
            signed_distance: signed distance of the tool's surface from each surface (w,) [m], negative inside.
        """
        point = np.empty(normal.shape)
        _write_points(position, signed_distance, normal, point)
        return cls(key.astype(np.int64, copy=False), point, normal, velocity, inverse_mass, body, surface_point)


@njit(cache=True, error_model="numpy")
def _write_points(position: np.ndarray, distance: np.ndarray, normal: np.ndarray, point: np.ndarray) -> None:
    """Writes the points (w, 3) at signed distances (w,) before a position (3,) along normals (w, 3) [m]."""
    for i in range(len(distance)):
        for k in range(3):
            point[i, k] = position[k] - distance[i] * normal[i, k]


def box(low: ArrayLike, high: ArrayLike) -> tuple[Plane, ...]:
    """Returns the six walls of a box with the tool inside, from two opposite corners [m].

    Examples:
        >>> from tau_wall_control import box
        >>> len(box((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01)))
        6
    """
    a, b = vector("low", low, (3,)), vector("high", high, (3,))
    if not (a < b).all():
        raise TauError(f"box: expected low below high in every axis, got {a.tolist()} and {b.tolist()}")
    axes = np.eye(3)
    return tuple(Plane(tuple(corner), tuple(sign * axis)) for corner, sign in ((a, 1.0), (b, -1.0)) for axis in axes)


def planes_from_lists(points: ArrayLike, normals: ArrayLike) -> tuple[Plane, ...]:
    """Returns walls of flat lists of points [m] and normals, three numbers a wall.

    Raises:
        TauError: the lists have different lengths, or a normal is zero.
    """
    try:
        p, n = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    except (TypeError, ValueError):
        text = f"got {one_line(points)} and {one_line(normals)}"
        raise TauError(f"wall_points, wall_normals: expected lists of numbers, {text}") from None
    for name, values, others in (("wall_points", p, n), ("wall_normals", n, p)):
        if len(values) == 0 or len(values) % 3:
            raise TauError(f"{name}: expected three numbers a wall, got {len(values)}")
        if len(values) < len(others):
            raise TauError(f"{name}: expected {len(others)} numbers, as many as the other list, got {len(values)}")
    planes = []
    for i, (point, normal) in enumerate(zip(p.reshape(-1, 3).tolist(), n.reshape(-1, 3).tolist(), strict=True), 1):
        try:
            planes.append(Plane(tuple(point), tuple(normal)))
        except TauError as error:
            raise TauError(f"wall_points, wall_normals: wall {i}: {error}") from None
    return tuple(planes)


def rows_of(planes: Sequence[Plane]) -> tuple[np.ndarray, np.ndarray]:
    """Returns points [m] and normals of planes, (w, 3) each."""
    return (
        np.array([plane.point for plane in planes]).reshape(-1, 3),
        np.array([plane.normal for plane in planes]).reshape(-1, 3),
    )
