"""Setup, the `haptics` script and doctor. Nothing is installed: the script runs with stages that only pretend."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from haptic_bringup import doctor, environment
from haptic_bringup.environment import Workspace

SOURCE = Path(environment.__file__).resolve().parent
ROOT = SOURCE.parents[2]

# Stages that take no time and note that they ran, put into a copy of environment.py.
PRETENDED = """
def note(workspace, name):
    with (workspace.home / "made").open("a") as stream:
        stream.write(name + "\\n")
    if name == os.environ.get("SLOW_STAGE"):
        run(["sleep", "60"], workspace.log / "slow.log", clean_variables(), print, "it was slow")
    if name == os.environ.get("FAILING_STAGE"):
        command = ["sh", "-c", "echo fatal error: Python.h: No such file; exit 3"]
        run(command, workspace.log / "failing.log", clean_variables(), print, "it does not work")

def make_venv(workspace, show):
    remove(workspace.env)
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(workspace.env)], check=True)
    note(workspace, "venv")

def install_packages(workspace, show):
    note(workspace, "install")
    modules = workspace.site_packages(workspace.env)
    (modules / "known.py").write_text("")
    (modules / "known-1.0.dist-info").mkdir(exist_ok=True)
    (modules / "known-1.0.dist-info" / "RECORD").write_text("known.py,,\\n../../../bin/known,,\\n")

def repair_wheels(workspace, show):
    note(workspace, "repair")

def run_colcon(workspace, names, show):
    note(workspace, "build " + " ".join(names))
    for name in names:
        (workspace.build / name).mkdir(parents=True, exist_ok=True)
        (workspace.install / "share" / name).mkdir(parents=True, exist_ok=True)
        for item in (name, "setup.py"):
            link = workspace.build / name / item
            if (packages(workspace)[name] / item).exists() and not link.exists():
                link.symlink_to(packages(workspace)[name] / item)

"""

COMMAND_LINE = """
import os, sys
import known
def main():
    print("arguments", sys.argv[1:], "in", os.getcwd(), "root", os.environ["HAPTICS_ROOT"])
    return 7
"""

MAIN = """
import sys
from haptic_bringup.environment import import_or_repair
sys.exit(import_or_repair("haptic_bringup.cli").main())
"""


class Checkout:
    """A copy of the script with a small workspace, whose environment is made by pretended stages."""

    def __init__(self, place: Path) -> None:
        self.root = place / "checkout"
        self.home = place / "home"
        self.package = self.root / "src" / "haptic_bringup" / "haptic_bringup"
        write_package(self.root, "haptic_bringup")
        write_package(self.root, "messages", cmake=True)
        guard = 'if __name__ == "__main__":'
        text = (SOURCE / "environment.py").read_text()
        assert text.count(guard) == 1
        (self.package / "environment.py").write_text(text.replace(guard, PRETENDED + guard))
        (self.package / "doctor.py").write_text((SOURCE / "doctor.py").read_text())
        (self.package / "__main__.py").write_text(MAIN)
        (self.package / "cli.py").write_text(COMMAND_LINE)
        shutil.copy(ROOT / "haptics", self.root / "haptics")

    def variables(self, **more: str) -> dict[str, str]:
        """The variables of a shell that knows nothing of any environment."""
        return {
            "PATH": os.defpath,
            "HOME": str(self.home.parent),
            "HAPTICS_HOME": str(self.home),
            "HAPTICS_PYTHON": os.path.realpath(sys.executable),
            **more,
        }

    def __call__(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs the script."""
        command = [str(self.root / "haptics"), *arguments]
        return subprocess.run(
            command, cwd=cwd, env=self.variables(**more), capture_output=True, text=True, check=False, timeout=60
        )

    def made(self) -> list[str]:
        """The stages made since the last call."""
        note = self.home / "made"
        lines = note.read_text().splitlines() if note.exists() else []
        note.unlink(missing_ok=True)
        return lines


