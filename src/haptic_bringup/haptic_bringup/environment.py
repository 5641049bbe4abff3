"""Makes the environment in which the suite runs, stage by stage, each only when its inputs have changed.

=========  =======================================================================================
venv       a virtual environment; over a sourced ROS 2 installation it sees that Python's packages
install    the packages of the lock files
repair     (wheels only) the paths of the build machine in the wheels' exported CMake files
build      the workspace, with colcon; a package is built again only when its own inputs changed
activate   ``environment.sh``, which sets the variables, and ``contents``, which lists what must exist
=========  =======================================================================================

A stage that has succeeded leaves a marker, the fingerprint of its inputs; it is made again when these change
or an earlier stage was made again. So setup may be interrupted anywhere and started again.

The ``haptics`` script starts this file with the system's Python: the standard library is all it may import.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from xml.etree import ElementTree

PYTHON_RANGE = ((3, 10), (3, 14))  # of the ROS 2 wheels
DISK_NEEDED = 3e9  # bytes: packages, their downloads, the build

# Files whose contents the build reads. The others in a package count by name only: the build links to them.
_BUILT = re.compile(r"package\.xml|setup\.(py|cfg)|CMakeLists\.txt|.*\.(cmake|msg|srv|action|c|h|cpp|hpp)$")
_SKIPPED = re.compile(r"\..*|.*~|__pycache__|.*\.egg-info|test$")
_INSTALLS_SHARED_FILES = "haptic_bringup"  # the package that installs launch/ and config/ of the checkout

# Paths of the machine that built the wheels, as the wheels' CMake files have them.
_WHEEL_NUMPY_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/lib/python3\.\d+t?/site-packages/numpy/_?core/include")
_WHEEL_PYTHON_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/include/python3\.\d+t?")

# Variables that environment.sh changes; it keeps the old values for a `haptics` called inside.
_VARIABLES = (
    "PATH PYTHONPATH PYTHONHOME VIRTUAL_ENV LD_LIBRARY_PATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH "
    "COLCON_PREFIX_PATH ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION ROS_AUTOMATIC_DISCOVERY_RANGE ROS_HOME "
    "RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE NUMBA_CACHE_DIR MPLBACKEND MPLCONFIGDIR "
    "ADMITTANCE_CONSTRAINTS_CACHE_DIR "
    "HAPTICS_ROOT HAPTICS_ROS HAPTICS_UNDERLAY HAPTICS_ACTIVE HAPTICS_OUTER"
)

# What a stage's log says, and what to do about it.
_HINTS = (
    (r"No space left on device", "free some disk space, or set HAPTICS_HOME to a larger disk"),
    (r"Python\.h: No such file|Development\.Module|Python3_INCLUDE_DIR", "apt install python3-dev"),
    (
        r"No CMAKE_C(XX)?_COMPILER|CMAKE_C(XX)?_COMPILER-NOTFOUND|compiler identification is unknown",
        "apt install g++",
    ),
    (r"ensurepip is not available|No module named '?ensurepip", "apt install python3-venv"),
    (
        r"NewConnectionError|Temporary failure in name resolution|Network is unreachable|Connection refused"
        r"|ReadTimeout|Max retries exceeded|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED",
        "is the package registry reachable? pip's own settings (proxy, index, certificates) apply",
    ),
    (
        r"No matching distribution found|not a supported wheel",
        "no package for this Python: try another HAPTICS_PYTHON, or source a ROS 2 Jazzy installation",
    ),
)

_ENVIRONMENT = """\
# Written by haptic_bringup/environment.py. Sourced in bash, it enters the environment of the haptic suite.
[ "${{HAPTICS_ACTIVE-}}" != {home} ] || return 0
HAPTICS_OUTER=$(for name in {variables}; do
  [ -z "${{!name+set}}" ] && printf 'unset %s; ' "$name" || printf 'export %s=%q; ' "$name" "${{!name}}"
done)
export HAPTICS_OUTER HAPTICS_ACTIVE={home} HAPTICS_ROOT={root} HAPTICS_ROS={ros}
export HAPTICS_UNDERLAY="${{AMENT_PREFIX_PATH-}}"
unset PYTHONHOME
export VIRTUAL_ENV={env}
export PATH={bin}"${{PATH:+:$PATH}}"
export LD_LIBRARY_PATH={libraries}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export PYTHONPATH={python_path}"${{PYTHONPATH:+:$PYTHONPATH}}"
export AMENT_PREFIX_PATH={prefixes}"${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"
export CMAKE_PREFIX_PATH={prefixes}"${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"
export COLCON_PREFIX_PATH={install}"${{COLCON_PREFIX_PATH:+:$COLCON_PREFIX_PATH}}"
export ROS_AUTOMATIC_DISCOVERY_RANGE="${{ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}}"
HAPTICS_DDS=$HAPTICS_ROOT/src/haptic_core/haptic_core/fastdds.xml
export FASTRTPS_DEFAULT_PROFILES_FILE="${{FASTRTPS_DEFAULT_PROFILES_FILE:-$HAPTICS_DDS}}"
# Numba sees that a function's own file has changed, but not the file of a function that it compiled in
HAPTICS_KERNELS=$(grep -rl --include='*.py' njit "$HAPTICS_ROOT/src" | LC_ALL=C sort | xargs cat | cksum)
export NUMBA_CACHE_DIR="$HAPTICS_ACTIVE/numba_cache/${{HAPTICS_KERNELS%% *}}"
unset HAPTICS_KERNELS HAPTICS_DDS
export ADMITTANCE_CONSTRAINTS_CACHE_DIR="$HAPTICS_ACTIVE/constraints_cache"
export MPLBACKEND="${{MPLBACKEND:-Agg}}"
if [ ! -w "${{HOME:-/nonexistent}}" ]; then
  export MPLCONFIGDIR="${{MPLCONFIGDIR:-$HAPTICS_ACTIVE/matplotlib}}"
  export ROS_HOME="${{ROS_HOME:-$HAPTICS_ACTIVE/ros}}"
