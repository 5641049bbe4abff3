"""Time to failure of a grasp over the frequency of the hand's circle (Castro et al., section XII-B, Figs. 21, 22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from convex_contact.scenes.grasp import Grasp, hold
from haptic_experiments.kit.contact import curve, swept
from haptic_experiments.kit.figures import Curve, Panel, mark, panels
from haptic_experiments.kit.results import Claims, ResultTable, plain
from haptic_experiments.study import Results, Study, StudyReport

#: approximations of Figs. 21 and 22, and the one that is compared with them
PAPER, BESIDE = ("lagged", "similar"), "lagged_elastoplastic"
#: largest tilt [rad], and largest sinking over the run [m], of a held rod
SECURE = np.radians(2.0)
SUNK = 5e-3
REFINED = 0.02  #: largest relative error of the reference's time to failure, by a step of half its length [-]

#: approximation, dissipation [s/m] and period [s] of runs; a number of them by frequency [Hz]
Case = tuple[str, float, float]
ByFrequency = dict[float, float]


class GraspSettings(BaseModel):
    """The study's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    frequencies: tuple[float, ...] = Field(
        default=(1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9), min_length=1, description="at the large step [Hz]"
    )
    reference_frequencies: tuple[float, ...] = Field(
        default=(1.5, 1.6, 1.7, 1.8), min_length=1, description="at the small step, too [Hz]"
    )
    creep_frequency: float = Field(default=0.5, ge=0.0, le=10.0, description="of the runs for the creep [Hz]")
    period: float = Field(default=0.01, gt=0.0, le=0.1, description="large step [s]")
    reference_period: float = Field(default=2e-4, gt=0.0, le=0.1, description="small step [s]")
    dissipation: float = Field(default=50.0, gt=0.0, le=1e4, description="of Hunt and Crossley, beside none [s/m]")
    duration: float = Field(default=8.0, gt=0.5, le=1000.0, description="of a run that does not lose the rod [s]")
    stiffness: float = Field(default=Grasp.stiffness, gt=0.0, le=1e9, description="of a contact element [N/m]")
    friction: float = Field(default=Grasp.friction, gt=0.0, le=10.0, description="coefficient [-]")
    effort_limit: float = Field(default=Grasp.effort_limit, gt=0.0, le=1e4, description="of the motor [N]")

    def scene(self, frequency: float, dissipation: float) -> Grasp:
        """Makes the grasp at a frequency [Hz] with a dissipation [s/m]."""
        return Grasp(
            frequency=frequency,
            dissipation=dissipation,
            stiffness=self.stiffness,
            friction=self.friction,
            effort_limit=self.effort_limit,
        )


@dataclass(frozen=True)
class Held:
    """One run."""

    scene: Grasp
    approximation: str
    period: float
    duration: float

    def run(self) -> dict[str, np.ndarray]:
        """Simulates the run: time to failure [s], samples every 10 ms, Newton steps per step."""
        found = hold(self.scene, period=self.period, approximation=self.approximation, duration=self.duration)
        return {name: np.asarray(value) for name, value in vars(found).items()}


def label(approximation: str, dissipation: float, period: float, frequency: float) -> str:
    """Returns the name of a task."""
    return f"{approximation}-d{dissipation:g}-{1e3 * period:g}ms-{frequency:g}Hz"


def tasks(settings: GraspSettings) -> Mapping[str, Held]:
    """Makes the tasks; those of the small step, which take longest, are the first."""
    large, small, few = settings.period, settings.reference_period, settings.reference_frequencies
    both = ((small, list(few)), (large, sorted({*settings.frequencies, *few})))
    kinds = _kinds(settings.dissipation)
    runs = [(*kind, period, f) for period, frequencies in both for kind in kinds for f in frequencies]
    runs += [("lagged", 0.0, 0.5 * small, f) for f in {min(few), max(few)}]
    runs += [(name, 0.0, large, settings.creep_frequency) for name in (*PAPER, BESIDE)]
    return {
        label(name, d, period, f): Held(settings.scene(f, d), name, period, settings.duration)
        for name, d, period, f in runs
    }


def _kinds(dissipation: float) -> list[tuple[str, float]]:
    """Returns approximations with their dissipations [s/m]."""
    return [(name, d) for d in (0.0, dissipation) for name in PAPER] + [(BESIDE, 0.0)]


def _times(settings: GraspSettings, results: Results) -> dict[Case, ByFrequency]:
    """Collects the times to failure [s]."""
    found: dict[Case, ByFrequency] = {}
    for name, task in tasks(settings).items():
        key = (task.approximation, task.scene.dissipation, task.period)
        found.setdefault(key, {})[task.scene.frequency] = float(results[name]["time_to_failure"])
    return {key: dict(sorted(by.items())) for key, by in found.items()}


