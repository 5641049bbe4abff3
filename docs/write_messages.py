"""Writes docs/messages.md from the message and service files of haptic_msgs; with --check it only compares."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "messages.md"
HEADER = """# Messages and services

Written from the files of `src/haptic_msgs` by `docs/write_messages.py`. Units are SI, frames and signs those of
[conventions.md](conventions.md); who publishes what, and when, is in [loop.md](loop.md).
"""
_LINE = re.compile(r"(?P<type>\S+) +(?P<name>\w+)(?: *= *(?P<value>[^\s#]+))? *(?:# *(?P<about>.*))?")


def tables(text: str) -> str:
    """Makes the text for one file, or one half of a service: its heading comment, its constants and its fields."""
    heading: list[str] = []
    rows: dict[bool, list[str]] = {True: [], False: []}
    for line in text.strip().splitlines():
        found = _LINE.fullmatch(line)
        if line.startswith("#"):
            heading.append(line.lstrip("# "))
        elif found is not None:
            value, about = found["value"], (found["about"] or "").replace("|", "\\|").replace("<", "&lt;")
            name = found["name"] + (f" = {value}" if value else "")
            rows[value is not None].append(f"| `{name}` | `{found['type']}` | {about} |")
        elif line:
            raise ValueError(f"not a field, a constant or a comment: {line!r}")
    parts = [" ".join(heading)] if heading else []
    for constant, title in ((True, "constant"), (False, "field")):
        if rows[constant]:
            parts.append(f"| {title} | type | what it is |\n| --- | --- | --- |\n" + "\n".join(rows[constant]))
    return "\n\n".join(parts)


def page() -> str:
    """Makes the text of the page."""
    parts = [HEADER]
    for path in sorted((ROOT / "src" / "haptic_msgs").glob("msg/*.msg")):
        parts.append(f"## {path.stem}\n\n{tables(path.read_text())}\n")
    for path in sorted((ROOT / "src" / "haptic_msgs").glob("srv/*.srv")):
        request, response = path.read_text().split("\n---\n")
        parts.append(f"## {path.stem} (service)\n\n{tables(request)}\n\nIt answers:\n\n{tables(response)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("docs/messages.md is not what docs/write_messages.py writes" if TARGET.read_text() != page() else 0)
    TARGET.write_text(page())
