"""Meshes of gears for hydroelastic contact, made from the numbers that name a gear.

Every gear is made of its teeth alone, each a prism or a helical bar that reaches into the wheel's body: what lies
deeper touches nothing. The outline of a tooth is given by two flanks from the root to the tip; stations carry it along
the tooth. Compliant teeth have a pressure that is zero on the outline and at both ends and grows as E d/H inwards.
Here d is the distance from the outline and H half the tooth's thickness at the pitch line: a flank has the
foundation stiffness E/H per area.

* :class:`SpurGear`: involute teeth, straight or helical. Half the angle of a tooth at radius r is

      psi(r) = (pi/2 + 2 x tan a)/z - j/(2 r_p) + inv a - inv a_r,    cos a_r = r_b/r,  inv a = tan a - a,

  z teeth of module m and pressure angle a, profile shift x, backlash j, r_p = m z/2, r_b = r_p cos a. Below the base
  circle r_b the flank is radial. Two such gears turn at the ratio of their teeth at any phase.
* :class:`Worm`: a rack of the same module and pressure angle wound round a shaft (an Archimedean worm, ZA): its section
  with any plane through the axis is the rack with straight flanks, and each turn moves the rack by its lead. In the
  plane through the worm's axis across the wheel's, rack and involute wheel are conjugate.
* :func:`ring`: a flat ring, such as the face of a gear that rubs on a washer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from convex_contact.model.materials import Material
from convex_contact.model.pressure_fields import Mesh, PressureField, RigidSurface
from convex_contact.model.shapes import Cylinder
from convex_contact.model.world import Geometry, Pose, Vector, World
from convex_contact.problem import checks

#: a point of a section (n, 2) at a station, in space (n, 3)
Station = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SpurGear:
    """An involute gear about the z axis of its frame, the axis of a tooth in direction `phase` at z = 0.

    Attributes:
        teeth: Number of teeth z.
        module: m, pitch diameter over the number of teeth, m.
        pressure_angle: a, rad.
        width: Of the face, along z, m.
        shift: Profile shift x, in modules; of two gears at the standard distance they add up to zero.
        addendum: Height of the tip over the (shifted) pitch circle, in modules.
        dedendum: Depth of the root below it, in modules.
        backlash: j, what a tooth lacks of its full thickness at the pitch circle, m.
        helix_angle: Of the teeth at the pitch circle against the axis, rad; positive is right-handed.
        phase: Direction of the axis of a tooth, rad.
        flank: Edges of a flank.
        slices: Edges along a helical tooth.

    Raises:
        ValueError: A value is out of its bounds, or the teeth are pointed.
    """

    teeth: int
    module: float
    pressure_angle: float
    width: float
    shift: float = 0.0
    addendum: float = 1.0
    dedendum: float = 1.25
    backlash: float = 0.0
    helix_angle: float = 0.0
    phase: float = 0.0
    flank: int = 10
    slices: int = 4

    def __post_init__(self) -> None:
        if self.teeth != int(self.teeth) or self.teeth < 5:
            raise ValueError(f"teeth: expected a whole number of 5 at least, got {self.teeth!r}")
        _check_tooth(self, ("width",), ("shift", "helix_angle", "phase"))
        if not abs(self.helix_angle) < math.pi / 4:
            raise ValueError(f"helix_angle: expected less than 45 degrees, got {self.helix_angle!r}")
        if not self.slices >= 1:
            raise ValueError(f"slices: expected 1 at least, got {self.slices!r}")
        if self.half_angle(self.tip_radius) <= 0.0:
            raise ValueError(f"addendum: the teeth are pointed below the tip radius of {self.tip_radius:.6g} m")

    @property
    def pitch_radius(self) -> float:
        """m z/2, m."""
        return 0.5 * self.module * self.teeth

    @property
    def base_radius(self) -> float:
        """Of the circle that the involutes unwind from, m."""
        return self.pitch_radius * math.cos(self.pressure_angle)

    @property
    def tip_radius(self) -> float:
        """m."""
        return self.pitch_radius + self.module * (self.addendum + self.shift)

    @property
    def root_radius(self) -> float:
        """m."""
        return self.pitch_radius - self.module * (self.dedendum - self.shift)

    def half_angle(self, radius: float) -> float:
        """Half the angle of a tooth at a radius, rad."""
        at_pitch = (0.5 * math.pi + 2.0 * self.shift * math.tan(self.pressure_angle)) / self.teeth
        at_pitch -= 0.5 * self.backlash / self.pitch_radius
        here = math.acos(min(self.base_radius / radius, 1.0))
        return at_pitch + _involute(self.pressure_angle) - _involute(here)

    def mesh(self, modulus: float = math.inf) -> Mesh:
        """The teeth: compliant with the hydroelastic modulus E (Pa), or rigid if that is infinite."""
        lowest = max(self.base_radius, self.root_radius)
        rolled = [math.tan(math.acos(self.base_radius / r)) ** 2 for r in (lowest, self.tip_radius)]
        rolls = np.sqrt(np.linspace(rolled[0], rolled[1], self.flank + 1))  # edges of equal length
        radius = np.concatenate([[0.5 * self.root_radius, self.root_radius], self.base_radius * np.hypot(1.0, rolls)])
        if lowest == self.root_radius:
            radius = np.delete(radius, 1)
        radius[-1] = self.tip_radius
        half = np.array([self.half_angle(r) for r in radius])
        half[0] = min(half[1], 0.9 * math.pi / self.teeth)  # inside, it keeps to its own sector
        twist = math.tan(self.helix_angle) / self.pitch_radius
        z = _stations(self.width, self.slices if self.helix_angle else 1, 0.5 * self.module, math.isfinite(modulus))

        def station(direction: float, height: float) -> Station:
            turn = direction + twist * height
            return lambda p: np.column_stack([p @ _turned(turn).T, np.full(len(p), height)])

        left = radius[:, None] * np.column_stack([np.cos(half), np.sin(half)])
        bars = []
        for k in range(self.teeth):
            direction = self.phase + math.tau * k / self.teeth
            bars.append([station(direction, float(height)) for height in z])
        return _bars(left, left * (1.0, -1.0), bars, modulus, 0.5 * self.pitch_radius * math.pi / self.teeth)

    def conjugate_phase(self, other: SpurGear, direction: float) -> float:
        """Phase of another gear in a direction (rad) of this one's axis such that a tooth's middle is in a gap's."""
        pitch = math.tau / self.teeth
        ahead = (direction - self.phase + 0.5 * pitch) % pitch - 0.5 * pitch  # of this tooth, from the line of centres
        return direction + math.pi + math.pi / other.teeth + ahead * self.teeth / other.teeth


