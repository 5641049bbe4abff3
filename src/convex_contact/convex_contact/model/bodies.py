"""State and dynamics of rigid bodies.

A free body has seven coordinates, position of its centre of mass and quaternion (x, y, z, w), and six velocities,
[linear; angular] in the world frame. Its block of A is blkdiag(m I, R I_b R^T); its free-motion velocity has gravity,
the applied wrench and the gyroscopic moment -omega x (I omega), all explicit (symplectic Euler):

    v* = v0 + dt (g + f / m),      omega* = omega0 + dt I^-1 (tau - omega0 x I omega0).

An articulated tree is Pinocchio's: joint coordinates q and velocities v of its model. Joint damping D and springs
K (q - q_rest) are implicit, so that they add to A:

    A = M + armature + dt D + dt^2 K,      A v* = M v0 + dt (tau - h(q0, v0) - K (q0 - q_rest)).

A pose is twelve numbers: the rotation matrix row by row, then the position.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pinocchio as pin
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.tree_arrays import has_kernels
from haptic_files.moved_modules import renamed
from haptic_math.rotations import matrix_entries

FREE, ARTICULATED = 0, 1

Entries = tuple[float, ...]


#: the nine entries of the rotation matrix of a unit quaternion (x, y, z, w), row by row
rotation_entries = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(matrix_entries)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_pose(pose: np.ndarray, q: np.ndarray) -> None:
    """Writes the pose (12,) of coordinates (7,): position, quaternion (x, y, z, w), which is normalised."""
    s = 1.0 / np.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
    r = rotation_entries(q[3] * s, q[4] * s, q[5] * s, q[6] * s)
    for i in range(9):
        pose[i] = r[i]
    pose[9], pose[10], pose[11] = q[0], q[1], q[2]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_quaternion(pose: np.ndarray, out: np.ndarray) -> None:
    """Writes the quaternion (x, y, z, w) of a pose's rotation (12,), with the sign that Eigen chooses."""
    trace = pose[0] + (pose[4] + pose[8])
    if trace > 0.0:
        root = np.sqrt(trace + 1.0)
        scale = 0.5 / root
        out[3] = 0.5 * root
        out[0], out[1] = (pose[7] - pose[5]) * scale, (pose[2] - pose[6]) * scale
        out[2] = (pose[3] - pose[1]) * scale
        return
    i = 0
    if pose[4] > pose[0]:
        i = 1
    if pose[8] > pose[4 * i]:
        i = 2
    j = (i + 1) % 3
    k = (j + 1) % 3
    root = np.sqrt(pose[4 * i] - pose[4 * j] - pose[4 * k] + 1.0)
    scale = 0.5 / root
    out[i], out[3] = 0.5 * root, (pose[3 * k + j] - pose[3 * j + k]) * scale
    out[j] = (pose[3 * j + i] + pose[3 * i + j]) * scale
    out[k] = (pose[3 * k + i] + pose[3 * i + k]) * scale


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _rotated(r: Entries, m: Entries) -> Entries:
    """Returns R M R^T for symmetric M, nine entries each, row by row."""
    t = (
        r[0] * m[0] + r[1] * m[3] + r[2] * m[6], r[0] * m[1] + r[1] * m[4] + r[2] * m[7],
        r[0] * m[2] + r[1] * m[5] + r[2] * m[8], r[3] * m[0] + r[4] * m[3] + r[5] * m[6],
        r[3] * m[1] + r[4] * m[4] + r[5] * m[7], r[3] * m[2] + r[4] * m[5] + r[5] * m[8],
        r[6] * m[0] + r[7] * m[3] + r[8] * m[6], r[6] * m[1] + r[7] * m[4] + r[8] * m[7],
        r[6] * m[2] + r[7] * m[5] + r[8] * m[8],
    )  # fmt: skip
    xx, xy = t[0] * r[0] + t[1] * r[1] + t[2] * r[2], t[0] * r[3] + t[1] * r[4] + t[2] * r[5]
    xz, yy = t[0] * r[6] + t[1] * r[7] + t[2] * r[8], t[3] * r[3] + t[4] * r[4] + t[5] * r[5]
    yz, zz = t[3] * r[6] + t[4] * r[7] + t[5] * r[8], t[6] * r[6] + t[7] * r[7] + t[8] * r[8]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def prepare_free_bodies(w: WorldRecord, period: float) -> None:
    """Writes pose, twist, block of A and free-motion velocity of every free body, from q and v."""
    q, v, v_star, gravity, blocks, kind = w.q, w.v, w.v_star, w.gravity, w.A, w.tree_kind
    tree_q, tree_v, tree_body, masses = w.tree_q, w.tree_v, w.tree_body, w.mass
    inertias, inverses, poses, twists, wrenches = (
        w.inertia, w.inertia_inverse, w.body_pose, w.body_twist, w.body_wrench
    )  # fmt: skip
    for tree in range(kind.shape[0]):
        if kind[tree] != FREE:
            continue
        b, i, j, mass = tree_body[tree], tree_v[tree], tree_q[tree], masses[tree]
        s = 1.0 / np.sqrt(q[j + 3] ** 2 + q[j + 4] ** 2 + q[j + 5] ** 2 + q[j + 6] ** 2)
        r = rotation_entries(q[j + 3] * s, q[j + 4] * s, q[j + 5] * s, q[j + 6] * s)
        for k in range(9):
            poses[b, k] = r[k]
        for row in range(6):
            for column in range(6):
                blocks[tree, row, column] = 0.0  # a coupling may have filled it
        for k in range(3):
            poses[b, 9 + k] = q[j + k]
            twists[b, k], twists[b, 3 + k] = v[i + k], v[i + 3 + k]
            blocks[tree, k, k] = mass
            v_star[i + k] = v[i + k] + period * (gravity[k] + wrenches[b, k] / mass)
        m, h = inertias[tree], inverses[tree]
        entries = _rotated(r, (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]))
        inverse = _rotated(r, (h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8]))
        for k in range(9):
            blocks[tree, 3 + k // 3, 3 + k % 3] = entries[k]
        x, y, z = v[i + 3], v[i + 4], v[i + 5]
        hx = entries[0] * x + entries[1] * y + entries[2] * z
        hy = entries[3] * x + entries[4] * y + entries[5] * z
        hz = entries[6] * x + entries[7] * y + entries[8] * z
        tx = period * (wrenches[b, 3] - (y * hz - z * hy))
        ty = period * (wrenches[b, 4] - (z * hx - x * hz))
        tz = period * (wrenches[b, 5] - (x * hy - y * hx))
        v_star[i + 3] = x + inverse[0] * tx + inverse[1] * ty + inverse[2] * tz
        v_star[i + 4] = y + inverse[3] * tx + inverse[4] * ty + inverse[5] * tz
        v_star[i + 5] = z + inverse[6] * tx + inverse[7] * ty + inverse[8] * tz


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def rotate_quaternion(x: float, y: float, z: float, w: WorldRecord, rx: float, ry: float, rz: float) -> Entries:
    """Rotates a quaternion (x, y, z, w) by a rotation vector r [rad] in the world frame: exp(r/2) q, normalised."""
    half = 0.5 * np.sqrt(rx * rx + ry * ry + rz * rz)
    s = 0.5 * (1 - half * half / 6) if half < 1e-4 else 0.5 * np.sin(half) / half
    dx, dy, dz, dw = s * rx, s * ry, s * rz, np.cos(half)
    nx = dw * x + dx * w + dy * z - dz * y
    ny = dw * y - dx * z + dy * w + dz * x
    nz = dw * z + dx * y - dy * x + dz * w
    nw = dw * w - dx * x - dy * y - dz * z
    norm = np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    return nx / norm, ny / norm, nz / norm, nw / norm


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def rotate_quaternion_linearly(
    x: float, y: float, z: float, w: WorldRecord, rx: float, ry: float, rz: float
) -> Entries:
    """Rotates a quaternion (x, y, z, w) by r to first order: q + r q / 2, normalised.

    This is the paper's q0 + dt N(q0) v; its error is |r|^3 / 12 rad.
    """
    nx = x + 0.5 * (rx * w + ry * z - rz * y)
    ny = y + 0.5 * (-rx * z + ry * w + rz * x)
    nz = z + 0.5 * (rx * y - ry * x + rz * w)
    nw = w - 0.5 * (rx * x + ry * y + rz * z)
    norm = np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    return nx / norm, ny / norm, nz / norm, nw / norm


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def move(q: np.ndarray, velocity: np.ndarray, period: float, linear: bool) -> None:
    """Moves coordinates (7,) of a free body by a twist (6,) for a period [s]."""
    for k in range(3):
        q[k] += period * velocity[k]
    rx, ry, rz = period * velocity[3], period * velocity[4], period * velocity[5]
    if linear:
        q[3], q[4], q[5], q[6] = rotate_quaternion_linearly(q[3], q[4], q[5], q[6], rx, ry, rz)
    else:
        q[3], q[4], q[5], q[6] = rotate_quaternion(q[3], q[4], q[5], q[6], rx, ry, rz)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def move_free_bodies(w: WorldRecord, velocity: np.ndarray, period: float, linear: bool) -> None:
    """Moves the coordinates of every free body by the velocity (nv,) of the step."""
    for tree in range(w.tree_kind.shape[0]):
        if w.tree_kind[tree] == FREE:
            i, j = w.tree_q[tree], w.tree_v[tree]
            move(w.q[i : i + 7], velocity[j : j + 6], period, linear)


@dataclass
class ArticulatedTree:
    """A tree of joints, with Pinocchio for its kinematics and dynamics.

    Attributes:
        model: Pinocchio's model, with its root pose in the world.
        link_joints: joints whose bodies are bodies of the world, in the order of their links.
        damping: of each velocity coordinate (nv,) [N s/m or N m s/rad].
        stiffness: of a spring at each velocity coordinate (nv,) [N/m or N m/rad].
        rest: coordinates at which the springs are at rest (nq,).
        armature: inertia of the rotor reflected to the joint (nv,) [kg or kg m^2].
    """

    model: pin.Model
    link_joints: list[int]
    damping: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray
    armature: np.ndarray
    data: pin.Data = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.data = self.model.createData()

    @cached_property
    def has_kernels(self) -> bool:
        """Compiled code simulates the tree; Pinocchio does with planar joints, or springs at ball or free joints."""
        several = [joint for joint in list(self.model.joints)[1:] if joint.nv > 1]
        sprung = any(self.stiffness[joint.idx_v : joint.idx_v + joint.nv].any() for joint in several)
        return has_kernels(self.model) and not sprung

    def started(self, gravity: np.ndarray) -> ArticulatedTree:
        """Returns the tree of one simulation, under a gravity (3,) [m/s^2], with working memory of its own."""
        model = self.model
        if not np.array_equal(model.gravity.linear, gravity):
            model = model.copy()
            model.gravity.linear = gravity
        return replace(self, model=model)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Returns M + armature (nv, nv) at coordinates (nq,)."""
        upper = np.triu(pin.crba(self.model, self.data, q))
        return upper + np.triu(upper, 1).T + np.diag(self.armature)

    def prepare(
        self, q: np.ndarray, v: np.ndarray, effort: np.ndarray, period: float, A: np.ndarray, v_star: np.ndarray
    ) -> None:
        """Writes the block of A (nv, nv) and the free-motion velocity (nv,).

        Args:
            q: joint coordinates (nq,).
            v: joint velocities (nv,).
            effort: applied joint forces (nv,) [N or N m].
            period: dt [s].
            A: output, the block.
            v_star: output, the velocity.
        """
        mass = self.mass_matrix(q)
        bias = pin.nonLinearEffects(self.model, self.data, q, v)
        elongation = pin.difference(self.model, self.rest, q)
        A[:] = mass + np.diag(period * self.damping + period**2 * self.stiffness)
        v_star[:] = np.linalg.solve(A, mass @ v + period * (effort - bias - self.stiffness * elongation))

    def write_links(
        self, q: np.ndarray, v: np.ndarray, poses: np.ndarray, twists: np.ndarray, jacobians: np.ndarray
    ) -> None:
        """Writes poses (n, 12), twists (n, 6) and Jacobians (n, 6, nv) of the links, at their origins, world axes."""
        pin.computeJointJacobians(self.model, self.data, q)
        for i, joint in enumerate(self.link_joints):
            placement = self.data.oMi[joint]
            poses[i, :9], poses[i, 9:] = placement.rotation.ravel(), placement.translation
            jacobian = pin.getJointJacobian(self.model, self.data, joint, pin.LOCAL_WORLD_ALIGNED)
            jacobians[i, :, : self.model.nv] = jacobian.reshape(6, -1)  # (6,) for a tree with one joint
            twists[i] = jacobians[i, :, : self.model.nv] @ v

    def center(self, link: int) -> np.ndarray:
        """Returns the centre of mass (3,) [m] of a link in the frame of its pose."""
        return np.array(self.model.inertias[self.link_joints[link]].lever)

    def moved(self, q: np.ndarray, v: np.ndarray, period: float) -> np.ndarray:
        """Returns the coordinates (nq,) after a period [s] at velocity v (nv,), exact for rotations."""
        return np.asarray(pin.integrate(self.model, q, period * v))


__getattr__ = renamed(__name__, {"turned": "rotate_quaternion", "moved_linearly": "rotate_quaternion_linearly"})
