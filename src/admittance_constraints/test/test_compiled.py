"""The cache of compiled steps, and steps without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from admittance_constraints import Pendulum, ReferenceGenerator
from admittance_constraints.dynamics import compiled


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADMITTANCE_CONSTRAINTS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.slow
def test_a_mechanism_is_compiled_once_whatever_its_parameters(directory: Path) -> None:
    for length in (0.2, 0.3):
        for period in (1e-3, 2e-3):
            assert ReferenceGenerator(Pendulum(length=length), period=period, z=[0.1]).is_compiled
    assert len(list(directory.iterdir())) == 1
    ReferenceGenerator(Pendulum(), integrator="algorithm1", z=[0.1])
    assert len(list(directory.iterdir())) == 2


@pytest.mark.slow
def test_another_process_finds_it(directory: Path) -> None:
    ReferenceGenerator(Pendulum(), z=[0.1])
    library = next(directory.iterdir())
    written = library.stat().st_mtime_ns
    program = "from admittance_constraints import *; assert ReferenceGenerator(Pendulum(), z=[0.1]).is_compiled"
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))
    assert [path.name for path in directory.iterdir()] == [library.name]
    assert library.stat().st_mtime_ns == written


def test_without_a_compiler_the_virtual_machine_runs_with_a_warning(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = ReferenceGenerator(Pendulum(), z=[0.5])
    for compiler, message in (("no-such-compiler", "no C compiler found"), ("false", "false failed")):
        monkeypatch.setenv("CC", compiler)
        with pytest.warns(UserWarning, match=f"{message}.*virtual machine"):
            g = ReferenceGenerator(Pendulum(), z=[0.5])
        assert not g.is_compiled
        good.reset(z=[0.5])
        for _ in range(10):
            np.testing.assert_allclose(g.step(np.zeros(6)).z, good.step(np.zeros(6)).z, rtol=1e-14)


def test_a_failed_compilation_leaves_nothing_behind(directory: Path) -> None:
    with pytest.raises(compiled.NoCompilerError, match="error"):
        compiled.build_library("this is not C")
    assert list(directory.iterdir()) == []


def test_the_cache_may_be_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("ADMITTANCE_CONSTRAINTS_CACHE_DIR", str(blocked / "cache"))
    assert ReferenceGenerator(Pendulum(), z=[0.1]).is_compiled
