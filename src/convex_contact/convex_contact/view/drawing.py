"""Drawing of a world as simple shapes in the world's frame, for any drawing program.

A node converts the shapes to markers, a notebook to a plot. Deformable bodies and given meshes, such as gears, are
drawn as triangles, a convex hull as its bounding box. A half space is a plate below its surface that is somewhat larger
than the extent of the bodies at the start. Each moving body has its own colour, unless its shapes have one. An
articulated tree without any shape is drawn as lines from joint to joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pinocchio as pin

from convex_contact.haptics.rendering import ContactRendering
from convex_contact.model.bodies import ArticulatedTree
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.pressure_fields import PressureField
from convex_contact.model.shapes import Capsule, Cylinder, HalfSpace, Shape, Sphere
from convex_contact.model.world import KinematicTree, World
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.simulator import ContactReport, Simulator

#: red, green, blue, opacity
Color = tuple[float, float, float, float]

#: colours of bodies that move, in their order
PALETTE: tuple[Color, ...] = (
    (0.12, 0.47, 0.71, 1.0),
    (0.95, 0.6, 0.2, 1.0),
    (0.35, 0.65, 0.4, 1.0),
    (0.65, 0.45, 0.7, 1.0),
    (0.85, 0.45, 0.45, 1.0),
    (0.5, 0.65, 0.75, 1.0),
)
FREE: Color = PALETTE[0]
FIXED: Color = (0.6, 0.6, 0.6, 0.35)
GROUND: Color = (0.82, 0.79, 0.74, 1.0)
PRESCRIBED: Color = (0.55, 0.34, 0.29, 0.6)
PROXY: Color = (0.17, 0.63, 0.17, 1.0)
POINT: Color = (0.85, 0.33, 0.1, 1.0)
FORCE: Color = (0.84, 0.15, 0.16, 1.0)
COUPLING: Color = (0.58, 0.4, 0.74, 1.0)
BONE: Color = (0.45, 0.45, 0.45, 1.0)
#: colours of bodies by their kind
_COLORS = {"free": FREE, "link": FREE, "fixed": FIXED, "prescribed": PRESCRIBED}

#: thickness of the plate that stands for a half space, and its side where there is no other shape [m]
_THICKNESS, PLATE = 0.01, 1.0
#: margin of a plate around the bodies on each side, over the largest extent of all of them
_MARGIN = 0.25
#: least cosine of the angle between the normal of a half space and the vertical at which it is the ground
_LEVEL = 0.7
#: width of the lines that represent a tree without shapes [m]
_BONE_WIDTH = 0.01
#: number of contacts that are drawn, the most loaded ones first
LARGEST_COUNT = 200


class Canvas(Protocol):
    """Target of a drawing. It receives shapes by name; a shape with a known name replaces the earlier one.

    Positions [m] and quaternions (x, y, z, w) are in the canvas's frame.
    """

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: Color
    ) -> None:
        """Draws a centred cylinder about its z axis."""

    def box(
        self, name: str, position: np.ndarray, orientation: np.ndarray, size: Sequence[float], color: Color
    ) -> None:
        """Draws a centred box with edges `size` (3,)."""

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        """Draws a sphere."""

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        """Draws a line through points (n, 3)."""

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        """Draws an arrow."""

    def loads(self, points: np.ndarray, arrows: np.ndarray, width: float, colors: tuple[Color, Color]) -> None:
        """Draws contact points (n, 3) and their forces as arrows (n, 3), and removes those drawn before."""

    def mesh(
        self, name: str, position: np.ndarray, orientation: np.ndarray, vertices: np.ndarray, triangles: np.ndarray,
        color: Color,
    ) -> None:  # fmt: skip
        """Draws triangles (m, 3) of vertices (n, 3), which are in the frame of the pose."""


#: pose of the canvas's own frame
_HERE = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])


def _bone_lines(world: World, tree: KinematicTree) -> list[tuple[str, np.ndarray | int, int]]:
    """Lists the lines that represent the links of a tree whose links have no shapes.

    Each has a name, a start (a position [m] or the number of a body), and the number of the body at its end.
    """
    model = tree.model
    if not isinstance(model, ArticulatedTree) or any(world.bodies[i].geometries for i in tree.bodies):
        return []
    at = dict(zip(model.link_joints, tree.bodies, strict=True))
    starts: dict[int, np.ndarray | int] = dict(at)
    if not tree.source["floating"]:
        starts[0] = np.asarray(tree.source["position"])
    links = [(joint, model.model.parents[joint]) for joint in at]
    return [(world.bodies[at[joint]].name, starts[parent], at[joint]) for joint, parent in links if parent in starts]


def _names(world: World, deformable: Sequence[tuple[int, KinematicTree]]) -> tuple[list[list[str]], list[str]]:
    """Returns names of the geometries of each body and of the deformable bodies, no two of them alike.

    The only geometry of a body has the body's name, several have numbers, and a deformable body has that of its tree.
    """
    taken = {body.name for body in world.bodies}

    def unique(name: str) -> str:
        while name in taken:
            name += "'"
        taken.add(name)
        return name

    several = [
        [body.name] if len(body.geometries) == 1 else [unique(f"{body.name} {k}") for k in range(len(body.geometries))]
        for body in world.bodies
    ]
    return several, [unique(tree.name) for _, tree in deformable]


def loads(report: ContactReport, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns points (n, 3) [m] and forces on the second bodies (n, 3) [N] of the loaded contacts, largest force first.

    Args:
        report: of a step.
        period: length of the step [s].
    """
    force = np.einsum("nk,nki->ni", report.impulse, report.frame) / period
    size = np.linalg.norm(force, axis=1)
    order = np.argsort(-size, kind="stable")[:LARGEST_COUNT]
    order = order[size[order] > 0.0]
    return report.position[order], force[order]


