"""Announces compilations by Numba that take long; this module needs Numba.

>>> announce_compilation("my_library")  # once, when the library is imported
"""

from __future__ import annotations

import sys
import time

from numba.core import event

#: time of compilation in a process after which it is announced [s]
_PATIENCE = 3.0


def announce_compilation(package: str) -> None:
    """Announces on a terminal or in a notebook that functions of a package are being compiled, once they take 3 s.

    Numba compiles at a first call and says nothing. Functions that it finds in its cache do not count.

    Args:
        package: name of the package whose functions count.
    """
    event.register("numba:compile", _Announcement(package))


class _Announcement(event.Listener):  # type: ignore[misc]
    """Adds up the time of a package's compilations, and prints a line when it exceeds the patience."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._starts: list[float] = []
        self._seconds = 0.0

    def _counts(self, of: event.Event) -> bool:
        module = of.data["dispatcher"].py_func.__module__ or ""
        return self._seconds <= _PATIENCE and str(module).partition(".")[0] == self._package

    def on_start(self, event: event.Event) -> None:
        if self._counts(event):
            self._starts.append(time.perf_counter())

    def on_end(self, event: event.Event) -> None:
        if not (self._counts(event) and self._starts):
            return
        start = self._starts.pop()
        if not self._starts:  # a function that is compiled within another one counts once
            self._seconds += time.perf_counter() - start
        if self._seconds > _PATIENCE and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            text = f"{self._package} compiles its functions, once; a first call can take a minute"
            print(text, file=sys.stderr, flush=True)
