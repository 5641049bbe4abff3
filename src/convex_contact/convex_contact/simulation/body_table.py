"""Positions and velocities of all bodies of a world at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import write_pose, write_quaternion
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.tree_kernels import place_links

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics


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
def _read_states(
    w: WorldRecord, q: np.ndarray, v: np.ndarray, free: np.ndarray, free_centers: np.ndarray, posed: np.ndarray,
    centers: np.ndarray, position: np.ndarray, orientation: np.ndarray, velocity: np.ndarray,
    angular_velocity: np.ndarray,
) -> None:  # fmt: skip
    """Writes the rows of free bodies and links in each of several states (n, nq), (n, nv); ends with the last one."""
    for k in range(len(q)):
        w.q[:], w.v[:] = q[k], v[k]
        _read_free_bodies(w, free, free_centers, position[k], orientation[k], velocity[k], angular_velocity[k])
        for tree in range(len(w.joint_start) - 1):
            if w.joint_start[tree] < w.joint_start[tree + 1]:
                place_links(w, tree)
        _read_posed(w, posed, centers, position[k], orientation[k], velocity[k], angular_velocity[k])


class BodyTable:
    """Positions, orientations and velocities of all bodies, in the order of the world, read at once.

    Args:
        dynamics: of the world.

    Attributes:
        position, velocity, angular_velocity: of the bodies' frames in the world's axes (n, 3) [m, m/s, rad/s].
        orientation: quaternions (x, y, z, w) (n, 4).
    """

    def __init__(self, dynamics: WorldDynamics) -> None:
        self._dynamics = dynamics
        world = dynamics.world
        n = len(world.bodies)
        self.position, self.orientation = np.zeros((n, 3)), np.zeros((n, 4))
        self.velocity, self.angular_velocity = np.zeros((n, 3)), np.zeros((n, 3))
        free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
        self._free = np.array(free, dtype=np.int64)
        self._deformables = [t for t, tree in enumerate(world.trees) if isinstance(tree.model, DeformableTree)]
        vertices = {i for t in self._deformables for i in world.trees[t].bodies if world.bodies[i].geometries}
        self.orientation[sorted(vertices), 3] = 1.0
        self._free_centers = np.array([world.bodies[i].center for i in free]).reshape(-1, 3)
        links = [i for i, body in enumerate(world.bodies) if body.kind == "link" and i not in vertices]
        prescribed = [i for i, body in enumerate(world.bodies) if body.kind == "prescribed"]
        self._trees = sorted({int(dynamics.arrays.body_tree[i]) for i in links})
        self._posed = np.array(links + prescribed, dtype=np.int64)
        self._centers = np.zeros((len(self._posed), 3))  # 0 for prescribed bodies: their frames are their poses
        self._centers[: len(links)] = [world.bodies[i].center for i in links] or np.zeros((0, 3))
        for i, body in enumerate(world.bodies):
            if body.kind == "fixed":
                state = dynamics.state(i)
                self.position[i], self.orientation[i] = state.position, state.orientation

    def read(self) -> BodyTable:
        """Updates the table from the present state, and returns it."""
        a, columns = self._dynamics.arrays, (self.position, self.orientation, self.velocity, self.angular_velocity)
        if len(self._free):
            _read_free_bodies(a.record, self._free, self._free_centers, *columns)
        for t in self._trees:
            self._dynamics.write_links(t)
        if len(self._posed):
            _read_posed(a.record, self._posed, self._centers, *columns)
        for t in self._deformables:
            tree = self._dynamics.world.trees[t]
            count = len(tree.model.contact)
            numbers = tree.bodies[len(tree.bodies) - count :]  # without the mount
            self.position[numbers] = tree.model.positions(a.q[a.tree_q[t] : a.tree_q[t + 1]])[tree.model.contact]
            self.velocity[numbers] = a.v[a.tree_v[t + 1] - 3 * count : a.tree_v[t + 1]].reshape(count, 3)
        return self

    def read_states(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns the columns of the table in several states, in a world whose trees have kernels.

        Args:
            q: coordinates (n, nq), the last ones the present ones.
            v: velocities (n, nv), likewise.

        Returns:
            Positions (n, nb, 3), quaternions (n, nb, 4), velocities and angular velocities (n, nb, 3).
        """
        columns = (self.position, self.orientation, self.velocity, self.angular_velocity)
        out = tuple(np.repeat(column[None], len(q), axis=0) for column in columns)
        record = self._dynamics.arrays.record
        _read_states(record, q, v, self._free, self._free_centers, self._posed, self._centers, *out)
        return out
