"""Report of the hysteresis experiment: elements of model C in parallel against Masing's rules (section VI).

An element with stiffness K that slips at F is elastoplastic; parallel ones have the first-loading curve f = L(x),
piecewise linear and concave. Masing's rules say what they do next, without knowing the elements: after a reversal at
(x_r, f_r) the force follows the curve doubled, f = f_r +- 2 L(|x - x_r|/2), until it comes back to where the reversal
before it began; there the inner loop is forgotten and the branch before goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun, largest
from haptic_experiments.report import Claim, Report

#: share of the largest displacement within which two turning points count as the same
_SAME = 1e-6
#: deviation from a closed form, as a share of the sliding force or of the energy, that counts as agreement: kinks of
#: the curve within a step of the displacement cost about K dx/F = 1e-3 of both
_AGREEMENT = 5e-3
#: energy of a loop, as a share of force times displacement, below which there is none
_NO_ENERGY = 1e-9
_NAMES = {"parallel": "parallel elements", "C": "single model C"}


@dataclass(frozen=True)
class LoadingCurve:
    """First-loading curve of a column, and its elements' damping.

    Attributes:
        displacement: of the points (n,), rising from above 0 [m].
        force: at the points (n,), rising, concave [N]; constant beyond the last.
        damping_time: B/K of every element [s].
    """

    displacement: np.ndarray
    force: np.ndarray
    damping_time: float

    @classmethod
    def of(cls, run: ScriptedRun, column: int) -> LoadingCurve | None:
        """That of parallel elements or of a single model C with Coulomb friction; None for any other column."""
        damping_time = run.number("damping", column) / run.number("stiffness", column)
        if run.parameters["rendering"] != "impedance":
            return None
        if run.models[column] == "parallel":
            x, f = (np.array(run.parameters[f"loading_{name}"], dtype=float) for name in ("displacement", "force"))
            return cls(x, f, damping_time)
        if run.models[column] == "C" and run.parameters["law"] == "coulomb":
            force = run.number("friction_force")
            return cls(np.array([force / run.number("stiffness", column)]), np.array([force]), damping_time)
        return None

    def at(self, displacement: np.ndarray) -> np.ndarray:
        """L(x) for x >= 0."""
        return np.interp(displacement, [0.0, *self.displacement], [0.0, *self.force])

    @property
    def elements(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness [N/m] and breakaway force [N] of the elements: the curve's loss of slope at each point."""
        slopes = np.diff([0.0, *self.force]) / np.diff([0.0, *self.displacement])
        stiffness = -np.diff([*slopes, 0.0])
        return stiffness, stiffness * self.displacement

    def energy(self, amplitude: float, speed: float) -> float:
        """Work [J] of one closed loop between two displacements 2 `amplitude` [m] apart at a constant speed [m/s].

        Without damping each element that slips takes 4 F (X - F/K). With damping its force is B u more while it
        sticks, so it slips after a way of (2 F - B u)/K from the reversal, and takes 4 F X - (2 F - B u)^2/K; one
        that does not slip takes 4 X B u.
        """
        stiffness, breakaway = self.elements
        viscous = stiffness * self.damping_time * speed
        way = np.maximum(2.0 * breakaway - viscous, 0.0)
        slips = 2.0 * amplitude * stiffness > way
        loss = np.where(slips, 4.0 * breakaway * amplitude - way**2 / stiffness, 4.0 * amplitude * viscous)
        return float(loss.sum())


@dataclass(frozen=True)
class Loop:
    """A closed displacement loop.

    Attributes:
        start: index of the reversal that opens it.
        turn: index of the reversal within it.
        end: index of the last sample before the displacement passes that of `start` again.
        simple: it contains no smaller loop.
    """

    start: int
    turn: int
    end: int
    simple: bool


def turning_points(x: np.ndarray) -> list[int]:
    """Indices at which a displacement (n,) that starts from zero turns round, and the last index."""
    direction = np.sign(np.diff(x, prepend=0.0))
    moving = np.flatnonzero(direction)
    turns = moving[:-1][np.diff(direction[moving]) != 0.0]
    return [*turns.tolist(), len(x) - 1]