@dataclass(frozen=True)
class Worm:
    """A worm about the z axis of its frame; the middle of a thread crosses the xz plane at x > 0 and z = 0.

    Attributes:
        module: m, axial pitch over pi, m.
        pressure_angle: a of the flanks in the axial section, rad.
        pitch_radius: Of the cylinder on which the thread is as wide as its gap, m.
        turns: Length of the thread over its pitch.
        starts: Number of threads; positive is right-handed, as the lead angle.
        addendum: Height of the thread over the pitch cylinder, in modules.
        dedendum: Depth below it, in modules.
        backlash: What the thread lacks of its full thickness, along the axis, m.
        flank: Edges of a flank.
        slices: Edges of a turn.

    Raises:
        ValueError: A value is out of its bounds, or the thread is pointed.
    """

    module: float
    pressure_angle: float
    pitch_radius: float
    turns: float = 5.0
    starts: int = 1
    addendum: float = 1.0
    dedendum: float = 1.25
    backlash: float = 0.0
    flank: int = 4
    slices: int = 64

    def __post_init__(self) -> None:
        _check_tooth(self, ("pitch_radius", "turns"), ())
        if self.starts != int(self.starts) or self.starts < 1:
            raise ValueError(f"starts: expected a whole number of 1 at least, got {self.starts!r}")
        if self.slices < 8:
            raise ValueError(f"slices: expected 8 at least, got {self.slices!r}")
        if self.half_width(self.tip_radius) <= 0.0:
            raise ValueError(f"addendum: the thread is pointed below the tip radius of {self.tip_radius:.6g} m")
        if not self.pitch_radius > 1.5 * self.dedendum * self.module:
            raise ValueError(f"pitch_radius: expected more than 1.5 dedenda, got {self.pitch_radius!r}")

    @property
    def lead(self) -> float:
        """Way of the thread along the axis per turn, m."""
        return math.pi * self.module * self.starts

    @property
    def lead_angle(self) -> float:
        """arctan(lead/(2 pi r)) at the pitch cylinder, rad."""
        return math.atan2(self.lead, math.tau * self.pitch_radius)

    @property
    def tip_radius(self) -> float:
        """m."""
        return self.pitch_radius + self.addendum * self.module

    def half_width(self, radius: float) -> float:
        """Half the thickness of the thread at a radius, along the axis, m."""
        slope = math.tan(self.pressure_angle)
        return 0.25 * math.pi * self.module - 0.5 * self.backlash - slope * (radius - self.pitch_radius)

    def mesh(self, modulus: float = math.inf) -> Mesh:
        """The thread: compliant with the hydroelastic modulus E (Pa), or rigid if that is infinite."""
        root = self.pitch_radius - self.dedendum * self.module
        radius = np.concatenate([[root - 0.5 * self.module], np.linspace(root, self.tip_radius, self.flank + 1)])
        half = np.array([self.half_width(max(r, root)) for r in radius])
        count = math.ceil(self.turns / self.starts * self.slices)
        angles = math.pi * self.turns / self.starts * np.linspace(-1.0, 1.0, count + 1)

        def station(start: int, angle: float) -> Station:
            turn, height = angle + math.tau * start / self.starts, self.lead * angle / math.tau
            c, s = math.cos(turn), math.sin(turn)
            return lambda p: np.column_stack([c * p[:, 0], s * p[:, 0], p[:, 1] + height])

        left = np.column_stack([radius, -half])
        bars = [[station(k, float(angle)) for angle in angles] for k in range(self.starts)]
        return _bars(left, left * (1.0, -1.0), bars, modulus, 0.25 * math.pi * self.module)


