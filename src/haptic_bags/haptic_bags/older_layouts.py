"""Bags that were recorded with older definitions of the messages.

Events had JSON in the field `detail` before TickEvent had `values`. Fields of Scene had names in the plural; the layout
of its bytes is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rosbags.typesys.store import Typestore

from haptic_core.errors import InputError
from haptic_core.messages import event_texts

#: by message type, present names of fields by their older ones
_RENAMED = {
    "haptic_msgs/msg/Scene": {"names": "name", "shapes": "shape", "sizes": "size", "masses": "mass", "meshes": "mesh"}
}
_TICK_EVENT, _KEY_VALUE = "haptic_msgs/msg/TickEvent", "diagnostic_msgs/msg/KeyValue"


def upgraded(event: Any, types: Typestore) -> Any:
    """Gives a TickEvent the present layout; one that has it is returned as it is.

    Args:
        event: As rosbags reads it with the bag's own definition of the type.
        types: Present definitions.

    Raises:
        InputError: The detail is no JSON object.
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
    """Gives columns of messages of a type, as haptic_msgs/msg/Scene, the present names of their fields."""
    renamed = _RENAMED.get(kind, {})
    return {renamed.get(name, name): column for name, column in columns.items()}
