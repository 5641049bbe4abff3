"""Shared memory of Fast DDS that a killed process has left behind.

A participant has a segment "fastrtps_<number>" in /dev/shm, and as long as it lives it holds a lock on the file
"fastrtps_<number>_el". The kernel releases the lock with the process, so a lock that can be had belongs to a segment
that no process removes any more. Segments of ports are shared by all processes; Fast DDS removes them itself.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
#: a younger file may belong to a process that is about to lock it [s]
_YOUNGEST = 1.0


def remove_abandoned(folder: Path = FOLDER) -> list[str]:
    """Removes the segments of processes that have ended; returns their names.

    Files of other users are left.
    """
    removed = []
    for lock in sorted(folder.glob("fastrtps_*_el")):
        segment = lock.with_name(lock.name.removesuffix("_el"))
        if segment.name.startswith("fastrtps_port"):
            continue
        with suppress(OSError):  # locked, not ours, or gone in the meantime
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if time.time() - os.fstat(descriptor).st_mtime < _YOUNGEST:
                    continue
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                segment.unlink(missing_ok=True)
                lock.unlink()
                removed.append(segment.name)
            finally:
                os.close(descriptor)
    return removed