fi
"""

_WHEELS_ENVIRONMENT = """\
export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1  # the wheels would set LD_LIBRARY_PATH and start Python anew
case "${RMW_IMPLEMENTATION-}" in
  "" | rmw_fastrtps_cpp) ;;
  *)
    echo "haptics: warning: the ROS 2 wheels have no $RMW_IMPLEMENTATION; using rmw_fastrtps_cpp" >&2
    unset RMW_IMPLEMENTATION
    ;;
esac
"""


class SetupError(Exception):
    """An expected failure: one line for the user, a hint what to do, and the log that tells more."""

    def __init__(self, message: str, hint: str = "", log: Path | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.log = log


#: what ends a setup early
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asks to stop; carries the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Workspace:
    """Where everything lies.

    Attributes:
        root: The checkout.
        home: The directory of all that setup makes (``.haptics``).
        ros: "wheels", or "system" for a sourced ROS 2 Jazzy installation.
        underlay: AMENT_PREFIX_PATH of that installation.
    """

    root: Path
    home: Path
    ros: str = "wheels"
    underlay: str = ""

    @property
    def env(self) -> Path:
        """The virtual environment."""
        return self.home / "env"

    @property
    def python(self) -> Path:
        """The interpreter of the virtual environment."""
        return self.env / "bin" / "python"

    @property
    def build(self) -> Path:
        """Colcon's build base."""
        return self.home / "build"

    @property
    def install(self) -> Path:
        """Colcon's merged install base."""
        return self.home / "install"

    @property
    def log(self) -> Path:
        """The logs of all stages."""
        return self.home / "log"

    @property
    def locks(self) -> list[Path]:
        """The lock files to install."""
        names = ["suite.lock", "ros.lock"] if self.ros == "wheels" else ["suite.lock"]
        return [self.root / "requirements" / name for name in names]

    def site_packages(self, prefix: Path) -> Path:
        """The directory of Python modules below a prefix."""
        return prefix / "lib" / f"python{dotted(sys.version_info)}" / "site-packages"


# --- fingerprints ------------------------------------------------------------------------------------------


