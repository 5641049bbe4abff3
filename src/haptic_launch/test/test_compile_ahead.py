"""Programs that compile beside the nodes of a first run: which packages have one, and when it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from haptic_launch.compile_ahead import compiling_ahead

_PROGRAM = """
import os, pathlib, time
if __name__ == "__main__":
    pathlib.Path(os.environ["COMPILED"]).write_text(f"{os.getpid()}\\n")
    time.sleep(3600.0)
"""


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File that the program of the package `slow_kernels` writes; the package `plain` has no such program."""
    for package in ("slow_kernels", "plain"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "slow_kernels" / "compile_ahead.py").write_text(_PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("COMPILED", str(tmp_path / "compiled"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    return tmp_path / "compiled"


def _wait_for_line(path: Path) -> str:
    while not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.01)
    return path.read_text()


def test_a_package_s_program_runs_beside_the_nodes_and_ends_with_them(compiled: Path) -> None:
    with compiling_ahead({"plain", "slow_kernels", "not_installed"}):
        process = int(_wait_for_line(compiled))
        assert Path(f"/proc/{process}").exists()
    assert not Path(f"/proc/{process}").exists()


def test_on_one_core_nothing_runs_beside_the_nodes(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr("subprocess.Popen", lambda *arguments, **options: pytest.fail("a program was started"))
    with compiling_ahead({"slow_kernels"}):
        pass
