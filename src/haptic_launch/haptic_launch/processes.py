"""Runs the processes of an experiment: starts them, forwards their output, and stops all of them together.

Each process leads its own session, so that Ctrl-C in a terminal reaches only the runner, which then sends each
process group SIGINT exactly once. The runner is driven by events (pipes, pidfds, a wake-up descriptor for
signals) and does not poll. It needs Linux 5.3 or newer.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

from haptic_core.dds import dds_environment

from . import process_guard
from .interrupt_filter import InterruptFilter
from .process_spec import VIEWERS, ProcessSpec, describe_end, signal_of
from .shared_memory import remove_abandoned

__all__ = ["VIEWERS", "ProcessSpec", "run_processes"]

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ESCALATION = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_CHUNK = 65536
_LONGEST_LINE = 1 << 20
_LEFTOVER_GRACE = 1.0  # time for children of an ended process that keep its output open [s]
_SILENT_GRACE = 0.1  # time for children that do not, or are about to end [s]
_SIGNAL_GRACE = 0.5  # time for the runner's own stop signal after one that ended a process, from `pkill` or systemd [s]
#: failure of a required process that ended with exit code 0, for example because it got SIGINT from someone else
ENDED_EARLY = "it ended before the run"
_COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)


def run_processes(
    specs: Sequence[ProcessSpec],
    *,
    output: TextIO | None = None,
    grace: float = 10.0,
    kill_grace: float = 5.0,
    on_line: Callable[[str, str], None] | None = None,
) -> int:
    """Runs the processes until all have ended.

    All are stopped when Ctrl-C, SIGTERM or SIGHUP arrives, when a process with `on_exit_shutdown` ends with 0, and
    when one fails. A failure is an exit code other than 0, a signal that the runner did not send, and the end of a
    required process before the run. A process that a stop signal ended has not failed if the runner gets one, too.
    `VIEWERS` may fail, and a process with a `respawn_delay` is restarted after its failure.
    Every process group gets SIGINT, then SIGTERM after `grace` if it still exists, then SIGKILL after `kill_grace`. The
    second and the third Ctrl-C go to the next step at once. Children that a process leaves in its group are killed one
    second after the process's end.

    stdout and stderr of a process share one pipe, so that their lines keep their order. Python processes
    run unbuffered (PYTHONUNBUFFERED, if it is not set). stdin is empty. If the runner itself is killed, the
    processes get SIGINT and, two seconds later, SIGKILL (see `process_guard`).

    Signals are handled only if the caller is the main thread. The calling thread has to live until the call
    returns.

    Args:
        specs: processes, in the order in which they start.
        output: stream for the lines `[name] line`, coloured on a terminal; default: stdout.
        grace: time from SIGINT to SIGTERM [s].
        kill_grace: time from SIGTERM to SIGKILL [s].
        on_line: function to call with name and line for every line, after it was written.

    Raises:
        Exception: exception of `output` or `on_line`, after all processes were stopped.

    Returns:
        0 if all ended with 0, by the runner's SIGINT, or by their own SIGALRM; 1 if one failed or needed a
        stronger signal (one line on stderr names the first such process); 128 + signal if a signal stopped the
        run and all ended as requested, that is 130 for Ctrl-C.
    """
    run = _Run(output or sys.stdout, grace, kill_grace, on_line)
    with ExitStack() as stack:
        stack.callback(run.close)
        stack.enter_context(_wake_up_on_signals(run))
        with _interrupt_blocked():
            run.start(specs)
        return run.loop()


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Defers SIGINT; children inherit the blocked signal until `process_guard.start` is ready for it."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextmanager
def _wake_up_on_signals(run: _Run) -> Iterator[None]:
    """Converts the stop signals to bytes on a socket that the event loop reads.

    SIGHUP stays ignored under nohup. SIGINT is handled even if a shell started the runner with it ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    receiver, sender = socket.socketpair()
    with receiver, sender:
        receiver.setblocking(False)
        sender.setblocking(False)
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
        previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        run.watch(receiver.fileno(), lambda: run.on_signals(receiver.recv(_CHUNK)))
        try:
            yield
        finally:
            run.unwatch(receiver.fileno())
            signal.set_wakeup_fd(previous)
            for number, handler in handlers.items():
                signal.signal(number, handler)


