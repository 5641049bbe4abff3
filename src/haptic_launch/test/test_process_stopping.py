"""Stopping the processes of a run: signals, deadlines, and that no process is left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from machine_speed import limit
from small_processes import IGNORE, WAIT, Recorder, has_ended, interrupt, run, spec

from haptic_launch import processes
from haptic_launch.processes import ProcessSpec

COUNT_INTERRUPTS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print('ready', os.getpid(), flush=True)
signal.sigwait([signal.SIGINT])
second = signal.sigtimedwait([signal.SIGINT], 0.2)
print('interrupts', 1 if second is None else 2, flush=True)
"""


# Stopping


def test_ctrl_c_interrupts_every_process_once(capfd: pytest.CaptureFixture[str]) -> None:
    seen = Recorder(2, interrupt)
    code, _ = run([spec("a", COUNT_INTERRUPTS), spec("b", COUNT_INTERRUPTS)], seen)
    assert code == 130
    assert seen.of("a")[-1] == seen.of("b")[-1] == "interrupts 1"
    assert len(seen.pids) == 2 and all(has_ended(pid) for pid in seen.pids)
    assert "failed" not in capfd.readouterr().err


def test_ctrl_c_in_a_terminal_interrupts_every_process_once() -> None:
    controller, terminal = pty.openpty()
    take_terminal = f"import fcntl; fcntl.ioctl(0, {termios.TIOCSCTTY}, 0)\n"
    runner = start_runner([spec("a", COUNT_INTERRUPTS)], take_terminal, terminal)
    os.close(terminal)
    text = ""
    while "ready" not in text:
        text += os.read(controller, 4096).decode()
    os.write(controller, b"\x03")
    assert runner.wait(limit(60.0)) == 130
    fcntl.fcntl(controller, fcntl.F_SETFL, os.O_NONBLOCK)
    assert "interrupts 1" in text + os.read(controller, 4096).decode()
    os.close(controller)


def test_sigterm_stops_all_like_ctrl_c() -> None:
    seen = Recorder(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert run([spec("a", COUNT_INTERRUPTS)], seen)[0] == 128 + signal.SIGTERM
    assert seen.of("a")[-1] == "interrupts 1"


@pytest.mark.parametrize(("ignored", "last"), [(["SIGINT"], "SIGTERM"), (["SIGINT", "SIGTERM"], "SIGKILL")])
def test_a_process_that_does_not_stop_is_stopped_harder(
    ignored: list[str], last: str, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = Recorder(1, interrupt)
    kill_grace = 0.1 if last == "SIGKILL" else limit(60.0)
    code, _ = run([spec("stubborn", IGNORE.format(ignored=ignored))], seen, grace=0.1, kill_grace=kill_grace)
    assert code == 1
    assert f"stubborn did not stop on SIGINT; {last} ended it" in capfd.readouterr().err
    assert has_ended(seen.pids[0])


def test_a_process_that_has_limited_its_end_is_no_failure(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import signal; signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()"
    assert run([spec("device", program, on_exit_shutdown=True), spec("other", WAIT)], Recorder())[0] == 0
    assert "device had done its work, but could not end by itself" in capfd.readouterr().err


def test_further_ctrl_c_stops_harder_at_once() -> None:
    program = """
        import os, signal
        signal.signal(signal.SIGINT, lambda *_: os.write(1, b'SIGINT\\n'))
        signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'SIGTERM\\n'))
        os.write(1, b'ready\\n')
        while True:
            signal.pause()
    """
    lines = []

    def on_line(name: str, line: str) -> None:
        lines.append(line)
        interrupt()

    assert run([spec("a", program)], on_line, grace=limit(60.0), kill_grace=limit(60.0))[0] == 130
    assert lines == ["ready", "SIGINT", "SIGTERM"]


def test_ctrl_c_while_the_run_ends_by_itself_does_not_stop_harder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = """
        import signal
        asked = False
        def ask(*_):
            global asked
            asked = True
        signal.signal(signal.SIGINT, ask)
        print('ready', flush=True)
        while not asked:
            signal.pause()
        print('closing', flush=True)
        signal.sigtimedwait([signal.SIGUSR1], 0.2)
        print('closed', flush=True)
    """
    seen: list[str] = []

    def on_line(name: str, line: str) -> None:
        seen.append(line)
        if line == "ready":
            fifo.write_text("")
        elif line == "closing":
            interrupt()

    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    main = spec("main", f"open({str(fifo)!r}).read()", on_exit_shutdown=True)
    code, _ = run([spec("recorder", program), main], on_line)
    assert code == 0
    assert seen[-1] == "closed"
    assert "already stopping" in capfd.readouterr().err


def test_an_ignored_sigint_is_not_inherited() -> None:
    """A shell's background job ignores SIGINT; the processes have to see the runner's all the same."""
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run([spec("a", WAIT)], Recorder(1, interrupt), grace=limit(60.0))[0] == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, previous)


def test_an_exception_in_on_line_stops_all_and_comes_out() -> None:
    seen = Recorder()

    def on_line(name: str, line: str) -> None:
        seen(name, line)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run([spec("a", COUNT_INTERRUPTS)], on_line)
    assert has_ended(seen.pids[0])


def test_signal_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run([spec("a", "")])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_it_runs_in_another_thread_without_signals() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run([spec("a", "print(1)")])[0]))
    thread.start()
    thread.join(limit(60.0))
    assert codes == [0]


