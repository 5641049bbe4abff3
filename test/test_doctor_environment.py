"""Doctor on the environment: missing, broken, unfinished, outdated; versions and the table."""

from __future__ import annotations

import re
from pathlib import Path

import machine
import pytest
from setup_checkout import Checkout, change

from haptic_bringup import doctor


def test_doctor_names_a_missing_environment(checkout: Checkout) -> None:
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +missing", done.stdout, re.MULTILINE)
    assert "./haptics setup" in done.stdout
    assert not checkout.home.exists()
    live = checkout("doctor", "--live")
    assert (live.returncode, live.stdout) == (1, "") and "hint: ./haptics setup" in live.stderr


@pytest.mark.slow
def test_doctor_names_a_broken_environment(checkout: Checkout) -> None:
    checkout("setup")
    interpreter = checkout.home / "env" / "bin" / "python"
    interpreter.unlink()
    interpreter.write_text("not a program")
    interpreter.chmod(0o755)
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +broken .*setup --clean$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_doctor_names_a_setup_that_has_not_finished(checkout: Checkout) -> None:
    checkout("setup", BROKEN="colcon")
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +broken +setup has not finished +./haptics setup$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_doctor_names_what_does_not_import_and_what_is_not_up_to_date(checkout: Checkout) -> None:
    checkout("setup")  # the stand-ins hold no rclpy
    change(checkout.root / "src/haptic_bringup/launch" / "new.launch.yaml")
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +ok +the next start brings up to date: links$", done.stdout, re.MULTILINE)
    assert re.search(r"^rclpy +broken +ModuleNotFoundError", done.stdout, re.MULTILINE)
    assert re.search(r"^launch_ros +optional", done.stdout, re.MULTILINE)


def test_programs_that_only_setup_needs_are_optional_in_a_current_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    states = [
        {name: state for name, state, *_ in machine.rows("wheels", tmp_path, current)} for current in (True, False)
    ]
    assert [state["C++ compiler"] for state in states] == ["optional", "missing"]


def test_versions_other_than_the_locked_ones_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPTICS_ROOT", str(tmp_path))
    monkeypatch.setenv("HAPTICS_ROS", "system")
    (tmp_path / "requirements").mkdir()
    lock = tmp_path / "requirements" / "suite.lock"
    lock.write_text(
        "pytest==1.0 \\\n    --hash=sha256:00\nabsent==2.0 ; python_version < '3' \\\n    --hash=sha256:00\n"
    )
    with pytest.raises(SystemExit, match=r"1 of 1 differ: pytest \S+ instead of 1\.0"):
        doctor.check_versions()


def test_a_setting_that_no_node_can_use_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "abc")
    state, problem, advice = doctor.examine(*doctor._SETTINGS)[1:]
    assert (state, problem) == ("broken", "ROS_DOMAIN_ID: expected 0 to 232, got 'abc'")
    assert "docs/troubleshooting.md" in advice
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert doctor.examine(*doctor._SETTINGS)[1] == "ok"


@pytest.mark.parametrize("words", [("--foo",), ("--live", "--foo")])
def test_doctor_refuses_other_options(checkout: Checkout, words: tuple[str, ...]) -> None:
    done = checkout("doctor", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0].endswith("doctor takes only --live")


def test_table_wraps_and_aligns(capsys: pytest.CaptureFixture[str]) -> None:
    assert machine.show([("one", "ok", "word " * 20, ""), ("another", "missing", "", "do something")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 150
    assert lines[-3].split() == ["another", "missing", "do", "something"]
    assert lines[-1] == "An experiment cannot run: another."
