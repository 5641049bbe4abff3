"""Time to failure of a grasp over the frequency of the hand's circle (Castro et al., section XII-B, Figs. 21, 22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from convex_contact.scenes.grasp import Grasp, hold
from haptic_experiments.kit.contact import style
from haptic_experiments.report import Claim, ResultTable
from haptic_experiments.study import Results, Study, StudyReport

#: what is compared in Figs. 21 and 22, and what stands beside it
PAPER, BESIDE = ("lagged", "similar"), "lagged_elastoplastic"
#: a rod that is held tilts less than this, and sinks less than this over the run [rad], [m]
SECURE = np.radians(2.0)
SUNK = 5e-3
#: share of the time to failure to which the reference must be right, by a step of half its length [-]
REFINED = 0.02


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
        """The grasp at a frequency [Hz] with a dissipation [s/m]."""
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
        """Time to failure [s], samples every 10 ms, Newton steps per step."""
        found = hold(self.scene, period=self.period, approximation=self.approximation, duration=self.duration)
        return {name: np.asarray(value) for name, value in vars(found).items()}


def label(approximation: str, dissipation: float, period: float, frequency: float) -> str:
    """Name of a task."""
    return f"{approximation}-d{dissipation:g}-{1e3 * period:g}ms-{frequency:g}Hz"


def tasks(settings: GraspSettings) -> Mapping[str, Held]:
    """The small step first, which takes longest."""
    made: dict[str, Held] = {}

    def add(approximation: str, dissipation: float, period: float, frequency: float, duration: float) -> None:
        scene = settings.scene(frequency, dissipation)
        made[label(approximation, dissipation, period, frequency)] = Held(scene, approximation, period, duration)

    kinds = [(name, d) for d in (0.0, settings.dissipation) for name in PAPER] + [(BESIDE, 0.0)]
    for period, frequencies in (
        (settings.reference_period, settings.reference_frequencies),
        (settings.period, sorted({*settings.frequencies, *settings.reference_frequencies})),
    ):
        for name, dissipation in kinds:
            for frequency in frequencies:
                add(name, dissipation, period, frequency, settings.duration)
    for frequency in {min(settings.reference_frequencies), max(settings.reference_frequencies)}:
        add("lagged", 0.0, 0.5 * settings.reference_period, frequency, settings.duration)
    for name in (*PAPER, BESIDE):
        add(name, 0.0, settings.period, settings.creep_frequency, settings.duration)
    return made


def _times(settings: GraspSettings, results: Results) -> dict[tuple[str, float, float], dict[float, float]]:
    """Time to failure by approximation, dissipation and period, then by frequency [s]."""
    found: dict[tuple[str, float, float], dict[float, float]] = {}
    for name, task in tasks(settings).items():
        key = (task.approximation, task.scene.dissipation, task.period)
        found.setdefault(key, {})[task.scene.frequency] = float(results[name]["time_to_failure"])
    return {key: dict(sorted(by.items())) for key, by in found.items()}


def _errors(
    times: Mapping[tuple[str, float, float], Mapping[float, float]], settings: GraspSettings
) -> dict[tuple[str, float, float], dict[float, float]]:
    """Relative error against Lagged with the same dissipation at the small step, where both lost the rod [-]."""
    errors: dict[tuple[str, float, float], dict[float, float]] = {}
    for (name, dissipation, period), by in times.items():
        reference = times["lagged", dissipation, settings.reference_period]
        if (name, period) == ("lagged", settings.reference_period) or period < settings.reference_period:
            continue
        errors[name, dissipation, period] = {
            f: t / reference[f] - 1.0 for f, t in by.items() if f in reference and np.isfinite([t, reference[f]]).all()
        }
    return errors


def _range(values: Mapping[float, float]) -> str:
    if not values:
        return "nothing to compare"
    return f"{100 * min(values.values()):+.1f} to {100 * max(values.values()):+.1f} %"


def report(settings: GraspSettings, results: Results, directory: Path) -> StudyReport:
    """Times, errors, claims and figures."""
    del directory
    times = _times(settings, results)
    errors = _errors(times, settings)
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    metrics: dict[str, Any] = {
        "pendulum_frequency_Hz": settings.scene(1.0, 0.0).pendulum_frequency,
        "time_to_failure_s": {
            f"{name} d={dissipation:g} {1e3 * period:g} ms": {
                f"{f:g}": t if np.isfinite(t) else None for f, t in by.items()
            }
            for (name, dissipation, period), by in times.items()
        },
        "relative_error": {
            f"{name} d={dissipation:g} {1e3 * period:g} ms": {f"{f:g}": e for f, e in by.items()}
            for (name, dissipation, period), by in errors.items()
        },
        "creep_um_per_s": _creep(settings, results),
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
    claims = _claims(settings, results, times, errors, metrics["creep_um_per_s"])
    rows = [
        (f"{f:g}", *(_seconds(times.get(key, {}).get(f)) for key in _columns(d, large, small)))
        for f in sorted({*settings.frequencies, *settings.reference_frequencies})
    ]
    header = ("Hz", "lagged", "similar", f"lagged d={d:g}", f"similar d={d:g}", "elastoplastic")
    tables = [
        ResultTable(f"Time to failure [s] with {1e3 * small:g} ms / {1e3 * large:g} ms", header, _paired(rows)),
    ]
    return StudyReport(metrics, claims, figures, tables)


def _columns(d: float, large: float, small: float) -> list[tuple[str, float, float]]:
    kinds = [("lagged", 0.0), ("similar", 0.0), ("lagged", d), ("similar", d), (BESIDE, 0.0)]
    return [(*kind, period) for kind in kinds for period in (small, large)]


def _paired(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [(row[0], *(f"{a} / {b}" for a, b in zip(row[1::2], row[2::2], strict=True))) for row in rows]


def _seconds(time: float | None) -> str:
    return "-" if time is None else f"{time:.2f}" if np.isfinite(time) else "held"


def _creep(settings: GraspSettings, results: Results) -> dict[str, float]:
    """Sinking over the whole turns in the second half of the slow runs [um/s]."""
    speeds = {}
    for name in (*PAPER, BESIDE):
        run = results[label(name, 0.0, settings.period, settings.creep_frequency)]
        end = run["time"][-1]
        turn = 1.0 / settings.creep_frequency if settings.creep_frequency else 0.5 * end
        turns = max(1, int(0.5 * end / turn))
        first = int(np.argmin(np.abs(run["time"] - (end - turns * turn))))
        speeds[name] = float(1e6 * (run["offset"][first, 2] - run["offset"][-1, 2]) / (end - run["time"][first]))
    return speeds


def _claims(
    settings: GraspSettings,
    results: Results,
    times: Mapping[tuple[str, float, float], Mapping[float, float]],
    errors: Mapping[tuple[str, float, float], Mapping[float, float]],
    creep: Mapping[str, float],
) -> list[Claim]:
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    plain, damped = times["lagged", 0.0, small], times["lagged", d, small]
    slow = {f: results[label("lagged", 0.0, large, f)] for f in settings.frequencies if f <= 1.2}
    tilt = max((float(run["tilt"].max()) for run in slow.values()), default=np.nan)
    sunk = max((float(-run["offset"][-1, 2]) for run in slow.values()), default=np.nan)
    held = all(np.isinf(run["time_to_failure"]) for run in slow.values())
    finite = [t for t in plain.values() if np.isfinite(t)]
    gain = {f: damped[f] / t - 1.0 for f, t in plain.items() if np.isfinite([t, damped[f]]).all()}
    half = times["lagged", 0.0, 0.5 * small]
    refined = {f: plain[f] / t - 1.0 for f, t in half.items() if np.isfinite([t, plain[f]]).all()}
    near = errors["similar", 0.0, small]
    coarse = {name: errors[name, 0.0, large] for name in PAPER}
    both = sorted(set(coarse["lagged"]) & set(coarse["similar"]))
    modulation, with_d = errors["similar", d, small], errors["lagged", d, large]
    shift = {f: with_d[f] - coarse["lagged"][f] for f in with_d if f in coarse["lagged"]}
    return [
        Claim(
            "At low frequencies the rod is secure (the paper: below 1.4 Hz).",
            f"up to {max(slow, default=0):g} Hz Lagged holds it for {settings.duration:g} s; tilt at most "
            f"{np.degrees(tilt):.2f} deg, {1e3 * sunk:.2f} mm down",
            bool(held and tilt < SECURE and sunk < SUNK) if slow else None,
        ),
        Claim(
            "The time to failure falls rapidly towards the compound-pendulum frequency (Fig. 21).",
            ", ".join(f"{f:g} Hz {_seconds(t)}" for f, t in plain.items())
            + f" s; pendulum {settings.scene(1.0, 0.0).pendulum_frequency:.2f} Hz",
            bool(np.all(np.diff(list(plain.values())) < 0.0)) if len(finite) > 1 else None,
        ),
        Claim(
            "Dissipation makes it longer, by up to 10 % (Fig. 21).",
            _range(gain),
            bool(min(gain.values()) > -REFINED and 0.0 < max(gain.values()) <= 0.12) if gain else None,
        ),
        Claim(
            "The small step is a reference: half of it changes little.",
            _range(refined),
            bool(max(abs(e) for e in refined.values()) < REFINED) if refined else None,
        ),
        Claim(
            "At the small step without dissipation Lagged and Similar differ by less than 0.5 % (Fig. 22, left).",
            _range(near),
            bool(max(abs(e) for e in near.values()) < 0.005) if near else None,
        ),
        Claim(
            "At the large step without dissipation both are too short, by up to 50 % (Fig. 22, left).",
            "; ".join(f"{name} {_range(coarse[name])}" for name in PAPER),
            bool(all(-0.5 <= coarse[n][f] < 0.0 for n in PAPER for f in both)) if both else None,
        ),
        Claim(
            "There Similar lasts longer than Lagged (its gliding adds grip).",
            "; ".join(f"{f:g} Hz {100 * (coarse['similar'][f] - coarse['lagged'][f]):+.1f} points" for f in both),
            all(coarse["similar"][f] > coarse["lagged"][f] for f in both) if both else None,
        ),
        Claim(
            "With dissipation at the small step Similar is too long, by some 30 % (Fig. 22, right).",
            _range(modulation),
            bool(max(modulation.values()) > 0.1 and min(modulation.values()) > 0.0) if modulation else None,
        ),
        Claim(
            "At the large step Lagged's error is nearly the same with dissipation (Fig. 22, right).",
            f"{_range(with_d)}; changed by {_range(shift)}",
            bool(max(abs(e) for e in shift.values()) < 0.1) if shift else None,
        ),
        Claim(
            "At the large step with dissipation Similar's two errors cancel in part.",
            f"{_range(errors['similar', d, large])} where {_range(errors['similar', d, small])} at the small step",
            bool(np.mean(list(errors["similar", d, large].values())) < np.mean(list(modulation.values())))
            if errors["similar", d, large] and modulation
            else None,
        ),
        Claim(
            "Beyond the paper: elastoplastic stiction takes the creep away.",
            f"at {settings.creep_frequency:g} Hz the rod sinks by "
            + ", ".join(f"{speed:.3g} ({name})" for name, speed in creep.items())
            + " um/s",
            bool(abs(creep[BESIDE]) < 0.01 * creep["lagged"]),
        ),
        Claim(
            "Beyond the paper: what elastoplastic stiction changes in the time to failure (its pads give way).",
            f"small step {_range(errors[BESIDE, 0.0, small])}, large step {_range(errors[BESIDE, 0.0, large])}",
            None,
        ),
    ]


_WORDS = {"lagged": "Lagged", "similar": "Similar", BESIDE: "elastoplastic"}


def _figure(
    settings: GraspSettings,
    times: Mapping[tuple[str, float, float], Mapping[float, float]],
    errors: Mapping[tuple[str, float, float], Mapping[float, float]],
) -> Figure:
    d, large, small = settings.dissipation, settings.period, settings.reference_period
    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    axes = figure.subplots(1, 3)
    for dissipation, color in ((0.0, "tab:blue"), (d, "tab:cyan")):
        for period, line in ((small, {"marker": "o", "lw": 1.6}), (large, {"marker": ".", "lw": 0.7, "ls": "--"})):
            by = times["lagged", dissipation, period]
            f, t = np.array(list(by)), np.array(list(by.values()))
            words = f"Lagged, d = {dissipation:g} s/m, {1e3 * period:g} ms"
            axes[0].plot(f, np.where(np.isfinite(t), t, np.nan), color=color, label=words, **line)
            if period == large:
                axes[0].plot(f[np.isinf(t)], np.full(np.isinf(t).sum(), settings.duration), "^", color=color, ms=4)
    by = times[BESIDE, 0.0, large]
    shown = {f: t for f, t in by.items() if np.isfinite(t)}
    axes[0].plot(list(shown), list(shown.values()), "x:", lw=0.8, color="tab:red",
                 label=f"elastoplastic, {1e3 * large:g} ms")  # fmt: skip
    axes[0].axvline(settings.scene(1.0, 0.0).pendulum_frequency, color="black", lw=0.8, ls=":")
    axes[0].set(xlabel="frequency (Hz)", ylabel="time to failure (s)", title="Fig. 21", ylim=(0.0, None))
    axes[0].legend(fontsize=7)
    for axis, dissipation in zip(axes[1:], (0.0, d), strict=True):
        _draw_errors(axis, dissipation, errors, small)
        axis.set(title=f"Fig. 22, d = {dissipation:g} s/m", xlabel="frequency (Hz)", ylabel="relative error (%)")
    return figure


def _draw_errors(
    axis: Axes, dissipation: float, errors: Mapping[tuple[str, float, float], Mapping[float, float]], small: float
) -> None:
    axis.axhline(0.0, color="black", lw=0.6)
    for (name, of, period), by in errors.items():
        if of != dissipation or not by:
            continue
        full = "full" if period == small else "none"
        line = style(name) | {"label": f"{_WORDS[name]}, {1e3 * period:g} ms", "marker": "o", "fillstyle": full}
        axis.plot(list(by), [100 * e for e in by.values()], **line)
    axis.legend(fontsize=7)


def _motion(settings: GraspSettings, results: Results) -> Figure:
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    way, creep = figure.subplots(1, 2)
    arm = settings.scene(1.0, 0.0).arm
    for frequency in settings.frequencies[-4:]:
        run = results[label("lagged", 0.0, settings.period, frequency)]
        shown = run["time"] <= run["time_to_failure"]
        offset = 1e3 * run["offset"][shown]
        way.plot(offset[:, 0], offset[:, 2] - 1e3 * arm, lw=0.8, label=f"{frequency:g} Hz")
    way.plot(0.0, 0.0, "k+", label="grip")
    way.set(xlabel="sideways (mm)", ylabel="height of the rod's centre (mm)", title="until it is lost (Lagged)")
    way.set_aspect("equal", adjustable="datalim")
    way.legend(fontsize=7)
    for name in (*PAPER, BESIDE):
        run = results[label(name, 0.0, settings.period, settings.creep_frequency)]
        creep.plot(run["time"], -1e6 * run["offset"][:, 2], **(style(name) | {"label": _WORDS[name]}))
    creep.set(xlabel="time (s)", ylabel="sunk (µm)", title=f"creep at {settings.creep_frequency:g} Hz")
    creep.legend(fontsize=7)
    return figure


STUDY = Study(
    title="Grasp stress test: time to failure over frequency",
    paper="Castro, Han, Masterjohn, Irrotational Contact Fields, section XII-B, Figs. 20 to 22",
    summary="A gripper moves a bronze rod round a circle of 3 cm until the rod is lost: Lagged, Similar and "
    "elastoplastic stiction, with and without dissipation, at a small and a large step.",
    settings=GraspSettings,
    tasks=tasks,
    report=report,
)
