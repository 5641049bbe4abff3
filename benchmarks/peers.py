"""Other engines that benchmarks measure beside ours. The environment has none of them: `add` gets one when needed.

Each lies in a directory of its own below `.haptics/peers`, named after what requirements/peers.lock says of it and the
Python it is for. What an engine shares with the suite (NumPy) it takes from there.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

LOCK = Path(__file__).parents[1] / "requirements" / "peers.lock"
#: settings of pip that would install elsewhere
_ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER")
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
    lines = [line for line in pinned(LOCK) if re.fullmatch(names, re.split(r"[=\s]", line)[0])]
    if not lines:
        raise PeerError(f"{peer} is not in {LOCK.name}")
    place = (home or Path(os.environ["HAPTICS_ACTIVE"])) / "peers" / f"{peer}-{_key(lines)}"
    if not place.exists():
        print(f"installing {peer} for the benchmarks, once", file=sys.stderr, flush=True)
        try:
            _put(lines, place, install or by_pip)
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
    text = "\n".join([*lines, str(sys.implementation.cache_tag), sysconfig.get_platform()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pinned(lock: Path) -> list[str]:
    """Returns the requirements of a lock file: ``name==version ; marker``."""
    lines = (line.rstrip(" \\") for line in lock.read_text(encoding="utf-8").splitlines())
    return sorted({line for line in lines if re.match(r"[A-Za-z0-9]", line)})


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
        PeerError: pip failed.
    """
    requirements = target.with_name("requirements.txt")
    requirements.write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--progress-bar=off", f"--target={target}", "-r", str(requirements)]
    variables = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"code {done.returncode}"]
        raise PeerError(f"no wheel for this Python and platform, or no network ({said[-1].removeprefix('ERROR: ')})")
