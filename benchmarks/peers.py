"""Other engines that benchmarks measure beside ours. The environment has none of them: `add` gets one when needed.

Each lies in a directory of its own below `.haptics/peers`, named after what requirements/peers.lock says of it and the
Python it is for. What an engine shares with the suite (NumPy) it takes from there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import site
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools" / "setup"))
from commands import last_line, progress, run  # noqa: E402
from environment import digest, pinned, pip_variables  # noqa: E402
from machine import SetupError  # noqa: E402

LOCK = ROOT / "requirements" / "peers.lock"
#: name of an engine: its module, and its packages in the lock; what else the lock lists the benchmarks do not need
PEERS = {
    "mujoco": ("mujoco", r"mujoco(-core)?"),
    "drake": ("pydrake", r"drake"),
    "pinocchio": ("pinocchio", r"pin"),  # the suite has it, so that nothing is installed
}


class PeerError(Exception):
    """An engine cannot be had; one line says why."""


def add(peer: str, install: Callable[[list[str], Path], None] | None = None, *, home: Path | None = None) -> ModuleType:
    """Makes an engine importable, installing it if it is not there.

    Args:
        peer: one of `PEERS`.
        install: puts requirements into a directory; pip if not given.
        home: directory of the environment; that of this process if not given.

    Raises:
        PeerError: no network, no wheel for this Python or platform, or it does not start.
    """
    module, names = PEERS[peer]
    if importlib.util.find_spec(module):  # the suite has it, or it was added before
        return _load(peer)
    lines = [line for line in pinned([LOCK]) if re.fullmatch(names, re.split(r"[=\s]", line)[0])]
    if not lines:
        raise PeerError(f"{peer} is not in {LOCK.name}")
    place = (home or Path(os.environ["HAPTICS_ACTIVE"])) / "peers" / f"{peer}-{_key(lines)}"
    if not place.exists():
        try:
            with progress(f"{peer}, for benchmarks; once", 20.0):
                _put(lines, place, install or by_pip)
        except SetupError as error:
            raise PeerError(str(error)) from None
        except OSError as error:
            raise PeerError(f"{peer} could not be installed: {error}") from None
    site.addsitedir(str(place))  # at the end of the path: what the suite has comes first
    importlib.invalidate_caches()
    return _load(peer)


def _load(peer: str) -> ModuleType:
    try:
        return importlib.import_module(PEERS[peer][0])
    except (ImportError, OSError) as error:
        raise PeerError(f"{peer} does not start: {error}") from None


def _key(lines: list[str]) -> str:
    return digest(*lines, sys.implementation.cache_tag, sysconfig.get_platform())[:16]


def _put(lines: list[str], place: Path, install: Callable[[list[str], Path], None]) -> None:
    """Installs into a directory that appears whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=place.parent) as part:
        made = Path(part) / "made"
        install(lines, made)
        try:
            made.rename(place)
        except OSError:
            if not place.exists():  # else another process was faster
                raise


def by_pip(lines: list[str], target: Path) -> None:
    """Wheels only, exactly the locked versions.

    Raises:
        SetupError: pip failed.
    """
    requirements, log = target.with_name("requirements.txt"), target.with_name("pip.log")
    requirements.write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--progress-bar=off", f"--target={target}", "-r", str(requirements)]
    try:
        run(command, log, pip_variables(), lambda tail: None, "pip failed")
    except SetupError:
        why = last_line(log).removeprefix("ERROR: ")
        raise SetupError(f"no wheel for this Python and platform, or no network ({why})") from None
