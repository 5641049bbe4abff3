"""Ends of the processes of a run: clean ends, failures, viewers, new starts, commands that do not start."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machine_speed import limit
from small_processes import EXIT_ON_INTERRUPT, IGNORE, WAIT, Recorder, has_ended, interrupt, run, spec

from haptic_launch import processes
from haptic_launch.processes import ProcessSpec


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


@pytest.fixture
def patient_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner that waits for its own stop signal for longer than a slow machine takes."""
    monkeypatch.setattr(processes, "_SIGNAL_GRACE", 600.0)


ENDS_THE_OTHER = """
import os, select
pid = int(open({fifo!r}).read())
end = os.pidfd_open(pid)
os.kill(pid, {number})
select.select([end], [], [])
print('ready', flush=True)
{then}
"""


@pytest.mark.usefixtures("patient_runner")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "lambda *_: os._exit(0)"])
def test_a_signal_to_all_processes_at_once_is_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], number: signal.Signals, handler: str
) -> None:
    """As from pkill or systemd; the runner gets it last, when it has ended the other process."""
    friction, fifo = _ended_by_the_device(tmp_path, number, handler)
    program = ENDS_THE_OTHER.format(fifo=fifo, number=int(number), then="import signal; signal.pause()")
    stop = Recorder(1, lambda: os.kill(os.getpid(), number))
    assert run([friction, spec("device", program)], stop)[0] == 128 + number
    assert capfd.readouterr().err == f"haptics: {number.name}: stopping; Ctrl-C stops harder\n"


@pytest.mark.usefixtures("patient_runner")
def test_a_node_that_is_interrupted_shortly_before_the_end_is_a_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    friction, fifo = _ended_by_the_device(tmp_path, signal.SIGINT, "lambda *_: os._exit(0)")
    program = ENDS_THE_OTHER.format(fifo=fifo, number=int(signal.SIGINT), then="")
    assert run([friction, spec("device", program, on_exit_shutdown=True)])[0] == 1
    assert capfd.readouterr().err == "haptics: friction failed: it ended before the run\n"


def _ended_by_the_device(folder: Path, number: signal.Signals, handler: str) -> tuple[ProcessSpec, str]:
    """Returns a required process that is ready for a signal when it writes its process id, and the path of that."""
    fifo = str(folder / "pid")
    os.mkfifo(fifo)
    prepared = f"import os, signal; signal.signal({int(number)}, {handler})"
    written = f"file = open({fifo!r}, 'w'); file.write(str(os.getpid())); file.close()"
    return spec("friction", f"{prepared}; {written}; signal.pause()", required=True), fifo


def test_on_exit_shutdown_with_an_error_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("device", WAIT), spec("main", "raise SystemExit(4)", on_exit_shutdown=True)])
    assert code == 1
    assert capfd.readouterr().err == "haptics: main failed: exit code 4\n"


def test_an_error_while_stopping_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = run([spec("recorder", EXIT_ON_INTERRUPT.format(5))], Recorder(1, interrupt))
    assert code == 1
    assert "recorder failed: exit code 5" in capfd.readouterr().err


def test_required_process_that_ends_before_the_run_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([spec("friction", "", required=True), spec("device", WAIT, on_exit_shutdown=True)])[0] == 1
    assert capfd.readouterr().err == "haptics: friction failed: it ended before the run\n"


def test_required_process_that_ends_with_the_run_is_no_failure(device: tuple[ProcessSpec, Path]) -> None:
    waiting, fifo = device
    friction = spec("friction", EXIT_ON_INTERRUPT.format(0), required=True)
    assert run([friction, waiting], Recorder(1, lambda: fifo.write_text("")))[0] == 0


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


def test_viewer_that_does_not_stop_is_reported_and_killed(
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