def masing(x: np.ndarray, curve: LoadingCurve) -> tuple[np.ndarray, list[Loop]]:
    """Force that Masing's rules give for a displacement (n,) from zero [m], and the loops that it closes."""
    force, tolerance = np.empty_like(x), _SAME * largest(x)
    loops: list[Loop] = []
    reversals: list[int] = []  # those that are not forgotten

    def close(end: int) -> None:
        start, turn = reversals[-2:]
        inner = any(start <= loop.start and loop.end <= end for loop in loops)
        loops.append(Loop(start, turn, end, not inner))
        del reversals[-2:]

    begin = 0
    for end in turning_points(x):
        direction = np.sign(x[end] - (x[begin - 1] if begin else 0.0))
        while begin <= end:
            anchor = reversals[-1] if reversals else None
            if anchor is None:
                part = slice(begin, end + 1)
                force[part] = np.sign(x[part]) * curve.at(np.abs(x[part]))
                break
            limit = x[reversals[-2]] if len(reversals) > 1 else -x[anchor]
            beyond = np.flatnonzero(direction * (x[begin : end + 1] - limit) > tolerance)
            part = slice(begin, begin + int(beyond[0]) if len(beyond) else end + 1)
            way = np.maximum(direction * (x[part] - x[anchor]), 0.0)
            force[part] = force[anchor] + direction * 2.0 * curve.at(0.5 * way)
            begin = part.stop
            if len(reversals) > 1 and (len(beyond) or abs(x[end] - limit) <= tolerance):
                close(begin - 1)
            elif len(beyond):
                reversals.clear()
        begin = end + 1
        reversals.append(end)
    return force, loops


def loop_results(run: ScriptedRun, x: np.ndarray, column: int, curve: LoadingCurve) -> list[dict[str, Any]]:
    """Energy and closure of each closed loop of a column.

    Returns:
        Per loop: start and end [s], amplitude (half the range) and centre [m], speed (mean) [m/s], energy (the
        loop's area) and closed_form_energy (of a simple loop at constant speed, else null) [J], closure (force when
        the displacement is back, less that at the start) [N].
    """
    force, results = run.force[:, column], []
    for loop in masing(x, curve)[1]:
        part = slice(loop.start, loop.end + 1)
        amplitude = 0.5 * float(abs(x[loop.turn] - x[loop.start]))
        speed = 4.0 * amplitude / ((loop.end - loop.start) * run.period)
        after = slice(loop.end, min(loop.end + 2, len(x)))
        order = np.argsort(x[after])
        back = float(np.interp(x[loop.start], x[after][order], force[after][order]))
        steps = np.abs(np.diff(x[part])) / run.period
        steady = loop.simple and bool(np.abs(steps - speed).max() < 0.1 * speed)
        results.append(
            {
                "start": float(run.time[loop.start]),
                "end": float(run.time[loop.end]),
                "amplitude": amplitude,
                "centre": 0.5 * float(x[loop.turn] + x[loop.start]),
                "speed": speed,
                "minor": bool(abs(x[loop.start] + x[loop.turn]) > 0.1 * amplitude),
                "simple": loop.simple,
                "energy": float(np.trapezoid(force[part], x[part])),
                "closed_form_energy": curve.energy(amplitude, speed) if steady else None,
                "closure": back - float(force[loop.start]),
            }
        )
    return results


def displacement(run: ScriptedRun) -> np.ndarray:
    """x (n,) [m] of the free end: the sum of T u; over missed ticks the velocity is held."""
    return np.cumsum(run.input_velocity * run.period * np.diff(run.tick, prepend=run.tick[0] - 1))


