"""The paper's future work: walls at other positions and angles."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.simulation.monte_carlo import FIGURES, Design, places
from tau_wall_control.simulation.push import stiffest_push
from tau_wall_control.study.schemes import Bound
from tau_wall_control.study.settings import Answer, Finding, Results, StudySettings, Task

#: controllers of this question
SCHEMES = ("mopc", "stiff")
#: push against tilted walls, which the motors can hold at all of them [N]
TILTED_PUSH = 8.0
ANGLES = tuple(range(-60, 61, 15))
#: tilt about x turns the wall's normal up (positive) or down, about y to the right or the left
AXES = ("x", "y")


def normal_of(axis: str, degrees: float) -> tuple[float, float, float]:
    """Returns the normal of a wall across z that is rotated about x (positive: it faces down) or y (to the right)."""
    angle = math.radians(degrees)
    return (0.0, -math.sin(angle), math.cos(angle)) if axis == "x" else (math.sin(angle), 0.0, math.cos(angle))


def _places(settings: StudySettings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns depths z, heights y, and x [m]."""
    h = settings.half
    count = 3 if settings.quick else 7
    return np.linspace(-h, h, count), np.linspace(-h, h, count), np.array([-h, 0.0, h])


def _heights(settings: StudySettings) -> np.ndarray:
    """Returns points (3, 3) of the tilted walls [m]."""
    return np.array(
        [(0.0, y, settings.tau.parameters.wall.plane_z) for y in (0.8 * settings.half, 0.0, -0.8 * settings.half)]
    )


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns pushes at walls across z at several depths, and at walls through three points at several angles."""
    zs, ys, xs = _places(settings)
    work: dict[str, Task] = {}
    for scheme in SCHEMES:
        for i, z in enumerate(zs):
            points = [(x, y, z) for y in ys for x in xs]
            work[f"place-{scheme}-{i}"] = settings.pushes(Design(scheme), points)
        for axis in AXES:
            for degrees in settings.thin(ANGLES):
                options = (("normal", normal_of(axis, degrees)),)
                work[f"angle-{scheme}-{axis}-{degrees:+d}"] = settings.pushes(
                    Design(scheme, options=options), _heights(settings), force=TILTED_PUSH
                )
    heights = places(_heights(settings))
    for axis in AXES:
        for degrees in settings.thin(ANGLES):
            work[f"bound-{axis}-{degrees:+d}"] = Bound(
                settings.tau.parameters, heights, (TILTED_PUSH,) * 3, 0, (normal_of(axis, degrees),) * 3
            )
    return work


def answer(settings: StudySettings, results: Results) -> Answer:
    """Makes maps over the position and curves over the angle."""
    zs, ys, xs = _places(settings)
    angles = settings.thin(ANGLES)
    place = {
        s: np.array([results[f"place-{s}-{i}"]["figures"][:, 0, 0] for i in range(len(zs))]).reshape(
            len(zs), len(ys), len(xs)
        )
        for s in SCHEMES
    }
    angle = {
        s: {a: np.array([results[f"angle-{s}-{a}-{d:+d}"]["figures"][:, 0] for d in angles]) for a in AXES}
        for s in SCHEMES
    }
    bound = {a: TILTED_PUSH / np.array([results[f"bound-{a}-{d:+d}"]["penetration"] for d in angles]) for a in AXES}
    stiffness = {s: {a: angle[s][a][..., 0] for a in AXES} for s in SCHEMES}
    moves = max(angle[s][a][..., FIGURES.index("activity")].max() for s in SCHEMES for a in AXES)
    most = np.array([[[stiffest_push(settings.tau, (x, y, z)) for x in xs] for y in ys] for z in zs])
    metrics: dict[str, Any] = {
        "place": {
            "largest_push": most.tolist(),
            "z": zs.tolist(),
            "y": ys.tolist(),
            "x": xs.tolist(),
            "stiffness": {s: k.tolist() for s, k in place.items()},
        },
        "angle": {
            "degrees": list(angles),
            "y": _heights(settings)[:, 1].tolist(),
            "force": TILTED_PUSH,
            "stiffness": {s: {a: k.tolist() for a, k in by.items()} for s, by in stiffness.items()},
            "bound": {a: b.tolist() for a, b in bound.items()},
        },
    }
    result = Answer(metrics)
    result.figures["walls"] = (
        partial(_figure, settings, place, most, stiffness, bound),
        f"Above: walls across z at other depths, the softest of three points along x, step of {settings.push:g} N "
        "(white: the motors cannot hold it). Below: walls through three points, turned about x and y, step of "
        f"{TILTED_PUSH:g} N; dotted: the bound of any controller.",
    )
    can = most >= settings.push
    lost = {s: int((can & (k == 0.0)).sum()) for s, k in place.items()}
    low = {s: 1e-3 * float(min(k.min() for k in stiffness[s].values())) for s in SCHEMES}
    high = {s: 1e-3 * float(max(k.max() for k in stiffness[s].values())) for s in SCHEMES}
    result.findings += [
        Finding(
            "walls at any angle up to 60 degrees are held (the paper's future work)",
            f"mopc {low['mopc']:.1f} to {high['mopc']:.1f} kN/m, stiff {low['stiff']:.1f} to {high['stiff']:.1f}; "
            f"torque noise at constant push at most {moves:.1e} N m",
            bool(min(low.values()) > 0.0 and moves < 1e-2),
        ),
        Finding(
            f"walls at any depth are held where the motors hold {settings.push:g} N at all",
            f"they do at {can.sum()} of {can.size} places; "
            + "; ".join(f"{s} {1e-3 * k[can].min():.1f} to {1e-3 * k[can].max():.1f} kN/m" for s, k in place.items()),
            not any(lost.values()) if can.any() else None,
        ),
    ]
    return result


def _figure(
    settings: StudySettings,
    place: dict[str, np.ndarray],
    most: np.ndarray,
    stiffness: dict[str, dict[str, np.ndarray]],
    bound: dict[str, np.ndarray],
) -> Figure:
    zs, ys, _ = _places(settings)
    angles, heights = settings.thin(ANGLES), 1e3 * _heights(settings)[:, 1]
    figure = Figure(figsize=(11.5, 8.6), layout="constrained")
    grid = figure.subplots(2, 2)
    for axes, (name, k) in zip(grid[0], place.items(), strict=True):
        held = np.where(most.min(axis=2) >= settings.push, 1e-3 * k.min(axis=2), np.nan)
        image = axes.pcolormesh(1e3 * zs, 1e3 * ys, held.T, shading="nearest")
        axes.set(title=name, xlabel="wall at z [mm]", ylabel="y [mm]", aspect="equal")
        figure.colorbar(image, ax=axes, label="lowest stiffness [kN/m]")
    words = {"x": "turned about x [degrees] (positive: faces down)", "y": "turned about y [degrees]"}
    for axes, axis in zip(grid[1], AXES, strict=True):
        for i, y in enumerate(heights):
            for scheme, style in zip(SCHEMES, ("--", "-"), strict=True):
                axes.plot(angles, 1e-3 * stiffness[scheme][axis][:, i], style, marker=".", color=f"C{i}")
            axes.plot(angles, 1e-3 * bound[axis][:, i], ":", color=f"C{i}", lw=1.0)
            axes.plot([], [], color=f"C{i}", label=f"y = {y:g} mm")
        for scheme, style in (*zip(SCHEMES, ("--", "-"), strict=True), ("bound", ":")):
            axes.plot([], [], style, color="0.3", label=scheme)
        axes.set(xlabel=words[axis], ylabel="stiffness [kN/m]", yscale="log")
        axes.grid(alpha=0.3, which="both")
    grid[1, 0].legend(fontsize=8, ncols=2)
    return figure
