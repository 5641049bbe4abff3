"""The paper's comparison: Figs. 3, 4, 5, 6 and Table 2, its pattern, and the stand-in's baseline (docs/tau.md)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.monte_carlo import FIGURES, Comparison, characteristics, compare, query_points
from tau_wall_control.study.figure_3 import figure_3
from tau_wall_control.study.settings import Answer, Finding, Grid, Results, StudySettings, Task, nine_points

#: relative tolerance of the baseline
TOLERANCE = 0.02
#: Stiffness may change by this share within a row and "not change with x"; chosen before the data [-].
TENTH = 0.1
#: A number is "about" the paper's within this factor, and the paper's within this share; chosen after the data [-].
ABOUT, NEAR = 2.0, 0.25
#: the paper's numbers: MOPC's lowest stiffness less SOPC's [N/m], its gain in penetration, and in RMSE (0.13, 0.16 mm)
PAPER_RISE, PAPER_GAIN, PAPER_RMSE = 100.0, 0.079, 1.0 - 0.13 / 0.16
#: Penetration may be so much larger at an edge point and "not larger" [-]
NOT_MORE = 0.005
#: displacement above which a tool moves before the push [m]: 0.000 mm when rounded
STILL = 0.5e-6

#: the stand-in's baseline: constant 13 N at the nine points (rows from the highest y) [mm]
NINE = {
    "sopc": [[0.795, 0.762, 0.795], [1.090, 1.010, 1.090], [1.419, 1.315, 1.419]],
    "mopc": [[0.771, 0.764, 0.771], [1.047, 1.010, 1.047], [1.345, 1.277, 1.345]],
}
#: of the same points: mean penetration [mm], lowest stiffness [kN/m], mean RMSE [mm], largest initial deviation [mm]
SUMMARY = {"sopc": (1.077, 9.16, 0.140, 0.060), "mopc": (1.042, 9.67, 0.136, 0.0)}
#: Monte Carlo: mean stiffness of the highest and the lowest row, lowest mean, deviation of the surface [kN/m]
NOISY = {"sopc": (16.7, 9.6, 9.04, 2.15), "mopc": (16.9, 10.0, 9.38, 2.11)}


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns rows of query points of each controller, and the nine points without noise."""
    rows, columns, runs = settings.grid
    points = query_points(settings.tau, rows, columns)
    work: dict[str, Task] = {}
    for row in range(rows):
        for number, (name, design) in enumerate(settings.designs.items()):
            work[f"row{row:03d}-{name}"] = settings.pushes(
                design, points[row], noise=settings.deviation, runs=runs, seed=(settings.seed, row), number=number
            )
    for name, design in settings.designs.items():
        work[f"nine-{name}"] = settings.pushes(design, nine_points(settings.tau), trace=True)
    return work


