"""Objects that installed packages register as entry points. No ROS."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

from haptic_core.errors import HapticError


def load_entry_point(point: EntryPoint) -> Any:
    """Loads the object of an entry point; raises HapticError with the reason if that fails."""
    try:
        return point.load()
    except Exception as error:  # whatever the module of another package raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise HapticError(f"{point.value} cannot be loaded: {reason}") from error
