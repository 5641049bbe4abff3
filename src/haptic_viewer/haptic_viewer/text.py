"""Safe display of text from outside the viewer as plain text.

Any program of the ROS domain may write messages, parameters, answers of services and arguments of a run. viser's page
renders Markdown, the HTML within it, and HTML. So `add_html` is called in this module only, with escaped text or a
picture, and `add_markdown` is never called. viser's page sets labels, hints, titles and choices as text nodes; they
pass `plain`.
"""

from __future__ import annotations

import base64
import html
import re
from dataclasses import dataclass
from typing import Literal

import viser

#: longest text that is shown [characters]
MAX_LENGTH = 2000
#: control characters except tab and newline, surrogates (which have no UTF-8), marks that reverse the direction
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_STYLE = (
    "padding: 0 var(--mantine-spacing-sm) var(--mantine-spacing-xs); font-size: var(--mantine-font-size-sm); "
    "line-height: var(--mantine-line-height-sm, 1.45); white-space: pre-wrap; overflow-wrap: anywhere"
)


@dataclass(frozen=True)
class Strong:
    """Text in bold type.

    Attributes:
        text: plain text.
    """

    text: str


def plain(text: str, limit: int | None = MAX_LENGTH) -> str:
    """Returns text that the page can encode and draw.

    Args:
        text: any string.
        limit: largest length [characters]; None: unlimited.

    Returns:
        The text with U+FFFD for every unprintable character, cut at the limit.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "\u2026"
    return _UNPRINTABLE.sub("\ufffd", text)


def to_html(*parts: str | Strong) -> str:
    """Returns HTML whose text is that of the parts and whose only elements are <strong>."""
    return "".join(
        f"<strong>{html.escape(plain(part.text))}</strong>" if isinstance(part, Strong) else html.escape(plain(part))
        for part in parts
    )


class PlainText:
    """Paragraph of plain text on the page. Newlines are kept; an empty paragraph is hidden.

    Args:
        gui: GUI of the page.
        parts: initial text.
    """

    def __init__(self, gui: viser.GuiApi, *parts: str | Strong) -> None:
        self._shown = to_html(*parts)
        self._handle = gui.add_html(self._frame(), visible=bool(self._shown))

    def show(self, *parts: str | Strong) -> None:
        """Replaces the text; sends it only if it has changed."""
        shown = to_html(*parts)
        if shown != self._shown:
            self._shown = shown
            self._handle.content, self._handle.visible = self._frame(), bool(shown)

    def _frame(self) -> str:
        return f'<div style="{_STYLE}">{self._shown}</div>'


def add_picture(gui: viser.GuiApi, content: bytes, kind: Literal["jpeg", "png"] = "jpeg") -> None:
    """Adds a picture that is as wide as its panel.

    Args:
        gui: GUI of the page.
        content: content of the file.
        kind: format of the file.
    """
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    gui.add_html(f'<div style="{_STYLE}"><img style="width: 100%" src="{source}"></div>')
