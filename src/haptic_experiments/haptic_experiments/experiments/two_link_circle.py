"""Report of the 2R manipulator on a circle on the display: Fig. 12 of Faulring et al."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from admittance_constraints import TwoLinkOnCircle
from admittance_constraints.mechanisms import two_link_on_circle
from admittance_constraints.mechanisms.two_link_on_circle import CircleMotion
from haptic_bags.bags import Bag
from haptic_experiments.kit.display import DisplayNumbers, DisplayRun, display_report
from haptic_experiments.kit.figures import Curve, Panel, panels, shade
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report, Verdict, key
from haptic_experiments.kit.signals import Spread, largest
from haptic_files.moved_modules import renamed

__getattr__ = renamed(__name__, {"Signals": f"{two_link_on_circle.__name__}:CircleMotion"})
_REST = 1e-3  #: energies are followed until this fraction of the energy at the release is left
_MEASURED_RISE = 0.05  #: rise of the measured energy that the encoders' noise explains, over the energy at the release
_MOVES = 1e-2  #: below this fraction of the energy at the release the encoders' noise is much of the measured energy
_FORCE = 0.5  #: force along the circle that counts as pushing, or as holding back [N]
_ZERO = 1e-2  #: fraction of the energy that is zero in both ticks beside a change of sign of the first link's rate
#: smallest fraction that the second of two equal rods can have of their energy, with any motion. Let v be the speed of
#: the joint between them. The first rod has m v^2/6, and the second m v^2/8 or more, as a free rod moved at its end.
#: The ratio of second to first is 3/4 or more, so the fraction is (3/4)/(1 + 3/4) = 3/7 or more
_SECOND = 3.0 / 7.0
_CHANGES = 3  #: changes between pushing and holding back that are "alternately"
#: fraction of the circle's radius that counts as small
_SMALL_ERROR = 1e-2
_NO_RELEASE = "the run ends before the release"


@dataclass(frozen=True)
class Led:
    """Numbers while the hand leads the end point round, from when it first reaches the median speed of that time."""

    to_its_end: bool  #: whether the run goes on until the hand lets go
    start: float = field(metadata=key("from"))  #: time from which it counts [s]
    speed: float  #: mean speed along the circle [m/s]
    speed_deviation: float  #: standard deviation of that speed [m/s]
    energy_low: float  #: smallest kinetic energy [J]
    energy_high: float  #: largest kinetic energy [J]
    pushed: float  #: fraction of the time in which the hand pushes
    held_back: float  #: fraction of the time in which it holds back
    turns: int  #: number of changes between the two


@dataclass(frozen=True)
class Released:
    """Numbers after the release, from when the hand does not act any more until the energy is spent."""

    start: float = field(metadata=key("from"))  #: time from which it counts [s]
    end: float = field(metadata=key("to"))  #: time until which it counts [s]
    spent: bool  #: whether the energy is spent within the run
    energy: float  #: kinetic energy at the start [J]
    largest_rise: float | None  #: largest change of the energy in a tick [J]; None for a single tick
    #: largest rise of the measured energy above the least value before [J]; None without any
    measured_rise: float | None
    speed_rises: int  #: number of local minima of the reference's speed, from each of which it rises
    largest_speed_rise: float  #: largest rise of the reference's speed above its smallest value until then [m/s]
    reversals: int  #: number of changes of sign of the first joint's rate
    #: largest fraction of the energy in the first link beside a reversal; None without any
    first_at_reversal: float | None
    second_smallest_share: float  #: smallest fraction of the energy in the second link
    #: smallest measured energy of the second link, as a fraction of the reference's energy; None where nothing moves
    measured_second_smallest_share: float | None
    force: float  #: largest measured force along the circle [N]


@dataclass(frozen=True)
class Numbers(DisplayNumbers):
    """Numbers of one run."""

    circle_radius: float  #: radius of the circle [m]
    free_direction: Spread  #: error along the circle [m]
    radial: Spread  #: distance from the circle [m]
    led: Led | None  #: while the hand leads; None if it does not
    released: Released | None  #: after the release; None without


def signals_of(run: DisplayRun[TwoLinkOnCircle]) -> CircleMotion:
    """Computes the signals of Fig. 12 of a run."""
    measured, reference = ((path.position, path.velocity) for path in (run.measured, run.reference))
    state = run.state["q"], run.state["q_velocity"]
    return run.mechanism.circle_motion(*state, measured=measured, reference=reference, force=run.wrench[:, :3])


def measure(run: DisplayRun[TwoLinkOnCircle]) -> Numbers:
    """Measures one run."""
    s = signals_of(run)
    return Numbers(
        **vars(run.common_numbers()),
        circle_radius=run.mechanism.circle_radius,
        free_direction=Spread.of(s.error),
        radial=Spread.of(s.radial),
        led=_led(run, s),
        released=_released(run, s),
    )


def _led(run: DisplayRun[TwoLinkOnCircle], s: CircleMotion) -> Led | None:
    leads = run.named("push") & run.during("slide")
    if not leads.any():
        return None
    fast = leads & (s.measured_speed >= np.median(s.measured_speed[leads]))
    leads[: np.flatnonzero(fast)[0]] = False
    speed, total, force = (values[leads] for values in (s.measured_speed, s.total, s.force))
    return Led(
        to_its_end=not bool(leads[-1]),
        start=float(run.time[leads][0]),
        speed=float(speed.mean()),
        speed_deviation=float(speed.std()),
        energy_low=float(total.min()),
        energy_high=float(total.max()),
        pushed=float(np.mean(force > _FORCE)),
        held_back=float(np.mean(force < -_FORCE)),
        turns=len(_changes(force * (np.abs(force) > _FORCE))),
    )


def _released(run: DisplayRun[TwoLinkOnCircle], s: CircleMotion) -> Released | None:
    free = run.during("release") & ~run.touched
    first = int(np.argmax(free))
    if not free.any() or s.total[first] == 0.0:
        return None
    total = s.total[first:]
    spent = np.flatnonzero(total < _REST * total[0])
    part = slice(first, first + int(spent[0]) if len(spent) else len(run.time))
    total, links, speed = s.total[part], s.links[part], np.abs(s.speed[part])
    measured = s.measured_total[part]
    measured = measured[np.isfinite(measured)]
    reversals = _changes(s.first_rate[part])
    beside = np.maximum(links[reversals - 1, 0], links[reversals, 0])
    return Released(
        start=float(run.time[part.start]),
        end=float(run.time[part.stop - 1]),
        spent=len(spent) > 0,
        energy=float(total[0]),
        largest_rise=float(np.diff(total).max()) if len(total) > 1 else None,
        measured_rise=_rise(measured) if len(measured) else None,
        speed_rises=int(np.sum(np.diff(np.sign(np.diff(speed))[np.diff(speed) != 0]) > 0)),
        largest_speed_rise=_rise(speed),
        reversals=len(reversals),
        first_at_reversal=float((beside / total[reversals]).max()) if len(reversals) else None,
        second_smallest_share=float((links[:, 1] / total).min()),
        measured_second_smallest_share=_share(s.measured_links[part], total),
        force=largest(s.force[part]),
    )


def _share(links: np.ndarray, total: np.ndarray) -> float | None:
    """Finds the smallest fraction of the second link's measured energy in a total, while that is above `_MOVES`.

    The fraction of the measured energy itself is `_SECOND` or more with any motion.
    """
    moves = np.isfinite(links[:, 1]) & (total > _MOVES * total[0])
    return float((links[moves, 1] / total[moves]).min()) if moves.any() else None


def _rise(values: np.ndarray) -> float:
    """Finds the largest rise above the least value before."""
    return float(np.max(values - np.minimum.accumulate(values)))


def _changes(values: np.ndarray) -> np.ndarray:
    """Finds the indices at which a signal changes its sign; zeros have the sign before them."""
    places = np.flatnonzero(values)
    signs = np.sign(values[places])
    return places[1:][signs[1:] != signs[:-1]]


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    return display_report(bags, TwoLinkOnCircle, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, n: Numbers) -> None:
    text = "Once released, the kinetic energy falls monotonically, although the speed rises at times (Fig. 12A, B)."
    if free := claims.reached(text, n.released, unless=_NO_RELEASE):
        claims.say(text, *_assess_energy(free))
    text = "The kinetic energy of link 1 goes to zero each time it reverses."
    if free := claims.reached(text, n.released, unless=_NO_RELEASE):
        first = np.nan if free.first_at_reversal is None else free.first_at_reversal
        claims.say(
            text,
            f"{free.reversals} reversals; at most {100 * first:.2g} % of the total in the two ticks beside one "
            f"(limit {100 * _ZERO:g} %)",
            first < _ZERO,
            unless="" if free.reversals else "no reversal after the release",
        )
    text = "The kinetic energy of link 2 never approaches zero."
    if free := claims.reached(text, n.released, unless=_NO_RELEASE):
        measured = free.measured_second_smallest_share
        share = np.nan if measured is None else measured
        claims.say(
            text,
            f"the measured link never has less than {100 * share:.1f} % of the energy that the reference has in "
            f"all, while that is above {100 * _MOVES:g} % of its start (limit 3/7 = {100 * _SECOND:.1f} %, which the "
            f"second of two equal rods has however they move); the reference's link "
            f"{100 * free.second_smallest_share:.1f} %",
            share >= _SECOND,
            unless="no measured motion after the release" if measured is None else "",
        )
    text = "To keep the speed constant the user must alternately push and hold back, as the energy rises and falls."
    if led := claims.reached(text, n.led, unless="the hand does not lead in this run"):
        shown = led.turns >= _CHANGES
        claims.say(
            text,
            f"while energy went between {1e3 * led.energy_low:.0f} and {1e3 * led.energy_high:.0f} mJ, the hand "
            f"pushed {100 * led.pushed:.0f} % of the time, held back {100 * led.held_back:.0f} % (above {_FORCE:g} "
            f"N), and changed {led.turns} times between the two (limit {_CHANGES}, {AFTER_DATA}); the speed was "
            f"{1e3 * led.speed:.0f} mm/s with an RMS deviation of {1e3 * led.speed_deviation:.0f} mm/s",
            shown if shown or led.to_its_end else None,
        )
    error, radial, limit = n.free_direction, n.radial, _SMALL_ERROR * n.circle_radius
    claims.say(
        "The error in the direction of free motion is small (Fig. 12C).",
        f"along the circle {1e3 * error.rms:.2g} mm RMS (limit {1e3 * limit:.2g} mm, 1 % of the radius, "
        f"{AFTER_DATA}), largest {1e3 * error.largest:.2g} mm; radially {1e3 * radial.rms:.2g} mm RMS, largest "
        f"{1e3 * radial.largest:.2g} mm",
        error.rms < limit,
    )


def _assess_energy(free: Released) -> Verdict:
    since, rise = f"from {free.start:.2f} s on, when the hand has let go, {1e3 * free.energy:.0f} mJ", free.largest_rise
    if rise is None:
        return _NO_RELEASE, None
    if rise > 0.0:
        return f"{since}: it rose by up to {rise:.1e} J in a tick", False
    if not free.speed_rises:
        return f"{since}: no rise in any tick; the speed did not rise, either", False if free.spent else None
    measured, most, also = free.measured_rise, _MEASURED_RISE * free.energy, ""
    if measured is not None:
        also = (
            f"; of the measured tool it was at most {1e3 * measured:.2g} mJ above before (limit "
            f"{100 * _MEASURED_RISE:g} % of the start, {1e3 * most:.2g} mJ, {AFTER_DATA})"
        )
    return (
        f"{since}: no rise in any tick of the reference (largest change {rise:.1e} J), its speed "
        f"rose {free.speed_rises} times, by up to {1e3 * free.largest_speed_rise:.0f} mm/s{also}",
        measured is None or measured < most,
    )


_CAPTION = (
    "Fig. 12. A: kinetic energy of the manipulator and of its links (reference; dots: total from the measured tool; "
    "enlarged: after the release). "
    "B: measured speed of the end point along the circle. C: measured less desired position along the circle. D: "
    "measured force along the circle, and distance from it. Shaded: released, the hand lets go at its beginning."
)


def _enlarge_release(axes: Axes, run: DisplayRun[TwoLinkOnCircle], s: CircleMotion) -> None:
    """Draws the energies after the release in an inset with a logarithmic scale."""
    axes.margins(y=0.2)
    shade(axes, run, ("release",))
    free = run.during("release") & ~run.touched
    if not s.total[free].any():
        return
    inset = axes.inset_axes((0.6, 0.28, 0.38, 0.54))
    most = 1e3 * float(s.total[free].max())
    for values, color in zip((s.total, *s.links.T), ("black", "tab:blue", "tab:orange"), strict=True):
        inset.plot(run.time[free], np.maximum(1e3 * values[free], 1e-5 * most), color=color, linewidth=1.0)
    inset.set(yscale="log", ylim=(1e-3 * most, 2.0 * most))
    inset.set_title("released, logarithmic", fontsize="small")
    inset.tick_params(labelsize="small")


def _draw_distance(axes: Axes, run: DisplayRun[TwoLinkOnCircle], s: CircleMotion) -> None:
    """Draws the distance from the circle on an axis of its own at the right."""
    shade(axes, run, ("release",))
    radial = axes.twinx()
    radial.plot(run.time, 1e6 * s.radial, color="tab:red", linewidth=0.5)
    radial.set_ylabel("distance from the circle (µm)", color="tab:red")


def _figure(run: DisplayRun[TwoLinkOnCircle]) -> Figure:
    s, t, black = signals_of(run), run.time, {"color": "black"}
    dots = {"color": "0.6", "linestyle": "", "marker": ".", "markersize": 3}
    every = slice(None, None, max(1, len(t) // 300))
    released = partial(shade, run=run, kinds=("release",))
    energies = [
        Curve(t[every], 1e3 * s.measured_total[every], "total, measured", dots),
        Curve(t, 1e3 * s.total, "total", {**black, "linewidth": 1.5}),
        Curve(t, 1e3 * s.links[:, 0], "link 1", {"color": "tab:blue", "linewidth": 1.5}),
        Curve(t, 1e3 * s.links[:, 1], "link 2", {"color": "tab:orange", "linewidth": 1.5}),
    ]
    speed, error = (Curve(t, 1e3 * values, style=black) for values in (s.measured_speed, s.error))
    title = "D: force along the circle, distance from it"
    return panels(
        Panel("energy (mJ)", energies, "", title="A: kinetic energy", legend={"loc": "upper left", "ncols": 4},
              extra=partial(_enlarge_release, run=run, s=s)),
        Panel("speed (mm/s)", [speed], "", title="B: speed along the circle", extra=released),
        Panel("error (mm)", [error], "", title="C: error along the circle", extra=released),
        Panel("force (N)", [Curve(t, s.force, style=black)], title=title,
              extra=partial(_draw_distance, run=run, s=s)),
        size=(11, 11), sharex=True,
    )  # fmt: skip
