"""Designs a controller and writes its file, with memory, design time, and its stiffness at the nine points."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_options, design_row, operating_points
from tau_wall_control.control.linearisation import linearise
from tau_wall_control.control.options import SCHEMES, DesignOptions
from tau_wall_control.device.parameters import TauParameters, load_parameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.simulation.push import simulate_push, stiffest_push
from tau_wall_control.simulation.z_width import (
    STABLE,
    closed_loop,
    rendered_stiffness,
    spectral_radius,
    torque_activity,
)
from tau_wall_control.study.schemes import SETTLED
from tau_wall_control.study.settings import Answer, Finding, Grid, Results, Task, nine_points

FILE = "controller.npz"
#: fraction of the largest push that the weakest of the nine points holds, if the device file's push is larger
SHARE = 0.7


class DesignSettings(BaseModel):
    """Arguments of the study; the scheme gives the default of each option."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    device: str = Field(default="", description="YAML file of the device; the stand-in if empty")
    device_parameters: tuple[str, ...] = Field(default=(), description="entries section.name=value in its place")
    scheme: str = Field(default="stiff", description=f"one of {', '.join(SCHEMES)}")
    per_axis: int | None = Field(
        default=None, ge=1, le=9, description="operating points along each axis; default: the device file's"
    )
    delay: int | None = Field(
        default=None, ge=0, le=8, description="samples that a command is known to be late; default: the scheme's"
    )
    normal: tuple[float, float, float] | None = Field(
        default=None, description="of the wall, world axes; default: the scheme's"
    )
    normal_weight: float | None = Field(
        default=None, gt=0.0, description="weight along the normal over that across it; default: the scheme's"
    )
    weight_angle: float | None = Field(default=None, gt=0.0, description="Q = 1/weight^2 [rad]; default: the scheme's")
    weight_rate: float | None = Field(default=None, gt=0.0, description="Q = 1/weight^2 [rad/s]; default: the scheme's")
    weight_torque: float | None = Field(default=None, gt=0.0, description="R = 1/weight^2 [N m]; default: the scheme's")
    disturbance_rate: float | None = Field(
        default=None, gt=0.0, description="random walk of the push [N m/sqrt(s)]; default: the scheme's"
    )
    feedforward: bool | None = Field(
        default=None, description="inverse dynamics of a reference that moves; default: the scheme's"
    )
    output: str = Field(default="", description="second path of the controller's file")

    @cached_property
    def tau(self) -> TauDevice:
        """The device. Raises TauError for a file that is refused."""
        return TauDevice(load_parameters(self.device or None, self.device_parameters))

    @cached_property
    def options(self) -> DesignOptions:
        """Design options of the scheme with the given values. Raises TauError for inconsistent values."""
        other = {"device", "device_parameters", "scheme", "per_axis", "output"}
        given = {k: v for k, v in self.model_dump(exclude=other).items() if v is not None}
        return design_options(self.tau, self.scheme, per_axis=self.per_axis, **given)


@dataclass(frozen=True)
class Rows:
    """Gains at some operating points.

    Attributes:
        parameters: parameters of the device.
        options: options of the design.
        positions: positions of the points [m].
    """

    parameters: TauParameters
    options: DesignOptions
    positions: tuple[tuple[float, float, float], ...]

    def run(self) -> dict[str, np.ndarray]:
        """Computes `rows` (points, n) of the controller's table, and the duration of the design, `seconds`."""
        device = TauDevice(self.parameters)
        _warm_up(self.parameters, self.options)
        before = time.perf_counter()
        rows = np.array([design_row(device, linearise(device, p), self.options) for p in self.positions])
        return {"rows": rows, "seconds": np.array(time.perf_counter() - before)}


@lru_cache(maxsize=1)
def _warm_up(parameters: TauParameters, options: DesignOptions) -> None:
    """Makes one design without timing, because the first one of a process compiles and imports."""
    device = TauDevice(parameters)
    design_row(device, linearise(device, (options.points[0],) * 3), options)


def tasks(settings: DesignSettings) -> dict[str, Task]:
    """Returns one task for each line of operating points.

    Raises:
        TauError: the device's file, the scheme or an option is refused, or the output cannot be written.
    """
    if settings.output and not Path(settings.output).absolute().parent.is_dir():
        raise TauError(f"output: expected a file in a directory that exists, got {settings.output!r}")
    positions, n = operating_points(settings.options), len(settings.options.points)
    return {
        f"line{i // n:03d}": Rows(settings.tau.parameters, settings.options, tuple(positions[i : i + n]))
        for i in range(0, len(positions), n)
    }


