"""Rotations against closed forms and against each other, for one quaternion and for arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from haptic_math import rotations

GENERATOR = np.random.default_rng(5)
QUATERNIONS = GENERATOR.normal(size=(200, 4))
QUATERNIONS /= np.linalg.norm(QUATERNIONS, axis=1)[:, None]


def test_a_quarter_about_z_takes_x_to_y() -> None:
    R = rotations.matrix_from_quaternion([0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)])
    assert_allclose(R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)


def test_arrays_have_the_bits_of_single_quaternions() -> None:
    a, b = QUATERNIONS, QUATERNIONS[::-1]
    assert_array_equal(rotations.matrix_from_quaternion(a), [rotations.matrix_from_quaternion(q) for q in a])
    products = [rotations.quaternion_product(p, q) for p, q in zip(a, b, strict=True)]
    assert_array_equal(rotations.quaternion_product(a, b), products)
    assert_array_equal(rotations.quaternion_product(a[0], b)[3], rotations.quaternion_product(a[0], b[3]))


def test_the_product_is_the_product_of_the_matrices() -> None:
    a, b = QUATERNIONS, QUATERNIONS[::-1]
    R, S = rotations.matrix_from_quaternion(a), rotations.matrix_from_quaternion(b)
    assert_allclose(rotations.matrix_from_quaternion(rotations.quaternion_product(a, b)), R @ S, atol=2e-15)


@pytest.mark.parametrize("positive_w", [False, True])
def test_matrix_and_quaternion_are_inverse_up_to_the_sign(positive_w: bool) -> None:
    for q in [*QUATERNIONS, *np.eye(4), *-np.eye(4)]:
        found = rotations.quaternion_from_matrix(rotations.matrix_from_quaternion(q), positive_w=positive_w)
        assert_allclose(found, math.copysign(1.0, found @ q) * q, atol=1e-15)
        assert found[3] >= 0.0 if positive_w else found[np.abs(found).argmax()] > 0.0


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-9, 1e-5, 1e-3, 1.0, 3.0, math.pi - 1e-9])
def test_exponentials_and_logarithm_agree(angle: float) -> None:
    for axis in QUATERNIONS[:20, :3]:
        v = angle * axis / np.linalg.norm(axis)
        R = rotations.matrix_from_vector(v)
        assert_allclose(rotations.matrix_from_quaternion(rotations.quaternion_from_vector(v)), R, atol=2e-15)
        assert_allclose(rotations.vector_from_matrix(R), v, rtol=1e-6, atol=1e-15)


def test_the_logarithm_of_half_a_turn_is_pi_long() -> None:
    assert_allclose(np.abs(rotations.vector_from_matrix(np.diag([1.0, -1.0, -1.0]))), [math.pi, 0.0, 0.0])
