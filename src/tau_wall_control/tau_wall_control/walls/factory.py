"""From a node's parameters to walls; no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haptic_friction import CoulombLaw
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_wall_controller
from tau_wall_control.control.options import SCHEMES
from tau_wall_control.device.parameters import load_parameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.walls.guard import GuardedWalls
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.walls import Plane, WallRenderer


def make_device(p: Mapping[str, Any]) -> TauDevice:
    """The mechanism of `device_file` and `device_parameters`, for a control period of `period`."""
    entries = [entry for entry in p["device_parameters"] if entry.strip()]
    try:
        return TauDevice(load_parameters(p["device_file"] or None, [*entries, f"control.sample_time={p['period']!r}"]))
    except TauError as error:
        raise TauError(f"parameters device_file, device_parameters: {error}") from None


def make_controller(p: Mapping[str, Any], device: TauDevice) -> WallController:
    """The controller of `controller_file`, or one that is designed now.

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


def make_planes(points: Any, normals: Any) -> tuple[Plane, ...]:
    """Walls of flat lists of points [m] and normals, three numbers a wall.

    Raises:
        TauError: the lists are of other lengths, or a normal is zero.
    """
    p, n = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    for name, values, others in (("wall_points", p, n), ("wall_normals", n, p)):
        if len(values) == 0 or len(values) % 3:
            raise TauError(f"{name}: expected three numbers a wall, got {len(values)}")
        if len(values) < len(others):
            raise TauError(f"{name}: expected {len(others)} numbers, as many as the other list, got {len(values)}")
    planes = []
    for i, (point, normal) in enumerate(zip(p.reshape(-1, 3).tolist(), n.reshape(-1, 3).tolist(), strict=True), 1):
        try:
            planes.append(Plane(tuple(point), tuple(normal)))
        except TauError as error:
            raise TauError(f"wall_points, wall_normals: wall {i}: {error}") from None
    return tuple(planes)


def make_walls(p: Mapping[str, Any], controller: WallController | None = None, *, moving: bool = False) -> GuardedWalls:
    """The walls that the parameters of wall_node.yaml describe, their step compiled.

    Args:
        p: the parameters.
        controller: to be used on instead of one that is made anew.
        moving: the walls come with each step, and those of the parameters are not there.

    Raises:
        TauError: a parameter is refused; the message names it.
    """
    if controller is None:
        controller = make_controller(p, make_device(p))
    planes = None if moving else make_planes(p["wall_points"], p["wall_normals"])
    renderer: WallRenderer | HoldingWall
    if p["contact"] == "holding":
        if planes is None:
            raise TauError("contact: expected sliding for walls that move, got 'holding'")
        if len(planes) != 1:
            raise TauError(f"wall_points: expected one wall for contact holding, got {len(planes)}")
        renderer = HoldingWall(controller, planes[0], release_gap=p["release_gap"])
    else:
        mu = p["friction_coefficient"]
        renderer = WallRenderer(
            controller,
            planes,
            friction=CoulombLaw(mu) if mu > 0.0 else None,
            friction_stiffness=p["friction_stiffness"],
            friction_damping=p["friction_damping"],
            release_gap=p["release_gap"],
        )
    return GuardedWalls(renderer, longest_saturation=round(p["longest_saturation"] / p["period"]))
