"""Output of a program that is interrupted while it starts."""

from __future__ import annotations

from collections.abc import Sequence


class InterruptFilter:
    """Drops what Python says when SIGINT comes before the program is ready for it.

    That is a traceback with a KeyboardInterrupt in it (imports wrap it in errors of their own), or below one that came
    without (from an extension module), or a fatal error of the interpreter's own start.

    Attributes:
        start_interrupted: the interpreter's start was interrupted; its exit code then is 1.
    """

    def __init__(self) -> None:
        self.start_interrupted = False
        self._held: list[str] = []

    def keep(self, lines: Sequence[str], *, last: bool = False) -> list[str]:
        """The lines to show; from a traceback on they are held until the `last` call, which decides."""
        shown: list[str] = []
        for line in lines:
            self.start_interrupted |= line.startswith("Fatal Python error: init_")
            if self._held or line.startswith(("Traceback (most recent call last)", "KeyboardInterrupt")):
                self._held.append(line)
            elif not self.start_interrupted:
                shown.append(line)
        if last:
            if not self.start_interrupted and not any("KeyboardInterrupt" in line for line in self._held):
                shown += self._held
            self._held = []
        return shown
