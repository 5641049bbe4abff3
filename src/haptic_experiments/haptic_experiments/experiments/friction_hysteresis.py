"""Report of the hysteresis experiment: elements of model C in parallel against Masing's rules (section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import MERGED, Claims, Report, Verdict
from haptic_experiments.kit.signals import largest
from haptic_files.moved_modules import renamed
from haptic_friction.reference.hysteresis import ColumnLoops, LoadingCurve, MeasuredLoop, masing

__getattr__ = renamed(__name__, {"Column": "haptic_friction.reference.hysteresis:ColumnLoops"})

#: deviation from a closed form, as a fraction of the sliding force or of the energy, that counts as agreement: kinks of
#: the curve within a step of the displacement cost about K dx/F = 1e-3 of both
_AGREEMENT = 5e-3
_LIMIT = f" (limit {100 * _AGREEMENT:g} %)"
#: energy of a loop, as a fraction of force times displacement, that counts as none, and that counts as some
_NO_ENERGY, _SOME_ENERGY = 1e-9, 1e-3
_NAMES = {"parallel": "parallel elements", "C": "single model C"}


@dataclass(frozen=True)
class ModelNumbers:
    """Numbers of a column."""

    model: str  #: name of the model
    damping: float  #: B [N s/m]
    column: ColumnLoops | None = field(metadata=MERGED)  #: loops; None without a first-loading curve


def loading_curve(run: ScriptedRun, column: int) -> LoadingCurve | None:
    """Makes the curve of parallel elements or of one model C with Coulomb friction; None for any other column."""
    damping_time = run.number("damping", column) / run.number("stiffness", column)
    if run.parameters["rendering"] != "impedance":
        return None
    if run.models[column] == "parallel":
        x, f = (np.array(run.parameters[f"loading_{name}"], dtype=float) for name in ("displacement", "force"))
        return LoadingCurve(x, f, damping_time)
    if run.models[column] == "C" and run.parameters["law"] == "coulomb":
        force = run.number("friction_force")
        return LoadingCurve(np.array([force / run.number("stiffness", column)]), np.array([force]), damping_time)
    return None


def displacement(run: ScriptedRun) -> np.ndarray:
    """Integrates the input to the displacement x (n,) [m] of the free end; over missed ticks the velocity is held."""
    return np.cumsum(run.input_velocity * run.period * np.diff(run.tick, prepend=run.tick[0] - 1))


def labels(run: ScriptedRun) -> list[str]:
    """Names each column by its model and damping."""
    names: list[str] = []
    for column, model in enumerate(run.models):
        name = f"{_NAMES.get(model, model)}, B = {run.number('damping', column):g} N s/m"
        names.append(name if name not in names else f"{name} ({column})")
    return names


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of the first bag."""
    run = ScriptedRun.from_bag(next(iter(bags.values())))
    x, names = displacement(run), labels(run)
    curves = [loading_curve(run, column) for column in range(len(names))]
    columns = [
        ColumnLoops.of(x, run.force[:, i], curve, run.time, run.period) if curve else None
        for i, curve in enumerate(curves)
    ]
    models = {
        name: ModelNumbers(run.models[i], run.number("damping", i), column)
        for i, (name, column) in enumerate(zip(names, columns, strict=True))
    }
    numbers = {"mode": run.device["mode"], "ticks": len(run.tick), "period": run.period}
    numbers |= {"largest_displacement": largest(x), "models": models}
    known = {i: column for i, column in enumerate(columns) if column}
    parameters = {"comparison": run.parameters, "device": run.device}
    return Report(numbers, _claims(run, names, known), lambda: _figure(run, x, names, known), _CAPTION, parameters)


_NOTE = "not reached in this run"
_MISSING = "no closed loop of such elements in this run"


def _claims(run: ScriptedRun, names: list[str], columns: dict[int, ColumnLoops]) -> Claims:
    def first(model: str, damped: bool = False) -> ColumnLoops | None:
        found = [column for i, column in columns.items() if run.models[i] == model and column.loops]
        return next((column for column in found if (column.damping_time > 0.0) == damped), None)

    claims, many, single = Claims(), first("parallel"), first("C")
    text = (
        "Parallel elements of model C capture the hysteresis of presliding displacement, which a single one lacks (VI)."
    )
    if many := claims.reached(text, many, unless=_MISSING):
        claims.say(text, *_assess_presliding(many, single))
    _claim_masing(claims, many, "Masing's rule: a loop is the first-loading curve doubled (Iwan [31]).")
    _claim_energy(claims, {names[i]: column for i, column in columns.items() if column.damping_time == 0.0})
    _claim_memory(claims, many)
    _claim_masing(claims, single, "A single model C is one elastoplastic element (VI): its loop is bilinear.")
    for damped, text in (
        (False, "Without damping the loops do not depend on the speed."),
        (True, "With damping the loops depend on the speed: per element 4 F X - (2 F - B u)²/K."),
    ):
        if column := claims.reached(text, first("parallel", damped) or first("C", damped), unless=_MISSING):
            claims.say(text, *_assess_rate(column))
    return claims


