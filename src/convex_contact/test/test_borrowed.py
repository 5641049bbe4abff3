"""Fields of a structref without counted references: the same memory, nothing to allocate, nothing lost."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from convex_contact import Simulator, World
from convex_contact.solver import workspace
from convex_contact.solver.borrowed import Borrowed, borrow


@njit(_nrt=False)
def _write(b: Any, count: int) -> float:
    b.nr = count
    b.v[1] = 3.0
    return float(b.v[0] + b.period)


@njit
def _through(w: Any) -> float:
    w.v = np.array([2.0, 0.0])
    return _write(borrow(w), 7) + w.v[1]


@njit
def _replace(b: Any) -> None:
    b.v = np.zeros(3)


def test_borrowed_record_uses_the_memory_of_its_owner() -> None:
    w = workspace.new_workspace()
    assert _through(w) == 2.0 + 1e-3 + 3.0
    assert _write(Borrowed(w), 9) == 2.0 + 1e-3
    workspace.reserve(w, 0, 0, 0, 0, 0, 0, 0)
    np.testing.assert_array_equal(workspace.inputs(w)[0][4], [2.0, 3.0])


def test_arrays_are_replaced_through_the_owner_only() -> None:
    with pytest.raises(TypingError, match="v: expected the structref itself to replace an array"):
        _replace(Borrowed(workspace.new_workspace()))


@pytest.mark.slow
def test_the_owner_lives_as_long_as_what_was_borrowed() -> None:
    """Python gives the structref away; its arrays are still there after a collection and other allocations."""
    borrowed = [Borrowed(workspace.new_workspace()) for _ in range(20)]
    for b in borrowed:
        _through(b.owner)
    gc.collect()
    others = [np.full(2, 5.0) for _ in range(1000)]
    assert [_write(b, 1) for b in borrowed] == [2.001] * 20
    assert len(others) == 1000


def test_arrays_that_grow_are_seen() -> None:
    """More pairs than there was room for: the kernels go on with the new arrays, and the result is the same."""

    def pile(room: int) -> np.ndarray:
        w = World()
        w.add_half_space("ground")
        for i in range(4):
            w.add_sphere(f"ball_{i}", mass=1.0, radius=0.05, position=(0.001 * i, 0, 0.0501 + 0.1002 * i))
        sim = Simulator(w, period=1e-3)
        if room:
            a = sim.dynamics.arrays
            a.replace(pair=a.pair[:room].copy())
        sim.step(50)
        return sim.dynamics.arrays.q.copy()

    np.testing.assert_array_equal(pile(0), pile(1))
