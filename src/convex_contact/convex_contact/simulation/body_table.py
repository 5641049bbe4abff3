"""Positions and velocities of all bodies of a world at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import write_pose
from convex_contact.model.deformable import DeformableTree

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics


@njit(cache=True, nogil=True, error_model="numpy")
def _read_free_bodies(
    w: WorldRecord, numbers: np.ndarray, centers: np.ndarray, position: np.ndarray, orientation: np.ndarray,
    velocity: np.ndarray, angular_velocity: np.ndarray,
) -> None:  # fmt: skip
    """Writes the rows of the free bodies of these numbers, whose centres of mass lie there in their frames."""
    pose = np.empty(12)
    for k, b in enumerate(numbers):
        tree = w.body_tree[b]
        i, j = w.tree_q[tree], w.tree_v[tree]
        q, v = w.q[i : i + 7], w.v[j : j + 6]
        write_pose(pose, q)
        size = math.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
        for r in range(4):
            orientation[b, r] = q[3 + r] / size
        x, y, z = centers[k]
        lx = pose[0] * x + pose[1] * y + pose[2] * z
        ly = pose[3] * x + pose[4] * y + pose[5] * z
        lz = pose[6] * x + pose[7] * y + pose[8] * z
        position[b, 0], position[b, 1], position[b, 2] = q[0] - lx, q[1] - ly, q[2] - lz
        velocity[b, 0] = v[0] - (v[4] * lz - v[5] * ly)
        velocity[b, 1] = v[1] - (v[5] * lx - v[3] * lz)
        velocity[b, 2] = v[2] - (v[3] * ly - v[4] * lx)
        for r in range(3):
            angular_velocity[b, r] = v[3 + r]


class BodyTable:
    """Positions, orientations and velocities of all bodies, in the order of the world, read at once.

    Args:
        dynamics: Of the world.

    Attributes:
        position, velocity, angular_velocity: (n, 3), m, m/s and rad/s, of the bodies' frames in the world's axes.
        orientation: (n, 4), quaternions (x, y, z, w).
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
        self._links = [i for i, body in enumerate(world.bodies) if body.kind == "link" and i not in vertices]
        self.orientation[sorted(vertices), 3] = 1.0
        self._prescribed = [i for i, body in enumerate(world.bodies) if body.kind == "prescribed"]
        self._centers = np.array([world.bodies[i].center for i in free]).reshape(-1, 3)
        for i, body in enumerate(world.bodies):
            if body.kind == "fixed":
                self._write(i)

    def _write(self, number: int) -> None:
        state = self._dynamics.state(number)
        self.position[number], self.orientation[number] = state.position, state.orientation
        self.velocity[number], self.angular_velocity[number] = state.velocity, state.angular_velocity

    def read(self) -> BodyTable:
        """Takes the present state."""
        a = self._dynamics.arrays
        _read_free_bodies(
            a.record, self._free, self._centers, self.position, self.orientation, self.velocity, self.angular_velocity
        )
        for number in self._links:
            self._write(number)
        for t in self._deformables:
            tree = self._dynamics.world.trees[t]
            count = len(tree.model.contact)
            numbers = tree.bodies[len(tree.bodies) - count :]  # without the mount
            self.position[numbers] = tree.model.positions(a.q[a.tree_q[t] : a.tree_q[t + 1]])[tree.model.contact]
            self.velocity[numbers] = a.v[a.tree_v[t + 1] - 3 * count : a.tree_v[t + 1]].reshape(count, 3)
        for number in self._prescribed:  # their frames are their poses
            pose, twist = a.body_pose[number], a.body_twist[number]
            self.position[number], self.orientation[number] = pose[9:], pin.Quaternion(pose[:9].reshape(3, 3)).coeffs()
            self.velocity[number], self.angular_velocity[number] = twist[:3], twist[3:]
        return self
