"""Text of other programs is shown as text, and the page's policy lets no script run but the page's own."""

from __future__ import annotations

import ast
import base64
import hashlib
import http
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import viser
from hypothesis import given
from hypothesis import strategies as st
from rcl_interfaces.msg import ParameterDescriptor

import haptic_viewer as viewer
from haptic_viewer.hands import SCRIPT
from haptic_viewer.page import open_page
from haptic_viewer.parameters import control_of
from haptic_viewer.policy import UnknownPageError, decode_base88, page_policy, scripts_of
from haptic_viewer.text import MAX_LENGTH, PlainText, Strong, add_picture, plain, to_html

MODULES = sorted(Path(viewer.__file__).parent.glob("*.py"))
PAYLOADS = [
    "<iframe srcdoc=\"<script>parent.document.title='x'</script>\">",
    "</strong></div><script>x()</script>",
    "<!-- <![CDATA[ <? </ &lt;script&gt; &#60;b&#62; &amp",
    "**bold** [a](javascript:x()) ![b](/etc/hostname) `code` {x()} <X y={z}/>",
]


class Reader(HTMLParser):
    """Reads HTML as a browser does: its text, and its elements with attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.elements = "", list[tuple[str, Any]]()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", data))

    handle_decl = handle_pi = unknown_decl = handle_comment


# ---- text -----------------------------------------------------------------------------------------


@given(st.one_of(st.sampled_from(PAYLOADS), st.text(), st.text(alphabet="<>&;\"'/!-#xscript={}`*[]() \n\r\0")))
def test_html_of_any_text_has_this_text_and_no_element(text: str) -> None:
    read = Reader(to_html(text))
    assert read.text == plain(text) and read.elements == []
    read = Reader(to_html(text, Strong(text)))
    assert read.text == 2 * plain(text) and read.elements == [("strong", [])]


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_plain_text_can_be_encoded_and_is_otherwise_unchanged(text: str) -> None:
    shown = plain(text, limit=None)
    shown.encode()  # a surrogate raises
    assert len(shown) == len(text)
    assert all(a == b or b == "\ufffd" for a, b in zip(text, shown, strict=True))


def test_characters_that_deceive_or_break_the_page_are_replaced() -> None:
    assert plain("a\tb\nc \u00e9\u03bc\u4e2d\U0001f600") == "a\tb\nc \u00e9\u03bc\u4e2d\U0001f600"
    for character in "\0\x07\r\x1b\x7f\x9b\ud800\u202e\u2066":
        assert plain(f"a{character}b") == "a\ufffdb"


def test_long_text_is_cut() -> None:
    assert plain("a" * MAX_LENGTH) == "a" * MAX_LENGTH
    cut = plain("a" * (MAX_LENGTH + 1))
    assert len(cut) == MAX_LENGTH and cut.endswith("a\u2026")
    assert len(to_html("<" * 10 * MAX_LENGTH)) < 4 * MAX_LENGTH + 10


class Gui:
    """Stands for viser's: keeps the HTML and counts how often it is sent."""

    def __init__(self) -> None:
        self.sent = 0

    def add_html(self, content: str, visible: bool = True) -> Any:
        gui = self

        class Handle(SimpleNamespace):
            def __setattr__(self, name: str, value: Any) -> None:
                gui.sent += name == "content"
                super().__setattr__(name, value)

        self.handle = Handle(content=content, visible=visible)
        self.sent = 0
        return self.handle


def test_a_paragraph_is_sent_when_it_changes_and_hidden_when_it_is_empty() -> None:
    gui = Gui()
    paragraph = PlainText(gui)  # type: ignore[arg-type]
    assert not gui.handle.visible
    for _ in range(2):
        paragraph.show("tick 1, ", Strong("<b>fault</b>"))
    assert gui.sent == 1 and gui.handle.visible
    read = Reader(gui.handle.content)
    assert read.text == "tick 1, <b>fault</b>" and [tag for tag, _ in read.elements] == ["div", "strong"]
    paragraph.show()
    assert not gui.handle.visible and Reader(gui.handle.content).text == ""


def test_a_picture_is_an_image_of_its_bytes_and_nothing_else() -> None:
    gui = Gui()
    add_picture(gui, b'\xff\xd8"><script>')  # type: ignore[arg-type]
    (frame, (tag, attributes)) = Reader(gui.handle.content).elements
    assert frame[0] == "div" and tag == "img"
    source = dict(attributes)["src"].removeprefix("data:image/jpeg;base64,")
    assert base64.b64decode(source) == b'\xff\xd8"><script>'


def test_a_control_s_words_are_plain_and_a_choice_is_offered_once() -> None:
    about = ParameterDescriptor(name="a\ud800", description="b\u202e [N\0]", additional_constraints="one of x, x, y")
    control = control_of(about, "x")
    assert control.label == "a\ufffd [N\ufffd]" and control.choices == ("x", "y")
    assert control.hint == "a\ufffd: b\ufffd [N\ufffd]; one of x, x, y"