def labels(run: ScriptedRun) -> list[str]:
    """A name for each column."""
    names = []
    for column, model in enumerate(run.models):
        damping = run.number("damping", column)
        name = f"{_NAMES.get(model, model)}, B = {damping:g} N s/m"
        names.append(name if name not in names else f"{name} ({column})")
    return names


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of the first bag."""
    run = ScriptedRun.from_bag(next(iter(bags.values())))
    x, names = displacement(run), labels(run)
    columns: dict[str, Any] = {}
    for column, name in enumerate(names):
        curve = LoadingCurve.of(run, column)
        columns[name] = {"model": run.models[column], "damping": run.number("damping", column)}
        if curve is not None:
            predicted, _ = masing(x, curve)
            columns[name] |= {
                "sliding_force": float(curve.force[-1]),
                "sliding_displacement": float(curve.displacement[-1]),
                "first_slip_displacement": float(curve.displacement[0]),
                "damping_time": curve.damping_time,
                "deviation_from_masing": largest(run.force[:, column] - predicted),
                "loops": loop_results(run, x, column, curve),
            }
    metrics = {
        "mode": run.device["mode"],
        "ticks": len(run.tick),
        "period": run.period,
        "largest_displacement": largest(x),
        "models": columns,
    }
    claims = [
        _presliding_claim(columns),
        _masing_claim(columns, "parallel", "Masing's rule: a loop is the first-loading curve doubled (Iwan [31])."),
        _energy_claim(columns),
        _memory_claim(columns),
        _masing_claim(columns, "C", "A single model C is one elastoplastic element (VI): its loop is bilinear."),
        _rate_claim(columns, damped=False),
        _rate_claim(columns, damped=True),
    ]
    parameters = {"comparison": run.parameters, "device": run.device}
    return Report(metrics, claims, lambda: _figure(run, x, metrics), _CAPTION, parameters)


# Claims


def _of(columns: dict[str, Any], model: str, damped: bool = False) -> dict[str, Any] | None:
    """The first column of a model with loops, without or with damping."""
    for result in columns.values():
        if result["model"] == model and result.get("loops") and (result["damping_time"] > 0.0) == damped:
            return dict(result)
    return None


_MISSING = "no closed loop of such elements in this run"


def _presliding_claim(columns: dict[str, Any]) -> Claim:
    text = (
        "Parallel elements of model C capture the hysteresis of presliding displacement, which a single one lacks (VI)."
    )
    many, single = _of(columns, "parallel"), _of(columns, "C")
    if many is None:
        return Claim(text, _MISSING, None)

    def inner(result: dict[str, Any]) -> list[dict[str, Any]]:
        """Loops that begin and end with an element that sticks."""
        return [p for p in result["loops"] if p["simple"] and p["amplitude"] < 0.999 * result["sliding_displacement"]]

    loops = [p for p in inner(many) if p["amplitude"] > many["first_slip_displacement"]]
    if not loops:
        return Claim(text, "no loop between the first slip and sliding in this run", None)
    words = ", ".join(f"{1e3 * p['energy']:.3g} mJ at ±{1e3 * p['amplitude']:.3g} mm" for p in loops)
    words = f"loops below the sliding displacement of {1e3 * many['sliding_displacement']:.3g} mm take {words}"
    shown = all(p["energy"] > 1e-3 * many["sliding_force"] * p["amplitude"] for p in loops)
    if single is not None and inner(single):
        lost = max(abs(p["energy"]) for p in inner(single))
        words += f"; a single element below its {1e3 * single['sliding_displacement']:.3g} mm at most {lost:.1e} J"
        shown &= all(abs(p["energy"]) < _NO_ENERGY * single["sliding_force"] * p["amplitude"] for p in inner(single))
    return Claim(text, words, bool(shown))


def _masing_claim(columns: dict[str, Any], model: str, text: str) -> Claim:
    result = _of(columns, model)
    if result is None:
        return Claim(text, _MISSING, None)
    deviation = result["deviation_from_masing"]
    return Claim(
        text,
        f"without damping the force is at most {deviation:.1e} N off the rule's, at any tick of {len(result['loops'])} "
        f"closed loops; sliding force {result['sliding_force']:g} N",
        bool(deviation < _AGREEMENT * result["sliding_force"]),
    )


def _energy_claim(columns: dict[str, Any]) -> Claim:
    text = "A cycle of amplitude X takes the sum of 4 F_j (X - F_j/K_j) of the elements that slip."
    found = [(name, r) for name, r in columns.items() if r.get("loops") and r["damping_time"] == 0.0]
    parts, shown = [], True
    for name, result in found:
        pairs = [
            (p["energy"], p["closed_form_energy"])
            for p in result["loops"]
            if p["closed_form_energy"] is not None and p["closed_form_energy"] > 0.0
        ]
        if pairs:
            error = max(abs(energy / expected - 1.0) for energy, expected in pairs)
            parts.append(f"{name}: {len(pairs)} loops within {100 * error:.2g} %")
            shown &= error < _AGREEMENT
    return Claim(text, "; ".join(parts) or _MISSING, bool(shown) if parts else None)


def _memory_claim(columns: dict[str, Any]) -> Claim:
    text = "Return-point memory: a minor loop closes, and the outer branch goes on as if it had not been."
    result = _of(columns, "parallel")
    minor = [p for p in result["loops"] if p["minor"]] if result else []
    if result is None or not minor:
        return Claim(text, "no minor loop in this run", None)
    worst = max(minor, key=lambda p: abs(p["closure"]))
    return Claim(
        text,
        f"after the minor loop of ±{1e3 * worst['amplitude']:.3g} mm around {1e3 * worst['centre']:.2g} mm the force "
        f"{abs(worst['closure']):.1e} N off where it left; it takes {1e3 * worst['energy']:.3g} mJ",
        bool(abs(worst["closure"]) < _AGREEMENT * result["sliding_force"]),
    )


def _rate_claim(columns: dict[str, Any], damped: bool) -> Claim:
    text = (
        "With damping the loops depend on the speed: per element 4 F X - (2 F - B u)²/K."
        if damped
        else "Without damping the loops do not depend on the speed."
    )
    result = _of(columns, "parallel", damped) or _of(columns, "C", damped)
    if result is None:
        return Claim(text, _MISSING, None)
    simple = [p for p in result["loops"] if p["simple"] and not p["minor"]]
    widest = max((p["amplitude"] for p in simple), default=0.0)
    same = sorted((p for p in simple if p["amplitude"] > 0.999 * widest), key=lambda p: p["speed"])
    if len(same) < 2 or same[-1]["speed"] < 1.5 * same[0]["speed"]:
        return Claim(text, "no two speeds at one amplitude in this run", None)
    words = ", ".join(f"{1e3 * p['energy']:.4g} mJ at {1e3 * p['speed']:.3g} mm/s" for p in same)
    words = f"±{1e3 * widest:.3g} mm takes {words}"
    spread = same[-1]["energy"] / same[0]["energy"] - 1.0
    if not damped:
        return Claim(text, f"{words}: {100 * spread:.2g} %", bool(abs(spread) < _AGREEMENT))
    steady = [p for p in same if p["closed_form_energy"]]
    if not steady:
        return Claim(text, f"{words}; no constant speed, no closed form", None)
    error = max(abs(p["energy"] / p["closed_form_energy"] - 1.0) for p in steady)
    return Claim(text, f"{words}; the formula within {100 * error:.2g} %", bool(spread > error and error < _AGREEMENT))


# Figure

_CAPTION = (
    "Top left: displacement of the free end. Top right and middle left: force over displacement of elements without "
    "damping; the first-loading curve is black, Masing's rules are dotted. Middle right: the widest loops with "
    "damping, at several speeds. Bottom left: energy of a loop over its amplitude, measured (marks) and in closed form "
    "(lines). Bottom right: energy of the widest loops over the speed, measured and in closed form."
)


def _figure(run: ScriptedRun, x: np.ndarray, metrics: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(13, 14), layout="constrained")
    panels: list[Any] = [["motion", "parallel"], ["single", "damped"], ["energy", "rate"]]
    axes = figure.subplot_mosaic(panels)
    axes["motion"].plot(run.time, 1e3 * x, "k", linewidth=1.0)
    axes["motion"].set(xlabel="time (s)", ylabel="displacement (mm)", title="motion")
    curves = [LoadingCurve.of(run, column) for column in range(len(run.models))]
    for column, (name, curve) in enumerate(zip(metrics["models"], curves, strict=True)):
        if curve is None:
            continue
        loops = metrics["models"][name]["loops"]
        panel = axes["parallel" if run.models[column] == "parallel" else "single"]
        if curve.damping_time == 0.0 and not panel.has_data():
            _draw_loops(panel, run.force[:, column], x, curve, name)
        elif curve.damping_time > 0.0 and loops and not axes["damped"].has_data():
            _draw_speeds(axes["damped"], run, x, column, name, loops)
        _draw_energy(axes["energy"], column, name, curve, loops)
        _draw_rate(axes["rate"], column, name, curve, loops)
    axes["energy"].set(xlabel="amplitude (mm)", ylabel="energy per loop (mJ)", title="energy over amplitude")
    axes["rate"].set(
        xlabel="speed (mm/s)", ylabel="energy per loop (mJ)", title="energy of the widest loops over speed"
    )
    for panel in axes.values():
        if not panel.has_data():
            panel.text(0.5, 0.5, "not reached in this run", ha="center", va="center", transform=panel.transAxes)
        elif panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=8)
    return figure


def _draw_loops(axes: Axes, force: np.ndarray, x: np.ndarray, curve: LoadingCurve, name: str) -> None:
    axes.plot(1e3 * x, force, color="C0", linewidth=2.5, alpha=0.6, label="measured")
    axes.plot(1e3 * x, masing(x, curve)[0], ":", color="C3", linewidth=1.2, label="Masing's rules")
    points = np.array([0.0, *curve.displacement, max(largest(x), float(curve.displacement[-1]))])
    axes.plot(1e3 * points, curve.at(points), "k", linewidth=1.5, label="first loading")
    axes.set(xlabel="displacement (mm)", ylabel="force (N)", title=name)


def _widest(loops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Simple loops of the largest amplitude, by their speed."""
    simple = [p for p in loops if p["simple"] and not p["minor"]]
    size = max((p["amplitude"] for p in simple), default=0.0)
    return sorted((p for p in simple if p["amplitude"] > 0.999 * size), key=lambda p: p["speed"])


