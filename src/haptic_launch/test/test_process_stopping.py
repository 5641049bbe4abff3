"""The runner of processes: output, ends, stopping, and that nothing is left behind."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machine_speed import limit

from haptic_launch import processes
from haptic_launch.processes import ProcessSpec, run_processes

WAIT = "import signal; print('ready', flush=True); signal.pause()"
COUNT_INTERRUPTS = """
import os, signal, sys
counted = 0
def count(*_):
    global counted
    counted += 1
signal.signal(signal.SIGINT, count)
print('ready', os.getpid(), flush=True)
while not counted:
    signal.pause()
signal.sigtimedwait([signal.SIGUSR1], 0.2)  # time for a second one
print('interrupts', counted, flush=True)
"""
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


# Output


def test_lines_have_the_name_and_keep_their_order() -> None:
    program = """
        import os
        os.write(1, b'one\\n'); os.write(2, b'two\\n'); os.write(1, b'th'); os.write(1, b'ree\\r\\n\\nlast')
    """
    code, output = run([spec("device", program)])
    assert code == 0
    assert output == "[device] one\n[device] two\n[device] three\n[device] \n[device] last\n"


def test_on_line_gets_every_line() -> None:
    seen = Recorder()
    run([spec("a", "print('x'); print('y')"), spec("b", "print('z')")], seen)
    assert seen.of("a") == ["x", "y"] and seen.of("b") == ["z"]


def test_text_that_is_not_utf8_does_not_disturb() -> None:
    assert run([spec("a", "import os; os.write(1, b'\\xff\\n')")])[1] == "[a] \ufffd\n"


def test_prints_of_python_processes_come_at_once() -> None:
    seen = Recorder(1, interrupt)
    program = "import signal; print('ready'); signal.pause()"
    code, _ = run([ProcessSpec("a", [sys.executable, "-c", program])], seen)
    assert code == 130


def test_names_are_coloured_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    output = Terminal()
    run_processes([spec("a", "print(1)"), spec("b", "print(2)")], output=output)
    coloured = output.getvalue()
    assert "\x1b[36m[a]\x1b[0m 1\n" in coloured and "\x1b[32m[b]\x1b[0m 2\n" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    output = Terminal()
    run_processes([spec("a", "print(1)")], output=output)
    assert output.getvalue() == "[a] 1\n"


def test_big_output_of_several_processes_does_not_deadlock() -> None:
    program = "import os\nfor i in range(20): os.write(1 + i % 2, (b'%07d\\n' % i) * 4096)"
    seen = Recorder()
    code, _ = run([spec("a", program), spec("b", program)], seen)
    expected = [f"{i:07d}" for i in range(20) for _ in range(4096)]
    assert code == 0
    assert seen.of("a") == expected and seen.of("b") == expected


def test_a_line_without_end_is_cut() -> None:
    seen = Recorder()
    run([spec("a", "import os\nfor _ in range(100): os.write(1, b'x' * 40000)")], seen)
    assert len(seen.lines) > 1
    assert sum(len(line) for line in seen.of("a")) == 4_000_000


def test_stdin_is_empty_and_the_environment_is_the_given_one() -> None:
    program = "import os, sys; print(repr(sys.stdin.read()), os.environ['A'], 'HOME' in os.environ)"
    command = [sys.executable, "-I", "-S", "-c", program]
    assert run([ProcessSpec("a", command, {"A": "1"})])[1] == "[a] '' 1 False\n"


# Ends


def test_the_run_ends_when_all_have_ended() -> None:
    assert run([spec("a", ""), spec("b", "print(1)")])[0] == 0
    assert run([])[0] == 0


def test_the_end_of_an_on_exit_shutdown_process_ends_the_run_cleanly(tmp_path: Path) -> None:
    others = [
        spec("killed", WAIT),
        spec("zero", EXIT_ON_INTERRUPT.format(0)),
        spec("shell", EXIT_ON_INTERRUPT.format(130)),
    ]
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    main = spec("main", f"open({str(fifo)!r}).read()", on_exit_shutdown=True)
    code, _ = run([*others, main], Recorder(3, lambda: fifo.write_text("")))
    assert code == 0


def test_a_failing_process_stops_all_and_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    seen = Recorder()
    waiting = spec("recorder", "import os, signal; print('ready', os.getpid(), flush=True); signal.pause()")
    code, _ = run([waiting, spec("friction", "raise SystemExit(3)")], seen)
    error = capfd.readouterr().err
    assert code == 1
    assert error.splitlines() == ["haptics: friction failed: exit code 3"]
    assert all(has_ended(pid) for pid in seen.pids)


def test_a_process_killed_by_a_signal_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("hand", "import os; os.kill(os.getpid(), 11)"), spec("device", WAIT)])
    assert code == 1
    assert capfd.readouterr().err == "haptics: hand failed: killed by SIGSEGV\n"


def test_a_foreign_interrupt_of_one_process_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([spec("a", "import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2)")])[0] == 1
    assert "a failed: killed by SIGINT" in capfd.readouterr().err


def test_on_exit_shutdown_with_an_error_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("device", WAIT), spec("main", "raise SystemExit(4)", on_exit_shutdown=True)])
    assert code == 1
    assert capfd.readouterr().err == "haptics: main failed: exit code 4\n"


def test_an_error_while_stopping_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("recorder", EXIT_ON_INTERRUPT.format(5))], Recorder(1, interrupt))
    assert code == 1
    assert "recorder failed: exit code 5" in capfd.readouterr().err


@pytest.fixture
def viewer(tmp_path: Path) -> Callable[[str], ProcessSpec]:
    """A program by the name of RViz."""

    def make(program: str) -> ProcessSpec:
        path = tmp_path / "rviz2"
        path.write_text(f"#!{sys.executable} -IS\n{textwrap.dedent(program)}")
        path.chmod(0o755)
        return ProcessSpec("rviz2", [str(path)])

    return make


@pytest.fixture
def device(tmp_path: Path) -> tuple[ProcessSpec, Path]:
    """Waits for a text, and if it is a process's number for the end of that; then the run is over."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    program = f"""
        import os, time
        number = open({str(fifo)!r}).read()
        while number and os.path.exists("/proc/" + number):
            time.sleep(0.01)
        print("done")
    """
    return spec("device", program, on_exit_shutdown=True), fifo


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("", ""),
        ("raise SystemExit(3)", "haptics: rviz2 failed: exit code 3; the run goes on without it\n"),
        ("os.kill(os.getpid(), 6)", "haptics: rviz2 failed: killed by SIGABRT; the run goes on without it\n"),
    ],
)
def test_the_end_of_a_viewer_does_not_end_the_run(
    viewer: Callable[[str], ProcessSpec],
    device: tuple[ProcessSpec, Path],
    end: str,
    told: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    waiting, fifo = device
    looking_on, seen = viewer(f"import os; print('ready', os.getpid(), flush=True); {end}"), Recorder(1)
    seen._action = lambda: fifo.write_text(str(seen.pids[0]))
    assert run([waiting, looking_on], seen)[0] == 0
    assert seen.of("device") == ["done"]  # it has gone on after the viewer's end
    assert capfd.readouterr().err == told


def test_a_viewer_that_fails_when_it_is_stopped_does_not_fail_the_run(
    viewer: Callable[[str], ProcessSpec], device: tuple[ProcessSpec, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    waiting, fifo = device
    code, _ = run([viewer(EXIT_ON_INTERRUPT.format(5)), waiting], Recorder(1, lambda: fifo.write_text("")))
    assert code == 0 and "rviz2 failed: exit code 5" in capfd.readouterr().err


def test_a_viewer_that_does_not_stop_is_told_and_ended(
    viewer: Callable[[str], ProcessSpec], device: tuple[ProcessSpec, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    waiting, fifo = device
    looking_on, seen = viewer(IGNORE.format(ignored=["SIGINT"])), Recorder(1, lambda: fifo.write_text(""))
    assert run([looking_on, waiting], seen, grace=0.2, kill_grace=limit(60.0))[0] == 0
    assert capfd.readouterr().err == "haptics: rviz2 did not stop on SIGINT; SIGTERM ended it\n"


FAIL_ONCE = """
import os, pathlib
print('started', flush=True)
file = pathlib.Path({file!r})
if not file.exists():
    file.touch()
    os.kill(os.getpid(), 9)
