"""Announces compilations by Numba that take long; this module needs Numba.

>>> announce_compilation("my_library")  # once, when the library is imported
"""

from __future__ import annotations

import sys
import threading
import time

from numba.core import event

#: time of compilation in a process after which it is announced [s]
_PATIENCE = 3.0


def announce_compilation(package: str, duration: str = "a minute") -> None:
    """Announces on a terminal or in a notebook that functions of a package are being compiled, once they take 3 s.

    Numba compiles at a first call and says nothing. Functions that it finds in its cache do not count.

    Args:
        package: name of the package whose functions count.
        duration: time that a first call can take, in words.
    """
    text = f"{package} compiles its functions, once; a first call can take {duration}"
    event.register("numba:compile", _Announcement(package, text))


class _Announcement(event.Listener):  # type: ignore[misc]
    """Prints a line as soon as the compilations of a package have taken longer than the patience."""

    def __init__(self, package: str, text: str) -> None:
        self._package, self._text = package, text
        self._depth, self._start, self._remaining = 0, 0.0, _PATIENCE
        self._timer: threading.Timer | None = None
        self._is_printed = False

    def _counts(self, of: event.Event) -> bool:
        module = of.data["dispatcher"].py_func.__module__ or ""
        is_read = sys.stderr.isatty() or "ipykernel" in sys.modules
        return is_read and not self._is_printed and str(module).partition(".")[0] == self._package

    def on_start(self, event: event.Event) -> None:
        if not self._counts(event):
            return
        self._depth += 1
        if self._depth == 1:  # a function that is compiled within another one counts once
            self._start = time.perf_counter()
            self._timer = threading.Timer(self._remaining, self._print)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: event.Event) -> None:
        if self._timer is None or not self._counts(event):
            return
        self._depth -= 1
        if not self._depth:
            self._timer.cancel()
            self._remaining -= time.perf_counter() - self._start

    def _print(self) -> None:
        self._is_printed = True
        print(self._text, file=sys.stderr, flush=True)
