"""Device and controller of the wall node's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haptic_files.moved_modules import renamed
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_wall_controller
from tau_wall_control.control.options import SCHEMES
from tau_wall_control.device.parameters import load_parameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError


def make_device(p: Mapping[str, Any]) -> TauDevice:
    """Returns the mechanism of `device_file` and `device_parameters`, for a control period of `period`.

    Raises:
        TauError: a file or an entry is refused; the message names the parameters.
    """
    entries = [entry for entry in p["device_parameters"] if entry.strip()]
    file = p["device_file"] or None
    try:
        try:
            return TauDevice(load_parameters(file, [*entries, f"control.sample_time={p['period']!r}"]))
        except TauError:
            load_parameters(file, entries)  # an error of the file or of the user's entries comes first
            raise
    except TauError as error:
        raise TauError(f"parameters device_file, device_parameters: {error}") from None


def make_controller(p: Mapping[str, Any], device: TauDevice) -> WallController:
    """Returns the controller of `controller_file`, or one that is designed now.

    Raises:
        TauError: the file does not fit the device, or options do not go together.
    """
    if p["controller_file"]:
        try:
            return WallController.load(p["controller_file"], device)
        except TauError as error:
            raise TauError(f"parameter controller_file: {error}") from None
    options: dict[str, Any] = {"per_axis": p["per_axis"] or None} if p["scheme"] != "sopc" else {}
    if SCHEMES[p["scheme"]].observer:
        options |= {"normal": tuple(p["design_normal"]), "delay": p["known_delay"]}
    try:
        return design_wall_controller(device, p["scheme"], **options)
    except TauError as error:
        raise TauError(f"parameters scheme, per_axis, known_delay, design_normal: {error}") from None


#: names that have moved
__getattr__ = renamed(
    __name__,
    {
        "make_planes": "tau_wall_control.walls.planes:planes_from_lists",
        "make_walls": "tau_wall_control.walls.guard:make_walls",
    },
)
