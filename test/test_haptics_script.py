"""The `haptics` script: links, exec, broken environments, failures, interruption, two at once."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from machine_speed import limit
from setup_checkout import ALL, Checkout


@pytest.mark.slow
def test_script_works_through_a_link_from_another_directory(checkout: Checkout, tmp_path: Path) -> None:
    link, elsewhere = checkout.programs / "hap", tmp_path / "else where"
    elsewhere.mkdir()
    link.symlink_to(checkout.root / "haptics")
    done = subprocess.run(
        [str(link), "report", "../a b"],
        cwd=elsewhere,
        env=checkout.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"arguments ['report', '../a b'] in {elsewhere} root {checkout.root}\n"


@pytest.mark.slow
def test_exec_runs_a_command_in_the_environment(checkout: Checkout) -> None:
    show = 'echo "$HAPTICS_ROOT $ROS_AUTOMATIC_DISCOVERY_RANGE $_ROS_WHEELS_BOOTSTRAP_COMPLETE"; which python; exit 5'
    done = checkout("exec", "bash", "-c", show)
    assert done.returncode == 5
    assert done.stdout.splitlines() == [f"{checkout.root} LOCALHOST 1", f"{checkout.home}/env/bin/python"]
    chosen = checkout("exec", "printenv", "ROS_AUTOMATIC_DISCOVERY_RANGE", ROS_AUTOMATIC_DISCOVERY_RANGE="SUBNET")
    assert chosen.stdout == "SUBNET\n"
    assert checkout("exec").returncode == 2
    unknown = checkout("exec", "no-such-command")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (127, 1)


@pytest.mark.parametrize("command", ["setup", "doctor", "exec"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_the_script_needs_no_environment(checkout: Checkout, command: str, option: str) -> None:
    done = checkout(command, option)
    assert (done.returncode, done.stderr) == (0, "") and not checkout.home.exists()
    assert "./haptics doctor [--live]" in done.stdout and "HAPTICS_HOME" in done.stdout and "#" not in done.stdout


@pytest.mark.parametrize("words", [("--force",), ("--clean", "more"), ("more",)])
def test_setup_refuses_other_words(checkout: Checkout, words: tuple[str, ...]) -> None:
    done = checkout("setup", *words)
    assert (done.returncode, done.stdout) == (2, "") and not checkout.home.exists()
    assert done.stderr.splitlines()[0].endswith("setup takes only --clean")


@pytest.mark.slow
def test_a_call_inside_the_environment_keeps_it(checkout: Checkout) -> None:
    script = str(checkout.root / "haptics")
    inner = f"export PYTHONPATH=/overlay:$PYTHONPATH; exec {script} exec printenv PYTHONPATH"
    done = checkout("exec", "bash", "-c", inner)
    outer = checkout("exec", "printenv", "PYTHONPATH")
    assert done.stdout == f"/overlay:{outer.stdout}"


@pytest.mark.slow
def test_another_ros_distribution_is_left_with_a_warning(checkout: Checkout) -> None:
    done = checkout("exec", "printenv", "AMENT_PREFIX_PATH", ROS_DISTRO="humble", AMENT_PREFIX_PATH="/opt/ros/humble")
    assert "humble" not in done.stdout
    assert "warning: the sourced ROS distribution is humble" in done.stderr


@pytest.mark.slow
def test_a_broken_environment_is_an_error_of_one_line(checkout: Checkout) -> None:
    checkout("setup")
    (checkout.site_packages() / "known.py").unlink()
    done = checkout("report")
    assert done.returncode == 1
    assert done.stderr == "error: the environment is broken: No module named 'known'\n  hint: ./haptics setup --clean\n"
    assert checkout("setup", "--clean").returncode == 0
    assert checkout("report").returncode == 7


@pytest.mark.slow
def test_a_mistake_in_the_suite_s_own_code_is_no_broken_environment(checkout: Checkout) -> None:
    checkout("setup")
    (checkout.package / "cli.py").write_text("import haptic_bringup.missing")
    done = checkout("report")
    assert done.returncode == 1 and "broken" not in done.stderr
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'haptic_bringup.missing'"


@pytest.mark.slow
def test_failure_is_one_line_with_a_hint_and_is_tried_again(checkout: Checkout) -> None:
    done = checkout("report", BROKEN="colcon")
    assert done.returncode == 1
    assert "haptics: error: messages: fatal error: Python.h: No such file" in done.stderr
    assert "hint: apt install python3-dev" in done.stderr
    assert "Traceback" not in done.stderr
    checkout.made()
    assert checkout("report").returncode == 7
    assert checkout.made() == ["messages", "rest", "links"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_setup_ends_with_one_line_and_continues_later(checkout: Checkout, number: signal.Signals) -> None:
    command = [str(checkout.root / "haptics"), "report"]
    process = subprocess.Popen(
        command,
        env=checkout.variables(BROKEN="slow"),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell's background job ignores SIGINT
    )
    slow = checkout.home / "slow"
    deadline = time.monotonic() + limit(60)
    while not slow.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert slow.exists(), "the slow part did not start"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=limit(120))
    assert process.returncode == 128 + number
    assert complaint.splitlines()[-1] == "haptics: setup was interrupted; the next start continues it"
    checkout.made()
    assert checkout("report").returncode == 7
    assert checkout.made() == ALL


@pytest.mark.slow
def test_a_second_setup_waits_for_the_first(checkout: Checkout) -> None:
    command = [str(checkout.root / "haptics"), "exec", "true"]
    both = [
        subprocess.Popen(command, env=checkout.variables(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=limit(120))[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sum("setting up the environment" in text for text in said) == 1
