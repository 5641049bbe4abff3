"""Damaged files for the functions of the suite that read files: each gives a clear error or a result, no traceback.

A `Reader` has a good file and a function that reads it. `spoilt` damages the file in one of the `KINDS`. Reading it
must give either a usable result or an error of the suite, in one line that names the file.
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

#: kinds of damage; those of `_TEXT` apply only to texts
KINDS = ("cut off", "flipped bits", "swapped bytes", "noise", "empty", "missing", "directory", "zeros", "twice")
_TEXT = ("line lost", "line twice", "wrong value", "wrong key", "deep", "tag", "not UTF-8", "date")
#: texts that replace a value
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
    """A function of the suite that reads a file.

    Attributes:
        name: name in the table.
        good: file that it reads.
        read: function that reads a file.
        errors: exceptions that it may raise.
        text: True if the file is a text.
        named: True if an error must name the file.
    """

    name: str
    good: Path
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]
    text: bool = True
    named: bool = True


class FoundError(AssertionError):
    """A requirement that a reader does not meet."""


def kinds_of(reader: Reader) -> tuple[str, ...]:
    """Returns the kinds of damage that apply to the reader's file."""
    return (*KINDS, *_TEXT) if reader.text else KINDS


def spoilt(kind: str, data: bytes, random: np.random.Generator) -> bytes:
    """Damages the bytes of a file; `kind` is one of `kinds_of`."""
    if kind == "cut off":
        return data[: random.integers(len(data))]
    if kind in ("empty", "missing", "directory"):
        return b""
    if kind == "noise":
        return bytes(random.bytes(int(random.integers(1, 2000))))
    if kind == "zeros":
        start = int(random.integers(len(data)))
        return data[:start] + bytes(min(len(data) - start, 64)) + data[start + 64 :]
    if kind == "twice":
        return data + data
    if kind in ("flipped bits", "swapped bytes"):
        made = bytearray(data)
        for _ in range(int(random.integers(1, 9))):
            one, other = (int(random.integers(len(made))) for _ in range(2))
            if kind == "flipped bits":
                made[one] ^= 1 << int(random.integers(8))
            else:
                made[one], made[other] = made[other], made[one]
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
        matches = list(re.finditer(pattern, text))
        if matches:
            match = matches[random.integers(len(matches))]
            new = str(random.choice(_VALUES)) if kind == "wrong value" else str(random.choice(["x", "1", "null", "[]"]))
            return text[: match.start()] + f" {new}" + text[match.end() :]
    return "\n".join(lines) + "\n"


def read_spoilt(reader: Reader, kind: str, seed: int, folder: Path) -> str:
    """Writes a damaged copy of the reader's file to a folder, and reads it.

    Returns:
        "read" or "refused".

    Raises:
        FoundError: the reader raised another exception, or its error is not one line that names the file.
    """
    random = np.random.default_rng(seed)
    path = folder / f"{reader.name.replace(' ', '_')}{''.join(reader.good.suffixes)}"
    if kind == "directory":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(spoilt(kind, reader.good.read_bytes(), random))
    return tried(reader, path, f"{kind} (seed {seed})")


def tried(reader: Reader, place: Path, damage: str) -> str:
    """Reads the file `place` and checks the error, if there is one; `damage` describes the damage.

    Returns:
        "read" or "refused".

    Raises:
        FoundError: see `read_spoilt`.
    """
    try:
        with np.errstate(all="ignore"):
            reader.read(place)
    except reader.errors as error:
        words = str(error)
        if "\n" in words or not words or len(words) > LONGEST_MESSAGE:
            raise FoundError(f"{reader.name}: {damage}: expected one line, got {words[:300]!r}") from error
        if reader.named and place.name not in words:
            raise FoundError(f"{reader.name}: {damage}: expected the file's name, got {words[:300]!r}") from error
        return "refused"
    except Exception as error:
        raise FoundError(f"{reader.name}: {damage}: raised {type(error).__name__}: {str(error)[:300]}") from error
    return "read"


@dataclass
class FileBarrage:
    """Damaged files for one reader.

    Attributes:
        reader: function that reads the files.
        folder: directory of the damaged files.
        counts: number of each outcome, "read" or "refused", by kind of damage.
    """

    reader: Reader
    folder: Path
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def run(self, files: int, seed: int) -> None:
        """Reads a number of damaged files; raises FoundError."""
        random = np.random.default_rng(seed)
        kinds = kinds_of(self.reader)
        for number in range(files):
            kind = kinds[number % len(kinds)]
            folder = self.folder / str(number)
            folder.mkdir(parents=True)
            outcome = read_spoilt(self.reader, kind, int(random.integers(2**63)), folder)
            self.counts.setdefault(kind, Counter())[outcome] += 1


def dumped(document: Any, path: Path) -> Path:
    """Writes a document to a YAML file and returns its path."""
    path.write_text(yaml.safe_dump(document))
    return path
