"""Old import paths of haptic_bringup give the modules themselves, with a warning that names the new path."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from haptic_bringup.moved import MOVED, new_path
from haptic_launch.launch_file import find_executable

#: modules of which only the package is in the table
INNER = [
    *("viewer.node", "viewer.page", "viewer.attach", "fuzz.messages", "fuzz.readers", "studies.grasp"),
    *("reports.rolling_disk", "reports.cobot_guided_tool", "reports.joystick_stick_slip"),
]


#: all of them; ros_launch can only be imported where launch_ros is installed
OLD = [name for name in [*MOVED, *INNER] if name != "ros_launch" or find_spec("launch_ros")]


@pytest.mark.parametrize("old", OLD)
def test_an_old_path_is_the_module_of_the_new_one(old: str) -> None:
    full = f"haptic_bringup.{old}"
    new = new_path(full)
    assert new is not None and not new.startswith("haptic_bringup")
    spec = import_module(new).__spec__
    sys.modules.pop(full, None)
    divided = any(name.startswith(f"{old}.") for name in MOVED)
    with pytest.warns(DeprecationWarning, match=rf"{full} has moved to {new}$") as warned:
        module = import_module(full)
    if divided:
        assert module.__name__ == full
    else:
        assert module is import_module(new) and module.__spec__ is spec and module.__name__ == new
    assert all("importlib" in warning.filename or warning.filename == __file__ for warning in warned)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_statements_work() -> None:
    for name in [name for name in sys.modules if name.startswith(("haptic_bringup.reports", "haptic_bringup.viewer"))]:
        del sys.modules[name]
    from haptic_bringup import bags, reports, viewer
    from haptic_bringup.replay import check_overrides
    from haptic_bringup.report import Claim, Report, ResultTable
    from haptic_bringup.reports import contact, falling_sphere
    from haptic_bringup.reports.display import DisplayRun
    from haptic_bringup.runner import MissingProgramError, UsageError, run_facts

    assert bags.Bag.__module__ == "haptic_bags.bags" and viewer.__name__ == "haptic_viewer"
    assert reports.falling_sphere is falling_sphere and not hasattr(reports, "nothing")
    assert all((contact.ContactRun, DisplayRun, Claim, Report, ResultTable, MissingProgramError, run_facts))
    assert {check_overrides.__module__, UsageError.__module__} == {"haptic_bags.replay", "haptic_launch.runner"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["nothing", "viewer.nothing", "reports.nothing", "runner.nothing"])
def test_module_that_never_existed_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"^No module named 'haptic_bringup\.{name}'"):
        import_module(f"haptic_bringup.{name}")


def test_names_that_have_moved_warn() -> None:
    from haptic_bringup import replay, runner

    with pytest.warns(DeprecationWarning, match=r"runner\.git_state has moved; use haptic_launch\.runner\.git_state$"):
        assert runner.git_state
    with pytest.warns(DeprecationWarning, match=r"has moved; use haptic_bags\.replay\.reachable_arguments$"):
        assert replay.reachable_arguments
    with pytest.raises(AttributeError, match=r"^module 'haptic_bringup.runner' has no attribute 'nothing'$"):
        runner.nothing  # noqa: B018


@pytest.mark.slow
def test_an_old_module_runs_as_a_program() -> None:
    command = [sys.executable, "-W", "always", "-m", "haptic_bringup.identification", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "haptic_bringup.identification has moved to haptic_experiments.identification" in done.stderr


@pytest.mark.parametrize("executable", ["recorder", "player", "viewer"])
def test_launch_files_find_the_nodes_under_their_old_package(executable: str) -> None:
    assert find_executable("haptic_bringup", executable)
    assert find_executable("haptic_viewer" if executable == "viewer" else "haptic_bags", executable)
