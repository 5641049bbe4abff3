"""Launch files set Fast DDS as the command line does, so that `ros2 launch` and `./haptics run` give the same run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from haptic_core.dds import FAST_DDS_PROFILES, LOOPBACK_PROFILES, PROFILES_VARIABLE, dds_environment
from haptic_launch.experiments import share
from haptic_launch.launch_file import load_launch_file

PROFILES, RANGE, TRANSPORTS, PEERS = NAMES = (
    *(PROFILES_VARIABLE, "ROS_AUTOMATIC_DISCOVERY_RANGE"),
    *("FASTDDS_BUILTIN_TRANSPORTS", "ROS_STATIC_PEERS"),
)
ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((share() / "launch").glob("*.launch.yaml"))
#: profiles of Fast DDS 2 and 3, of which each ROS distribution uses one
BOTH_VERSIONS = [
    FAST_DDS_PROFILES.with_name(f"fastdds{version}{what}.xml") for version in ("", "3") for what in ("", "_loopback")
]
#: settings of a user, without a profile, with that of ./haptics, and with one of the user
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {RANGE: "LOCALHOST"},
    {RANGE: "LOCALHOST", PROFILES: f"{ROOT}/src/haptic_core/haptic_core/{FAST_DDS_PROFILES.name}"},
    {RANGE: "LOCALHOST", PEERS: "h2"},
    {RANGE: "SUBNET", TRANSPORTS: "SHM"},
    {RANGE: "LOCALHOST", PROFILES: "/of/the/user.xml"},
]


@pytest.mark.parametrize("profile", BOTH_VERSIONS, ids=lambda profile: profile.stem)
def test_the_profiles_of_the_launch_files_are_copies(profile: Path) -> None:
    """Each package is whole alone, and haptic_core has no share folder for files."""
    assert (share() / "config/shared/dds" / profile.name).read_bytes() == profile.read_bytes()


@pytest.mark.parametrize("profile", BOTH_VERSIONS, ids=lambda profile: profile.stem)
def test_a_recorder_s_profile_is_that_of_the_others_but_for_its_lease_and_its_requests(profile: Path) -> None:
    root = ElementTree.parse(share() / f"config/shared/dds/{profile.stem}_recorder.xml").getroot()
    own = ElementTree.parse(profile).getroot()
    space = "{http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles}"
    leases = [_removed_lease(one, space) for one in (root, own)]
    assert leases == [[3600], [120] if profile.stem.endswith("loopback") else []]
    (reader,) = root.iter(space + "data_reader")
    delay = "heartbeat_response_delay" if "fastdds3" in profile.name else "heartbeatResponseDelay"
    assert [int(part.text or "") for part in next(reader.iter(space + delay))] == [0, 100_000_000]
    root.remove(reader)
    one, other = (ElementTree.canonicalize(ElementTree.tostring(r), strip_text=True) for r in (root, own))
    assert one == other


def _removed_lease(root: ElementTree.Element, space: str) -> list[int]:
    """Removes the lease of a profile's participant, and returns its parts; none if it is the default."""
    (config,) = root.iter(space + "discovery_config")
    parts = []
    for lease in list(config.iter(space + "leaseDuration")):
        parts += [int(part.text or "") for part in lease]
        config.remove(lease)
    return parts


def settings(environment: dict[str, str]) -> dict[str, Any]:
    """The settings of Fast DDS; files by their content, as a package may be installed by copies."""
    found: dict[str, Any] = {name: environment[name] for name in NAMES if environment.get(name)}
    if (file := Path(found[PROFILES])).is_file():
        found[PROFILES] = file.read_text()
    return found


def evaluated(file: Path, mode: str, given: dict[str, str], tmp_path: Path) -> tuple[dict[str, Any], Any]:
    """Settings of the recorder, and those of all other processes that the launch file starts."""
    plain = {name: value for name, value in os.environ.items() if name not in NAMES}
    processes = load_launch_file(file).evaluate(
        {"mode": mode}, environment={**plain, "HAPTICS_ROOT": str(ROOT), **given}, parameter_directory=tmp_path
    )
    found = {process.name: settings(process.environment) for process in processes}
    return found.pop("recorder"), list(found.values())


def recorders(wanted: dict[str, Any], changed: bool) -> dict[str, Any]:
    """The recorder's settings beside those of the other processes; changed: in realtime, with the suite's profile."""
    if not changed:
        return wanted
    profiles = LOOPBACK_PROFILES if wanted[PROFILES] == LOOPBACK_PROFILES.read_text() else FAST_DDS_PROFILES
    return {**wanted, PROFILES: (share() / f"config/shared/dds/{profiles.stem}_recorder.xml").read_text()}


@pytest.mark.parametrize("given", ENVIRONMENTS, ids=lambda given: "+".join(given) or "nothing")
@pytest.mark.parametrize("mode", ["lockstep", "realtime"])
def test_a_launch_file_sets_dds_as_the_command_line_does(mode: str, given: dict[str, str], tmp_path: Path) -> None:
    wanted = settings(dds_environment([f"mode:={mode}"], given))
    recorder, others = evaluated(share() / "launch/friction_impedance.launch.yaml", mode, given, tmp_path)
    assert others and all(each == wanted for each in others)
    assert recorder == recorders(wanted, mode == "realtime" and wanted[PROFILES] != "/of/the/user.xml")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_experiment_has_these_settings_for_all_its_processes(file: Path, tmp_path: Path) -> None:
    wanted = settings(dds_environment(["mode:=realtime"], {RANGE: "LOCALHOST"}))
    assert wanted[RANGE] == "SYSTEM_DEFAULT"
    recorder, others = evaluated(file, "realtime", {RANGE: "LOCALHOST"}, tmp_path)
    assert recorder == recorders(wanted, True) and all(each == wanted for each in others)
