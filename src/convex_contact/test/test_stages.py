"""Calls of compiled functions by their address, and the names of records' types."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit, typeof, types

from convex_contact import Simulator, World, compile_ahead
from convex_contact.collision.contact_surface import find_faces
from convex_contact.simulation import compiled_step, dynamics
from convex_contact.simulation.step_inputs import load_joint_rows
from convex_contact.solver import newton
from convex_contact.solver.borrowed import RecordType
from convex_contact.solver.stages import address_of, one_process
from haptic_math.native_calls import call_integer


@njit
def _combine(count: int, factor: float, doubled: bool) -> int:
    return int(count * factor) * (2 if doubled else 1)


@njit
def _call(address: int, count: int, factor: float, doubled: bool) -> int:
    return call_integer(address, (count, factor, doubled))


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


def test_only_parts_that_a_world_has_are_compiled_for_it(monkeypatch: Any) -> None:
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


def _waits_for_lock(file: Path) -> bool:
    """Returns whether a thread waits for the lock of a file; the system lists waiting locks with an arrow."""
    inode = f":{file.stat().st_ino} "
    return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


@pytest.mark.parametrize("writable", [True, False])
def test_one_process_at_a_time_compiles_a_function(tmp_path: Path, writable: bool) -> None:
    folder = tmp_path / "cache"
    if not writable:
        folder.touch()  # a file cannot have files in it
    function = SimpleNamespace(__name__="solve", stats=SimpleNamespace(cache_path=str(folder)))
    done: list[str] = []

    def compile_here() -> None:
        with one_process(function):
            done.append("here")

    here = threading.Thread(target=compile_here)
    if not writable:
        here.start()
        here.join()
        assert done == ["here"]
        return
    folder.mkdir()
    with open(folder / "solve.lock", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        here.start()
        while here.is_alive() and not _waits_for_lock(folder / "solve.lock"):
            time.sleep(0.01)
        done.append("other process")
    here.join()
    assert done == ["other process", "here"]


def test_the_solver_that_is_compiled_ahead_is_that_of_simulators(monkeypatch: Any) -> None:
    compiled: list[Any] = []
    for module in (compile_ahead, newton):
        monkeypatch.setattr(module, "address_of", lambda *called: compiled.append(called))
    compile_ahead.main()
    monkeypatch.undo()
    simulator = _world(hinge=True)
    simulator.step()
    assert [function for function, *_ in compiled] == [newton.iterate, newton.solve]
    for function, *arguments in compiled:
        kinds = tuple(map(typeof, arguments))
        assert kinds in [signature.args for signature in function.nopython_signatures]
    assert typeof(compiled[1][1]) == typeof(simulator._workspace)


class _Pair(RecordType):
    pass


def test_names_of_types_are_short_and_differ_where_fields_do() -> None:
    fields = [(f"field_{k}", types.float64[:, ::1]) for k in range(100)]
    one, same, other = _Pair(fields), _Pair(fields), _Pair([*fields[:-1], ("field_99", types.float64[::1])])
    assert one == same and one != other
    assert max(len(one.name), len(other.name)) < 40