def _relative(times: Mapping[float, float], reference: Mapping[float, float]) -> ByFrequency:
    """Computes relative errors of times to failure, at the frequencies at which both lost the rod [-]."""
    return {
        f: t / reference[f] - 1.0 for f, t in times.items() if f in reference and np.isfinite([t, reference[f]]).all()
    }


def _errors(times: Mapping[Case, Mapping[float, float]], settings: GraspSettings) -> dict[Case, ByFrequency]:
    """Computes relative errors against Lagged with the same dissipation at the small step [-]."""
    small = settings.reference_period
    return {
        (name, dissipation, period): _relative(by, times["lagged", dissipation, small])
        for (name, dissipation, period), by in times.items()
        if (name, period) != ("lagged", small) and period >= small
    }


def _range(values: Mapping[float, float]) -> str:
    if not values:
        return "nothing to compare"
    return f"{100 * min(values.values()):+.1f} to {100 * max(values.values()):+.1f} %"


def _largest(values: Mapping[float, float]) -> float:
    """Returns the largest magnitude; NaN without any."""
    return max((abs(e) for e in values.values()), default=np.nan)


def report(settings: GraspSettings, results: Results, directory: Path) -> StudyReport:
    """Makes the report: times, errors, claims and figures."""
    del directory
    times = _times(settings, results)
    errors = _errors(times, settings)
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    creep = _creep(settings, results)
    metrics = {
        "pendulum_frequency_Hz": settings.scene(1.0, 0.0).pendulum_frequency,
        "time_to_failure_s": _named(times),  # infinite (null) where the rod was held to the end
        "relative_error": _named(errors),
        "creep_um_per_s": creep,
    }
    caption = (
        "Time to failure over the frequency: at the left the references (Lagged, small step) without and with "
        "dissipation, as in Fig. 21, with the large step as thin lines; an arrow is a rod that was held to the end. "
        "Dotted line: compound-pendulum frequency. Middle and right: relative error against the reference, without and "
        "with dissipation, as in Fig. 22; full symbols small step, open symbols large step. Positive: too long."
    )
    drop = (
        f"Left: the rod against the hand at {1e3 * large:g} ms and the frequencies of the legend, sideways and down. "
        f"Right: how far it sinks at {settings.creep_frequency:g} Hz."
    )
    figures = {
        "grasp": (_figure(settings, times, errors), caption),
        "grasp_motion": (_motion(settings, results), drop),
    }
    claims = Claims()
    _claim_times(claims, settings, results, times)
    _claim_errors(claims, settings, errors)
    _claim_elastoplastic(claims, settings, errors, creep)

    def cell(kind: tuple[str, float], f: float) -> str:
        return " / ".join(_seconds(times.get((*kind, period), {}).get(f)) for period in (small, large))

    frequencies = sorted({*settings.frequencies, *settings.reference_frequencies})
    rows = [(f"{f:g}", *(cell(kind, f) for kind in _kinds(d))) for f in frequencies]
    header = ("Hz", "lagged", "similar", f"lagged d={d:g}", f"similar d={d:g}", "elastoplastic")
    title = f"Time to failure [s] with {1e3 * small:g} ms / {1e3 * large:g} ms"
    return StudyReport(plain(metrics), claims, figures, [ResultTable(title, header, rows)])


def _named(table: Mapping[Case, ByFrequency]) -> dict[str, dict[str, float]]:
    """Names the rows and columns of a table for JSON."""
    return {
        f"{name} d={dissipation:g} {1e3 * period:g} ms": {f"{f:g}": value for f, value in by.items()}
        for (name, dissipation, period), by in table.items()
    }


def _seconds(time: float | None) -> str:
    return "-" if time is None else f"{time:.2f}" if np.isfinite(time) else "held"


def _creep(settings: GraspSettings, results: Results) -> dict[str, float]:
    """Measures sinking speeds over the whole turns in the second half of the slow runs [um/s]."""
    speeds = {}
    for name in (*PAPER, BESIDE):
        run = results[label(name, 0.0, settings.period, settings.creep_frequency)]
        end = run["time"][-1]
        turn = 1.0 / settings.creep_frequency if settings.creep_frequency else 0.5 * end
        turns = max(1, int(0.5 * end / turn))
        first = int(np.argmin(np.abs(run["time"] - (end - turns * turn))))
        speeds[name] = float(1e6 * (run["offset"][first, 2] - run["offset"][-1, 2]) / (end - run["time"][first]))
    return speeds