@dataclass
class _Process:
    spec: ProcessSpec
    popen: subprocess.Popen[bytes]
    pipe: int
    prefix: str
    pidfd: int = -1
    partial: bytes = b""
    deadline: float | None = None
    restart: float | None = None
    assessment: float | None = None
    done: bool = False
    received: set[int] = field(default_factory=set)
    interrupt_filter: InterruptFilter = field(default_factory=InterruptFilter)

    def send(self, number: signal.Signals) -> bool:
        """Sends a signal to the process group; returns whether the group exists."""
        try:
            os.killpg(self.popen.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def group_exists(self) -> bool:
        try:
            os.killpg(self.popen.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


class _Run:
    """Event loop and its state: last stop signal sent, its cause, and the first failure."""

    def __init__(
        self, output: TextIO, grace: float, kill_grace: float, on_line: Callable[[str, str], None] | None
    ) -> None:
        self._output = output
        self._waits = {signal.SIGINT: grace, signal.SIGTERM: kill_grace}
        self._on_line = on_line
        self._selector = selectors.DefaultSelector()
        self._processes: list[_Process] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._stage: signal.Signals | None = None
        self._deadline: float | None = None
        self._interrupts = 0
        self._forced_by_user = False
        self._stopped_by: signal.Signals | None = None
        self._failed = False
        self._error: Exception | None = None

    def watch(self, descriptor: int, callback: Callable[[], object]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, callback)

    def unwatch(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def start(self, specs: Sequence[ProcessSpec]) -> None:
        self._guard = subprocess.Popen(
            process_guard.guard_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        coloured = self._output.isatty() and not os.environ.get("NO_COLOR")
        for index, spec in enumerate(specs):
            prefix = f"[{spec.name}]"
            if coloured:
                prefix = f"\x1b[{_COLOURS[index % len(_COLOURS)]}m{prefix}\x1b[0m"
            if not self._start_one(spec, prefix):
                break

    def _start_one(self, spec: ProcessSpec, prefix: str) -> bool:
        """Starts one process; returns whether that worked. A wrong command appears only later, as exit code 127."""
        pipe, writer = os.pipe()
        try:
            popen = subprocess.Popen(
                process_guard.start_command(spec.command),
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                env={"PYTHONUNBUFFERED": "1", **dds_environment(spec.command, spec.environment)},
                start_new_session=True,
            )
        except OSError as error:
            os.close(pipe)
            self._fail(f"{spec.name} could not be started: {error.strerror}")
            return False
        finally:
            os.close(writer)
        os.set_blocking(pipe, False)
        process = _Process(spec, popen, pipe, prefix)
        self._processes.append(process)
        self._notify_guard(f"+{popen.pid}\n")
        process.pidfd = os.pidfd_open(popen.pid)
        self.watch(pipe, lambda: self._on_output(process))
        self.watch(process.pidfd, lambda: self._on_end(process))
        return True

    def loop(self) -> int:
        while not all(p.done and p.restart is None and p.assessment is None for p in self._processes):
            try:
                for key, _ in self._selector.select(self._timeout()):
                    if key.fd in self._selector.get_map():  # not closed by an event before
                        key.data()
                self._on_deadlines()
            except Exception as error:
                if self._error is not None:
                    raise
                self._error = error
                self._stop()
        if self._error is not None:
            raise self._error
        if self._failed:
            return 1
        return 0 if self._stopped_by is None else 128 + self._stopped_by

    def close(self) -> None:
        """Kills remaining processes and closes all descriptors, also after an exception."""
        for process in self._processes:
            if not process.done:
                process.send(signal.SIGKILL)
                process.popen.wait()
                self._notify_guard(f"-{process.popen.pid}\n")
            for descriptor in (process.pipe, process.pidfd):
                if descriptor >= 0:
                    os.close(descriptor)
        if any((process.popen.returncode or 0) < 0 for process in self._processes):
            remove_abandoned()
        self._selector.close()
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()

    def _timeout(self) -> float | None:
        deadlines = [self._deadline]
        for process in self._processes:
            deadlines += [process.deadline, process.assessment, process.restart if process.done else None]
        waiting = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _on_deadlines(self) -> None:
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._escalate()
        for process in list(self._processes):
            if process.deadline is not None and now >= process.deadline:
                process.send(signal.SIGKILL)
                while process.pipe >= 0 and self._on_output(process):
                    pass
                self._close_pipe(process)
                self._finish(process)
            if process.assessment is not None and now >= process.assessment:
                self._assess_end(process)
            if process.done and process.restart is not None and now >= process.restart:
                self._processes.remove(process)
                with _interrupt_blocked():
                    self._start_one(process.spec, process.prefix)

    # Output

    def _on_output(self, process: _Process) -> bool:
        """Forwards output from the pipe, at most one chunk; returns whether there may be more."""
        try:
            data = os.read(process.pipe, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._close_pipe(process)
            self._settle(process)
            return False
        *lines, process.partial = (process.partial + data).split(b"\n")
        if len(process.partial) > _LONGEST_LINE:
            lines.append(process.partial)
            process.partial = b""
        self._forward(process, lines)
        return True

    def _close_pipe(self, process: _Process) -> None:
        if process.pipe >= 0:
            self.unwatch(process.pipe)
            os.close(process.pipe)
            process.pipe = -1
            self._forward(process, [process.partial] if process.partial else [], last=True)
            process.partial = b""

    def _forward(self, process: _Process, lines: Sequence[bytes], *, last: bool = False) -> None:
        texts = [line.decode(errors="replace").rstrip("\r") for line in lines]
        if signal.SIGINT in process.received:
            texts = process.interrupt_filter.keep(texts, last=last)
        if not texts or self._error is not None:
            return
        self._output.write("".join(f"{process.prefix} {text}\n" for text in texts))
        self._output.flush()
        if self._on_line is not None:
            for text in texts:
                self._on_line(process.spec.name, text)

    # Ends

    def _on_end(self, process: _Process) -> None:
        self.unwatch(process.pidfd)
        os.close(process.pidfd)
        process.pidfd = -1
        while process.pipe >= 0 and self._on_output(process):
            pass  # the interrupt filter needs the last lines for the assessment
        code = process.popen.wait()
        stopped = signal_of(code) in _STOP_SIGNALS or (code == 0 and process.spec.required)
        if stopped and self._stage is None:
            process.assessment = time.monotonic() + _SIGNAL_GRACE
        else:
            self._assess_end(process)
        if not process.done:
            self._settle(process)

    def _settle(self, process: _Process) -> None:
        """Finishes an ended process, or sets the deadline for its output and for the children it left."""
        if process.pidfd >= 0:
            return
        if process.pipe < 0 and not process.group_exists():
            self._finish(process)
        else:
            deadline = time.monotonic() + (_LEFTOVER_GRACE if process.pipe >= 0 else _SILENT_GRACE)
            process.deadline = min(process.deadline or deadline, deadline)

    def _finish(self, process: _Process) -> None:
        process.done = True
        process.deadline = None
        self._notify_guard(f"-{process.popen.pid}\n")

    def _assess_end(self, process: _Process) -> None:
        """Decides the effect of a process's end on the run."""
        process.assessment, code = None, process.popen.returncode
        number = signal_of(code)
        ours = number in process.received
        own_alarm = number == signal.SIGALRM and not ours
        if own_alarm:  # see haptic_core.process.limit_the_end
            self._print(f"{process.spec.name} had done its work, but could not end by itself; SIGALRM ended it")
        early = process.spec.required and self._stage is None
        if (code == 0 and not early) or own_alarm:
            if process.spec.on_exit_shutdown:
                self._stop()
        elif ours and number != signal.SIGINT:
            message = f"{process.spec.name} did not stop on SIGINT; {signal.Signals(number).name} ended it"
            if self._forced_by_user or process.spec.only_shows:
                self._print(message)
            else:
                self._fail(message)
        elif not ours and not process.interrupt_filter.start_interrupted:
            message = f"{process.spec.name} failed: {describe_end(code) if code else ENDED_EARLY}"
            delay = process.spec.respawn_delay
            if delay is not None and self._stage is None:
                process.restart = time.monotonic() + delay
                self._print(f"{message}; it is started again")
            elif process.spec.only_shows:
                self._print(f"{message}; the run goes on without it")
            else:
                self._fail(message)

    def _fail(self, message: str) -> None:
        if not self._failed:
            self._failed = True
            self._print(message)
        self._stop()

    # Stopping

    def on_signals(self, numbers: bytes) -> None:
        for number in numbers:
            if number not in _STOP_SIGNALS:
                continue
            self._interrupts += number == signal.SIGINT
            if self._stage is None:
                self._stopped_by = signal.Signals(number)
                self._print(f"{self._stopped_by.name}: stopping; Ctrl-C stops harder")
                for process in self._processes:
                    process.assessment = None  # the same signal has ended it
                self._stop()
            elif number == signal.SIGINT and (self._interrupts > 1 or self._stopped_by is not None):
                self._forced_by_user = True
                self._escalate()
            elif number == signal.SIGINT:
                self._print("already stopping; Ctrl-C again stops harder")

    def _stop(self) -> None:
        for process in self._processes:
            if process.assessment is not None:
                self._assess_end(process)
            process.restart = None
        if self._stage is None:
            self._send(signal.SIGINT)

    def _escalate(self) -> None:
        if self._stage is not None and self._stage is not signal.SIGKILL:
            self._send(_ESCALATION[_ESCALATION.index(self._stage) + 1])

    def _send(self, number: signal.Signals) -> None:
        self._stage = number
        wait = self._waits.get(number)
        self._deadline = None if wait is None else time.monotonic() + wait
        for process in self._processes:
            if process.pidfd >= 0 and process.send(number):
                process.received.add(number)

    # Others

    def _print(self, message: str) -> None:
        print(f"haptics: {message}", file=sys.stderr, flush=True)

    def _notify_guard(self, line: str) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with suppress(OSError):  # if the guard is gone, the processes still get SIGINT from the kernel
                self._guard.stdin.write(line.encode())
