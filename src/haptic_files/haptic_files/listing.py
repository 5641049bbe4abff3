"""Names in error messages: which there are, and which is meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def listed(names: Iterable[str], wrong: str, length: int = 150) -> str:
    """Names in one line, for an error: all of them, or three at most and the number of the others.

    Args:
        names: in the order in which they are listed if all are.
        wrong: name that was given instead; those like it are listed, or else the first ones.
        length: number of characters up to which all are listed.
    """
    known = list(names)
    if len(", ".join(known)) <= length:
        return ", ".join(known)
    close = difflib.get_close_matches(wrong[:length], known, 3) or known[:3]
    return f"{', '.join(close)} and {len(known) - len(close)} more"


def nearest(name: str, known: Iterable[str]) -> str:
    """Ending of an error that names the known name next to a wrong one; empty if none is near."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
