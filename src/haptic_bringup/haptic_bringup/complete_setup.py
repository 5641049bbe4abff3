"""Completes a setup that a first run has left incomplete.

The first `./haptics run` on a machine installs what the friction experiments need (`requirements/core.lock`). Every
other command, and an experiment that needs more, installs the rest.
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
    """Installs the rest if something that a run needs is not there.

    Args:
        packages: ROS packages whose programs the run starts.
        report: Full name of the module with the run's report.

    Raises:
        HapticError: The setup failed; it has said why.
    """
    if os.environ.get("HAPTICS_ROS") != "wheels":  # over a ROS installation, setup makes everything at once
        return
    if re.search("^rest ", Path(os.environ["HAPTICS_ACTIVE"], "stamp").read_text(), re.MULTILINE):
        return
    if all(map(_has_requirements, set(packages))) and _is_importable(report):
        return
    if subprocess.run([Path(os.environ["HAPTICS_ROOT"], "haptics"), "setup"], check=False).returncode:
        raise HapticError("the setup could not be completed")
    importlib.invalidate_caches()


def _has_requirements(package: str) -> bool:
    """Whether all that a package requires is installed; true for one without metadata.

    Its extras are included, except that of tables, which no node needs.
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
