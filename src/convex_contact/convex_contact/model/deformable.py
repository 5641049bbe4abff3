"""Deformable bodies in a world: a mesh of corotational tetrahedra is a tree; its links are vertices for contact.

A step is linearly implicit, as in Han, Masterjohn, Castro (RA-L 2023). With K at its start and D = zeta K,

    (M + dt D + dt^2 K) (v - v*) = J^T gamma,   (M + (dt zeta + dt^2) K) v* = M v0 + dt (f(x0) + M g).

All inner vertices are eliminated (`sparse_blocks`). The convex problem contains the Schur complement on the
contact vertices, a dense block of A like that of an articulated tree. It is exact, and the inner velocities follow from
the solution. In contact a vertex is a small sphere on a body that cannot rotate.

**Attachment.** Attached vertices move as one rigid body, the *mount*: v_i = B_i xi with its twist xi, so that the
tree's velocities are [xi; contact vertices]. Their shape is kept exactly, and `World.weld` fixes the mount to a link
by six stiff rows instead of three for each vertex. The mount's inertia is that of its vertices. Its gyroscopic terms
are left out; they are of second order in dt as long as a weld fixes the mount.

The tree's q is [pose of the mount (7) if there is one; positions (3 n); velocities (3 n)] of all vertices.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numba import njit
from numpy.typing import ArrayLike

from convex_contact.model import bodies
from convex_contact.model.corotational import Elasticity, TetrahedralMesh, assemble, energy
from convex_contact.model.materials import Material
from convex_contact.model.shapes import Sphere
from convex_contact.model.world import Body, Geometry, KinematicTree, Pose, WorldError, made, vector
from convex_contact.problem import checks
from convex_contact.solver.sparse_blocks import BlockCholesky, solve_dense

if TYPE_CHECKING:
    from convex_contact.model.world import World


class DeformableTree:
    """Dynamics of a deformable body, in the form of :class:`~convex_contact.model.bodies.ArticulatedTree`.

    Args:
        mesh: at rest, in the body's frame.
        elasticity: material of the body.
        contact: vertices that can touch (c,).
        attached: vertices of the mount (a,); none: the body is free.
        gravity: (3,) [m/s^2].
        drawn: triangles that pictures show (k, 3); None: all of the surface.

    Attributes:
        contact, attached: vertices in the order of the tree's velocities.
        model: Pinocchio's model without joints.
    """

    def __init__(
        self, mesh: TetrahedralMesh, elasticity: Elasticity, contact: np.ndarray, attached: np.ndarray, gravity: Any,
        drawn: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.drawn = mesh.surface() if drawn is None else drawn
        self.mesh, self.elasticity, self.gravity = mesh, elasticity, np.asarray(gravity, dtype=np.float64)
        self.model = pin.Model()
        self.link_joints: list[int] = []
        n = len(mesh.vertices)
        kind = np.zeros(n, dtype=np.int64)
        kind[contact], kind[attached] = 1, 2
        # a group has vertices of one kind only
        _, group = np.unique(3 * mesh.groups + kind, return_inverse=True)
        count = np.bincount(group)
        group_kind = np.zeros(len(count), dtype=np.int64)
        group_kind[group] = kind
        members = np.argsort(group, kind="stable")
        slot = np.empty(n, dtype=np.int64)
        slot[members] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
        t = mesh.tetrahedra
        pairs = np.stack(np.broadcast_arrays(group[t][:, :, None], group[t][:, None, :]), axis=-1).reshape(-1, 2)
        edges, which = np.unique(pairs, axis=0, return_inverse=True)
        kept = np.concatenate([np.flatnonzero(group_kind == 1), np.flatnonzero(group_kind == 2)])
        self._matrix = BlockCholesky(3 * count, edges[edges[:, 0] < edges[:, 1]], kept)
        blocks = np.array([self._matrix.find_block(a, b) or (-1, 0) for a, b in edges.tolist()], dtype=np.int64)
        offset, width = blocks[which.ravel()].T.reshape(2, len(t), 4, 4)
        row, column = 3 * slot[t][:, :, None], 3 * slot[t][:, None, :]
        self._place = np.where(offset >= 0, offset + row * width + column, -1)
        self._stride = np.ascontiguousarray(width)
        self._mass = mesh.masses(elasticity.density)
        own = blocks[edges[:, 0] == edges[:, 1]][group]  # diagonal blocks, in the order of the groups
        self._diagonal = own[:, :1] + (3 * slot[:, None] + np.arange(3)) * (own[:, 1:] + 1)
        self._variable = self._matrix.variables[group][:, None] + 3 * slot[:, None] + np.arange(3)  # (n, 3)
        order = np.argsort(self._variable[:, 0])
        kept_vertices = order[self._variable[order, 0] >= self._matrix.inner]
        self.contact, self.attached = kept_vertices[: len(contact)], kept_vertices[len(contact) :]
        self._volumes, self._gradients = mesh.volumes, mesh.gradients
        self._solved = np.zeros(3 * n)
        self._base = 7 if len(attached) else 0

    #: compiled code does not simulate it
    has_kernels = False

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self._base + 6 * len(self._mass)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return (6 if self._base else 0) + 3 * len(self.contact)

    def started(self, gravity: np.ndarray) -> DeformableTree:
        """Returns the body of one simulation, under a gravity (3,) [m/s^2], with working memory of its own."""
        started = copy(self)
        started.gravity, started._solved = gravity.copy(), np.zeros_like(self._solved)
        started._matrix = self._matrix.with_own_values()
        return started

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Returns the positions of all vertices (n, 3) [m], a view of q."""
        n = len(self._mass)
        return q[self._base : self._base + 3 * n].reshape(n, 3)

    def velocities(self, q: np.ndarray) -> np.ndarray:
        """Returns the velocities of all vertices (n, 3) [m/s], a view of q."""
        n = len(self._mass)
        return q[self._base + 3 * n :].reshape(n, 3)

    def energy(self, q: np.ndarray) -> float:
        """Returns the elastic energy [J]."""
        return float(
            energy(self.positions(q), self.mesh.tetrahedra, self._gradients, self._volumes, *self.elasticity.lame)
        )

    def forces(self, q: np.ndarray) -> np.ndarray:
        """Returns the elastic forces on all vertices (n, 3) [N]."""
        out = np.zeros((len(self._mass), 3))
        assemble(
            self.positions(q), self.mesh.tetrahedra, self._gradients, self._volumes, *self.elasticity.lame, 0.0,
            np.full_like(self._place, -1), self._stride, np.zeros(1), out,
        )  # fmt: skip
        return out

    @property
    def masses(self) -> np.ndarray:
        """Lumped masses (n,) [kg]."""
        return self._mass

    def _spread(self, q: np.ndarray) -> np.ndarray:
        """Returns B (3 a, 6) of the attached vertices."""
        r = self.positions(q)[self.attached] - q[:3]
        B = np.zeros((len(r), 3, 6))
        B[:, 0, 0] = B[:, 1, 1] = B[:, 2, 2] = 1.0
        B[:, 0, 4], B[:, 0, 5], B[:, 1, 5] = r[:, 2], -r[:, 1], r[:, 0]  # omega x r
        B[:, 1, 3], B[:, 2, 3], B[:, 2, 4] = -r[:, 2], r[:, 1], -r[:, 0]
        return B.reshape(-1, 6)

    def prepare(
        self, q: np.ndarray, v: np.ndarray, effort: np.ndarray, period: float, A: np.ndarray, v_star: np.ndarray
    ) -> None:
        """Writes A and v* as :class:`~convex_contact.model.bodies.ArticulatedTree`; q has the inner velocities."""
        m, matrix = self._mass, self._matrix
        lam, mu = self.elasticity.lame
        matrix.values[:] = 0.0
        matrix.values[self._diagonal] = m[:, None]
        force = m[:, None] * self.gravity
        weight = period * self.elasticity.damping + period**2
        assemble(
            self.positions(q), self.mesh.tetrahedra, self._gradients, self._volumes, lam, mu, weight, self._place,
            self._stride, matrix.values, force,
        )  # fmt: skip
        matrix.factorise()
        S, c = matrix.schur_complement(), 3 * len(self.contact)
        x = self._solved
        x[self._variable] = m[:, None] * self.velocities(q) + period * force
        matrix.forward(x)
        left = x[matrix.inner :]
        if self._base:
            B = self._spread(q)
            _join(S, B, A)
            b = np.concatenate([B.T @ left[c:], left[:c]])
        else:
            A[:], b = S, left
        b = b + period * effort
        v_star[:] = solve_dense(A, b)

    def write_links(
        self, q: np.ndarray, v: np.ndarray, poses: np.ndarray, twists: np.ndarray, jacobians: np.ndarray
    ) -> None:
        """Writes poses, twists and Jacobians of the mount, if there is one, and of the vertices in contact."""
        first, c = (1 if self._base else 0), len(self.contact)
        if first:
            bodies.write_pose(poses[0], q[:7])
            twists[0] = v[:6]
            jacobians[0, np.arange(6), np.arange(6)] = 1.0
        poses[first:, :9] = np.eye(3).ravel()
        poses[first:, 9:] = self.positions(q)[self.contact]
        twists[first:, 3:] = 0.0
        twists[first:, :3] = v[6 * first :].reshape(c, 3)
        rows = np.arange(c)
        for k in range(3):
            jacobians[first + rows, k, 6 * first + 3 * rows + k] = 1.0

    def center(self, link: int) -> np.ndarray:
        """Returns the point (3,) [m] of the mount or of a vertex, in the frame of its pose, at which forces act."""
        return np.zeros(3)

    def moved(self, q: np.ndarray, v: np.ndarray, period: float) -> np.ndarray:
        """Returns the coordinates after a step that :meth:`prepare` began, at its solution v (nv,)."""
        out, c = q.copy(), 3 * len(self.contact)
        x, inner = self._solved.copy(), self._matrix.inner
        first = 6 if self._base else 0
        x[inner : inner + c] = v[first:]
        if first:
            x[inner + c :] = self._spread(q) @ v[:6]
        self._matrix.backward(x)
        velocity = x[self._variable]
        self.velocities(out)[:] = velocity
        self.positions(out)[:] += period * velocity
        if first:
            bodies.move(out[:7], v[:6], period, False)
            placed = np.empty(12)
            bodies.write_pose(placed, out[:7])
            start = np.empty(12)
            bodies.write_pose(start, q[:7])
            local = (self.positions(q)[self.attached] - q[:3]) @ start[:9].reshape(3, 3)
            self.positions(out)[self.attached] = out[:3] + local @ placed[:9].reshape(3, 3).T
        return out


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _join(S: np.ndarray, B: np.ndarray, A: np.ndarray) -> None:
    """Writes A (6 + c, 6 + c) of mount and contact vertices from S (c + a, c + a) and B (a, 6).

    It uses loops: a library distributes so small a product over threads, which costs more when other processes use the
    cores.
    """
    a, c = len(B), len(S) - len(B)
    for k in range(6):
        for i in range(6 + c):
            A[k, i] = 0.0
    for i in range(c):
        for j in range(c):
            A[6 + i, 6 + j] = S[i, j]
        for k in range(6):
            total = 0.0
            for j in range(a):
                total += S[i, c + j] * B[j, k]
            A[6 + i, k] = A[k, 6 + i] = total
    for i in range(a):
        for k in range(6):
            total = 0.0
            for j in range(a):
                total += S[c + i, c + j] * B[j, k]
            for m in range(6):
                A[m, k] += B[i, m] * total