def digest(*parts: str | bytes) -> str:
    """Hash of a sequence of texts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()


def packages(workspace: Workspace) -> dict[str, Path]:
    """Name and directory of every ROS package below ``src``."""
    found = {}
    for manifest in sorted((workspace.root / "src").glob("*/package.xml")):
        if (manifest.parent / "COLCON_IGNORE").exists():
            continue
        try:
            name = ElementTree.parse(manifest).findtext("name", "").strip()
        except ElementTree.ParseError as error:
            raise SetupError(f"{manifest.relative_to(workspace.root)} is not well-formed XML: {error}") from error
        found[name] = manifest.parent
    return found


def is_cmake(directory: Path) -> bool:
    """Whether CMake builds a package; setuptools does otherwise."""
    return (directory / "CMakeLists.txt").exists()


def files_below(directory: Path) -> Iterator[Path]:
    """The files of a source tree that can matter to its build, in a fixed order."""
    for place, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        yield from (Path(place, name) for name in sorted(names) if not _SKIPPED.fullmatch(name))


def package_fingerprint(workspace: Workspace, directory: Path) -> str:
    """Changes when the package must be built again: not for a Python module or the text of a launch file."""
    roots = [directory]
    if directory.name == _INSTALLS_SHARED_FILES:
        roots += [workspace.root / "launch", workspace.root / "config"]
    parts: list[str | bytes] = []
    for path in (path for root in roots for path in files_below(root)):
        built = _BUILT.fullmatch(path.name) is not None
        if built or path.suffix != ".py":
            parts += [str(path), path.read_bytes() if built else b""]
    return digest(*parts)


def venv_inputs(workspace: Workspace) -> str:
    """Fingerprint of the virtual environment: the interpreter below it and its place."""
    interpreter = os.path.realpath(sys.executable)
    return digest(workspace.ros, str(workspace.home), interpreter, dotted(sys.version_info))


def base_inputs(workspace: Workspace) -> str:
    """Fingerprint of what the workspace is built upon."""
    return digest(venv_inputs(workspace), workspace.underlay, *(lock.read_bytes() for lock in workspace.locks))


def install_inputs(workspace: Workspace) -> str:
    """Fingerprint of the installed packages."""
    return digest(base_inputs(workspace), Path(__file__).read_bytes())


def build_inputs(workspace: Workspace) -> str:
    """Fingerprint of the built workspace."""
    built = {name: package_fingerprint(workspace, path) for name, path in packages(workspace).items()}
    return digest(install_inputs(workspace), str(workspace.root), json.dumps(built, sort_keys=True))


# --- the stages --------------------------------------------------------------------------------------------


def make_venv(workspace: Workspace, show: Callable[[str], None]) -> None:
    """Creates the virtual environment anew."""
    remove(workspace.env)
    options = ["--system-site-packages"] if workspace.ros == "system" else []
    command = [sys.executable, "-I", "-m", "venv", *options, str(workspace.env)]
    run(
        command,
        workspace.log / "venv.log",
        clean_variables(),
        show,
        "the virtual environment could not be made",
    )


def install_packages(workspace: Workspace, show: Callable[[str], None]) -> None:
    """Installs the packages of the lock files, exactly these."""
    for metadata in workspace.site_packages(workspace.env).glob("*.dist-info"):
        if not (metadata / "RECORD").exists():  # written last: an interrupted installation, which pip would keep
            remove(metadata)
    command = [str(workspace.python), "-m", "pip", "install", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off"]
    for lock in workspace.locks:
        command += ["-r", str(lock)]
    variables = clean_variables() | {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"):
        variables.pop(name, None)
    run(command, workspace.log / "install.log", variables, show, "the packages could not be installed")


def repaired(text: str, python_include: str, numpy_include: str) -> str:
    """The text of a wheel's CMake file, with the include directories of this machine."""
    text = _WHEEL_NUMPY_INCLUDE.sub(lambda _: numpy_include, text)
    return _WHEEL_PYTHON_INCLUDE.sub(lambda _: python_include, text)


