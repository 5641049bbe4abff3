"""Arguments, variants, directory, launch file and run.yaml of a run."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from haptic_core.environment import RUN_DIRECTORY
from haptic_core.errors import HapticError, shortened
from haptic_core.parameter_files import PARAMS_FILE
from haptic_files import listed, write_text
from haptic_launch.experiments import Experiment
from haptic_launch.launch_file import LaunchDescription, LaunchFileError, load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, with_required
from haptic_launch.launch_substitutions import Context, evaluate, find_package_prefix, parse_template
from haptic_launch.processes import run_processes

INTERRUPTED = 130

#: packages whose programs `rviz:=true` starts
RVIZ_PACKAGES = ("rviz2", "robot_state_publisher")

#: longest duration that a device node accepts, 11 days [s]
LONGEST_RUN = "1000000.0"

#: defaults of arguments while a user watches
IN_VIEW = {"pace": "1.0"}

#: arguments that run.yaml and the report do not have
SECRETS = ("view_token",)

#: hint after a wrong argument
SHOW_ARGUMENTS = "see ./haptics run EXPERIMENT --show-args"

_PACKAGES = ("numpy", "scipy", "numba", "rosbags")


class UsageError(HapticError):
    """The user's command cannot be understood.

    Attributes:
        hint: command that shows the possible arguments.
    """

    def __init__(self, message: str, hint: str = SHOW_ARGUMENTS) -> None:
        super().__init__(message)
        self.hint = hint


class MissingProgramError(HapticError):
    """A program that the user asked for is not installed.

    Attributes:
        hint: advice on the installation, and on runs without the program.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def check_rviz(arguments: Mapping[str, str]) -> None:
    """Refuses `rviz:=true` if RViz cannot be found.

    Raises:
        MissingProgramError: packages are missing; the message names them.
    """
    if arguments.get("rviz") != "true":
        return
    missing = [package for package in RVIZ_PACKAGES if not _is_installed(package)]
    if missing:
        packages = " ".join(f"ros-jazzy-{name.replace('_', '-')}" for name in missing)
        raise MissingProgramError(
            f"argument rviz: not installed: {', '.join(missing)}",
            f"sudo apt install {packages} in a ROS 2 Jazzy installation, and source it; "
            "without rviz:=true the run gives the same bag and report",
        )


def check_hardware(arguments: Mapping[str, str]) -> None:
    """Refuses `hardware:=ros2_control` and `mock` if they cannot run.

    Raises:
        MissingProgramError: ros2_control, or the suite's plugins for it, are not installed.
        UsageError: the run is in lockstep, has an input device, or would record the true state of mock hardware, which
            has none.
    """
    hardware = arguments.get("hardware", "simulated")
    if hardware == "simulated":
        return
    without = "without hardware:= the run uses the suite's own device node"
    if not _is_installed("controller_manager"):
        raise MissingProgramError(
            f"argument hardware: {hardware} needs ros2_control, which is not installed",
            "sudo apt install ros-jazzy-ros2-control in a ROS 2 Jazzy installation, source it, then ./haptics setup; "
            + without,
        )
    if not (Path(find_package_prefix("haptic_hardware")) / "lib" / "libhaptic_hardware.so").exists():
        raise MissingProgramError(
            f"argument hardware: {hardware} needs the plugins of haptic_hardware, which are not compiled",
            f"sudo apt install pybind11-dev, then ./haptics setup; {without}",
        )
    if arguments.get("mode") != "realtime":
        raise UsageError(
            f"argument hardware: {hardware} keeps its own clock, got mode:={arguments.get('mode', 'lockstep')}",
            f"add mode:=realtime; {without}",
        )
    source = arguments.get("input_device", "none")
    if source != "none":
        raise UsageError(
            f"argument input_device: {source} leads the hand of the suite's device node, got hardware:={hardware}",
            without,
        )
    if hardware == "mock" and arguments.get("record") == "true":
        raise UsageError("argument hardware: mock has no truth to record", "add record:=false")


#: period below which a node in a separate process needs most of a core [s]
BUSY_PERIOD = 5e-3


def check_layout(nodes: Sequence[LaunchedNode], arguments: Mapping[str, str]) -> None:
    """Refuses realtime nodes in separate processes if there are too few cores for them (docs/reliability.md).

    Raises:
        UsageError: there are at least two more nodes than cores that this process may use.
    """
    if arguments.get("mode") != "realtime" or arguments.get("layout") != "processes":
        return
    if arguments.get("hardware", "simulated") != "simulated":
        return
    period = max((node.parameters.get("period", 0.0) for node in nodes), default=0.0)
    busy = sorted({node.name for node in nodes if "mode" in node.parameters} - {"recorder"})
    cores = len(os.sched_getaffinity(0))
    if period < BUSY_PERIOD and len(busy) > cores + 1:
        raise UsageError(
            f"argument layout: expected composed or automatic, since {len(busy)} processes ({', '.join(busy)}) "
            f"do not keep {1e3 * period:g} ms on {cores} cores, got processes",
            "layout:=composed starts them in one process; period:=0.02 gives each process time",
        )


def _is_installed(package: str) -> bool:
    try:
        find_package_prefix(package)
    except LaunchFileError:
        return False
    return True