def answer(settings: StudySettings, results: Results) -> Answer:
    """Makes maps, tables and findings."""
    rows, _, _ = settings.grid
    names = list(settings.designs)
    noisy = {n: np.array([results[f"row{r:03d}-{n}"]["figures"] for r in range(rows)]) for n in names}
    nine = {n: results[f"nine-{n}"]["figures"][:, 0] for n in names}
    traces = {n: results[f"nine-{n}"]["deviation"] for n in names}
    level = settings.significance
    numbers = {name: characteristics(noisy[name]) for name in names}
    first = names[0]
    comparisons = {name: compare(noisy[first], noisy[name], level) for name in names[1:]}
    metrics: dict[str, Any] = {
        "table_2": numbers,
        "nine_points": {name: _nine(nine[name]) for name in names},
        "against_" + first: {
            name: {
                "significant": int(c.significant.sum()),
                "higher": int(c.second_higher.sum()),
                "significantly_higher": int(c.both.sum()),
                "significantly_lower": int(c.first_better.sum()),
                "significantly_higher_in_lowest_three_rows": int(c.both[:3].sum()),
                "higher_by_holm": int((c.holm & c.second_higher).sum()),
                "higher_by_benjamini_hochberg": int((c.expected_false & c.second_higher).sum()),
                "difference": c.difference.tolist(),
                "interval_95": c.interval.tolist(),
                "effect": c.effect.tolist(),
                "points": c.both.size,
            }
            for name, c in comparisons.items()
        },
        "mean_stiffness": {name: noisy[name][..., 0].mean(axis=-1).tolist() for name in names},
    }
    result = Answer(metrics)
    result.figures["paper_fig3_points"] = (
        partial(figure_3, settings.tau, query_points(settings.tau, *settings.grid[:2])),
        "Counterpart of Fig. 3: workspace, wall, operating points of MOPC, query points.",
    )
    result.figures["paper_fig4_stiffness"] = (
        partial(_surfaces, settings, noisy),
        "Counterpart of Fig. 4: mean stiffness over the wall. Numbers are means of the rows.",
    )
    for name, c in comparisons.items():
        result.figures[f"paper_fig5_{name}"] = (
            partial(_maps, settings, first, name, c),
            f"Counterpart of Fig. 5: Welch's t-test of {name} against {first} at every point (light: yes).",
        )
    result.figures["paper_fig6_deviation"] = (
        partial(_deviations, settings, traces),
        "Counterpart of Fig. 6: deviation from the wall at the nine points, constant push, no noise.",
    )
    result.tables += [_table_2(numbers), _table_nine(metrics["nine_points"])]
    if {"sopc", "mopc"} <= set(names):
        pair = compare(noisy["sopc"], noisy["mopc"], level)
        lost = any(min(nine[n][:, 0].min(), noisy[n][..., 0].min()) == 0.0 for n in ("sopc", "mopc"))
        result.findings += _pattern(numbers, nine, traces, pair, noisy, lost)
        _baseline(settings, result, numbers, nine)
    return result


def _column(figures: np.ndarray, name: str) -> np.ndarray:
    return figures[..., FIGURES.index(name)]


def _nine(figures: np.ndarray) -> dict[str, Any]:
    depth = _column(figures, "max_penetration")
    return {
        "penetration": depth.reshape(3, 3).tolist(),
        "penetration_mean": float(depth.mean()),
        "stiffness_min": float(_column(figures, "stiffness").min()),
        "rmse_mean": float(_column(figures, "rmse").mean()),
        "initial_deviation_max": float(_column(figures, "initial_deviation").max()),
        "lateral_max": float(_column(figures, "lateral").max()),
        "peak_torque": float(_column(figures, "peak_torque").max()),
    }


def _pattern(
    numbers: dict[str, dict[str, float]],
    nine: dict[str, np.ndarray],
    traces: dict[str, np.ndarray],
    pair: Comparison,
    noisy: dict[str, np.ndarray],
    lost: bool,
) -> list[Finding]:
    """Returns the paper's findings beside the measured ones."""
    both = "the tool never left" if not lost else "it left"
    return [
        Finding("both controllers hold the wall everywhere", both, not lost),
        *_pattern_over_the_wall(numbers, pair, noisy),
        *_pattern_at_nine_points(nine, traces),
    ]


