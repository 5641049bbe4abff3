"""Support for bags that were recorded with older definitions of the messages.

Older events have JSON in the field `detail` instead of `values`. Older fields of Scene have names in the plural; the
layout of their bytes is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rosbags.typesys.store import Typestore

from haptic_core.errors import InputError
from haptic_core.messages import event_texts

#: present name of a field by message type and older name
_RENAMED = {
    "haptic_msgs/msg/Scene": {"names": "name", "shapes": "shape", "sizes": "size", "masses": "mass", "meshes": "mesh"}
}
_TICK_EVENT, _KEY_VALUE = "haptic_msgs/msg/TickEvent", "diagnostic_msgs/msg/KeyValue"


def upgraded(event: Any, types: Typestore) -> Any:
    """Converts a TickEvent to the present layout; returns the event itself if it has that layout.

    Args:
        event: TickEvent as rosbags reads it with the bag's own definition of the type.
        types: store with the present definitions.

    Raises:
        InputError: The detail is not a JSON object.
    """
    if not hasattr(event, "detail"):
        return event
    try:
        detail = json.loads(event.detail)
    except (ValueError, RecursionError) as error:
        raise InputError("malformed", f"event of {event.source}: not JSON: {error}") from None
    if not isinstance(detail, dict):
        raise InputError("malformed", f"event of {event.source}: expected a JSON object, got {event.detail[:50]!r}")
    values = [types.types[_KEY_VALUE](key, value) for key, value in event_texts(detail).items()]
    return types.types[_TICK_EVENT](event.header, event.tick, event.source, event.kind, values)


def present_names(kind: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Renames columns of messages of a type, as haptic_msgs/msg/Scene, from older to present names of fields."""
    renamed = _RENAMED.get(kind, {})
    return {renamed.get(name, name): column for name, column in columns.items()}
