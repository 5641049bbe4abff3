"""Friction of a patch that slides and spins, by any of the models A to D.

A patch that carries a load resists sliding by a force and spinning about its normal by a torque, and each weakens the
other. Its limit surface is close to an ellipsoid (Howe and Cutkosky, "Practical Force-Motion Models for Sliding
Manipulation", International Journal of Robotics Research 15, 1996). With the radius r that a torque has over the force
it belongs to, and S = diag(1, 1, r), the law is

    [f; tau] = S Phi(S [v; omega]),

the gradient of a convex function, so friction takes away f . v + tau omega >= 0. With v' = S v, f' = S^-1 f, e' = S e
and M' = S^-1 M S^-1 (K and B likewise) this is the model with matrices of the isotropic law Phi. With a radius alone
(``translations=0``) it is friction of a rotation, tau = r Phi(r omega).

The exact force and torque of a round patch with uniform pressure lie within 7 % of the ellipsoid; for a motion between
sliding and spinning they differ from those of the element by up to 15 % of the largest (`test/test_torsional.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked, symmetric_matrix
from haptic_friction.models.model import FrictionModel
from haptic_friction.models.model_a import ModelA
from haptic_friction.models.model_b import ModelB
from haptic_friction.models.model_c import ModelC
from haptic_friction.models.model_d import ModelD

#: models by name, and the coefficients that each takes
MODELS: dict[str, tuple[type[FrictionModel], tuple[str, ...]]] = {
    "a": (ModelA, ("mass",)),
    "b": (ModelB, ("mass", "stiffness", "damping")),
    "c": (ModelC, ("stiffness", "damping")),
    "d": (ModelD, ("mass", "stiffness", "damping")),
}
#: units of the translational and the rotational coefficient
UNITS = {"mass": "kg, kg m^2", "stiffness": "N/m, N m/rad", "damping": "N s/m, N m s/rad"}
#: radius of the torque over that of a round patch, by distribution of the pressure
RADII = {"uniform": 2.0 / 3.0, "hertz": 3.0 * math.pi / 16.0, "rim": 1.0}


def patch_radius(pressure: str, radius: float) -> float:
    """The radius r of a round patch: its largest torque over its largest force.

    Args:
        pressure: "uniform": 2/3 R; "hertz" (of a ball): 3 pi/16 R; "rim" (a ring): R.
        radius: R, m.

    Raises:
        ValueError: There is no such distribution, or the radius is not positive.

    Examples:
        >>> from haptic_friction import patch_radius
        >>> round(patch_radius("uniform", 0.03), 6)
        0.02
    """
    if pressure not in RADII:
        raise ValueError(f"pressure: expected one of {', '.join(RADII)}, got {pressure!r}")
    return RADII[pressure] * checked("radius", radius, "m", positive=True)


class TorsionalElement:
    """A friction element with translations and a rotation.

    Velocities are [v; omega] (n,), m/s and rad/s, forces [f; tau] (n,), N and N m, with n = translations + 1.

    Args:
        model: "a", "b", "c" or "d".
        law: Phi, of the force [N] over the speed [m/s].
        radius: r, m; see :func:`patch_radius`.
        period: T, s.
        translations: Their number, 0, 1 or 2.
        **coefficients: `mass`, `stiffness`, `damping` as the model takes them: two numbers (of translation, of
            rotation), or a symmetric matrix (n, n).

    Attributes:
        model: That of the scaled coordinates.
        radius: As given.

    Raises:
        ValueError: A coefficient is missing, unknown, or out of its range.

    Examples:
        >>> from haptic_friction import CoulombLaw, TorsionalElement
        >>> spring = {"stiffness": (1e4, 100.0), "damping": (0.0, 0.0)}
        >>> puck = TorsionalElement("c", CoulombLaw(2.0), radius=0.1, period=1e-3, **spring)
        >>> puck.step([0.3, 0.0, 4.0]).round(6).tolist()  # 3/5 and 4/5 of 2 N, the latter at 0.1 m
        [1.2, 0.0, 0.16]
    """

    def __init__(
        self,
        model: str,
        law: FrictionLaw,
        *,
        radius: float,
        period: float,
        translations: int = 2,
        **coefficients: ArrayLike,
    ) -> None:
        if model not in MODELS:
            raise ValueError(f"model: expected one of {', '.join(MODELS)}, got {model!r}")
        if translations not in (0, 1, 2):
            raise ValueError(f"translations: expected 0, 1 or 2, got {translations!r}")
        kind, names = MODELS[model]
        self.radius = checked("radius", radius, "m", positive=True)
        self._scale = np.append(np.ones(translations), self.radius)
        for name in (*names, *coefficients):
            if (name in names) != (name in coefficients):
                raise ValueError(f"{name}: expected {'one' if name in names else 'none'} for model {model.upper()}")
        scaled: dict[str, Any] = {name: self._scaled(name, value) for name, value in coefficients.items()}
        self.model = kind(law, period=period, dimension=len(self._scale), **scaled)  # type: ignore[call-arg]

    def _scaled(self, name: str, value: ArrayLike) -> np.ndarray:
        """S^-1 M S^-1 of a coefficient."""
        n = len(self._scale)
        given = np.asarray(value, dtype=float)
        if given.shape == (2,):
            given = np.diag(np.append(np.full(n - 1, given[0]), given[1]))
        if given.shape != (n, n):
            raise ValueError(f"{name}: expected two numbers or a matrix ({n}, {n}), got shape {given.shape}")
        matrix = symmetric_matrix(name, given, UNITS[name], n, positive=name != "damping")
        return np.asarray(matrix / np.outer(self._scale, self._scale))

    @property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the model's input and output."""
        scale = self._scale
        return (scale, scale) if self.model.kind == "impedance" else (1.0 / scale, 1.0 / scale)

    def step(self, value: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            value: Velocity of an impedance (B, C), force of an admittance (A, D), (n,).

        Returns:
            The force, or the velocity, (n,); signs as those of the model.

        Raises:
            ValueError: Wrong shape, or a number that is not finite; the state is unchanged.
        """
        before, after = self._factors
        return np.asarray(after * self.model.step(self._given(value) * before))

    def simulate(self, inputs: ArrayLike) -> np.ndarray:
        """The same numbers as a call of `step` for each row of inputs (m, n), compiled."""
        before, after = self._factors
        return np.asarray(after * self.model.simulate(np.asarray(inputs, dtype=float) * before))

    def _given(self, value: ArrayLike) -> np.ndarray:
        given = np.asarray(value, dtype=float)
        if given.shape != self._scale.shape:
            raise ValueError(f"{self.model.input_name}: expected shape {self._scale.shape}, got {given.shape}")
        return given

    def reset(self, **state: ArrayLike) -> None:
        """Starts again, from velocities and displacements (n,) that the model's own `reset` takes."""
        self.model.reset(**{name: self._given(value) * self._scale for name, value in state.items()})

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The model's state in scaled coordinates, for :meth:`restore`."""
        return self.model.state

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Sets the state to what `state` gave."""
        self.model.restore(state)

    @property
    def friction_force(self) -> np.ndarray:
        """[f; tau] of the last step (n,), N and N m."""
        return np.asarray(self._scale * self.model.friction_force)

    @property
    def displacement(self) -> np.ndarray:
        """Elastic displacement and twist (n,), m and rad."""
        return np.asarray(self.model.displacement / self._scale)

    @property
    def sticking(self) -> bool:
        """The patch neither slid nor spun in the last step."""
        return self.model.sticking

    @property
    def dissipated_energy(self) -> float:
        """Work of friction since the reset, J."""
        return self.model.dissipated_energy
