"""Encoders and the velocity filter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.simulation.monte_carlo import FIGURES, Design
from tau_wall_control.simulation.push import VELOCITY_POLE
from tau_wall_control.study.settings import Answer, Finding, Results, StudySettings, Task

SCHEMES = ("mopc", "stiff")
#: size of a count over that of the device's encoders; the controllers are designed for this size
COARSER = (0.25, 1.0, 4.0, 16.0, 64.0)
#: poles of the velocity filter [rad/s]
POLES = (250.0, 500.0, 1000.0, 2000.0, 4000.0)


def _values(settings: StudySettings) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns sizes of counts and poles, with those of the device."""
    return (COARSER[1::2], POLES[1::2]) if settings.quick else (COARSER, POLES)


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns pushes at three points for every size of counts and every filter, and with the true state."""
    resolution = settings.tau.parameters.encoders.joint_resolution
    work: dict[str, Task] = {}
    for scheme in SCHEMES:
        work[f"{scheme}-true"] = settings.pushes(Design(scheme), settings.middle_points)
        for coarser in _values(settings)[0]:
            other = settings.tau.with_parameters(f"encoders.joint_resolution={resolution * coarser!r}")
            for pole in _values(settings)[1]:
                work[f"{scheme}-{coarser:g}-{pole:g}"] = settings.pushes(
                    Design(scheme),
                    settings.middle_points,
                    parameters=other.parameters,
                    quantized=True,
                    velocity_pole=pole,
                )
    return work


def answer(settings: StudySettings, results: Results) -> Answer:
    """Evaluates stiffness and torque noise by size of counts and filter."""
    sizes, poles = _values(settings)
    stiffness, noise = {}, {}
    for s in SCHEMES:
        figures = np.array([[results[f"{s}-{c:g}-{p:g}"]["figures"][:, 0] for p in poles] for c in sizes])
        stiffness[s] = figures[..., FIGURES.index("stiffness")].min(axis=-1)
        noise[s] = figures[..., FIGURES.index("activity")].max(axis=-1)
    true = {s: float(results[f"{s}-true"]["figures"][:, 0, 0].min()) for s in SCHEMES}
    metrics: dict[str, Any] = {
        "joint_resolution": [settings.tau.parameters.encoders.joint_resolution * c for c in sizes],
        "velocity_pole": list(poles),
        "stiffness": {s: k.tolist() for s, k in stiffness.items()},
        "torque_noise": {s: k.tolist() for s, k in noise.items()},
        "stiffness_true_state": true,
    }
    result = Answer(metrics)
    result.figures["sensing"] = (
        partial(_figure, sizes, poles, stiffness, noise),
        "Lowest stiffness and torque noise at constant push, three points, by the size of the encoders' counts (1: "
        f"the device's; {settings.tau.parameters.encoders.joint_resolution:.3g} rad) and the velocity filter's pole.",
    )
    if 1.0 in sizes and VELOCITY_POLE in poles:
        i, j = sizes.index(1.0), poles.index(VELOCITY_POLE)
        result.findings.append(
            Finding(
                "the device's encoders and filter cost little stiffness",
                "; ".join(
                    f"{s} {1e-3 * stiffness[s][i, j]:.1f} kN/m (true state {1e-3 * true[s]:.1f}), torque noise "
                    f"{1e3 * noise[s][i, j]:.0f} mN m"
                    for s in SCHEMES
                ),
                bool(all(stiffness[s][i, j] > 0.8 * true[s] for s in SCHEMES)),
            )
        )
    return result


def _figure(
    sizes: tuple[float, ...], poles: tuple[float, ...], stiffness: dict[str, np.ndarray], noise: dict[str, np.ndarray]
) -> Figure:
    from matplotlib.colors import LogNorm

    figure = Figure(figsize=(11.5, 8.0), layout="constrained")
    grid = figure.subplots(2, 2)
    for row, scheme in zip(grid, SCHEMES, strict=True):
        panels = (
            (1e-3 * stiffness[scheme], "lowest stiffness [kN/m]", "{:.1f}"),
            (1e3 * noise[scheme], "torque noise [mN m]", "{:.0f}"),
        )
        for axes, (values, words, style) in zip(row, panels, strict=True):
            shown = np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
            norm = LogNorm() if words.startswith("torque") else None
            axes.imshow(shown, origin="lower", aspect="auto", norm=norm, alpha=0.8)
            for i in range(len(sizes)):
                for j in range(len(poles)):
                    text = style.format(values[i, j]) if np.isfinite(shown[i, j]) else "lost"
                    axes.text(j, i, text, ha="center", va="center", fontsize=9)
            axes.set_xticks(range(len(poles)), [f"{p:g}" for p in poles])
            axes.set_yticks(range(len(sizes)), [f"{c:g}" for c in sizes])
            axes.set(title=f"{scheme}: {words}", xlabel="pole of the velocity filter [rad/s]", ylabel="size of counts")
    return figure
