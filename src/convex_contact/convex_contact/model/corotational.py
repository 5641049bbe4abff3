"""Linear corotational tetrahedra: energy, forces and stiffness of an elastic body.

For an element with volume V at rest, deformation gradient F = sum_i x_i g_i^T (g_i the gradients of the shape functions
at rest) and its rotation R (polar decomposition F = R S),

    E = V (mu |S - I|^2 + lambda/2 tr(S - I)^2),
    f_i = -V P g_i,   P = dE/dF = R (2 mu (S - I) + lambda tr(S - I) I),
    K_ij = V (lambda h_i h_j^T + mu h_j h_i^T + mu h_i^T h_j I),   h_i = R g_i,

with Lame's parameters mu = E/(2 (1 + nu)), lambda = E nu/((1 + nu)(1 - 2 nu)). The forces are the exact gradient of the
energy. K is the stiffness of linear elasticity in axes that rotate with the element. It leaves out the change of R, so
it is positive semidefinite at any deformation. (Mueller, Gross 2004; Han, Masterjohn, Castro, "A Convex Formulation
of Frictional Contact Between Rigid and Deformable Bodies", RA-L 2023, which the paper cites.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from convex_contact.problem import checks
from haptic_math.array_assignment import assign_rows


@dataclass(frozen=True)
class TetrahedralMesh:
    """Tetrahedral mesh of a body at rest.

    Attributes:
        vertices: (n, 3) [m].
        tetrahedra: vertices of each (m, 4); the first three are counterclockwise as seen from the last.
        groups: group of each vertex (n,), numbers from 0; default: one group per vertex. Vertices of a group are
            eliminated together. A few neighbours, such as the vertices across a thin body, are faster together.

    Raises:
        ValueError: a number is wrong, a tetrahedron is flat or inverted, or a vertex belongs to none.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import TetrahedralMesh
        >>> corners = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
        >>> TetrahedralMesh(corners, np.array([[0, 1, 2, 3]])).vertices.shape
        (4, 3)
    """

    vertices: np.ndarray
    tetrahedra: np.ndarray
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        x = checks.array("vertices", self.vertices, (len(self.vertices), 3))
        t = np.ascontiguousarray(self.tetrahedra, dtype=np.int64)
        if t.ndim != 2 or t.shape[1] != 4 or not len(t) or t.min() < 0 or t.max() >= len(x):
            raise ValueError(f"tetrahedra: expected rows of four vertices from 0 to {len(x) - 1}, got {t.shape}")
        if len(np.unique(t)) != len(x):
            raise ValueError("vertices: expected each in a tetrahedron, got some that are in none")
        g = np.arange(len(x)) if not len(self.groups) else np.asarray(self.groups, dtype=np.int64)
        if g.shape != (len(x),):
            raise ValueError(f"groups: expected shape ({len(x)},), got {g.shape}")
        for name, value in (("vertices", x), ("tetrahedra", t), ("groups", g)):
            object.__setattr__(self, name, value)
        worst = float(self.volumes.min())
        if not worst > 0.0:
            raise ValueError(f"tetrahedra: expected positive volumes, got {worst:.3g} m^3")

    @property
    def volumes(self) -> np.ndarray:
        """Volumes of the tetrahedra (m,), m^3."""
        a, b, c, d = np.moveaxis(self.vertices[self.tetrahedra], 1, 0)
        return np.asarray(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0)

    @property
    def gradients(self) -> np.ndarray:
        """Gradients of the shape functions at rest (m, 4, 3), 1/m."""
        x = self.vertices[self.tetrahedra]
        edges = np.moveaxis(x[:, :3] - x[:, 3:], 1, 2)  # columns
        inverse = np.linalg.inv(edges)
        return np.concatenate([inverse, -inverse.sum(axis=1, keepdims=True)], axis=1)

    def surface(self) -> np.ndarray:
        """Returns the triangles of the boundary (k, 3), counterclockwise about the outward normal."""
        t = self.tetrahedra
        faces = np.concatenate([t[:, [0, 2, 1]], t[:, [0, 1, 3]], t[:, [1, 2, 3]], t[:, [0, 3, 2]]])
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        return faces[np.sort(first[count == 1])]

    def masses(self, density: float) -> np.ndarray:
        """Returns lumped masses (n,) [kg]: each tetrahedron adds a quarter of its mass to each of its vertices."""
        out = np.zeros(len(self.vertices))
        np.add.at(out, self.tetrahedra, 0.25 * density * self.volumes[:, None])
        return out


@dataclass(frozen=True)
class Elasticity:
    """Linear elastic material of a body.

    Attributes:
        modulus: Young's modulus [Pa].
        poisson_ratio: from 0 to below 0.5. Linear tetrahedra lock near 0.5: they become too stiff in bending.
        density: [kg/m^3].
        damping: zeta of Rayleigh's stiffness damping, D = zeta K [s].

    Examples:
        >>> from convex_contact import Elasticity
        >>> rubber = Elasticity(modulus=2.5e6, poisson_ratio=0.45, density=1000.0)
        >>> (rubber.modulus / rubber.density) ** 0.5  # speed of waves along a thin bar [m/s]
        50.0
    """

    modulus: float = 2.5e6
    poisson_ratio: float = 0.49
    density: float = 1000.0
    damping: float = 0.01

    def __post_init__(self) -> None:
        for name in ("modulus", "density"):
            checks.number(name, getattr(self, name), above=0.0)
        checks.number("damping", self.damping, minimum=0.0)
        if not 0.0 <= self.poisson_ratio < 0.5:
            raise ValueError(f"poisson_ratio: expected from 0 to below 0.5, got {self.poisson_ratio!r}")

    @property
    def lame(self) -> tuple[float, float]:
        """lambda and mu, Pa."""
        e, nu = self.modulus, self.poisson_ratio
        return e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), e / (2.0 * (1.0 + nu))


@njit(cache=True, nogil=True, error_model="numpy")
def rotation_of(F: np.ndarray, R: np.ndarray) -> None:
    """Computes R of F = R S, a rotation also for an inverted F; both (3, 3).

    Newton's iteration R <- (R + R^-T)/2 (Higham 1986); a singular value decomposition where it would find a reflection.
    """
    assign_rows(R, F)
    determinant = np.inf
    for _ in range(50):
        c00 = R[1, 1] * R[2, 2] - R[1, 2] * R[2, 1]
        c01 = R[1, 2] * R[2, 0] - R[1, 0] * R[2, 2]
        c02 = R[1, 0] * R[2, 1] - R[1, 1] * R[2, 0]
        determinant = R[0, 0] * c00 + R[0, 1] * c01 + R[0, 2] * c02
        if not determinant > 1e-9:
            break
        h = 0.5 / determinant
        c10 = R[2, 1] * R[0, 2] - R[2, 2] * R[0, 1]
        c11 = R[2, 2] * R[0, 0] - R[2, 0] * R[0, 2]
        c12 = R[2, 0] * R[0, 1] - R[2, 1] * R[0, 0]
        c20 = R[0, 1] * R[1, 2] - R[0, 2] * R[1, 1]
        c21 = R[0, 2] * R[1, 0] - R[0, 0] * R[1, 2]
        c22 = R[0, 0] * R[1, 1] - R[0, 1] * R[1, 0]
        a, b, c = 0.5 * R[0, 0] + h * c00, 0.5 * R[0, 1] + h * c01, 0.5 * R[0, 2] + h * c02
        d, e, f = 0.5 * R[1, 0] + h * c10, 0.5 * R[1, 1] + h * c11, 0.5 * R[1, 2] + h * c12
        g, k, m = 0.5 * R[2, 0] + h * c20, 0.5 * R[2, 1] + h * c21, 0.5 * R[2, 2] + h * c22
        change = max(abs(a - R[0, 0]), abs(b - R[0, 1]), abs(c - R[0, 2]))
        change = max(change, abs(d - R[1, 0]), abs(e - R[1, 1]), abs(f - R[1, 2]))
        change = max(change, abs(g - R[2, 0]), abs(k - R[2, 1]), abs(m - R[2, 2]))
        R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2] = a, b, c, d, e, f, g, k, m
        if change < 1e-8:  # quadratic convergence: R is exact to rounding
            return
    U, _, V = np.linalg.svd(F)
    assign_rows(R, U @ V)
    if np.linalg.det(R) < 0.0:
        for i in range(3):
            U[i, 2] *= -1.0
        assign_rows(R, U @ V)


@njit(cache=True, nogil=True, error_model="numpy")
def energy(
    x: np.ndarray, tetrahedra: np.ndarray, gradients: np.ndarray, volumes: np.ndarray, lam: float, mu: float
) -> float:
    """Returns the elastic energy [J] of vertex positions (n, 3)."""
    F, R = np.empty((3, 3)), np.empty((3, 3))
    total = 0.0
    for e in range(len(tetrahedra)):
        _gradient_of(x, tetrahedra, gradients, e, F)
        rotation_of(F, R)
        trace, square = -3.0, 0.0
        for i in range(3):
            for j in range(3):
                trace += R[i, j] * F[i, j]
                square += (F[i, j] - R[i, j]) ** 2
        total += volumes[e] * (mu * square + 0.5 * lam * trace * trace)
    return total


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")
def _gradient_of(x: np.ndarray, tetrahedra: np.ndarray, gradients: np.ndarray, e: int, F: np.ndarray) -> None:
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(4):
                total += x[tetrahedra[e, k], i] * gradients[e, k, j]
            F[i, j] = total


@njit(cache=True, nogil=True, error_model="numpy")
def assemble(
    x: np.ndarray, tetrahedra: np.ndarray, gradients: np.ndarray, volumes: np.ndarray, lam: float, mu: float,
    weight: float, place: np.ndarray, stride: np.ndarray, values: np.ndarray, force: np.ndarray,
) -> None:  # fmt: skip
    """Adds elastic forces to a vector, and the stiffness to a matrix.

    Args:
        x: positions (n, 3) [m].
        tetrahedra: (m, 4).
        gradients: of the shape functions (m, 4, 3).
        volumes: (m,).
        lam: lambda [Pa].
        mu: [Pa].
        weight: factor of K.
        place: offset of the 3 x 3 block of two vertices of an element in `values`; -1: left out (m, 4, 4).
        stride: from one row of that block to the next (m, 4, 4).
        values: flat matrix to which weight K is added.
        force: to which the forces are added (n, 3) [N].
    """
    F, R, P, h = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((4, 3))
    for e in range(len(tetrahedra)):
        _gradient_of(x, tetrahedra, gradients, e, F)
        rotation_of(F, R)
        trace = -3.0
        for i in range(3):
            for j in range(3):
                trace += R[i, j] * F[i, j]
        V = volumes[e]
        for i in range(3):
            for j in range(3):
                P[i, j] = V * (2.0 * mu * (F[i, j] - R[i, j]) + lam * trace * R[i, j])
        for k in range(4):
            g0, g1, g2 = gradients[e, k, 0], gradients[e, k, 1], gradients[e, k, 2]
            for i in range(3):
                force[tetrahedra[e, k], i] -= P[i, 0] * g0 + P[i, 1] * g1 + P[i, 2] * g2
                h[k, i] = R[i, 0] * g0 + R[i, 1] * g1 + R[i, 2] * g2
        a, b = weight * V * lam, weight * V * mu
        for k in range(4):
            for m in range(4):
                at = place[e, k, m]
                if at < 0:
                    continue
                step = stride[e, k, m]
                dot = b * (h[k, 0] * h[m, 0] + h[k, 1] * h[m, 1] + h[k, 2] * h[m, 2])
                for i in range(3):
                    for j in range(3):
                        values[at + i * step + j] += a * h[k, i] * h[m, j] + b * h[m, i] * h[k, j]
                    values[at + i * step + i] += dot
