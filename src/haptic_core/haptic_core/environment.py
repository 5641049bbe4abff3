"""Settings in the environment that the processes of a run read, checked where a run starts. No ROS import."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from xml.parsers import expat

from haptic_core.errors import HapticError, shortened
from haptic_files import FileError, listed, read_bytes

#: SCHED_FIFO priority of the nodes of a realtime loop: above all ordinary processes, below the kernel's threads
REALTIME_PRIORITY = 20
#: names of the executors of `haptic_core.process`; the first one is used if none is chosen
EXECUTOR_NAMES = ("events", "single_threaded")
#: environment variable with the directory of the run; the program that starts the run sets it for the nodes
RUN_DIRECTORY = "HAPTICS_RUN_DIRECTORY"

#: largest value of settings that are whole numbers, set by Linux and by the ports of Fast DDS
_LARGEST = {"HAPTICS_PRIORITY": 99, "ROS_DOMAIN_ID": 232}
_CHOICES = {
    "HAPTICS_EXECUTOR": EXECUTOR_NAMES,
    "ROS_AUTOMATIC_DISCOVERY_RANGE": ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT"),
    # any other text means false, or Permissive, to rcl
    "ROS_SECURITY_ENABLE": ("true", "false"),
    "ROS_SECURITY_STRATEGY": ("Enforce", "Permissive"),
}
#: Fast DDS ignores any other text; large data may have options after a question mark
_TRANSPORTS = ("DEFAULT", "DEFAULTv6", "SHM", "UDPv4", "UDPv6", "LARGE_DATA", "LARGE_DATAv6", "P2P", "NONE")
#: root elements of a profile of Fast DDS
_ROOTS = ("dds", "profiles")
_FILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
#: index of the installed implementations of ROS's middleware, in a prefix
_MIDDLEWARE = "share/ament_index/resource_index/rmw_typesupport"
_KEYSTORE = "ROS_SECURITY_KEYSTORE"


class SettingError(HapticError):
    """A setting in the environment has a value that no process can use.

    Attributes:
        hint: advice for the user, with the page that describes the settings.
    """

    hint = "unset it, or see docs/troubleshooting.md, Settings in the environment"


def executor_name(environment: Mapping[str, str]) -> str:
    """Returns the checked value of HAPTICS_EXECUTOR, or its default; raises SettingError."""
    return _choice("HAPTICS_EXECUTOR", environment) or EXECUTOR_NAMES[0]


def realtime_priority(environment: Mapping[str, str]) -> int:
    """Returns the checked value of HAPTICS_PRIORITY, or its default; raises SettingError."""
    priority = _number("HAPTICS_PRIORITY", environment)
    return REALTIME_PRIORITY if priority is None else priority


def check_environment(environment: Mapping[str, str]) -> None:
    """Refuses a setting that the processes of a run would refuse or ignore; an empty setting is not set.

    Raises:
        SettingError: names the setting, the expectation and the value.
    """
    for name in _LARGEST:
        _number(name, environment)
    for name in _CHOICES:
        _choice(name, environment)
    for name in _FILES:
        if environment.get(name):
            _check_profile(name, environment[name])
    transports = environment.get("FASTDDS_BUILTIN_TRANSPORTS", "")
    if transports and transports.partition("?")[0] not in _TRANSPORTS:
        expected = listed(_TRANSPORTS, transports)
        raise SettingError(f"FASTDDS_BUILTIN_TRANSPORTS: expected one of {expected}, got {shortened(transports)}")
    for peer in filter(None, environment.get("ROS_STATIC_PEERS", "").split(";")):
        _check_peer(peer)
    _check_middleware(environment)
    _check_log_directory(environment)
    if (
        environment.get("ROS_SECURITY_ENABLE") == "true"
        and not Path(environment.get(_KEYSTORE) or "/dev/null").is_dir()
    ):
        got = shortened(environment.get(_KEYSTORE, ""))
        raise SettingError(f"{_KEYSTORE}: expected a directory, since ROS_SECURITY_ENABLE is true, got {got}")


def _check_profile(name: str, path: str) -> None:
    """Refuses a file that is no XML with the root of a profile; Fast DDS would go on without its settings."""
    roots: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda element, _: roots.append(element) if not roots else None
    try:
        parser.Parse(read_bytes(path), True)
    except FileError as error:
        raise SettingError(f"{name}: {error}") from None
    except expat.ExpatError as error:
        raise SettingError(f"{name}: {path}: not XML: line {error.lineno}, column {error.offset + 1}") from None
    if roots[0] not in _ROOTS:
        raise SettingError(f"{name}: {path}: expected the root {' or '.join(_ROOTS)}, got {shortened(roots[0])}")


def _check_peer(peer: str) -> None:
    try:
        if set(peer) <= set("0123456789."):
            ipaddress.IPv4Address(peer)
        else:
            socket.getaddrinfo(peer, None)
    except (OSError, ValueError):  # the latter: an address, or a name that cannot be encoded
        expected = "expected addresses or host names that can be resolved, separated by ;"
        raise SettingError(f"ROS_STATIC_PEERS: {expected}, got {shortened(peer, 80)}") from None


def _check_middleware(environment: Mapping[str, str]) -> None:
    """Refuses a middleware that is not installed, if the installation can be found."""
    name = environment.get("RMW_IMPLEMENTATION", "")
    folders = [Path(prefix, _MIDDLEWARE) for prefix in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    names = {file.name for folder in folders if folder.is_dir() for file in folder.iterdir()} - {"rmw_implementation"}
    if name and names and name not in names:
        raise SettingError(f"RMW_IMPLEMENTATION: expected one of {listed(sorted(names), name)}, got {shortened(name)}")


def _check_log_directory(environment: Mapping[str, str]) -> None:
    """Makes ROS's log directory, as each node does; refuses one that cannot be made or written."""
    for name, inner in (("ROS_LOG_DIR", ""), ("ROS_HOME", "log")):
        if environment.get(name):
            path = Path(environment[name]).expanduser() / inner
            try:
                path.mkdir(parents=True, exist_ok=True)
                if not os.access(path, os.W_OK | os.X_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            except (OSError, RuntimeError) as error:  # the latter: the home directory of ~ is not known
                reason = getattr(error, "strerror", None) or error
                raise SettingError(f"{name}: {path}: no directory that can be written: {reason}") from None
            return


def _number(name: str, environment: Mapping[str, str]) -> int | None:
    text = environment.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= _LARGEST[name]):
        raise SettingError(f"{name}: expected 0 to {_LARGEST[name]}, got {shortened(text)}")
    return int(text)


def _choice(name: str, environment: Mapping[str, str]) -> str:
    text = environment.get(name, "")
    if text and text not in _CHOICES[name]:
        raise SettingError(f"{name}: expected one of {listed(_CHOICES[name], text)}, got {shortened(text)}")
    return text