def parse_arguments(words: Sequence[str]) -> dict[str, str]:
    """Parses words name:=value to values by name; raises UsageError for any other word."""
    arguments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not separator or not name or not value:
            raise UsageError(f"argument {shortened(word)}: expected name:=value")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"argument {shortened(name, 60)[1:-1]}: expected UTF-8 text, got {shortened(value)}"
            ) from None
        arguments[name] = value
    return arguments


def effective_arguments(description: LaunchDescription, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the values of all arguments of a launch file: those of the user, else the defaults.

    Raises:
        UsageError: an argument is unknown, or a value is not among its choices or not of its parameter's type.
    """
    known = {argument.name: argument for argument in description.arguments}
    for name, value in given.items():
        if name not in known:
            hint = f"{SHOW_ARGUMENTS}; params_file:= sets any parameter of a node, see docs/parameters.md"
            raise UsageError(
                f"argument {shortened(name, 60)} is unknown, expected one of: {listed(known, name)}",
                hint if PARAMS_FILE in known else SHOW_ARGUMENTS,
            )
        choices = known[name].choices
        if choices and value not in choices:
            raise UsageError(f"argument {name}: expected one of {', '.join(choices)}, got {shortened(value)}")
        for parameter in description.parameters_of(name):
            try:
                parameter.evaluate(Context({name: value}))
            except LaunchFileError:
                raise UsageError(f"argument {name}: expected {parameter.expected}, got {shortened(value)}") from None
    values = dict(given)
    for name, argument in known.items():
        if name not in values:  # a default may use the value of an earlier argument
            values[name] = evaluate(parse_template(argument.default or ""), Context(values))
    return {name: values[name] for name in known}


def chosen_variants(
    experiment: Experiment, arguments: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Returns the argument sets to run: all variants in lockstep, or one run if the user set an argument that varies.

    If the user gives the path of the bag, there is also only one run: two bags cannot have the same path.
    """
    varied = {"output"}.union(*experiment.variants.values())
    if arguments.get("view") == "true" or arguments.get("input_device", "none") != "none":
        return {"run": {}}  # one page or one user at the hand, one run
    if not experiment.variants or varied & set(given) or arguments.get("mode", "lockstep") != "lockstep":
        return {"run": {}}
    return experiment.variants


def bag_directory(run: Path, place: int, variant: str) -> Path:
    """Returns the path of a variant's bag: bag for the first variant, bag_<variant> for the others."""
    return run / ("bag" if place == 0 else f"bag_{variant}")


def bag_parameters(bag: Path) -> Path:
    """Returns the path of the parameter file beside a bag: parameters.yaml, or parameters_<variant>.yaml."""
    return bag.with_name(f"parameters{bag.name.removeprefix('bag')}.yaml")


def new_run_directory(name: str) -> Path:
    """Makes the directory runs/<time>-<name> in the working directory; a number is added if it exists."""
    base = Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
        directory = base.with_name(base.name + suffix)
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise HapticError(f"{directory}: cannot be made: {error.strerror}") from None
        return directory
    raise HapticError(f"{base}: cannot be made")


def compiled_mark(name: str) -> Path | None:
    """Returns the file that marks compiled kernels of an experiment; None without the suite's Numba cache."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    return Path(cache, "experiments", name) if cache else None


def launch(path: Path, arguments: Mapping[str, str], directory: Path | None = None) -> int:
    """Runs one launch file, with ROS 2's own launch if it is installed, else with the suite's runner.

    Args:
        path: launch file.
        arguments: values by name.
        directory: directory of the run, into which nodes write flight records; None: they use ROS's log directory.

    Returns:
        Exit code of the run.
    """
    own = {} if directory is None else {RUN_DIRECTORY: str(directory.absolute())}
    if importlib.util.find_spec("launch") and importlib.util.find_spec("launch_ros"):
        from haptic_launch.ros_launch import run_launch_file

        os.environ.update(own)
        return run_launch_file(path, arguments)
    try:
        specs = load_launch_file(path).evaluate(arguments, environment={**os.environ, **own})
    except LaunchFileError as error:
        raise HapticError(str(error)) from None
    return run_processes(with_required(specs))


def write_run_file(
    directory: Path,
    experiment: Experiment,
    arguments: Mapping[str, str],
    variants: Mapping[str, Mapping[str, str]],
    code: int,
) -> None:
    """Writes run.yaml with experiment, arguments, variants, versions and exit code."""
    document: dict[str, Any] = {
        "experiment": experiment.name,
        "exit_code": code,
        "arguments": {name: value for name, value in arguments.items() if name not in SECRETS},
        "variants": {name: dict(settings) for name, settings in variants.items()},
        "seed": arguments.get("seed"),
        **run_facts(),
    }
    write_text(directory / "run.yaml", yaml.safe_dump(document, sort_keys=False))


def run_facts() -> dict[str, Any]:
    """Returns the entries of run.yaml about the suite and the machine."""
    return {
        "git": git_state(),
        "versions": {
            "haptic_bringup": _version("haptic_bringup"),
            "python": platform.python_version(),
            "ros_distro": os.environ.get("ROS_DISTRO", "jazzy (wheels)"),
            **{package: _version(package) for package in _PACKAGES},
        },
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def git_state() -> dict[str, Any]:
    """Returns commit and state of the suite's checkout (whether files have changed); empty outside a checkout."""
    root = os.environ.get("HAPTICS_ROOT")
    if not root:
        return {}
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_git(root, "status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(root: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
