"""Output of the processes of a run: names, order, colours, lines of any length."""

from __future__ import annotations

import io
import sys

import pytest
from small_processes import Recorder, interrupt, run, spec

from haptic_launch.processes import ProcessSpec, run_processes


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
