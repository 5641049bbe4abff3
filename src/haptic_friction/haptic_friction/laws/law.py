"""The base of the friction laws: coefficients, Phi, Phi_Z and the condition for its existence."""

from __future__ import annotations

import copy
import functools
import inspect
import math
from abc import ABC
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import projection
from haptic_math.quantities import finite_number, float_array

Law = TypeVar("Law", bound="FrictionLaw")

#: bound of the inputs [m/s], [N]; the square of larger ones could overflow
LARGEST = 1e100


def checked(name: str, value: float, unit: str, *, positive: bool = False) -> float:
    """Returns a finite number that is positive or not negative; raises ValueError that names any other."""
    expected = f"{'a finite number above 0' if positive else 'a finite number, not negative'} [{unit}]"
    return finite_number(name, value, minimum=0.0, above=0.0 if positive else None, expected=expected)


def checked_law(law: object) -> FrictionLaw:
    """Returns the law; raises ValueError that names the argument if it is no `FrictionLaw`."""
    if not isinstance(law, FrictionLaw):
        raise ValueError(f"law: expected a friction law such as CoulombLaw(4.0), got {law!r}")
    return law


@functools.cache  # asked at each assignment
def constructor_parameters(kind: type) -> tuple[str, ...]:
    """Returns the names of the arguments of a class of this library; for a user's subclass, of the class it extends."""
    library = __name__.partition(".")[0] + "."
    own = next(base for base in kind.__mro__ if base.__module__.startswith(library))
    return tuple(inspect.signature(own).parameters)


def fixed_attribute(owner: object, name: str) -> AttributeError:
    """Returns the error for an assignment to an argument of the constructor, which compiled code has already copied."""
    kind = type(owner).__name__
    return AttributeError(f"{name}: fixed when a {kind} is made; expected a new {kind}({name}=...)")


