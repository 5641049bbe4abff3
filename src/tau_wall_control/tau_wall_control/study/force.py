"""Stiffness against the push."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.simulation.monte_carlo import places
from tau_wall_control.simulation.push import continuous_push, continuous_torque_fraction, stiffest_push
from tau_wall_control.study.schemes import Bound
from tau_wall_control.study.settings import Answer, Finding, Results, StudySettings, Task, nine_points

FORCES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0)
DELAYS = (0, 1)
#: depth at which a tool is through the wall [m]
LOST = 5e-3
#: fraction of the largest push that should be held; the rest stops the tool
HELD = 0.9


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns steps of every height at three points, with and without a sample of delay."""
    work: dict[str, Task] = {}
    for force in settings.thin(FORCES):
        for delay in DELAYS:
            for name, design in settings.designs.items():
                work[f"{name}-{delay}-{force:g}N"] = settings.pushes(
                    design, settings.middle_points, force=force, delay=delay
                )
            points = places(settings.middle_points)
            work[f"bound-{delay}-{force:g}N"] = Bound(settings.tau.parameters, points, (force,) * 3, delay)
    return work


def answer(settings: StudySettings, results: Results) -> Answer:
    """Makes curves of the stiffness over the push."""
    forces, names = settings.thin(FORCES), list(settings.designs)
    stiffness = {
        n: {d: np.array([results[f"{n}-{d}-{F:g}N"]["figures"][:, 0, 0] for F in forces]) for d in DELAYS}
        for n in names
    }
    bound = {d: np.array([F / results[f"bound-{d}-{F:g}N"]["penetration"] for F in forces]) for d in DELAYS}
    most = [stiffest_push(settings.tau, p) for p in settings.middle_points]
    result = Answer(
        {
            "forces": list(forces),
            "y": settings.middle_points[:, 1].tolist(),
            "largest_push": most,
            "stiffness": {n: {f"delay_{d}": k.tolist() for d, k in by.items()} for n, by in stiffness.items()},
            "bound": {f"delay_{d}": b.tolist() for d, b in bound.items()},
        }
    )
    result.figures["force"] = (
        partial(_figure, settings, forces, stiffness, bound, most),
        "Stiffness (push over largest penetration) against the push, x = 0; lines: no delay, dashed: one sample, "
        "dotted: the bound of any controller, grey: no motor torques hold more.",
    )
    share = np.array([[F / m for m in most] for F in forces])
    lost = {n: share[stiffness[n][0] < np.array(forces)[:, None] / LOST] for n in names}
    result.metrics["lost_from"] = {n: float(x.min()) if x.size else None for n, x in lost.items()}
    result.findings.append(
        Finding(
            f"every push up to {100 * HELD:g} % of what the motors hold at rest is held, by any controller",
            "; ".join(
                f"{n} loses it at {100 * x.min():.0f} %" if x.size else f"{n} holds all of them"
                for n, x in lost.items()
            ),
            all((x > HELD).all() for x in lost.values()),
        )
    )
    shares = [
        float(continuous_torque_fraction(settings.tau, p, settings.push).max())
        for p in nine_points(settings.tau).reshape(-1, 3)
    ]
    good = [continuous_push(settings.tau, p) for p in nine_points(settings.tau).reshape(-1, 3)]
    result.metrics["share_of_continuous_torque"], result.metrics["push_for_good"] = shares, good
    result.findings.append(
        Finding(
            f"the motors hold the study's push of {settings.push:g} N for good at all nine points",
            f"it takes {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the continuous torque; for good they "
            f"hold {min(good):.1f} to {max(good):.1f} N",
            max(shares) <= 1.0,
        )
    )
    return result


def _figure(
    settings: StudySettings,
    forces: list[float],
    stiffness: dict[str, dict[int, np.ndarray]],
    bound: dict[int, np.ndarray],
    most: list[float],
) -> Figure:
    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    grid = figure.subplots(1, 3, sharey=True)
    for i, axes in enumerate(grid):
        for c, (name, by) in enumerate(stiffness.items()):
            for d, style in zip(DELAYS, ("-", "--"), strict=True):
                k = np.where(by[d][:, i] > 0.0, 1e-3 * by[d][:, i], np.nan)
                axes.plot(forces, k, style, marker=".", color=f"C{c}", label=name if d == 0 else None)
        for d in DELAYS:
            k = np.where(bound[d][:, i] > 0.0, 1e-3 * bound[d][:, i], np.nan)
            axes.plot(forces, k, "k:", lw=1.8 - 0.8 * d, label=f"bound, delay {d}")
        axes.axvspan(most[i], max(*forces, *most) + 1.0, color="0.9", zorder=0)
        axes.set(
            title=f"y = {1e3 * settings.middle_points[i, 1]:g} mm",
            xlabel="push [N]",
            yscale="log",
            xlim=(0.0, max(*forces, *most) + 1.0),
        )
        axes.grid(alpha=0.3, which="both")
    grid[0].set(ylabel="stiffness [kN/m]", ylim=(3.0, 1000.0))
    grid[0].legend(fontsize=9)
    return figure
