"""Surfaces near a spherical tool, as planes for a controller that renders them.

Each shape of a nearby body has one point nearest to the sphere. With n the unit normal there, from
the body to the tool, x the signed distance between body and sphere, c the tool's centre and r its radius, the point is

    p = c - (r + x) n,       u = v_b + omega x (p - o)        velocity of the body's material there
    dx/dt = n . (v_tool - u)                                  exact, also while n rotates: the points are nearest
    w = 1/m + (I^-1 (p - p_c) x n) . ((p - p_c) x n)          inverse effective mass of a free body at p along n

w is that of a body by itself. Contacts with bodies that are not free reduce it. With these contacts c, as far as
their normal force is positive, and the stiffness k of each,

    w = J_p (A + sum dt^2 k J_c^T J_c)^-1 J_p^T               inverse effective mass over one step

with J_p and J_c the rows of the point and of the contacts along their normals, and A the body's mass matrix. Friction
is left out: a body that is pushed along its table slides in the end.

A shape that is rounded by the sphere's radius has no edges: p and n move without jumps when the tool does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from convex_contact.collision.broad_phase import THRESHOLD
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.bodies import rotation_entries
from convex_contact.model.world import World
from convex_contact.problem import checks
from convex_contact.simulation.dynamics import WorldDynamics, find_contacts
from haptic_files.moved_modules import RenamedMember
from haptic_math.array_assignment import assign, assign_rows

if TYPE_CHECKING:
    from convex_contact.simulation.body_table import BodyTable
    from convex_contact.simulation.simulator import Simulator

#: largest number of planes that a controller takes
MOST_PLANES = 32


class Planes(NamedTuple):
    """Surfaces near the tool, w of them.

    Attributes:
        key: identifier of the surface (w,): the number of the shape in the world.
        body: number of the body (w,).
        point: on the surface, nearest to the tool (w, 3) [m].
        normal: towards the tool (w, 3).
        signed_distance: between sphere and surface (w,) [m].
        velocity: of the body's material at the point (w, 3) [m/s].
        inverse_mass: inverse effective mass of a free body at the point along the normal (w,) [1/kg]; 0 for others.
    """

    key: np.ndarray
    body: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    signed_distance: np.ndarray
    velocity: np.ndarray
    inverse_mass: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_poses(w: WorldRecord, position: np.ndarray, orientation: np.ndarray, tool: np.ndarray) -> None:
    """Writes the poses of the query's bodies: those of the world, then the sphere."""
    n = position.shape[0]
    for b in range(n):
        x, y, z, s = orientation[b]
        r = rotation_entries(x, y, z, s)
        for i in range(9):
            w.body_pose[b, i] = r[i]
        for i in range(3):
            w.body_pose[b, 9 + i] = position[b, i]
    for i in range(3):
        w.body_pose[n, 9 + i] = tool[i]
    w.body_margin[:] = 0.5 * w.settings[THRESHOLD]


@njit(cache=True, nogil=True, error_model="numpy")
def _query(
    w: WorldRecord, c: ContactRecord, find_faces: int, position: np.ndarray, orientation: np.ndarray, tool: np.ndarray
) -> bool:
    """Finds the contacts of the sphere at a position; returns False if the arrays have no room for them."""
    _write_poses(w, position, orientation, tool)
    return find_contacts(w, c, find_faces)


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse_effective_mass(
    r: np.ndarray, n: np.ndarray, mass: float, rotation: np.ndarray, inverse_inertia: np.ndarray
) -> float:
    """Returns w of a free body; r (3,) [m] leads from its centre of mass to the point; the inertia has body axes."""
    moment = np.empty(3)
    moment[0], moment[1], moment[2] = (
        r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]
    )  # fmt: skip
    total = 1.0 / mass
    for i in range(3):
        for j in range(3):
            one = moment[0] * rotation[i] + moment[1] * rotation[3 + i] + moment[2] * rotation[6 + i]
            other = moment[0] * rotation[j] + moment[1] * rotation[3 + j] + moment[2] * rotation[6 + j]
            total += one * inverse_inertia[i, j] * other
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _describe(
    w: WorldRecord, c: ContactRecord, radius: float, velocity: np.ndarray, spin: np.ndarray,
    mass: np.ndarray, center: np.ndarray, inverse_inertia: np.ndarray,
) -> Planes:  # fmt: skip
    """Returns the planes of a query's contacts. All contacts are the sphere's, which is the last body."""
    n, sphere = c.count[0], w.body_pose.shape[0] - 1
    key, body = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.int32)
    point, normal, speed = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    distance, inverse_mass, r = np.empty(n), np.zeros(n), np.empty(3)
    for k in range(n):
        other = 0 if c.body[k, 1] == sphere else 1
        sign = 1.0 if other == 0 else -1.0
        b = c.body[k, other]
        key[k], body[k], distance[k] = c.geometry[k, other], b, c.phi0[k]
        pose, v, o = w.body_pose[b], velocity[b], spin[b]
        for i in range(3):
            normal[k, i] = sign * c.frame[k, 2, i]
            point[k, i] = w.body_pose[sphere, 9 + i] - (radius + distance[k]) * normal[k, i]
            r[i] = point[k, i] - pose[9 + i]
        speed[k, 0] = v[0] + o[1] * r[2] - o[2] * r[1]
        speed[k, 1] = v[1] + o[2] * r[0] - o[0] * r[2]
        speed[k, 2] = v[2] + o[0] * r[1] - o[1] * r[0]
        if mass[b] > 0.0:
            for i in range(3):
                r[i] -= pose[3 * i] * center[b, 0] + pose[3 * i + 1] * center[b, 1] + pose[3 * i + 2] * center[b, 2]
            inverse_mass[k] = _inverse_effective_mass(r, normal[k], mass[b], pose, inverse_inertia[b])
    return Planes(key, body, point, normal, distance, speed, inverse_mass)


