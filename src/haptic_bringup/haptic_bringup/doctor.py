"""`./haptics doctor`: checks of the environment, with advice for missing parts.

``tools/setup/machine.py`` has the checks of the machine, and shows only those if there is no usable environment.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

Row = tuple[str, str, str, str]


_REBUILD = "./haptics setup --clean"
#: name, code that prints its result, and advice if it fails; each check runs in a separate process, which may crash
CHECKS = [
    ("rclpy", "import rclpy, sys; print(f'{rclpy.__path__[0]}, Python {sys.version.split()[0]}')", _REBUILD),
    ("RMW implementation", "import rclpy; print(rclpy.get_rmw_implementation_identifier())", _REBUILD),
    (
        "haptic_msgs",
        "from haptic_msgs.msg import DeviceState; DeviceState.__class__.__import_type_support__(); DeviceState();"
        "print('its type support loads')",
        _REBUILD,
    ),
    (
        "Numba",
        "import numba, numpy; assert numba.njit(lambda x: x.sum())(numpy.ones(3)) == 3.0;"
        "print(f'numba {numba.__version__}, numpy {numpy.__version__}')",
        _REBUILD,
    ),
    ("locked versions", "from haptic_bringup import doctor; print(doctor.check_versions())", _REBUILD),
    (
        "DDS on loopback",
        "from haptic_bringup import doctor; print(doctor.check_loopback())",
        "does the machine block multicast on loopback, or /dev/shm?",
    ),
]
#: the same for the settings; they have their own section in docs/troubleshooting.md
_SETTINGS = (
    "settings",
    "from haptic_bringup import doctor; print(doctor.check_settings())",
    "docs/troubleshooting.md, Settings in the environment",
)


def check_versions() -> str:
    """Compares the packages with the lock files."""
    from packaging.requirements import Requirement

    names = {"wheels": ["suite", "ros"], "kilted": ["suite", "ros_kilted"]}.get(os.environ["HAPTICS_ROS"], ["suite"])
    text = "".join(Path(os.environ["HAPTICS_ROOT"], "requirements", f"{name}.lock").read_text() for name in names)
    locked = [Requirement(line) for line in re.findall(r"^\w[^\\\n]*", text, re.MULTILINE)]
    wanted = [requirement for requirement in locked if not requirement.marker or requirement.marker.evaluate()]
    wrong = []
    for requirement in wanted:
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            found = "absent"
        if found not in requirement.specifier:
            wrong.append(f"{requirement.name} {found} instead of {str(requirement.specifier)[2:]}")
    if wrong:
        sys.exit(f"{len(wrong)} of {len(wanted)} differ: {', '.join(wrong[:5])}")
    return f"{len(wanted)} packages as locked"


def check_loopback() -> str:
    """Checks that two processes can exchange a message, in a random ROS domain to avoid other programs."""
    os.environ.update(ROS_DOMAIN_ID=str(random.randint(60, 100)), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    token, listener = f"{random.getrandbits(64):x}", os.getpid()
    talker = os.fork()
    import rclpy
    from std_msgs.msg import String

    rclpy.init()
    node = rclpy.create_node(f"haptics_doctor_{os.getpid()}")
    publisher = node.create_publisher(String, "haptics_doctor", 10)
    while not talker and os.getppid() == listener:
        publisher.publish(String(data=token))
        time.sleep(0.02)
    if not talker:
        os._exit(0)
    received: list[str] = []
    node.create_subscription(String, "haptics_doctor", lambda message: received.append(message.data), 10)
    end = time.monotonic() + 8.0
    while token not in received:
        if time.monotonic() > end:
            sys.exit("no message between two processes within 8 s")
        rclpy.spin_once(node, timeout_sec=0.1)
    return "two processes exchanged a message"


def examine(name: str, code: str, advice: str) -> Row:
    """Runs one check in a separate process; returns its row of the table."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, errors="replace", timeout=60
        )
    except subprocess.TimeoutExpired:
        return name, "broken", "no answer within 60 s", advice
    text = (done.stderr if done.returncode else done.stdout).strip() or f"ended with code {done.returncode}"
    remark = name == "locked versions" and os.environ["HAPTICS_ROS"] == "system"  # the installation's come first
    state = "ok" if done.returncode == 0 else "optional" if remark else "broken"
    return name, state, text.splitlines()[-1], "" if state == "ok" else advice


def check_settings() -> str:
    """Checks the settings in the environment as a run does."""
    from haptic_core.environment import SettingError, check_environment

    try:
        check_environment(os.environ)
    except SettingError as error:
        sys.exit(str(error))
    return "a run can use those in the environment"


def optional_rows() -> list[Row]:
    """Looks for programs of a full ROS 2 installation, which the suite does not need."""
    prefixes = os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)
    control = any(Path(prefix, "share", "controller_manager").is_dir() for prefix in prefixes)
    plugins = control and Path(os.environ["HAPTICS_ACTIVE"], "install", "lib", "libhaptic_hardware.so").exists()
    state = "present, but haptic_hardware's plugins are not compiled" if control else "absent"
    looked_for = [
        ("launch_ros", find_spec("launch_ros"), "absent; the suite's own runner starts the launch files", "launch-ros"),
        ("ros2 command", which("ros2"), "absent; ./haptics has what the suite needs of it", "ros2cli"),
        ("RViz", which("rviz2"), "absent; no experiment needs it, but rviz:=true does", "rviz2"),
        ("ros2_control", plugins, f"{state}; the suite's device nodes run without it", "ros2-control pybind11-dev"),
    ]
    advice = "on a ROS 2 installation: apt install ros-jazzy-{}, then ./haptics setup"
    return [
        (name, "ok", "present", "") if found else (name, "optional", problem, advice.format(package))
        for name, found, problem, package in looked_for
    ]


def main(pending: list[str]) -> int:
    """Prints the table of all checks; `pending` has the parts of the environment that the next start will make.

    Returns:
        0 if an experiment can run, else 1.
    """
    sys.path.append(str(Path(os.environ["HAPTICS_ROOT"], "tools", "setup")))
    machine: Any = import_module("machine")
    ros, home = os.environ["HAPTICS_ROS"], Path(os.environ["HAPTICS_ACTIVE"])
    rows: list[Row] = list(machine.rows(ros, home, not pending))
    if pending:
        rows[-1] = ("environment", "ok", f"the next start brings up to date: {', '.join(pending)}", "")
    source = "from wheels in the environment" if ros != "system" else os.environ["HAPTICS_UNDERLAY"]
    rows.append(("ROS 2", "ok", f"{os.environ['ROS_DISTRO'].title()}, {source}", ""))
    return int(machine.show(rows + [examine(*check) for check in [_SETTINGS, *CHECKS]] + optional_rows()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
