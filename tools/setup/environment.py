"""Makes the environment in which the suite runs.

========  ===========================================================================================
packages  a virtual environment with the packages of the lock files, by uv, or pip where uv cannot be had
build     messages and C++ libraries, by colcon; over a ROS 2 installation the Python packages, too
contact   (wheels only) the contact geometry in C++; a first ``run`` leaves it out if the experiment needs none
link      (wheels only) Python packages, executables, launch and configuration files, by symbolic links
activate  ``environment.sh``, which sets the variables
========  ===========================================================================================

A stage that succeeded leaves a marker, the fingerprint of its inputs; setup makes every stage whose marker
differs, and all after it. So an interrupted setup continues at the next start. Nothing else is mended:
``./haptics setup --clean`` makes everything from nothing.

The ``haptics`` script starts this file with the system's Python: the standard library is all it may import.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

sys.path.append(str(Path(__file__).resolve().parent))  # `python -I` leaves it out
from commands import INTERRUPTS, Interrupted, Show, progress, run, say, slowness
from machine import DOWNLOAD, ENVIRONMENT, SetupError, check_machine, dotted, python_problem

_HERE = Path(__file__).resolve().parent

# The contact geometry in C++, a fifth of the build. Most experiments need none.
_CONTACT = "convex_contact_native"
# Plugins for ros2_control, which has no wheels.
_HARDWARE = "haptic_hardware"

# Files whose contents the build reads. The others in a package count by name only: they are linked.
_BUILT = re.compile(r"package\.xml|setup\.(py|cfg)|CMakeLists\.txt|.*\.(cmake|msg|srv|action|c|h|cpp|hpp)$")
_SKIPPED = re.compile(r"\..*|.*~|__pycache__|.*\.egg-info|test$")

# Paths of the machine that built the wheels, as the wheels' CMake files have them.
_WHEEL_NUMPY_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/lib/python3\.\d+t?/site-packages/numpy/_?core/include")
_WHEEL_PYTHON_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/include/python3\.\d+t?")


@dataclass(frozen=True)
class Workspace:
    """Where everything lies.

    Attributes:
        root: The checkout.
        home: The folder of all that setup makes (``.haptics``).
        ros: "wheels", or "system" for a sourced ROS 2 Jazzy installation.
        underlay: AMENT_PREFIX_PATH of that installation.
        geometry: Whether the contact geometry is made, too.
    """

    root: Path
    home: Path
    ros: str = "wheels"
    underlay: str = ""
    geometry: bool = True

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
        """Colcon's build folder."""
        return self.home / "build"

    @property
    def install(self) -> Path:
        """The prefix of the built and linked packages."""
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

    @property
    def packages(self) -> list[Path]:
        """The folder of every ROS package below ``src``."""
        return sorted(manifest.parent for manifest in (self.root / "src").glob("*/package.xml"))

    @property
    def compiled(self) -> list[Path]:
        """The packages for colcon: all of them over a ROS 2 installation."""
        if self.ros == "system":
            return self.packages
        return [path for path in self.packages if _has_recipe(path) and path.name not in (_CONTACT, _HARDWARE)]

    @property
    def linked(self) -> list[Path]:
        """The packages that are linked instead of built."""
        return [] if self.ros == "system" else [path for path in self.packages if not _has_recipe(path)]

    @property
    def contact(self) -> list[Path]:
        """The package that is built only when it is needed."""
        wanted = self.geometry and self.ros == "wheels"
        return [path for path in self.packages if wanted and path.name == _CONTACT]

    def site_packages(self, prefix: Path) -> Path:
        """The folder of Python modules below a prefix."""
        return prefix / "lib" / f"python{dotted(sys.version_info)}" / "site-packages"

    @property
    def wheel_libraries(self) -> list[Path]:
        """The folders of the wheels' shared libraries."""
        return [self.env / "lib", *sorted(self.site_packages(self.env).glob("ros_*.libs"))]


