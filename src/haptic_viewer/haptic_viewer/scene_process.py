"""The experiment behind the page: a process that is started and stopped while the page stays."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: time after which an experiment that was interrupted is terminated, and one that was terminated is killed [s]
_PATIENCE = 15.0
#: of the end of the output, for the page [characters]
_TAIL = 1500


class SceneProcess:
    """One experiment in a process group of its own.

    Args:
        command: runs it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="haptic_scene_")
        self._output = Path(self._folder.name, "output.txt")
        with self._output.open("wb") as file:
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
        self._due = 0.0

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def stop(self) -> bool:
        """Asks the process to end, more firmly after a while; call it until it returns True: the process is gone."""
        if self.ended:
            return True
        if self._signals and time.monotonic() >= self._due:
            number = self._signals.pop(0)
            self._due = time.monotonic() + _PATIENCE
            with suppress(ProcessLookupError):
                if number == signal.SIGKILL:
                    os.killpg(self._process.pid, number)
                else:
                    self._process.send_signal(number)  # it stops its nodes itself
        return False

    def close(self) -> None:
        """Stops the process and waits for its end."""
        while not self.stop():
            time.sleep(0.05)
        self._folder.cleanup()

    def tail(self) -> str:
        """Returns the end of the output."""
        return self._output.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