def ring(inner: float, outer: float, low: float, high: float, *, around: int = 48) -> RigidSurface:
    """A rigid ring about the z axis from z = low to high, a polygon of as many sides with its corners on the circles.

    Args:
        inner: Radius, m.
        outer: Radius, m.
        low: m.
        high: m.
        around: Sides.

    Raises:
        ValueError: The radii or heights are in the wrong order.
    """
    if not 0.0 < inner < outer or not low < high or around < 3:
        raise ValueError(
            f"inner, outer, low, high: expected 0 < inner < outer, low < high and 3 sides at least, got {inner!r}, "
            f"{outer!r}, {low!r}, {high!r}, {around!r}"
        )
    angle = math.tau * np.arange(around) / around
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    corners = ((inner, low), (outer, low), (outer, high), (inner, high))
    vertices = np.concatenate([np.column_stack([r * circle, np.full(around, z)]) for r, z in corners])
    here, after = np.arange(around), (np.arange(around) + 1) % around
    triangles = []
    for k in range(4):
        a, b = k * around, (k + 1) % 4 * around
        triangles += [
            np.column_stack([a + here, a + after, b + after]),
            np.column_stack([a + here, b + after, b + here]),
        ]
    flipped = np.concatenate(triangles)[:, ::-1]
    corner = vertices[flipped]
    volume = np.einsum("ij,ij->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))
    return RigidSurface(vertices, flipped if volume > 0 else flipped[:, ::-1])


def attach_mesh(
    world: World,
    body: int | str,
    mesh: Mesh,
    position: Vector = (0.0, 0.0, 0.0),
    orientation: Vector = (0.0, 0.0, 0.0, 1.0),
) -> None:
    """Puts a mesh on a body, such as a link of a tree from a URDF file; its shape is the cylinder that holds it.

    Args:
        world: The world.
        body: Number or name.
        mesh: About the z axis of its frame.
        position: Of the mesh's frame in the body's (3,), m.
        orientation: Quaternion (x, y, z, w).

    Raises:
        WorldError: There is no such body, or a placement is wrong.
    """
    number = world.number(body)
    radius = float(np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1]).max())
    length = 2.0 * float(np.abs(mesh.vertices[:, 2]).max())
    placement = Pose.of(position, orientation, world.bodies[number].name)
    world.bodies[number].geometries.append(Geometry(Cylinder(radius, length), placement, Material(), mesh))


# --- bars ----------------------------------------------------------------------------------------------------


def _check_tooth(tooth: SpurGear | Worm, positive: Sequence[str], finite: Sequence[str]) -> None:
    for name in ("module", "addendum", "dedendum", *positive):
        checks.number(name, getattr(tooth, name), above=0.0)
    for name in finite:
        checks.number(name, getattr(tooth, name))
    checks.number("backlash", tooth.backlash, minimum=0.0)
    if not 0.0 < tooth.pressure_angle < 0.25 * math.pi:
        raise ValueError(f"pressure_angle: expected 0 to 45 degrees, got {tooth.pressure_angle!r} rad")
    if not tooth.backlash < 0.5 * tooth.module:
        raise ValueError(f"backlash: expected less than half the module, got {tooth.backlash!r}")
    if tooth.flank < 2:
        raise ValueError(f"flank: expected 2 edges at least, got {tooth.flank!r}")


