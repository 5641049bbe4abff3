"""Look-up of bodies, trees and joints by name, and errors that list the known names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from convex_contact.model.body import WorldError
from convex_contact.problem import checks
from haptic_files import listed, nearest


def number_of(kind: str, given: Any, known: Sequence[Any]) -> int:
    """Returns the number of an object given by number or name.

    Args:
        kind: of the objects, for messages, such as "body".
        given: number or name.
        known: objects with names, in the order of their numbers.

    Raises:
        WorldError: there is no such object.
    """
    if isinstance(given, str):
        for number, one in enumerate(known):
            if one.name == given:
                return number
        names = [one.name for one in known]
        links = [name for name in names if name.rpartition("/")[2] == given]
        hint = f"; did you mean {' or '.join(links)}?" if links else nearest(given, names)
        raise WorldError(f"{given}: no such {kind}; there are: {listed(names, given) or 'none'}{hint}")
    if not checks.is_whole(given):
        raise WorldError(f"{kind}: expected a name or a number, got {given!r}")
    if not 0 <= given < len(known):
        raise WorldError(f"{given}: no such {kind}; there are {len(known)}")
    return int(given)


def path_of(field: str, given: Any) -> Path:
    """Returns the path that a text or a path names; raises a WorldError otherwise."""
    if not isinstance(given, str | PathLike):
        raise WorldError(f"{field}: expected a path, got {given!r}")
    return Path(given)


def unknown_name(
    field: str, given: Any, known: Collection[str], kind: str = "", near: Collection[str] = ()
) -> WorldError:
    """Returns an error that lists the known names, and the one nearest to a name that is not known.

    Args:
        field: beginning of the message.
        given: the unknown name.
        known: names that are listed.
        kind: of the objects, such as "the hinges".
        near: further names that the given one may be meant for.
    """
    wrong = str(given)
    names = listed(known, wrong) or "none"
    expected = f"{kind} ({names})" if kind else names
    return WorldError(f"{field}: expected one of {expected}, got {given!r}{nearest(wrong, [*known, *near])}")
