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
from machine import DOWNLOAD, ENVIRONMENT, SetupError, check_machine, python_problem
from variables import build_variables, pip_variables, uv_variables, variables
from workspace import Workspace, read, remove, write

_HERE = Path(__file__).resolve().parent

# Files whose contents the build reads. The others in a package count by name only: they are linked.
_BUILT = re.compile(r"package\.xml|setup\.(py|cfg)|CMakeLists\.txt|.*\.(cmake|msg|srv|action|c|h|cpp|hpp)$")
_SKIPPED = re.compile(r"\..*|.*~|__pycache__|.*\.egg-info|test$")

# Paths of the machine that built the wheels, as the wheels' CMake files have them.
_WHEEL_NUMPY_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/lib/python3\.\d+t?/site-packages/numpy/_?core/include")
_WHEEL_PYTHON_INCLUDE = re.compile(r"/opt/python/cp[0-9a-z-]+/include/python3\.\d+t?")


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


def quoted(*paths: Path) -> str:
    """Paths joined by colons, as one word of bash."""
    return shlex.quote(os.pathsep.join(map(str, paths)))


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
