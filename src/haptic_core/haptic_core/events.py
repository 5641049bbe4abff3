"""Events between ticks as messages; `haptic_core.messages.detail_of` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import KeyValue

from haptic_core.messages import event_texts
from haptic_msgs.msg import TickEvent


def fill_event(event: TickEvent, kind: str, detail: Mapping[str, Any]) -> None:
    """Writes the kind, one of TickEvent.KIND_*, and the detail of an event into a message."""
    event.kind = kind
    event.values = [KeyValue(key=key, value=value) for key, value in event_texts(detail).items()]


def make_event(source: str, kind: str, detail: Mapping[str, Any], *, tick: int = 0) -> TickEvent:
    """Makes a TickEvent without a stamp; the other arguments as in `fill_event`."""
    event = TickEvent(source=source, tick=tick)
    fill_event(event, kind, detail)
    return event