def _involute(angle: float) -> float:
    return math.tan(angle) - angle


def _turned(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _stations(width: float, slices: int, ramp: float, compliant: bool) -> np.ndarray:
    """Heights of the stations; the pressure of a compliant bar rises over the first and the last slice."""
    ramp = min(ramp, 0.25 * width)
    if not compliant:
        return np.linspace(-0.5 * width, 0.5 * width, slices + 1)
    inner = np.linspace(-0.5 * width + ramp, 0.5 * width - ramp, slices + 1)
    return np.concatenate([[-0.5 * width], inner, [0.5 * width]])


def _section(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (p, 2), triangles and depths (p,) of a tooth between two flanks (n, 2) from the root to the tip.

    Points in the middle stand beside all but the first and the last of each flank; the depth is the distance from the
    outline.
    """
    n = len(left)
    middle = 0.5 * (left[1:-1] + right[1:-1])
    points = np.concatenate([left, right, middle])
    triangles = [(0, n, 2 * n), (n - 1, 2 * n - 1, 3 * n - 3), (0, 1, 2 * n), (n, n + 1, 2 * n)]
    triangles += [(side + n - 2, side + n - 1, 3 * n - 3) for side in (0, n)]
    for i in range(1, n - 2):
        inner = 2 * n + i - 1
        for side in (0, n):
            triangles += [(side + i, side + i + 1, inner + 1), (side + i, inner + 1, inner)]
    outline = np.concatenate([left, right[::-1]])
    start, along = outline, np.roll(outline, -1, axis=0) - outline
    offset = middle[:, None] - start
    share = np.clip(np.einsum("mki,ki->mk", offset, along) / np.einsum("ki,ki->k", along, along), 0.0, 1.0)
    distance = np.linalg.norm(offset - share[:, :, None] * along, axis=2).min(axis=1)
    return points, np.array(triangles), np.concatenate([np.zeros(2 * n), distance])


def _bars(
    left: np.ndarray, right: np.ndarray, bars: Sequence[Sequence[Station]], modulus: float, half_thickness: float
) -> Mesh:
    """A section between two flanks, moved along stations, bar by bar; between two stations it is divided in prisms.

    Each prism is divided in three tetrahedra such that the diagonals of its sides go up to the point of higher number:
    neighbours divide their common side alike.
    """
    if not modulus > 0.0:
        raise ValueError(f"modulus: expected a positive number of pascals (infinite: rigid), got {modulus!r}")
    points, triangles, depth = _section(left, right)
    a, b, c = np.sort(triangles, axis=1).T
    size = len(points)
    vertices: list[np.ndarray] = []
    cells: list[np.ndarray] = []
    pressure: list[np.ndarray] = []
    rise = 1.0 if math.isinf(modulus) else modulus / half_thickness
    for stations in bars:
        for k, station in enumerate(stations):
            low = len(vertices) * size
            vertices.append(station(points))
            pressure.append(rise * depth if 0 < k < len(stations) - 1 else np.zeros(size))
            if k:
                under = low - size
                cells += [
                    np.column_stack([under + a, under + b, under + c, low + c]),
                    np.column_stack([under + a, under + b, low + b, low + c]),
                    np.column_stack([under + a, low + a, low + b, low + c]),
                ]
    corners, tetrahedra = np.concatenate(vertices), np.concatenate(cells)
    edges = corners[tetrahedra[:, 1:]] - corners[tetrahedra[:, :1]]
    inside_out = np.linalg.det(edges) < 0.0
    tetrahedra[inside_out] = tetrahedra[inside_out][:, [0, 2, 1, 3]]
    if math.isfinite(modulus):
        return PressureField(corners, tetrahedra, np.concatenate(pressure))
    return _shell(corners, tetrahedra)


def _shell(vertices: np.ndarray, tetrahedra: np.ndarray) -> RigidSurface:
    """The surface of tetrahedra."""
    faces = tetrahedra[:, ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    surface = faces[np.sort(first[count == 1])]
    used, number = np.unique(surface, return_inverse=True)
    return RigidSurface(vertices[used], number.reshape(-1, 3))
