"""Model C, the compliant impedance-type friction model (Kikuuwe et al., section III-C, eq. (38)).

A contact that obeys a friction law Phi, in series with a spring K and a damper B. Input: the velocity
u of the free end; output: the force f that the element exerts against it (the body that moves with u
feels -f). Implicit Euler with period T gives, with Z = 1/(B + T K),

    v* = u + K e / (B + T K)          (38a)
    f  = Phi_Z(v*)                    (38b)
    e <- (B e + T f) / (B + T K)      (38c)

where e is the elastic displacement. The contact sticks while |v*| <= Z g(0); then e <- e + T u
exactly, and a force below g(0) moves nothing for good: the model does not drift.
What it is not: rigid. At rest it yields by f/K, and with a real device the product of K, B and the
loop's delay bounds the mass that it can hold without vibrating.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction import kernels
from haptic_friction.laws import FrictionLaw, _checked


class ModelC:
    """Friction element with compliance, velocity in, force out, eq. (38).

    Args:
        law: friction law Phi.
        stiffness: K [N/m], above 0.
        damping: B [N s/m], not negative.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Raises:
        ValueError: a parameter is out of its range; the message names it.
    """

    def __init__(
        self, law: FrictionLaw, *, stiffness: float, damping: float, period: float, dimension: int = 1
    ) -> None:
        if dimension < 1:
            raise ValueError(f"dimension: expected 1 or more, got {dimension}")
        self.law = law
        self.stiffness = _checked("stiffness", stiffness, "N/m", positive=True)
        self.damping = _checked("damping", damping, "N s/m")
        self.period = _checked("period", period, "s", positive=True)
        self.dimension = int(dimension)
        self._constants = (law.code, law.coefficients, self.stiffness, self.damping, self.period)
        self.reset()

    def reset(self, *, displacement: ArrayLike | None = None) -> None:
        """Starts again from an elastic displacement e [m], shape (dimension,); zero if not given."""
        start = np.zeros(self.dimension) if displacement is None else displacement
        self._displacement = self._vector("displacement", start).copy()
        self._force = np.zeros(self.dimension)
        self._sliding_velocity = np.zeros(self.dimension)
        self.sticking = True
        self.dissipated_energy = 0.0

    @property
    def displacement(self) -> np.ndarray:
        """Elastic displacement e [m], shape (dimension,), a copy."""
        return self._displacement.copy()

    @property
    def friction_force(self) -> np.ndarray:
        """Force f of the last step [N], shape (dimension,), a copy."""
        return self._force.copy()

    @property
    def sliding_velocity(self) -> np.ndarray:
        """Velocity v at the contact in the last step [m/s], exactly zero while sticking, a copy."""
        return self._sliding_velocity.copy()

    def step(self, velocity: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            velocity: u [m/s], shape (dimension,).

        Returns:
            Friction force f [N], shape (dimension,), in the direction of sliding.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        u = self._vector("velocity", velocity)
        self.sticking = kernels.step_model_c(
            *self._constants, u, self._displacement, self._force, self._sliding_velocity
        )
        if not self.sticking:
            self.dissipated_energy += self.period * float(self._force @ self._sliding_velocity)
        return self._force.copy()

    def simulate(self, velocities: ArrayLike) -> np.ndarray:
        """Advances over an array of inputs in one compiled loop.

        Args:
            velocities: u [m/s], shape (n, dimension).

        Returns:
            Friction forces f [N], shape (n, dimension): the same numbers as n calls of `step`.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        inputs = np.ascontiguousarray(velocities, dtype=float)
        if inputs.ndim != 2 or inputs.shape[1] != self.dimension:
            raise ValueError(f"velocities: expected shape (n, {self.dimension}), got {inputs.shape}")
        if not np.isfinite(inputs).all():
            raise ValueError("velocities: expected finite numbers [m/s]")
        forces = np.empty_like(inputs)
        if len(inputs):
            self.sticking, energy = kernels.simulate_model_c(
                *self._constants, inputs, self._displacement, forces, self._sliding_velocity
            )
            self.dissipated_energy += energy
            self._force[:] = forces[-1]
        return forces

    def _vector(self, name: str, value: ArrayLike) -> np.ndarray:
        vector = np.ascontiguousarray(value, dtype=float)
        if vector.shape != (self.dimension,):
            raise ValueError(f"{name}: expected shape ({self.dimension},), got {vector.shape}")
        if not math.isfinite(sum(vector.tolist())):
            raise ValueError(f"{name}: expected finite numbers, got {vector}")
        return vector
