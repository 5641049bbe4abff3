"""Setup, the `haptics` script and doctor. Nothing is downloaded: uv, colcon and the packages are small stand-ins."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import machine
import pytest
from machine_speed import limit

from haptic_bringup import doctor

ROOT = Path(__file__).parents[1]

# The stand-in for uv: notes its arguments; with the first packages it installs what the other parts need.
UV = r"""#!/bin/sh
env=$HAPTICS_HOME${SUBFOLDER-}/env
site=$(echo "$env"/lib/python3*/site-packages)
echo "$@" >> "$HAPTICS_HOME/uv_arguments"
case ${BROKEN-} in
  uv) echo "something else is wrong"; exit 3 ;;
  disk) echo "No space left on device"; exit 3 ;;
  slow) touch "$HAPTICS_HOME/slow"; sleep 60 ;;
esac
[ ! -e "$site/known.py" ] || exit 0
touch "$site/known.py"
ln -sf SETUPTOOLS/setuptools* SETUPTOOLS/_distutils_hack "$site"
mkdir -p "$env/share/some" "$site/colcon"
build=/opt/python/cp312-cp312
echo "$build/include/python3.12;$build/lib/python3.12/site-packages/numpy/_core/include" > "$env/share/some/some.cmake"
cat > "$site/colcon/__main__.py" <<'END'
import os, sys
print(*sys.argv, flush=True)
if os.environ.get("BROKEN") == "colcon":
    sys.exit("fatal error: Python.h: No such file")
END
""".replace("SETUPTOOLS", sysconfig.get_paths()["purelib"])

COMMAND_LINE = """
import os, sys
import known
def main():
    print("arguments", sys.argv[1:], "in", os.getcwd(), "root", os.environ["HAPTICS_ROOT"])
    sys.exit(7)
