"""Assignment to arrays in code that Numba compiles.

For `target[:] = values` Numba compiles the text of an error about shapes, which is longer than most functions. It
becomes a part of the function and of all that call it: 0.2 s in each of them, and 2 s the first time in a process.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def assign(target: np.ndarray, values: np.ndarray) -> None:
    """Writes values (n,) to an array (n,); neither is checked."""
    for i in range(len(target)):
        target[i] = values[i]


@njit(cache=True, nogil=True, error_model="numpy")
def assign_rows(target: np.ndarray, values: np.ndarray) -> None:
    """Writes values (m, n) to an array (m, n); neither is checked."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = values[i, j]
