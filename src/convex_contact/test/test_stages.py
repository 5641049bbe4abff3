"""Calls of compiled functions by their address, and the names of records' types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, types

from convex_contact import Simulator, World
from convex_contact.collision.contact_surface import find_faces
from convex_contact.simulation import compiled_step, dynamics
from convex_contact.simulation.step_inputs import load_joint_rows
from convex_contact.solver.borrowed import RecordType
from convex_contact.solver.stages import address_of, call


@njit
def _combine(count: int, factor: float, doubled: bool) -> int:
    return int(count * factor) * (2 if doubled else 1)


@njit
def _call(address: int, count: int, factor: float, doubled: bool) -> int:
    return call(address, (count, factor, doubled))


@pytest.mark.parametrize("doubled", [False, True])
def test_a_call_by_address_is_the_call(doubled: bool) -> None:
    address = address_of(_combine, 0, 0.0, False)
    assert _call(address, 7, -2.5, doubled) == _combine(7, -2.5, doubled) == (-34 if doubled else -17)


def test_an_address_is_that_of_the_types_of_the_arguments() -> None:
    address = address_of(_combine, 0, 0.0, False)
    assert address_of(_combine, 9, 9.0, True) == address
    assert address_of(_combine, 0, np.float32(0.0), False) != address


def _world(*, hinge: bool) -> Simulator:
    world = World()
    for name in ("a", "b"):
        world.add_box(name, size=(0.1, 0.1, 0.1), mass=1.0)
    if hinge:
        world.add_joint("hinge", "hinge", "a", "b", point=(0.05, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    return Simulator(world, period=1e-3)


def test_what_a_world_does_not_have_is_not_compiled_for_it(monkeypatch: Any) -> None:
    compiled: list[Any] = []

    def noted(function: Any, *arguments: Any) -> int:
        compiled.append(function)
        return address_of(function, *arguments)

    monkeypatch.setattr(compiled_step, "address_of", noted)
    monkeypatch.setattr(dynamics, "address_of", noted)
    _world(hinge=False).step()
    assert compiled and not {load_joint_rows, find_faces} & set(compiled)
    _world(hinge=True).step()
    assert load_joint_rows in compiled and find_faces not in compiled


class _Pair(RecordType):
    pass


def test_names_of_types_are_short_and_differ_where_fields_do() -> None:
    fields = [(f"field_{k}", types.float64[:, ::1]) for k in range(100)]
    one, same, other = _Pair(fields), _Pair(fields), _Pair([*fields[:-1], ("field_99", types.float64[::1])])
    assert one == same and one != other
    assert max(len(one.name), len(other.name)) < 40
