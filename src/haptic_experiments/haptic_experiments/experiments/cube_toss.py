"""Report of a recorded toss beside its simulation: error over time, and both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from convex_contact.scenes.tosses import (
    HALF_WIDTH,
    PERIOD,
    Toss,
    load_tosses,
    mean_errors,
    position_errors,
    rotation_errors,
)
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.kit.contact import ContactRun, by_approximation, style
from haptic_experiments.report import Claim, Report

#: the replay of the recording is the recording, up to the integration of its rotations [m], [rad]
_REPLAYED = 1e-6
#: edges of a cube by its corners
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_EDGES = [(i, j) for i in range(8) for j in range(i) if np.abs(_CORNERS[i] - _CORNERS[j]).sum() == 2.0]


def toss_of(run: ContactRun) -> Toss:
    """The recorded toss that a run is beside.

    Raises:
        HapticError: the run is not at the recording's rate, or its world has no toss.
    """
    entries = parse_entries(run.parameters["world_parameters"])
    if abs(run.period - PERIOD) > 1e-9:
        raise HapticError(f"the report needs the recording's period, {PERIOD:.9f} s; the run has {run.period:.9f} s")
    if "toss" not in entries:
        raise HapticError("the report needs the number of the toss, world_parameters toss=..., which the run has not")
    return load_tosses()[int(entries["toss"][0])]


def simulated(run: ContactRun, body: str, toss: Toss) -> tuple[np.ndarray, np.ndarray]:
    """Position and orientation of a body at samples 1 to n - 1.

    Raises:
        HapticError: the run is shorter than the toss, or has missed ticks of it.
    """
    if len(run.tick) < toss.samples or (run.tick[: toss.samples] != np.arange(toss.samples)).any():
        raise HapticError(f"the toss has {toss.samples} samples, the run has {len(run.tick)} ticks; make it longer")
    number = run.body(body)
    return run.position[1 : toss.samples, number], run.orientation[1 : toss.samples, number]


def measure(run: ContactRun, toss: Toss) -> dict[str, Any]:
    """Errors of one run."""
    position, orientation = simulated(run, "cube", toss)
    shown = simulated(run, "recording", toss)
    far, turned = mean_errors(position, orientation, toss)
    return {
        "toss": toss.number,
        "samples": toss.samples,
        "position_error": far,
        "rotation_error": turned,
        "last_position_error": float(position_errors(position, toss)[-1]),
        "last_rotation_error": float(np.degrees(rotation_errors(orientation, toss)[-1])),
        "replay": {
            "position": float(np.abs(shown[0] - toss.position[1:]).max()),
            "rotation": float(rotation_errors(shown[1], toss).max()),
        },
    }


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = by_approximation({name: ContactRun.from_bag(bag) for name, bag in bags.items()})
    tosses = {name: toss_of(run) for name, run in runs.items()}
    numbers = {name: measure(run, tosses[name]) for name, run in runs.items()}
    first = next(iter(runs))
    claims = [_replay_claim(numbers), _rest_claim(runs[first], tosses[first]), _error_claim(numbers)]
    return Report(
        {"runs": numbers}, claims, lambda: _figure(runs, tosses), _CAPTION, {"contact": runs[first].parameters}
    )


def _replay_claim(numbers: Mapping[str, Mapping[str, Any]]) -> Claim:
    worst = [max(entry["replay"][key] for entry in numbers.values()) for key in ("position", "rotation")]
    return Claim(
        "What is shown beside the simulation is the recording.",
        f"at most {worst[0]:.1e} m and {worst[1]:.1e} rad from it",
        max(worst) < _REPLAYED,
    )


def _rest_claim(run: ContactRun, toss: Toss) -> Claim:
    text = "Simulated and recorded cube come to rest on a face."
    last = min(len(run.tick), toss.samples) - 1
    heights, tilts = [], []
    for body in ("cube", "recording"):
        number = run.body(body)
        heights.append(float(run.position[last, number, 2]))
        axes = np.abs(Rotation.from_quat(run.orientation[last, number]).as_matrix()[2])
        tilts.append(float(np.degrees(np.arccos(min(1.0, axes.max())))))
    return Claim(
        text,
        f"centre {1e3 * heights[0]:.1f} and {1e3 * heights[1]:.1f} mm above the board (half width "
        f"{1e3 * HALF_WIDTH:.1f} mm), a face {tilts[0]:.1f} and {tilts[1]:.1f} deg from the board",
        max(tilts) < 5.0 if run.time[last] > 0.3 else None,
    )


def _error_claim(numbers: Mapping[str, Mapping[str, Any]]) -> Claim:
    words = [
        f"{name}: {100 * entry['position_error']:.1f} % of the width and {entry['rotation_error']:.1f} deg on average, "
        f"{100 * entry['last_position_error']:.1f} % and {entry['last_rotation_error']:.1f} deg at the end"
        for name, entry in numbers.items()
    ]
    return Claim(
        "Error of the simulation against the recording (one toss says little; for all see docs/contact.md).",
        "; ".join(words),
        None,
    )


_CAPTION = (
    "Above: recorded (black) and simulated (colour, first run) cube, seen from the side that it moves along, at five "
    "instants; height of the centre. Below: position error over the cube's width, and rotation error, over time."
)


def _figure(runs: Mapping[str, ContactRun], tosses: Mapping[str, Toss]) -> Figure:
    figure = Figure(figsize=(13, 9), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    view, height, far, turned = (figure.add_subplot(grid[i, j]) for i in range(2) for j in range(2))
    name, run = next(iter(runs.items()))
    toss = tosses[name]
    way = toss.position[-1, :2] - toss.position[0, :2]
    along = way / max(float(np.linalg.norm(way)), 1e-9)
    for k in np.linspace(0, toss.samples - 1, 5).astype(int):
        for body, line in (("recording", {"color": "black"}), ("cube", style(run.approximation))):
            number = run.body(body)
            turn = Rotation.from_quat(run.orientation[k, number])
            corners = run.position[k, number] + turn.apply(HALF_WIDTH * _CORNERS)
            flat = 1e3 * np.column_stack([corners[:, :2] @ along, corners[:, 2]])
            for i, j in _EDGES:
                view.plot(*flat[[i, j]].T, color=line["color"], linewidth=0.7)
    view.set(title=f"toss {toss.number}, {name.replace('_', ' ')}", xlabel="way (mm)", ylabel="height (mm)")
    view.set_aspect("equal")
    height.plot(toss.time, 1e3 * toss.position[:, 2], "k-", label="recording")
    for name, run in runs.items():
        line = {**style(run.approximation), "label": name.replace("_", " ")}
        position, orientation = simulated(run, "cube", tosses[name])
        t = tosses[name].time[1:]
        height.plot(t, 1e3 * position[:, 2], **line)
        far.plot(t, 100 * position_errors(position, tosses[name]), **line)
        turned.plot(t, np.degrees(rotation_errors(orientation, tosses[name])), **line)
    height.set(ylabel="height of the centre (mm)", xlabel="time (s)")
    far.set(ylabel="position error (% of the width)", xlabel="time (s)")
    turned.set(ylabel="rotation error (deg)", xlabel="time (s)")
    height.legend(fontsize=8)
    return figure
