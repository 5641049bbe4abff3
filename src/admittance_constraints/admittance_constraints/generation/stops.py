"""Unilateral constraints: rigid stops that can push the tool but not pull it.

A stop i keeps a gap g_i(x) of the tool's task coordinates at or above zero by a force f_i along its gradient. Over each
period the force is constant, and gap and force are complementary at the end of the period:

    z_(k+1) = step(z_k, f_x + sum_i f_i dg_i/dx(x_k)),     0 <= f_i,   0 <= g_i(x_(k+1)),   f_i g_i(x_(k+1)) = 0.

This is Moreau's scheme with the gap at the level of positions. The tool reaches a stop without penetration. A stop
that closes removes the approaching velocity (inelastic impact), a stop that opens has no force. While a stop stays
closed the scheme is SHAKE, the symplectic Euler rule with a rigid constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.generation.reference import Reference
from admittance_constraints.generation.reference_generator import ReferenceGenerator
from admittance_constraints.model.definition import TASK

#: largest number of Newton steps; each reduces the error at least by the change of the gradients over a period
_NEWTON_LIMIT = 20
#: a gap that counts as rounding, in the unit of the gaps
_CLOSED = 1e-13
#: least eigenvalue of the stops' response over the largest
_REDUNDANT = 1e-9


@dataclass(frozen=True)
class Stop:
    """A unilateral constraint on the tool, g(x) >= 0.

    Attributes:
        name: name of the stop in errors.
        gap: function g of the task coordinates x (6,) [m] or [rad].
        gradient: function dg/dx of x, shape (6,).

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import Stop
        >>> floor = Stop.plane("floor", point=(0.0, 0.0, 0.1), normal=(0.0, 0.0, 2.0))
        >>> round(floor.gap(np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0])), 6)  # the tool is 0.2 m above it
        0.2
    """

    name: str
    gap: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def plane(cls, name: str, *, point: ArrayLike, normal: ArrayLike) -> Stop:
        """Returns a stop that keeps the tool point on the side of a plane to which its normal points.

        Args:
            name: name of the stop in errors.
            point: point on the plane [m], shape (3,).
            normal: vector of any length above 0, shape (3,).

        Raises:
            ValueError: a wrong shape, a number that is not finite, or a normal of length 0.
        """
        p, n = finite_vector("point", point, 3).copy(), finite_vector("normal", normal, 3)
        length = finite_number("length of normal", float(np.linalg.norm(n)), above=0.0)
        gradient = np.concatenate([n / length, np.zeros(3)])
        return cls(name, lambda x: float(gradient[:3] @ (x[:3] - p)), lambda x: gradient)

    @classmethod
    def rope(cls, name: str, *, anchor: ArrayLike, length: float) -> Stop:
        """Returns a stop that keeps the tool point within the length of a rope from its anchor.

        Args:
            name: name of the stop in errors.
            anchor: fixed end of the rope [m], shape (3,).
            length: length of the rope [m], above 0.

        Raises:
            ValueError: a wrong shape, a number that is not finite, or a length that is not above 0.
        """
        a, limit = finite_vector("anchor", anchor, 3).copy(), finite_number("length", length, above=0.0)

        def gradient(x: np.ndarray) -> np.ndarray:
            arm = x[:3] - a
            return np.concatenate([-arm / max(float(np.linalg.norm(arm)), 1e-12), np.zeros(3)])

        return cls(name, lambda x: limit - float(np.linalg.norm(x[:3] - a)), gradient)


@dataclass(frozen=True)
class StoppedReference:
    """Result of one step with stops.

    Attributes:
        reference: reference of the generator.
        force: f of each stop over the period, at least 0, (n,) [N] for gaps in metres, [N m] for gaps in radians.
        gap: g of each stop after the step (n,) [m] or [rad].

    Examples:
        >>> from admittance_constraints import Pendulum, ReferenceGenerator, Stop, StoppedGenerator
        >>> generator = ReferenceGenerator(Pendulum(), integrator="symplectic_euler", compiled=False)
        >>> wall = Stop.plane("wall", point=(0.0, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
        >>> result = StoppedGenerator(generator, [wall]).step([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        >>> result.force.round(6).tolist()  # the wall holds the pendulum against 2 N
        [2.0]
    """

    reference: Reference
    force: np.ndarray
    gap: np.ndarray


class StoppedGenerator:
    """A reference generator whose tool meets stops; for a few stops, of which any may be closed together.

    Args:
        generator: with the integrator "symplectic_euler" and without friction.
        stops: unilateral constraints; their gaps at the start are at or above 0.

    Raises:
        ValueError: another integrator, friction, no stops, two stops of one name, or a stop that is violated at the
            start.

    Examples:
        >>> from admittance_constraints import Pendulum, ReferenceGenerator, Stop, StoppedGenerator
        >>> generator = ReferenceGenerator(Pendulum(), z=[0.5], integrator="symplectic_euler", compiled=False)
        >>> stopped = StoppedGenerator(generator, [Stop.plane("wall", point=(0.0, 0.0, 0.0), normal=(1.0, 0.0, 0.0))])
        >>> for _ in range(500):
        ...     result = stopped.step()
        >>> float(abs(result.reference.z[0])) < 1e-9  # it swings to the wall and stays there
        True
    """

    def __init__(self, generator: ReferenceGenerator, stops: Sequence[Stop]) -> None:
        if not isinstance(generator, ReferenceGenerator):
            raise ValueError(f"generator: expected a ReferenceGenerator, got {generator!r}")
        if not np.iterable(stops) or not all(isinstance(stop, Stop) for stop in stops):
            raise ValueError(f"stops: expected a list of stops such as Stop.plane(...), got {stops!r}")
        if generator.integrator != "symplectic_euler":
            raise ValueError(f"integrator: expected symplectic_euler with stops, got {generator.integrator}")
        if generator.friction is not None:
            raise ValueError("friction: expected none with stops")
        names = [stop.name for stop in stops]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"stops: expected one or more of different names, got {names}")
        self.generator, self.stops = generator, tuple(stops)
        x = generator.task_position
        for stop in self.stops:
            finite_vector(f"gradient of stop {stop.name}", stop.gradient(x), TASK)
            if not finite_number(f"gap of stop {stop.name}", stop.gap(x)) >= -1e-9:
                raise ValueError(f"stop {stop.name}: expected a gap of 0 or more at the start, got {stop.gap(x):.3g}")

    def __repr__(self) -> str:
        return f"StoppedGenerator({self.generator!r}, stops: {', '.join(stop.name for stop in self.stops)})"

    def step(self, task_force: ArrayLike | None = None) -> StoppedReference:
        """Advances one period under the user's force.

        Args:
            task_force: f_x of the user on the tool (6,), dual to x [N; N m]; zero if not given.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
            SingularConfigurationError: the equations are singular, or no force on the tool keeps a stop; the state is
                unchanged.
        """
        user = np.zeros(TASK) if task_force is None else finite_vector("task_force", task_force, TASK)
        start, x = self.generator.state, self.generator.task_position
        gradients = np.array([stop.gradient(x) for stop in self.stops])

        def attempt(force: np.ndarray) -> tuple[Reference, np.ndarray]:
            self.generator.restore(start)
            reference = self.generator.step(user + force @ gradients)
            return reference, np.array([stop.gap(reference.x) for stop in self.stops])

        force = np.zeros(len(self.stops))
        try:
            reference, gap = attempt(force)
            if gap.min() >= 0.0:
                return StoppedReference(reference, force, gap)
            moved = np.column_stack([attempt(unit)[0].x - reference.x for unit in np.eye(len(force))])
            response = gradients @ moved  # of the gaps per unit of force
            for _ in range(_NEWTON_LIMIT):
                force = self._complementary(response, gap - response @ force)
                reference, gap = attempt(force)
                if np.abs(np.minimum(gap, force)).max() <= _CLOSED:
                    return StoppedReference(reference, force, gap)
        except SingularConfigurationError:
            self.generator.restore(start)
            raise
        if np.abs(np.minimum(gap, force)).max() <= 1e-9:  # rounding of gaps far from the base
            return StoppedReference(reference, force, gap)
        self.generator.restore(start)
        worst = self.stops[int(np.argmin(np.minimum(gap, force)))].name
        raise SingularConfigurationError(f"stop {worst}: no force on the tool keeps it; the state is unchanged")

    @staticmethod
    def _complementary(response: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Returns f with 0 <= f, 0 <= response f + gap and f (response f + gap) = 0, shapes (n,), (n, n), (n,).

        The response is symmetric and positive semidefinite, so f minimises f^T response f/2 + gap^T f over f >= 0. A
        least eigenvalue makes the forces of redundant stops unique.
        """
        values, vectors = np.linalg.eigh(0.5 * (response + response.T))
        if not values[-1] > 0.0:
            return np.zeros(len(gap))
        root = np.sqrt(np.maximum(values / values[-1], _REDUNDANT))[:, None] * vectors.T
        target = np.linalg.solve(root.T, gap / values[-1])
        return np.asarray(scipy.optimize.nnls(root, -target)[0])