def _has_recipe(package: Path) -> bool:
    return (package / "CMakeLists.txt").exists()


# --- fingerprints ------------------------------------------------------------------------------------------


def digest(*parts: str | bytes) -> str:
    """Hash of a sequence of texts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()


def package_inputs(workspace: Workspace) -> str:
    """Fingerprint of the virtual environment and its packages."""
    interpreter = os.path.realpath(sys.executable)
    locks = [lock.read_bytes() for lock in workspace.locks]
    return digest(workspace.ros, workspace.underlay, str(workspace.home), interpreter, sys.version, *locks)


def source_inputs(folders: list[Path]) -> str:
    """Fingerprint of source trees: the contents of files that a build reads, the names of the others."""
    parts: list[str | bytes] = []
    for folder in folders:
        for place, inner, names in os.walk(folder, followlinks=True):
            inner[:] = sorted(name for name in inner if not _SKIPPED.fullmatch(name))
            for path in (Path(place, name) for name in sorted(names) if not _SKIPPED.fullmatch(name)):
                built = _BUILT.fullmatch(path.name) is not None
                if built or path.suffix != ".py":
                    parts += [str(path), path.read_bytes() if built else b""]
    return digest(*parts)


def build_inputs(workspace: Workspace) -> str:
    """Fingerprint of what colcon builds."""
    return digest(package_inputs(workspace), source_inputs(workspace.compiled))


def link_inputs(workspace: Workspace) -> str:
    """Fingerprint of what is linked."""
    return digest(build_inputs(workspace), source_inputs(workspace.linked))


def contact_inputs(workspace: Workspace) -> str:
    """Fingerprint of the contact geometry and what it is built with."""
    return digest(build_inputs(workspace), source_inputs(workspace.contact))


# --- the stages --------------------------------------------------------------------------------------------


def install_packages(workspace: Workspace, show: Show) -> None:
    """Makes the virtual environment anew, with exactly the packages of the lock files, their hashes checked."""
    remove(workspace.env)
    options = ["--system-site-packages"] if workspace.ros == "system" else []
    command = [sys.executable, "-I", "-m", "venv", "--without-pip", *options, str(workspace.env)]
    run(command, workspace.log / "venv.log", variables(), show, "the virtual environment could not be made")
    locked = [word for lock in workspace.locks for word in ("-r", str(lock))]
    options = ["install", "--no-deps", "--require-hashes"]
    uv = find_uv(workspace, show)
    if uv:
        try:
            command = [uv, "pip", *options, "--python", str(workspace.python), *locked]
            run(command, workspace.log / "uv.log", uv_variables(workspace), show, "uv could not install the packages")
            remove(workspace.home / "uv_cache")
        except SetupError as error:
            if "disk" in error.hint:
                raise
            fall_back(error)
            uv = None
    if not uv:
        command = [*pip(workspace.python), *options, "--no-input", "--progress-bar", "off", *locked]
        run(command, workspace.log / "pip.log", pip_variables(), show, "the packages could not be installed")
    if workspace.ros == "wheels":
        repair_wheels(workspace)


def find_uv(workspace: Workspace, show: Show) -> str | None:
    """The uv of the machine; else that of requirements/uv.lock, fetched by pip; None if it cannot be had."""
    found = shutil.which("uv")
    if found:
        return found
    place = workspace.home / "uv"
    program = place / "bin" / "uv"
    command = [
        *pip(Path(sys.executable)),
        "install",
        "--no-compile",
        "--upgrade",
        "--target",
        str(place),
        "--require-hashes",
    ]
    command += ["-r", str(workspace.root / "requirements" / "uv.lock")]
    try:
        if not program.exists():
            run(command, workspace.log / "uv_install.log", pip_variables(), show, "uv could not be had")
    except SetupError as error:
        fall_back(error)
        return None
    return str(program)


def fall_back(error: SetupError) -> None:
    """Shows that pip does what uv could not do."""
    print(file=sys.stderr)  # the progress line is not at its end
    say(f"{error} (all of it: {error.log}); pip installs the packages, which takes some minutes")


def repair_wheels(workspace: Workspace) -> None:
    """Repairs the exported CMake files of the wheels in the virtual environment."""
    numpy_include = workspace.site_packages(workspace.env) / "numpy" / "_core" / "include"
    python_include = sysconfig.get_paths()["include"]
    for path in sorted((workspace.env / "share").rglob("*.cmake")):
        text = path.read_text(encoding="utf-8")
        better = repaired(text, python_include, str(numpy_include))
        if better != text:
            write(path, better)  # a new file: uv may have linked the old one to its cache


def repaired(text: str, python_include: str, numpy_include: str) -> str:
    """The text of a wheel's CMake file, with the include folders of this machine."""
    text = _WHEEL_NUMPY_INCLUDE.sub(lambda _: numpy_include, text)
    return _WHEEL_PYTHON_INCLUDE.sub(lambda _: python_include, text)


