"""Parts of the environment: which are made at first, and which are made again after a change.

Nothing is downloaded: uv, colcon and the packages are small stand-ins.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from setup_checkout import ALL, UV, Checkout, change

# Changes below a checkout, and the parts to be made after each.
CHANGES = {
    "src/messages/msg/State.msg": ["messages"],
    "src/messages/msg/New.msg": ["messages"],
    "src/messages/package.xml": ["messages"],
    "src/messages/CMakeLists.txt": ["messages"],
    "src/convex_contact_native/src/shapes.cpp": ["rest"],
    "src/haptic_bringup/setup.py": ["links"],
    "src/haptic_bringup/pyproject.toml": ["links"],
    "src/haptic_bringup/setup.cfg": ["links"],
    "src/haptic_bringup/package.xml": ["links"],
    "src/haptic_bringup/haptic_bringup/new.yaml": ["links"],
    "src/haptic_bringup/launch/new.launch.yaml": ["links"],
    "src/haptic_bringup/config/new/experiment.yaml": ["links"],
    "requirements/suite.lock": ALL,
    "src/haptic_bringup/haptic_bringup/__init__.py": [],
    "src/haptic_bringup/haptic_bringup/new.py": [],
    "src/haptic_bringup/haptic_bringup/table.yaml": [],
    "src/haptic_bringup/haptic_bringup/__pycache__/new.pyc": [],
    "src/haptic_bringup/test/test_new.py": [],
    "src/haptic_bringup/launch/.new.launch.yaml.swp": [],
}


@pytest.mark.slow
def test_first_start_sets_up_and_the_second_does_not(checkout: Checkout) -> None:
    first = checkout("report", "x")
    assert (first.returncode, "arguments ['report', 'x']" in first.stdout) == (7, True), first.stderr
    assert re.search(r"home: 530 MB of downloads, 1800 MB of disk, at least \d+ s", first.stderr)
    assert checkout.made() == ALL
    second = checkout("report", "x")
    assert (second.returncode, second.stdout, second.stderr) == (7, first.stdout, "")
    assert checkout.made() == []


@pytest.mark.slow
def test_a_terminal_shows_time_expected_time_and_the_last_line_of_the_output(checkout: Checkout) -> None:
    """The program that installs waits until the terminal has shown what it said last."""
    waits = 'echo installs; while [ ! -e "$HAPTICS_HOME/seen" ]; do sleep 0.05; done; touch'
    (checkout.programs / "uv").write_text(UV.replace("touch", waits, 2))
    ours, theirs = pty.openpty()
    command = [str(checkout.root / "haptics"), "report"]
    shown = ""
    with subprocess.Popen(command, env=checkout.variables(), stderr=theirs) as setup:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the last program that had the terminal has ended
            while part := os.read(ours, 100_000):
                shown += part.decode()
                if re.search(r"\r\x1b\[K  packages  \d+ of about \d+ s  installs", shown):
                    (checkout.home / "seen").touch()
    os.close(ours)
    assert (setup.returncode, checkout.made()) == (7, ALL)
    assert (checkout.home / "seen").exists()
    assert re.search(r"\r\x1b\[K  packages  \d+ s\r\n", shown)


@pytest.mark.slow
def test_script_builds_what_changed(checkout: Checkout) -> None:
    checkout("setup")
    for name, parts in CHANGES.items():
        checkout.made()
        change(checkout.root / name)
        done = checkout("exec", "true")
        assert (name, done.returncode, checkout.made()) == (name, 0, parts), done.stderr


@pytest.mark.slow
def test_another_python_or_another_place_makes_everything_anew(checkout: Checkout, tmp_path: Path) -> None:
    checkout("setup")
    checkout.made()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {os.path.realpath(sys.executable)} "$@"\n')
    python.chmod(0o755)
    checkout("setup", HAPTICS_PYTHON=str(python))
    assert checkout.made() == []  # the same one
    (checkout.home / "env/bin/python").unlink()
    (checkout.home / "env/bin/python").symlink_to("/no/such/python")
    assert checkout("report", HAPTICS_PYTHON="").returncode == 7
    assert checkout.made() == ALL
    checkout.root = checkout.root.rename(tmp_path / "moved")
    assert checkout("report").returncode == 7
    assert checkout.made() == ALL


@pytest.mark.slow
def test_a_first_run_leaves_the_rest_to_the_next_command(checkout: Checkout) -> None:
    checkout("run", "anything")
    assert checkout.made() == ["packages", "messages", "links"]
    checkout("run", "anything")
    assert checkout.made() == []
    checkout("exec", "true")
    assert checkout.made() == ["rest"]
    checkout("exec", "true")
    assert checkout.made() == []


@pytest.mark.slow
def test_a_ros_installation_needs_no_wheels_and_colcon_builds_all(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "ros/lib/python3.12/site-packages/rclpy").mkdir(parents=True)
    (tmp_path / "ros/lib/python3.12/site-packages/rclpy/__init__.py").touch()
    sourced = {
        "ROS_DISTRO": "jazzy",
        "PYTHONPATH": f"{tmp_path}/ros/lib/python3.12/site-packages",
        "SUBFOLDER": "/system",
    }
    show = 'echo "$HAPTICS_ROS $AMENT_PREFIX_PATH"'
    done = checkout("exec", "bash", "-c", show, AMENT_PREFIX_PATH=f"{tmp_path}/ros", **sourced)
    home = checkout.home / "system"
    assert done.stdout == f"system {home}/install:{tmp_path}/ros\n", done.stderr
    built = (home / "log" / "messages.log").read_text()
    assert all(
        f"{checkout.root}/src/{name}" in built for name in ("convex_contact_native", "haptic_bringup", "messages")
    )
    arguments = (checkout.home / "uv_arguments").read_text()
    assert "suite.lock" in arguments and "ros.lock" not in arguments
    assert checkout.made("system") == ["packages", "messages"]
    checkout("exec", "true", AMENT_PREFIX_PATH=f"/overlay:{tmp_path}/ros", **sourced)
    assert checkout.made("system") == ["packages", "messages"]
    own = checkout(
        "exec", "bash", "-c", show, AMENT_PREFIX_PATH=f"{tmp_path}/ros", HAPTICS_ROS="wheels", ROS_DISTRO="jazzy"
    )
    assert own.stdout == f"wheels {checkout.home}/install:{checkout.home}/env\n"


@pytest.mark.slow
def test_the_paths_of_the_machine_that_built_the_wheels_are_replaced(checkout: Checkout) -> None:
    checkout("setup")
    include = sysconfig.get_paths()["include"]
    numpy = checkout.site_packages() / "numpy" / "_core" / "include"
    assert (checkout.home / "env/share/some/some.cmake").read_text() == f"{include};{numpy};rt\n"
