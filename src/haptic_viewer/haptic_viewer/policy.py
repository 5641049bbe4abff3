"""The content security policy of the page: scripts that run, and hosts to which the page connects.

viser's page is one HTML file. A script in it unpacks the client, which is packed into an attribute of that script, and
adds the client as a second script. The suite adds a third one, `hands.js`. The policy lists the hashes of the three
scripts, so no other script runs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import viser
import zstandard

from haptic_core.errors import HapticError
from haptic_viewer.hands import SCRIPT

#: digits of viser's packing of 4 bytes into 5 characters
_DIGITS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"&<>'`")


class UnknownPageError(HapticError):
    """Page of viser in which the scripts are not found, so that there is no policy for them.

    Attributes:
        hint: advice to the user.
    """

    hint = "./haptics setup installs the version of viser for which the policy was written"


class _Scripts(HTMLParser):
    """Collects the inline scripts of a page.

    Attributes:
        found: attributes and text of each script.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str], str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.found.append(({name: value or "" for name, value in attrs}, ""))
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            attributes, text = self.found[-1]
            self.found[-1] = attributes, text + data


def decode_base88(text: str) -> bytes:
    """Decodes viser's packing: 5 characters for 4 bytes, n + 1 characters for the last n < 4 bytes."""
    values = np.zeros(128, dtype=np.uint64)
    values[np.frombuffer(_DIGITS.encode("ascii"), dtype=np.uint8)] = np.arange(len(_DIGITS))
    digits = values[np.frombuffer(text.encode("ascii"), dtype=np.uint8)]
    whole = len(digits) // 5 * 5
    powers = np.array([88**power for power in (4, 3, 2, 1, 0)], dtype=np.uint64)
    data: bytes = (digits[:whole].reshape(-1, 5) @ powers).astype(">u4").tobytes()
    rest = 0
    for digit in digits[whole:].tolist():
        rest = 88 * rest + digit
    return data + rest.to_bytes(max(len(digits) - whole - 1, 0), "big")


def scripts_of(page: str) -> list[bytes]:
    """Returns the scripts that viser's page runs.

    Args:
        page: HTML.

    Raises:
        UnknownPageError: the page is packed in another way.
    """
    parser = _Scripts()
    parser.feed(page)
    parser.close()
    scripts = []
    try:
        for attributes, text in parser.found:
            packed, style, code = attributes["data-p"], int(attributes["data-ss"]), int(attributes["data-cs"])
            unpacked = zstandard.ZstdDecompressor().decompress(decode_base88(packed), max_output_size=style + code)
            if len(unpacked) != style + code:
                raise ValueError(f"expected {style + code} bytes, got {len(unpacked)}")
            scripts += [text.encode(), unpacked[style:]]
    except (KeyError, ValueError, IndexError, OverflowError, zstandard.ZstdError) as error:
        raise UnknownPageError(f"viser {viser.__version__}: the scripts of its page are not found: {error}") from None
    if not scripts:
        raise UnknownPageError(f"viser {viser.__version__}: its page has no script")
    return scripts


def with_script(page: bytes) -> bytes:
    """Returns viser's page with the suite's own script at the end of its head."""
    head, end, rest = page.partition(b"</head>")
    return head + b"<script>" + SCRIPT.read_bytes() + b"</script>" + end + rest


@cache
def page_policy() -> str:
    """Returns the value of the header Content-Security-Policy for viser's page.

    Raises:
        UnknownPageError: see `scripts_of`.
    """
    page = Path(viser.__file__).parent / "client" / "build" / "index.html"
    scripts = [*scripts_of(page.read_text(encoding="utf-8")), SCRIPT.read_bytes()]
    digests = (hashlib.sha256(script).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    directives = {
        "default-src": "'none'",
        # the first script and the client's workers unpack with WebAssembly; that compiles no JavaScript
        "script-src": f"{hashes} 'wasm-unsafe-eval'",
        "worker-src": "blob:",  # the client contains the source of its workers
        "style-src": "'unsafe-inline'",  # the client writes its style sheets while it runs
        "img-src": "data: blob:",
        # 'self' includes the websocket; data: and blob: are modules of the client and textures of meshes, not hosts
        "connect-src": "'self' data: blob:",
        "frame-src": "'none'",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())
