"""Trees with branches: the solver's sparse kernels against NumPy, and steps against those with dense blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from convex_contact import ContactProblem, Simulator, World, solve
from convex_contact.model.tree_arrays import depths, is_sparse, runs
from convex_contact.problem.contact_kernels import Response
from convex_contact.solver import branches
from convex_contact.solver.branches import Branches, Side, side_columns

#: bound of the rounding in products and factors of matrices with condition numbers below 1e3
ROUNDING = 1e-11
WHOLE = -1
PERIOD = 2e-3


def random_tree(n: int, rng: np.random.Generator) -> Branches:
    """A tree of n velocities, of which most follow the one before."""
    parent = np.array([-1] + [k - 1 if rng.random() < 0.6 else rng.integers(-1, k) for k in range(1, n)])
    return Branches(parent, runs(parent), depths(parent))


def path(tree: Branches, k: int) -> list[int]:
    """The velocities on the path of one, from it to the root."""
    return [] if k < 0 else [k, *path(tree, int(tree.parent[k]))]


def random_matrix(tree: Branches, rng: np.random.Generator) -> np.ndarray:
    """A positive definite matrix with the zeros of the branches."""
    n = len(tree.parent)
    A = np.eye(n)
    for k in range(n):
        row = np.zeros(n)
        row[path(tree, k)] = rng.normal(size=tree.depth[k])
        A += np.outer(row, row)
    return A


@pytest.mark.parametrize("seed", range(5))
def test_factors_and_products_are_those_of_dense_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, base = 23, 2  # velocities of another clique come first
    small = random_tree(n, rng)
    A, x = random_matrix(small, rng), rng.normal(size=base + n)
    tree = Branches(
        np.concatenate([[-1, -1], np.where(small.parent < 0, -1, small.parent + base)]),
        np.concatenate([[0, 1], small.run + base]), np.concatenate([[1, 1], small.depth]),
    )  # fmt: skip
    y = np.zeros(base + n)
    lower = np.where(np.tril(np.ones((n, n))) > 0, A, np.nan)  # the upper half is not read
    branches.negative_branch_product(lower.ravel(), 0, tree, base, base + n, x, y)
    np.testing.assert_allclose(y[base:], -A @ x[base:], rtol=0, atol=ROUNDING)
    upper, L = np.zeros(n * n), np.full(5 + n * n, np.nan)
    branches.copy_branches(lower.ravel(), 0, (n, 1), upper, 0, (1, n), tree, base, base + n)
    np.testing.assert_array_equal(upper.reshape(n, n), np.triu(A))
    branches.copy_branches(upper, 0, (1, n), L, 5, (n, 1), tree, base, base + n)
    branches.factorise_branches(L, 5, n, tree, base, base + n, None)
    solution = x.copy()
    branches.solve_branches(L, 5, n, tree, base, base + n, solution)
    np.testing.assert_allclose(solution[base:], np.linalg.solve(A, x[base:]), rtol=0, atol=ROUNDING)
    assert solution[:base].tolist() == x[:base].tolist()
    sizes = np.zeros(base + n)
    branches.add_branch_sizes(lower.ravel(), 0, tree, base, base + n, x, y, sizes)
    np.testing.assert_allclose(sizes[base:], np.abs(A) @ (np.abs(x) + np.abs(y))[base:], rtol=1e-13)


def test_a_pivot_below_its_floor_is_replaced() -> None:
    tree = Branches(np.array([-1, 0, 0]), np.array([0, 0, 2]), np.array([1, 2, 2]))
    L = np.diag([1.0, -1.0, 1.0]).ravel()
    branches.factorise_branches(L, 0, 3, tree, 0, 3, np.full(3, 0.25))
    assert np.diag(L.reshape(3, 3)).tolist() == [1.0, 0.25, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_jacobians_on_paths_are_dense_ones_without_their_zeros(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 17
    tree = random_tree(n, rng)
    start = np.array([0, n])
    sides, columns, dense, flat = [], [], [], []
    for last in (int(rng.integers(0, n)), int(rng.integers(0, n)), WHOLE):
        size = n if last == WHOLE else int(tree.depth[last])
        sides.append(Side(0, n, last, size))
        columns.append(side_columns(start, tree, 0, last))
        assert sorted(columns[-1]) == (list(range(n)) if last == WHOLE else sorted(path(tree, last)))
        J = rng.normal(size=(3, size))
        dense.append(np.zeros((3, n)))
        dense[-1][:, columns[-1]] = J
        flat.append(J.ravel())
    x, G = rng.normal(size=n), Response(0.0, 0.0, 0.0, 2.0, 0.5, 3.0, 0.1, -0.2, 4.0)
    matrix = np.array([[G.h11, G.h12, G.h1n], [G.h12, G.h22, G.h2n], [G.h1n, G.h2n, G.hnn]])
    values, offsets = np.concatenate(flat), np.cumsum([0, *map(len, flat)])
    for side, J, at in zip(sides, dense, offsets, strict=False):
        np.testing.assert_allclose(branches.path_times(values, at, x, side, tree), J @ x, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(
            branches.path_times_sizes(values, at, x, side, tree), np.abs(J) @ np.abs(x), rtol=1e-13
        )
        y, z = np.zeros(n), np.zeros(n)
        branches.add_path(values, at, 1.0, -2.0, 3.0, y, side, tree)
        branches.add_path_sizes(values, at, 1.0, 2.0, 3.0, z, side, tree)
        np.testing.assert_allclose(y, J.T @ [1.0, -2.0, 3.0], rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(z, np.abs(J).T @ [1.0, 2.0, 3.0], rtol=1e-13)
    for i in range(3):
        for j in range(3):
            H = np.zeros(n * n)
            branches.add_path_congruence(H, 0, values, offsets[i], sides[i], offsets[j], sides[j], G, tree)
            expected = dense[i].T @ matrix @ dense[j]
            np.testing.assert_allclose(
                H.reshape(n, n), np.triu(expected) if i == j else expected, rtol=0, atol=ROUNDING
            )


@njit
def is_branched(w: Any) -> bool:
    """Returns whether the factor of the first clique's island has the zeros of its branches."""
    return bool(w.island_branched[w.clique_island[0]] != 0)


