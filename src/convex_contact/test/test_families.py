"""Families of terms: a family that this file defines is among the terms once it is in `families.FAMILIES`.

The family is a drag: impulse -DRAG v on every velocity, the potential DRAG/2 v^2. The functions of all families are
tested, not the solver with them, whose compilation takes two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np
import pytest
from numba import njit

from convex_contact import ContactProblem
from convex_contact.problem import contact_kernels as kernels
from convex_contact.solver import families, newton, terms, workspace
from convex_contact.solver.borrowed import Borrowed
from convex_contact.solver.pattern import Couplings
from convex_contact.solver.solver import load

#: coefficient of the drag [kg]
DRAG = 0.5


# --- the family: the functions that `terms` lists ------------------------------------------------------------------


@njit
def mark_needed_masses(w: Any) -> None:
    pass


@njit
def prepare_terms(w: Any) -> None:
    for c in range(w.n):
        w.touched[c] = 1


@njit(inline="always")
def couplings_of(w: Any) -> Couplings:
    """Returns no couplings; zeros are written to the last array, which is free at that time."""
    return Couplings(0, w.order, w.order, w.order, True, w.degree, w.degree, w.degree)


@njit
def update(w: Any, island: int) -> None:
    pass


@njit
def add_momentum(w: Any, island: int) -> None:
    for p in range(w.island_start[island], w.island_start[island + 1]):
        for k in range(w.dof_start[w.order[p]], w.dof_start[w.order[p] + 1]):
            w.j[k] -= DRAG * w.v[k]


@njit
def add_rounding(w: Any, island: int) -> None:
    for p in range(w.island_start[island], w.island_start[island + 1]):
        for k in range(w.dof_start[w.order[p]], w.dof_start[w.order[p] + 1]):
            w.dv[k] += DRAG * abs(w.v[k])


@njit
def add_hessian(w: Any, island: int) -> None:
    for p in range(w.island_start[island], w.island_start[island + 1]):
        size = w.dof_start[w.order[p] + 1] - w.dof_start[w.order[p]]
        for k in range(size):
            w.H[w.diagonal_block[p] + k * size + k] += DRAG


@njit
def keep_branches(w: Any, island: int) -> bool:
    return True


@njit
def project(w: Any, island: int) -> None:
    pass


@njit
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    for p in range(w.island_start[island], w.island_start[island + 1]):
        for k in range(w.dof_start[w.order[p]], w.dof_start[w.order[p] + 1]):
            f += DRAG * (w.v[k] + alpha * w.dv[k]) * w.dv[k]
            h += DRAG * w.dv[k] ** 2
    return f, h


@njit
def advance(w: Any, island: int, alpha: float) -> None:
    pass


@njit
def wake(w: Any) -> bool:
    return False


@njit
def soften(w: Any, island: int, level: float) -> int:
    return 0


@njit
def start_hessian(w: Any, island: int) -> None:
    pass


# --- tests ---------------------------------------------------------------------------------------------------------


def problem() -> ContactProblem:
    """Returns two bodies, one on the ground and one on the other."""
    J = np.zeros((6, 6))
    J[:3, :3], J[3:, :3], J[3:, 3:] = np.eye(3), -np.eye(3), np.eye(3)
    return ContactProblem(
        A=np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), v_star=[0.3, 0.1, -1.0, 0.5, -0.2, -1.2], J=J,
        phi0=[0.0, 0.0], v_n0=[-1.0, -0.2], period=1e-3,
        stiffness=[1e6, 1e6], dissipation=[1.0, 1.0], relaxation_time=[1e-4, 1e-4], friction=[0.5, 0.3],
    )  # fmt: skip


@pytest.fixture
def with_drag(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns `terms` as it is with the drag among the families."""
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES, sys.modules[__name__]))
    spec = find_spec("convex_contact.solver.terms")
    assert spec is not None and spec.loader is not None
    copy = module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def evaluation(of: Any) -> Callable[[Any, np.ndarray], tuple[float, float, int]]:
    """Returns a function that writes J^T gamma and returns slope, curvature and the number of entries."""
    count, find, add, slope = of.count_entries, of.update, of.add_momentum, of.subtract_slope

    @njit
    def evaluate(w: Any, j: np.ndarray) -> tuple[float, float, int]:
        f, h = 0.0, 0.0
        for k in range(w.dofs):
            w.j[k], w.dv[k] = 0.0, 1.0
        for island in range(w.islands):
            find(w, island)
            add(w, island)
            f, h = slope(w, island, 0.5, True, f, h)
        for k in range(w.dofs):
            j[k] = w.j[k]
        return f, h, count(w)

    return evaluate  # type: ignore[no-any-return]


def test_functions_of_all_families_include_those_of_a_new_one(with_drag: Any) -> None:
    w, without = workspace.new_workspace(), problem()
    permutation = load(w, without)
    numbers = (without.period, without.stiction_tolerance, without.sigma, without.near_rigid)
    workspace.configure(w, kernels.LAGGED, kernels.LINEAR, *numbers, 1e-10, 1e-14, 200, False)
    v = workspace.inputs(w).structure.v[: len(permutation)]
    v[:] = without.v_star[permutation]
    assert newton.solve_step(w) == newton.CONVERGED
    j, j_with = np.empty(6), np.empty(6)
    f, h, entries = evaluation(terms)(Borrowed(w), j)
    f_with, h_with, entries_with = evaluation(with_drag)(Borrowed(w), j_with)
    assert entries_with == entries == 2
    np.testing.assert_allclose(j_with - j, -DRAG * v, rtol=1e-9)
    assert f_with - f == pytest.approx(DRAG * float(np.sum(v + 0.5)), rel=1e-9)
    assert h_with - h == pytest.approx(6.0 * DRAG, rel=1e-6)
