"""Reads and sets coordinates and velocities of a world in motion, whole or by tree."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.collision.broad_phase import PAIRS
from convex_contact.model.arrays import WorldArrays
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.names import number_of
from convex_contact.model.world import World, WorldError, vector
from haptic_files.moved_modules import RenamedMember


class StateAccess:
    """State of a world by name; :class:`~convex_contact.WorldDynamics` is one of these.

    The coordinates of a free body are the position of its centre of mass (3,), m, and its quaternion (x, y, z, w); its
    velocities are linear and angular along the world's axes. Trees have the coordinates of Pinocchio in the order of
    their joints, deformable bodies those of :class:`~convex_contact.model.deformable.DeformableTree`.

    Attributes:
        world: as given.
        arrays: all arrays; they belong to the library, which may change their names and their order.
    """

    world: World
    arrays: WorldArrays

    def coordinates(self, tree: int | str | None = None) -> np.ndarray:
        """Returns the coordinates of a tree, or of the whole world (nq,); a copy."""
        a = self.arrays
        if tree is None:
            return a.q.copy()
        t = self._tree(tree)
        return a.q[a.tree_q[t] : a.tree_q[t + 1]].copy()

    def velocities(self, tree: int | str | None = None) -> np.ndarray:
        """Returns the velocities of a tree, or of the whole world (nv,); a copy."""
        return self.arrays.v[slice(None) if tree is None else self._columns_of_tree(self._tree(tree))].copy()

    def set_state(self, coordinates: ArrayLike | None = None, velocities: ArrayLike | None = None) -> None:
        """Sets coordinates (nq,) and velocities (nv,) of the whole world; what is not given stays.

        Quaternions must be unit quaternions.

        Raises:
            WorldError: A length is wrong, or a number is not finite; nothing is changed.
        """
        a = self.arrays
        q = None if coordinates is None else vector(coordinates, len(a.q), "coordinates")
        v = None if velocities is None else vector(velocities, len(a.v), "velocities")
        if q is not None:
            a.q[:] = q
        if v is not None:
            a.v[:] = v

    place = RenamedMember("set_state")

    def columns(self, *, body: int | str | None = None, tree: int | str | None = None) -> slice:
        """Returns the slice of a tree, or of the tree that moves a body, among the world's velocities.

        Raises:
            WorldError: No tree moves the body, or there is no such tree.
        """
        if (body is None) == (tree is None):
            raise WorldError(f"body, tree: expected one of them, got {body!r} and {tree!r}")
        if tree is not None:
            return self._columns_of_tree(self._tree(tree))
        return self._columns_of_tree(self._moved_by(body))  # type: ignore[arg-type]

    def free_motion(self, body: int | str) -> tuple[np.ndarray, np.ndarray]:
        """Returns the block of A (n, n) and v* (n,) of the tree that moves a body, for couplings.

        They are views, which :meth:`WorldDynamics.prepare` writes and a coupling may change before the step is solved.

        Raises:
            WorldError: No tree moves the body.
        """
        tree = self._moved_by(body)
        columns = self._columns_of_tree(tree)
        n = columns.stop - columns.start
        return self.arrays.A[tree, :n, :n], self.arrays.v_star[columns]

    @cached_property
    def joint_places(self) -> dict[str, tuple[int, str]]:
        """The tree and the name within it of all joints of trees, by ``tree/joint``."""
        return {
            f"{tree.name}/{name}": (number, name)
            for number, tree in enumerate(self.world.trees)
            if hasattr(tree.model, "model")
            for name in list(tree.model.model.names)[1:]
        }

    @property
    def pair_count(self) -> int:
        """Number of pairs of geometries that the last query of contacts looked at."""
        return int(self.arrays.counters[PAIRS])

    def deformed(self, tree: int | str) -> np.ndarray:
        """Returns the positions of all vertices of a deformable body's mesh in the world (n, 3), m.

        Raises:
            WorldError: There is no such tree, or it is no deformable body.
        """
        number = self._tree(tree)
        described = self.world.trees[number]
        if not isinstance(described.model, DeformableTree):
            raise WorldError(f"{described.name}: expected a deformable body, got a tree of joints")
        return described.model.positions(self.coordinates(number))

    def _tree(self, tree: int | str) -> int:
        return number_of("tree", tree, self.world.trees)

    def _moved_by(self, body: int | str) -> int:
        number = self.world.number(body)
        described, tree = self.world.bodies[number], int(self.arrays.body_tree[number])
        if tree < 0:
            raise WorldError(f"{described.name}: expected a free body or a link, got a {described.kind} body")
        return tree

    def _columns_of_tree(self, tree: int) -> slice:
        return slice(int(self.arrays.tree_v[tree]), int(self.arrays.tree_v[tree + 1]))
