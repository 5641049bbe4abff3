"""Setup, the `haptics` script and doctor. Nothing is installed: the script runs with stages that only pretend."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import doctor
import environment
import machine
import pytest
from environment import Workspace
from machine_speed import limit

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tools" / "setup"

# Stages that take no time and note that they ran, put into a copy of environment.py.
PRETENDED = """
def note(workspace, name):
    with (workspace.home / "made").open("a") as stream:
        stream.write(name + "\\n")
    if name == os.environ.get("SLOW_STAGE"):
        run(["sleep", "60"], workspace.log / "slow.log", variables(), print, "it was slow")
    if name == os.environ.get("FAILING_STAGE"):
        command = ["sh", "-c", "echo fatal error: Python.h: No such file; exit 3"]
        run(command, workspace.log / "failing.log", variables(), print, "it does not work")

def install_packages(workspace, show):
    remove(workspace.env)
    command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(workspace.env)]
    run(command, workspace.log / "venv.log", variables(), show, "no environment")
    note(workspace, "packages")
    (workspace.site_packages(workspace.env) / "known.py").write_text("")

def build_workspace(workspace, show):
    note(workspace, "build")

def build_contact(workspace, show):
    note(workspace, "contact")

def link_packages(workspace, show):
    note(workspace, "link")
    modules = workspace.site_packages(workspace.install)
    modules.mkdir(parents=True, exist_ok=True)
    for package in workspace.linked:
        link = modules / package.name
        link.unlink(missing_ok=True)
        link.symlink_to(package / package.name)

"""

COMMAND_LINE = """
import os, sys
import known
def main():
    print("arguments", sys.argv[1:], "in", os.getcwd(), "root", os.environ["HAPTICS_ROOT"])
    sys.exit(7)
