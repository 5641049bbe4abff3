"""Wrong arguments, files and settings: one line that names what is wrong, and nothing is started or left behind."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bad_inputs import CASES as INPUTS
from bad_inputs import Case, write_files
from bad_launch_files import CASES as LAUNCH_FILES
from machine_speed import limit
from started_runs import HAPTICS

from haptic_bags import replay
from haptic_bringup import cli, runner
from haptic_launch import experiments
from haptic_launch.experiments import Home

CASES = [*INPUTS, *LAUNCH_FILES]
#: longest error, without paths of the tests' own folder [characters]
LONGEST = 300
#: each of these is also tried by a process
PROCESSES = CASES[:: len(CASES) // 12]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the files that the cases name."""
    made = tmp_path_factory.mktemp("bad")
    write_files(made)
    return made


def name_of(case: Case) -> str:
    """Identifies a case in the output of pytest."""
    setting = "".join(f" {name}={value}" for name, value in case.environment.items())
    own = case.launch if case.launch != "[]" else case.metadata if "mine" in case.words else ""
    return ascii(f"{' '.join(case.words)}{setting} {own}")[1:81].replace("::", ": :")


def check(case: Case, code: int, error: str, folder: Path) -> None:
    """Checks exit code and error of a case, and that no run directory is left."""
    assert "Traceback" not in error, error
    assert code == case.code, error
    first, *hint = error.splitlines()
    assert len(hint) == 1 and hint[0].startswith("  hint: "), error
    pattern = "error: " + ".*".join(re.escape(part) for part in case.error.split("..."))
    assert re.match(pattern, first), f"{first}\nexpected {case.error}"
    assert len(first.replace(str(folder), "")) <= LONGEST
    assert not (folder / "runs").exists()


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_wrong_input_is_one_line(
    case: Case, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "mine" in case.words:
        (tmp_path / "launch").mkdir()
        (tmp_path / "config" / "mine").mkdir(parents=True)
        (tmp_path / "launch" / "mine.launch.yaml").write_text(f"launch: {case.launch}".replace("FOLDER", str(folder)))
        (tmp_path / "config" / "mine" / "experiment.yaml").write_text(case.metadata)
        home = Home("mine", tmp_path, "haptic_experiments.experiments")
        monkeypatch.setattr(experiments, "_folders", lambda: {"mine": home})

    def start(*_: Any) -> int:
        pytest.fail("a process would have been started")

    monkeypatch.setattr(runner, "launch", start)
    monkeypatch.setattr(replay, "run_processes", start)
    monkeypatch.chdir(folder)
    for name, value in case.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["haptics", *case.words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    check(case, int(ended.value.code or 0), capsys.readouterr().err, tmp_path if "mine" in case.words else folder)


@pytest.mark.parametrize("code", [errno.EISDIR, errno.ENOSPC, errno.EACCES])
def test_an_error_of_a_file_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code), "runs/a/report.html")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    error, hint = capsys.readouterr().err.splitlines()
    assert (ended.value.code, error) == (1, f"error: runs/a/report.html: {os.strerror(code)}")
    assert ("disk" in hint) == (code == errno.ENOSPC)


def test_a_terminal_without_utf_8_gets_every_line(folder: Path) -> None:
    program = (
        "import sys; from haptic_bringup import cli; cli.app = lambda **_: cli.console().print('\u03bc'); cli.main()"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, b"\\u03bc"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in PROCESSES if "mine" not in case.words], ids=name_of)
def test_a_wrong_input_of_a_process_is_one_line(case: Case, folder: Path) -> None:
    environment = {**os.environ, **case.environment}
    words = [os.fsencode(word) for word in (*HAPTICS, *case.words)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=limit(100.0), check=False)
    assert done.stdout == b""
    check(case, done.returncode, done.stderr.decode(), folder)


def test_the_table_is_large_enough_and_names_each_case_once() -> None:
    assert len(CASES) >= 150
    assert len({repr(case) for case in CASES}) == len(CASES)
