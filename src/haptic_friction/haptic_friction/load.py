"""Friction of a contact under a normal force N: the law is scaled to F = mu N along the surfaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from haptic_files.moved_modules import renamed
from haptic_friction.errors import FrictionInputError
from haptic_friction.models.model import FrictionModel
from haptic_friction.tangential import pressing_basis

#: bound of the forces of contacts [N]
LARGEST_FORCE = 1e20

State = Mapping[str, np.ndarray]


def scale_law_by_normal_force(
    model: FrictionModel, normal_force: float, *, friction_coefficient: float, friction_force: float, state: State
) -> None:
    """Scales the model's law to the kinetic force mu N and sets rows of its state, all to zero without a normal force.

    Args:
        model: friction model whose law has the kinetic force `friction_force`.
        normal_force: N [N], not negative.
        friction_coefficient: mu.
        friction_force: F of the unscaled law [N], above 0.
        state: rows of the model's state to set, such as its elastic displacements along the surfaces.

    Raises:
        FrictionInputError: Phi_Z does not exist for the scaled law (15); nothing is changed.
    """
    try:
        model.set_load(friction_coefficient * normal_force / friction_force)
    except ValueError as error:
        raise FrictionInputError("unusable load", str(error)) from None
    if normal_force > 0.0:
        model.restore(state)
    else:
        model.clear()


def total_normal_force(normals: np.ndarray, forces: np.ndarray, *vectors: np.ndarray) -> float:
    """Sums the normal forces of surfaces, and makes vectors tangential to all surfaces with a normal force above 0.

    The normals need not be perpendicular to each other: the part of a vector in the space that they span is removed,
    see `haptic_friction.tangential.write_normal_basis`.

    Args:
        normals: unit normals, shape (m, 3).
        forces: normal force of each surface [N], shape (m,); a surface without a force above 0 does not count.
        vectors: vectors (3,), changed in place.

    Returns:
        N, the sum of the forces [N].
    """
    pressing = [force for force in np.asarray(forces).tolist() if force > 0.0]
    if not pressing:
        return 0.0
    for direction in pressing_basis(normals, forces):
        for vector in vectors:
            vector -= (direction @ vector) * direction
    return float(sum(pressing))


def mean_surface_velocity(forces: np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Averages velocities of surfaces, or velocities relative to them, weighted by the surfaces' normal forces.

    Args:
        forces: normal force of each surface [N], shape (m,).
        velocities: of the surfaces [m/s], shape (m, 3); empty if the surfaces are at rest.

    Returns:
        Mean velocity [m/s], shape (3,); zero without a normal force.
    """
    total = np.add.reduce(forces)
    return forces @ velocities / total if total > 0.0 and len(velocities) else np.zeros(3)


def contacts_of_body(contacts: Any, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Selects the contacts of one body of a simulated world.

    Args:
        contacts: contacts with the fields of haptic_msgs/ContactArray.
        body: number of the body.

    Returns:
        Normals towards the body (m, 3), normal forces (m,) [N], slip velocities of the body relative to the others
        (m, 3) [m/s].

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
    """Returns the normal force [N] of a distance constraint to a surface, the absolute value of its multiplier.

    Args:
        multipliers: of all constraints [N], shape (m,).
        number: number of the surface's constraint.

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