@njit(cache=True, nogil=True, error_model="numpy")
def _reduce_inverse_masses(
    c: ContactRecord, gamma: np.ndarray, pose: np.ndarray, mass: np.ndarray, center: np.ndarray, inertia: np.ndarray,
    weight: float, body: np.ndarray, point: np.ndarray, normal: np.ndarray, inverse_mass: np.ndarray,
) -> None:  # fmt: skip
    """Reduces the inverse masses of planes by the active contacts of their bodies; weight is dt^2 [s^2]."""
    A, row, r = np.empty((6, 6)), np.empty(6), np.empty(3)
    for i in range(body.shape[0]):
        b = body[i]
        if mass[b] == 0.0:
            continue
        R, o = pose[b, :9].reshape(3, 3), np.empty(3)
        for k in range(3):
            o[k] = pose[b, 9 + k] + R[k, 0] * center[b, 0] + R[k, 1] * center[b, 1] + R[k, 2] * center[b, 2]
        A[:] = 0.0
        for k in range(3):
            A[k, k] = mass[b]
        assign_rows(A[3:, 3:], R @ inertia[b] @ R.T)
        supported = False
        for k in range(c.count[0]):
            one, two = c.body[k, 0], c.body[k, 1]
            other = two if one == b else one
            if (one != b and two != b) or mass[other] > 0.0 or gamma[k, 2] <= 0.0:
                continue
            supported = True
            for j in range(3):
                r[j], row[j] = c.point[k, j] - o[j], c.frame[k, 2, j]
            assign(row[3:], np.cross(r, row[:3]))
            A += weight * c.stiffness[k] * np.outer(row, row)
        if supported:
            for j in range(3):
                r[j], row[j] = point[i, j] - o[j], normal[i, j]
            assign(row[3:], np.cross(r, row[:3]))
            inverse_mass[i] = row @ np.linalg.solve(A, row)


class ToolPlanes:
    """Finds the planes of a world near a sphere, with its own list of contacts; does not change the world.

    Args:
        world: description of the world.
        radius: of the sphere [m].
        reach: signed distance below which surfaces are found [m].

    Raises:
        ValueError: a number is out of its range.
    """

    def __init__(self, world: World, *, radius: float, reach: float) -> None:
        self.radius = checks.number("radius", radius, above=0.0)
        query = World()
        for body in world.bodies:  # only the sphere is free, so there are no other pairs
            query.add_body(body.name, geometries=body.geometries, prescribed=True)
        surface = world.bodies[0].geometries[0].material if world.bodies and world.bodies[0].geometries else None
        query.add_sphere("\0tool", radius=self.radius, mass=1.0, material=surface)
        reach = checks.number("reach", reach, above=0.0)
        self._dynamics = WorldDynamics(query, period=1.0, threshold=reach, speculative=False)
        free = [body if body.kind == "free" else None for body in world.bodies]
        self._mass = np.array([0.0 if body is None else body.mass for body in free])
        self._center = np.array([body.center for body in world.bodies]).reshape(-1, 3)
        inverses = [np.zeros((3, 3)) if body is None else np.linalg.inv(body.inertia) for body in free]
        self._inertia = np.array(
            [b.inertia if moves else np.eye(3) for b, moves in zip(world.bodies, free, strict=True)]
        )
        self._inverse_inertia = np.array(inverses).reshape(-1, 3, 3)

    def find(self, bodies: BodyTable, tool: np.ndarray) -> Planes:
        """Returns the planes near a tool at (3,) [m] for a state of the bodies, in the world frame; ordered by shape.

        It returns at most the `MOST_PLANES` nearest planes.
        """
        d = self._dynamics
        while not _query(d.arrays.record, d.contacts.record, d.find_faces, bodies.position, bodies.orientation, tool):
            d.enlarge()
        found = _describe(
            d.arrays.record, d.contacts.record, self.radius, bodies.velocity, bodies.angular_velocity,
            self._mass, self._center, self._inverse_inertia,
        )  # fmt: skip
        if len(found.key) > MOST_PLANES:
            nearest = np.sort(np.argsort(found.signed_distance, kind="stable")[:MOST_PLANES])
            found = Planes(*(values[nearest] for values in found))
        return found

    def reduce_inverse_masses(self, planes: Planes, simulator: Simulator) -> None:
        """Reduces the inverse masses of planes, in place, by the contacts of the simulator's last step."""
        contacts, gamma = simulator.pressing
        d = self._dynamics  # contains the bodies' poses from `find`
        _reduce_inverse_masses(
            contacts, gamma, d.arrays.body_pose, self._mass, self._center, self._inertia, simulator.period**2,
            planes.body, planes.point, planes.normal, planes.inverse_mass,
        )  # fmt: skip

    bear = RenamedMember("reduce_inverse_masses")
