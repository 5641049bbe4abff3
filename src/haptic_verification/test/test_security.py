"""What docs/security.md says of keys and of code: never unprotected by mistake, nothing by a path."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

import convex_contact
from convex_contact.model.world_source import ENTRY_POINTS, entry_point_value
from haptic_files import load_yaml
from haptic_launch.experiments import share
from haptic_launch.launch_elements import _ExactLoader, _FastLoader
from haptic_launch.launch_file import find_executable, load_launch_file

SOURCES = Path(convex_contact.__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_node_does_not_start_without_the_keys_that_it_is_to_have(tmp_path: Path) -> None:
    own = {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(tmp_path / "none"),
        "ROS_SECURITY_ENCLAVE_OVERRIDE": "/haptics",
    }
    command = [find_executable("haptic_devices", "device_node")]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("error: ") and "SECURITY ERROR: directory" in line and "none/enclaves/haptics" in line


#: what runs text as code, and lines that have these words and do not
WORDS = ("yaml.load(", "eval(", "exec(", "pickle", "allow_pickle=True", "marshal", "shell=True")
FINE = (
    *("It can be pickled", "copied or pickled", "allow_pickle=False"),
    *("read(text, fast)", "read(text, exact)"),  # safe loaders; those of launch files are tested below
    "of nothing but the names of a message's slots",  # what copies messages of a class
)


def test_no_code_of_the_suite_executes_the_contents_of_a_file() -> None:
    paths = [path for path in sorted(SOURCES.glob("*/*/**/*.py")) if "test" not in path.parts]
    assert len(paths) > 100
    found = [
        f"{path.name}: {line.strip()}"
        for path in paths
        for line in path.read_text().splitlines()
        if any(word in line for word in WORDS) and not any(known in line for known in FINE)
    ]
    assert found == []


@pytest.mark.parametrize("loaders", [(), (_FastLoader, _ExactLoader)], ids=["default", "launch file"])
def test_the_loaders_are_safe_ones(loaders: tuple[type, ...]) -> None:
    assert issubclass(_FastLoader, yaml.CSafeLoader) and issubclass(_ExactLoader, yaml.SafeLoader)
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        load_yaml("!!python/object/apply:os.getcwd []", *loaders)


def test_the_worlds_of_the_launch_files_are_installed_entry_points() -> None:
    found = {
        argument.default
        for path in sorted((share() / "launch").glob("*.yaml"))
        for argument in load_launch_file(path).arguments
        if argument.name == "world" and ":" in (argument.default or "")
    }
    assert len(found) == 9 and {entry_point_value(source) for source in found} <= {
        point.value for point in entry_points(group=ENTRY_POINTS)
    }
