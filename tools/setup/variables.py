"""Environment variables of the programs that setup starts."""

from __future__ import annotations

import os
import shutil

from workspace import Workspace


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
