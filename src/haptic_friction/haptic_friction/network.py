"""Small networks of bodies, springs and frictional contacts (Kikuuwe et al., section IV-A, Figs. 9 to 11).

Bodies move along one line or in a plane; each has a mass and may be tied to the wall by a spring. A
contact is an impedance element (model C, B, ...) between two bodies or a body and the base, whose velocity
is given. Every period, with the forces of the period before as in (60),

    v_i <- v_i + T/M_i (sum of contact forces on i - K_i x_i),   x_i <- x_i + T v_i,

then every element takes the new velocity of its first partner relative to its second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.batch import Batch
from haptic_friction.laws import checked
from haptic_friction.model import ImpedanceModel

#: partner of a contact that moves with the given velocity
BASE = -1


@dataclass(frozen=True)
class Body:
    """A body: mass M [kg], and stiffness of its spring to the wall [N/m]."""

    mass: float
    stiffness: float = 0.0


@dataclass(frozen=True)
class Contact:
    """A contact; its element takes the velocity of `first` less that of `second` (numbers of bodies, or BASE)."""

    first: int
    second: int
    element: ImpedanceModel


class ContactNetwork:
    """Bodies with frictional contacts on a moving base.

    Args:
        bodies: at least one.
        contacts: at least one; elements of one kind, dimension and period, see `Batch`.

    Attributes:
        elements: the contacts' elements as a batch.
        position, velocity: of the bodies [m], [m/s], shape (bodies, dimension).
        force: of the contacts [N], shape (contacts, dimension): on `first` acts -force, on `second` +force.
        relative_velocity: of the contacts [m/s], shape (contacts, dimension).

    Raises:
        ValueError: a number is out of its range, or a contact names a body that is not there.
    """

    def __init__(self, bodies: Sequence[Body], contacts: Sequence[Contact]) -> None:
        if not bodies or not contacts:
            raise ValueError(f"bodies, contacts: expected one or more each, got {len(bodies)} and {len(contacts)}")
        mass = [checked(f"mass of body {i}", body.mass, "kg", positive=True) for i, body in enumerate(bodies)]
        spring = [checked(f"stiffness of body {i}", body.stiffness, "N/m") for i, body in enumerate(bodies)]
        for place, contact in enumerate(contacts):
            if not isinstance(contact.element, ImpedanceModel):
                got = type(contact.element).__name__
                raise ValueError(f"contact {place}: expected an impedance model (velocity in, force out), got {got}")
            partners = (contact.first, contact.second)
            if contact.first == contact.second or not all(BASE <= partner < len(bodies) for partner in partners):
                raise ValueError(
                    f"contact {place}: expected two of BASE and bodies 0 to {len(bodies) - 1}, got {partners}"
                )
        self.elements = Batch([contact.element for contact in contacts])
        self.period, self.dimension = contacts[0].element.period, self.elements.dimension
        self._gain = self.period / np.array(mass)[:, None]
        self._stiffness = np.array(spring)[:, None]
        # rows: contacts; columns: bodies and the base; +1 for the first partner, -1 for the second
        self._incidence = np.zeros((len(contacts), len(bodies) + 1))
        for place, contact in enumerate(contacts):
            self._incidence[place, contact.first] = 1.0
            self._incidence[place, contact.second] = -1.0
        self.reset()

    def reset(self) -> None:
        """All at rest and relaxed."""
        n = len(self._gain)
        self.position, self.velocity = np.zeros((n, self.dimension)), np.zeros((n, self.dimension))
        self.force = np.zeros((len(self.elements), self.dimension))
        self.relative_velocity = np.zeros_like(self.force)
        self.elements.states[:] = 0.0
        self.elements.sticking[:] = True
        self.elements.dissipated_energy[:] = 0.0

    def step(self, base_velocity: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            base_velocity: u [m/s], shape (dimension,).

        Returns:
            Contact forces [N], shape (contacts, dimension).

        Raises:
            ValueError: wrong shape, or a number that is not finite; nothing is changed.
        """
        u = np.asarray(base_velocity, dtype=float)
        if u.shape != (self.dimension,) or not np.isfinite(u).all():
            raise ValueError(f"base_velocity: expected {self.dimension} finite numbers [m/s], got {base_velocity!r}")
        pull = -self._incidence[:, :-1].T @ self.force - self._stiffness * self.position
        self.velocity += self._gain * pull
        self.position += self.period * self.velocity
        self.relative_velocity = self._incidence @ np.vstack([self.velocity, u])
        self.force = self.elements.step(self.relative_velocity)
        return self.force
