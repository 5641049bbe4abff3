"""Contacts of a step: how far each body is looked around, and the query itself, compiled (see `dynamics`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.collision import broad_phase, contacts, narrow_phase
from convex_contact.model.arrays import ContactRecord, WorldRecord

OWN_SPEED, OTHERS_SPEED = 1.5, 0.25  # of the travel of the body itself and of the fastest body, into the margin


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def body_speeds(w: WorldRecord, velocity: np.ndarray, out: np.ndarray) -> None:
    """Upper bounds (nb,) of the speed of the bodies' points and contact points, m/s, at velocity (nv,)."""
    reach = 0.5 * w.settings[broad_phase.THRESHOLD]
    for b in range(w.body_tree.shape[0]):
        tree, link = w.body_tree[b], w.body_link[b]
        linear, angular = 0.0, 0.0
        if tree < 0:
            for k in range(3):
                linear += w.body_twist[b, k] ** 2
                angular += w.body_twist[b, 3 + k] ** 2
        elif link < 0:
            i = w.tree_v[tree]
            for k in range(3):
                linear += velocity[i + k] ** 2
                angular += velocity[i + 3 + k] ** 2
        else:
            start = w.tree_v[tree]
            for k in range(6):
                s = 0.0
                for j in range(w.tree_v[tree + 1] - start):
                    s += w.link_jacobian[link, k, j] * velocity[start + j]
                if k < 3:
                    linear += s * s
                else:
                    angular += s * s
        out[b] = np.sqrt(linear)
        if angular > 0:
            out[b] += np.sqrt(angular) * (w.body_radius[b] + reach)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def predict_margins(w: WorldRecord, travel: float) -> None:
    """Margins of all bodies from their speeds before the step and in free motion.

    Args:
        w: The world.
        travel: h s, s.
    """
    speeds = w.body_speed
    body_speeds(w, w.v, speeds[0])
    body_speeds(w, w.v_star, speeds[1])
    fastest = 0.0
    for b in range(speeds.shape[1]):
        speeds[0, b] = max(speeds[0, b], speeds[1, b])
        if w.body_tree[b] >= 0:
            fastest = max(fastest, speeds[0, b])
    for b in range(speeds.shape[1]):
        if w.body_tree[b] >= 0:
            w.body_margin[b] = travel * (OWN_SPEED * speeds[0, b] + OTHERS_SPEED * fastest)
        else:
            w.body_margin[b] = travel * speeds[0, b]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def grow_margins(w: WorldRecord, velocity: np.ndarray, travel: float) -> int:
    """Widens the margins that do not cover a velocity; returns how many these are."""
    speeds = w.body_speed
    body_speeds(w, velocity, speeds[0])
    short = 0
    for b in range(speeds.shape[1]):
        needed = travel * speeds[0, b]
        if needed > w.body_margin[b] and w.body_margin[b] < w.settings[broad_phase.THRESHOLD]:
            w.body_margin[b] = OWN_SPEED * needed
            short += 1
    return short


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_contacts(w: WorldRecord, c: ContactRecord) -> bool:
    """Geometry of one query: pairs, points and all that belongs to them. True if the arrays were large enough."""
    broad_phase.place_geometries(w)
    broad_phase.find_pairs(w)
    counters = w.counters
    counters[broad_phase.REQUIRED_CONTACTS] = 0
    if counters[broad_phase.REQUIRED_PAIRS] > w.pair.shape[0]:
        return False
    narrow_phase.find_points(w, c)
    if counters[broad_phase.FAILED] or counters[broad_phase.REQUIRED_NATIVE] > w.native_gap.shape[0]:
        return False
    if counters[broad_phase.REQUIRED_CONTACTS] > c.phi0.shape[0]:
        return False
    contacts.complete(w, c)
    return True


#: how a query sets the margins
KEPT, ALL_PAIRS, PREDICTED = range(3)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def collect_contacts(w: WorldRecord, c: ContactRecord, old: ContactRecord, travel: float, margins: int) -> bool:
    """Contacts of the step, matched with those of the step before. True if the arrays were large enough.

    Args:
        w: The world.
        c: The contacts to fill in.
        old: Those of the step before.
        travel: h s, s.
        margins: KEPT, ALL_PAIRS or PREDICTED.
    """
    if margins == ALL_PAIRS:
        w.body_margin[:] = 0.5 * w.settings[broad_phase.THRESHOLD]
    elif margins == PREDICTED:
        predict_margins(w, travel)
    if not find_contacts(w, c):
        return False
    contacts.match(w, c, old)
    return True
