"""Device, controller, planes and walls that the wall node's parameters describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haptic_files.entries import node_and_kind
from haptic_files.moved_modules import renamed
from haptic_friction import CoulombLaw
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_wall_controller
from tau_wall_control.control.options import SCHEMES
from tau_wall_control.device.parameters import load_parameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.planes import Plane, planes_from_lists
from tau_wall_control.walls.sliding import SlidingWalls


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


def takes_planes(values: Mapping[str, Any]) -> bool:
    """Returns whether the walls come with each step according to the parameter `inputs`.

    Raises:
        TauError: the walls come from several nodes, or from the tick before.
    """
    entries = [entry for entry in values.get("inputs", ()) if entry and node_and_kind(entry)[1] == "planes"]
    if len(entries) > 1:
        raise TauError(f"parameter inputs: expected planes of one node at the most, got {entries}")
    if set(entries) & set(values.get("delayed_inputs", ())):
        raise TauError(f"parameter delayed_inputs: expected planes of the same tick, got {entries}")
    return bool(entries)


def planes_of(values: Mapping[str, Any], moving: bool | None = None) -> tuple[Plane, ...] | None:
    """Returns the planes of the node's walls; None if the walls come with each step.

    Args:
        values: parameters by name, as in wall_node.yaml, and `inputs`.
        moving: true if the walls come with each step; default: true if `inputs` has an entry of the kind planes.

    Raises:
        TauError: a parameter is refused; the message names it.
    """
    if moving is None:
        moving = takes_planes(values)
    planes = None if moving else planes_from_lists(values["wall_points"], values["wall_normals"])
    if values["contact"] == "holding":
        if planes is None:
            raise TauError("contact: expected sliding for walls that move, got 'holding'")
        if len(planes) != 1:
            raise TauError(f"wall_points: expected one wall for contact holding, got {len(planes)}")
    return planes


def walls_of(
    values: Mapping[str, Any], controller: WallController, planes: tuple[Plane, ...] | None
) -> SlidingWalls | HoldingWall:
    """Returns the walls that the node's parameters describe; `planes` as from `planes_of`."""
    if values["contact"] == "holding" and planes is not None:
        return HoldingWall(controller, planes[0], release_gap=values["release_gap"])
    mu = values["friction_coefficient"]
    return SlidingWalls(
        controller,
        planes,
        friction=CoulombLaw(mu) if mu > 0.0 else None,
        friction_stiffness=values["friction_stiffness"],
        friction_damping=values["friction_damping"],
        release_gap=values["release_gap"],
    )


#: names that have moved
__getattr__ = renamed(
    __name__,
    {
        "make_planes": "tau_wall_control.walls.planes:planes_from_lists",
        "make_walls": "tau_wall_control.walls.guard:make_walls",
    },
)
