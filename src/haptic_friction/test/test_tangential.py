"""What is tangential to several surfaces, whatever their angles and their order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import null_space

import haptic_core
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction.errors import FrictionInputError
from haptic_friction.load import total_normal_force
from haptic_friction.node import FrictionNode
from haptic_friction.renderer import FrictionRenderer, Surfaces
from haptic_friction.tangential import DEPENDENT, normal_basis, pressing_basis

SEEDS = range(50)
SPECS = load_parameter_specs(FrictionNode.parameter_file) | load_parameter_specs(
    Path(haptic_core.__file__).with_name("rendering_node.yaml")
)


def unit(*vectors: np.ndarray) -> np.ndarray:
    rows = np.array(vectors, dtype=float)
    return rows / np.linalg.norm(rows, axis=1)[:, None]


def random_normals(seed: int, count: int) -> np.ndarray:
    return unit(*np.random.default_rng(seed).normal(size=(count, 3)))


def tangential(normals: np.ndarray, vector: np.ndarray) -> np.ndarray:
    result = vector.copy()
    total_normal_force(normals, np.ones(len(normals)), result)
    return result


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2])
def test_the_rest_is_tangential_to_every_normal_and_is_the_projection_onto_the_null_space(
    seed: int, count: int
) -> None:
    normals, v = random_normals(seed, count), np.random.default_rng(1000 + seed).normal(size=3)
    free = null_space(normals)
    found = tangential(normals, v)
    # two normals at an angle a leave rounding over sin(a); 1e-12 holds down to 1e-3 rad, and no seed comes closer
    np.testing.assert_allclose(normals @ found, 0.0, atol=1e-12)
    np.testing.assert_allclose(found, free @ (free.T @ v), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_independent_normals_leave_nothing(seed: int) -> None:
    v = np.random.default_rng(seed).normal(size=3)
    np.testing.assert_allclose(tangential(random_normals(seed, 3), v), 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_does_not_count(seed: int) -> None:
    normals, v = random_normals(seed, 2), np.array([0.3, -1.0, 0.7])
    normals = np.vstack((normals, unit(normals[0] + normals[1])))  # a dependent one
    results = [tangential(normals[list(order)], v) for order in permutations(range(3))]
    np.testing.assert_allclose(results, np.broadcast_to(results[0], (6, 3)), atol=1e-12)


@pytest.mark.parametrize(
    ("normals", "rank"),
    [
        ([[0.0, 0.0, 1.0]] * 3, 1),
        ([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], 1),
        ([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [-0.6, 0.0, 0.8]], 2),
        ([[0.0, 0.0, 1.0], [0.1 * DEPENDENT, 0.0, 1.0]], 1),
        (unit([0.0, 0.0, 1.0], [1e3 * DEPENDENT, 0.0, 1.0]), 2),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]], 3),
        (np.zeros((0, 3)), 0),
    ],
)
def test_dependent_normals_add_no_direction(normals: list[list[float]], rank: int) -> None:
    basis = normal_basis(np.array(normals, dtype=float).reshape(-1, 3))
    assert basis.shape == (rank, 3)
    np.testing.assert_allclose(basis @ basis.T, np.eye(rank), atol=1e-15)


def test_nearly_parallel_normals_keep_an_orthonormal_basis() -> None:
    for angle in (1e-2, 1e-4, 2.0 * DEPENDENT):
        basis = normal_basis(np.array([[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]]))
        np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-15)


def test_surfaces_that_do_not_press_do_not_count() -> None:
    v = np.array([1.0, 2.0, 3.0])
    total = total_normal_force(np.eye(3), np.array([0.0, 4.0, -1.0]), v)
    assert total == 4.0 and v.tolist() == [1.0, 0.0, 3.0]
    assert total_normal_force(np.zeros((0, 3)), np.zeros(0), v) == 0.0 and v.tolist() == [1.0, 0.0, 3.0]


@pytest.mark.parametrize("seed", range(10))
def test_friction_between_oblique_walls_acts_along_both_with_any_input(seed: int) -> None:
    """One message with two walls, the walls the other way round, and two messages with one wall each."""
    normals, velocity = random_normals(seed, 2), np.random.default_rng(1000 + seed).normal(size=3)
    forces = np.array([3.0, 5.0])

    def force(*surfaces: Surfaces) -> np.ndarray:
        renderer = FrictionRenderer.from_parameters(check_all(SPECS, {"inputs": ["wall"], "friction_coefficient": 0.5}))
        for _ in range(20):
            answer = renderer.step(velocity=velocity, surfaces=list(surfaces))
        return answer.force

    together = force(Surfaces(normals, forces))
    np.testing.assert_allclose(normals @ together, 0.0, atol=1e-11)
    assert np.linalg.norm(together) == pytest.approx(0.5 * 8.0, rel=1e-9)
    edge = np.cross(*normals)
    assert together @ edge * (velocity @ edge) < 0.0  # against the motion along the edge of the two walls
    np.testing.assert_allclose(force(Surfaces(normals[::-1], forces[::-1])), together, atol=1e-11)
    np.testing.assert_allclose(
        force(*(Surfaces(normals[i : i + 1], forces[i : i + 1]) for i in range(2))), together, atol=1e-11
    )


@pytest.mark.parametrize(
    ("normals", "forces"), [((1, 3), (4,)), ((4, 3), (1,)), ((2, 2), (2,)), ((3,), (3,)), ((1, 3), (1, 1))]
)
def test_normals_and_forces_of_other_shapes_are_refused(normals: tuple[int, ...], forces: tuple[int, ...]) -> None:
    """The compiled loop does not check them: it would write beyond its array."""
    with pytest.raises(FrictionInputError, match=r"^normals, forces: expected shapes \(m, 3\) and \(m,\), got "):
        pressing_basis(np.ones(normals), np.ones(forces))
