"""Keys of the page: commands of viser's palette with a key each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import viser

from haptic_viewer.text import plain

#: key and label of each command
COMMANDS = {
    "pause": ("space", "Pause the run, or let it go on"),
    "reset": ("R", "Reset device and nodes"),
    "hold": ("H", "Hold the handle, or let go"),
}
_DIGITS = "123456789"


class Keys:
    """The keys of a scene: space pauses, R resets, H holds the handle.

    Args:
        gui: GUI of the page.
        act: called with a name of `COMMANDS`, in viser's thread.
    """

    def __init__(self, gui: viser.GuiApi, act: Callable[[str], None]) -> None:
        for word, (key, label) in COMMANDS.items():
            add_key(gui, label, key, partial(act, word))


def add_scene_keys(gui: viser.GuiApi, names: Sequence[str], choose: Callable[[str], None]) -> None:
    """Adds the keys 1 to 9 for the first scenes of the gallery; `choose` is called with a name, in viser's thread."""
    for key, name in zip(_DIGITS, names, strict=False):
        add_key(gui, f"Touch {name}", key, partial(choose, name))


def add_key(gui: viser.GuiApi, label: str, key: Any, act: Callable[[], None]) -> None:
    """Adds a key that calls `act` in viser's thread; its label appears in the list of keys."""
    command = gui.add_command(plain(label), hotkey=key)

    @command.on_trigger
    async def _(_: Any) -> None:
        act()
