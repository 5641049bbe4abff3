"""Launch files set Fast DDS as the command line does, so that `ros2 launch` and `./haptics run` give the same run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from haptic_core.dds import FAST_DDS_PROFILES, LOOPBACK_PROFILES, dds_environment
from haptic_launch.experiments import share
from haptic_launch.launch_file import load_launch_file

PROFILES, RANGE, TRANSPORTS, PEERS = NAMES = (
    *("FASTRTPS_DEFAULT_PROFILES_FILE", "ROS_AUTOMATIC_DISCOVERY_RANGE"),
    *("FASTDDS_BUILTIN_TRANSPORTS", "ROS_STATIC_PEERS"),
)
ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((share() / "launch").glob("*.launch.yaml"))
#: settings of a user, without a profile, with that of ./haptics, and with one of the user
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {RANGE: "LOCALHOST"},
    {RANGE: "LOCALHOST", PROFILES: f"{ROOT}/src/haptic_core/haptic_core/fastdds.xml"},
    {RANGE: "LOCALHOST", PEERS: "h2"},
    {RANGE: "SUBNET", TRANSPORTS: "SHM"},
    {RANGE: "LOCALHOST", PROFILES: "/of/the/user.xml"},
]


@pytest.mark.parametrize("profile", [FAST_DDS_PROFILES, LOOPBACK_PROFILES], ids=lambda profile: profile.stem)
def test_the_profiles_of_the_launch_files_are_copies(profile: Path) -> None:
    """Each package is whole alone, and haptic_core has no share folder for files."""
    assert (share() / "config/shared/dds" / profile.name).read_bytes() == profile.read_bytes()


def settings(environment: dict[str, str]) -> dict[str, Any]:
    """The settings of Fast DDS; files by their content, as a package may be installed by copies."""
    found: dict[str, Any] = {name: environment[name] for name in NAMES if environment.get(name)}
    if (file := Path(found[PROFILES])).is_file():
        found[PROFILES] = file.read_text()
    return found


def evaluated(file: Path, mode: str, given: dict[str, str], tmp_path: Path) -> list[dict[str, Any]]:
    """Settings of all processes that the launch file starts."""
    plain = {name: value for name, value in os.environ.items() if name not in NAMES}
    processes = load_launch_file(file).evaluate(
        {"mode": mode}, environment={**plain, "HAPTICS_ROOT": str(ROOT), **given}, parameter_directory=tmp_path
    )
    return [settings(process.environment) for process in processes]


@pytest.mark.parametrize("given", ENVIRONMENTS, ids=lambda given: "+".join(given) or "nothing")
@pytest.mark.parametrize("mode", ["lockstep", "realtime"])
def test_a_launch_file_sets_dds_as_the_command_line_does(mode: str, given: dict[str, str], tmp_path: Path) -> None:
    wanted = settings(dds_environment([f"mode:={mode}"], given))
    found = evaluated(share() / "launch/friction_impedance.launch.yaml", mode, given, tmp_path)
    assert len(found) >= 2 and all(each == wanted for each in found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_experiment_has_these_settings_for_all_its_processes(file: Path, tmp_path: Path) -> None:
    wanted = settings(dds_environment(["mode:=realtime"], {RANGE: "LOCALHOST"}))
    assert wanted[RANGE] == "SYSTEM_DEFAULT"
    assert all(each == wanted for each in evaluated(file, "realtime", {RANGE: "LOCALHOST"}, tmp_path))
