"""Fixtures of the tests of launch files: an install prefix, and the evaluation of a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_texts import Launch, write

from haptic_launch.launch_file import ProcessSpec, load_launch_file


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An install prefix with the package `demo` and its executable `talker`."""
    root = tmp_path / "install"
    (root / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (root / "share/ament_index/resource_index/packages/demo").touch()
    (root / "share/demo").mkdir()
    (root / "share/demo/demo.yaml").write_text("/**:\n  ros__parameters:\n    rate: 1.5\n")
    (root / "lib/demo").mkdir(parents=True)
    (root / "lib/demo/talker").touch(mode=0o755)
    (root / "lib/demo/readme").touch(mode=0o644)
    return root


@pytest.fixture
def launch(tmp_path: Path, prefix: Path) -> Launch:
    """Evaluates a launch file given as the text below `launch:`."""

    def evaluate(text: str, arguments: dict[str, str] | None = None, **environment: str) -> list[ProcessSpec]:
        variables = {"AMENT_PREFIX_PATH": str(prefix), **environment}
        path = write(tmp_path / "main.launch.yaml", text)
        return load_launch_file(path).evaluate(
            arguments, environment=variables, parameter_directory=tmp_path / "parameters"
        )

    return evaluate
