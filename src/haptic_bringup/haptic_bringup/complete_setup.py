"""Completes a setup that a first run has left incomplete.

The first `./haptics run` on a machine installs the packages for the friction experiments (`requirements/core.lock`).
Every other command, and an experiment that needs more, installs the rest.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from haptic_core.errors import HapticError


def complete_setup(packages: Iterable[str], report: str) -> None:
    """Installs the remaining packages if a run needs one of them.

    Args:
        packages: ROS packages whose programs the run starts.
        report: full name of the module with the run's report.

    Raises:
        HapticError: the setup failed; it has printed the reason.
    """
    if os.environ.get("HAPTICS_ROS", "system") == "system":  # with a ROS installation, the first setup is complete
        return
    if re.search("^rest ", Path(os.environ["HAPTICS_ACTIVE"], "stamp").read_text(), re.MULTILINE):
        return
    if all(map(_has_requirements, set(packages))) and _is_importable(report):
        return
    if subprocess.run([Path(os.environ["HAPTICS_ROOT"], "haptics"), "setup"], check=False).returncode:
        raise HapticError("the setup could not be completed")
    importlib.invalidate_caches()


def _has_requirements(package: str) -> bool:
    """Returns whether all requirements of a package are installed; true for a package without metadata.

    Extras are included, except that of tables, which no node needs.
    """
    try:
        required = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        return True
    from packaging.requirements import Requirement  # a run with a complete setup does not need it

    found = (Requirement(text) for text in required if 'extra == "tables"' not in text)
    return all(any(importlib.metadata.distributions(name=requirement.name)) for requirement in found)


def _is_importable(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    return True