def _draw_speeds(
    axes: Axes, run: ScriptedRun, x: np.ndarray, column: int, name: str, loops: list[dict[str, Any]]
) -> None:
    for loop in _widest(loops):
        first, last = np.searchsorted(run.time, np.array((loop["start"], loop["end"])) - 0.5 * run.period)
        part = slice(int(first), int(last) + 1)
        axes.plot(1e3 * x[part], run.force[part, column], linewidth=1.2, label=f"{1e3 * loop['speed']:.3g} mm/s")
    axes.set(xlabel="displacement (mm)", ylabel="force (N)", title=name)


def _draw_energy(axes: Axes, column: int, name: str, curve: LoadingCurve, loops: list[dict[str, Any]]) -> None:
    if curve.damping_time > 0.0 or not loops:
        return
    amplitudes = np.linspace(0.0, max(p["amplitude"] for p in loops), 200)
    axes.plot(1e3 * amplitudes, [1e3 * curve.energy(a, 0.0) for a in amplitudes], color=f"C{column}")
    own = [p for p in loops if p["simple"]]
    for minor, mark in ((False, "o"), (True, "s")):
        marks = [(1e3 * p["amplitude"], 1e3 * p["energy"]) for p in own if p["minor"] == minor]
        if marks:
            label = f"{name}{', minor loop' if minor else ''}"
            axes.plot(*np.transpose(marks), mark, color=f"C{column}", fillstyle="none", label=label)


def _draw_rate(axes: Axes, column: int, name: str, curve: LoadingCurve, loops: list[dict[str, Any]]) -> None:
    wide = _widest(loops)
    if not wide:
        return
    speeds = np.geomspace(wide[0]["speed"] / 1.5, 1.5 * wide[-1]["speed"], 100)
    energies = [1e3 * curve.energy(wide[0]["amplitude"], speed) for speed in speeds]
    axes.semilogx(1e3 * speeds, energies, color=f"C{column}")
    marks = [(1e3 * p["speed"], 1e3 * p["energy"]) for p in wide]
    axes.plot(*np.transpose(marks), "o", color=f"C{column}", fillstyle="none", label=name)
