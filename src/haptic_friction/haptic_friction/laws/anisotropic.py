"""The anisotropic law, whose force depends on the direction."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import projection
from haptic_friction.laws.law import FrictionLaw


class AnisotropicLaw(FrictionLaw):
    """Phi(v) = S v/|v| + V v with friction tensors S and V.

    The static set F, eq. (50), is the ellipsoid of S. Phi_Z is exact where S and V have common principal
    axes, as for a scalar V. Otherwise the paper does not guarantee existence and uniqueness, and only the
    approximation (59) is available: `AnisotropicLaw(S, viscosity=V, exact=False)`.

    Args:
        force_tensor: S [N], shape (n, n), symmetric, positive definite.
        viscosity: V [N s/m], a number or shape (n, n), symmetric, positive semidefinite.
        exact: False gives the law with the approximation (59), see `approximated`.

    Examples:
        >>> from haptic_friction import AnisotropicLaw
        >>> AnisotropicLaw([[1.0, 0.0], [0.0, 2.0]]).force([0.0, 0.1]).tolist()
        [0.0, 2.0]
    """

    code = projection.ANISOTROPIC

    def __init__(self, force_tensor: ArrayLike, *, viscosity: ArrayLike = 0.0, exact: bool = True) -> None:
        S = _symmetric("force_tensor", force_tensor)
        self.dimension = n = len(S)
        V = _symmetric("viscosity", viscosity if np.ndim(viscosity) else np.multiply(viscosity, np.eye(n)))
        if V.shape != S.shape:
            raise ValueError(f"viscosity: expected shape {S.shape} or a number, got {V.shape}")
        forces = np.linalg.eigvalsh(S)
        if not forces[0] > 0.0:
            raise ValueError(f"force_tensor: expected positive eigenvalues [N], got {forces}")
        viscosities = np.linalg.eigvalsh(V)
        if viscosities[0] < -1e-12 * max(1.0, viscosities[-1]):
            raise ValueError(f"viscosity: expected no negative eigenvalue [N s/m], got {viscosities}")
        mismatch = float(np.linalg.norm(S @ V - V @ S))
        if exact and mismatch > 1e-9 * np.linalg.norm(S) * np.linalg.norm(V):
            raise ValueError(
                "viscosity: expected the principal axes of force_tensor for an exact Phi_Z, "
                f"got tensors with |S V - V S| = {mismatch:.3g} N^2 s/m; use exact=False for (59)"
            )
        Q = _common_axes(S, V)
        sigma, nu = (np.einsum("ji,jk,ki->i", Q, tensor, Q) for tensor in (S, V))
        self.coefficients = np.concatenate(
            ([forces[-1], float(n)], sigma, np.maximum(nu, 0.0), Q.ravel(), S.ravel(), V.ravel())
        )
        self.forces = np.ones(len(self.coefficients), dtype=bool)
        self.forces[1], self.forces[2 + 2 * n : 2 + 2 * n + n * n] = False, False  # n and Q
        self.slope_range = (max(float(viscosities[0]), 0.0), float(viscosities[-1]))
        self._shown = f"{S.tolist()}" + f", viscosity={V.tolist()}" * bool(V.any())
        if not exact:
            self.code |= projection.APPROXIMATE

    def accuracy(self, Z: float) -> float:
        """Returns Z max|g'| where S is isotropic; infinity elsewhere, because (59) has no such condition.

        (59) changes the static set: with S = diag(4, 1) N and V = 0 its static limit at 45 degrees is 2.92 N for
        every Z, where the exact one is 1.37 N.
        """
        sigma = self.coefficients[2 : 2 + self.dimension]
        isotropic = np.ptp(sigma) <= 1e-12 * sigma.max()
        return super().accuracy(Z) if isotropic else math.inf

    def magnitude(self, speed: float) -> float:
        """Raises ValueError: an anisotropic law has no g."""
        raise ValueError("law: an anisotropic law has no magnitude g(s); use force(velocity)")

    slope = magnitude

    def check_dimension(self, dimension: int) -> None:
        if dimension != self.dimension:
            raise ValueError(f"dimension: expected {self.dimension}, that of force_tensor, got {dimension}")


def _symmetric(name: str, value: ArrayLike) -> np.ndarray:
    tensor = np.asarray(value, dtype=float)
    if tensor.ndim != 2 or tensor.shape[0] != tensor.shape[1] or not np.isfinite(tensor).all():
        raise ValueError(f"{name}: expected a finite tensor, shape (n, n), got {value!r}")
    if np.abs(tensor - tensor.T).max() > 1e-12 * np.abs(tensor).max():
        raise ValueError(f"{name}: expected a symmetric tensor, got {value!r}")
    return 0.5 * (tensor + tensor.T)


def _common_axes(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Finds the orthogonal Q whose columns are the principal axes of both tensors, where they have common ones.

    The axes within equal eigenvalues of S are arbitrary; a generic S + a V has the axes of both tensors. Two of its
    eigenvalues are equal by chance for at most one a per pair of axes. So one a more than there are pairs is tried,
    and the best is taken.
    """
    tensors = (S / np.linalg.norm(S), V / max(np.linalg.norm(V), 1e-300))

    def leftover(Q: np.ndarray) -> float:
        rotated = [Q.T @ tensor @ Q for tensor in tensors]
        return sum(float(np.linalg.norm(tensor - np.diag(np.diag(tensor)))) for tensor in rotated)

    weights = np.linspace(0.5, 1.0, len(S) * (len(S) - 1) // 2 + 1)
    return min((np.linalg.eigh(tensors[0] + a * tensors[1])[1] for a in weights), key=leftover)
