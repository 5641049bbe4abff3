"""Shared memory of Fast DDS that a killed process has left.

A participant has a segment "fastrtps_<number>" in /dev/shm, with Fast DDS 3 "fastdds_<number>", and locks the file
"..._el" beside it as long as it exists. The kernel releases the lock when the process ends, so no process will remove a
segment whose file is not locked. Segments of ports are shared by all processes; Fast DDS removes them itself.
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

    Files of other users are kept.
    """
    removed = []
    for lock in sorted([*folder.glob("fastrtps_*_el"), *folder.glob("fastdds_*_el")]):
        segment = lock.with_name(lock.name.removesuffix("_el"))
        if segment.name.startswith(("fastrtps_port", "fastdds_port")):
            continue
        with suppress(OSError):  # locked, of another user, or already removed
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
