"""Report of a recorded toss beside its simulation: both motions, and the error over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from convex_contact.scenes.tosses import (
    HALF_WIDTH,
    PERIOD,
    Toss,
    cube_edges,
    load_tosses,
    mean_errors,
    position_errors,
    rotation_errors,
)
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.kit.contact import STYLES, ContactRun, curve, report_of, runs_of
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report

_REPLAYED = 1e-6  #: largest difference of the replay from the recording, by the integration of rotations [m], [rad]
_RESTING = 5.0  #: largest distance of the centre from the height at which the cube lies on a face [mm]


@dataclass(frozen=True)
class Replay:
    """Largest difference of the replayed cube from the recording: position [m], rotation [rad]."""

    position: float
    rotation: float


@dataclass(frozen=True)
class Numbers:
    """Errors of one run against the recording."""

    toss: int  #: number of the toss
    samples: int  #: number of its samples
    position_error: float  #: mean position error, over the cube's width
    rotation_error: float  #: mean rotation error [deg]
    last_position_error: float  #: position error at the end, over the cube's width
    last_rotation_error: float  #: rotation error at the end [deg]
    replay: Replay  #: difference of what is shown as the recording


def toss_of(run: ContactRun) -> Toss:
    """Loads the recorded toss that a run is compared with.

    Raises:
        HapticError: The run has another period than the recording, or its world has no toss.
    """
    entries = parse_entries(run.parameters["world_parameters"])
    if abs(run.period - PERIOD) > 1e-9:
        raise HapticError(f"the report needs the recording's period, {PERIOD:.9f} s; the run has {run.period:.9f} s")
    if "toss" not in entries:
        raise HapticError("the report needs the number of the toss, world_parameters toss=..., which the run has not")
    return load_tosses()[int(entries["toss"][0])]


def simulated(run: ContactRun, body: str, toss: Toss) -> tuple[np.ndarray, np.ndarray]:
    """Returns position (n - 1, 3) [m] and orientation (n - 1, 4) of a body at samples 1 to n - 1.

    Raises:
        HapticError: The run is shorter than the toss, or has missed ticks of it.
    """
    if len(run.tick) < toss.samples or (run.tick[: toss.samples] != np.arange(toss.samples)).any():
        raise HapticError(f"the toss has {toss.samples} samples, the run has {len(run.tick)} ticks; make it longer")
    number = run.body(body)
    return run.position[1 : toss.samples, number], run.orientation[1 : toss.samples, number]


def measure(run: ContactRun, toss: Toss) -> Numbers:
    """Measures one run."""
    position, orientation = simulated(run, "cube", toss)
    shown = simulated(run, "recording", toss)
    far, turned = mean_errors(position, orientation, toss)
    return Numbers(
        toss=toss.number,
        samples=toss.samples,
        position_error=far,
        rotation_error=turned,
        last_position_error=float(position_errors(position, toss)[-1]),
        last_rotation_error=float(np.degrees(rotation_errors(orientation, toss)[-1])),
        replay=Replay(
            position=float(np.abs(shown[0] - toss.position[1:]).max()),
            rotation=float(rotation_errors(shown[1], toss).max()),
        ),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = runs_of(bags)
    tosses = {name: toss_of(run) for name, run in runs.items()}
    first = next(iter(runs))

    def claim(claims: Claims, numbers: Mapping[str, Numbers]) -> None:
        far = max(n.replay.position for n in numbers.values())
        turned = max(n.replay.rotation for n in numbers.values())
        claims.say(
            "What is shown beside the simulation is the recording.",
            f"at most {far:.1e} m and {turned:.1e} rad from it (below {_REPLAYED:g})",
            max(far, turned) < _REPLAYED,
        )
        _claim_rest(claims, runs[first], tosses[first])
        errors = [
            f"{name}: {100 * n.position_error:.1f} % of the width and {n.rotation_error:.1f} deg on average, "
            f"{100 * n.last_position_error:.1f} % and {n.last_rotation_error:.1f} deg at the end"
            for name, n in numbers.items()
        ]
        text = "Error of the simulation against the recording (one toss says little; for all see docs/contact.md)."
        claims.say(text, "; ".join(errors))

    return report_of(runs, lambda run: measure(run, toss_of(run)), claim, lambda: _figure(runs, tosses), _CAPTION)


def _claim_rest(claims: Claims, run: ContactRun, toss: Toss) -> None:
    last = min(len(run.tick), toss.samples) - 1
    bodies = [run.body(body) for body in ("cube", "recording")]
    heights = [1e3 * float(run.position[last, body, 2]) for body in bodies]
    axes = [np.abs(Rotation.from_quat(run.orientation[last, body]).as_matrix()[2]).max() for body in bodies]
    tilts = [float(np.degrees(np.arccos(min(1.0, axis)))) for axis in axes]
    flat = max(tilts) < 5.0 and max(abs(height - 1e3 * HALF_WIDTH) for height in heights) < _RESTING
    claims.say(
        "Simulated and recorded cube lie on a face at the end.",
        f"centre {heights[0]:.1f} and {heights[1]:.1f} mm above the board (half width {1e3 * HALF_WIDTH:.1f} mm, "
        f"within {_RESTING:g} mm, {AFTER_DATA}), a face {tilts[0]:.1f} and {tilts[1]:.1f} deg from the board "
        "(below 5 deg)",
        flat if run.time[last] > 0.3 else None,
    )


_CAPTION = (
    "Above: recorded (black) and simulated (colour, first run) cube, seen from the side that it moves along, at five "
    "instants; height of the centre. Below: position error over the cube's width, and rotation error, over time."
)


def _figure(runs: Mapping[str, ContactRun], tosses: Mapping[str, Toss]) -> Figure:
    def lines(values: Any) -> list[Curve]:
        """Draws a function of simulated position, orientation and toss for each run."""
        return [
            curve(name, run.approximation, toss.time[1:], values(*simulated(run, "cube", toss), toss))
            for (name, run), toss in zip(runs.items(), tosses.values(), strict=True)
        ]

    name, run = next(iter(runs.items()))
    toss = tosses[name]
    recorded = Curve(toss.time, 1e3 * toss.position[:, 2], "recording", {"color": "black", "linewidth": 1.5})
    return panels(
        [
            Panel("height (mm)", [], "displacement (mm)", title=f"toss {toss.number}, {name.replace('_', ' ')}",
                  extra=partial(_draw_cubes, run=run, toss=toss)),
            Panel("height of the centre (mm)", [recorded, *lines(lambda p, o, toss: 1e3 * p[:, 2])]),
        ],
        [
            Panel("position error (% of the width)", lines(lambda p, o, toss: 100 * position_errors(p, toss)),
                  legend=None),
            Panel("rotation error (deg)", lines(lambda p, o, toss: np.degrees(rotation_errors(o, toss))), legend=None),
        ],
        size=(13, 9),
    )  # fmt: skip


def _draw_cubes(axes: Axes, run: ContactRun, toss: Toss) -> None:
    """Draws the recorded and the simulated cube from the side at five instants."""
    moved = toss.position[-1, :2] - toss.position[0, :2]
    along = moved / max(float(np.linalg.norm(moved)), 1e-9)
    for k in np.linspace(0, toss.samples - 1, 5).astype(int):
        for body, color in (("recording", "black"), ("cube", STYLES[run.approximation]["color"])):
            number = run.body(body)
            for ends in cube_edges(run.position[k, number], run.orientation[k, number]):
                axes.plot(1e3 * ends[:, :2] @ along, 1e3 * ends[:, 2], color=color, linewidth=0.7)
    axes.set_aspect("equal")
