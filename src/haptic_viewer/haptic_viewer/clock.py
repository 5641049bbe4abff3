"""The clock panel of the page: start, pause, step, reset, pace, and the state of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import viser

from haptic_viewer.text import PlainText, Strong

#: actions of the buttons
ACTIONS = ("start", "pause", "step", "reset")


class ClockPanel:
    """Buttons and the state of the run.

    Args:
        gui: GUI of the page.
        act: called with one of `ACTIONS` and the ticks of a step, or with "pace" and its value, in viser's thread.
    """

    def __init__(self, gui: viser.GuiApi, act: Callable[[str, float], None]) -> None:
        with gui.add_folder("Run"):
            self._state = PlainText(gui, "waiting for the device")
            self._refusal = PlainText(gui)
            buttons = gui.add_button_group("clock", [word.capitalize() for word in ACTIONS])
            self._ticks = gui.add_number("ticks of a step", 1, min=1, max=1000000, step=1)
            self._pace: Any = gui.add_slider(
                "pace",
                0.0,
                2.0,
                0.05,
                1.0,
                hint="real-time factor of lockstep at most; 0: as fast as possible",
            )

        @buttons.on_click
        async def _(event: viser.GuiEvent) -> None:
            act(event.target.value.lower(), float(self._ticks.value))

        @self._pace.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                act("pace", float(event.target.value))

    def show(self, *parts: str | Strong) -> None:
        """Shows the state of the run."""
        self._state.show(*parts)

    def say(self, text: str) -> None:
        """Shows the reason of a refusal; empty: clears it."""
        self._refusal.show(*((Strong(text),) if text else ()))

    def set_pace(self, pace: float, *, lockstep: bool) -> None:
        """Shows the current pace; a realtime run has none."""
        self._pace.disabled = not lockstep
        self._pace.max = max(self._pace.max, pace)
        self._pace.value = pace