def _claim_times(claims: Claims, settings: GraspSettings, results: Results, times: Mapping[Case, ByFrequency]) -> None:
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    plain = times["lagged", 0.0, small]
    slow = {f: results[label("lagged", 0.0, large, f)] for f in settings.frequencies if f <= 1.2}
    tilt = max((float(run["tilt"].max()) for run in slow.values()), default=np.nan)
    sunk = max((float(-run["offset"][-1, 2]) for run in slow.values()), default=np.nan)
    held = all(np.isinf(run["time_to_failure"]) for run in slow.values())
    claims.say(
        "At low frequencies the rod is secure (the paper: below 1.4 Hz).",
        f"up to {max(slow, default=0):g} Hz Lagged holds it for {settings.duration:g} s; tilt at most "
        f"{np.degrees(tilt):.2f} deg (limit {np.degrees(SECURE):g}), {1e3 * sunk:.2f} mm down (limit {1e3 * SUNK:g})",
        held and tilt < SECURE and sunk < SUNK if slow else None,
    )
    finite = [t for t in plain.values() if np.isfinite(t)]
    claims.say(
        "The time to failure falls rapidly towards the compound-pendulum frequency (Fig. 21).",
        ", ".join(f"{f:g} Hz {_seconds(t)}" for f, t in plain.items())
        + f" s; pendulum {settings.scene(1.0, 0.0).pendulum_frequency:.2f} Hz",
        bool(np.all(np.diff(list(plain.values())) < 0.0)) if len(finite) > 1 else None,
    )
    gain = _relative(times["lagged", d, small], plain)
    claims.say(
        "Dissipation makes it longer, by up to 10 % (Fig. 21).",
        f"{_range(gain)} (limits {-100 * REFINED:g} and 12 %)",
        min(gain.values()) > -REFINED and 0.0 < max(gain.values()) <= 0.12 if gain else None,
    )
    refined = _relative(plain, times["lagged", 0.0, 0.5 * small])
    claims.say(
        "The small step is a reference: half of it changes little.",
        f"{_range(refined)} (limit {100 * REFINED:g} %)",
        _largest(refined) < REFINED if refined else None,
    )


def _claim_errors(claims: Claims, settings: GraspSettings, errors: Mapping[Case, ByFrequency]) -> None:
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    near = errors["similar", 0.0, small]
    claims.say(
        "At the small step without dissipation Lagged and Similar differ by less than 0.5 % (Fig. 22, left).",
        _range(near),
        _largest(near) < 0.005 if near else None,
    )
    lagged, similar = (errors[name, 0.0, large] for name in PAPER)
    both = sorted(set(lagged) & set(similar))
    claims.say(
        "At the large step without dissipation both are too short, by up to 50 % (Fig. 22, left).",
        f"lagged {_range(lagged)}; similar {_range(similar)}",
        all(-0.5 <= by[f] < 0.0 for by in (lagged, similar) for f in both) if both else None,
    )
    claims.say(
        "There Similar lasts longer than Lagged (its gliding adds grip).",
        "; ".join(f"{f:g} Hz {100 * (similar[f] - lagged[f]):+.1f} points" for f in both),
        all(similar[f] > lagged[f] for f in both) if both else None,
    )
    modulation, both_errors = errors["similar", d, small], errors["similar", d, large]
    claims.say(
        "With dissipation at the small step Similar is too long, by some 30 % (Fig. 22, right).",
        f"{_range(modulation)} (more than 10 % at most)",
        max(modulation.values()) > 0.1 and min(modulation.values()) > 0.0 if modulation else None,
    )
    damped = errors["lagged", d, large]
    shift = {f: damped[f] - lagged[f] for f in damped if f in lagged}
    claims.say(
        "At the large step Lagged's error is nearly the same with dissipation (Fig. 22, right).",
        f"{_range(damped)}; changed by {_range(shift)} (limit 10 %)",
        _largest(shift) < 0.1 if shift else None,
    )
    cancels = both_errors and modulation
    claims.say(
        "At the large step with dissipation Similar's two errors cancel in part.",
        f"{_range(both_errors)} where {_range(modulation)} at the small step",
        np.mean(list(both_errors.values())) < np.mean(list(modulation.values())) if cancels else None,
    )


