"""Names in error messages: the known names, and the one nearest to a wrong name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def listed(names: Iterable[str], wrong: str, length: int = 150) -> str:
    """Lists names in one line of an error: all of them, or three at most and the number of the others.

    Args:
        names: known names, in the order of a full list.
        wrong: wrong name; a short list has the names similar to it, or else the first ones.
        length: largest number of characters of a full list.
    """
    known = list(names)
    if len(", ".join(known)) <= length:
        return ", ".join(known)
    close = difflib.get_close_matches(wrong[:length], known, 3) or known[:3]
    return f"{', '.join(close)} and {len(known) - len(close)} more"


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the ending of an error with the known name nearest to a wrong one; empty if no name is near."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
