"""Small programs as processes of a run, and a recorder of their lines."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import textwrap

from haptic_launch.processes import ProcessSpec, run_processes

WAIT = "import signal; print('ready', flush=True); signal.pause()"

EXIT_ON_INTERRUPT = """
import signal, sys
try:
    print('ready', flush=True)
    signal.pause()
except KeyboardInterrupt:
    sys.exit({})
"""
IGNORE = """
import os, signal
for name in {ignored}:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
print('ready', os.getpid(), flush=True)
while True:
    signal.pause()
"""


def spec(name: str, program: str, **options: bool | float) -> ProcessSpec:
    return ProcessSpec(name, [sys.executable, "-I", "-S", "-c", textwrap.dedent(program)], **options)


def has_ended(pid: int, timeout: float = 0.0) -> bool:
    """Whether a process, of whatever parent, has ended; waits for it up to the timeout."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], timeout)[0])
    finally:
        os.close(descriptor)


class Recorder:
    """Collects lines, and does something once as many `ready` lines have come as there are processes."""

    def __init__(self, ready: int = 0, action=None) -> None:
        self.lines: list[tuple[str, str]] = []
        self.pids: list[int] = []
        self._missing = ready
        self._action = action

    def __call__(self, name: str, line: str) -> None:
        self.lines.append((name, line))
        words = line.split()
        if words[:1] == ["ready"]:
            self.pids += [int(word) for word in words[1:]]
            self._missing -= 1
            if self._missing == 0 and self._action is not None:
                self._action()

    def of(self, name: str) -> list[str]:
        return [line for other, line in self.lines if other == name]


def run(specs: list[ProcessSpec], on_line=None, **options: float) -> tuple[int, str]:
    output = io.StringIO()
    code = run_processes(specs, output=output, on_line=on_line, **options)
    return code, output.getvalue()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
