"""Process of an experiment, which is started and stopped while the page stays open."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from haptic_launch.process_guard import start_command

#: time from SIGINT to SIGTERM, and from SIGTERM to SIGKILL [s]
_PATIENCE = 15.0
#: length of the end of the output that the page shows [characters]
_TAIL = 1500


class SceneProcess:
    """Experiment in its own process group, which ends if the page is killed.

    The kernel interrupts it when the thread that made it ends.

    Args:
        command: command line that runs the experiment.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="haptic_scene_")
        self._output = Path(self._folder.name, "output.txt")
        with self._output.open("wb") as file:
            self._process = subprocess.Popen(
                start_command(list(command)),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
        self._due = 0.0

    @property
    def ended(self) -> bool:
        """True if the process has ended."""
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def stop(self) -> bool:
        """Sends the next signal when it is due; returns True once the process has ended, until then call it again."""
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