# --- steps -------------------------------------------------------------------------------------------------------


def tree_urdf(joints: int) -> str:
    """A binary tree of rods with spheres at their ends, which fans out."""
    rods = [
        f'<link name="l{k}"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/><inertia ixx="2e-5" iyy="1e-4" '
        f'izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.1 0 0"/><geometry>'
        f'<sphere radius="0.02"/></geometry></collision></link>'
        for k in range(joints + 1)
    ]
    joined = [
        f'<joint name="j{k}" type="revolute"><parent link="l{0 if k == 1 else k // 2}"/><child link="l{k}"/>'
        f'<origin xyz="0.1 0 0" rpy="0 0 {0.0 if k == 1 else 0.4 if k % 2 else -0.4}"/>'
        f'<axis xyz="0 {"1 0" if k % 3 else "0 1"}"/><limit lower="-1" upper="1" effort="10" velocity="10"/>'
        f'<dynamics damping="0.02"/></joint>'
        for k in range(1, joints + 1)
    ]
    return f'<robot name="tree">{"".join(rods + joined)}</robot>'


def floor(world: World, sim: Callable[[], Simulator]) -> Simulator:
    """Falls on the floor."""
    return sim()


def under_a_ball(world: World, sim: Callable[[], Simulator]) -> Simulator:
    """A ball lies on the root: two cliques in one island."""
    world.add_sphere("ball", mass=0.5, radius=0.05, position=(0.1, 0.0, 0.0895))
    return sim()


def against_itself(world: World, sim: Callable[[], Simulator]) -> Simulator:
    """Branches touch each other: rods that fan out lie one on another."""
    return sim()


def geared(world: World, sim: Callable[[], Simulator]) -> Simulator:
    """A gear couples joints of two branches."""
    world.couple_joints("tree", "j4", "j7", ratio=-2.0)
    return sim()


def driven(world: World, sim: Callable[[], Simulator]) -> Simulator:
    """Motors hold joints: rows along one path each."""
    for k in range(1, 8):
        world.actuate_joint("tree", f"j{k}", proportional_gain=5.0, derivative_gain=0.1, effort_limit=0.05)
    return sim()


#: a scene, and whether H of its island has the zeros of the branches after the last step
SCENES = [(floor, True), (under_a_ball, False), (against_itself, False), (geared, False), (driven, True)]


def simulator(folder: Path, scene: Any, **options: Any) -> Simulator:
    """A tree of 46 velocities above the floor."""
    world = World()
    world.add_half_space("floor")
    file = folder / "tree.urdf"
    file.write_text(tree_urdf(40))
    itself = scene is against_itself
    world.add_urdf("tree", file, floating=True, position=(0.0, 0.0, 0.0199), self_collision=itself)
    made: Simulator = scene(world, lambda: Simulator(world, period=PERIOD, relative_tolerance=1e-10, **options))
    return made


@pytest.mark.parametrize("approximation", ["lagged", "sap", "similar", "lagged_elastoplastic"])
@pytest.mark.parametrize(("scene", "sparse"), SCENES)
def test_a_step_does_not_depend_on_how_its_zeros_are_used(
    tmp_path: Path, scene: Any, sparse: bool, approximation: str
) -> None:
    sim = simulator(tmp_path, scene, approximation=approximation)
    for _ in range(10):
        before = sim.state()
        sim.dynamics.arrays.tree_branched[:] = 0
        sim.step()
        expected = sim.dynamics.arrays.v.copy()
        sim.restore(before)
        assert sim.dynamics.arrays.tree_branched.tolist() == [1]
        sim.step()
        # both are solved to 1e-10 of the momenta, with masses that differ by less than 1e3
        np.testing.assert_allclose(sim.dynamics.arrays.v, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    assert int(sim.dynamics.contacts.count[0]) > 20
    assert is_branched(sim._workspace) == sparse


def test_a_step_of_a_tree_with_branches_is_the_minimum_of_its_dense_problem(tmp_path: Path) -> None:
    sim = simulator(tmp_path, floor)
    sim.step(10)
    d = sim.dynamics
    expected = solve(ContactProblem(**d.dense(), period=PERIOD), "lagged").velocity
    np.testing.assert_allclose(d.arrays.v, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_only_trees_of_many_branches_are_taken_as_sparse() -> None:
    assert not is_sparse(np.arange(-1, 40))  # a chain
    legs = np.array([-1, 0, 1, 2, 3, 4, *[k for leg in range(4) for k in (5, 6 + 3 * leg, 7 + 3 * leg)]])
    assert not is_sparse(legs)  # a quadruped: its blocks are faster whole
    assert is_sparse(np.array([-1, 0, 1, 2, 3, 4, 5, *[6 + k // 2 for k in range(40)]]))