"""

STAGES = ["packages", "build", "contact", "link"]


class Checkout:
    """A copy of the script with a small workspace, whose environment is made by pretended stages."""

    def __init__(self, place: Path) -> None:
        self.root = place / "checkout"
        self.home = place / "home"
        self.package = self.root / "src" / "haptic_bringup" / "haptic_bringup"
        self.tools = self.root / "tools" / "setup"
        write_package(self.root, "haptic_bringup")
        write_package(self.root, "messages", cmake=True)
        write_package(self.root, "convex_contact_native", cmake=True)
        guard = 'if __name__ == "__main__":'
        shutil.copytree(SOURCE, self.tools, ignore=shutil.ignore_patterns("__pycache__"))
        text = (SOURCE / "environment.py").read_text()
        assert text.count(guard) == 1
        (self.tools / "environment.py").write_text(text.replace(guard, PRETENDED + guard))
        shutil.copy(ROOT / "src" / "haptic_bringup" / "haptic_bringup" / "__main__.py", self.package)
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
            command, cwd=cwd, env=self.variables(**more), capture_output=True, text=True, timeout=limit(120)
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
        for folder in ("launch", "config"):
            (directory / folder).symlink_to(root / folder)
    requirements = root / "requirements"
    requirements.mkdir(exist_ok=True)
    for lock in ("suite.lock", "ros.lock"):
        (requirements / lock).write_text(
            "known==1.0 ; python_version >= '3' \\\n    --hash=sha256:00\n    # via nothing\n"
        )
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
    write_package(tmp_path / "checkout", "convex_contact_native", cmake=True)
    (tmp_path / "home" / "stages").mkdir(parents=True)
    return Workspace(tmp_path / "checkout", tmp_path / "home")


# Changes below a checkout, and the stages to be made after each.
CHANGES = {
    "src/messages/msg/State.msg": ["build", "contact", "link"],
    "src/messages/msg/New.msg": ["build", "contact", "link"],
    "src/messages/package.xml": ["build", "contact", "link"],
    "src/messages/CMakeLists.txt": ["build", "contact", "link"],
    "src/convex_contact_native/src/shapes.cpp": ["contact"],
    "src/haptic_bringup/setup.py": ["link"],
    "src/haptic_bringup/setup.cfg": ["link"],
    "src/haptic_bringup/haptic_bringup/new.yaml": ["link"],
    "launch/new.launch.yaml": ["link"],
    "config/new/experiment.yaml": ["link"],
    "requirements/suite.lock": STAGES,
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
        return {stage.name: stage.inputs(workspace) for stage in environment.stages(workspace) if stage.name in STAGES}

    before = fingerprints()
    change(workspace.root / name)
    after = fingerprints()
    assert [stage for stage in before if before[stage] != after[stage]] == CHANGES[name]


def test_a_ros_installation_needs_no_wheels_and_colcon_builds_all(workspace: Workspace) -> None:
    system = Workspace(workspace.root, workspace.home, "system", "/opt/ros/jazzy")
    assert [lock.name for lock in system.locks] == ["suite.lock"]
    assert [path.name for path in system.compiled] == ["convex_contact_native", "haptic_bringup", "messages"]
    assert "link" not in [stage.name for stage in environment.stages(system)]
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
    broken = {"build_workspace"}

    def pretend(name: str) -> None:
        def make(*_: object) -> None:
            made.append(name)
            if name in broken:
                raise KeyboardInterrupt

        monkeypatch.setattr(environment, name, make)

    for stage in environment.STAGES:
        pretend(stage.make)
    with pytest.raises(KeyboardInterrupt):
        environment.bring_up_to_date(workspace)
    assert made == ["install_packages", "build_workspace"]
    made.clear()
    broken.clear()
    environment.bring_up_to_date(workspace)
    assert made == ["build_workspace", "build_contact", "link_packages", "write_environment"]
    made.clear()
    environment.bring_up_to_date(workspace)
    assert made == []


def test_a_first_run_leaves_the_contact_geometry_to_the_next_command(checkout: Checkout) -> None:
    checkout("run", "anything")
    assert checkout.made() == ["packages", "build", "link"]
    checkout("run", "anything")
    assert checkout.made() == []
    checkout("exec", "true")
    assert checkout.made() == ["contact", "link"]
    checkout("exec", "true")
    assert checkout.made() == []


def test_the_contact_geometry_does_not_outlive_the_prefix_that_holds_it(checkout: Checkout) -> None:
    checkout("exec", "true")
    change(checkout.root / "src" / "messages" / "CMakeLists.txt")
    checkout("run", "anything")
    checkout.made()
    checkout("exec", "true")
    assert "contact" in checkout.made()


@pytest.mark.parametrize("lock", ["suite.lock", "ros.lock", "uv.lock"])
def test_locks_pin_exact_versions_with_hashes_and_name_no_host(lock: str) -> None:
    path = ROOT / "requirements" / lock
    assert all(re.match(r"[a-z0-9-]+==[0-9][^\s;]*( ; .+)?$", line) for line in environment.pinned([path]))
    text = path.read_text()
    assert not re.search(r"://|--index|--find-links|file:", text)
    assert re.findall(r"^[a-z0-9].*", text, re.MULTILINE) == re.findall(
        r"^[a-z0-9].*(?=\n    --hash=sha256:)", text, re.MULTILINE
    )


# --- what is refused before anything is downloaded ---------------------------------------------------------


def test_a_machine_that_has_all_is_accepted(tmp_path: Path) -> None:
    machine.check_machine(tmp_path / "not" / "yet" / "there", "wheels")


@pytest.mark.parametrize("name", ["with space", "café", "quo'te", "dol$lar", "se;mi", "a:b", "tab\t"])
def test_a_path_that_the_build_cannot_use_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(machine.SetupError, match=r"cannot use the path .*, because of ") as caught:
        machine.check_machine(tmp_path / name, "wheels")
    assert "HAPTICS_HOME" in caught.value.hint


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DISK_NEEDED", 1e18)
    with pytest.raises(machine.SetupError, match=r"GB of disk space are free in .*, setup needs 1000000000\.0 GB"):
        machine.check_machine(tmp_path, "wheels")
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "packages").touch()  # only the workspace is to be built
    machine.check_machine(tmp_path, "wheels")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "compiler", lambda: "c++")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(machine.SetupError, match=r"cannot be written"):
        machine.check_machine(tmp_path, "wheels")


def test_a_missing_compiler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(machine.SetupError, match="no C\\+\\+ compiler") as caught:
        machine.check_machine(tmp_path, "wheels")
    assert caught.value.hint == "apt install g++"


@pytest.mark.parametrize("name", [*STAGES, "activate"])
def test_the_machine_is_checked_only_for_what_is_downloaded_or_compiled(
    name: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Path] = []
    monkeypatch.setattr(environment, "check_machine", lambda home, ros: checked.append(home))
    todo = [stage for stage in environment.STAGES if stage.name == name]
    monkeypatch.setattr(environment, "pending", lambda _: todo)
    for step in ("bring_up_to_date", "write_stamp"):
        monkeypatch.setattr(environment, step, lambda *_: None)
    places = ["--root", str(workspace.root), "--home", str(workspace.home), "--ros", "wheels"]
    environment.set_up(environment.parse(places))
    assert bool(checked) == (name in ("packages", "build", "contact"))


def test_the_script_refuses_before_the_first_stage(checkout: Checkout, tmp_path: Path) -> None:
    done = checkout("report", HAPTICS_HOME=str(tmp_path / "two words"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert not (tmp_path / "two words").exists()


# --- packages and links ------------------------------------------------------------------------------------


@pytest.fixture
def installs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Installs with commands that only pretend: which programs were started."""

    def install(*broken: str, program: str | None = None, failure: str = "it fails") -> list[str]:
        started: list[str] = []

        def pretend(command: list[str], log: Path, given: dict[str, str], show: object, text: str) -> None:
            started.append(log.stem)
            if log.stem in broken:
                raise machine.SetupError(text, "free some disk space" if failure == "disk" else "", log)

        monkeypatch.setattr(environment, "run", pretend)
        monkeypatch.setattr(shutil, "which", lambda name: program)
        environment.install_packages(workspace, print)
        return started

    return install


