"""Messages of the last minute, and the slider that shows a moment of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Any

import viser

from haptic_viewer.layout import LAST_FOLDERS
from haptic_viewer.text import PlainText

#: length of the timeline [s], and smallest time between two stored messages of a topic [s]
WINDOW, STEP = 60.0, 0.1


class Timeline:
    """Messages of each topic in the last minute, thinned to ten per second."""

    def __init__(self) -> None:
        self._messages: dict[str, deque[tuple[float, Any]]] = {}

    def add(self, topic: str, now: float, message: Any) -> None:
        """Adds a message that was received at this time [s]."""
        kept = self._messages.setdefault(topic, deque())
        if kept and now - kept[-1][0] < STEP:
            return
        kept.append((now, message))
        while now - kept[0][0] > WINDOW:
            kept.popleft()

    def at(self, time: float) -> dict[str, Any]:
        """Returns the newest message of each topic at a time [s]; the first message if the time is before it."""
        found = {}
        for topic, kept in self._messages.items():
            count = bisect_right([received for received, _ in kept], time)
            found[topic] = kept[max(count - 1, 0)][1]
        return found


class TimePanel:
    """Slider to a moment of the last minute. While it is not at 0, the scene shows that moment and does not move.

    Args:
        gui: GUI of the page.
        now: function that returns the time of the newest frame [s].
    """

    def __init__(self, gui: viser.GuiApi, now: Callable[[], float]) -> None:
        self._now, self._anchor = now, 0.0
        with gui.add_folder("Time", order=LAST_FOLDERS["Time"]):
            self._slider: Any = gui.add_slider(
                "seconds ago [s]", 0.0, WINDOW, STEP, 0.0, hint="0: live; the run goes on meanwhile"
            )
            live = gui.add_button("back to live")
            self._words = PlainText(gui)

        @self._slider.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                self.go_back(float(event.target.value))

        @live.on_click
        async def _(_: viser.GuiEvent) -> None:
            self._slider.value = 0.0
            self.go_back(0.0)

    def go_back(self, seconds: float) -> None:
        """Shows the moment `seconds` before the time at which the slider left 0; 0: live."""
        if seconds > 0.0 and not self._anchor:
            self._anchor = self._now()
        if not seconds > 0.0:
            self._anchor = 0.0
        self._ago = seconds

    _ago = 0.0

    @property
    def moment(self) -> float | None:
        """Time of the moment that is shown [s]; None: live."""
        return self._anchor - self._ago if self._anchor else None

    def say(self, text: str) -> None:
        """Shows a description of the moment; empty: live."""
        self._words.show(*((text,) if text else ()))
