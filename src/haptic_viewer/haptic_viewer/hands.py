"""Keys and gamepads of the page's browsers, and the rumble of the gamepads, over a second websocket beside viser's.

The script `hands.js` is part of the page. It sends `{"axes": [right, up, away], "buttons": [...]}`: axes from -1 to 1,
and the buttons that were pressed since the last message. It receives `{"held": true, "rumble": 0.3}`. A file that is
dropped on the page is a binary message: its name, a newline and its content.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed

from haptic_viewer.stage import directions

SCRIPT = Path(__file__).with_name("hands.js")
#: path of the websocket
PATH = "/hands"
#: buttons of a gamepad that take or release the handle, and pause or continue the run
HOLD_BUTTON, PAUSE_BUTTON = 0, 9
#: longest message [characters]; a longer or invalid message ends the connection
LONGEST = 2000
#: largest number of pressed buttons that are kept until they are read; more of them replace the oldest ones
_MOST_PRESSED = 100
#: time between two messages to the browsers [s]
_INTERVAL = 0.1
#: speed of the handle at full deflection of an axis [m/s]
SPEED = 0.1
#: force of the strongest rumble, and smallest force with rumble [N]
STRONGEST, WEAKEST = 10.0, 0.3
#: longest time of which the motion of the handle is applied at once [s]
_LONGEST_STEP = 0.2


def parse(text: str) -> tuple[np.ndarray, list[int]]:
    """Parses a message: axes (3,) from -1 to 1, and the pressed buttons.

    Raises:
        ValueError: the message is too long or its axes are not three finite numbers. Other content may also raise
            TypeError, KeyError or RecursionError.
    """
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters, got {len(text)}")
    message = json.loads(text)
    axes = message["axes"]
    try:
        if len(axes) != 3 or not all(isinstance(axis, int | float) and math.isfinite(axis) for axis in axes):
            raise ValueError("axes: expected three numbers")
        return np.clip(np.array(axes, dtype=float), -1.0, 1.0), [int(button) for button in message["buttons"]]
    except OverflowError as error:
        raise ValueError(str(error)) from None


def rumble_of(force: float) -> float:
    """Returns the strength of the rumble, 0 to 1, for a force on the hand [N]."""
    return 0.0 if force < WEAKEST else min(force / STRONGEST, 1.0)


class Hands:
    """Newest input of the keys and gamepads of all browsers, and the rumble that the browsers get."""

    def __init__(self) -> None:
        self._axes: dict[int, np.ndarray] = {}
        self._pressed: list[int] = []
        self._answer = {"held": False, "rumble": 0.0}
        self._time = time.monotonic()
        #: called with the address of each page that is opened
        self.on_open: Callable[[str], None] = lambda _: None
        #: called with name and content of each file that is dropped on a page
        self.on_file: Callable[[str, bytes], None] = lambda *_: None

    async def serve(self, connection: Any) -> None:
        """Serves the websocket of a browser until it is closed."""
        number = id(connection)
        self.on_open(connection.request.path)
        sender = asyncio.create_task(self._send_answers(connection))
        try:
            async for message in connection:
                if isinstance(message, bytes):
                    name, _, content = message.partition(b"\n")
                    self.on_file(name.decode(errors="replace"), content)
                    continue
                self._axes[number], pressed = parse(message)
                self._pressed = [*self._pressed, *pressed][-_MOST_PRESSED:]
        except (ValueError, TypeError, KeyError, RecursionError):
            await connection.close(1008, "no message of the page's script")
        except ConnectionClosed:
            pass
        finally:
            sender.cancel()
            self._axes.pop(number, None)

    async def _send_answers(self, connection: Any) -> None:
        before: dict[str, Any] = {}
        with suppress(ConnectionClosed):
            while True:
                answer = dict(self._answer)
                if answer != before or answer["rumble"] > 0.0:
                    await connection.send(json.dumps(answer))
                    before = answer
                await asyncio.sleep(_INTERVAL)

    def feel(self, *, held: bool, force: float) -> None:
        """Sets the answer to the browsers: whether the handle is held, and the force on the hand [N]."""
        self._answer = {"held": held, "rumble": round(rumble_of(force), 2) if held else 0.0}

    def pressed(self) -> list[int]:
        """Returns the buttons that were pressed since the last call."""
        pressed, self._pressed = self._pressed, []
        return pressed

    def displacement(self, up_axis: str, *, planar: bool, now: Callable[[], float] = time.monotonic) -> np.ndarray:
        """Returns the displacement of the handle since the last call (3,) [m], in the device's base frame.

        Right is to the right of a user in front of the device. Up is upwards; for a planar device it is away from the
        user.
        """
        step, self._time = min(now() - self._time, _LONGEST_STEP), now()
        axes = np.clip(sum(self._axes.copy().values(), np.zeros(3)), -1.0, 1.0)
        front, side, up = directions(up_axis)
        rows = (side, -front, np.zeros(3)) if planar else (side, up, -front)
        moved: np.ndarray = SPEED * step * (axes @ np.array(rows))
        return moved
