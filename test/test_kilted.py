"""The suite with the wheels of ROS 2 Kilted, in an environment of its own beside that of Jazzy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from haptic_files.yaml_documents import read_yaml

ROOT = Path(__file__).resolve().parents[1]
#: what the suite relies on in rclpy, DDS and the generated messages
TESTS = ("test_rclpy_parts.py", "test_rendering_node.py", "test_messages.py", "test_qos.py", "test_process.py")


def kilted(folder: Path, *arguments: str) -> str:
    """Runs the command line with Kilted in a folder; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment["HAPTICS_ROS"] = "kilted"
    done = subprocess.run([ROOT / "haptics", *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if "the packages could not be installed" in done.stderr:
        pytest.skip("the package registry does not give the wheels of Kilted")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_an_experiment_and_the_tests_of_the_nodes_run_with_kilted(tmp_path: Path) -> None:
    kilted(tmp_path, "run", "friction_impedance", "duration:=0.5")
    (run,) = tmp_path.glob("runs/*/run.yaml")
    assert read_yaml(run).value["versions"]["ros_distro"] == "kilted"
    passed = kilted(ROOT, "exec", "python", "-m", "pytest", "-q", *(f"src/haptic_core/test/{name}" for name in TESTS))
    assert " passed" in passed and " skipped" not in passed