def build_workspace(workspace: Workspace, show: Show) -> None:
    """Builds the messages and C++ libraries; ninja builds again only what changed."""
    recipes = [path.read_bytes() for folder in workspace.compiled for path in folder.glob("CMakeLists.txt")]
    base = digest(package_inputs(workspace), str(workspace.root), *(path.name for path in workspace.compiled), *recipes)
    if read(workspace.build / ".base") != base:
        remove(workspace.build)
        remove(workspace.install)
        workspace.build.mkdir(parents=True)
    write(workspace.build / ".base", base)
    colcon(workspace, workspace.compiled, "build", show)


def build_contact(workspace: Workspace, show: Show) -> None:
    """Builds the contact geometry."""
    colcon(workspace, workspace.contact, "contact", show)


def colcon(workspace: Workspace, packages: list[Path], log: str, show: Show) -> None:
    """Builds packages into the prefix."""
    remove(workspace.log / "colcon")
    command = [str(workspace.python), "-m", "colcon", "--log-base", str(workspace.log / "colcon"), "build"]
    command += ["--paths", *map(str, packages), "--build-base", str(workspace.build)]
    command += ["--install-base", str(workspace.install), "--symlink-install", "--merge-install"]
    command += ["--event-handlers", "console_direct+", "desktop_notification-"]
    command += ["--cmake-args", "-G", "Ninja", f"-DPython3_EXECUTABLE={workspace.python}", "-DBUILD_TESTING=OFF"]
    run(command, workspace.log / f"{log}.log", build_variables(workspace), show, "the workspace does not build")


def link_packages(workspace: Workspace, show: Show) -> None:
    """Links the Python packages into the prefix, as ``setup.py develop`` would."""
    command = [str(workspace.python), "-I", str(_HERE / "link_packages.py"), str(workspace.install)]
    command += map(str, workspace.linked)
    run(command, workspace.log / "link.log", build_variables(workspace), show, "the packages cannot be linked")


