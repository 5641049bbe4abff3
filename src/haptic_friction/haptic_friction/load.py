"""Friction of a contact that presses: F = mu N along the surfaces, from what pushes the tool. No ROS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from haptic_core.errors import InputError
from haptic_core.messages import LARGEST


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


def carried(forces: np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Velocity (3,) [m/s] of surfaces that move, their mean by force; zero where none pushes.

    Args:
        forces: with which each pushes (m,) [N].
        velocities: of the surfaces (m, 3) [m/s]; none: they are at rest.
    """
    load = forces.sum()
    return forces @ velocities / load if load > 0.0 and len(velocities) else np.zeros(3)


def contacts_of(contacts: Any, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What presses on one body of a simulated world.

    Args:
        contacts: with the fields of haptic_msgs/ContactArray.
        body: its number.

    Returns:
        Normals towards it (m, 3), normal forces (m,) [N], its slip velocities against the others (m, 3) [m/s].

    Raises:
        InputError: the impulses over the period are no forces that there are.
    """
    on_b = np.asarray(contacts.body_b) == body
    mine = on_b | (np.asarray(contacts.body_a) == body)
    sign = np.where(on_b, 1.0, -1.0)[mine, None]
    normals, slips = (np.asarray(values).reshape(-1, 3)[mine] for values in (contacts.normal, contacts.slip_velocity))
    with np.errstate(over="ignore"):
        forces = np.asarray(contacts.normal_impulse)[mine] / contacts.period
    if not (np.abs(forces) < LARGEST).all():
        period = contacts.period
        raise InputError(
            "unusable load", f"period: expected forces below {LARGEST:g} N, got impulses over {period:g} s"
        )
    return sign * normals, forces, sign * slips


def surface_force(multipliers: Any, number: int) -> float:
    """The load of a constraint that is stated as a distance from a surface: the size of its multiplier.

    Args:
        multipliers: of all constraints (m,) [N].
        number: of the surface's.

    Raises:
        InputError: there is no such constraint, or the number is not finite.
    """
    if not number < len(multipliers):
        raise InputError("wrong length", f"load_constraint: expected below {len(multipliers)}, got {number}")
    load = abs(float(multipliers[number]))
    if not math.isfinite(load):
        raise InputError("not finite", f"multiplier {number}: expected a finite number, got {load}")
    return load
