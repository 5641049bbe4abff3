"""Calls of compiled functions by their address, so that their code does not become a part of the caller's.

Numba compiles all functions that a function calls once more as a part of it, and again as a part of its own caller, up
to the function that Python calls: of the minutes that the first step takes to compile, a third was the same code again.
A large function that is called by its address is compiled once, and only for worlds that need it. Of several processes
that need it one compiles it; the others wait, and read it from Numba's cache.

>>> address = address_of(solve, workspace)  # in Python
>>> status = call_integer(address, (workspace,))  # in compiled code
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import typeof, types

_ADDRESSES: dict[tuple[Any, ...], int] = {}


def address_of(function: Any, *arguments: Any) -> int:
    """Compiles a function for arguments of these types.

    Args:
        function: compiled function that returns an integer and raises no error.
        *arguments: examples of its arguments.

    Returns:
        Address for :func:`call_integer`, valid as long as the process.
    """
    kinds = tuple(map(typeof, arguments))
    if (function, kinds) not in _ADDRESSES:
        with one_process(function):
            compiled = function.get_compile_result(types.int64(*kinds))
        name = compiled.fndesc.llvm_cfunc_wrapper_name
        _ADDRESSES[function, kinds] = compiled.library.get_pointer_to_function(name)
    return _ADDRESSES[function, kinds]


@contextmanager
def one_process(function: Any) -> Iterator[None]:
    """Waits until no other process compiles the function; the system ends the lock of a process that ends.

    Without a cache that can be written, each process compiles for itself.
    """
    if function.stats.cache_path is None:
        yield
        return
    try:
        folder = Path(function.stats.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / f"{function.__name__}.lock", "w")  # noqa: SIM115 - closed below
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        yield
        return
    with file:
        yield