def _assess_presliding(many: ColumnLoops, single: ColumnLoops | None) -> Verdict:
    loops = [loop for loop in many.sticking if loop.amplitude > many.first_slip_displacement]
    if not loops:
        return "no loop between the first slip and sliding in this run", None
    words = ", ".join(f"{1e3 * loop.energy:.3g} mJ at ±{1e3 * loop.amplitude:.3g} mm" for loop in loops)
    words = f"loops below the sliding displacement of {1e3 * many.sliding_displacement:.3g} mm take {words}"
    shown = all(loop.energy > _SOME_ENERGY * many.sliding_force * loop.amplitude for loop in loops)
    if single is not None and single.sticking:
        lost = max(abs(loop.energy) for loop in single.sticking)
        words += f"; a single element below its {1e3 * single.sliding_displacement:.3g} mm at most {lost:.1e} J"
        shown &= all(abs(p.energy) < _NO_ENERGY * single.sliding_force * p.amplitude for p in single.sticking)
    return f"{words} (limits {_SOME_ENERGY:g} and {_NO_ENERGY:g} of force times displacement)", shown


def _claim_masing(claims: Claims, column: ColumnLoops | None, text: str) -> None:
    if column := claims.reached(text, column, unless=_MISSING):
        about = f"largest difference without damping, at any tick of {len(column.loops)} closed loops:"
        claims.below(text, column.deviation_from_masing, _AGREEMENT * column.sliding_force, "N", about=about)


def _claim_energy(claims: Claims, columns: dict[str, ColumnLoops]) -> None:
    errors = {}
    for name, column in columns.items():
        pairs = [(loop.energy, loop.closed_form_energy) for loop in column.loops if loop.closed_form_energy]
        if pairs:
            errors[f"{name}: {len(pairs)} loops"] = max(abs(energy / expected - 1.0) for energy, expected in pairs)
    claims.say(
        "A cycle of amplitude X takes the sum of 4 F_j (X - F_j/K_j) of the elements that slip.",
        "; ".join(f"{name} within {100 * error:.2g} %" for name, error in errors.items()) + _LIMIT,
        all(error < _AGREEMENT for error in errors.values()),
        unless="" if errors else _MISSING,
    )


def _claim_memory(claims: Claims, column: ColumnLoops | None) -> None:
    text = "Return-point memory: a minor loop closes, and the outer branch goes on as if it had not been."
    minor = [(loop, column.sliding_force) for loop in column.loops if loop.minor] if column else []
    farthest = max(minor, key=lambda found: abs(found[0].closure), default=None)
    if worst := claims.reached(text, farthest, unless="no minor loop in this run"):
        loop, force = worst
        about = (
            f"the minor loop of ±{1e3 * loop.amplitude:.3g} mm around {1e3 * loop.centre:.2g} mm takes "
            f"{1e3 * loop.energy:.3g} mJ; change of the force over it:"
        )
        claims.below(text, abs(loop.closure), _AGREEMENT * force, "N", about=about)


def _assess_rate(column: ColumnLoops) -> Verdict:
    same = column.widest
    if len(same) < 2 or same[-1].speed < 1.5 * same[0].speed:
        return "no two speeds at one amplitude in this run", None
    words = ", ".join(f"{1e3 * loop.energy:.4g} mJ at {1e3 * loop.speed:.3g} mm/s" for loop in same)
    words = f"±{1e3 * same[0].amplitude:.3g} mm takes {words}"
    spread = same[-1].energy / same[0].energy - 1.0
    if column.damping_time == 0.0:
        return f"{words}: {100 * spread:.2g} %{_LIMIT}", abs(spread) < _AGREEMENT
    errors = [abs(loop.energy / loop.closed_form_energy - 1.0) for loop in same if loop.closed_form_energy]
    error = max(errors, default=np.inf)
    words += f"; the formula within {100 * error:.2g} %{_LIMIT}" if errors else "; no constant speed, no closed form"
    return words, spread > error and error < _AGREEMENT if errors else None


_CAPTION = (
    "Top left: displacement of the free end. Top right and middle left: force over displacement of elements without "
    "damping; the first-loading curve is black, Masing's rules are dotted. Middle right: the widest loops with "
    "damping, at several speeds. Bottom left: energy of a loop over its amplitude, measured (marks) and in closed form "
    "(lines). Bottom right: energy of the widest loops over the speed, measured and in closed form."
)


