"""Errors with a meaning; every message names the field, what was expected and what came."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def shortened(value: object, length: int = 200) -> str:
    """The repr of a user's value, cut to a readable length [characters]."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}..."


def nearest(name: str, known: Iterable[str]) -> str:
    """Ending of an error that names the known name next to a wrong one; empty if none is near."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


class HapticError(Exception):
    """Base of the suite's own errors: one clear line, shown to the user without a traceback."""


class ParameterError(HapticError, ValueError):
    """A parameter is unknown, has the wrong type or lies out of its bounds."""


class InputError(HapticError, ValueError):
    """A message cannot be used: not finite, wrong length, wrong tick, unknown mode or source.

    Attributes:
        kind: short name under which the rejection is counted.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        return InputError, (self.kind, str(self))


class EntryError(ParameterError):
    """An entry "name=value" cannot be used."""