def write_package(root: Path, name: str, cmake: bool = False) -> Path:
    directory = root / "src" / name
    (directory / name).mkdir(parents=True)
    (directory / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (directory / name / "__init__.py").write_text("")
    (directory / name / "table.yaml").write_text("")
    if cmake:
        (directory / "CMakeLists.txt").write_text("")
        (directory / "msg").mkdir()
        (directory / "msg" / "State.msg").write_text("float64 force\n")
    else:
        (directory / "setup.py").write_text("")
    requirements = root / "requirements"
    requirements.mkdir(exist_ok=True)
    for lock in ("suite.lock", "ros.lock"):
        (requirements / lock).write_text("known==1.0 ; python_version >= '3'\n    # via nothing\n")
    for folder in ("launch", "config"):
        (root / folder).mkdir(exist_ok=True)
    return directory


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    write_package(tmp_path / "checkout", "haptic_bringup")
    write_package(tmp_path / "checkout", "messages", cmake=True)
    (tmp_path / "home" / "stages").mkdir(parents=True)
    return Workspace(tmp_path / "checkout", tmp_path / "home")


# Changes below a checkout, and the packages to build after each.
CHANGES = {
    "src/messages/msg/State.msg": ["messages"],
    "src/messages/msg/New.msg": ["messages"],
    "src/messages/package.xml": ["messages"],
    "src/messages/CMakeLists.txt": ["messages"],
    "src/haptic_bringup/setup.py": ["haptic_bringup"],
    "src/haptic_bringup/setup.cfg": ["haptic_bringup"],
    "src/haptic_bringup/haptic_bringup/new.yaml": ["haptic_bringup"],
    "launch/new.launch.yaml": ["haptic_bringup"],
    "config/experiments/new.yaml": ["haptic_bringup"],
    "src/haptic_bringup/haptic_bringup/__init__.py": [],
    "src/haptic_bringup/haptic_bringup/new.py": [],
    "src/haptic_bringup/haptic_bringup/table.yaml": [],
    "src/haptic_bringup/haptic_bringup/__pycache__/new.pyc": [],
    "src/haptic_bringup/test/test_new.py": [],
    "launch/.new.launch.yaml.swp": [],
}


def change(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    path.write_text(f"{text}<!-- -->" if path.name == "package.xml" else f"{text}# changed\n")


# --- fingerprints, repair, stages --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGES)
def test_fingerprints_change_with_what_the_build_reads(workspace: Workspace, name: str) -> None:
    def fingerprints() -> dict[str, str]:
        places = environment.packages(workspace)
        return {package: environment.package_fingerprint(workspace, path) for package, path in places.items()}

    before = fingerprints()
    change(workspace.root / name)
    after = fingerprints()
    assert [package for package in before if before[package] != after[package]] == CHANGES[name]


def test_lock_changes_the_packages_and_not_the_virtual_environment(workspace: Workspace) -> None:
    before = [stage.inputs(workspace) for stage in environment.stages(workspace)]
    change(workspace.root / "requirements" / "ros.lock")
    after = [stage.inputs(workspace) for stage in environment.stages(workspace)]
    changed = [old != new for old, new in zip(before, after, strict=True)]
    assert changed == [False, True, True, True, True]


def test_ros_installation_needs_no_wheels(workspace: Workspace) -> None:
    system = Workspace(workspace.root, workspace.home, "system", "/opt/ros/jazzy")
    assert [lock.name for lock in system.locks] == ["suite.lock"]
    assert "repair" not in [stage.name for stage in environment.stages(system)]
    other = Workspace(workspace.root, workspace.home, "system", "/overlay:/opt/ros/jazzy")
    assert environment.build_inputs(system) != environment.build_inputs(other)


@pytest.mark.parametrize("tag, version", [("cp310-cp310", "3.10"), ("cp312-cp312", "3.12"), ("cp314-cp314t", "3.14t")])
def test_repair_replaces_the_build_machines_paths(tag: str, version: str) -> None:
    text = (
        "  INTERFACE_INCLUDE_DIRECTORIES "
        f'"${{_IMPORT_PREFIX}}/include/a;/opt/python/{tag}/include/python{version};'
        f'/opt/python/{tag}/lib/python{version}/site-packages/numpy/_core/include"\n'
    )
    expected = '  INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/a;/here/include;/here/numpy"\n'
    better = environment.repaired(text, "/here/include", "/here/numpy")
    assert better == expected
    assert environment.repaired(better, "/here/include", "/here/numpy") == expected


def test_an_interrupted_stage_is_made_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    broken = {"repair_wheels"}

    def pretend(name: str) -> None:
        def make(*_: object) -> None:
            made.append(name)
            if name in broken:
                raise KeyboardInterrupt

        monkeypatch.setattr(environment, name, make)

    for stage in environment.STAGES:
        pretend(stage.make)
    monkeypatch.setattr(environment, "check_machine", lambda *_: None)
    monkeypatch.setattr(environment, "forget_damaged", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        environment.bring_up_to_date(workspace)
    assert made == ["make_venv", "install_packages", "repair_wheels"]
    made.clear()
    broken.clear()
    environment.bring_up_to_date(workspace)
    assert made == ["repair_wheels", "build_workspace", "write_environment"]
    made.clear()
    environment.bring_up_to_date(workspace)
    assert made == []


def test_a_changed_package_is_built_alone_and_a_changed_lock_builds_all(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[str]] = []

    def colcon(_: Workspace, names: list[str], show: object) -> None:
        built.append(names)
        for name in names:
            (workspace.build / name).mkdir(exist_ok=True)

    monkeypatch.setattr(environment, "run_colcon", colcon)
    environment.build_workspace(workspace, print)
    change(workspace.root / "launch" / "new.launch.yaml")
    environment.build_workspace(workspace, print)
    change(workspace.root / "requirements" / "suite.lock")
    environment.build_workspace(workspace, print)
    assert built == [["haptic_bringup", "messages"], ["haptic_bringup"], ["haptic_bringup", "messages"]]


def test_only_missing_parts_of_the_environment_ask_for_repair(tmp_path: Path) -> None:
    parts = ["env/lib/python3.11/site-packages/yaml", "env/lib/python3.11/site-packages/x.so", "install/share/messages"]
    (tmp_path / "contents").write_text("".join(f"{tmp_path}/{part}\n" for part in parts))

    def asks(error: ImportError) -> bool:
        return environment.provided_by_setup(error, tmp_path)

    assert asks(ModuleNotFoundError("No module named 'yaml'", name="yaml"))
    assert asks(ImportError("cannot import name", name="yaml.loader"))
    assert asks(ImportError("libfastrtps.so: cannot open shared object file"))
    assert asks(ModuleNotFoundError("No module named 'messages'", name="messages"))
    assert not asks(ImportError("cannot import name", name="messages.typing_error"))
    assert not asks(ModuleNotFoundError("No module named 'yalm'", name="yalm"))


@pytest.mark.parametrize("lock", ["suite.lock", "ros.lock"])
def test_locks_pin_exact_versions_and_name_no_host(lock: str) -> None:
    path = ROOT / "requirements" / lock
    assert all(re.match(r"[a-z0-9-]+==[0-9][^\s;]*( ; .+)?$", line) for line in environment.pinned([path]))
    assert not re.search(r"://|--index|--find-links|file:", path.read_text())


# --- the script --------------------------------------------------------------------------------------------


def test_first_start_sets_up_and_the_second_does_not(checkout: Checkout) -> None:
    first = checkout("run", "x")
    assert (first.returncode, "arguments ['run', 'x']" in first.stdout) == (7, True), first.stderr
    assert checkout.made() == ["venv", "install", "repair", "build haptic_bringup messages"]
    second = checkout("run", "x")
    assert (second.returncode, second.stdout, second.stderr) == (7, first.stdout, "")
    assert checkout.made() == []


def test_script_builds_what_changed(checkout: Checkout) -> None:
    checkout("setup")
    for name, packages in CHANGES.items():
        checkout.made()
        change(checkout.root / name)
        assert checkout("exec", "true").returncode == 0
        assert (name, checkout.made()) == (name, [f"build {package}" for package in packages])


def test_script_works_through_a_link_from_another_directory(checkout: Checkout, tmp_path: Path) -> None:
    link, elsewhere = tmp_path / "programs" / "hap", tmp_path / "else where"
    link.parent.mkdir()
    elsewhere.mkdir()
    link.symlink_to(checkout.root / "haptics")
    done = subprocess.run(
        [str(link), "run", "../a b"],
        cwd=elsewhere,
        env=checkout.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"arguments ['run', '../a b'] in {elsewhere} root {checkout.root}\n"


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


def test_a_call_inside_the_environment_keeps_it(checkout: Checkout) -> None:
    script = str(checkout.root / "haptics")
    inner = f"export PYTHONPATH=/overlay:$PYTHONPATH; exec {script} exec printenv PYTHONPATH"
    done = checkout("exec", "bash", "-c", inner)
    outer = checkout("exec", "printenv", "PYTHONPATH")
    assert done.stdout == f"/overlay:{outer.stdout}"


def test_another_ros_distribution_is_left_with_a_warning(checkout: Checkout) -> None:
    done = checkout("exec", "printenv", "AMENT_PREFIX_PATH", ROS_DISTRO="humble", AMENT_PREFIX_PATH="/opt/ros/humble")
    assert "humble" not in done.stdout
    assert "warning: the sourced ROS distribution is humble" in done.stderr


def test_a_removed_module_is_installed_again(checkout: Checkout) -> None:
    checkout("setup")
    checkout.made()
    next(checkout.home.glob("env/lib/python3*/site-packages/known.py")).unlink()
    assert checkout("run").returncode == 7
    assert checkout.made() == ["venv", "install", "repair"]


def test_a_removed_build_is_built_again(checkout: Checkout) -> None:
    checkout("setup")
    checkout.made()
    shutil.rmtree(checkout.home / "install")
    assert checkout("run").returncode == 7
    assert checkout.made() == ["build haptic_bringup messages"]


def test_a_broken_module_makes_the_environment_anew_once(checkout: Checkout) -> None:
    checkout("setup")
    checkout.made()
    module = next(checkout.home.glob("env/lib/python3*/site-packages/known.py"))
    module.write_text("raise ImportError('half of it is missing', name='known')")
    done = checkout("run")
    assert (done.returncode, "Traceback" in done.stderr) == (7, False), done.stderr
    assert checkout.made()[0] == "venv"
    (checkout.package / "cli.py").write_text("raise ImportError('it stays broken', name='known')")
    done = checkout("run")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert done.stderr.splitlines()[-2].endswith("it stays broken")
    assert checkout.made().count("venv") == 1


def test_a_python_that_is_gone_is_replaced(checkout: Checkout) -> None:
    checkout("setup")
    checkout.made()
    interpreter = checkout.home / "env" / "bin" / "python"
    interpreter.unlink()
    interpreter.symlink_to("/no/such/python")
    assert checkout("run").returncode == 7
    assert checkout.made()[0] == "venv"


def test_failure_is_one_line_with_a_hint_and_is_tried_again(checkout: Checkout) -> None:
    done = checkout("run", FAILING_STAGE="install")
    assert done.returncode == 1
    assert "haptics: error: it does not work" in done.stderr
    assert "hint: apt install python3-dev" in done.stderr
    assert "Traceback" not in done.stderr
    checkout.made()
    assert checkout("run").returncode == 7
    assert checkout.made()[0] == "install"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_setup_ends_with_one_line_and_continues_later(checkout: Checkout, number: signal.Signals) -> None:
    command = [str(checkout.root / "haptics"), "run"]
    process = subprocess.Popen(
        command,
        env=checkout.variables(SLOW_STAGE="install"),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell's background job ignores SIGINT
    )
    slow = checkout.home / "log" / "slow.log"
    deadline = time.monotonic() + 30
    while not slow.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert slow.exists(), "the slow stage did not start"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert complaint.splitlines()[-1] == "haptics: setup was interrupted; the next start continues it"
    checkout.made()
    assert checkout("run").returncode == 7
    assert checkout.made()[0] == "install"


def test_a_second_setup_waits_for_the_first(checkout: Checkout) -> None:
    command = [str(checkout.root / "haptics"), "exec", "true"]
    both = [
        subprocess.Popen(command, env=checkout.variables(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert checkout.made() == ["venv", "install", "repair", "build haptic_bringup messages"]


def test_unusable_python_is_named(checkout: Checkout) -> None:
    done = checkout("run", HAPTICS_PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "/no/such/python does not run" in done.stderr


# --- doctor ------------------------------------------------------------------------------------------------


def test_doctor_names_a_missing_environment(checkout: Checkout) -> None:
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +missing", done.stdout, re.MULTILINE)
    assert "./haptics setup" in done.stdout
    assert checkout.made() == []


def test_doctor_names_a_broken_environment(checkout: Checkout) -> None:
    checkout("setup")
    interpreter = checkout.home / "env" / "bin" / "python"
    interpreter.unlink()
    interpreter.write_text("not a program")
    interpreter.chmod(0o755)
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +broken", done.stdout, re.MULTILINE)


def test_doctor_names_what_does_not_import(checkout: Checkout) -> None:
    checkout("setup")  # the pretended environment holds no rclpy
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +ok", done.stdout, re.MULTILINE)
    assert re.search(r"^rclpy +broken +ModuleNotFoundError", done.stdout, re.MULTILINE)
    assert re.search(r"^launch_ros +optional", done.stdout, re.MULTILINE)


def test_table_wraps_and_aligns() -> None:
    rows = [doctor.Row("one", "ok", "word " * 20), doctor.Row("another", "missing", "", "do something")]
    lines = doctor.table(rows, 80, colour=False).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["another", "missing", "do", "something"]
