"""Output of a program that is interrupted while it starts."""

from __future__ import annotations

from collections.abc import Sequence


class InterruptFilter:
    """Drops Python's messages about a SIGINT that comes before the program is ready for it.

    These are tracebacks with a KeyboardInterrupt in them (imports wrap it in their own errors) or after them (from an
    extension module), and fatal errors of the interpreter's start.

    Attributes:
        start_interrupted: whether the interpreter's start was interrupted; then its exit code is 1.
    """

    def __init__(self) -> None:
        self.start_interrupted = False
        self._held: list[str] = []

    def keep(self, lines: Sequence[str], *, last: bool = False) -> list[str]:
        """Returns the lines to show; lines from a traceback on are kept until the call with `last`, which decides."""
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