def _pattern_over_the_wall(
    numbers: dict[str, dict[str, float]], pair: Comparison, noisy: dict[str, np.ndarray]
) -> list[Finding]:
    """Returns the findings of the runs with noise over the whole wall."""
    s, m = numbers["sopc"], numbers["mopc"]
    rise = m["stiffness_min"] - s["stiffness_min"]
    rows = {n: noisy[n][..., 0].mean(axis=(1, 2)) for n in ("sopc", "mopc")}
    falls = all((np.diff(r) > 0.0).all() for r in rows.values())
    x = (s["variation_with_x"], m["variation_with_x"])
    enough = noisy["sopc"].shape[2] >= 10  # runs
    lowest = pair.both[:3]
    return [
        Finding(
            "the stiffness falls with y (Fig. 4)",
            f"row means from {1e-3 * rows['sopc'][-1]:.1f} down to {1e-3 * rows['sopc'][0]:.1f} kN/m (SOPC), "
            f"{1e-3 * rows['mopc'][-1]:.1f} to {1e-3 * rows['mopc'][0]:.1f} (MOPC)",
            falls,
        ),
        Finding(
            f"the stiffness does not change with x (Fig. 4): by less than {100 * TENTH:g} % in every row",
            f"at most {100 * x[0]:.2f} % (SOPC), {100 * x[1]:.2f} % (MOPC) in a row",
            max(x) < TENTH if enough else None,
        ),
        Finding("MOPC's lowest mean stiffness is higher", f"by {rise:.0f} N/m", rise > 0.0),
        Finding(
            f"it is higher by about {PAPER_RISE:g} N/m (within a factor of {ABOUT:g}; limit chosen after the data)",
            f"by {rise:.0f} N/m",
            PAPER_RISE / ABOUT < rise < PAPER_RISE * ABOUT if enough else None,
        ),
        Finding(
            "MOPC's surface varies less",
            f"standard deviation {1e-3 * s['stiffness_std']:.3f} kN/m (SOPC), {1e-3 * m['stiffness_std']:.3f} (MOPC)",
            m["stiffness_std"] < s["stiffness_std"] if enough else None,
        ),
        Finding(
            "MOPC is significantly stiffer at most points of the lowest three rows (Fig. 5: 30 of 33)",
            f"{lowest.sum()} of {lowest.size}, each point tested alone as in the paper; {pair.both.sum()} of "
            f"{pair.both.size} in all, significantly softer at {pair.first_better.sum()}",
            bool(lowest.mean() > 0.9) if enough and len(pair.both) > 5 else None,
        ),
        Finding(
            "it still is when all points are tested together (Holm; more than 90 % of the lowest three rows)",
            f"{(pair.holm & pair.second_higher)[:3].sum()} of {lowest.size} by Holm, "
            f"{(pair.expected_false & pair.second_higher)[:3].sum()} by Benjamini and Hochberg; in all "
            f"{(pair.holm & pair.second_higher).sum()} and {(pair.expected_false & pair.second_higher).sum()} of "
            f"{pair.both.size}; stiffer by {100 * pair.difference[:3].mean():.1f} % there (95 % intervals of +-"
            f"{100 * pair.interval[:3].mean():.1f} %, {pair.effect[:3].mean():.1f} standard deviations of a run)",
            bool((pair.holm & pair.second_higher)[:3].mean() > 0.9) if enough and len(pair.both) > 5 else None,
        ),
    ]


def _pattern_at_nine_points(nine: dict[str, np.ndarray], traces: dict[str, np.ndarray]) -> list[Finding]:
    """Returns the findings of the runs without noise at the nine operating points of the wall."""
    depth = {n: 1e3 * _column(nine[n], "max_penetration") for n in ("sopc", "mopc")}
    edges = np.delete(np.arange(9), 4)
    worse = (depth["mopc"] / depth["sopc"] - 1.0)[edges].max()
    gain = 1.0 - depth["mopc"].mean() / depth["sopc"].mean()
    start = {n: 1e3 * _column(nine[n], "initial_deviation").max() for n in ("sopc", "mopc")}
    rmse = {n: 1e3 * _column(nine[n], "rmse").mean() for n in ("sopc", "mopc")}
    better = 1.0 - rmse["mopc"] / rmse["sopc"]
    return [
        Finding(
            "identical in the centre (Fig. 6)",
            f"largest difference {np.abs(traces['sopc'][4] - traces['mopc'][4]).max():g} m",
            bool((traces["sopc"][4] == traces["mopc"][4]).all()),
        ),
        Finding(
            f"MOPC penetrates less on average, and at no edge point more (Fig. 6; by {100 * NOT_MORE:g} % at the most)",
            f"less by {100 * gain:.1f} % on average; worst of the eight: {-100 * worse:+.1f} %",
            bool(worse < NOT_MORE and gain > 0.0),
        ),
        Finding(
            f"it penetrates less by {100 * PAPER_GAIN:g} % on average ({_within(PAPER_GAIN)})",
            f"by {100 * gain:.1f} %",
            bool(abs(gain - PAPER_GAIN) < NEAR * PAPER_GAIN),
        ),
        Finding(
            "MOPC has the smaller mean RMSE at the nine points",
            f"{rmse['mopc']:.3f} against {rmse['sopc']:.3f} mm",
            bool(rmse["mopc"] < rmse["sopc"]),
        ),
        Finding(
            f"its RMSE is smaller by {100 * PAPER_RMSE:.0f} %, 0.13 against 0.16 mm ({_within(PAPER_RMSE)})",
            f"by {100 * better:.0f} %",
            bool(abs(better - PAPER_RMSE) < NEAR * PAPER_RMSE),
        ),
        Finding(
            "SOPC moves at the start, MOPC holds still (Fig. 6)",
            f"{start['sopc']:.3f} mm, {start['mopc']:.4f} mm",
            bool(start["mopc"] < 1e3 * STILL < start["sopc"]),
        ),
    ]