def symmetric_matrix(name: str, value: ArrayLike, unit: str, dimension: int, *, positive: bool = False) -> np.ndarray:
    """Returns a symmetric matrix (n, n), positive definite or semidefinite; raises ValueError that names any other."""
    kind = "definite" if positive else "semidefinite"
    expected = f"{name}: expected a symmetric, positive {kind} matrix [{unit}] of shape ({dimension}, {dimension})"
    matrix = float_array(name, value, f"({dimension}, {dimension})")
    if matrix.shape != (dimension, dimension) or not np.isfinite(matrix).all():
        raise ValueError(f"{expected}, got {matrix.tolist()}")
    if np.abs(matrix - matrix.T).max() > 1e-12 * np.abs(matrix).max():
        raise ValueError(f"{expected}, got one that is not symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    eigenvalues = np.linalg.eigvalsh(matrix)
    rounding = 1e-12 * max(float(eigenvalues[-1]), 0.0)
    if eigenvalues[0] < -rounding or (positive and not eigenvalues[0] > rounding):
        raise ValueError(f"{expected}, got eigenvalues {eigenvalues}")
    return matrix


class FrictionLaw(ABC):
    """A friction law Phi.

    Attributes:
        code: number of the closed form that `haptic_friction.laws.projection` evaluates.
        coefficients: of the closed form; the first is g(0), the breakaway force [N].
        slope_range: smallest and largest g' [N s/m] over all speeds above 0.
        forces: coefficients that are proportional to Phi; None where Phi cannot be scaled.

    Raises:
        AttributeError: an argument of the constructor is assigned to later; a law is fixed when it is made.

    Examples:
        >>> from haptic_friction import FrictionLaw, StribeckLaw
        >>> law: FrictionLaw = StribeckLaw(2.0, static_force=3.0, stribeck_velocity=0.1, viscosity=5.0)
        >>> law.breakaway_force, law.is_isotropic
        (3.0, True)
        >>> law.force([1.0]).round(6).tolist()  # 2 N, and 5 N s/m times 1 m/s
        [7.0]
    """

    code: int
    coefficients: np.ndarray
    slope_range: tuple[float, float]
    forces: np.ndarray | None = None
    _shown = "..."  # arguments in the text of `repr`

    def __setattr__(self, name: str, value: object) -> None:
        if "coefficients" in self.__dict__ and name in constructor_parameters(type(self)):
            raise fixed_attribute(self, name)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown})" + ".approximated()" * self.is_approximated

    @property
    def breakaway_force(self) -> float:
        """g(0) [N]: the largest static friction force (in the strongest direction)."""
        return float(self.coefficients[0])

    @property
    def kernel_code(self) -> int | None:
        """Code of the law in kernels; None for the closed form (53), (55), so that nothing else is compiled for it."""
        return None if self.code == projection.COULOMB_VISCOUS else self.code

    @property
    def is_isotropic(self) -> bool:
        """True if Phi(v) = g(|v|) v/|v|, the same in all directions."""
        return self.code & ~projection.APPROXIMATE != projection.ANISOTROPIC and not self.code & projection.ASYMMETRIC

    @property
    def is_approximated(self) -> bool:
        """True if Phi_Z is the closed-form approximation instead of the exact solution."""
        return bool(self.code & projection.APPROXIMATE)

    def approximated(self: Law) -> Law:
        """Returns the same law with Phi_Z by the closed-form approximation (46), (57) or, if anisotropic, (59).

        The approximation needs no iteration and exists for every Z; `accuracy` is a measure of its error. Its
        largest static force is g(s) at the root of g(s) = s/Z, instead of g(0).
        """
        law = copy.copy(self)
        law.code = self.code | projection.APPROXIMATE
        return law

    def magnitude(self, speed: float) -> float:
        """Returns g(s) [N] of an isotropic law at a speed s > 0 [m/s]."""
        return float(projection.magnitude(self.kernel_code, self.coefficients[None], 0, float(speed)))

    def slope(self, speed: float) -> float:
        """Returns g'(s) [N s/m] of an isotropic law at a speed s > 0 [m/s]."""
        return float(projection.slope(self.kernel_code, self.coefficients[None], 0, float(speed)))

    def force(self, velocity: ArrayLike) -> np.ndarray:
        """Evaluates Phi(v) [N] for v [m/s], shape (dimension,) or (n, dimension); zero at rest, where Phi is (51)."""
        v = self._vectors("velocity", velocity)
        result = np.empty_like(v)
        projection.evaluate_all(self.kernel_code, self.coefficients[None], v[None], result[None], (0.0,) * v.shape[1])
        return result[0] if np.ndim(velocity) < 2 else result

    def projected(self, x: ArrayLike, Z: ArrayLike) -> np.ndarray:
        """Evaluates Phi_Z(x) [N], eq. (52), shape (dimension,) or (n, dimension).

        For a matrix Z the result is the solution f of f = Phi(x - Z f), see `principal_axes`.

        Args:
            x: velocity-like argument [m/s], shape (dimension,) or (n, dimension).
            Z: inverse impedance of the model in use [m/(N s)], above 0: T/M for model A, T/(M + T B + T^2 K)
                for B, 1/(B + T K) for C, T/M + 1/(B + T K) for D; or a matrix, shape (dimension, dimension).

        Raises:
            ValueError: Z is not a finite number above 0, nor a symmetric, positive definite matrix, or Phi_Z does not
                exist for it, see `check_existence`.
        """
        argument = self._vectors("x", x)
        result, zero = np.empty_like(argument), (0.0,) * argument.shape[1]
        if np.ndim(Z):
            matrix = symmetric_matrix("Z", Z, "m/(N s)", argument.shape[1], positive=True)
            self.check_existence(matrix)
            axes = np.concatenate([part.ravel() for part in self.principal_axes(matrix)])[None]
            projection.project_along_axes(
                self.kernel_code, self.coefficients[None], argument[None], axes, result[None], zero
            )
            return result[0] if np.ndim(x) < 2 else result
        Z = checked("Z", float(np.asarray(Z)), "m/(N s)", positive=True)
        self.check_existence(Z)
        static = np.empty(len(argument), dtype=bool)
        projection.project_all(
            self.kernel_code, self.coefficients[None], argument[None], float(Z), result[None], static, zero
        )
        return result[0] if np.ndim(x) < 2 else result

    def principal_axes(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reduces a matrix Z to numbers z, shape (n,), along axes R, shape (n, n).

        f = R phi is the solution of f = Phi(x - Z f), where phi solves phi = Phi0(R^T x - diag(z) phi) with the
        isotropic law Phi0 of the coefficients. For an isotropic law R is orthogonal and Z = R diag(z) R^T.

        Args:
            Z: symmetric, positive definite [m/(N s)], shape (n, n).

        Raises:
            ValueError: the law is not isotropic, or approximated.
        """
        if not self.is_isotropic or self.is_approximated:
            kind = "an approximated" if self.is_approximated else "an anisotropic"
            raise ValueError(f"law: expected an isotropic law with an exact Phi_Z for matrices, got {kind} one")
        values, axes = np.linalg.eigh(Z)
        return values, axes

    def check_existence(self, Z: float | np.ndarray) -> None:
        """Refuses a Z for which Phi_Z is not unique: (15), (56) demand g'(s) > -1/Z at all speeds.

        For a matrix Z the condition is g'(s) > -1/z with the largest eigenvalue z. An approximated Phi_Z exists for
        every Z.

        Raises:
            ValueError: the condition is violated, then the message gives both numbers; or Z is 0, infinite or NaN.
        """
        if isinstance(Z, np.ndarray) and Z.ndim == 2:
            Z = float(np.linalg.eigvalsh(Z)[-1])
        if not 0.0 < Z < math.inf:
            raise ValueError(
                f"Z: expected a finite number above 0 [m/(N s)] from mass, stiffness, damping, period, got {Z}"
            )
        if not self.is_approximated and self.slope_range[0] * Z <= -1.0:
            raise ValueError(
                f"law: its steepest fall g' = {self.slope_range[0]:.6g} N s/m is not above -1/Z = {-1.0 / Z:.6g} "
                "N s/m, so Phi_Z does not exist (eq. (15)); expected a shorter period, a larger mass, or more "
                "stiffness or damping"
            )

    def accuracy(self, Z: float) -> float:
        """Returns Z max|g'|, which (48), (58) require to be far below 1 for the approximation to be valid."""
        return Z * max(abs(bound) for bound in self.slope_range)

    def approximation_error(self, x: float, Z: float) -> tuple[float, float]:
        """Returns the error of the approximation (46) at an argument along a line, and its estimate, eq. (47).

        Args:
            x: argument [m/s].
            Z: inverse impedance [m/(N s)].

        Returns:
            Error |Phi^_Z(x) - Phi_Z(x)| [N] and estimate Z |Phi_Z(x) Phi'(x)| [N]; where both slide they differ by
            O(Z^2).

        Raises:
            ValueError: Phi_Z does not exist for Z.
        """
        exact = abs(float(self.projected([x], Z)[0]))
        error = abs(abs(float(self.approximated().projected([x], Z)[0])) - exact)
        return error, Z * exact * abs(self.slope(abs(x)))

    def static_force_error(self, Z: float) -> tuple[float, float]:
        """Returns the error of the largest static force under the approximation (46), and its estimate, eq. (49).

        The approximation has the static force g(x0) with x0 = Z g(x0).

        Args:
            Z: inverse impedance [m/(N s)].

        Returns:
            Error |g(x0) - g(0)| [N] and estimate Z |g(x0) g'(0)| [N]; they differ by O(Z^2).

        Raises:
            ValueError: There is no x0 up to `LARGEST`, as for a law that rises as fast as x/Z.
        """
        g = self.magnitude
        high = max(Z * g(0.0), 1e-300)
        while g(high) * Z > high:
            high *= 2.0
            if high > LARGEST:
                raise ValueError(f"Z: expected one for which x = Z g(x) has a solution, got {Z}")
        low = 0.0  # x - Z g(x) is not above 0 here, and not below 0 at high
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if g(middle) * Z > middle else (low, middle)
        static = g(high)
        return abs(static - g(0.0)), Z * static * abs(self.slope(0.0))

    def check_dimension(self, dimension: int) -> None:  # noqa: B027 -- an isotropic law acts in any
        """Raises ValueError if the law is not defined in this dimension; an isotropic law is defined in all."""

    def _vectors(self, name: str, value: ArrayLike) -> np.ndarray:
        given = float_array(name, value, "(dimension,) or (n, dimension)")
        vectors = np.atleast_2d(np.require(given, requirements=["C", "W"]))
        if vectors.ndim != 2 or vectors.shape[1] < 1 or not (np.abs(vectors) < LARGEST).all():
            raise ValueError(
                f"{name}: expected finite numbers below {LARGEST:g} [m/s], shape (dimension,) or (n, dimension), "
                f"got {value!r}"
            )
        self.check_dimension(vectors.shape[1])
        return vectors
