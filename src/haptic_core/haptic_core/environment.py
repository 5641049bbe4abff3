"""Settings in the environment that the processes of a run read, checked where a run starts. No ROS import."""

from __future__ import annotations

from collections.abc import Mapping

from haptic_core.errors import HapticError, shortened
from haptic_files import FileError, check_file, listed

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
}
_FILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")


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
            try:
                check_file(environment[name])
            except FileError as error:
                raise SettingError(f"{name}: {error}") from None


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
