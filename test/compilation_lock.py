"""Compiles each kernel in one of the workers; the others wait, and read it from Numba's cache.

Without it the workers compile the same kernels at the same time, and of two processes that write the index of a
function's cache at the same time, one loses what it compiled.
"""

from __future__ import annotations

import fcntl
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

#: files that this process has locked: a function can need itself with other types
_locked: set[Path] = set()


def compile_in_one_process() -> None:
    """Lets functions with a cache, in this process, wait while another process with this lock compiles the same one.

    A process holds the locks of a function and of those that it calls, in this order, so that none waits in a circle.
    """
    if hasattr(Dispatcher.compile, "__wrapped__"):
        return
    original = Dispatcher.compile

    @functools.wraps(original)
    def compile_alone(self: Any, sig: Any) -> Any:
        if self._cache.cache_path is None:
            return original(self, sig)
        # Numba's own lock first: a thread that waits for it must not keep another process waiting
        with global_compiler_lock, _one_process(self):
            return original(self, sig)

    Dispatcher.compile = compile_alone


@contextmanager
def _one_process(dispatcher: Any) -> Iterator[None]:
    function = dispatcher.py_func
    name = f"{function.__module__}.{function.__qualname__}-{function.__code__.co_firstlineno}.one"
    path = Path(dispatcher._cache.cache_path, name)
    if path in _locked:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _locked.add(path)
        try:
            yield
        finally:
            _locked.discard(path)
