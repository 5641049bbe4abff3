"""Runs the kernels in plain Python where NUMBA_DISABLE_JIT=1 is set, so that altered ones need not be compiled.

Numba then leaves functions as they are, but some parts exist in compiled code only: intrinsics, structrefs, records
with attributes and functions of a compiled library. `install` gives Python's form of each and is called before the
packages are loaded. Numbers differ from those of the compiled code by rounding. A user's own normal law of
`convex_contact` has no such form: tests of it fail here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from llvmlite import binding
from numba import types
from numba.core import extending
from numba.experimental import structref


@lru_cache
def _foreign(result: Any, argument: Any, count: int) -> Any:
    return ctypes.CFUNCTYPE(result, *[argument] * count)


def _call(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Calls a function of the suite, or the function of doubles at an address."""
    if callable(function):
        return function(*arguments)
    at_address = _foreign(ctypes.c_double, ctypes.c_double, len(arguments))(int(function))
    return np.float64(at_address(*map(float, arguments)))


def _external(function: Any, *arguments: Any) -> Any:
    """Calls a function of integers of a library."""
    address = binding.address_of_symbol(function.symbol)
    return _foreign(ctypes.c_int64, ctypes.c_int64, len(arguments))(address)(*map(int, arguments))


def _with_item(values: tuple[Any, ...], i: int, value: Any) -> Any:
    return getattr(type(values), "_make", tuple)((*values[:i], value, *values[i + 1 :]))


def _copy_fields(target: Any, source: Any) -> None:
    for name, value in vars(source).items():
        setattr(target, name, value.copy() if isinstance(value, np.ndarray) else value)


# --- blocks of six columns in flat arrays, as in `convex_contact.solver.vector_blocks` -----------------------------


def _rows(array: np.ndarray, start: int, count: int = 6) -> np.ndarray:
    return array[start : start + 6 * count].reshape(count, 6)


def _subtract_product6(D: np.ndarray, c: int, a: int, b: int) -> None:
    _rows(D, c)[:] -= _rows(D, a).T @ _rows(D, b)


def _lower_times6(D: np.ndarray, h: int, L: np.ndarray, start: int) -> None:
    _rows(D, h)[:] = np.tril(_rows(L, start)) @ _rows(D, h)


def _subtract_transposed6(D: np.ndarray, a: int, x: np.ndarray, s: int, y: np.ndarray, t: int) -> None:
    y[t : t + 6] -= _rows(D, a).T @ x[s : s + 6]


def _subtract_times6(D: np.ndarray, a: int, x: np.ndarray, s: int, y: np.ndarray, t: int) -> None:
    y[t : t + 6] -= _rows(D, a) @ x[s : s + 6]


def _lower_times_vector6(L: np.ndarray, start: int, x: np.ndarray, s: int) -> None:
    x[s : s + 6] = _rows(L, start) @ x[s : s + 6]


def _transposed_lower_times_vector6(L: np.ndarray, start: int, x: np.ndarray, s: int) -> None:
    x[s : s + 6] = _rows(L, start).T @ x[s : s + 6]


def _add_three_rows6(J: np.ndarray, j: int, a: float, b: float, c: float, x: np.ndarray, s: int) -> None:
    x[s : s + 6] += _rows(J, j, 3).T @ np.array([a, b, c])


def _three_rows_times6(J: np.ndarray, j: int, v: np.ndarray, s: int) -> tuple[float, ...]:
    return tuple(_rows(J, j, 3) @ v[s : s + 6])


def _three_rows_times66(J: np.ndarray, j: int, v: np.ndarray, s: int, t: int) -> tuple[float, ...]:
    return tuple(_rows(J, j, 3) @ v[s : s + 6] + _rows(J, j + 18, 3) @ v[t : t + 6])


def _add_congruence6(D: np.ndarray, h: int, J: np.ndarray, a: int, b: int, *entries: float) -> None:
    g11, g12, g22, g13, g23, g33 = entries
    G = np.array([[g11, g12, g13], [g12, g22, g23], [g13, g23, g33]])
    _rows(D, h)[:] += _rows(J, a, 3).T @ G @ _rows(J, b, 3)


def _inverse_factor6(D: np.ndarray, h: int, L: np.ndarray, start: int, floor: np.ndarray, f: int) -> None:
    H, U = _rows(D, h).copy(), np.zeros((6, 6))
    for j in range(6):
        U[j, j] = np.sqrt(max(H[j, j], floor[f + j]))
        U[j, j + 1 :] = H[j, j + 1 :] / U[j, j]
        H[j + 1 :, j + 1 :] -= np.outer(U[j, j + 1 :], U[j, j + 1 :])
    _rows(L, start)[:] = np.tril(np.linalg.inv(U).T)


_BLOCKS = (
    _subtract_product6, _lower_times6, _subtract_transposed6, _subtract_times6, _lower_times_vector6,
    _transposed_lower_times_vector6, _add_three_rows6, _three_rows_times6, _three_rows_times66, _add_congruence6,
    _inverse_factor6,
)  # fmt: skip
#: Python's form of each intrinsic by its name
_FORMS: dict[str, Callable[..., Any]] = {
    **{function.__name__[1:]: function for function in _BLOCKS},
    "tuple_setitem": _with_item,
    "borrowed": lambda array: array,
    "borrow": lambda record: record,
    "_address": lambda record: 0,
    "_copy_fields": _copy_fields,
    "call": _call,
    "trailing_zeros": lambda word: (int(word) & -int(word)).bit_length() - 1,
    "_count_ones": lambda word: int(word).bit_count(),
}


# --- structrefs and records ------------------------------------------------------------------------------------------


class _Fields:
    """A structref that Python code can read and write."""


def _new(kind: Any) -> _Fields:
    """Returns a structref with empty arrays and zeros."""
    made = _Fields()
    for name, field in kind._fields:
        zero = np.float64(0.0) if field == types.float64 else 0
        array = isinstance(field, types.Array)
        setattr(made, name, np.zeros((0,) * field.ndim, dtype=str(field.dtype)) if array else zero)
    return made


_names: dict[type, list[str]] = {}


def _define_proxy(proxy: type, kind: Any, names: Sequence[str]) -> None:
    _names[proxy] = list(names)


def _make(proxy: type, *values: Any) -> Any:
    made: Any = object.__new__(proxy)
    for name, value in zip(_names[proxy], values, strict=True):
        setattr(made, name, value)
    return made


def _with_attributes(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Makes arrays of records such that fields are attributes, as in compiled code."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> np.ndarray:
        made = function(*arguments, **options)
        return made.view(np.recarray) if made.dtype.names and not isinstance(made, np.recarray) else made

    return call


def install() -> None:
    """Takes the place of the parts of Numba that only compiled code can use."""
    extending._Intrinsic.__call__ = lambda intrinsic, *arguments: _FORMS[intrinsic._name](*arguments)
    types.ExternalFunction.__call__ = _external
    structref.define_proxy, structref.new = _define_proxy, _new
    structref.StructRefProxy.__new__ = _make
    for name in ("zeros", "empty", "array", "ascontiguousarray"):
        setattr(np, name, _with_attributes(getattr(np, name)))
    from convex_contact.simulation import compiled_step, dynamics
    from convex_contact.solver import borrowed

    borrowed.Borrowed.__new__ = lambda kind, owner: owner
    for module in (compiled_step, dynamics):
        module.address_of = lambda function, *arguments: function