def repair_wheels(workspace: Workspace, show: Callable[[str], None]) -> None:
    """Repairs the exported CMake files of the wheels in the virtual environment."""
    numpy_include = workspace.site_packages(workspace.env) / "numpy" / "_core" / "include"
    python_include = sysconfig.get_paths()["include"]
    for path in sorted((workspace.env / "share").rglob("*.cmake")):
        text = path.read_text(encoding="utf-8")
        better = repaired(text, python_include, str(numpy_include))
        if better != text:
            show(path.name)
            write(path, better)


def build_workspace(workspace: Workspace, show: Callable[[str], None]) -> None:
    """Builds the packages whose inputs changed; all from nothing when what lies below them changed."""
    wanted = {name: package_fingerprint(workspace, path) for name, path in packages(workspace).items()}
    built = {path.parent.name: path for path in workspace.build.glob("*/.fingerprint")}
    base = digest(base_inputs(workspace), str(workspace.root))
    fresh = read(workspace.build / ".base") != base or bool(built.keys() - wanted.keys())
    if not fresh:
        changed = [name for name in wanted if name not in built or read(built[name]) != wanted[name]]
        try:
            if changed:
                run_colcon(workspace, changed, show)
        except SetupError:  # perhaps what an interrupted build left behind
            fresh = True
    if fresh:
        remove(workspace.build)
        remove(workspace.install)
        workspace.build.mkdir(parents=True)
        write(workspace.build / ".base", base)
        run_colcon(workspace, list(wanted), show)
    for name, fingerprint in wanted.items():
        write(workspace.build / name / ".fingerprint", fingerprint)
    for path in workspace.install.rglob("*"):
        if path.is_symlink() and not path.exists():  # a launch or configuration file that is gone
            path.unlink()


def run_colcon(workspace: Workspace, names: list[str], show: Callable[[str], None]) -> None:
    """Builds some packages, and the CMake ones whenever one of these is among them."""
    places = packages(workspace)
    if any(is_cmake(places[name]) for name in names):
        names = sorted({*names, *(name for name, path in places.items() if is_cmake(path))})
    for name in names:
        (workspace.build / name / ".fingerprint").unlink(missing_ok=True)
    remove(workspace.log / "colcon")
    command = [str(workspace.python), "-m", "colcon", "--log-base", str(workspace.log / "colcon"), "build"]
    command += ["--base-paths", str(workspace.root / "src"), "--build-base", str(workspace.build)]
    command += ["--install-base", str(workspace.install), "--symlink-install", "--merge-install"]
    command += ["--event-handlers", "console_direct+", "desktop_notification-", "--packages-select", *names]
    command += [
        "--cmake-args",
        "-G",
        "Ninja",
        f"-DPython3_EXECUTABLE={workspace.python}",
        "-DBUILD_TESTING=OFF",
    ]
    variables = build_variables(workspace) | {"COLCON_HOME": str(workspace.home / "colcon")}
    run(command, workspace.log / "build.log", variables, show, "the workspace does not build")


def write_environment(workspace: Workspace, show: Callable[[str], None]) -> None:
    """Writes ``environment.sh`` and the list of what must exist for it to work."""
    places = packages(workspace)
    wheels = workspace.ros == "wheels"
    libraries = [workspace.install / "lib", *(wheel_libraries(workspace) if wheels else [])]
    modules = [workspace.build / name for name, path in places.items() if not is_cmake(path)]
    modules.append(workspace.site_packages(workspace.install))
    values = {
        "variables": _VARIABLES,
        "home": quoted(workspace.home),
        "root": quoted(workspace.root),
        "ros": workspace.ros,
        "env": quoted(workspace.env),
        "bin": quoted(workspace.env / "bin", workspace.install / "bin"),
        "libraries": quoted(*libraries),
        "python_path": quoted(*modules),
        "prefixes": quoted(workspace.install, *([workspace.env] if wheels else [])),
        "install": quoted(workspace.install),
    }
    text = _ENVIRONMENT.format(**values) + (_WHEELS_ENVIRONMENT if wheels else "")
    write(workspace.home / "environment.sh", text)
    write(workspace.home / "contents", "".join(f"{path}\n" for path in contents(workspace)))


