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

A tool that is not lighter than the body that it pushes is stable for every contact stiffness, a lighter tool up to a
limit. For a fixed body M is infinite. A sticking friction element on the tool, with stiffness K and damping B, acts as
a fixed body with k = K and d = B. One implicit step of tool and body would have no limit. Tested in test_external.py.
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
        normal: unit normals from a to b, with the shape of `position`.
        normal_impulse: impulses on b along the normal [N s], shape (m,).
        tangential_impulse: tangential impulses on b [N s], with the shape of `position`.
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
        force: friction force in the direction of sliding [N], base frame, shape (3,); -force acts on the tool.
    """

    force: ArrayLike


class ExternalForces:
    """Wrench of contacts and friction forces on the tool.

    Args:
        body: number of the tool's body in the world.
        position: origin of the world in the display's base frame [m], shape (3,).
        orientation: orientation of the world, world to base, quaternion (x, y, z, w).

    Raises:
        ValueError: wrong shape, or not a unit quaternion.

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
        if not isinstance(body, (int, np.integer)):
            raise ValueError(f"body: expected the number of a body, got {body!r}")
        self.body = body
        self._world = DisplayTransform(position, orientation)

    def wrench(
        self, contacts: Iterable[ContactForces], frictions: Iterable[FrictionForce], point: np.ndarray
    ) -> np.ndarray:
        """Adds the wrenches of all contacts and friction forces.

        Args:
            contacts: contacts of the world, one entry per step of the world.
            frictions: friction forces (3,) in the base frame; they act at the tool point.
            point: tool point [m], base frame, shape (3,).

        Returns:
            [force; moment] at the tool point (6,) [N; N m], base frame.

        Raises:
            ValueError: a friction of another dimension, or a number that is not finite.
        """
        total = np.zeros(6)
        for found in contacts:
            total += self._world.vector(contact_wrench(found, self.body, self._world.position_inside(point)))
        for friction in frictions:
            total[:3] -= finite_vector("friction force", friction.force, 3)
        return finite_vector("external wrench", total, 6)


def contact_wrench(contacts: ContactForces, body: int, point: np.ndarray) -> np.ndarray:
    """Computes the mean wrench of all contacts of a body over a step of its world.

    Args:
        contacts: contacts of one step.
        body: number of the body.
        point: reference point of the moment [m], world frame, shape (3,).

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
    force_x, force_y, force_z, moment_x, moment_y, moment_z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x0, y0, z0 = point.tolist()
    normal, tangential, position = (
        values.ravel() if isinstance(values, np.ndarray) else values
        for values in (contacts.normal, contacts.tangential_impulse, contacts.position)
    )
    for k, (a, b) in enumerate(zip(contacts.body_a, contacts.body_b, strict=True)):
        if a != body and b != body:
            continue
        rate, i = (1.0 if b == body else -1.0) / contacts.period, 3 * k  # arrays of a few numbers would cost more
        impulse = contacts.normal_impulse[k]
        fx = rate * (impulse * normal[i] + tangential[i])
        fy = rate * (impulse * normal[i + 1] + tangential[i + 1])
        fz = rate * (impulse * normal[i + 2] + tangential[i + 2])
        x, y, z = position[i] - x0, position[i + 1] - y0, position[i + 2] - z0
        force_x, force_y, force_z = force_x + fx, force_y + fy, force_z + fz
        moment_x, moment_y = moment_x + (y * fz - z * fy), moment_y + (z * fx - x * fz)
        moment_z += x * fy - y * fx
    return np.array((force_x, force_y, force_z, moment_x, moment_y, moment_z))


def lightest_tool(stiffness: float, damping: float, period: float, body_mass: float = math.inf) -> float:
    """Computes the mass m at which `split_number` is `SPLIT_LIMIT` [kg]: a lighter tool is unstable.

    Args:
        stiffness: stiffness k of the contact [N/m], above 0 where the damping is 0.
        damping: damping d of the contact [N s/m].
        period: T [s].
        body_mass: mass M of the body [kg].
    """
    return 1.0 / (SPLIT_LIMIT / split_number(1.0, stiffness, damping, period) + 1.0 / body_mass)


def split_number(mass: float, stiffness: float, damping: float, period: float, body_mass: float = math.inf) -> float:
    """Computes the left side of (a), stable below `SPLIT_LIMIT`; negative if the tool is heavier than the body.

    Args:
        mass: mass m of the tool [kg].
        stiffness: stiffness k of the contact [N/m].
        damping: damping d of the contact [N s/m].
        period: T [s].
        body_mass: mass M of the body [kg].

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
