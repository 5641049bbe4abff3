"""Positions and velocities of all bodies of a world at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import write_pose, write_quaternion
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.tree_kernels import place_links
from haptic_math.array_assignment import assign

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics


class BodyLists(NamedTuple):
    """Bodies of a world whose states compiled code reads.

    Attributes:
        free: numbers of the free bodies (n,).
        free_centers: their centres of mass in their frames (n, 3) [m].
        posed: numbers of the links, then of the prescribed bodies (m,).
        centers: like `free_centers`; 0 for prescribed bodies, whose frames are their poses.
    """

    free: np.ndarray
    free_centers: np.ndarray
    posed: np.ndarray
    centers: np.ndarray


class BodyColumns(NamedTuple):
    """States of all bodies: of their frames, in the world's axes.

    Attributes:
        position: (n, 3) [m].
        orientation: quaternions (x, y, z, w) (n, 4), body to world.
        velocity: (n, 3) [m/s].
        angular_velocity: (n, 3) [rad/s].
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _write_row(
    pose: np.ndarray, twist: np.ndarray, center: np.ndarray, b: int, position: np.ndarray, velocity: np.ndarray,
    angular_velocity: np.ndarray,
) -> None:  # fmt: skip
    """Writes pose and velocities of the frame of body b, from pose and twist at its centre of mass."""
    x, y, z = center
    lx = pose[0] * x + pose[1] * y + pose[2] * z
    ly = pose[3] * x + pose[4] * y + pose[5] * z
    lz = pose[6] * x + pose[7] * y + pose[8] * z
    position[b, 0], position[b, 1], position[b, 2] = pose[9] - lx, pose[10] - ly, pose[11] - lz
    velocity[b, 0] = twist[0] - (twist[4] * lz - twist[5] * ly)
    velocity[b, 1] = twist[1] - (twist[5] * lx - twist[3] * lz)
    velocity[b, 2] = twist[2] - (twist[3] * ly - twist[4] * lx)
    for r in range(3):
        angular_velocity[b, r] = twist[3 + r]


@njit(cache=True, nogil=True, error_model="numpy")
def _read_free_bodies(
    w: WorldRecord, numbers: np.ndarray, centers: np.ndarray, position: np.ndarray, orientation: np.ndarray,
    velocity: np.ndarray, angular_velocity: np.ndarray,
) -> None:  # fmt: skip
    """Writes the rows of the free bodies with these numbers; centers are their centres of mass in their frames."""
    pose = np.empty(12)
    for k, b in enumerate(numbers):
        tree = w.body_tree[b]
        i, j = w.tree_q[tree], w.tree_v[tree]
        q, v = w.q[i : i + 7], w.v[j : j + 6]
        write_pose(pose, q)
        size = math.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
        for r in range(4):
            orientation[b, r] = q[3 + r] / size
        _write_row(pose, v, centers[k], b, position, velocity, angular_velocity)


@njit(cache=True, nogil=True, error_model="numpy")
def _read_posed(
    w: WorldRecord, numbers: np.ndarray, centers: np.ndarray, position: np.ndarray, orientation: np.ndarray,
    velocity: np.ndarray, angular_velocity: np.ndarray,
) -> None:  # fmt: skip
    """Writes the rows of links and prescribed bodies, whose `body_pose` and `body_twist` must be up to date."""
    for k, b in enumerate(numbers):
        pose, twist = w.body_pose[b], w.body_twist[b]
        write_quaternion(pose, orientation[b])
        _write_row(pose, twist, centers[k], b, position, velocity, angular_velocity)


@njit(cache=True, nogil=True, error_model="numpy")
def read_bodies(w: WorldRecord, bodies: BodyLists, out: BodyColumns) -> None:
    """Writes the rows of free bodies and links at the present q and v, in a world whose trees have kernels."""
    position, orientation, velocity, angular = out
    _read_free_bodies(w, bodies.free, bodies.free_centers, position, orientation, velocity, angular)
    for tree in range(len(w.joint_start) - 1):
        if w.joint_start[tree] < w.joint_start[tree + 1]:
            place_links(w, tree)
    _read_posed(w, bodies.posed, bodies.centers, position, orientation, velocity, angular)