@dataclass(frozen=True)
class Stage:
    """One stage: its marker is the fingerprint of its inputs.

    The functions are named, not referenced, so that a test can replace the long ones.
    """

    name: str
    title: str
    inputs: Callable[[Workspace], str]
    make: str


STAGES = (
    Stage("venv", "virtual environment", venv_inputs, "make_venv"),
    Stage("install", "packages", install_inputs, "install_packages"),
    Stage("repair", "repair of the ROS 2 wheels", install_inputs, "repair_wheels"),
    Stage("build", "workspace", build_inputs, "build_workspace"),
    Stage("activate", "activation", build_inputs, "write_environment"),
)


def stages(workspace: Workspace) -> list[Stage]:
    """The stages in their order; a ROS installation needs no repair."""
    return [stage for stage in STAGES if workspace.ros == "wheels" or stage.name != "repair"]


def marker(workspace: Workspace, stage: Stage) -> Path:
    """The file that says with which inputs a stage last succeeded."""
    return workspace.home / "stages" / stage.name


def pending(workspace: Workspace) -> list[Stage]:
    """The stages to be made: the first whose inputs changed, and all after it."""
    every = stages(workspace)
    for index, stage in enumerate(every):
        if read(marker(workspace, stage)) != stage.inputs(workspace):
            return every[index:]
    return []


def forget(workspace: Workspace, first: str) -> None:
    """Removes the markers of a stage and of all after it."""
    names = [stage.name for stage in STAGES]
    for stage in STAGES[names.index(first) :]:
        marker(workspace, stage).unlink(missing_ok=True)


def forget_damaged(workspace: Workspace) -> None:
    """Finds what was removed or broken since it was made, so that it is made again."""
    listed = (read(workspace.home / "contents") or "").splitlines()
    missing = [path for path in map(Path, listed) if not path.exists()]
    if any(path.is_relative_to(workspace.env) for path in missing) or not runs(workspace.python):
        forget(workspace, "venv")
    elif missing:
        remove(workspace.build)
        forget(workspace, "build")
    elif not listed or not (workspace.home / "environment.sh").exists():
        forget(workspace, "activate")


def bring_up_to_date(workspace: Workspace) -> None:
    """Makes every stage that is pending."""
    forget_damaged(workspace)
    todo = pending(workspace)
    if not todo:
        return
    (workspace.home / "stamp").unlink(missing_ok=True)
    check_machine(workspace, {stage.name for stage in todo})
    if todo[0].name == "venv":
        say(f"setting up the environment in {workspace.home}; this is done once and takes some minutes")
    workspace.log.mkdir(parents=True, exist_ok=True)
    marker(workspace, todo[0]).parent.mkdir(exist_ok=True)
    every = stages(workspace)
    for stage in todo:
        inputs = stage.inputs(workspace)
        forget(workspace, stage.name)
        with progress(f"[{every.index(stage) + 1}/{len(every)}] {stage.title}") as show:
            globals()[stage.make](workspace, show)
        write(marker(workspace, stage), inputs)


# --- what the stages use -----------------------------------------------------------------------------------


def wheel_libraries(workspace: Workspace) -> list[Path]:
    """The directories of the wheels' shared libraries."""
    return [workspace.env / "lib", *sorted(workspace.site_packages(workspace.env).glob("ros_*.libs"))]


