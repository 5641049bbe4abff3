"""Errors of the suite; every message names the field, the expectation and the value."""

from __future__ import annotations

from collections.abc import Iterator

#: integers of more bits are described, since Python refuses to print those of more than 4300 digits
_PRINTED_BITS = 10_000


def shortened(value: object, length: int = 200) -> str:
    """Returns the repr of a user's value, cut to a readable length [characters].

    The rest of lists, tuples, mappings and texts is never made: a few lines of YAML can stand for 1e9 entries.
    """
    text = ""
    for piece in _pieces(value, length):
        text += piece
        if len(text) > length:
            return f"{text[:length]}..."
    return text


def _pieces(value: object, length: int) -> Iterator[str]:
    """Yields the repr of a value in pieces."""
    if type(value) in (str, bytes) and len(value) > length:  # type: ignore[arg-type]
        yield repr(value[: length + 1])  # type: ignore[index]
    elif type(value) is int and value.bit_length() > _PRINTED_BITS:
        yield f"an integer of {value.bit_length()} bits"
    elif type(value) is list or type(value) is tuple:
        yield "[" if type(value) is list else "("
        for i, entry in enumerate(value):
            yield ", " if i else ""
            yield from _pieces(entry, length)
        yield "]" if type(value) is list else ",)" if len(value) == 1 else ")"
    elif type(value) is dict:
        yield "{"
        for i, (key, entry) in enumerate(value.items()):
            yield ", " if i else ""
            yield from _pieces(key, length)
            yield ": "
            yield from _pieces(entry, length)
        yield "}"
    else:
        yield repr(value)


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