@njit(cache=True, nogil=True, error_model="numpy")
def _read_states(w: WorldRecord, q: np.ndarray, v: np.ndarray, bodies: BodyLists, out: BodyColumns) -> None:
    """Writes the rows in each of several states (n, nq), (n, nv), with one more axis in `out`; ends with the last."""
    for k in range(len(q)):
        assign(w.q, q[k])
        assign(w.v, v[k])
        state = BodyColumns(out.position[k], out.orientation[k], out.velocity[k], out.angular_velocity[k])
        read_bodies(w, bodies, state)


class BodyTable:
    """Positions, orientations and velocities of all bodies, in the order of the world, read at once.

    Args:
        dynamics: of the world.

    Attributes:
        position, orientation, velocity, angular_velocity: see :class:`BodyColumns`.
        columns: these four.
        lists: bodies that move.
    """

    def __init__(self, dynamics: WorldDynamics) -> None:
        self._dynamics = dynamics
        world = dynamics.world
        n = len(world.bodies)
        self.columns = BodyColumns(np.zeros((n, 3)), np.zeros((n, 4)), np.zeros((n, 3)), np.zeros((n, 3)))
        self.position, self.orientation, self.velocity, self.angular_velocity = self.columns
        free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
        self._deformables = [t for t, tree in enumerate(world.trees) if isinstance(tree.model, DeformableTree)]
        vertices = {i for t in self._deformables for i in world.trees[t].bodies if world.bodies[i].geometries}
        self.orientation[sorted(vertices), 3] = 1.0
        links = [i for i, body in enumerate(world.bodies) if body.kind == "link" and i not in vertices]
        prescribed = [i for i, body in enumerate(world.bodies) if body.kind == "prescribed"]
        self._trees = sorted({int(dynamics.arrays.body_tree[i]) for i in links})
        centers = np.zeros((len(links) + len(prescribed), 3))
        centers[: len(links)] = [world.bodies[i].center for i in links] or np.zeros((0, 3))
        self.lists = BodyLists(
            np.array(free, dtype=np.int64), np.array([world.bodies[i].center for i in free]).reshape(-1, 3),
            np.array(links + prescribed, dtype=np.int64), centers,
        )  # fmt: skip
        for i, body in enumerate(world.bodies):
            if body.kind == "fixed":
                state = dynamics.state(i)
                self.position[i], self.orientation[i] = state.position, state.orientation

    def read(self) -> BodyTable:
        """Updates the table from the present state, and returns it."""
        a, lists, columns = self._dynamics.arrays, self.lists, self.columns
        if len(lists.free):
            _read_free_bodies(a.record, lists.free, lists.free_centers, *columns)
        for t in self._trees:
            self._dynamics.write_links(t)
        if len(lists.posed):
            _read_posed(a.record, lists.posed, lists.centers, *columns)
        for t in self._deformables:
            tree = self._dynamics.world.trees[t]
            count = len(tree.model.contact)
            numbers = tree.bodies[len(tree.bodies) - count :]  # without the mount
            self.position[numbers] = tree.model.positions(a.q[a.tree_q[t] : a.tree_q[t + 1]])[tree.model.contact]
            self.velocity[numbers] = a.v[a.tree_v[t + 1] - 3 * count : a.tree_v[t + 1]].reshape(count, 3)
        return self

    def read_states(self, q: np.ndarray, v: np.ndarray) -> BodyColumns:
        """Returns the states of the bodies in several states, in a world whose trees have kernels.

        Args:
            q: coordinates (n, nq), the last ones the present ones.
            v: velocities (n, nv), likewise.

        Returns:
            Columns with one more axis in front, of length n.
        """
        out = BodyColumns(*(np.repeat(column[None], len(q), axis=0) for column in self.columns))
        _read_states(self._dynamics.arrays.record, q, v, self.lists, out)
        return out