# ---- where text enters the page -------------------------------------------------------------------

#: what viser's page takes for Markdown, HTML or JavaScript
MARKUP = {"add_markdown", "add_html", "add_plotly", "add_command", "add_modal", "add_image", "add_3d_gui_container"}
#: methods whose first argument is shown
LABELLED = {
    *("add_folder", "add_tab", "add_button", "add_button_group", "add_checkbox", "add_dropdown", "add_number"),
    *("add_slider", "add_text", "add_command", "add_notification", "set_panel_label"),
}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Calls of methods in a module, by the method's name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node


def test_markup_is_made_at_one_place_of_the_viewer() -> None:
    found = [(path.stem, name) for path in MODULES for name, _ in calls(path) if name in MARKUP]
    # a command of a key, which has no icon; a paragraph, and a picture
    assert sorted(found) == [("keys", "add_command"), ("text", "add_html"), ("text", "add_html")]
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and path.stem != "text":
                assert node.attr not in ("content", "html", "icon"), f"{path.name}:{node.lineno}"


def test_labels_are_constants_or_plain_text() -> None:
    seen = 0
    for path in MODULES:
        for name, call in calls(path):
            if name in LABELLED:
                seen += 1
                label = ast.unparse(call.args[0])
                known = isinstance(call.args[0], ast.Constant) or label.startswith("plain(") or label == "control.label"
                assert known, f"{path.name}:{call.lineno}: {label}"
                assert all(option.arg not in ("icon", "image_root") for option in call.keywords)
    assert seen > 10


# ---- policy ---------------------------------------------------------------------------------------


def directives() -> dict[str, list[str]]:
    return {name: values for name, *values in (part.split() for part in page_policy().split("; "))}


def test_the_policy_names_the_three_scripts_of_the_page_and_no_other_source() -> None:
    page = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_text(encoding="utf-8")
    loader, client = scripts_of(page)
    assert f">{loader.decode()}</script>" in page and b"createElement" in client and len(client) > 1_000_000
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
        for text in (loader, client, SCRIPT.read_bytes())
    ]
    assert directives()["script-src"] == [*hashes, "'wasm-unsafe-eval'"]


def test_the_policy_permits_nothing_that_is_not_listed() -> None:
    found = directives()
    assert found.pop("script-src")
    assert found == {
        "default-src": ["'none'"],
        "worker-src": ["blob:"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:", "blob:"],
        "connect-src": ["'self'", "data:", "blob:"],
        **{name: ["'none'"] for name in ("frame-src", "object-src", "base-uri", "form-action", "frame-ancestors")},
    }


def test_every_answer_has_the_policy() -> None:
    server = open_page("127.0.0.1", 0, "")
    try:
        url = f"http://127.0.0.1:{server.get_port()}/"
        foreign = {"Origin": "http://example.org"}
        for path, headers, status in (
            ("", {}, http.HTTPStatus.OK),
            ("nothing", {}, http.HTTPStatus.NOT_FOUND),
            ("", foreign, http.HTTPStatus.FORBIDDEN),
        ):
            try:
                answer: Any = urllib.request.urlopen(urllib.request.Request(url + path, headers=headers))
            except urllib.error.HTTPError as error:
                answer = error
            assert answer.status == status
            assert answer.headers.get_all("Content-Security-Policy") == [page_policy()]
            assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["X-Frame-Options"] == "DENY"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
    finally:
        server.stop()


def encode_base88(data: bytes) -> str:
    """As viser's build does."""
    alphabet = [chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"&<>'`"]
    text = ""
    for start in range(0, len(data), 4):
        part = data[start : start + 4]
        value, digits = int.from_bytes(part, "big"), ""
        for _ in range(len(part) + 1):
            value, digit = divmod(value, 88)
            digits = alphabet[digit] + digits
        text += digits
    return text


@given(st.binary(max_size=40))
def test_the_client_is_unpacked_as_it_was_packed(data: bytes) -> None:
    assert decode_base88(encode_base88(data)) == data


@pytest.mark.parametrize(
    "page",
    [
        "<html></html>",
        "<script>x()</script>",
        '<script data-p="!!!!!" data-ss="1" data-cs="1">x()</script>',
        '<script data-p="a" data-ss="1" data-cs="x">x()</script>',
        '<script data-p="\u00e9" data-ss="1" data-cs="1">x()</script>',
    ],
)
def test_a_page_that_is_packed_otherwise_is_not_opened(page: str) -> None:
    with pytest.raises(UnknownPageError, match=re.escape(f"viser {viser.__version__}")):
        scripts_of(page)