def clean_variables() -> dict[str, str]:
    """The variables of this process, without those that would mislead another Python."""
    misleading = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    kept = {name: value for name, value in os.environ.items() if name not in misleading}
    return kept | {"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}


def build_variables(workspace: Workspace) -> dict[str, str]:
    """The variables for colcon: those of the wheels alone, or those of the sourced ROS installation."""
    variables = clean_variables()
    programs = str(workspace.env / "bin")
    if workspace.ros == "system":
        variables.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE")
        variables["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        cmake = shutil.which("cmake")
        if cmake:  # the one that the installation was made for
            variables["CMAKE_COMMAND"] = cmake
    else:
        variables.pop("COLCON_PREFIX_PATH", None)
        variables["AMENT_PREFIX_PATH"] = variables["CMAKE_PREFIX_PATH"] = str(workspace.env)
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, wheel_libraries(workspace)))
    variables["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    return variables


def pinned(locks: Iterable[Path]) -> list[str]:
    """The requirements of some lock files: ``name==version ; marker``."""
    lines = (line.strip() for lock in locks for line in lock.read_text(encoding="utf-8").splitlines())
    return sorted({line for line in lines if re.match(r"[A-Za-z0-9]", line)})


def distribution_key(name: str) -> str:
    """The name of a distribution as its metadata directory spells it, to compare names."""
    return re.sub(r"[-_.]+", "_", name).lower()


def contents(workspace: Workspace) -> list[Path]:
    """Paths that exist in a whole environment: top-level modules of the locked packages, what was built."""
    modules = workspace.site_packages(workspace.env)
    locked = {distribution_key(re.split(r"[=\s\[]", line)[0]) for line in pinned(workspace.locks)}
    found = {workspace.python}
    for record in modules.glob("*.dist-info/RECORD"):
        if distribution_key(record.parent.name.split("-")[0]) in locked:
            names = {line.split("/")[0].split(",")[0] for line in record.read_text(encoding="utf-8").splitlines()}
            found |= {modules / name for name in names - {"..", "__pycache__"} if (modules / name).exists()}
    for name, path in packages(workspace).items():
        found.add(workspace.install / "share" / name)
        found |= set() if is_cmake(path) else {workspace.build / name / "setup.py"}
    found |= set((workspace.install / "lib").glob("*.so"))
    found |= {path for path in workspace.site_packages(workspace.install).glob("*") if path.name != "__pycache__"}
    found |= {path for path in workspace.build.glob("*/*") if path.is_symlink()}
    return sorted(found)


def python_problem(ros: str) -> str:
    """What is wrong with the running Python for the environment; empty if nothing is."""
    lowest, highest = map(dotted, PYTHON_RANGE)
    if sys.version_info[:2] < PYTHON_RANGE[0]:
        return f"it is older than {lowest}"
    if ros == "wheels" and sys.version_info[:2] > PYTHON_RANGE[1]:
        return f"the ROS 2 wheels exist for Python {lowest} to {highest}"
    if not has_venv():
        return "it has no venv module (apt install python3-venv)"
    if not has_headers():
        return "it has no headers (apt install python3-dev)"
    if ros == "system" and subprocess.run([sys.executable, "-c", "import rclpy"], capture_output=True).returncode:
        return "it cannot import the rclpy of the sourced ROS 2; set HAPTICS_PYTHON to the Python of that ROS"
    return ""


def has_venv() -> bool:
    """Whether this Python can make virtual environments."""
    try:
        importlib.import_module("venv")
        importlib.import_module("ensurepip")
    except ImportError:
        return False
    return True


def has_headers() -> bool:
    """Whether extensions can be compiled for this Python."""
    return Path(sysconfig.get_paths()["include"], "Python.h").exists()


def compiler() -> str | None:
    """The C++ compiler that CMake will find."""
    named = os.environ.get("CXX", "").split()
    return next(filter(None, map(shutil.which, [*named[:1], "c++", "g++", "clang++"])), None)


def machine_problem(ros: str) -> str:
    """Why the ROS 2 wheels do not run on this machine; empty if they do."""
    machine, (libc, version) = platform.machine(), platform.libc_ver()
    if ros == "system":
        return ""
    if machine != "x86_64":
        return f"the ROS 2 wheels exist for x86_64, this is {machine}"
    if libc != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 28):
        return f"the ROS 2 wheels need glibc 2.28 or newer, this is {libc or 'another C library'} {version}"
    return ""


def check_machine(workspace: Workspace, todo: set[str]) -> None:
    """Refuses early what would fail late."""
    problem = machine_problem(workspace.ros)
    if problem:
        raise SetupError(problem, "source a ROS 2 Jazzy installation, or use the container in docker/")
    if "build" in todo and not compiler():
        raise SetupError("no C++ compiler", "apt install g++")
    free = shutil.disk_usage(workspace.home).free
    if "venv" in todo and free < DISK_NEEDED:
        raise SetupError(
            f"{free / 1e9:.1f} GB of disk space are free, setup needs {DISK_NEEDED / 1e9:.1f} GB",
            "free some, or set HAPTICS_HOME to a larger disk",
        )


