"""Prints what the suite finds on this machine, what is missing, and what to do about it.

The ``haptics`` script starts this file with the system's Python, because the environment may be absent or
broken: the standard library is all it may import. What lies inside the environment is checked by its own Python.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))  # `python -I` leaves it out
import environment
import machine

DISK_FOR_RUNS = 0.5e9  # bytes
SETUP = "./haptics setup"
REBUILD = "./haptics setup --clean"

_COLOURS = {"ok": "32", "missing": "31", "broken": "31", "optional": "33"}

_PACKAGE_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
from packaging.requirements import Requirement
wrong, count = [], 0
for line in json.loads(sys.argv[1]):
    requirement = Requirement(line)
    if requirement.marker is None or requirement.marker.evaluate():
        count += 1
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            found = "absent"
        if found not in requirement.specifier:
            wrong.append(f"{requirement.name} {found} instead of {str(requirement.specifier)[2:]}")
if wrong:
    sys.exit(f"{len(wrong)} of {count} differ: " + ", ".join(wrong[:5]))
print(f"{count} packages as locked")
"""

_NUMBA = """
import numba, numpy
assert numba.njit(lambda x: x.sum())(numpy.ones(3)) == 3.0
print(f"numba {numba.__version__}, numpy {numpy.__version__}")
"""

_RCLPY = """
import sys, rclpy
from importlib.metadata import PackageNotFoundError, version
try:
    number = version("ros-rclpy")
except PackageNotFoundError:
    number = version("rclpy")
print(f"{number} in Python {sys.version.split()[0]}")
"""

_MESSAGES = """
from haptic_msgs.msg import DeviceCommand, DeviceState
DeviceState.__class__.__import_type_support__()
DeviceState(), DeviceCommand()
print("its type support loads")
"""

_TALKER = """
import os, sys, time
import rclpy
from std_msgs.msg import String
os.environ.update(ROS_DOMAIN_ID=sys.argv[2], ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
rclpy.init()
node = rclpy.create_node("haptics_doctor_talker")
publisher = node.create_publisher(String, "haptics_doctor", 10)
while True:
    publisher.publish(String(data=sys.argv[1]))
    time.sleep(0.02)
"""

_LISTENER = """
import os, sys, time
import rclpy
from std_msgs.msg import String
os.environ.update(ROS_DOMAIN_ID=sys.argv[2], ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
rclpy.init()
node = rclpy.create_node("haptics_doctor_listener")
heard = []
node.create_subscription(String, "haptics_doctor", lambda message: heard.append(message.data), 10)
start = time.monotonic()
while sys.argv[1] not in heard:
    if time.monotonic() - start > 8.0:
        sys.exit("no message between two processes within 8 s")
    rclpy.spin_once(node, timeout_sec=0.1)
print("two processes exchanged a message")
"""


_OPTIONAL = """
import importlib.util, os, shutil, sys
kind, name = sys.argv[1:]
prefixes = os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)
found = {
    "module": lambda: importlib.util.find_spec(name) is not None,
    "program": lambda: shutil.which(name) is not None,
    "package": lambda: any(os.path.isdir(os.path.join(prefix, "share", name)) for prefix in prefixes),
}[kind]()
sys.exit(not found)
"""

_DEVICE_NODES = "the suite's device nodes run without it"

