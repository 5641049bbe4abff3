"""Friction of a patch that slides and spins, by any of the models A to D.

A loaded patch resists sliding by a force and spinning about its normal by a torque; sliding reduces the torque, and
spinning the force. Its limit surface is close to an ellipsoid (Howe and Cutkosky, "Practical Force-Motion Models for
Sliding Manipulation", International Journal of Robotics Research 15, 1996). With r the ratio of the largest torque to
the largest force, and S = diag(1, 1, r), the law is

    [f; tau] = S Phi(S [v; omega]),

the gradient of a convex function, so friction dissipates f . v + tau omega >= 0. With v' = S v, f' = S^-1 f, e' = S e,
M' = S^-1 M S^-1 and the same for K and B, this is the model with matrices of the isotropic law Phi. Without
translations (``translations=0``) the element is friction of a rotation, tau = r Phi(r omega).

The exact force and torque of a round patch with uniform pressure lie within 7 % of the ellipsoid. For a motion between
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
from haptic_math.quantities import float_array

#: models by name, and the coefficients that each takes
MODELS: dict[str, tuple[type[FrictionModel], tuple[str, ...]]] = {
    "a": (ModelA, ("mass",)),
    "b": (ModelB, ("mass", "stiffness", "damping")),
    "c": (ModelC, ("stiffness", "damping")),
    "d": (ModelD, ("mass", "stiffness", "damping")),
}
#: units of the translational and the rotational coefficient
UNITS = {"mass": "kg, kg m^2", "stiffness": "N/m, N m/rad", "damping": "N s/m, N m s/rad"}
#: r over the radius of a round patch, by distribution of the pressure
RADII = {"uniform": 2.0 / 3.0, "hertz": 3.0 * math.pi / 16.0, "rim": 1.0}


def patch_radius(pressure: str, radius: float) -> float:
    """Returns the radius r [m] of a round patch, its largest torque over its largest force.

    Args:
        pressure: distribution: "uniform", r = 2/3 R; "hertz" (of a ball), 3 pi/16 R; "rim" (a ring), R.
        radius: R of the patch [m].

    Raises:
        ValueError: the distribution is unknown, or the radius is not positive.

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
        law: Phi, force [N] over speed [m/s].
        radius: r [m], see :func:`patch_radius`.
        period: T [s].
        translations: number of translations, 0, 1 or 2.
        **coefficients: `mass`, `stiffness`, `damping` of the model: two numbers (of translation, of rotation), or a
            symmetric matrix (n, n).

    Attributes:
        model: model in the scaled coordinates.
        radius: r [m].

    Raises:
        ValueError: a coefficient is missing, unknown, or out of its range.

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

    def __repr__(self) -> str:
        return f"TorsionalElement(radius={self.radius:g} m, in scaled coordinates {self.model!r})"

    def _scaled(self, name: str, value: ArrayLike) -> np.ndarray:
        """Returns a coefficient in scaled coordinates, S^-1 M S^-1."""
        n = len(self._scale)
        given = float_array(name, value, f"(2,) or ({n}, {n})")
        if given.shape == (2,):
            given = np.diag(np.append(np.full(n - 1, given[0]), given[1]))
        if given.shape != (n, n):
            raise ValueError(f"{name}: expected two numbers or a matrix ({n}, {n}), got shape {given.shape}")
        matrix = symmetric_matrix(name, given, UNITS[name], n, positive=name != "damping")
        return np.asarray(matrix / np.outer(self._scale, self._scale))

    @property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors of the model's input and output."""
        scale = self._scale
        return (scale, scale) if self.model.kind == "impedance" else (1.0 / scale, 1.0 / scale)

    def step(self, value: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            value: velocity of an impedance (B, C), force of an admittance (A, D), shape (n,).

        Returns:
            Force of an impedance, velocity of an admittance, shape (n,), with the signs of the model.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        before, after = self._factors
        return np.asarray(after * self.model.step(self._given(value) * before))

    def simulate(self, inputs: ArrayLike) -> np.ndarray:
        """Advances over inputs (m, n) in one compiled loop, with the same numbers as one `step` per row."""
        before, after = self._factors
        return np.asarray(
            after * self.model.simulate(float_array(self.model.input_name, inputs, f"(n, {len(self._scale)})") * before)
        )

    def _given(self, value: ArrayLike) -> np.ndarray:
        given = float_array(self.model.input_name, value, self._scale.shape)
        if given.shape != self._scale.shape:
            raise ValueError(f"{self.model.input_name}: expected shape {self._scale.shape}, got {given.shape}")
        return given

    def reset(self, **state: ArrayLike) -> None:
        """Starts again from velocities and displacements (n,), by the names of the model's own `reset`."""
        self.model.reset(**{name: self._given(value) * self._scale for name, value in state.items()})

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The model's state in scaled coordinates, for :meth:`restore`."""
        return self.model.state

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Sets the state to an earlier value of `state`."""
        self.model.restore(state)

    @property
    def friction_force(self) -> np.ndarray:
        """Force and torque [f; tau] of the last step [N], [N m], shape (n,)."""
        return np.asarray(self._scale * self.model.friction_force)

    @property
    def displacement(self) -> np.ndarray:
        """Elastic displacement and rotation [m], [rad], shape (n,)."""
        return np.asarray(self.model.displacement / self._scale)

    @property
    def sticking(self) -> bool:
        """True if the patch neither slid nor spun in the last step."""
        return self.model.sticking

    @property
    def dissipated_energy(self) -> float:
        """Work of friction since the reset [J]."""
        return self.model.dissipated_energy