def test_uv_is_fetched_by_pip_and_installs(installs: Callable[..., list[str]]) -> None:
    assert installs() == ["venv", "uv_install", "uv"]


def test_the_uv_of_the_machine_is_used(installs: Callable[..., list[str]]) -> None:
    assert installs(program="/usr/bin/uv") == ["venv", "uv"]


def test_pip_installs_where_uv_cannot_be_had_or_fails(installs: Callable[..., list[str]]) -> None:
    assert installs("uv_install") == ["venv", "uv_install", "pip"]
    assert installs("uv", program="/usr/bin/uv") == ["venv", "uv", "pip"]
    with pytest.raises(machine.SetupError, match="uv could not install"):
        installs("uv", failure="disk")


def test_hashes_are_asked_for(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    commands_: list[list[str]] = []
    monkeypatch.setattr(environment, "run", lambda command, *_: commands_.append(command))
    monkeypatch.setattr(environment, "find_uv", lambda *_: None)
    environment.install_packages(workspace, print)
    monkeypatch.setattr(environment, "find_uv", lambda *_: "uv")
    environment.install_packages(workspace, print)
    _, by_pip, _, by_uv = commands_
    assert "--require-hashes" in by_pip and "--require-hashes" in by_uv


def test_linked_packages_are_live_and_have_their_executables(tmp_path: Path) -> None:
    folder = tmp_path / "some_package"
    (folder / "some_package").mkdir(parents=True)
    (folder / "resource").mkdir()
    (folder / "resource" / "some_package").touch()
    (folder / "package.xml").write_text("<package><name>some_package</name></package>")
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('here')\n    return 3\n")
    data = "[('share/ament_index/resource_index/packages', ['resource/some_package'])]"
    entries = "{'console_scripts': ['say = some_package:main'], 'some_group': ['one = some_package:main']}"
    (folder / "setup.py").write_text(
        "from setuptools import find_packages, setup\n"
        f"setup(name='some_package', version='1.2', packages=find_packages(), data_files={data}, "
        f"entry_points={entries})"
    )
    prefix = tmp_path / "install"
    link = [sys.executable, "-I", str(SOURCE / "link_packages.py"), str(prefix), str(folder)]
    for _ in range(2):
        subprocess.run(link, check=True)
    assert (prefix / "share/ament_index/resource_index/packages/some_package").exists()
    modules = environment.Workspace(ROOT, tmp_path).site_packages(prefix)
    given = {**os.environ, "PYTHONPATH": str(modules)}
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "here\n")
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('changed')\n")
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "changed\n")
    code = "from importlib.metadata import entry_points as e; print([p.value for p in e(group='some_group')])"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    assert done.stdout == "['some_package:main']\n"