_INSIDE = {
    "rclpy": _RCLPY,
    "RMW implementation": "import rclpy; print(rclpy.get_rmw_implementation_identifier())",
    "haptic_msgs": _MESSAGES,
    "Numba": _NUMBA,
}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        check: What was looked at.
        state: "ok", "missing", "broken" (an experiment cannot run) or "optional" (absent, and not needed).
        detail: What was found.
        advice: What to do.
    """

    check: str
    state: str
    detail: str = ""
    advice: str = ""


def check_system(workspace: environment.Workspace) -> Row:
    """The operating system, and whether the ROS 2 wheels run on it."""
    names = re.findall(r'^PRETTY_NAME="?([^"\n]*)', environment.read(Path("/etc/os-release")) or "", re.MULTILINE)
    libc = " ".join(platform.libc_ver())
    found = f"{names[0] if names else platform.system()}, {platform.machine()}, {libc}, {os.cpu_count()} cores"
    problem = machine.machine_problem(workspace.ros)
    advice = "source a ROS 2 Jazzy installation, or use the container in docker/" if problem else ""
    return Row("system", "broken" if problem else "ok", problem or found, advice)


def check_python(workspace: environment.Workspace) -> Row:
    """The Python below the environment."""
    version, (lowest, highest) = sys.version_info[:2], machine.PYTHON_RANGE
    detail = f"{platform.python_version()}, {sys.executable}"
    if version < lowest or (workspace.ros == "wheels" and version > highest):
        return Row("Python", "broken", detail, "install Python 3.10 to 3.14, or set HAPTICS_PYTHON to one")
    return Row("Python", "ok", detail)


def check_building() -> list[Row]:
    """What setup needs to make an environment and to build the workspace."""
    headers, venv = machine.has_headers(), machine.has_venv()
    return [
        Row("Python headers", "ok") if headers else Row("Python headers", "missing", "", "apt install python3-dev"),
        Row("venv module", "ok") if venv else Row("venv module", "missing", "", "apt install python3-venv"),
        check_compiler(),
    ]


def check_compiler() -> Row:
    """Whether a C++ program compiles and links."""
    compiler = machine.compiler()
    if compiler is None:
        return Row("C++ compiler", "missing", "", "apt install g++")
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "trivial.cpp")
        source.write_text("#include <vector>\nint main() { return std::vector<int>(1)[0]; }\n")
        command = [compiler, "-o", str(source.with_suffix("")), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        return Row("C++ compiler", "broken", f"{compiler}: {_last(done.stderr)}", "apt install g++")
    return Row("C++ compiler", "ok", compiler)


def check_disk(workspace: environment.Workspace, complete: bool) -> Row:
    """The free space where the environment lies."""
    free = shutil.disk_usage(machine.existing_parent(workspace.home)).free
    needed = DISK_FOR_RUNS if complete else machine.DISK_NEEDED
    if free < needed:
        detail = f"{free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed"
        return Row("disk space", "missing", detail, "free some, or set HAPTICS_HOME to a larger disk")
    return Row("disk space", "ok", f"{free / 1e9:.0f} GB free")


def check_environment(workspace: environment.Workspace) -> Row:
    """Whether setup has made a whole environment."""
    name, home = "environment", workspace.home
    if not workspace.env.exists():
        return Row(name, "missing", f"none in {home}", SETUP)
    if not (home / "environment.sh").exists():
        return Row(name, "broken", "setup has not finished", SETUP)
    if not runs(workspace.python):
        return Row(name, "broken", f"{workspace.python} does not run", REBUILD)
    try:
        todo = environment.pending(workspace)
    except (machine.SetupError, OSError) as error:
        return Row(name, "broken", str(error), "correct the workspace")
    if todo:
        return Row(name, "ok", f"the next start brings up to date: {', '.join(stage.title for stage in todo)}")
    return Row(name, "ok", str(home))


def runs(python: Path) -> bool:
    """Whether an interpreter starts and has the version of this one."""
    command = [str(python), "-I", "-S", "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == machine.dotted(sys.version_info)


def check_ros(workspace: environment.Workspace) -> Row:
    """Where ROS 2 comes from."""
    if workspace.ros == "system":
        return Row("ROS 2", "ok", f"Jazzy, the sourced installation in {workspace.underlay}")
    return Row("ROS 2", "ok", "Jazzy, from wheels in the environment")


def check_inside(workspace: environment.Workspace, name: str, code: str, *arguments: str) -> Row:
    """Runs a few lines in the environment's Python: they print what they found, or end with an error."""
    try:
        done = subprocess.run(
            _inside(workspace, code, *arguments),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Row(name, "broken", "no answer within 60 s", REBUILD)
    if done.returncode:
        return Row(name, "broken", _last(done.stderr) or f"ended with code {done.returncode}", REBUILD)
    return Row(name, "ok", _last(done.stdout))


def check_versions(workspace: environment.Workspace) -> Row:
    """Whether the packages have the versions of the lock files."""
    row = check_inside(workspace, "locked versions", _PACKAGE_VERSIONS, json.dumps(environment.pinned(workspace.locks)))
    if workspace.ros == "system" and row.state == "broken":  # packages of the installation come first
        return Row(row.check, "optional", row.detail)
    return row


def check_loopback(workspace: environment.Workspace) -> Row:
    """Whether two processes on this machine exchange a message."""
    token, domain = (
        f"{random.getrandbits(64):x}",
        str(random.randint(60, 100)),
    )  # hardly anybody else is there
    with subprocess.Popen(
        _inside(workspace, _TALKER, token, domain), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as talker:
        row = check_inside(workspace, "DDS on loopback", _LISTENER, token, domain)
        talker.kill()
    advice = "" if row.state == "ok" else "does the machine block multicast on loopback, or /dev/shm?"
    return Row(row.check, row.state, row.detail, advice)


def check_optional(workspace: environment.Workspace) -> list[Row]:
    """What a full ROS 2 installation adds; the suite is whole without it."""
    wanted = [
        (
            "launch_ros",
            "module",
            "launch_ros",
            "the suite's own runner starts the launch files",
            "launch-ros",
        ),
        ("ros2 command", "program", "ros2", "./haptics has what the suite needs of it", "ros2cli"),
        ("RViz", "program", "rviz2", "no experiment needs it, but rviz:=true does", "rviz2"),
        ("ros2_control", "package", "controller_manager", _DEVICE_NODES, "ros2-control"),
    ]
    rows = []
    for check, kind, name, instead, package in wanted:
        here = check_inside(workspace, check, _OPTIONAL, kind, name).state == "ok"
        advice = "" if here else f"on a ROS 2 installation: apt install ros-jazzy-{package}"
        rows.append(Row(check, "ok" if here else "optional", "present" if here else f"absent; {instead}", advice))
    if rows[-1].state == "ok" and not (workspace.install / "lib" / "libhaptic_hardware.so").exists():
        detail = f"present, but haptic_hardware's plugins are not compiled; {_DEVICE_NODES}"
        rows[-1] = Row("ros2_control", "optional", detail, f"apt install pybind11-dev, then {SETUP}")
    return rows


def examine(workspace: environment.Workspace) -> list[Row]:
    """All rows of the table."""
    state = check_environment(workspace)
    complete = state.state == "ok"
    building = check_building()
    if state == Row(state.check, "ok", str(workspace.home)):  # whole and up to date: nothing is to be built now
        later = "needed when setup makes or builds something again"
        building = [row if row.state == "ok" else Row(row.check, "optional", later, row.advice) for row in building]
    rows = [check_system(workspace), check_python(workspace), *building, check_disk(workspace, complete)]
    rows += [state, check_ros(workspace)]
    if not complete:
        absent = [*_INSIDE, "locked versions", "DDS on loopback"]
        return rows + [Row(name, "missing", "not to be checked without the environment", SETUP) for name in absent]
    rows += [check_inside(workspace, name, code) for name, code in _INSIDE.items()]
    return [*rows, check_versions(workspace), check_loopback(workspace), *check_optional(workspace)]


def table(rows: list[Row], width: int, colour: bool) -> str:
    """The rows as text; details and advice are wrapped to the width."""
    left = max(len(row.check) for row in rows) + 2
    right = max(30, (width - left - 10) // 2 - 2)
    lines = [f"{'check':{left}}{'state':10}{'detail':{right}}  what to do"]
    for row in rows:
        detail = textwrap.wrap(row.detail, right, break_on_hyphens=False) or [""]
        advice = textwrap.wrap(row.advice, right, break_on_hyphens=False) or [""]
        for index in range(max(len(detail), len(advice))):
            state = f"{row.state if index == 0 else '':10}"
            state = f"\x1b[{_COLOURS[row.state]}m{state}\x1b[0m" if colour else state
            cells = [part[index] if index < len(part) else "" for part in (detail, advice)]
            lines.append(f"{row.check if index == 0 else '':{left}}{state}{cells[0]:{right}}  {cells[1]}".rstrip())
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Prints the table.

    Returns:
        0 if an experiment can run, else 1.
    """
    parser = argparse.ArgumentParser(prog="haptics doctor", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--live", action="store_true", help="look at the experiment that runs in this ROS domain")
    for hidden in ("--root", "--home", "--ros"):  # given by the haptics script
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    underlay = os.environ.get("AMENT_PREFIX_PATH", "") if options.ros == "system" else ""
    workspace = environment.Workspace(Path(options.root), Path(options.home), options.ros, underlay)
    if options.live:
        row = check_environment(workspace)
        if row.state == "ok":
            command = _entered(workspace, "-m", "haptic_viewer.live")
            sys.stdout.flush()
            os.execvp(command[0], command)
        print(f"error: environment: {row.detail}\n  hint: {row.advice}", file=sys.stderr)
        return 1
    rows = examine(workspace)
    terminal = sys.stdout.isatty()
    print(table(rows, max(80, shutil.get_terminal_size().columns) if terminal else 150, terminal))
    bad = [row.check for row in rows if row.state in ("missing", "broken")]
    print(f"\nAn experiment cannot run: {', '.join(bad)}." if bad else "\nAn experiment can run.")
    return 1 if bad else 0


def _inside(workspace: environment.Workspace, code: str, *arguments: str) -> list[str]:
    """A command that runs code in the environment."""
    return _entered(workspace, "-c", code, *arguments)


def _entered(workspace: environment.Workspace, *arguments: str) -> list[str]:
    """A command that starts the environment's Python."""
    enter = 'source "$1" && shift && exec "$@"'
    script = str(workspace.home / "environment.sh")
    return ["bash", "-c", enter, "bash", script, str(workspace.python), *arguments]


def _last(text: str) -> str:
    """The last line of a text that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
