"""Meshes of gears for hydroelastic contact, made from the standard parameters of gears.

Every gear consists of its teeth alone, each a prism or a helical bar that reaches into the wheel's body: deeper
parts have no contact. Two flanks from the root to the tip form the outline of a tooth; it is extruded along stations of
the tooth. Compliant teeth have a pressure that is zero on the outline and at both ends and grows as E d/H inwards.
Here d is the distance from the outline and H half the tooth's thickness at the pitch line: a flank has the
foundation stiffness E/H per area.

* :class:`SpurGear`: involute teeth, straight or helical. Half the angle of a tooth at radius r is

      psi(r) = (pi/2 + 2 x tan a)/z - j/(2 r_p) + inv a - inv a_r,    cos a_r = r_b/r,  inv a = tan a - a,

  z teeth of module m and pressure angle a, profile shift x, backlash j, r_p = m z/2, r_b = r_p cos a. Below the base
  circle r_b the flank is radial. Two such gears rotate at the ratio of their teeth at any phase.
* :class:`Worm`: a rack of the same module and pressure angle around a shaft (an Archimedean worm, ZA): its section
  with any plane through the axis is the rack with straight flanks, and each revolution moves the rack by its lead. In
  the plane through the worm's axis across the wheel's, rack and involute wheel are conjugate.
* :func:`ring`: a flat ring, such as the friction face of a gear on a washer.
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
        teeth: number of teeth z.
        module: m, pitch diameter over the number of teeth [m].
        pressure_angle: a [rad].
        width: of the face, along z [m].
        shift: profile shift x, in modules; for two gears at the standard distance the shifts add up to zero.
        addendum: height of the tip over the (shifted) pitch circle, in modules.
        dedendum: depth of the root below it, in modules.
        backlash: j, reduction of a tooth's thickness at the pitch circle [m].
        helix_angle: of the teeth at the pitch circle against the axis [rad]; positive is right-handed.
        phase: direction of the axis of a tooth [rad].
        flank: edges of a flank.
        slices: edges along a helical tooth.

    Raises:
        ValueError: a value is out of its bounds, or the teeth are pointed.
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
        """Pitch radius m z/2 [m]."""
        return 0.5 * self.module * self.teeth

    @property
    def base_radius(self) -> float:
        """Radius of the base circle of the involutes [m]."""
        return self.pitch_radius * math.cos(self.pressure_angle)

    @property
    def tip_radius(self) -> float:
        """Radius of the tips [m]."""
        return self.pitch_radius + self.module * (self.addendum + self.shift)

    @property
    def root_radius(self) -> float:
        """Radius of the roots [m]."""
        return self.pitch_radius - self.module * (self.dedendum - self.shift)

    def half_angle(self, radius: float) -> float:
        """Returns half the angle of a tooth at a radius [rad]."""
        at_pitch = (0.5 * math.pi + 2.0 * self.shift * math.tan(self.pressure_angle)) / self.teeth
        at_pitch -= 0.5 * self.backlash / self.pitch_radius
        here = math.acos(min(self.base_radius / radius, 1.0))
        return at_pitch + _involute(self.pressure_angle) - _involute(here)

    def mesh(self, modulus: float = math.inf) -> Mesh:
        """Makes the teeth: compliant with the hydroelastic modulus E [Pa], or rigid if that is infinite."""
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
            angle = direction + twist * height
            return lambda p: np.column_stack([p @ _rotation_2d(angle).T, np.full(len(p), height)])

        left = radius[:, None] * np.column_stack([np.cos(half), np.sin(half)])
        bars = []
        for k in range(self.teeth):
            direction = self.phase + math.tau * k / self.teeth
            bars.append([station(direction, float(height)) for height in z])
        return _bars(left, left * (1.0, -1.0), bars, modulus, 0.5 * self.pitch_radius * math.pi / self.teeth)

    def conjugate_phase(self, other: SpurGear, direction: float) -> float:
        """Returns the phase of a gear in a direction [rad] from this one with a tooth in the middle of a gap."""
        pitch = math.tau / self.teeth
        ahead = (direction - self.phase + 0.5 * pitch) % pitch - 0.5 * pitch  # this tooth's, from the line of centres
        return direction + math.pi + math.pi / other.teeth + ahead * self.teeth / other.teeth


@dataclass(frozen=True)
class Worm:
    """A worm about the z axis of its frame; the middle of a thread crosses the xz plane at x > 0 and z = 0.

    Attributes:
        module: m, axial pitch over pi [m].
        pressure_angle: a of the flanks in the axial section [rad].
        pitch_radius: of the cylinder on which the thread is as wide as its gap [m].
        turns: length of the thread over its pitch.
        starts: number of threads; positive is right-handed, as the lead angle.
        addendum: height of the thread over the pitch cylinder, in modules.
        dedendum: depth below it, in modules.
        backlash: reduction of the thread's thickness, along the axis [m].
        flank: edges of a flank.
        slices: edges of a revolution.

    Raises:
        ValueError: a value is out of its bounds, or the thread is pointed.
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
        """Displacement of the thread along the axis per revolution [m]."""
        return math.pi * self.module * self.starts

    @property
    def lead_angle(self) -> float:
        """Lead angle arctan(lead/(2 pi r)) at the pitch cylinder [rad]."""
        return math.atan2(self.lead, math.tau * self.pitch_radius)

    @property
    def tip_radius(self) -> float:
        """Radius of the thread's tip [m]."""
        return self.pitch_radius + self.addendum * self.module

    def half_width(self, radius: float) -> float:
        """Returns half the thickness of the thread at a radius, along the axis [m]."""
        slope = math.tan(self.pressure_angle)
        return 0.25 * math.pi * self.module - 0.5 * self.backlash - slope * (radius - self.pitch_radius)

    def mesh(self, modulus: float = math.inf) -> Mesh:
        """Makes the thread: compliant with the hydroelastic modulus E [Pa], or rigid if that is infinite."""
        root = self.pitch_radius - self.dedendum * self.module
        radius = np.concatenate([[root - 0.5 * self.module], np.linspace(root, self.tip_radius, self.flank + 1)])
        half = np.array([self.half_width(max(r, root)) for r in radius])
        count = math.ceil(self.turns / self.starts * self.slices)
        angles = math.pi * self.turns / self.starts * np.linspace(-1.0, 1.0, count + 1)

        def station(start: int, angle: float) -> Station:
            direction, height = angle + math.tau * start / self.starts, self.lead * angle / math.tau
            c, s = math.cos(direction), math.sin(direction)
            return lambda p: np.column_stack([c * p[:, 0], s * p[:, 0], p[:, 1] + height])

        left = np.column_stack([radius, -half])
        bars = [[station(k, float(angle)) for angle in angles] for k in range(self.starts)]
        return _bars(left, left * (1.0, -1.0), bars, modulus, 0.25 * math.pi * self.module)


