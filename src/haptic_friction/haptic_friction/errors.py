"""Errors that callers distinguish; every other refusal of an argument is a plain ValueError."""

from __future__ import annotations


class FrictionError(Exception):
    """Base of the errors of this package."""


class FrictionInputError(FrictionError, ValueError):
    """An input of one step cannot be used.

    Attributes:
        kind: short name under which the refusal is counted.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
