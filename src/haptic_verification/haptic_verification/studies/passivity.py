"""The study of the passivity of sampled walls: analytic limit, passivity observer and passivity controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from haptic_core.sampled_wall import Column, Contact
from haptic_experiments.report import Claim, ResultTable
from haptic_experiments.study import Results, Study, StudyReport
from haptic_math.passivity import PassivityRule, largest_passive_stiffness

#: the mass has come to rest when it is slower than this fraction of its speed at the first contact [-]
REST = 0.2


class PassivitySettings(BaseModel):
    """The study's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    cells: int = Field(
        default=10, ge=2, le=100, description="cells per b of the damping, and per 2 b/T of the stiffness"
    )
    stiffest: int = Field(default=3, ge=1, le=20, description="end of the grid, in 2 b/T")
    device_damping: float = Field(default=1.0, gt=0.0, le=1000.0, description="physical damping b [N s/m]")
    period: float = Field(default=0.001, gt=0.0, le=0.1, description="control period T [s]")
    mass: float = Field(default=0.05, gt=0.0, le=100.0, description="of the device [kg]")
    speed: float = Field(default=0.1, gt=0.0, le=10.0, description="with which it meets the wall [m/s]")
    press: float = Field(default=1.0, ge=0.0, le=100.0, description="with which it is pressed against it [N]")
    duration: float = Field(default=6.0, gt=0.0, le=1000.0, description="of each contact [s]")
    largest_damping: float = Field(default=20.0, ge=0.0, le=1000.0, description="bound of the controller [N s/m]")
    largest_force: float = Field(default=2.0, ge=0.0, le=1000.0, description="bound of the controller [N]")
    counted: float = Field(
        default=0.8, ge=0.0, le=1.0, description="share of b that the second controller counts; the rest brings to rest"
    )

    def dampings(self) -> np.ndarray:
        """Returns the damping B of the grid's columns [N s/m], in steps of b / `cells`."""
        return np.arange(-(self.cells // 2), self.cells + self.cells // 5 + 1) / self.cells * self.device_damping

    def stiffnesses(self) -> np.ndarray:
        """Returns the stiffness K of the grid's rows [N/m], half a cell away from the limit of each column."""
        fraction = (np.arange(self.cells * self.stiffest) + 0.5) / self.cells
        return fraction * 2.0 * self.device_damping / self.period

    def rules(self) -> list[PassivityRule]:
        """Returns three rules: no controller, one that counts all of b, and one that counts a fraction of b."""
        common: dict[str, Any] = {"largest_damping": self.largest_damping, "largest_force": self.largest_force}
        b = self.device_damping
        return [
            PassivityRule(self.period, device_damping=b),
            PassivityRule(self.period, control=True, device_damping=b, **common),
            PassivityRule(self.period, control=True, device_damping=self.counted * b, **common),
        ]


def tasks(settings: PassivitySettings) -> Mapping[str, Column]:
    """Creates a task for each damping of the wall."""
    contact = Contact(settings.mass, settings.speed, settings.press, settings.duration)
    stiffnesses = tuple(settings.stiffnesses().tolist())
    rules = tuple(settings.rules())
    return {
        f"damping_{index:03d}": Column(B, stiffnesses, settings.device_damping, settings.period, contact, rules)
        for index, B in enumerate(settings.dampings().tolist())
    }


def _maps(results: Results) -> dict[str, np.ndarray]:
    """Joins the columns to arrays by name, shape (stiffness, damping), or (rule, stiffness, damping) per rule."""
    columns = [results[name] for name in sorted(results)]
    return {name: np.stack([column[name] for column in columns], axis=-1) for name in columns[0]}


def report(settings: PassivitySettings, results: Results, directory: Path) -> StudyReport:
    """Reports verdicts, limits, claims and maps."""
    del directory
    maps, b, T = _maps(results), settings.device_damping, settings.period
    limits = np.array([largest_passive_stiffness(b, T, B) for B in settings.dampings().tolist()])
    inside = settings.stiffnesses()[:, None] < limits
    differing = int(np.count_nonzero(maps["passive"] != inside))
    deviation = float(np.abs(maps["limit"] - limits).max() * T / (2.0 * b))
    rests = maps["speed"] < REST * settings.speed
    free, _, counted = rests
    injected, damper = maps["injected"], maps["damper"]
    half = b * settings.counted
    inside_counted = settings.stiffnesses()[:, None] < [
        largest_passive_stiffness(half, T, B) for B in settings.dampings().tolist()
    ]
    lowest = maps["lowest"].min(axis=(1, 2))
    active = int(np.count_nonzero(~free))
    metrics: dict[str, Any] = {
        "cells": int(inside.size),
        "passive_cells": int(inside.sum()),
        "verdicts_that_differ_from_the_limit": differing,
        "largest_deviation_of_the_bisected_limit_in_2b_over_T": deviation,
        "cells_without_rest_without_controller": active,
        "cells_whose_rest_differs_from_the_eigenvalues": int(np.count_nonzero(free != maps["stable"])),
        "passive_cells_without_rest_without_controller": int(np.count_nonzero(inside & ~free)),
        "largest_damping_in_passive_cells": float(injected[1][inside].max(initial=0.0)),
        "largest_late_speed_without_controller_m_per_s": float(maps["speed"][0].max()),
        "largest_late_speed_with_all_of_b_counted_m_per_s": float(maps["speed"][1].max()),
        "cells_without_rest_with_a_share_counted": int(np.count_nonzero(~counted)),
        "largest_late_speed_with_a_share_counted_m_per_s": float(maps["speed"][2].max()),
        "largest_damping_in_cells_passive_with_the_share": float(injected[2][inside_counted].max(initial=0.0)),
        "largest_force_of_the_controller_N": float(damper.max()),
        "lowest_energy_without_controller_J": float(lowest[0]),
        "lowest_energy_with_all_of_b_counted_J": float(lowest[1]),
    }
    claims = _claims(settings, metrics, bool(counted.all()), int(np.count_nonzero(counted & ~free)))
    rows = [
        (f"{B / b:.2f}", f"{limit:.1f}", f"{found:.1f}")
        for B, limit, found in zip(settings.dampings(), limits, maps["limit"], strict=True)
    ]
    table = ResultTable("Stiffest passive wall [N/m]", ("B / b", "2 (b - |B|)/T", "by the observer"), rows)
    caption = (
        "Walls by damping B and stiffness K, in units of b and 2 b/T. Orange: the limit of Colgate and Schenkel. Left: "
        "the observer's verdict in prescribed motions. Then the speed of a mass long after it met the wall: without "
        "controller (dashed: stability of the contact by eigenvalues), with a controller that counts all of b, and "
        "with one that counts a share. Crosses: the controller acted."
    )
    return StudyReport(metrics, claims, {"passivity": (_figure(settings, maps), caption)}, [table])


def _claims(
    settings: PassivitySettings, metrics: Mapping[str, Any], all_counted_rest: bool, active_at_rest: int
) -> list[Claim]:
    """Makes the claims.

    Args:
        settings: arguments of the study.
        metrics: numbers of the report.
        all_counted_rest: True if all cells come to rest with a fraction of b counted.
        active_at_rest: number of cells that come to rest only with a fraction of b counted.
    """
    differing, active = (
        metrics["verdicts_that_differ_from_the_limit"],
        metrics["cells_without_rest_without_controller"],
    )
    deviation = metrics["largest_deviation_of_the_bisected_limit_in_2b_over_T"]
    lowest = (metrics["lowest_energy_without_controller_J"], metrics["lowest_energy_with_all_of_b_counted_J"])
    return [
        Claim(
            "The observer calls a wall passive where K < 2 (b - |B|)/T (Colgate and Schenkel).",
            f"{metrics['cells'] - differing} of {metrics['cells']} cells agree; bisected limits differ by at most "
            f"{100 * deviation:.3f} % of 2 b/T",
            differing == 0 and deviation < 2e-3,
        ),
        Claim(
            "A passive wall comes to rest without a controller, and where it does not, the loop's eigenvalues say so.",
            f"{metrics['passive_cells_without_rest_without_controller']} passive cells do not rest, {active} in all; "
            f"{metrics['cells_whose_rest_differs_from_the_eigenvalues']} differ from the eigenvalues",
            metrics["passive_cells_without_rest_without_controller"] == 0,
        ),
        Claim(
            "The controller does nothing in passive cells.",
            f"largest damping that it added there: {metrics['largest_damping_in_passive_cells']:g} N s/m (all of b "
            f"counted), {metrics['largest_damping_in_cells_passive_with_the_share']:g} N s/m ({settings.counted:g} b "
            "counted, in the cells that are passive with that)",
            metrics["largest_damping_in_passive_cells"] == 0.0
            and metrics["largest_damping_in_cells_passive_with_the_share"] == 0.0,
        ),
        Claim(
            "With all of b counted an active wall gives at most what it takes, but for what one period's bound leaves.",
            f"lowest energy at a port {1e3 * lowest[1]:.3g} mJ, without controller {1e3 * lowest[0]:.3g} mJ; largest "
            f"speed at the end {metrics['largest_late_speed_with_all_of_b_counted_m_per_s']:.3g} m/s, without "
            f"{metrics['largest_late_speed_without_controller_m_per_s']:.3g} m/s",
            lowest[1] > 0.01 * lowest[0] if active else None,
        ),
        Claim(
            f"With {settings.counted:g} b counted every active cell comes to rest (below {REST:g} of the first speed).",
            f"{active_at_rest} of {active} cells; largest speed at the end "
            f"{metrics['largest_late_speed_with_a_share_counted_m_per_s']:.3g} m/s",
            all_counted_rest if active else None,
        ),
        Claim(
            "The controller keeps its bound of the force.",
            f"{metrics['largest_force_of_the_controller_N']:.4g} N of {settings.largest_force:g} N",
            metrics["largest_force_of_the_controller_N"] <= settings.largest_force * (1.0 + 1e-12),
        ),
    ]


def _figure(settings: PassivitySettings, maps: Mapping[str, np.ndarray]) -> Figure:
    b, T, size = settings.device_damping, settings.period, 0.5 / settings.cells
    B, K = settings.dampings() / b, settings.stiffnesses() * T / (2.0 * b)
    extent = (B[0] - size, B[-1] + size, K[0] - size, K[-1] + size)
    figure = Figure(figsize=(13.0, 4.6), layout="constrained")
    axes = figure.subplots(1, 4, sharey=True)
    options: dict[str, Any] = {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
    axes[0].imshow(maps["passive"], cmap=ListedColormap(["#d99080", "#9fc5a3"]), vmin=0, vmax=1, **options)
    axes[0].text(0.0, 0.3, "passive", ha="center")
    axes[0].text(0.35, 2.0 if K[-1] > 2.0 else 1.2, "active", ha="center")
    titles = (
        "observer's verdict",
        "no controller",
        "controller, b counted",
        f"controller, {settings.counted:g} b counted",
    )
    norm = LogNorm(1e-3 * settings.speed, 10.0 * settings.speed, clip=True)
    for index, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("B / b")
        axis.plot(B, np.maximum(0.0, 1.0 - np.abs(B)), color="darkorange", lw=1.8)
        if index:
            image = axis.imshow(np.maximum(maps["speed"][index - 1], 1e-12), norm=norm, cmap="viridis", **options)
            rows, columns = np.nonzero(maps["injected"][index - 1])
            axis.plot(B[columns], K[rows], "x", color="white", ms=2.0, mew=0.5)
        axis.set_xlim(extent[:2])
        axis.set_ylim(extent[2:])
    axes[1].contour(
        B, K, maps["stable"].astype(float), levels=[0.5], colors="white", linestyles="dashed", linewidths=1.2
    )
    axes[0].set_ylabel("K T / (2 b)")
    figure.colorbar(image, ax=list(axes[1:]), label="largest speed at the end [m/s]")
    return figure


STUDY = Study(
    title="Passivity of sampled walls: limit, observer, controller",
    paper="Colgate and Schenkel 1997; Hannaford and Ryu 2002",
    summary="A spring-damper wall, sampled and held, before a mass with physical damping b: the observer's verdict and "
    "the analytic limit over a grid of stiffness and damping, and a contact without and with the passivity controller.",
    settings=PassivitySettings,
    tasks=tasks,
    report=report,
)
