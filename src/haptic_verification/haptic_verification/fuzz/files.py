"""Files that something has happened to, for whatever reads files: a clear error or a result, never a traceback.

A `Reader` knows a good file and what reads it. `spoilt` does one of the KINDS to the file. Whatever comes of reading it
is an error of the suite, of one line that names the file, or something that can be used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

#: what is done to a file; those of `_TEXT` only to texts
KINDS = ("cut off", "flipped bits", "swapped bytes", "noise", "empty", "missing", "directory", "zeros", "twice")
_TEXT = ("line lost", "line twice", "wrong value", "wrong key", "deep", "tag", "not UTF-8", "date")
#: what stands in the place of a value
_VALUES = (
    *(
        "null",
        "[]",
        "{}",
        "abc",
        "''",
        "-1",
        "0",
        "1e400",
        ".nan",
        "-.inf",
        "1e308",
        "5e-324",
        "123456789012345678901234567890",
    ),
    *(
        "true",
        "[1, 2]",
        "[[1]]",
        "{a: 1}",
        "2020-13-45",
        "2020-01-01",
        "0x7f",
        "!!binary aGFsbG8=",
        "*nowhere",
        "1:2:3",
    ),
    *("!!python/object/apply:os.getcwd []", "!!set {a, b}", "? [1]", "[.nan, .inf, 0]", "'\\0'", '"\\ud800"', "-0.0"),
)
#: longest line that a user can read
LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class Reader:
    """Something that reads a file.

    Attributes:
        name: for the table.
        good: a file that it reads, or a directory.
        read: reads a file; may return what then has to be tried, which must not raise either.
        errors: exceptions that it may raise.
        text: it is one.
        named: an error names the file.
    """

    name: str
    good: Path
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]
    text: bool = True
    named: bool = True


class FoundError(AssertionError):
    """A reader did what it must not do."""


def kinds_of(reader: Reader) -> tuple[str, ...]:
    """What can be done to the reader's file."""
    return (*KINDS, *_TEXT) if reader.text else KINDS


def spoilt(kind: str, data: bytes, random: np.random.Generator) -> bytes:
    """The bytes of a file after something has happened to it."""
    if kind == "cut off":
        return data[: random.integers(len(data))]
    if kind in ("empty", "missing", "directory"):
        return b""
    if kind == "noise":
        return bytes(random.bytes(int(random.integers(1, 2000))))
    if kind == "zeros":
        place = int(random.integers(len(data)))
        return data[:place] + bytes(min(len(data) - place, 64)) + data[place + 64 :]
    if kind == "twice":
        return data + data
    if kind in ("flipped bits", "swapped bytes"):
        made = bytearray(data)
        for _ in range(int(random.integers(1, 9))):
            place, other = (int(random.integers(len(made))) for _ in range(2))
            if kind == "flipped bits":
                made[place] ^= 1 << int(random.integers(8))
            else:
                made[place], made[other] = made[other], made[place]
        return bytes(made)
    return _spoilt_text(kind, data.decode(), random).encode("utf-8", "surrogateescape")


def _spoilt_text(kind: str, text: str, random: np.random.Generator) -> str:
    lines = text.splitlines()
    at = int(random.integers(len(lines)))
    if kind == "line lost":
        del lines[at]
    elif kind == "line twice":
        lines.insert(at, lines[at])
    elif kind == "deep":
        lines[at] = f"{lines[at].partition(':')[0]}: {'[' * 600}"
    elif kind == "tag":
        lines.insert(at, "evil: !!python/object/apply:os.system ['false']")
    elif kind == "not UTF-8":
        lines[at] += " \udcff\udcfe"
    elif kind == "date":
        lines[at] = re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "2020-13-45", lines[at], count=1)
    else:
        pattern = r"(?<=[:=,\[\"'>]) ?[-+\w./]+" if kind == "wrong value" else r"\b[A-Za-z_]\w*(?=[:=])"
        places = list(re.finditer(pattern, text))
        if places:
            place = places[random.integers(len(places))]
            put = str(random.choice(_VALUES)) if kind == "wrong value" else str(random.choice(["x", "1", "null", "[]"]))
            return text[: place.start()] + f" {put}" + text[place.end() :]
    return "\n".join(lines) + "\n"


def read_spoilt(reader: Reader, kind: str, seed: int, folder: Path) -> str:
    """Reads the reader's file after something has happened to it, below a new folder.

    Returns:
        "read" or "refused".

    Raises:
        FoundError: it was neither.
    """
    random = np.random.default_rng(seed)
    place = folder / f"{reader.name.replace(' ', '_')}{''.join(reader.good.suffixes)}"
    if kind == "directory":
        place.mkdir()
    elif kind != "missing":
        place.write_bytes(spoilt(kind, reader.good.read_bytes(), random))
    return tried(reader, place, f"{kind} (seed {seed})")


def tried(reader: Reader, place: Path, told: str) -> str:
    """Reads a file; "read", "refused", or FoundError."""
    try:
        with np.errstate(all="ignore"):
            reader.read(place)
    except reader.errors as error:
        words = str(error)
        if "\n" in words or not words or len(words) > LONGEST_MESSAGE:
            raise FoundError(f"{reader.name}: {told}: expected one line, got {words[:300]!r}") from error
        if reader.named and place.name not in words:
            raise FoundError(f"{reader.name}: {told}: expected the file's name, got {words[:300]!r}") from error
        return "refused"
    except Exception as error:
        raise FoundError(f"{reader.name}: {told}: raised {type(error).__name__}: {str(error)[:300]}") from error
    return "read"


@dataclass
class FileBarrage:
    """Spoilt files to one reader, and what came of them by kind."""

    reader: Reader
    folder: Path
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def run(self, files: int, seed: int) -> None:
        """Reads so many files; raises FoundError."""
        random = np.random.default_rng(seed)
        kinds = kinds_of(self.reader)
        for number in range(files):
            kind = kinds[number % len(kinds)]
            place = self.folder / str(number)
            place.mkdir(parents=True)
            outcome = read_spoilt(self.reader, kind, int(random.integers(2**63)), place)
            self.counts.setdefault(kind, Counter())[outcome] += 1


def dumped(document: Any, path: Path) -> Path:
    """A YAML file."""
    path.write_text(yaml.safe_dump(document))
    return path