def ring(inner: float, outer: float, low: float, high: float, *, around: int = 48) -> RigidSurface:
    """Makes a rigid ring about the z axis from z = low to high, a polygon with its corners on the two circles.

    Args:
        inner: radius [m].
        outer: radius [m].
        low: [m].
        high: [m].
        around: number of sides.

    Raises:
        ValueError: the radii or heights are in the wrong order.
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
    """Adds a mesh to a body, such as a link of a tree from a URDF file; its shape is the cylinder around the mesh.

    Args:
        world: the world.
        body: number or name.
        mesh: about the z axis of its frame.
        position: of the mesh's frame in the body's frame (3,) [m].
        orientation: quaternion (x, y, z, w).

    Raises:
        WorldError: there is no such body, or a pose is wrong.
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


def _rotation_2d(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _stations(width: float, slices: int, ramp: float, compliant: bool) -> np.ndarray:
    """Returns the heights of the stations; the pressure of a compliant bar rises over the first and the last slice."""
    ramp = min(ramp, 0.25 * width)
    if not compliant:
        return np.linspace(-0.5 * width, 0.5 * width, slices + 1)
    inner = np.linspace(-0.5 * width + ramp, 0.5 * width - ramp, slices + 1)
    return np.concatenate([[-0.5 * width], inner, [0.5 * width]])


def _section(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns points (p, 2), triangles and depths (p,) of a tooth between two flanks (n, 2) from root to tip.

    There are points in the middle for all but the first and the last point of each flank. The depth is the distance
    from the outline.
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
    fraction = np.clip(np.einsum("mki,ki->mk", offset, along) / np.einsum("ki,ki->k", along, along), 0.0, 1.0)
    distance = np.linalg.norm(offset - fraction[:, :, None] * along, axis=2).min(axis=1)
    return points, np.array(triangles), np.concatenate([np.zeros(2 * n), distance])


def _bars(
    left: np.ndarray, right: np.ndarray, bars: Sequence[Sequence[Station]], modulus: float, half_thickness: float
) -> Mesh:
    """Extrudes a section between two flanks along the stations of each bar.

    Between two stations the bar is divided into prisms, and each prism into three tetrahedra. The diagonals of its
    sides lead up to the point with the higher number, so that neighbours divide their common side alike.
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
    """Returns the surface of tetrahedra."""
    faces = tetrahedra[:, ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    surface = faces[np.sort(first[count == 1])]
    used, number = np.unique(surface, return_inverse=True)
    return RigidSurface(vertices[used], number.reshape(-1, 3))
