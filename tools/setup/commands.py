"""Commands that setup starts: their output in a log, one progress line, an end that leaves nothing behind."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from machine import SetupError

#: shows the last line of a command's output on the progress line
Show = Callable[[str], None]

#: time of the loop of `slowness` on the machine of README.md [s]
_REFERENCE = 0.0033

#: what ends a setup early
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: what a log contains when a stage fails, and what to do about it
_HINTS = (
    (r"No space left on device|os error 28", "free some disk space, or set HAPTICS_HOME to a larger disk"),
    (r"Python\.h: No such file|Development\.Module|Python3_INCLUDE_DIR", "apt install python3-dev"),
    (r"No CMAKE_C(XX)?_COMPILER|CMAKE_C(XX)?_COMPILER-NOTFOUND|compiler identification is unknown", "apt install g++"),
    (r"ensurepip is not available|No module named '?ensurepip", "apt install python3-venv"),
    (r"Hash mismatch|DO NOT MATCH THE HASHES", "the registry served another file than the one that was locked"),
    (
        r"NewConnectionError|Temporary failure in name resolution|Network is unreachable|Connection refused"
        r"|ReadTimeout|Max retries exceeded|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED|error sending request",
        "is the package registry reachable? pip's own settings (proxy, index, certificates) apply",
    ),
    (
        r"No matching distribution found|not a supported wheel",
        "no package for this Python: try another HAPTICS_PYTHON, or source a ROS 2 Jazzy installation",
    ),
)


class Interrupted(BaseException):
    """A signal asks to stop; carries the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def run(command: list[str], log: Path, variables: dict[str, str], show: Show, failure: str) -> None:
    """Runs one command of a stage, its output in a log.

    Args:
        command: Program and arguments.
        log: The file for its output.
        variables: Its environment variables.
        show: Called with the last line of the output, about five times a second.
        failure: The message when it fails; the last line of the output is added.

    Raises:
        SetupError: The command failed.
    """
    with log.open("w", encoding="utf-8") as stream:
        stream.write(f"$ {shlex.join(command)}\n")
        stream.flush()
        process = None
        try:
            # an interrupt that came while the command starts would leave it running, unknown to us
            before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env=variables,
                    cwd=log.parent,  # not the user's: Python looks for modules there
                    start_new_session=True,
                    close_fds=False,  # it inherits the lock, which is thus held as long as it lives
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)  # what came meanwhile is raised here
            while True:
                try:
                    code = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    show(last_line(log))
        except BaseException:
            if process is not None:
                stop(process)
            raise
    if code:
        text = log.read_text(encoding="utf-8", errors="replace")
        hint = next((hint for pattern, hint in _HINTS if re.search(pattern, text)), "")
        raise SetupError(f"{failure}: {last_line(log)[:200]}", hint, log)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and all that it started."""
    import os

    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(timeout=patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def last_line(log: Path) -> str:
    """The last line of a log that is not empty."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 2000))
        lines = stream.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@contextlib.contextmanager
def progress(title: str, expected: float) -> Iterator[Show]:
    """Shows one line for a stage: its time, and on a terminal the last line of its output while it lasts.

    Args:
        title: Name of the stage.
        expected: How long it will take, about [s].
    """
    start = time.monotonic()
    terminal = sys.stderr.isatty()

    def show(tail: str) -> None:
        if terminal:
            head = f"  {title}  {time.monotonic() - start:.0f} of about {max(1.0, expected):.0f} s  "
            room = max(0, shutil.get_terminal_size().columns - len(head) - 1)
            sys.stderr.write(f"\r\x1b[K{head}\x1b[2m{tail[:room]}\x1b[0m")
            sys.stderr.flush()

    sys.stderr.write(f"  {title} ")
    sys.stderr.flush()
    outcome = "not finished after "
    try:
        yield show
        outcome = ""
    finally:
        clear = f"\r\x1b[K  {title} " if terminal else ""
        sys.stderr.write(f"{clear} {outcome}{time.monotonic() - start:.1f} s\n")


def slowness() -> list[float]:
    """Measures a few times in a row how many times slower this machine is than the one of README.md."""
    measured = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(200_000):
            pass
        measured.append((time.perf_counter() - start) / _REFERENCE)
    return measured


def say(text: str) -> None:
    """Shows the user one line; standard output belongs to the command that follows."""
    print(f"haptics: {text}", file=sys.stderr, flush=True)