def answer(settings: DesignSettings, results: Results, directory: Path) -> Answer:
    """Writes the file, reads it again, and tests the controller."""
    device, seconds = settings.tau, _design_time(results)
    controller, path = _saved(settings, results, directory)
    points = operating_points(settings.options)
    radius = [spectral_radius(closed_loop(controller, p, delay=controller.delay)) for p in points]
    stiffness = [rendered_stiffness(controller, p) for p in points]
    nine = nine_points(device).reshape(9, 3)
    step, weakest = (
        device.parameters.disturbance.step_force,
        min(stiffest_push(device, p, controller.normal) for p in nine),
    )
    push = step if step <= weakest else SHARE * weakest
    runs = [simulate_push(device, controller, point=p, force=push, delay=controller.delay) for p in nine]
    noise = max(torque_activity(r) for r in runs)
    numbers: dict[str, Any] = {
        "scheme": settings.scheme,
        "operating_points": len(points),
        "memory_bytes": controller.memory_bytes,
        "device": device.fingerprint,
        "delay": controller.delay,
        "spectral_radius_max": float(max(radius)),
        "proportional_stiffness": stiffness,
        "push": push,
        "penetration": [r.max_penetration for r in runs],
        "stiffness_min": min(r.stiffness for r in runs),
        "torque_noise": noise,
    }
    result = Answer(numbers, timings={"design": seconds})
    result.findings += [
        Finding(
            f"the linear loop is stable at every operating point with {controller.delay} samples of delay",
            f"largest spectral radius {max(radius):.5f}",
            bool(max(radius) < STABLE),
        ),
        Finding(
            f"a step of {push:.3g} N at the nine points settles",
            f"lowest stiffness {1e-3 * min(r.stiffness for r in runs):.1f} kN/m, torque noise {noise:.1e} N m",
            bool(noise < SETTLED),
        ),
    ]
    rows = [
        ("file", str(path)),
        ("scheme", settings.scheme),
        ("operating points", str(len(points))),
        ("memory", f"{1e-3 * controller.memory_bytes:.1f} kB"),
        ("design time, one core", f"{seconds:.2f} s"),
        ("device", device.fingerprint),
        ("knows a delay of", f"{controller.delay} samples"),
    ]
    result.tables.append(Grid("Controller", ("", ""), rows))
    result.figures["design_wall"] = (
        partial(_figure, nine, runs, push),
        f"A step of {push:.3g} N against the designed controller at the nine points, full nonlinear model, "
        f"{controller.delay} samples of delay.",
    )
    return result


def _saved(settings: DesignSettings, results: Results, directory: Path) -> tuple[WallController, Path]:
    """Returns the designed controller as it is read from the file that was written, and that file.

    Raises:
        TauError: the file cannot be written.
    """
    names = sorted(results)
    made = WallController(
        settings.tau,
        options=settings.options,
        scheme=settings.scheme,
        table=np.concatenate([results[n]["rows"] for n in names]),
        design_time=_design_time(results),
    )
    paths = [directory / FILE, *([Path(settings.output)] if settings.output else [])]
    for path in paths:
        try:
            made.save(path)
        except OSError as error:
            raise TauError(f"{path}: cannot be written: {error.strerror}") from None
    return WallController.load(paths[-1], settings.tau), paths[-1]


def _design_time(results: Results) -> float:
    """Returns the time of the design on one core [s]."""
    return float(sum(results[n]["seconds"] for n in sorted(results)))


def _figure(nine: np.ndarray, runs: list[Any], push: float) -> Figure:
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.4))
    k = 1e-3 * np.array([r.stiffness for r in runs]).reshape(3, 3)
    x, y = 1e3 * nine[:3, 0], 1e3 * nine[::3, 1]
    image = left.pcolormesh(x, y, k, shading="nearest", alpha=0.85)
    for (i, j), value in np.ndenumerate(k):
        left.text(x[j], y[i], f"{value:.1f}", ha="center", va="center")
    left.set(title="push / penetration [kN/m]", xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    figure.colorbar(image, ax=left)
    for p, r in zip(nine, runs, strict=True):
        near = np.abs(r.time - 1.03) < 0.05
        right.plot(1e3 * (r.time[near] - 1.0), 1e3 * r.deviation[near], lw=1.0, label=f"{1e3 * p[0]:g}, {1e3 * p[1]:g}")
    right.set(title=f"step of {push:.3g} N", xlabel="time after the step [ms]", ylabel="deviation [mm]")
    right.legend(title="x, y [mm]", fontsize=8)
    right.grid(alpha=0.3)
    return figure