# Leftovers

LEAVE_CHILD = """
import os, signal, sys
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    {in_child}
    os.write(writer, b'x')
    {child_work}
    os._exit(0)
os.read(reader, 1)
print('ready', os.getpid(), child, flush=True)
{in_parent}
"""


def test_child_processes_left_in_the_group_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LEFTOVER_GRACE", 0.1)
    seen = Recorder()
    program = LEAVE_CHILD.format(in_child="signal.signal(2, signal.SIG_IGN)", child_work="signal.pause()", in_parent="")
    code, _ = run([spec("a", program)], seen)
    assert code == 0
    assert len(seen.pids) == 2 and all(has_ended(pid, limit(60.0)) for pid in seen.pids)


def test_child_processes_left_behind_have_time_to_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LEFTOVER_GRACE", limit(60.0))
    seen = Recorder()
    work = "signal.sigtimedwait([signal.SIGUSR1], 0.2); os.write(1, b'finished\\n')"
    code, _ = run([spec("a", LEAVE_CHILD.format(in_child="", child_work=work, in_parent=""))], seen)
    assert code == 0
    assert seen.of("a")[-1] == "finished"


def test_ctrl_c_reaches_the_whole_group() -> None:
    seen = Recorder(1, interrupt)
    program = LEAVE_CHILD.format(
        in_child="signal.signal(2, signal.SIG_DFL)", child_work="signal.pause()", in_parent="signal.pause()"
    )
    assert run([spec("a", program)], seen)[0] == 130
    assert len(seen.pids) == 2 and all(has_ended(pid, limit(60.0)) for pid in seen.pids)


# A runner that is killed


def start_runner(specs: list[ProcessSpec], prologue: str, terminal: int | None = None) -> subprocess.Popen[str]:
    """Runs the processes in a runner of its own; stdout is the runner's output."""
    program = prologue + "import sys; from haptic_launch.processes import *\n"
    commands = [(entry.name, entry.command) for entry in specs]
    program += f"sys.exit(run_processes([ProcessSpec(*each) for each in {commands!r}]))"
    package = str(Path(processes.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": package},
        stdin=terminal if terminal is not None else subprocess.DEVNULL,
        stdout=terminal if terminal is not None else subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_no_process_outlives_a_killed_runner(tmp_path: Path) -> None:
    stop = f"signal.signal(2, lambda *_: (open({str(tmp_path / 'stopped')!r}, 'x'), os._exit(0)))\n"
    polite = LEAVE_CHILD.format(in_child="", child_work="signal.pause()", in_parent="signal.pause()")
    polite = polite.replace("os.read(reader, 1)", stop + "os.read(reader, 1)")
    stubborn = IGNORE.format(ignored=["SIGINT", "SIGTERM"])
    runner = start_runner([spec("polite", polite), spec("stubborn", stubborn)], "")
    assert runner.stdout is not None
    pids: list[int] = []
    while len(pids) < 3:
        pids += [int(word) for word in runner.stdout.readline().split()[2:]]
    runner.kill()
    runner.wait()
    assert all(has_ended(pid, limit(60.0)) for pid in pids)
    assert (tmp_path / "stopped").exists()
    runner.stdout.close()