def _figure(run: ScriptedRun, x: np.ndarray, names: list[str], columns: dict[int, ColumnLoops]) -> Figure:
    missing = Panel("", (), "", note=_NOTE)
    loops, energy, rate = dict[str, Panel](), list[Curve](), list[Curve]()
    for i, column in columns.items():
        curve, force, style = loading_curve(run, i), run.force[:, i], {"color": f"C{i}", "linewidth": 1.5}
        assert curve is not None
        place = "damped" if curve.damping_time > 0.0 else "parallel" if run.models[i] == "parallel" else "single"
        if place not in loops and (place != "damped" or column.loops):
            shown = _speed_curves(run, x, force, column) if place == "damped" else _loop_curves(x, force, curve)
            loops[place] = Panel("force (N)", shown, "displacement (mm)", title=names[i])
        if place != "damped" and column.loops:
            energy += _energy_curves(names[i], curve, column.loops, style)
        if column.widest:
            rate += _rate_curves(names[i], curve, column.widest, style)
    motion, words = Curve(run.time, 1e3 * x, style={"color": "black", "linewidth": 1.0}), "energy per loop (mJ)"
    title = "energy of the widest loops over speed"
    return panels(
        [Panel("displacement (mm)", [motion], title="motion"), loops.get("parallel", missing)],
        [loops.get("single", missing), loops.get("damped", missing)],
        [
            Panel(words, energy, "amplitude (mm)", title="energy over amplitude", note=_NOTE),
            Panel(words, rate, "speed (mm/s)", {"xscale": "log"}, title=title, note=_NOTE),
        ],
        size=(13, 14),
    )


def _loop_curves(x: np.ndarray, force: np.ndarray, curve: LoadingCurve) -> list[Curve]:
    points = np.array([0.0, *curve.displacement, max(largest(x), float(curve.displacement[-1]))])
    dotted = {"color": "C3", "linestyle": ":", "linewidth": 1.2}
    return [
        Curve(1e3 * x, force, "measured", {"color": "C0", "linewidth": 2.5, "alpha": 0.6}),
        Curve(1e3 * x, masing(x, curve)[0], "Masing's rules", dotted),
        Curve(1e3 * points, curve.at(points), "first loading", {"color": "black", "linewidth": 1.5}),
    ]


def _speed_curves(run: ScriptedRun, x: np.ndarray, force: np.ndarray, column: ColumnLoops) -> list[Curve]:
    curves = []
    for loop in column.widest:
        first, last = np.searchsorted(run.time, np.array((loop.start, loop.end)) - 0.5 * run.period)
        part = slice(int(first), int(last) + 1)
        curves.append(Curve(1e3 * x[part], force[part], f"{1e3 * loop.speed:.3g} mm/s", {"linewidth": 1.2}))
    return curves


def _energy_curves(name: str, curve: LoadingCurve, loops: Sequence[MeasuredLoop], style: dict[str, Any]) -> list[Curve]:
    amplitudes = np.linspace(0.0, max(loop.amplitude for loop in loops), 200)
    closed_form = np.array([1e3 * curve.energy(a, 0.0) for a in amplitudes])
    curves = [Curve(1e3 * amplitudes, closed_form, style=style)]
    for minor, marker in ((False, "o"), (True, "s")):
        if marks := [loop for loop in loops if loop.simple and loop.minor == minor]:
            label = f"{name}{', minor loop' if minor else ''}"
            curves.append(_marks(label, [loop.amplitude for loop in marks], marks, {**style, "marker": marker}))
    return curves


def _rate_curves(name: str, curve: LoadingCurve, loops: Sequence[MeasuredLoop], style: dict[str, Any]) -> list[Curve]:
    speeds = np.geomspace(loops[0].speed / 1.5, 1.5 * loops[-1].speed, 100)
    closed_form = np.array([1e3 * curve.energy(loops[0].amplitude, speed) for speed in speeds])
    marks = _marks(name, [loop.speed for loop in loops], loops, {**style, "marker": "o"})
    return [Curve(1e3 * speeds, closed_form, style=style), marks]


def _marks(name: str, x: list[float], loops: Sequence[MeasuredLoop], style: dict[str, Any]) -> Curve:
    """Makes hollow marks of the loops' energies [mJ] over x, which is drawn in thousandths."""
    energies = np.array([1e3 * loop.energy for loop in loops])
    return Curve(1e3 * np.array(x), energies, name, {**style, "linestyle": "", "fillstyle": "none"})
