"""Writes small files; an error names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Adds the path to an OSError of the block; that of a full disk or a quota names no file by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def write_text(path: Path, text: str) -> None:
    """Writes a text to a file; an OSError names the file."""
    with naming_file(path):
        path.write_text(text)