# --- the script --------------------------------------------------------------------------------------------


def test_first_start_sets_up_and_the_second_does_not(checkout: Checkout) -> None:
    first = checkout("report", "x")
    assert (first.returncode, "arguments ['report', 'x']" in first.stdout) == (7, True), first.stderr
    assert checkout.made() == STAGES
    second = checkout("report", "x")
    assert (second.returncode, second.stdout, second.stderr) == (7, first.stdout, "")
    assert checkout.made() == []


def test_script_builds_what_changed(checkout: Checkout) -> None:
    checkout("setup")
    for name, stages in CHANGES.items():
        checkout.made()
        change(checkout.root / name)
        assert checkout("exec", "true").returncode == 0
        first = STAGES.index(stages[0]) if stages else len(STAGES)
        assert (name, checkout.made()) == (name, STAGES[first:])


def test_script_works_through_a_link_from_another_directory(checkout: Checkout, tmp_path: Path) -> None:
    link, elsewhere = tmp_path / "programs" / "hap", tmp_path / "else where"
    link.parent.mkdir()
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


def test_a_broken_environment_is_an_error_of_one_line(checkout: Checkout) -> None:
    checkout("setup")
    next(checkout.home.glob("env/lib/python3*/site-packages/known.py")).unlink()
    done = checkout("report")
    assert done.returncode == 1
    assert done.stderr == "error: the environment is broken: No module named 'known'\n  hint: ./haptics setup --clean\n"
    assert checkout("setup", "--clean").returncode == 0
    assert checkout("report").returncode == 7


def test_a_mistake_in_the_suite_s_own_code_is_no_broken_environment(checkout: Checkout) -> None:
    checkout("setup")
    (checkout.package / "cli.py").write_text("import haptic_bringup.missing")
    done = checkout("report")
    assert done.returncode == 1 and "broken" not in done.stderr
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'haptic_bringup.missing'"


def test_a_python_that_is_gone_is_an_error_of_one_line(checkout: Checkout) -> None:
    checkout("setup")
    checkout.made()
    interpreter = checkout.home / "env" / "bin" / "python"
    interpreter.unlink()
    interpreter.symlink_to("/no/such/python")
    done = checkout("report")
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert re.search(
        r"error: the environment is broken: .*/python is gone\n  hint: .* setup --clean$", done.stderr.rstrip()
    )
    assert checkout("setup", "--clean").returncode == 0
    assert checkout("report").returncode == 7


def test_failure_is_one_line_with_a_hint_and_is_tried_again(checkout: Checkout) -> None:
    done = checkout("report", FAILING_STAGE="packages")
    assert done.returncode == 1
    assert "haptics: error: it does not work: fatal error: Python.h: No such file" in done.stderr
    assert "hint: apt install python3-dev" in done.stderr
    assert "Traceback" not in done.stderr
    checkout.made()
    assert checkout("report").returncode == 7
    assert checkout.made() == STAGES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_setup_ends_with_one_line_and_continues_later(checkout: Checkout, number: signal.Signals) -> None:
    command = [str(checkout.root / "haptics"), "report"]
    process = subprocess.Popen(
        command,
        env=checkout.variables(SLOW_STAGE="packages"),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell's background job ignores SIGINT
    )
    slow = checkout.home / "log" / "slow.log"
    deadline = time.monotonic() + limit(60)
    while not slow.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert slow.exists(), "the slow stage did not start"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=limit(120))
    assert process.returncode == 128 + number
    assert complaint.splitlines()[-1] == "haptics: setup was interrupted; the next start continues it"
    checkout.made()
    assert checkout("report").returncode == 7
    assert checkout.made() == STAGES


def test_a_second_setup_waits_for_the_first(checkout: Checkout) -> None:
    command = [str(checkout.root / "haptics"), "exec", "true"]
    both = [
        subprocess.Popen(command, env=checkout.variables(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=limit(120))[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert checkout.made() == STAGES


def test_unusable_python_is_named(checkout: Checkout) -> None:
    done = checkout("report", HAPTICS_PYTHON="/no/such/python")
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
