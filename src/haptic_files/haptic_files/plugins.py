"""Entry points by which installed packages add functions and classes to a part of the suite."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

_Error = TypeVar("_Error", bound=Exception)


def installed_plugins(group: str) -> dict[str, EntryPoint]:
    """Returns the entry points of a group by name, sorted."""
    points = {point.name: point for point in entry_points(group=group)}
    return dict(sorted(points.items()))


def find_plugin(group: str, name: str) -> EntryPoint | None:
    """Returns the entry point of a group whose name or value (`module:attribute`) is given; None if there is none."""
    return next((point for point in entry_points(group=group) if name in (point.name, point.value)), None)


def load_plugin(point: EntryPoint, error: type[Exception], field: str = "") -> Any:
    """Imports the object of an entry point.

    Args:
        point: entry point.
        error: class of the error.
        field: field for the message.

    Raises:
        error: the import fails; the message has the field, the entry point's value and the reason, in one line.
    """
    try:
        return point.load()
    except Exception as reason:  # whatever the module of another package raises
        text = " ".join(f"{type(reason).__name__}: {reason}".split())
        raise error(f"{field}{': ' * bool(field)}{point.value} cannot be loaded: {text}") from reason


def load_plugins(group: str, error: type[_Error]) -> dict[str, Any | _Error]:
    """Imports the objects of all entry points of a group, by name, sorted; of one that fails, gives the error."""
    loaded: dict[str, Any | _Error] = {}
    for name, point in installed_plugins(group).items():
        try:
            loaded[name] = load_plugin(point, error)
        except error as reason:
            loaded[name] = reason
    return loaded
