"""Kernels of small dense blocks against NumPy, for sizes that fill groups of four rows and that do not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from convex_contact.problem.contact_kernels import Response
from convex_contact.solver import blocks

SIZES = [1, 3, 4, 5, 6, 8, 11, 18]
#: bound of the rounding in products of these sizes and in factors of matrices with condition numbers below 100
ROUNDING = 1e-12


def positive_definite(n: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric matrix (n, n) with eigenvalues between 1 and 2."""
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis @ np.diag(rng.uniform(1.0, 2.0, n)) @ basis.T
    return np.asarray(0.5 * (matrix + matrix.T))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [1, 5, 6])
def test_a_factor_solves_systems(n: int, columns: int) -> None:
    rng = np.random.default_rng(n)
    H, x, B = positive_definite(n, rng), rng.normal(size=n + 2), rng.normal(size=(n, columns))
    D, F = np.concatenate([[7.0], H.ravel(), B.ravel()]), np.full(n * n + 3, 9.0)
    blocks.factorise(D, 1, F, 3, n, np.zeros(n), 0)
    solution = np.linalg.solve(H, x[2:])
    blocks.forward_vector(F, 3, x, 2, n)
    blocks.backward_vector(F, 3, x, 2, n)
    np.testing.assert_allclose(x[2:], solution, rtol=0, atol=ROUNDING)
    blocks.forward_block(D, 1 + n * n, F, 3, n, columns)
    expected = scipy.linalg.solve_triangular(scipy.linalg.cholesky(H), B, trans=1)
    np.testing.assert_allclose(D[1 + n * n :].reshape(n, columns), expected, rtol=0, atol=ROUNDING)


def test_a_pivot_below_its_floor_is_replaced() -> None:
    for n in (5, 6):
        F = np.zeros(n * n)
        H = np.eye(n)
        H[3, 3] = -1.0
        blocks.factorise(H.ravel(), 0, F, 0, n, np.full(n, 0.25), 0)
        np.testing.assert_array_equal(np.diag(F.reshape(n, n)), np.where(np.arange(n) == 3, 2.0, 1.0))


@pytest.mark.parametrize("n", SIZES)
def test_products_with_vectors(n: int) -> None:
    rng = np.random.default_rng(n)
    A, x = positive_definite(n, rng), rng.normal(size=n)
    y, z = np.full(n, 5.0), np.zeros(n)
    blocks.negative_product(A.ravel(), 0, x, y, 0, n)
    np.testing.assert_allclose(y, -A @ x, rtol=0, atol=ROUNDING)
    blocks.subtract_times(A.ravel(), 0, x, 0, z, 0, n, n)
    np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("n", [6, 11])
def test_congruences_of_links_with_zeros_beyond_their_path(n: int) -> None:
    """The paths of two links have different lengths; on the diagonal the upper half is enough."""
    rng = np.random.default_rng(n)
    G = rng.normal(size=(3, 3))
    G = G + G.T
    J = rng.normal(size=(2, 3, n))
    J[0, :, 4:] = 0.0
    J[1, :, 5:] = J[1, :, 2] = 0.0
    response = Response(0.0, 0.0, 0.0, G[0, 0], G[0, 1], G[1, 1], G[0, 2], G[1, 2], G[2, 2])
    for a, b in ((0, 0), (0, 1), (1, 0)):
        D = np.zeros(n * n)
        blocks.add_congruence(D, 0, J.ravel(), 3 * n * a, n, 3 * n * b, n, response)
        expected, found = J[a].T @ G @ J[b], D.reshape(n, n)
        if a == b:
            expected, found = np.triu(expected), np.triu(found)
        np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)