def _claim_elastoplastic(
    claims: Claims, settings: GraspSettings, errors: Mapping[Case, ByFrequency], creep: Mapping[str, float]
) -> None:
    claims.say(
        "Beyond the paper: elastoplastic stiction takes the creep away.",
        f"at {settings.creep_frequency:g} Hz the rod sinks by "
        + ", ".join(f"{speed:.3g} ({name})" for name, speed in creep.items())
        + " um/s (limit 1 % of Lagged)",
        abs(creep[BESIDE]) < 0.01 * creep["lagged"],
    )
    small, large = (errors[BESIDE, 0.0, period] for period in (settings.reference_period, settings.period))
    claims.say(
        "Beyond the paper: what elastoplastic stiction changes in the time to failure (its pads give way).",
        f"small step {_range(small)}, large step {_range(large)}",
    )


_WORDS = {"lagged": "Lagged", "similar": "Similar", BESIDE: "elastoplastic"}


def _figure(settings: GraspSettings, times: Mapping[Case, ByFrequency], errors: Mapping[Case, ByFrequency]) -> Figure:
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    lines = []
    for dissipation, color in ((0.0, "tab:blue"), (d, "tab:cyan")):
        for period in (small, large):
            by = times["lagged", dissipation, period]
            f, t = np.array(list(by)), np.array(list(by.values()))
            thick, thin = {"marker": "o", "linewidth": 1.6}, {"marker": ".", "linewidth": 0.7, "linestyle": "--"}
            words = f"Lagged, d = {dissipation:g} s/m, {1e3 * period:g} ms"
            line = {"color": color, **(thick if period == small else thin)}
            lines.append(Curve(f, np.where(np.isfinite(t), t, np.nan), words, line))
            if period == large:
                arrows = {"color": color, "linestyle": "", "marker": "^", "markersize": 4}
                lines.append(Curve(f[np.isinf(t)], np.full(np.isinf(t).sum(), settings.duration), style=arrows))
    shown = {f: t for f, t in times[BESIDE, 0.0, large].items() if np.isfinite(t)}
    crosses = {"color": "tab:red", "marker": "x", "linestyle": ":"}
    lines.append(
        Curve(np.array(list(shown)), np.array(list(shown.values())), f"elastoplastic, {1e3 * large:g} ms", crosses)
    )

    pendulum = partial(mark, x=[settings.scene(1.0, 0.0).pendulum_frequency], linestyle=":")
    zero, legend = partial(mark, y=[0.0]), {"fontsize": 7}
    row = [Panel("time to failure (s)", lines, "frequency (Hz)", {"ylim": (0.0, None)}, title="Fig. 21", legend=legend,
                 extra=pendulum)]  # fmt: skip
    filled: dict[str, Any] = {"markersize": 6, "fillstyle": "full"}
    hollow = {**filled, "fillstyle": "none"}
    for dissipation in (0.0, d):
        relative = [
            swept(f"{_WORDS[name]}, {1e3 * period:g} ms", name, by, 100, **(filled if period == small else hollow))
            for (name, of, period), by in errors.items()
            if of == dissipation and by
        ]
        title = f"Fig. 22, d = {dissipation:g} s/m"
        row.append(Panel("relative error (%)", relative, "frequency (Hz)", title=title, legend=legend, extra=zero))
    return panels(row, size=(13.0, 4.4))


def _motion(settings: GraspSettings, results: Results) -> Figure:
    path, creep, arm = [], [], settings.scene(1.0, 0.0).arm
    for frequency in settings.frequencies[-4:]:
        run = results[label("lagged", 0.0, settings.period, frequency)]
        offset = 1e3 * run["offset"][run["time"] <= run["time_to_failure"]]
        path.append(Curve(offset[:, 0], offset[:, 2] - 1e3 * arm, f"{frequency:g} Hz"))
    path.append(Curve(np.zeros(1), np.zeros(1), "grip", {"color": "black", "linestyle": "", "marker": "+"}))
    for name in (*PAPER, BESIDE):
        run = results[label(name, 0.0, settings.period, settings.creep_frequency)]
        creep.append(curve(_WORDS[name], name, run["time"], -1e6 * run["offset"][:, 2]))

    equal = {"aspect": "equal", "adjustable": "datalim"}
    height = "height of the rod's centre (mm)"
    return panels(
        [
            Panel(height, path, "sideways (mm)", equal, title="until it is lost (Lagged)"),
            Panel("sunk (µm)", creep, title=f"creep at {settings.creep_frequency:g} Hz"),
        ],
        size=(11.0, 4.2),
    )


STUDY = Study(
    title="Grasp stress test: time to failure over frequency",
    paper="Castro, Han, Masterjohn, Irrotational Contact Fields, section XII-B, Figs. 20 to 22",
    summary="A gripper moves a bronze rod round a circle of 3 cm until the rod is lost: Lagged, Similar and "
    "elastoplastic stiction, with and without dissipation, at a small and a large step.",
    settings=GraspSettings,
    tasks=tasks,
    report=report,
)
