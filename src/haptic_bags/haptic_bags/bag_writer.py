"""Writes bags so that a recorder that is killed, or whose disk fills up, loses a bounded part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from rosbags.rosbag2 import StoragePlugin, Writer

#: what is older than this has been handed to the operating system [s]
FLUSH_INTERVAL = 0.5

#: stands in a bag that is being written, or was not closed; holds its custom data
UNFINISHED = "unfinished.yaml"


class BagWriter(Writer):
    """A rosbag2 directory with one MCAP file; whole chunks of it are written at least every `FLUSH_INTERVAL`.

    A process that dies loses the messages of the last interval; `repair` closes what it leaves. An OSError of any
    method says that the bag cannot be written to; `abort` then leaves it as it is.

    Args:
        path: directory of the bag, which must not exist.
        custom: values that are kept beside the data.
    """

    def __init__(self, path: Path, custom: Mapping[str, str]) -> None:
        super().__init__(path, version=9, storage_plugin=StoragePlugin.MCAP)
        for key, value in custom.items():
            self.set_custom_data(key, value)
        self._flushed = 0.0

    def open(self) -> None:
        super().open()
        (self.path / UNFINISHED).write_text(yaml.safe_dump(dict(self.custom_data)))
        self._flushed = time.monotonic()

    def write(self, connection: Any, timestamp: int, data: bytes | memoryview) -> None:
        super().write(connection, timestamp, data)
        self.flush()

    def flush(self) -> None:
        """Writes what waits in memory, if it is time; to be called now and then where no messages come."""
        now = time.monotonic()
        if now - self._flushed < FLUSH_INTERVAL:
            return
        self._flushed = now
        storage: Any = self.storage
        if storage.chunk.msgs:
            storage.close_chunk()
        storage.bio.flush()

    def close(self) -> None:
        super().close()
        (self.path / UNFINISHED).unlink()

    def abort(self) -> None:
        with suppress(OSError):  # the file's own buffer cannot be written, either
            super().abort()