def _within(expected: float) -> str:
    """Returns the limits of a share, in words."""
    low, high = (100 * expected * (1.0 + sign * NEAR) for sign in (-1.0, 1.0))
    return f"{low:.1f} to {high:.1f} %; limits chosen after the data"


def _baseline(
    settings: StudySettings, result: Answer, numbers: dict[str, dict[str, float]], nine: dict[str, np.ndarray]
) -> None:
    """Adds the baseline beside the measured numbers, if this run has the baseline's settings."""
    rows: list[tuple[str, float, float]] = []
    for name, mm in NINE.items():
        depth = 1e3 * _column(nine[name], "max_penetration").reshape(3, 3)
        for i, y in enumerate("+0-"):
            rows += [
                (f"{name} penetration, x {x}, y {y} [mm]", mm[i][j], float(depth[i, j])) for j, x in enumerate("-0+")
            ]
        own = _nine(nine[name])
        measured = (
            1e3 * own["penetration_mean"],
            1e-3 * own["stiffness_min"],
            1e3 * own["rmse_mean"],
            1e3 * own["initial_deviation_max"],
        )
        words = ("mean penetration [mm]", "lowest stiffness [kN/m]", "mean RMSE [mm]", "initial deviation [mm]")
        rows += [(f"{name} {w}", ref, got) for w, ref, got in zip(words, SUMMARY[name], measured, strict=True)]
        if settings.grid == (11, 11, 20):
            keys = ("row_mean_highest", "row_mean_lowest", "stiffness_min", "stiffness_std")
            words = ("mean of the highest row", "mean of the lowest row", "lowest mean", "deviation of the surface")
            rows += [
                (f"{name}, noise: {w} [kN/m]", ref, 1e-3 * numbers[name][key])
                for w, ref, key in zip(words, NOISY[name], keys, strict=True)
            ]
    checks, table = [], []
    for text, reference, measured_ in rows:
        off = abs(measured_ - reference)
        passed = off <= TOLERANCE * reference if reference else off < 1e3 * STILL
        checks.append({"what": text, "reference": reference, "measured": measured_, "pass": bool(passed)})
        change = f"{100 * (measured_ / reference - 1):+.2f} %" if reference else f"{off:.1e}"
        table.append((text, f"{reference:g}", f"{measured_:.4g}", change, "pass" if passed else "FAIL"))
    if not settings.standard or settings.tau.parameters != TauDevice.default().parameters:
        return  # another device or another push: there is no baseline
    result.metrics["baseline"] = {"tolerance": TOLERANCE, "checks": checks}
    failed = sum(not c["pass"] for c in checks)
    result.findings.append(
        Finding(
            f"the stand-in's baseline, {len(checks)} numbers within {100 * TOLERANCE:g} %",
            "all" if not failed else f"{failed} are not",
            not failed,
        )
    )
    result.tables.append(
        Grid("Baseline of the stand-in", ("number", "reference", "measured", "difference", "verdict"), table)
    )