class SimulationDrawing:
    """Draws a simulator's world and its contacts with their forces, step by step.

        simulator: its world is drawn.
        table: states of its bodies, if another object updates them before each drawing.
        force_length: of the arrow of 1 N, in the world [m/N]; 0: no arrows.
        scale: metres of the world per metre of the canvas.

    Attributes:
        loads_shown: contacts are drawn.
    """

    def __init__(
        self, simulator: Simulator, *, table: BodyTable | None = None, force_length: float = 0.01, scale: float = 1.0
    ) -> None:
        self._simulator, self._force_length, self._scale = simulator, force_length, scale
        self._reads = table is None
        self._table = BodyTable(simulator.dynamics) if table is None else table
        world = simulator.world
        self._meshes = [(t, tree) for t, tree in enumerate(world.trees) if isinstance(tree.model, DeformableTree)]
        self._hidden = {i for _, tree in self._meshes for i in tree.bodies}  # drawn as a mesh
        self._names, self._mesh_names = _names(world, self._meshes)
        self._bone_lines = [bone for tree in world.trees for bone in _bone_lines(world, tree)]
        own = [g.mesh for _, g in world.numbered_geometries() if g.mesh is not None and g.mesh is g.hydroelastic]
        self._surfaces = {
            id(mesh): (mesh.vertices / scale, mesh.surface if isinstance(mesh, PressureField) else mesh.triangles)
            for mesh in own
        }
        shapes = [g.shape for i, g in world.numbered_geometries() if i not in self._hidden]
        radii = [shape.radius for shape in shapes if not isinstance(shape, HalfSpace)]
        self._width = 0.05 * (float(np.median(radii)) if radii else 0.02)
        self.loads_shown = True
        moving = [i for i, body in enumerate(world.bodies) if body.kind in ("free", "link")]
        self._colors = {number: PALETTE[k % len(PALETTE)] for k, number in enumerate(moving)}
        self._bounds = self._bounds_of_bodies()

    def draw(self, canvas: Canvas) -> None:
        """Draws the present state."""
        if self._reads:
            self._table.read()
        self._bodies(canvas)
        self._lines(canvas)
        self._deformables(canvas)
        self._contacts(canvas, self._simulator.contacts, self._simulator.period)

    # --- parts -----------------------------------------------------------------------------------------------

    def _bodies(self, canvas: Canvas) -> None:
        table = self._table
        for number, body in enumerate(self._simulator.world.bodies):
            if number in self._hidden:
                continue
            own = self._color(number)
            x, y, z, w = table.orientation[number]
            rotation = pin.Quaternion(w, x, y, z)
            for place, geometry in enumerate(body.geometries):
                color = geometry.color or own
                local = geometry.placement
                position = table.position[number] + rotation.matrix() @ local.position
                lx, ly, lz, lw = local.orientation
                name = self._names[number][place]
                orientation = (rotation * pin.Quaternion(lw, lx, ly, lz)).coeffs()
                if id(geometry.mesh) in self._surfaces:
                    vertices, triangles = self._surfaces[id(geometry.mesh)]
                    canvas.mesh(name, position / self._scale, orientation, vertices, triangles, color)
                else:
                    self._shape(canvas, name, geometry.shape, position, orientation, color)

    def _color(self, number: int) -> Color:
        return self._colors.get(number) or _COLORS[self._simulator.world.bodies[number].kind]

    def _bounds_of_bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the middle (3,) of all shapes except half spaces [m], and half sides of the plates at the start."""
        table, ends = self._table.read(), [np.zeros((0, 3))]
        for number, geometry in self._simulator.world.numbered_geometries():
            if not isinstance(geometry.shape, HalfSpace):
                x, y, z, w = table.orientation[number]
                middle = table.position[number] + pin.Quaternion(w, x, y, z).matrix() @ geometry.placement.position
                ends.append(middle + geometry.shape.radius * np.array([[-1.0], [1.0]]))
        corners = np.concatenate(ends)
        if not len(corners):
            return np.zeros(3), np.full(3, 0.5 * PLATE)
        low, high = corners.min(axis=0), corners.max(axis=0)
        return (low + high) / 2.0, (high - low) / 2.0 + _MARGIN * float((high - low).max())

    def _plate(self, canvas: Canvas, name: str, position: np.ndarray, orientation: np.ndarray, color: Color) -> None:
        """Draws a half space: opaque ground, or a translucent wall, unless it has a colour of its own."""
        s, (middle, half) = 1.0 / self._scale, self._bounds
        x, y, z, w = orientation
        rotation = pin.Quaternion(w, x, y, z).matrix()
        normal, gravity = rotation[:, 2], np.asarray(self._simulator.world.gravity)
        sides = 2.0 * np.abs(rotation.T) @ half
        nearest = middle - ((middle - position) @ normal) * normal
        level = gravity.any() and -normal @ gravity > _LEVEL * np.linalg.norm(gravity)
        size = (s * sides[0], s * sides[1], s * _THICKNESS)
        below = nearest - 0.5 * _THICKNESS * normal
        canvas.box(name, s * below, orientation, size, GROUND if level and color in _COLORS.values() else color)

    def _lines(self, canvas: Canvas) -> None:
        s, place = 1.0 / self._scale, self._table.position
        for name, parent, body in self._bone_lines:
            start = parent if isinstance(parent, np.ndarray) else place[parent]
            canvas.line(name, [s * start, s * place[body]], s * _BONE_WIDTH, BONE)

    def _deformables(self, canvas: Canvas) -> None:
        for (t, tree), name in zip(self._meshes, self._mesh_names, strict=True):
            vertices = self._simulator.deformed(t)
            canvas.mesh(name, *_HERE, vertices / self._scale, tree.model.drawn, FREE)

    def _shape(
        self, canvas: Canvas, name: str, shape: Shape, position: np.ndarray, orientation: np.ndarray, color: Color
    ) -> None:
        s = 1.0 / self._scale
        x, y, z, w = orientation
        rotation = pin.Quaternion(w, x, y, z).matrix()
        if isinstance(shape, Sphere):
            canvas.sphere(name, s * position, s * shape.radius, color)
        elif isinstance(shape, Cylinder | Capsule):
            canvas.cylinder(name, s * position, orientation, s * shape.base_radius, s * shape.length, color)
            if isinstance(shape, Capsule):
                for end in (-0.5, 0.5):
                    center = position + end * shape.length * rotation[:, 2]
                    canvas.sphere(f"{name} end {end:+g}", s * center, s * shape.base_radius, color)
        elif isinstance(shape, HalfSpace):
            self._plate(canvas, name, position, orientation, color)
        else:
            middle = position + rotation @ shape.center
            canvas.box(name, s * middle, orientation, tuple(float(2 * s * e) for e in shape.extent), color)

    def _contacts(self, canvas: Canvas, report: ContactReport, period: float) -> None:
        """Draws points and forces on the second body of the loaded contacts."""
        s, (points, forces) = 1.0 / self._scale, loads(report, period)
        if not self.loads_shown:
            points, forces = points[:0], forces[:0]
        canvas.loads(s * points, s * self._force_length * forces, s * self._width, (POINT, FORCE))


class WorldDrawing(SimulationDrawing):
    """Draws a rendering's world, its contacts with their forces, and the coupling, tick by tick.

    Args:
        rendering: its world is drawn.
        force_length: of the arrow of 1 N, in the world [m/N]; 0: no arrows.
        scale: metres of the world per metre of the canvas.
    """

    def __init__(self, rendering: ContactRendering, *, force_length: float = 0.01, scale: float = 1.0) -> None:
        super().__init__(rendering.simulator, table=rendering.bodies, force_length=force_length, scale=scale)
        self._rendering = rendering

    def draw(self, canvas: Canvas) -> None:
        """Draws the present state."""
        super().draw(canvas)
        self._coupling(canvas)

    def _color(self, number: int) -> Color:
        moved = number == self._rendering.proxy and self._rendering.is_coupled
        return PROXY if moved else super()._color(number)

    def _coupling(self, canvas: Canvas) -> None:
        rendering = self._rendering
        if not rendering.is_coupled:
            return
        s, at = 1.0 / self._scale, rendering.bodies.position[rendering.proxy]
        canvas.line("coupling", [s * at, s * rendering.target], s * self._width, COUPLING)
        if self._force_length > 0.0:
            tip = at - self._force_length * rendering.force
            canvas.arrow("felt force", s * at, s * tip, s * self._width, COUPLING)
