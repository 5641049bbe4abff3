"""Opens regular files of limited size without blocking."""

from __future__ import annotations

import functools
import io
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Content = TypeVar("Content")

#: largest file that is read [bytes]
MAX_SIZE = 64 * 2**20

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


class FileError(ValueError):
    """A file cannot be used. The message is one line that names the file and does not quote its content."""


def once_while_unchanged(read: Callable[[Path], Content]) -> Callable[[Path], Content]:
    """Decorates a function that reads a file, so that an unchanged file is not read again.

    All callers share the returned object.
    """

    @functools.lru_cache(maxsize=64)
    def remembered(path: Path, *state: int) -> Content:
        return read(path)

    @functools.wraps(read)
    def function(path: Path) -> Content:
        try:
            state = path.stat()
        except (OSError, ValueError):  # reading it gives the error
            return read(path)
        return remembered(path, state.st_ino, state.st_size, state.st_mtime_ns)

    return function


def read_bytes(path: str | Path) -> bytes:
    """Reads a regular file.

    Args:
        path: path of the file; symbolic links are followed.

    Raises:
        FileError: the file is missing, not readable, not a regular file, or larger than `MAX_SIZE`.
    """
    return _read(path, MAX_SIZE + 1)


def read_archive(path: str | Path) -> io.BytesIO:
    """Reads a ZIP archive, such as a .npz file, whose contents also have at most `MAX_SIZE` bytes.

    Raises:
        FileError: as for `read_bytes`, or the file is not such an archive.
    """
    content = io.BytesIO(read_bytes(path))
    try:
        size = sum(entry.file_size for entry in zipfile.ZipFile(content).infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise FileError(f"{path}: expected a ZIP archive such as .npz") from None
    if size > MAX_SIZE:
        raise _too_large(path)
    content.seek(0)
    return content


def check_file(path: str | Path, max_size: float = MAX_SIZE) -> None:
    """Checks a file that another library opens.

    Args:
        path: path of the file.
        max_size: largest accepted size [bytes].

    Raises:
        FileError: as for `read_bytes`.
    """
    _read(path, 1, max_size)


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """Reads a text file; line ends become a line feed.

    Args:
        path: path of the file.
        encoding: UTF-8, or "utf-8-sig" to skip a byte order mark.

    Raises:
        FileError: as for `read_bytes`, or the file is not UTF-8 text.
    """
    content = read_bytes(path)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{path}: not UTF-8 text: line {line}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def kind_of(value: Any) -> str:
    """Describes a value without its content, such as "a text of 3 characters"."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return f"a text of {len(value)} character{'s' * (len(value) != 1)}"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"a mapping of {len(value)}"
    return f"a value of type {type(value).__name__}"


def _read(path: str | Path, limit: int, max_size: float = MAX_SIZE) -> bytes:
    """Reads up to a number of bytes of a regular file."""
    try:
        _check(path, os.stat(path), max_size)  # before it is opened: opening a device may act
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(descriptor, "rb", buffering=0) as file:
            _check(path, os.fstat(descriptor), max_size)  # the name may be that of another file by now
            parts, size = [], 0
            while size < limit and (part := file.read(min(limit - size, 2**20))):  # None: it would block
                parts.append(part)
                size += len(part)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or type(error).__name__}") from None
    except ValueError:  # a path with a null character
        raise FileError("cannot be read: expected a path without null characters") from None
    if size > MAX_SIZE:  # such as a file in /proc, whose size is given as 0
        raise _too_large(path)
    return b"".join(parts)


def _check(path: str | Path, status: os.stat_result, max_size: float) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "another kind")
        raise FileError(f"{path}: cannot be read: expected a regular file, got {kind}")
    if status.st_size > max_size:
        raise _too_large(path)


def _too_large(path: str | Path) -> FileError:
    return FileError(f"{path}: cannot be read: expected at most {MAX_SIZE // 2**20} MiB")
