"""Settings of Fast DDS for the processes of a run, made by the program that starts them. No ROS import.

All processes use the profile `fastdds.xml`. In realtime mode messages go through the kernel, by UDP: Fast DDS guards
its shared memory by locks that all processes take in turn. A process of ordinary priority that loses its core while it
has such a lock delays the device; programs that only subscribe caused delays of 0.13 s. In lockstep mode, where no
process has a priority, shared memory is some 10 % faster.

These settings exist twice. Processes that a program of the suite starts get them from `dds_environment`. Under
`ros2 launch` no code of the suite runs before the nodes, so `launch/include/dds.launch.yaml` of haptic_bringup makes
the same with substitutions. These find files of share folders alone: `config/shared/dds` has copies of the profiles.
haptic_core must work without haptic_bringup and has its own. `test_launch_dds.py` of haptic_bringup compares both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

#: Fast DDS 3, of ROS 2 Kilted, has another variable for the profiles, and other names of some of their elements
_KILTED = os.environ.get("ROS_DISTRO") == "kilted"
#: variable that names the profiles
PROFILES_VARIABLE = "FASTDDS_DEFAULT_PROFILES_FILE" if _KILTED else "FASTRTPS_DEFAULT_PROFILES_FILE"
#: profile of all processes, and its form for realtime on one machine
FAST_DDS_PROFILES, LOOPBACK_PROFILES = (
    Path(__file__).with_name(f"fastdds{'3' if _KILTED else ''}{what}.xml") for what in ("", "_loopback")
)

#: the parameter `mode` in a file of parameters or in an argument
_REALTIME = re.compile(r"""\bmode["']?:=?\s*["']?realtime\b""")


def dds_environment(arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Adds the settings of Fast DDS to the environment of a process; settings that the user chose are kept.

    Args:
        arguments: command line of the process, with the parameters of its nodes or the names of parameter files.
        environment: environment of the process. Profiles (`PROFILES_VARIABLE`), transports
            (FASTDDS_BUILTIN_TRANSPORTS) and static peers (ROS_STATIC_PEERS) in it are kept.
    """
    result = dict(environment)
    if _KILTED:  # whose Fast DDS would prefer it, with a warning, to the other variable
        result.pop("FASTRTPS_DEFAULT_PROFILES_FILE", None)
    chosen = result.setdefault(PROFILES_VARIABLE, str(FAST_DDS_PROFILES))
    if Path(chosen).resolve() != FAST_DDS_PROFILES.resolve() or not _is_realtime(arguments):
        return result
    if result.get("ROS_AUTOMATIC_DISCOVERY_RANGE") != "LOCALHOST":
        result.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    elif not result.get("ROS_STATIC_PEERS"):
        # rmw_fastrtps adds shared memory to the range LOCALHOST in any case; the profile defines that range without it
        result[PROFILES_VARIABLE] = str(LOOPBACK_PROFILES)
        result["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SYSTEM_DEFAULT"
    return result


def _is_realtime(arguments: Sequence[str]) -> bool:
    files = [Path(file) for option, file in pairwise(arguments) if option == "--params-file"]
    texts = [file.read_text(errors="replace") for file in files if file.is_file()]  # rclpy reports a missing one
    return any(map(_REALTIME.search, [*arguments, *texts]))
