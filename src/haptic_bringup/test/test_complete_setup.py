"""A run that needs more than the first setup installed completes the setup before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_bringup.complete_setup import complete_setup
from haptic_core.errors import HapticError

HERE = "haptic_bringup.runner"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment after the first run, whose `haptics` writes down how it is called."""
    monkeypatch.setenv("HAPTICS_ROS", "wheels")
    monkeypatch.setenv("HAPTICS_ACTIVE", str(tmp_path))
    monkeypatch.setenv("HAPTICS_ROOT", str(tmp_path))
    (tmp_path / "stamp").write_text("packages 00\nmessages 00\nlinks 00\n")
    write_haptics(tmp_path, 0)
    return tmp_path


def write_haptics(folder: Path, code: int) -> None:
    script = folder / "haptics"
    script.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\nexit {code}\n')
    script.chmod(0o755)


def calls(folder: Path) -> str:
    path = folder / "calls"
    return path.read_text() if path.exists() else ""


def require(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, requirement: str) -> None:
    """Installs the metadata of a ROS package."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    lines = ("Metadata-Version: 2.1", f"Name: {package}", "Version: 1.0", f"Requires-Dist: {requirement}")
    (metadata / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))


def test_run_of_what_is_installed_starts_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require(home, monkeypatch, "own_package", "numpy")
    complete_setup(["own_package", "package_without_metadata"], HERE)
    assert calls(home) == ""


def test_node_whose_requirement_is_missing_completes_the_setup(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require(home, monkeypatch, "own_package", "no_such_distribution")
    complete_setup(["own_package"], HERE)
    assert calls(home) == "setup\n"


def test_run_needs_no_tables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require(home, monkeypatch, "own_package", 'no_such_distribution; extra == "tables"')
    complete_setup(["own_package"], HERE)
    assert calls(home) == ""


def test_report_that_cannot_be_imported_completes_the_setup(home: Path) -> None:
    complete_setup([], "no_such_module")
    assert calls(home) == "setup\n"


def test_failed_setup_ends_the_run(home: Path) -> None:
    write_haptics(home, 1)
    with pytest.raises(HapticError, match="could not be completed"):
        complete_setup([], "no_such_module")


def test_complete_setup_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (home / "stamp").open("a") as stamp:
        stamp.write("rest 00\n")
    complete_setup([], "no_such_module")
    (home / "stamp").write_text("packages 00\n")
    monkeypatch.setenv("HAPTICS_ROS", "system")
    complete_setup([], "no_such_module")
    assert calls(home) == ""