def runs(python: Path) -> bool:
    """Whether an interpreter starts and has the version of this one."""
    command = [str(python), "-I", "-S", "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == dotted(sys.version_info)


def dotted(version: tuple[Any, ...]) -> str:
    """Major and minor number of a Python version."""
    return f"{version[0]}.{version[1]}"


def quoted(*paths: Path) -> str:
    """Paths joined by colons, as one word of bash."""
    return shlex.quote(os.pathsep.join(map(str, paths)))


def read(path: Path) -> str | None:
    """The text of a file, None if there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    if path.exists():
        shutil.copymode(path, part)
    part.replace(path)


def remove(directory: Path) -> None:
    """Removes a directory tree, if there is one."""
    if directory.is_symlink() or directory.is_file():
        directory.unlink()
    elif directory.exists():
        shutil.rmtree(directory)


def run(command: list[str], log: Path, variables: dict[str, str], show: Callable[[str], None], failure: str) -> None:
    """Runs one command of a stage, its output in a log.

    Args:
        command: Program and arguments.
        log: The file for its output.
        variables: Its environment variables.
        show: Called with the last line of the output, about five times a second.
        failure: What to say when it fails.

    Raises:
        SetupError: The command failed.
    """
    with log.open("w", encoding="utf-8") as stream:
        stream.write(f"$ {shlex.join(command)}\n")
        stream.flush()
        process = None
        try:
            # an interrupt that came while the command starts would leave it running, unknown to us
            before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env=variables,
                    cwd=log.parent,  # not the user's: Python looks for modules there
                    start_new_session=True,
                    close_fds=False,  # it inherits the lock, which is thus held as long as it lives
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)  # what came meanwhile is raised here
            while True:
                try:
                    code = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    show(last_line(log))
        except BaseException:
            if process is not None:
                stop(process)
            raise
    if code:
        text = log.read_text(encoding="utf-8", errors="replace")
        hint = next((hint for pattern, hint in _HINTS if re.search(pattern, text)), "")
        raise SetupError(failure, hint, log)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and all that it started."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(timeout=patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 2000))
        lines = stream.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Shows one line for a stage: its time, and on a terminal the last line of its output while it lasts."""
    start = time.monotonic()
    terminal = sys.stderr.isatty()

    def show(tail: str) -> None:
        if terminal:
            head = f"  {title}  {time.monotonic() - start:.0f} s  "
            room = max(0, shutil.get_terminal_size().columns - len(head) - 1)
            sys.stderr.write(f"\r\x1b[K{head}\x1b[2m{tail[:room]}\x1b[0m")
            sys.stderr.flush()

    sys.stderr.write(f"  {title} ")
    sys.stderr.flush()
    outcome = "not finished after "
    try:
        yield show
        outcome = ""
    finally:
        clear = f"\r\x1b[K  {title} " if terminal else ""
        sys.stderr.write(f"{clear} {outcome}{time.monotonic() - start:.1f} s\n")


@contextlib.contextmanager
def only_setup(workspace: Workspace) -> Iterator[None]:
    """Waits until no other setup works on the same environment, and keeps others waiting."""
    import fcntl

    workspace.home.mkdir(parents=True, exist_ok=True)
    with (workspace.home / "lock").open("a") as lock:
        os.set_inheritable(lock.fileno(), True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another setup is at work; waiting for it to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def clear(workspace: Workspace) -> None:
    """Removes all that setup made, the markers first."""
    names = "stamp stages contents environment.sh install build launch config colcon env"
    for name in [*names.split(), "numba_cache", "constraints_cache", "peers"]:
        remove(workspace.home / name)


def write_stamp(workspace: Workspace, sources: str) -> None:
    """Writes what the ``haptics`` script compares before each start."""
    real = workspace.python.resolve()
    state = real.stat()
    identity = f"{real} {int(state.st_mtime)} {state.st_size}"
    write(workspace.home / "stamp", f"{sources}\n{identity}\n{os.environ.get('HAPTICS_PYTHON', '')}\n")


def say(text: str) -> None:
    """Tells the user one line; standard output belongs to the command that follows."""
    print(f"haptics: {text}", file=sys.stderr, flush=True)


def complain(error: SetupError) -> None:
    """Tells the user what failed and what to do."""
    if error.log:
        lines = error.log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
        print(*(f"  | {line[:160]}" for line in lines[-15:]), sep="\n", file=sys.stderr)
    say(f"error: {error}" + (f" (all of it: {error.log})" if error.log else ""))
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)


# --- entry points ------------------------------------------------------------------------------------------


def import_or_repair(module: str) -> ModuleType:
    """Imports the command line; a broken environment is repaired, and the same command started again.

    An import that fails in the suite's own code is a mistake there, not in the environment, and is raised.

    Args:
        module: The full name of the module.

    Raises:
        ImportError: The missing module is none that setup provides.
    """
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        home = os.environ.get("HAPTICS_ACTIVE")
        if not home or not provided_by_setup(error, Path(home)):
            raise
        if os.environ.get("HAPTICS_REPAIRED"):
            say(f"error: the environment is broken, and was just made from nothing: {error}")
            print("  hint: ./haptics doctor", file=sys.stderr)
            sys.exit(1)
        say(f"the environment is broken ({error}); making it from nothing")
        script = f"{os.environ['HAPTICS_ROOT']}/haptics"
        os.execve(script, [script, *sys.argv[1:]], os.environ | {"HAPTICS_REPAIR": "1"})
    os.environ.pop("HAPTICS_REPAIRED", None)
    return loaded


def provided_by_setup(error: ImportError, home: Path) -> bool:
    """Whether an import failed for want of something that setup puts into the environment."""
    if error.name is None:  # a compiled extension complains about its libraries
        return not isinstance(error, ModuleNotFoundError)
    listed = [Path(line) for line in (read(home / "contents") or "").splitlines()]
    installed = {path.name.split(".")[0] for path in listed if path.is_relative_to(home / "env")}
    built = {path.name for path in listed if not path.is_relative_to(home / "env")}
    return error.name.partition(".")[0] in installed or error.name in built


def parse(arguments: list[str]) -> Any:
    """The options, and the command to start afterwards."""
    import argparse

    options, command = arguments, []
    if "--" in arguments:
        cut = arguments.index("--")
        options, command = arguments[:cut], arguments[cut + 1 :]
    parser = argparse.ArgumentParser(prog="haptics setup", description="Makes the environment of the suite.")
    parser.add_argument("--clean", "--force", action="store_true", help="make everything from nothing")
    for hidden in ("--probe", "--root", "--home", "--ros", "--stamp"):  # given by the haptics script
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parsed = parser.parse_args(options)
    parsed.command = command
    return parsed


def set_up(options: Any) -> None:
    """Brings the environment up to date and stamps it."""
    underlay = os.environ.get("AMENT_PREFIX_PATH", "") if options.ros == "system" else ""
    workspace = Workspace(Path(options.root), Path(options.home), options.ros, underlay)
    with only_setup(workspace):
        if options.clean:
            say(f"removing the environment in {workspace.home}")
            clear(workspace)
        bring_up_to_date(workspace)
        write_stamp(workspace, options.stamp)
    if not options.command:
        say(f"the environment in {workspace.home} is up to date")


def main(arguments: list[str]) -> NoReturn:
    """Sets up, then replaces this process by the command that asked for it."""
    options = parse(arguments)
    if options.probe:
        problem = python_problem(options.probe)
        print(problem)
        sys.exit(bool(problem))

    def interrupt(number: int, _: object) -> NoReturn:
        raise Interrupted(128 + number)

    for number in INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        set_up(options)
    except Interrupted as stopped:
        say("setup was interrupted; the next start continues it")
        sys.exit(stopped.code)
    except SetupError as error:
        complain(error)
        sys.exit(1)
    except OSError as error:
        complain(SetupError(f"setup failed: {error}", "HAPTICS_HOME puts the environment elsewhere"))
        sys.exit(1)
    if options.command:
        os.execve(options.command[0], options.command, os.environ | {"HAPTICS_FRESH": "1"})
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
