"""Interface of a driver to the command line and to the device's node. No ROS import.

A driver's module ends with one `Driver`, which its entry point of group `haptic_devices` names. It is the factory that
the device's node calls, and it has the data about the driver that are needed before a device exists.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haptic_core.errors import ParameterError
from haptic_devices.device import Device, DeviceError, DeviceParameters, load_parameters
from haptic_devices.factories import load_numbers

#: pattern of a library's name: without a folder, so that only the user's environment determines the file
LIBRARY_NAME = r"^[\w.+-]+$"


@dataclass(frozen=True)
class Presence:
    """Result of the search for a device.

    Attributes:
        connected: whether a run can use the device.
        detail: name of the device, or the reason why it cannot be used.
    """

    connected: bool
    detail: str


def load_library(name: str, functions: Mapping[str, tuple[Any, list[Any]]]) -> Any:
    """Loads a shared library and sets the C types of its functions.

    Args:
        name: name of the library for the dynamic linker.
        functions: type of the result and types of the arguments of each function, by name.

    Raises:
        DeviceError: the library cannot be loaded, or lacks a function.
    """
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        reason = "not found" if "No such file" in str(error) else f"cannot be loaded: {error}"
        raise DeviceError(f"library {name} {reason}") from None
    for function, (result, arguments) in functions.items():
        try:
            entry = getattr(library, function)
        except AttributeError:
            raise DeviceError(f"library {name}: has no function {function}") from None
        entry.restype, entry.argtypes = result, arguments
    return library


@dataclass(frozen=True)
class Driver:
    """Factory of a real device, and the facts about it that are known without the device.

    Attributes:
        name: name of the entry point.
        title: name of the product.
        degrees_of_freedom: number of joints n.
        model: model of the parameters.
        file: file with default values of the parameters.
        make: function that makes the device from its parameters and the held axis ("x", "y", "z", or empty).
        search: function that looks for the device; it moves nothing and raises no error.
        kind: kind of the device.
    """

    name: str
    title: str
    degrees_of_freedom: int
    model: type[DeviceParameters]
    file: Path
    make: Callable[[Any, str], Device]
    search: Callable[[Any], Presence]
    kind: str = "impedance"

    def __call__(self, parameters: dict[str, Any]) -> Device:
        """Makes the device from the parameters of the device's node; raises ParameterError to refuse."""
        if parameters["mode"] != "realtime":
            got = parameters["mode"]
            raise ParameterError(f"parameter mode: expected realtime for the real device {self.name}, got {got!r}")
        return self.make(load_numbers(self.model, parameters, "device", self.file), parameters["held_axis"])

    def find(self) -> Presence:
        """Looks for the device with the default parameters."""
        return self.search(load_parameters(self.model, self.file))
