"""A bag writer that bounds the loss when the recorder is killed or its disk fills up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from rosbags.rosbag2 import StoragePlugin, Writer

from haptic_files import write_text

#: longest time before a message is handed to the operating system [s]
FLUSH_INTERVAL = 0.5

#: file with the custom data of a bag that is being written or was not closed
UNFINISHED = "unfinished.yaml"


class BagWriter(Writer):
    """Writer of a rosbag2 directory with one MCAP file; complete chunks are written at least every `FLUSH_INTERVAL`.

    A process that dies loses the messages of the last interval; `haptic_bags.repair` closes its bag. If any method
    raises OSError, the bag cannot be written to; `abort` then leaves it unclosed.

    Args:
        path: directory of the bag, which must not exist.
        custom: texts that are stored in the metadata.
    """

    def __init__(self, path: Path, custom: Mapping[str, str]) -> None:
        super().__init__(path, version=9, storage_plugin=StoragePlugin.MCAP)
        for key, value in custom.items():
            self.set_custom_data(key, value)
        self._flushed = 0.0

    def open(self) -> None:
        super().open()
        write_text(self.path / UNFINISHED, yaml.safe_dump(dict(self.custom_data)))
        self._flushed = time.monotonic()

    def write(self, connection: Any, timestamp: int, data: bytes | memoryview) -> None:
        super().write(connection, timestamp, data)
        self.flush()

    def flush(self) -> None:
        """Writes the messages in memory to the file if `FLUSH_INTERVAL` has passed since the last flush.

        `write` calls it; a recorder calls it as well while no messages arrive.
        """
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
        with suppress(OSError):  # the buffer of the file cannot be written, either
            super().abort()
