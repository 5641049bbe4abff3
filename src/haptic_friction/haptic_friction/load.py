"""Friction of a contact that presses: F = mu N along the surfaces, from what pushes the tool. No ROS."""

from __future__ import annotations

from typing import Any

import numpy as np


def press(normals: np.ndarray, forces: np.ndarray, *vectors: np.ndarray) -> float:
    """The load of some surfaces, and vectors made tangential to all that push.

    Args:
        normals: unit normals (m, 3).
        forces: with which each pushes along its normal (m,) [N]; those that are not above 0 do nothing.
        vectors: (3,) each, changed in place: the parts along the pushing normals are taken out, one after the other.

    Returns:
        N, the sum of the forces [N].
    """
    load = 0.0
    for normal, force in zip(normals, forces, strict=True):
        if force > 0.0:
            load += float(force)
            for vector in vectors:
                vector -= (normal @ vector) * normal
    return load


def contacts_of(contacts: Any, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What presses on one body of a simulated world.

    Args:
        contacts: with the fields of haptic_msgs/ContactArray.
        body: its number.

    Returns:
        Normals towards it (m, 3), normal forces (m,) [N], its slip velocities against the others (m, 3) [m/s].
    """
    on_b = np.asarray(contacts.body_b) == body
    mine = on_b | (np.asarray(contacts.body_a) == body)
    sign = np.where(on_b, 1.0, -1.0)[mine, None]
    normals, slips = (np.asarray(values).reshape(-1, 3)[mine] for values in (contacts.normal, contacts.slip_velocity))
    return sign * normals, np.asarray(contacts.normal_impulse)[mine] / contacts.period, sign * slips
