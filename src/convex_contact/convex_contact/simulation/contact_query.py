"""Compiled query of a step's contacts, and the margins about the bodies in which it searches (see `dynamics`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.collision import broad_phase, contacts, narrow_phase
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.tree_kernels import find_twists

OWN_SPEED, OTHERS_SPEED = 1.5, 0.25  # factors of the speeds of the body itself and of the fastest body in the margin


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _bound(w: WorldRecord, b: int, linear: float, angular: float) -> float:
    """Returns an upper bound of the speed of a body's points and contact points, from the squares of its velocities."""
    reach = w.body_radius[b] + 0.5 * w.settings[broad_phase.THRESHOLD]
    return float(np.sqrt(linear) + np.sqrt(angular) * reach) if angular > 0 else float(np.sqrt(linear))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _bound_of_twist(w: WorldRecord, b: int, twists: np.ndarray, first: int) -> float:
    """Computes :func:`_bound` from the six numbers [v; omega] at `first` of flat twists."""
    linear = angular = 0.0
    for k in range(first, first + 3):
        linear += twists[k] ** 2
        angular += twists[k + 3] ** 2
    return float(_bound(w, b, linear, angular))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _start_speeds(w: WorldRecord, out: np.ndarray) -> None:
    """Writes the bounds of :func:`body_speeds` at the velocity for which the world was prepared."""
    twists = w.body_twist.reshape(-1)
    for b in range(len(w.body_tree)):
        out[b] = _bound_of_twist(w, b, twists, 6 * b)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def body_speeds(w: WorldRecord, velocity: np.ndarray, out: np.ndarray) -> None:
    """Writes upper bounds (nb,) of the speed of the bodies' points and contact points [m/s] at velocity (nv,)."""
    twists = w.body_twist.reshape(-1)
    for b in range(len(w.body_tree)):
        tree, link = w.body_tree[b], w.body_link[b]
        if tree < 0:
            out[b] = _bound_of_twist(w, b, twists, 6 * b)
        elif link < 0:
            out[b] = _bound_of_twist(w, b, velocity, w.tree_v[tree])
        elif w.link_dof[link] < 0:  # a link of a tree without kernels
            linear, angular, start = 0.0, 0.0, w.tree_v[tree]
            for k in range(6):
                s = 0.0
                for j in range(w.tree_v[tree + 1] - start):
                    s += w.link_jacobian[link, k, j] * velocity[start + j]
                if k < 3:
                    linear += s * s
                else:
                    angular += s * s
            out[b] = _bound(w, b, linear, angular)
    for tree in range(len(w.joint_start) - 1):
        _tree_speeds(w, tree, velocity, out)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _tree_speeds(w: WorldRecord, tree: int, velocity: np.ndarray, out: np.ndarray) -> None:
    """Computes :func:`body_speeds` for the links of a tree with kernels."""
    find_twists(w, tree, velocity)
    V, poses, origin = w.joint_twist, w.body_pose, w.tree_origin
    for j in range(w.joint_start[tree], w.joint_start[tree + 1]):
        b = w.joint_body[j]
        x, y, z = poses[b, 9] - origin[tree, 0], poses[b, 10] - origin[tree, 1], poses[b, 11] - origin[tree, 2]
        v0, v1, v2 = V[j, 3], V[j, 4], V[j, 5]
        u0, u1, u2 = V[j, 0] + v1 * z - v2 * y, V[j, 1] + v2 * x - v0 * z, V[j, 2] + v0 * y - v1 * x
        out[b] = _bound(w, b, u0 * u0 + u1 * u1 + u2 * u2, v0 * v0 + v1 * v1 + v2 * v2)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def predict_margins(w: WorldRecord, horizon: float) -> None:
    """Sets the margins of all bodies from their speeds before the step and in free motion.

    Args:
        w: the world.
        horizon: h s [s].
    """
    speeds = w.body_speed
    _start_speeds(w, speeds[0])
    body_speeds(w, w.v_star, speeds[1])
    fastest = 0.0
    for b in range(speeds.shape[1]):
        speeds[0, b] = max(speeds[0, b], speeds[1, b])
        if w.body_tree[b] >= 0:
            fastest = max(fastest, speeds[0, b])
    for b in range(speeds.shape[1]):
        if w.body_tree[b] >= 0:
            w.body_margin[b] = horizon * (OWN_SPEED * speeds[0, b] + OTHERS_SPEED * fastest)
        else:
            w.body_margin[b] = horizon * speeds[0, b]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def grow_margins(w: WorldRecord, velocity: np.ndarray, horizon: float) -> int:
    """Widens the margins that do not cover a velocity; returns their number."""
    speeds = w.body_speed
    body_speeds(w, velocity, speeds[0])
    short = 0
    for b in range(speeds.shape[1]):
        needed = horizon * speeds[0, b]
        if needed > w.body_margin[b] and w.body_margin[b] < w.settings[broad_phase.THRESHOLD]:
            w.body_margin[b] = OWN_SPEED * needed
            short += 1
    return short


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_contacts(w: WorldRecord, c: ContactRecord, find_faces: int) -> bool:
    """Finds pairs, points and all other data of contacts in one query; returns whether the arrays were large enough.

    Args:
        w: the world, with poses and margins of the bodies.
        c: output, the contacts.
        find_faces: see `narrow_phase.find_points`.
    """
    broad_phase.place_geometries(w)
    broad_phase.find_pairs(w)
    counters = w.counters
    counters[broad_phase.REQUIRED_CONTACTS] = 0
    if counters[broad_phase.REQUIRED_PAIRS] > w.pair.shape[0]:
        return False
    narrow_phase.find_points(w, c, find_faces)
    if counters[broad_phase.FAILED] or counters[broad_phase.REQUIRED_NATIVE] > w.native_gap.shape[0]:
        return False
    if counters[broad_phase.REQUIRED_CONTACTS] > c.phi0.shape[0]:
        return False
    contacts.complete(w, c)
    return True


#: modes of setting the margins in a query
KEPT, ALL_PAIRS, PREDICTED = range(3)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def collect_contacts(
    w: WorldRecord, c: ContactRecord, old: ContactRecord, find_faces: int, horizon: float, margins: int
) -> int:
    """Finds the contacts of the step and matches them with those of the last step.

    Args:
        w: the world.
        c: output, the contacts.
        old: contacts of the last step.
        find_faces: see `narrow_phase.find_points`.
        horizon: h s [s].
        margins: KEPT, ALL_PAIRS or PREDICTED.

    Returns:
        1 if the arrays were large enough, else 0.
    """
    if margins == ALL_PAIRS:
        w.body_margin[:] = 0.5 * w.settings[broad_phase.THRESHOLD]
    elif margins == PREDICTED:
        predict_margins(w, horizon)
    if not find_contacts(w, c, find_faces):
        return 0
    contacts.match(w, c, old)
    return 1
