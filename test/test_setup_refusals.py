"""What setup refuses before anything is downloaded: paths, disks, compilers, a missing Python."""

from __future__ import annotations

import os
import re
from pathlib import Path

import machine
import pytest
from setup_checkout import Checkout, change


def problems(home: Path, ros: str = "wheels", disk: float = 0.0) -> dict[str, tuple[str, str]]:
    return {name: (problem, advice) for name, _, problem, advice in machine.checks(ros, home, disk) if problem}


def test_a_machine_that_has_all_is_accepted(tmp_path: Path) -> None:
    assert problems(tmp_path / "not" / "yet" / "there", disk=machine.DISK_FOR_RUNS) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space", "café", "quo'te", "dol$lar", "se;mi", "a:b", "tab\t"])
def test_a_path_that_the_build_cannot_use_is_refused(tmp_path: Path, name: str) -> None:
    problem, advice = problems(tmp_path / name)["environment"]
    assert re.search("cannot use the path .*, because of ", problem) and "HAPTICS_HOME" in advice


def test_a_full_disk_is_refused(tmp_path: Path) -> None:
    problem, advice = problems(tmp_path, disk=1e18)["disk space"]
    assert (
        re.search(r"GB of disk space are free in .*, 1000000000\.0 GB are needed", problem) and "HAPTICS_HOME" in advice
    )


def test_the_disk_is_checked_only_for_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DISK_FOR_SETUP", 1e18)
    assert "disk space" in str(machine.main("setup", "wheels", str(tmp_path), "packages", "messages"))
    assert machine.main("setup", "wheels", str(tmp_path), "messages") == 0


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert "cannot be written" in problems(tmp_path)["environment"][0]


def test_a_missing_or_broken_compiler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert problems(tmp_path)["C++ compiler"] == ("no C++ compiler", "apt install g++")
    (tmp_path / "g++").write_text("#!/bin/false")
    (tmp_path / "g++").chmod(0o755)
    assert "does not compile a trivial program" in problems(tmp_path)["C++ compiler"][0]


def test_the_script_refuses_before_it_makes_anything(checkout: Checkout) -> None:
    (checkout.programs / "c++").write_text("#!/bin/false")
    (checkout.programs / "c++").chmod(0o755)
    done = checkout("report")
    assert (done.returncode, done.stderr.count("\n")) == (1, 2) and "hint: apt install g++" in done.stderr
    assert not checkout.home.exists()


@pytest.mark.slow
def test_the_compiler_is_not_needed_where_nothing_is_compiled(checkout: Checkout) -> None:
    checkout("setup")
    (checkout.programs / "c++").write_text("#!/bin/false")
    (checkout.programs / "c++").chmod(0o755)
    change(checkout.root / "src/haptic_bringup/launch" / "new.launch.yaml")
    assert checkout("report").returncode == 7
    change(checkout.root / "src" / "messages" / "msg" / "State.msg")
    assert checkout("report").returncode == 1


@pytest.mark.slow
def test_a_path_with_a_space_is_refused_by_the_script(checkout: Checkout, tmp_path: Path) -> None:
    done = checkout("report", HAPTICS_HOME=str(tmp_path / "two words"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert "because of ' '" in done.stderr and not (tmp_path / "two words").exists()


def test_unusable_python_is_named(checkout: Checkout) -> None:
    done = checkout("report", HAPTICS_PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "/no/such/python does not run" in done.stderr