"""


def test_a_process_that_failed_is_started_again_if_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also the one whose good end ends the run; one that ends well is not started again."""
    seen = Recorder()
    device = FAIL_ONCE.format(file=str(tmp_path / "device"))
    specs = [spec("wall", WAIT), spec("device", device, respawn_delay=0.01, on_exit_shutdown=True)]
    assert run(specs, seen)[0] == 0
    assert seen.of("device") == ["started", "started"] and seen.of("wall") == ["ready"]
    assert capfd.readouterr().err == "haptics: device failed: killed by SIGKILL; it is started again\n"


def test_a_process_that_waits_for_its_new_start_is_not_started_once_the_run_ends(tmp_path: Path) -> None:
    seen = Recorder(1)
    failing = spec("wall", "import os; print(os.getpid()); raise SystemExit(3)", respawn_delay=3600.0)
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    device = spec("device", f"open({str(fifo)!r}).read()", on_exit_shutdown=True)

    def once_it_is_gone(pid: str) -> None:
        while Path(f"/proc/{pid}").exists():  # until the runner knows of its end
            time.sleep(0.005)
        fifo.write_text("")

    def on_line(name: str, line: str) -> None:
        seen(name, line)
        threading.Thread(target=once_it_is_gone, args=(line,)).start()

    assert run([failing, device], on_line)[0] == 0
    assert len(seen.of("wall")) == 1


def test_a_command_that_does_not_exist_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    code, output = run([ProcessSpec("camera", ["/nonexistent/camera"]), spec("device", WAIT)])
    assert code == 1
    assert "cannot start /nonexistent/camera: No such file or directory" in output
    assert capfd.readouterr().err == "haptics: camera failed: exit code 127\n"


def test_a_process_that_cannot_be_started_stops_all(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("device", WAIT), ProcessSpec("big", ["echo", "x" * 10_000_000]), spec("never", WAIT)])
    assert code == 1
    assert capfd.readouterr().err == "haptics: big could not be started: Argument list too long\n"


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


def test_what_a_process_leaves_in_its_group_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LEFTOVER_GRACE", 0.1)
    seen = Recorder()
    program = LEAVE_CHILD.format(in_child="signal.signal(2, signal.SIG_IGN)", child_work="signal.pause()", in_parent="")
    code, _ = run([spec("a", program)], seen)
    assert code == 0
    assert len(seen.pids) == 2 and all(has_ended(pid, limit(60.0)) for pid in seen.pids)


def test_what_a_process_leaves_has_time_to_finish(monkeypatch: pytest.MonkeyPatch) -> None:
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
