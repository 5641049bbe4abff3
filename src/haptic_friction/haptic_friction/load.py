"""Friction of a contact under a normal force N: the law is scaled to F = mu N along the surfaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from haptic_files.moved_modules import renamed
from haptic_friction.errors import FrictionInputError
from haptic_friction.models.model import FrictionModel
from haptic_friction.tangential import normal_basis

#: forces of contacts [N] from here on are refused
LARGEST_FORCE = 1e20

State = Mapping[str, np.ndarray]


def scale_law_by_normal_force(
    model: FrictionModel, normal_force: float, *, friction_coefficient: float, friction_force: float, state: State
) -> None:
    """Scales the model's law to the kinetic force mu N, and sets its state; without a normal force the state is zero.

    Args:
        model: its law has the kinetic force `friction_force`.
        normal_force: N [N], not negative.
        friction_coefficient: mu.
        friction_force: F of the law that is scaled [N], above 0.
        state: of the model, with its elastic displacements along the surfaces.

    Raises:
        FrictionInputError: Phi_Z does not exist for the scaled law (15); nothing is changed.
    """
    try:
        model.set_load(friction_coefficient * normal_force / friction_force)
    except ValueError as error:
        raise FrictionInputError("unusable load", str(error)) from None
    model.restore(state if normal_force > 0.0 else {name: np.zeros_like(row) for name, row in state.items()})


def total_normal_force(normals: np.ndarray, forces: np.ndarray, *vectors: np.ndarray) -> float:
    """Sums the normal forces of surfaces, and makes vectors tangential to all surfaces that press.

    The surfaces' normals need not be perpendicular to each other: what is removed is the part of a vector in the space
    that they span, see `haptic_friction.tangential.normal_basis`.

    Args:
        normals: unit normals (m, 3).
        forces: normal force of each surface [N], shape (m,); a surface without a force above 0 does not count.
        vectors: (3,) each, changed in place.

    Returns:
        N, the sum of the forces [N].
    """
    pressing = np.asarray(forces) > 0.0
    if not pressing.any():
        return 0.0
    for direction in normal_basis(np.ascontiguousarray(normals, dtype=float)[pressing]):
        for vector in vectors:
            vector -= (direction @ vector) * direction
    return float(sum(np.asarray(forces)[pressing].tolist()))


def mean_surface_velocity(forces: np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Velocity (3,) [m/s] of surfaces that move, averaged with their normal forces; zero where none presses.

    Args:
        forces: normal force of each surface [N], shape (m,).
        velocities: of the surfaces [m/s], shape (m, 3); none: the surfaces are at rest.
    """
    total = forces.sum()
    return forces @ velocities / total if total > 0.0 and len(velocities) else np.zeros(3)


def contacts_of_body(contacts: Any, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Selects the contacts of one body of a simulated world.

    Args:
        contacts: with the fields of haptic_msgs/ContactArray.
        body: its number.

    Returns:
        Normals towards the body (m, 3), normal forces (m,) [N], its slip velocities against the others (m, 3) [m/s].

    Raises:
        FrictionInputError: an impulse over the period is not a force below `LARGEST_FORCE`.
    """
    on_b = np.asarray(contacts.body_b) == body
    mine = on_b | (np.asarray(contacts.body_a) == body)
    sign = np.where(on_b, 1.0, -1.0)[mine, None]
    normals, slips = (np.asarray(values).reshape(-1, 3)[mine] for values in (contacts.normal, contacts.slip_velocity))
    with np.errstate(over="ignore"):
        forces = np.asarray(contacts.normal_impulse)[mine] / contacts.period
    if not (np.abs(forces) < LARGEST_FORCE).all():
        raise FrictionInputError(
            "unusable load",
            f"period: expected forces below {LARGEST_FORCE:g} N, got impulses over {contacts.period:g} s",
        )
    return sign * normals, forces, sign * slips


def constraint_normal_force(multipliers: Any, number: int) -> float:
    """Normal force [N] of a constraint that is stated as a distance from a surface: the size of its multiplier.

    Args:
        multipliers: of all constraints (m,) [N].
        number: of the surface's constraint.

    Raises:
        FrictionInputError: there is no such constraint, or the multiplier is not finite.
    """
    if not number < len(multipliers):
        raise FrictionInputError("wrong length", f"load_constraint: expected below {len(multipliers)}, got {number}")
    force = abs(float(multipliers[number]))
    if not math.isfinite(force):
        raise FrictionInputError("not finite", f"multiplier {number}: expected a finite number, got {force}")
    return force


__getattr__ = renamed(
    __name__,
    {
        "press": "total_normal_force",
        "carried": "mean_surface_velocity",
        "contacts_of": "contacts_of_body",
        "surface_force": "constraint_normal_force",
    },
)