def add_deformable(
    world: World,
    name: str,
    mesh: TetrahedralMesh,
    *,
    elasticity: Elasticity | None = None,
    contact: ArrayLike | None = None,
    attached: ArrayLike = (),
    contact_radius: float = 1e-4,
    drawn: np.ndarray | None = None,
    material: Material | None = None,
    position: Any = (0.0, 0.0, 0.0),
    orientation: Any = (0.0, 0.0, 0.0, 1.0),
    velocity: Any = (0.0, 0.0, 0.0),
) -> int:
    """Adds a deformable body; see :meth:`World.add_deformable`."""
    if not isinstance(name, str) or not name or any(other.name == name for other in world.trees):
        raise WorldError(f"name: {name!r} is no text, empty or taken")
    if not isinstance(mesh, TetrahedralMesh):
        raise WorldError(f"{name}: mesh: expected a TetrahedralMesh, got {mesh!r}")
    if elasticity is not None and not isinstance(elasticity, Elasticity):
        raise WorldError(f"{name}: elasticity: expected an Elasticity, got {elasticity!r}")
    place = Pose.of(position, orientation, name)
    n = len(mesh.vertices)
    surface = np.unique(mesh.surface())
    held = _vertices(attached, n, f"{name}: attached")
    touching = np.setdiff1d(surface, held) if contact is None else _vertices(contact, n, f"{name}: contact")
    if np.intersect1d(touching, held).size:
        raise WorldError(f"{name}: contact: expected vertices that are not attached")
    if not len(touching) and not len(held):
        raise WorldError(f"{name}: contact: expected vertices that can touch, or attached ones; got neither")
    try:
        radius = checks.number("contact_radius", contact_radius, above=0.0)
        tree = DeformableTree(mesh, elasticity or Elasticity(), touching, held, world.gravity, drawn)
    except ValueError as error:
        raise WorldError(f"{name}: {error}") from None
    q = np.zeros(tree.nq)
    if len(held):
        q[:3], q[3:7] = place.position, place.orientation
    tree.positions(q)[:] = mesh.vertices @ place.rotation.T + place.position
    speed = vector(velocity, 3, f"{name}: velocity")
    tree.velocities(q)[:] = speed
    mount = [np.concatenate([speed, np.zeros(3)])] if len(held) else []
    v = np.concatenate([*mount, np.tile(speed, len(touching))])
    number = len(world.trees)
    sphere = made(name, Geometry, Sphere(radius), Pose(), Material() if material is None else material)
    geometries: dict[str, list[Geometry]] = {f"{name}/mount": []} if len(held) else {}
    geometries |= {f"{name}/{vertex}": [sphere] for vertex in tree.contact}
    links = [Body(link, "link", shapes, tree=number, link=k) for k, (link, shapes) in enumerate(geometries.items())]
    first = world._append(*links)
    numbers = list(range(first, len(world.bodies)))
    world.trees.append(KinematicTree(name, tree, q, v, numbers, {}))
    vertices = [b for t in world.trees if isinstance(t.model, DeformableTree) for b in t.bodies]
    own = set(numbers)
    for i in own:  # vertices are points: they meet shapes, not each other
        for j in vertices:
            if i < j or (j not in own and i != j):
                world.disabled.add((min(i, j), max(i, j)))
    return number


def _vertices(numbers: ArrayLike, n: int, where: str) -> np.ndarray:
    try:
        found = np.unique(np.asarray(numbers, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.full(1, 0.5)
    if (found != np.floor(found)).any():
        raise WorldError(f"{where}: expected numbers of vertices, got {numbers!r:.80}")
    found = found.astype(np.int64)
    if found.size and not 0 <= found.min() <= found.max() < n:
        raise WorldError(f"{where}: expected vertices from 0 to {n - 1}, got {found.min()} to {found.max()}")
    return found