def _table_2(numbers: dict[str, dict[str, float]]) -> Grid:
    keys = {
        "all_min": "lowest",
        "all_max": "highest",
        "all_mean": "mean",
        "all_std": "deviation",
        "stiffness_min": "lowest mean of a point",
        "stiffness_max": "highest mean of a point",
        "row_mean_lowest": "lowest row",
        "row_mean_highest": "highest row",
    }
    rows = [
        (name, *(f"{1e-3 * n[k]:.2f}" for k in keys), f"{100 * n['variation_with_x']:.1f}")
        for name, n in numbers.items()
    ]
    header = ("controller", *(f"{words} [kN/m]" for words in keys.values()), "change with x in a row [%]")
    return Grid("Counterpart of Table 2: stiffness of all simulations, with noise", header, rows)


def _table_nine(nine: dict[str, dict[str, Any]]) -> Grid:
    header = ("controller", "mean penetration [mm]", "lowest stiffness [kN/m]", "mean RMSE [mm]", "initial [mm]")
    rows = [
        (
            name,
            f"{1e3 * n['penetration_mean']:.3f}",
            f"{1e-3 * n['stiffness_min']:.2f}",
            f"{1e3 * n['rmse_mean']:.3f}",
            f"{1e3 * n['initial_deviation_max']:.3f}",
        )
        for name, n in nine.items()
    ]
    return Grid("Constant push at the nine points", header, rows)


# --- figures ------------------------------------------------------------------------------------------------


def _axes_mm(settings: StudySettings) -> tuple[np.ndarray, np.ndarray]:
    rows, columns, _ = settings.grid
    points = 1e3 * query_points(settings.tau, rows, columns)
    return points[0, :, 0], points[:, 0, 1]


def _surfaces(settings: StudySettings, noisy: dict[str, np.ndarray]) -> Figure:
    x, y = _axes_mm(settings)
    n = len(noisy)
    figure = Figure(figsize=(4.5 * n, 3.5), layout="constrained")
    for axes, (name, result) in zip(figure.subplots(1, n, squeeze=False)[0], noisy.items(), strict=True):
        mean = 1e-3 * result[..., 0].mean(axis=-1)
        image = axes.pcolormesh(x, y, mean, shading="nearest")
        axes.set(title=name, xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
        axes.set_yticks(y, [f"{v:g}" for v in y] if len(y) <= 11 else None)
        right = axes.secondary_yaxis("right")
        right.set_yticks(y, [f"{v:.1f}" for v in mean.mean(axis=1)], fontsize=8)
        figure.colorbar(image, ax=axes, label="mean stiffness [kN/m]", pad=0.14)
    return figure


def _maps(settings: StudySettings, first: str, second: str, c: Comparison) -> Figure:
    x, y = _axes_mm(settings)
    figure = Figure(figsize=(11.0, 3.9), layout="constrained")
    maps = (
        ("significantly different", c.significant),
        (f"{second} higher than {first}", c.second_higher),
        ("both", c.both),
    )
    for axes, (title, yes) in zip(figure.subplots(1, 3), maps, strict=True):
        axes.pcolormesh(x, y, yes, shading="nearest", cmap="gray", vmin=-0.4, vmax=1.0, edgecolors="0.5", lw=0.4)
        axes.set(title=f"{title}: {yes.sum()} of {yes.size}", xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    return figure


def _deviations(settings: StudySettings, traces: dict[str, np.ndarray]) -> Figure:
    points = 1e3 * nine_points(settings.tau).reshape(9, 3)
    Ts = settings.tau.parameters.control.sample_time
    figure = Figure(figsize=(12.0, 8.5), layout="constrained")
    grid = figure.subplots(3, 3, sharex=True, sharey=True)
    for i, axes in enumerate(grid.ravel()):
        for k, (name, deviation) in enumerate(traces.items()):
            t = Ts * np.arange(deviation.shape[1])
            axes.plot(t, 1e3 * deviation[i], ("-", "-", "--", "-")[k % 4], lw=1.2, label=name)
        axes.set_title(f"x = {points[i, 0]:g}, y = {points[i, 1]:g} mm", fontsize=10)
        axes.axhline(0.0, color="0.7", lw=0.6, zorder=0)
        axes.grid(alpha=0.3)
    for axes in grid[-1]:
        axes.set_xlabel("t [s]")
    for axes in grid[:, 0]:
        axes.set_ylabel("deviation along z [mm]")
    grid[0, 0].legend(fontsize=9)
    return figure
