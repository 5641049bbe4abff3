"""Forces on the virtual tool besides the hand's: contacts of a simulated world, friction.

The world takes the tool's reference as a prescribed body and solves its step with it. The resulting impulses act on the
tool in the next period: one tick of delay. Let the tool have the mass m, a body the mass M, and the contact between
them the stiffness k and the damping d. The world's step is implicit,

    p_n = k y_n + d (v_n - u_n),     M (u_n - u_(n-1)) = T p_n,     y_n = x_n - s_n,

and the tool's is symplectic Euler with that force, v_(n+1) = v_n - T p_n / m, x_(n+1) = x_n + T v_(n+1).
With h_m = k T^2/m, h_M = k T^2/M, e = d/(k T) the characteristic polynomial of both is

    (1 + h_M (1 + e)) z^2 + (h_m (1 + e) - h_M e - 2) z + 1 - h_m e = 0,

whose roots are inside the unit circle, by Jury's conditions, if and only if

    (k T^2 + 2 d T) (1/m - 1/M) < 4.                                                                        (a)

A tool that is not lighter than the body that it pushes is stable for every contact stiffness, a lighter one up to a
limit. For a fixed body M is infinite; a friction element on the tool that sticks with stiffness K and damping B is such
a body. One implicit step of both has no limit. Tested in test_external.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.display.placement import DisplayTransform

#: bound of `split_number` for a stable tool
SPLIT_LIMIT = 4.0


class ContactForces(Protocol):
    """Contacts of one step of a simulated world, with the fields of haptic_msgs/ContactArray; m contacts, world frame.

    Attributes:
        period: duration of the step [s].
        body_a, body_b: numbers of the two bodies of each contact, shape (m,).
        position: of the contact points [m], x, y, z of each point, shape (3 m,) or as an array (m, 3).
        normal: from a to b, likewise.
        normal_impulse: on b along the normal [N s], shape (m,).
        tangential_impulse: on b [N s], like `position`.
    """

    period: float
    body_a: Sequence[int] | np.ndarray
    body_b: Sequence[int] | np.ndarray
    position: Sequence[float] | np.ndarray
    normal: Sequence[float] | np.ndarray
    normal_impulse: Sequence[float] | np.ndarray
    tangential_impulse: Sequence[float] | np.ndarray


class FrictionForce(Protocol):
    """Friction at the tool point, with a field of haptic_msgs/FrictionState.

    Attributes:
        force: against the motion [N], base frame, shape (3,).
    """

    force: ArrayLike


class ExternalForces:
    """Computes the wrench of contacts and frictions on the tool.

    Args:
        body: number of the tool's body in the world.
        position: origin of the world in the display's base frame [m], shape (3,).
        orientation: of the world, world to base, quaternion (x, y, z, w).

    Raises:
        ValueError: wrong shape, or no unit quaternion.

    Examples:
        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> from admittance_constraints import ExternalForces
        >>> friction = SimpleNamespace(force=[2.0, 0.0, 0.0])  # against a motion along x
        >>> ExternalForces(body=1).wrench([], [friction], np.zeros(3)).tolist()
        [-2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self, body: int, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0)
    ) -> None:
        self.body = body
        self._place = DisplayTransform(position, orientation)

    def wrench(
        self, contacts: Iterable[ContactForces], frictions: Iterable[FrictionForce], point: np.ndarray
    ) -> np.ndarray:
        """Adds all contacts and frictions.

        Args:
            contacts: of the world, each one step.
            frictions: of dimension 3, axes of the base; they act at the tool point.
            point: the tool point (3,) [m], base frame.

        Returns:
            [force; moment] at the tool point (6,) [N; N m], base frame.

        Raises:
            ValueError: a friction of another dimension, or a number that is not finite.
        """
        place, total = self._place, np.zeros(6)
        for found in contacts:
            total += place.vector(contact_wrench(found, self.body, place.rotation.T @ (point - place.position)))
        for friction in frictions:
            total[:3] -= finite_vector("friction force", friction.force, 3)
        return finite_vector("external wrench", total, 6)


def contact_wrench(contacts: ContactForces, body: int, point: np.ndarray) -> np.ndarray:
    """Computes the mean wrench of all contacts of a body over a step of its world.

    Args:
        contacts: of one step.
        body: its number.
        point: reference point of the moment (3,) [m], world frame.

    Returns:
        [force; moment] on the body (6,) [N; N m], world frame.

    Examples:
        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> from admittance_constraints import contact_wrench
        >>> contacts = SimpleNamespace(
        ...     body_a=[0], body_b=[1], position=[0.5, 0.0, 0.0], normal=[0.0, 0.0, 1.0],
        ...     normal_impulse=[2.0], tangential_impulse=[0.0, 0.0, 0.0], period=0.5,
        ... )
        >>> contact_wrench(contacts, 1, np.zeros(3)).tolist()  # 4 N along z, at x = 0.5 m
        [0.0, 0.0, 4.0, 0.0, -2.0, 0.0]
    """
    wrench = np.zeros(6)
    x0, y0, z0 = point.tolist()
    normal, tangential, position = (
        values.ravel() if isinstance(values, np.ndarray) else values
        for values in (contacts.normal, contacts.tangential_impulse, contacts.position)
    )
    for k, (a, b) in enumerate(zip(contacts.body_a, contacts.body_b, strict=True)):
        if a != body and b != body:
            continue
        share, i = (1.0 if b == body else -1.0) / contacts.period, 3 * k  # arrays of a few numbers would cost more
        push = contacts.normal_impulse[k]
        fx = share * (push * normal[i] + tangential[i])
        fy = share * (push * normal[i + 1] + tangential[i + 1])
        fz = share * (push * normal[i + 2] + tangential[i + 2])
        x, y, z = position[i] - x0, position[i + 1] - y0, position[i + 2] - z0
        wrench += fx, fy, fz, y * fz - z * fy, z * fx - x * fz, x * fy - y * fx
    return wrench


def split_number(mass: float, stiffness: float, damping: float, period: float, body_mass: float = math.inf) -> float:
    """Computes the left side of (a), stable below `SPLIT_LIMIT`; negative if the tool is heavier than the body.

    Args:
        mass: of the tool m [kg].
        stiffness: of the contact k [N/m].
        damping: of the contact d [N s/m].
        period: T [s].
        body_mass: M [kg].

    Raises:
        ValueError: a number is out of its range; the message names it.

    Examples:
        >>> from admittance_constraints import SPLIT_LIMIT, split_number
        >>> split_number(mass=1.0, stiffness=1e3, damping=1.0, period=1e-3) < SPLIT_LIMIT
        True
    """
    m, T = finite_number("mass", mass, above=0.0), finite_number("period", period, above=0.0)
    k = finite_number("stiffness", stiffness, minimum=0.0)
    d = finite_number("damping", damping, minimum=0.0)
    if not body_mass > 0.0:
        raise ValueError(f"body_mass: expected a number above 0, got {body_mass}")
    return (k * T**2 + 2.0 * d * T) * (1.0 / m - 1.0 / body_mass)
