"""Choice of the motion that a node's parameter `motion` names: one for the device, an installed one, or a CSV file.

The suite's own motions are in the tables of the modules of this folder: `PLANAR_MOTIONS` for the devices in the plane,
`SPATIAL_MOTIONS` for the Cobotic Hand Controller, `WALL_MOTIONS` for the TAU device. A motion in a new module with such
a table is found without an entry elsewhere.

A package adds a motion by an entry point of group `haptic_motions`: a function that takes the parameters of the
device's node and returns a plan (`MotionPlan` for the devices in the plane, `SpatialPlan` for the others).

A CSV file (a name that ends with .csv) has a header: `time` [s] first, and channels of a `scripted.Script`:
position_0..2 [m], force_0..5 ([N], then [N m]). The target follows a cubic spline through the positions, with the
spline's velocity; forces are interpolated linearly; the tool does not rotate, and the hand always holds it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from haptic_core.errors import ParameterError
from haptic_devices import motions
from haptic_devices.motions import planar
from haptic_devices.motions.planar import MotionPlan, Phase, Plan
from haptic_devices.motions.spatial import COLUMN_COUNT, GRIP, POSITION, QUATERNION_W, VELOCITY, WRENCH, SpatialPlan
from haptic_files.plugins import installed_plugins, load_plugin

ENTRY_POINTS = "haptic_motions"


@cache
def motions_of(table: str) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    """Collects the suite's own motions of a family of devices from the modules of this folder.

    Args:
        table: name of the table: PLANAR_MOTIONS, SPATIAL_MOTIONS or WALL_MOTIONS.

    Returns:
        Functions that make a plan from the parameters of the device's node, by name.
    """
    found: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for module in pkgutil.iter_modules(motions.__path__, f"{motions.__name__}."):
        found |= getattr(import_module(module.name), table, {})
    return found


def choose_plan(parameters: dict[str, Any], own: Sequence[str], make: Callable[[], Plan], *, spatial: bool) -> Any:
    """Makes the plan that the parameter `motion` names.

    Args:
        parameters: parameters of the device's node.
        own: names of the motions for the device.
        make: function that makes the plan of the motion if it is one of `own`.
        spatial: whether the device has six degrees of freedom; otherwise it is planar.

    Raises:
        ParameterError: there is no such motion, the file is refused, or the plan does not fit the device.
    """
    name = parameters["motion"]
    if name in own:
        return make()
    if name.endswith(".csv"):
        return read_plan(Path(name), parameters["period"], spatial=spatial)
    installed = installed_plugins(ENTRY_POINTS)
    if name not in installed:
        names = ", ".join((*own, *installed))
        raise ParameterError(
            f"parameter motion: expected one of {names} for device {parameters['device']}, got {name!r}"
        )
    plan = load_plugin(installed[name], ParameterError, f"parameter motion: {name}")(parameters)
    expected = SpatialPlan if spatial else MotionPlan
    if not isinstance(plan, expected):
        raise ParameterError(
            f"parameter motion: expected a {expected.__name__} for device {parameters['device']}, "
            f"got a {type(plan).__name__} from {name!r}"
        )
    return plan


def read_plan(path: Path, period: float, *, spatial: bool) -> MotionPlan | SpatialPlan:
    """Reads the plan of a CSV file; see the module.

    Args:
        path: path of the file.
        period: sampling period of the plan [s].
        spatial: whether the plan has six degrees of freedom; otherwise only x, y and the force along them are used.

    Raises:
        ParameterError: the file cannot be used; the message names line and column.
    """
    from haptic_devices.scripted import Script

    script = Script.from_csv(path)
    times = script.time[0] + period * np.arange(int((script.end - script.time[0]) / period + 1e-9) + 1)
    spline = scipy.interpolate.CubicSpline(script.time, script.values["position"][:, 0:3])
    position, velocity, force = spline(times), spline(times, 1), script.at(times)["force"]
    phases = (Phase(path.stem, "slide", 0.0, len(times) * period),)
    if not spatial:
        table = np.zeros((len(times), len(planar.COLUMNS)))
        table[:, planar.POSITION], table[:, planar.VELOCITY] = position[:, :2], velocity[:, :2]
        table[:, planar.FORCE], table[:, planar.GRIP] = force[:, :2], 1.0
        return MotionPlan(period, table, phases)
    table = np.zeros((len(times), COLUMN_COUNT))
    table[:, POSITION], table[:, QUATERNION_W] = position, 1.0
    table[:, WRENCH], table[:, GRIP] = force, 1.0
    table[:, VELOCITY] = velocity
    return SpatialPlan(period, table, phases)