def write_environment(workspace: Workspace, show: Show) -> None:
    """Writes ``environment.sh`` from its template."""
    wheels = workspace.ros == "wheels"
    modules = [] if wheels else [workspace.build / path.name for path in workspace.compiled]
    values = {
        "home": quoted(workspace.home),
        "root": quoted(workspace.root),
        "ros": workspace.ros,
        "env": quoted(workspace.env),
        "bin": quoted(workspace.env / "bin", workspace.install / "bin"),
        "libraries": quoted(workspace.install / "lib", *(workspace.wheel_libraries if wheels else [])),
        "python_path": quoted(*modules, workspace.site_packages(workspace.install)),
        "prefixes": quoted(workspace.install, *([workspace.env] if wheels else [])),
        "install": quoted(workspace.install),
    }
    text = (_HERE / "environment.sh.in").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    write(workspace.home / "environment.sh", text)


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: Of its marker.
        title: What the progress line shows.
        inputs: The fingerprint of its inputs.
        make: Name of the function that makes it, so that a test can replace it.
        seconds: How long it takes on the machine of README.md.
    """

    name: str
    title: str
    inputs: Callable[[Workspace], str]
    make: str
    seconds: float


STAGES = (
    Stage("packages", "packages", package_inputs, "install_packages", 17.0),
    Stage("build", "messages", build_inputs, "build_workspace", 9.0),
    Stage("contact", "contact geometry", contact_inputs, "build_contact", 6.0),
    Stage("link", "Python packages", link_inputs, "link_packages", 0.7),
    Stage("activate", "environment.sh", link_inputs, "write_environment", 0.0),
)


def stages(workspace: Workspace) -> list[Stage]:
    """The stages in their order; colcon installs the Python packages over a ROS 2 installation."""
    absent = {"link": not workspace.linked, "contact": not workspace.contact}
    return [stage for stage in STAGES if not absent.get(stage.name)]


def marker(workspace: Workspace, stage: Stage) -> Path:
    """The file with the inputs of a stage when it last succeeded."""
    return workspace.home / "stages" / stage.name


def pending(workspace: Workspace) -> list[Stage]:
    """The stages to be made: the first whose inputs changed, and all after it."""
    every = stages(workspace)
    for index, stage in enumerate(every):
        if read(marker(workspace, stage)) != digest(stage.inputs(workspace), setup_version()):
            return every[index:]
    return []


def setup_version() -> str:
    """Fingerprint of setup itself."""
    return digest(*(path.read_bytes() for path in sorted(_HERE.glob("*")) if path.is_file()))


def bring_up_to_date(workspace: Workspace) -> None:
    """Makes every stage that is pending."""
    todo = pending(workspace)
    if not todo:
        return
    (workspace.home / "stamp").unlink(missing_ok=True)
    factor = min(slowness())
    if todo[0].name == "packages":
        seconds = factor * sum(stage.seconds for stage in todo)
        say(
            f"setting up the environment in {workspace.home}, once: {DOWNLOAD / 1e6:.0f} MB of downloads, "
            f"{ENVIRONMENT / 1e9:.1f} GB of disk, about {seconds:.0f} s"
        )
    workspace.log.mkdir(parents=True, exist_ok=True)
    (workspace.home / "stages").mkdir(exist_ok=True)
    every = stages(workspace)
    for stage in todo:
        inputs = digest(stage.inputs(workspace), setup_version())
        for later in STAGES[STAGES.index(stage) :]:
            marker(workspace, later).unlink(missing_ok=True)
        with progress(f"[{every.index(stage) + 1}/{len(every)}] {stage.title}", factor * stage.seconds) as show:
            globals()[stage.make](workspace, show)
        write(marker(workspace, stage), inputs)


# --- what the stages use -----------------------------------------------------------------------------------


def pip(python: Path) -> list[str]:
    """The command of pip in a Python: its own, or the one that comes with ``ensurepip``."""
    code = (
        "import runpy, sys, sysconfig\nfrom pathlib import Path\n"
        "try:\n    import pip\nexcept ImportError:\n"
        "    import ensurepip\n"
        "    places = [Path(ensurepip.__file__).parent / '_bundled', sysconfig.get_config_var('WHEEL_PKG_DIR')]\n"
        "    sys.path.insert(0, str(next(w for p in places if p for w in Path(p).glob('pip-*.whl'))))\n"
        "runpy.run_module('pip', run_name='__main__', alter_sys=True)"
    )
    return [str(python), "-c", code, "--disable-pip-version-check"]


def pinned(locks: Iterable[Path]) -> list[str]:
    """The requirements of some lock files: ``name==version ; marker``."""
    lines = (line.rstrip(" \\") for lock in locks for line in lock.read_text(encoding="utf-8").splitlines())
    return sorted({line for line in lines if re.match(r"[A-Za-z0-9]", line)})


def variables() -> dict[str, str]:
    """The variables of this process, without those that would mislead another Python."""
    misleading = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    kept = {name: value for name, value in os.environ.items() if name not in misleading}
    return kept | {"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}


def pip_variables() -> dict[str, str]:
    """The variables for pip: its own settings, without those that would install elsewhere."""
    kept = variables() | {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    return {name: value for name, value in kept.items() if name not in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")}


def uv_variables(workspace: Workspace) -> dict[str, str]:
    """The variables for uv: pip's registry and certificates, a cache of its own where the user's cannot be written."""
    given = variables()
    for ours, pips in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), ("SSL_CERT_FILE", "PIP_CERT")):
        if pips in given:
            given.setdefault(ours, given[pips])
    if not os.access(given.get("HOME") or "/nonexistent", os.W_OK):
        given.setdefault("UV_CACHE_DIR", str(workspace.home / "uv_cache"))
    return {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"} | given | {"UV_NO_PROGRESS": "1"}  # certificates as pip


def build_variables(workspace: Workspace) -> dict[str, str]:
    """The variables for colcon: those of the wheels alone, or those of the sourced ROS installation."""
    given = variables() | {"COLCON_HOME": str(workspace.home / "colcon")}
    programs = str(workspace.env / "bin")
    if workspace.ros == "system":
        given.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE")
        given["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        cmake = shutil.which("cmake")
        if cmake:  # the one that the installation was made for
            given["CMAKE_COMMAND"] = cmake
    else:
        given.pop("COLCON_PREFIX_PATH", None)
        given["AMENT_PREFIX_PATH"] = given["CMAKE_PREFIX_PATH"] = str(workspace.env)
        given["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, workspace.wheel_libraries))
    given["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    return given


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


def remove(folder: Path) -> None:
    """Removes a folder with all in it, if there is one."""
    if folder.exists():
        shutil.rmtree(folder)


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
    (workspace.home / "stamp").unlink(missing_ok=True)
    for name in ("stages", "install", "build", "colcon", "env", "uv", "numba_cache", "constraints_cache", "peers"):
        remove(workspace.home / name)


def write_stamp(workspace: Workspace, sources: str) -> None:
    """Writes what the ``haptics`` script compares before each start."""
    real = workspace.python.resolve()
    if not real.exists():
        raise SetupError(f"the environment is broken: {workspace.python} is gone", "./haptics setup --clean")
    state = real.stat()
    identity = f"{real} {int(state.st_mtime)} {state.st_size}"
    write(workspace.home / "stamp", f"{sources}\n{identity}\n{os.environ.get('HAPTICS_PYTHON', '')}\n")


# --- entry point -------------------------------------------------------------------------------------------


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
    geometry = options.command[1:2] != ["run"]  # which starts `haptics setup` if the experiment needs it
    workspace = Workspace(Path(options.root), Path(options.home), options.ros, underlay, geometry)
    if options.clean or {"packages", "build", "contact"} & {stage.name for stage in pending(workspace)}:
        check_machine(workspace.home, workspace.ros)
    with only_setup(workspace):
        if options.clean:
            say(f"removing the environment in {workspace.home}")
            clear(workspace)
        bring_up_to_date(workspace)
        write_stamp(workspace, options.stamp)
    if not options.command:
        say(f"the environment in {workspace.home} is up to date")


def complain(error: SetupError) -> NoReturn:
    """Shows what failed and what to do, and ends the program."""
    if error.log:
        lines = error.log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
        print(*(f"  | {line[:160]}" for line in lines[-15:]), sep="\n", file=sys.stderr)
    say(f"error: {error}" + (f" (all of it: {error.log})" if error.log else ""))
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
    sys.exit(1)


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
    except OSError as error:
        complain(SetupError(f"setup failed: {error}", "HAPTICS_HOME puts the environment elsewhere"))
    if options.command:
        os.execve(options.command[0], options.command, os.environ | {"HAPTICS_FRESH": "1"})
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
