"""Laws of one contact as functions of scalars, which compiled code inlines and `run` maps over arrays.

A function with the decorator `elementwise` is compiled into each kernel that calls it. Called from Python it is a
plain function of NumPy numbers of any precision: real, complex (derivatives by the complex step are exact to rounding)
or extended. Conditions compare real parts, so that a complex step follows the branch of the real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

#: decorator of a law of one contact
elementwise = register_jitable(error_model="numpy", forceinline=True, _nrt=False)


@elementwise
def larger(a: Any, b: Any) -> Any:
    """Returns the larger of two numbers, by their real parts."""
    return a if a.real > b.real else b


@lru_cache
def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    return njit(error_model="numpy", cache=True)(loop)


def run(loop: Callable[..., None], dtype: Any, *arguments: Any) -> None:
    """Calls a loop over contacts: compiled for real and complex doubles, in plain Python for other numbers."""
    (_compiled(loop) if dtype in (np.float64, np.complex128) else loop)(*arguments)