"""

PACKAGE = """
from pathlib import Path
from setuptools import setup
name = Path.cwd().name
setup(
    name=name, version="1.2", packages=[name], entry_points={"console_scripts": [f"say = {name}:main"]},
    data_files=[("share/ament_index/resource_index/packages", ["resource/" + name])],
)
"""

#: logs of the parts of an environment
PARTS = {"packages": "packages", "messages": "messages", "contact_geometry": "rest", "Python_packages": "links"}
ALL = list(PARTS.values())


class Checkout:
    """A copy of the script with a small workspace."""

    def __init__(self, place: Path) -> None:
        self.root, self.home, self.programs = place / "checkout", place / "home", place / "programs"
        self.package = self.root / "src" / "haptic_bringup" / "haptic_bringup"
        for folder in (self.programs, self.root / "tools" / "setup", self.root / "requirements"):
            folder.mkdir(parents=True)
        for name in ("haptics", *(f"tools/setup/{path.name}" for path in (ROOT / "tools" / "setup").glob("*.*"))):
            (self.root / name).write_bytes((ROOT / name).read_bytes())
        (self.root / "haptics").chmod(0o755)
        for name in ("messages", "convex_contact_native"):
            self.write(f"src/{name}/package.xml", "")
            self.write(f"src/{name}/CMakeLists.txt", "")
            self.write(f"src/{name}/msg/State.msg", "float64 force\n")
        write_python_package(self.root / "src" / "haptic_bringup")
        for name in ("__init__.py", "doctor.py", "__main__.py"):
            (self.package / name).write_bytes((ROOT / "src/haptic_bringup/haptic_bringup" / name).read_bytes())
        self.write("src/haptic_bringup/haptic_bringup/__init__.py", "")
        self.write("src/haptic_bringup/haptic_bringup/cli.py", COMMAND_LINE)
        self.write("src/haptic_bringup/haptic_bringup/table.yaml", "")
        for folder in ("launch", "config"):
            self.write(f"{folder}/some.yaml", "")
        for lock in ("core.lock", "suite.lock", "ros.lock", "uv.lock"):
            self.write(f"requirements/{lock}", "known==1.0 ; python_version >= '3' \\\n    --hash=sha256:00\n")
        self.have_uv()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def have_uv(self) -> None:
        """Puts uv into the PATH."""
        (self.programs / "uv").write_text(UV)
        (self.programs / "uv").chmod(0o755)

    def variables(self, **more: str) -> dict[str, str]:
        """The variables of a shell that knows nothing of any environment."""
        return {
            "PATH": f"{self.programs}:{os.defpath}",
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

    def made(self, folder: str = "") -> list[str]:
        """The parts made since the last call."""
        logs = [self.home / folder / "log" / f"{name}.log" for name in PARTS]
        made = [PARTS[log.stem] for log in logs if log.exists()]
        for log in logs:
            log.unlink(missing_ok=True)
        return made

    def site_packages(self) -> Path:
        return next(self.home.glob("env/lib/python3*/site-packages"))


def write_python_package(folder: Path) -> None:
    (folder / folder.name).mkdir(parents=True)
    (folder / "resource").mkdir()
    (folder / "resource" / folder.name).touch()
    (folder / "package.xml").write_text(f"<package><name>{folder.name}</name></package>")
    (folder / "setup.py").write_text(PACKAGE)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


# Changes below a checkout, and the parts to be made after each.
CHANGES = {
    "src/messages/msg/State.msg": ["messages"],
    "src/messages/msg/New.msg": ["messages"],
    "src/messages/package.xml": ["messages"],
    "src/messages/CMakeLists.txt": ["messages"],
    "src/convex_contact_native/src/shapes.cpp": ["rest"],
    "src/haptic_bringup/setup.py": ["links"],
    "src/haptic_bringup/setup.cfg": ["links"],
    "src/haptic_bringup/package.xml": ["links"],
    "src/haptic_bringup/haptic_bringup/new.yaml": ["links"],
    "launch/new.launch.yaml": ["links"],
    "config/new/experiment.yaml": ["links"],
    "requirements/suite.lock": ALL,
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


# --- the parts of the environment --------------------------------------------------------------------------


def test_first_start_sets_up_and_the_second_does_not(checkout: Checkout) -> None:
    first = checkout("report", "x")
    assert (first.returncode, "arguments ['report', 'x']" in first.stdout) == (7, True), first.stderr
    assert re.search(r"home: 530 MB of downloads, 1800 MB of disk, about \d+ s", first.stderr)
    assert checkout.made() == ALL
    second = checkout("report", "x")
    assert (second.returncode, second.stdout, second.stderr) == (7, first.stdout, "")
    assert checkout.made() == []


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


def test_script_builds_what_changed(checkout: Checkout) -> None:
    checkout("setup")
    for name, parts in CHANGES.items():
        checkout.made()
        change(checkout.root / name)
        done = checkout("exec", "true")
        assert (name, done.returncode, checkout.made()) == (name, 0, parts), done.stderr


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


def test_a_first_run_leaves_the_rest_to_the_next_command(checkout: Checkout) -> None:
    checkout("run", "anything")
    assert checkout.made() == ["packages", "messages", "links"]
    checkout("run", "anything")
    assert checkout.made() == []
    checkout("exec", "true")
    assert checkout.made() == ["rest"]
    checkout("exec", "true")
    assert checkout.made() == []


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


def test_the_paths_of_the_machine_that_built_the_wheels_are_replaced(checkout: Checkout) -> None:
    checkout("setup")
    include = sysconfig.get_paths()["include"]
    numpy = checkout.site_packages() / "numpy" / "_core" / "include"
    assert (checkout.home / "env/share/some/some.cmake").read_text() == f"{include};{numpy}\n"


# --- how packages are installed ----------------------------------------------------------------------------


def write_wheel(folder: Path, name: str, contents: dict[str, str]) -> str:
    """Writes a wheel of version 1.0. Returns its line in a lock file."""
    info = f"{name}-1.0.dist-info"
    contents = {
        **contents,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in contents.items()
    ]
    contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in contents.items():
            entry = zipfile.ZipInfo(inner)
            entry.external_attr = 0o100755 << 16
            wheel.writestr(entry, text)
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def pip_settings(folder: Path) -> dict[str, str]:
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def test_uv_checks_hashes(checkout: Checkout) -> None:
    checkout("setup")
    arguments = (checkout.home / "uv_arguments").read_text().split()
    assert {"--require-hashes", "--no-deps", f"{checkout.root}/requirements/ros.lock"} <= set(arguments)


def test_uv_is_fetched_by_pip_with_a_checked_hash(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.programs / "uv").unlink()
    checkout.write("requirements/uv.lock", write_wheel(tmp_path, "uv", {"uv-1.0.data/scripts/uv": UV}))
    elsewhere = {"PIP_TARGET": str(tmp_path / "target"), "PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    done = checkout("report", **pip_settings(tmp_path), **elsewhere)
    assert done.returncode == 7, done.stderr
    assert "pip installs" not in done.stderr and (checkout.home / "uv_arguments").exists()


@pytest.mark.parametrize("right", [True, False])
def test_pip_installs_where_uv_fails_and_checks_hashes(right: bool, checkout: Checkout, tmp_path: Path) -> None:
    line = write_wheel(tmp_path, "known", {"known.py": ""})
    for lock in ("core.lock", "suite.lock", "ros.lock"):
        checkout.write(f"requirements/{lock}", line if right else re.sub("sha256:...", "sha256:000", line))
    done = checkout("exec", "true", BROKEN="uv", **pip_settings(tmp_path))
    assert "pip installs the packages, which takes some minutes" in done.stderr
    known = checkout.site_packages() / "known.py"
    assert known.exists() == right and done.returncode == 1  # the stand-in for pip installed no colcon
    if not right:
        assert "hint: the registry served another file than the one that was locked" in done.stderr


def test_pip_does_not_try_again_on_a_full_disk(checkout: Checkout) -> None:
    done = checkout("exec", "true", BROKEN="disk")
    assert done.returncode == 1
    assert "pip installs" not in done.stderr and "hint: free some disk space" in done.stderr


@pytest.mark.parametrize("lock", ["core.lock", "suite.lock", "ros.lock", "uv.lock"])
def test_locks_pin_exact_versions_with_hashes_and_name_no_host(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    lines = re.findall(r"^[A-Za-z0-9].*", text, re.MULTILINE)
    assert lines and all(re.match(r"[a-z0-9-]+==[0-9][^\s;]*( ; .+)? \\$", line) for line in lines)
    assert not re.search(r"://|--index|--find-links|file:", text)
    assert lines == re.findall(r"^[a-z0-9].*(?=\n    --hash=sha256:)", text, re.MULTILINE)


def test_linked_packages_are_live_and_have_their_executables(tmp_path: Path) -> None:
    folder, prefix = tmp_path / "some_package", tmp_path / "install"
    write_python_package(folder)
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('here')\n    return 3\n")
    link = [sys.executable, "-I", str(ROOT / "tools/setup/link_packages.py"), str(prefix), str(folder)]
    for _ in range(2):
        subprocess.run(link, check=True)
    assert (prefix / "share/ament_index/resource_index/packages/some_package").exists()
    given = {**os.environ, "PYTHONPATH": str(next(prefix.glob("lib/python3*/site-packages")))}
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "here\n")
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('changed')\n")
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "changed\n")
    code = "from importlib.metadata import entry_points as e; print([p.value for p in e(name='say')])"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    assert done.stdout == "['some_package:main']\n"


# --- what is refused before anything is downloaded ---------------------------------------------------------


def problems(home: Path, ros: str = "wheels", disk: float = 0.0) -> dict[str, tuple[str, str]]:
    return {name: (problem, advice) for name, _, problem, advice in machine.checks(ros, home, disk) if problem}


def test_a_machine_that_has_all_is_accepted(tmp_path: Path) -> None:
    assert problems(tmp_path / "not" / "yet" / "there", disk=machine.DISK_FOR_RUNS) == {}


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


def test_the_compiler_is_not_needed_where_nothing_is_compiled(checkout: Checkout) -> None:
    checkout("setup")
    (checkout.programs / "c++").write_text("#!/bin/false")
    (checkout.programs / "c++").chmod(0o755)
    change(checkout.root / "launch" / "new.launch.yaml")
    assert checkout("report").returncode == 7
    change(checkout.root / "src" / "messages" / "msg" / "State.msg")
    assert checkout("report").returncode == 1


def test_a_path_with_a_space_is_refused_by_the_script(checkout: Checkout, tmp_path: Path) -> None:
    done = checkout("report", HAPTICS_HOME=str(tmp_path / "two words"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert "because of ' '" in done.stderr and not (tmp_path / "two words").exists()


def test_unusable_python_is_named(checkout: Checkout) -> None:
    done = checkout("report", HAPTICS_PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "/no/such/python does not run" in done.stderr


# --- the script --------------------------------------------------------------------------------------------


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
    (checkout.site_packages() / "known.py").unlink()
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


def test_failure_is_one_line_with_a_hint_and_is_tried_again(checkout: Checkout) -> None:
    done = checkout("report", BROKEN="colcon")
    assert done.returncode == 1
    assert "haptics: error: messages: fatal error: Python.h: No such file" in done.stderr
    assert "hint: apt install python3-dev" in done.stderr
    assert "Traceback" not in done.stderr
    checkout.made()
    assert checkout("report").returncode == 7
    assert checkout.made() == ["messages", "rest", "links"]


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


def test_a_second_setup_waits_for_the_first(checkout: Checkout) -> None:
    command = [str(checkout.root / "haptics"), "exec", "true"]
    both = [
        subprocess.Popen(command, env=checkout.variables(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=limit(120))[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sum("setting up the environment" in text for text in said) == 1


# --- doctor ------------------------------------------------------------------------------------------------


def test_doctor_names_a_missing_environment(checkout: Checkout) -> None:
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +missing", done.stdout, re.MULTILINE)
    assert "./haptics setup" in done.stdout
    assert not checkout.home.exists()
    live = checkout("doctor", "--live")
    assert (live.returncode, live.stdout) == (1, "") and "hint: ./haptics setup" in live.stderr


def test_doctor_names_a_broken_environment(checkout: Checkout) -> None:
    checkout("setup")
    interpreter = checkout.home / "env" / "bin" / "python"
    interpreter.unlink()
    interpreter.write_text("not a program")
    interpreter.chmod(0o755)
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +broken .*setup --clean$", done.stdout, re.MULTILINE)


def test_doctor_names_a_setup_that_has_not_finished(checkout: Checkout) -> None:
    checkout("setup", BROKEN="colcon")
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +broken +setup has not finished +./haptics setup$", done.stdout, re.MULTILINE)


def test_doctor_names_what_does_not_import_and_what_is_not_up_to_date(checkout: Checkout) -> None:
    checkout("setup")  # the stand-ins hold no rclpy
    change(checkout.root / "launch" / "new.launch.yaml")
    done = checkout("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^environment +ok +the next start brings up to date: links$", done.stdout, re.MULTILINE)
    assert re.search(r"^rclpy +broken +ModuleNotFoundError", done.stdout, re.MULTILINE)
    assert re.search(r"^launch_ros +optional", done.stdout, re.MULTILINE)


def test_what_only_setup_needs_is_optional_in_a_current_environment(
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


def test_table_wraps_and_aligns(capsys: pytest.CaptureFixture[str]) -> None:
    assert machine.show([("one", "ok", "word " * 20, ""), ("another", "missing", "", "do something")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 150
    assert lines[-3].split() == ["another", "missing", "do", "something"]
    assert lines[-1] == "An experiment cannot run: another."
