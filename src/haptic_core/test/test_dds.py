"""Settings of Fast DDS by mode and by what the user chose."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from haptic_core.dds import FAST_DDS_PROFILES, LOOPBACK_PROFILES, PROFILES_VARIABLE, dds_environment

PROFILES, RANGE, TRANSPORTS = PROFILES_VARIABLE, "ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTDDS_BUILTIN_TRANSPORTS"


def for_fast_dds_3(profiles: str) -> str:
    """Renames the elements that Fast DDS 3 has other names for."""
    renamed = {"heartbeatPeriod": "heartbeat_period", "heartbeatResponseDelay": "heartbeat_response_delay"}
    for old, new in {**renamed, "fastdds.xml": "fastdds3.xml", "fastdds_": "fastdds3_"}.items():
        profiles = profiles.replace(old, new)
    return profiles


SUITE, LOOPBACK = str(FAST_DDS_PROFILES), str(LOOPBACK_PROFILES)


@pytest.mark.parametrize(
    ("mode", "given", "chosen"),
    [
        ("lockstep", {RANGE: "LOCALHOST"}, {PROFILES: SUITE, RANGE: "LOCALHOST"}),
        ("realtime", {RANGE: "LOCALHOST"}, {PROFILES: LOOPBACK, RANGE: "SYSTEM_DEFAULT"}),
        ("realtime", {RANGE: "LOCALHOST", PROFILES: SUITE}, {PROFILES: LOOPBACK, RANGE: "SYSTEM_DEFAULT"}),
        ("realtime", {RANGE: "SUBNET"}, {PROFILES: SUITE, RANGE: "SUBNET", TRANSPORTS: "UDPv4"}),
        ("realtime", {}, {PROFILES: SUITE, TRANSPORTS: "UDPv4"}),
        ("realtime", {TRANSPORTS: "SHM"}, {PROFILES: SUITE, TRANSPORTS: "SHM"}),
        ("realtime", {RANGE: "LOCALHOST", PROFILES: "/my.xml"}, {RANGE: "LOCALHOST", PROFILES: "/my.xml"}),
        (
            "realtime",
            {RANGE: "LOCALHOST", "ROS_STATIC_PEERS": "h2"},
            {RANGE: "LOCALHOST", "ROS_STATIC_PEERS": "h2", PROFILES: SUITE},
        ),
    ],
)
def test_realtime_leaves_shared_memory_alone_unless_the_user_chose_a_transport(
    mode: str, given: dict[str, str], chosen: dict[str, str]
) -> None:
    before = dict(given)
    assert dds_environment(["node", "--ros-args", "-p", f"mode:={mode}"], given) == chosen
    assert given == before


@pytest.mark.parametrize("what", ["", "_loopback"])
def test_the_profiles_of_fast_dds_3_are_the_same_but_for_two_names(what: str) -> None:
    """Fast DDS 3 refuses a file with the old names: it prints an error and goes on without any profile."""
    old, new = (FAST_DDS_PROFILES.with_name(f"fastdds{version}{what}.xml").read_text() for version in ("", "3"))
    assert new == for_fast_dds_3(old)


def test_both_profiles_are_the_same_but_for_the_transport() -> None:
    space = "{http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles}"
    suite, loopback = (ElementTree.parse(file).getroot() for file in (SUITE, LOOPBACK))
    for part in ("initialAnnouncements", "data_writer"):
        one, other = (next(root.iter(space + part)) for root in (suite, loopback))
        assert ElementTree.tostring(one).split() == ElementTree.tostring(other).split()


@pytest.mark.parametrize(
    ("text", "realtime"),
    [
        ("/**:\n  ros__parameters:\n    mode: realtime\n", True),
        ("/tau/nodes:\n  ros__parameters:\n    contact: {mode: 'realtime', period: 0.001}\n", True),
        ("/**:\n  ros__parameters:\n    mode: lockstep\n    display_mode: realtime_like\n", False),
    ],
)
def test_the_mode_is_found_in_files_of_parameters(text: str, realtime: bool, tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    arguments = ["node", "--params-file", str(file), "--params-file", "/none"]
    environment = dds_environment(arguments, {RANGE: "LOCALHOST"})
    assert (environment[PROFILES] == LOOPBACK) == realtime


def test_the_suite_s_profile_has_a_short_heartbeat_period_unless_the_user_chose_another() -> None:
    name = "heartbeat_period" if "fastdds3" in SUITE else "heartbeatPeriod"
    assert f"<{name}>" in Path(dds_environment([], {})[PROFILES]).read_text()
    assert dds_environment([], {PROFILES: "/of/the/user.xml"}) == {PROFILES: "/of/the/user.xml"}
