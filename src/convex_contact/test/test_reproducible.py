"""Compiled code gives the same numbers wherever it was compiled: the process that compiles and those that load it.

The same function is compiled into several others. Where the compiler may reorder or fuse sums it does so differently
in each, and which of them acts depends on whether the code was compiled in this process.
"""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher

import convex_contact
from convex_contact.solver import vector_blocks


def test_no_kernel_allows_the_compiler_to_reorder_sums() -> None:
    names = [module.name for module in pkgutil.walk_packages(convex_contact.__path__, "convex_contact.")]
    kernels = {
        f"{name}.{key}": value
        for name in names
        for key, value in vars(importlib.import_module(name)).items()
        if isinstance(value, Dispatcher)
    }
    assert len(kernels) > 50
    assert [name for name, kernel in kernels.items() if kernel.targetoptions.get("fastmath")] == []


def test_vector_code_fixes_the_order_of_its_roundings() -> None:
    @njit
    def update(D: np.ndarray, x: np.ndarray) -> None:
        vector_blocks.subtract_product6(D, 0, 36, 72)
        vector_blocks.subtract_times6(D, 0, x, 0, x, 6)

    D, x = np.random.default_rng(1).normal(size=108), np.ones(12)
    update(D, x)
    (code,) = update.inspect_llvm().values()
    body = [line for line in code.splitlines() if "double" in line]
    assert any("llvm.fma.v6f64" in line for line in body)
    flags = (" fast ", " reassoc ", " contract ")
    assert not [line for line in body if any(flag in line for flag in flags)]
