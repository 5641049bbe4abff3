"""Errors with a meaning; every message names the field, what was expected and what came."""

from __future__ import annotations


def shortened(value: object, length: int = 200) -> str:
    """The repr of a user's value, cut to a readable length [characters]."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}..."


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
