"""Report of two bodies and two frictional contacts on a moving base: Figs. 9 to 11 of Kikuuwe et al.

The figures are not in the text at hand: that the base drags body 1, body 1 drags body 2 and a spring ties each to the
wall is inferred from the caption of Fig. 11 and from section IV-A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.figures import Curve, Panel, make_room, panels, shade_true
from haptic_experiments.kit.results import MERGED, OPTIONAL, Claims, Report
from haptic_experiments.kit.signals import largest, phases, rms
from haptic_friction.reference import rigid_chain

_CHAIN = ([-1, 0], [0, 1])  #: contacts as (first, second) partner, -1 the base, that the report knows
_MODEL = "C"  #: model of the contacts in the paper; another one is measured without verdicts
_SHORTEST = 5e-3  #: shortest sticking that counts as a phase [s]
_TRANSIENT = 2  #: drive periods at the start that belong to the transient
_FINER = 4  #: steps of the rigid computation in one control period
_ROUNDING = 1e-12  #: largest error of an equation of motion by rounding, relative to its largest term
#: largest difference from the rigid limit: of the fraction of time that sticks, and of the positions, RMS over RMS
_STICK_SHARE, _POSITION = 0.02, 0.03


@dataclass(frozen=True)
class ContactNumbers:
    """Numbers of the steady motion of one contact and its body, and (`rigid_...`) of rigid contacts."""

    stick_phases_per_period: list[int]  #: number of stick phases in each drive period
    stick_phase_lengths: list[float]  #: length of each of them [s]
    rigid_stick_phase_lengths: list[float]  #: length of each of the rigid contacts' [s]
    stick_share: float  #: fraction of the time that sticks
    rigid_stick_share: float  #: fraction of the time that the rigid contacts stick
    position_rms: float  #: RMS of the body's position [m]
    position_difference_rms: float  #: RMS of its difference from the rigid contacts' [m]
    force_difference_rms: float  #: RMS of the force's difference from the rigid contacts' [N]

    @property
    def ratio(self) -> float:
        """Difference of the position over the position, RMS."""
        return float(self.position_difference_rms / self.position_rms) if self.position_rms else np.inf


@dataclass(frozen=True)
class Steady:
    """Numbers of the steady motion."""

    drive_periods: int  #: number of drive periods
    contact_1: ContactNumbers  #: numbers of the first contact
    contact_2: ContactNumbers  #: numbers of the second contact


@dataclass(frozen=True)
class Numbers:
    """Numbers of a run."""

    period: float  #: T [s]
    ticks: int  #: number of ticks
    largest_overload: float  #: largest excess of a friction force over its limit, over the limit
    #: result of `momentum_residual`; None for an unknown chain
    momentum_residual: float | None = field(default=None, metadata=OPTIONAL)
    #: steady motion; None where it does not last two periods beyond the transient
    steady: Steady | None = field(default=None, metadata=MERGED)


def bodies(run: ScriptedRun) -> tuple[np.ndarray, np.ndarray]:
    """Computes velocities [m/s] and positions [m] of both bodies, (n, 2), from the contacts' relative velocities."""
    v1 = run.input_velocity - run.velocity[:, 0]
    velocity = np.column_stack((v1, v1 - run.velocity[:, 1]))
    return velocity, run.period * np.cumsum(velocity, axis=0)


def momentum_residual(run: ScriptedRun) -> float:
    """Computes the largest error of M v' = sum of forces - K x, with the forces of the step before (60), over F1."""
    velocity, position = bodies(run)
    mass, spring = np.array(run.parameters["body_mass"]), np.array(run.parameters["body_stiffness"])
    return rigid_chain.momentum_residual(velocity, position, run.force, mass=mass, spring=spring, period=run.period)


def drive_periods(run: ScriptedRun) -> list[tuple[int, int]]:
    """Finds first index and end of each period of the base's velocity, from one rise through zero to the next."""
    return rigid_chain.rising_periods(run.input_velocity)


def stick_phases(sticking: np.ndarray, period: float, start: int, end: int) -> list[tuple[int, int]]:
    """Finds the phases of sticking that begin in a drive period."""
    found = phases(sticking, max(1, round(_SHORTEST / period)))
    return [phase for phase in found if start <= phase[0] < end]


def is_known_chain(run: ScriptedRun) -> bool:
    """Checks for two bodies in a row on the base, with Coulomb friction, and no tick missed."""
    p = run.parameters
    chain = (list(p["contact_first"]), list(p["contact_second"]))
    return chain == _CHAIN and len(p["body_mass"]) == 2 and p["law"] == "coulomb" and run.is_complete


def measure(run: ScriptedRun) -> Numbers:
    """Measures a run."""
    limits = np.array(run.parameters["friction_force"])
    overload = largest(np.maximum(np.abs(run.force) - limits, 0.0) / np.maximum(limits, 1e-300))
    if not is_known_chain(run):
        return Numbers(run.period, len(run.tick), overload)
    return Numbers(run.period, len(run.tick), overload, momentum_residual(run), _steady(run))


def _steady(run: ScriptedRun) -> Steady | None:
    T, periods = run.period, drive_periods(run)[_TRANSIENT:]
    if len(periods) < 2:
        return None
    position, force, sticking = _rigid(run)
    own, part = bodies(run)[1], slice(periods[0][0], periods[-1][1])

    def measured(contact: int) -> ContactNumbers:
        found = [stick_phases(run.sticking[:, contact], T, *limits) for limits in periods]
        rigid = [T * (b - a) for limits in periods for a, b in stick_phases(sticking[:, contact], T, *limits)]
        return ContactNumbers(
            stick_phases_per_period=[len(of_period) for of_period in found],
            stick_phase_lengths=[T * (end - start) for of_period in found for start, end in of_period],
            rigid_stick_phase_lengths=rigid,
            stick_share=float(run.sticking[part, contact].mean()),
            rigid_stick_share=float(sticking[part, contact].mean()),
            position_rms=rms(own[part, contact]),
            position_difference_rms=rms(own[part, contact] - position[part, contact]),
            force_difference_rms=rms(run.force[part, contact] - force[part, contact]),
        )

    return Steady(len(periods), measured(0), measured(1))


def _rigid(run: ScriptedRun) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Computes the rigid limit at the run's ticks in shorter steps; the base's velocity is linear between ticks."""
    p = run.parameters
    steps = np.arange(_FINER * (len(run.tick) - 1) + 1) / _FINER
    u = np.interp(steps, run.tick, run.input_velocity)
    results = rigid_chain.rigid_chain(
        u,
        period=run.period / _FINER,
        mass=tuple(p["body_mass"]),
        stiffness=tuple(p["body_stiffness"]),
        force=tuple(p["friction_force"]),
    )
    position, force, sticking = (values[::_FINER] for values in results)
    return position, force, sticking


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: ScriptedRun.from_bag(bag, "network") for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    name, run = next(iter(runs.items()))
    claims = _claims(numbers[name])
    if run.parameters["model"] != _MODEL:
        claims.set_aside(f"model {run.parameters['model']}")
    parameters = {"network": run.parameters, "device": run.device}
    return Report({"runs": numbers}, claims, lambda: _figure(run), _CAPTION, parameters)


def _claims(numbers: Numbers) -> Claims:
    claims, steady = Claims(), numbers.steady
    chain = "no run of two bodies in a row with Coulomb friction"
    missing = "" if steady else f"{chain} over enough periods of the base"
    found = [("contact 1", steady.contact_1), ("contact 2", steady.contact_2)] if steady else []

    def span(counts: list[int]) -> str:
        return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"

    def lengths(n: ContactNumbers) -> str:
        found = [1e3 * length for length in n.stick_phase_lengths]
        return f" of {min(found):.0f} to {max(found):.0f} ms" if found else ""

    claims.say(
        "Realistic stick-slip oscillations are demonstrated in both frictional contacts (Fig. 11).",
        "; ".join(
            f"{name}: {span(n.stick_phases_per_period)} stick phases{lengths(n)} in each of "
            f"{len(n.stick_phases_per_period)} periods, {100 * n.stick_share:.0f} % of the time"
            for name, n in found
        ),
        all(min(n.stick_phases_per_period) >= 1 and 0.0 < n.stick_share < 1.0 for _, n in found),
        unless=missing,
    )
    claims.say(
        "They are those of the same system with rigid Coulomb contacts, computed without the model.",
        "; ".join(
            f"{name} sticks {100 * n.stick_share:.1f} % of the time (rigid: {100 * n.rigid_stick_share:.1f} %), "
            f"its body's position {1e3 * n.position_difference_rms:.2f} mm RMS off ({100 * n.ratio:.1f} %)"
            for name, n in found
        )
        + f"; limits {100 * _STICK_SHARE:g} % of the time and {100 * _POSITION:g} % of the position",
        all(
            n.ratio < _POSITION
            and abs(n.stick_share - n.rigid_stick_share) < _STICK_SHARE
            and len(n.stick_phase_lengths) == len(n.rigid_stick_phase_lengths)
            for _, n in found
        ),
        unless=missing,
    )
    overload, known = numbers.largest_overload, numbers.momentum_residual is not None
    residual = np.nan if numbers.momentum_residual is None else numbers.momentum_residual
    limit = _ROUNDING / numbers.period  # v' is a difference over T
    claims.say(
        "No contact carries more than its friction force, and each step balances the forces of the one before (60).",
        f"|f| exceeds F by at most {overload:.1e} F (limit {_ROUNDING:g} F); M v' and the forces on the bodies differ "
        f"by at most {residual:.1e} of the largest (limit {limit:g})",
        overload < _ROUNDING and residual < limit,
        unless="" if known else chain,
    )
    return claims


_CAPTION = (
    "Velocities of base and bodies, positions of the bodies and friction forces, as Fig. 11 is taken to show; red: "
    "the same system with rigid Coulomb contacts. Shaded: the contact sticks. How the parts are connected (base, body "
    "1 on it, body 2 on body 1, a spring from each body to the wall) is inferred from the caption of Fig. 11; the "
    "figures are not in the text at hand."
)


def _figure(run: ScriptedRun) -> Figure:
    (v, x), t, red = bodies(run), run.time, {"color": "tab:red", "linewidth": 2.5, "alpha": 0.5}
    velocity, position = [Curve(t, run.input_velocity, "base, u", {"color": "0.65", "linewidth": 2.5})], list[Curve]()
    forces: list[list[Curve]] = [[], []]
    if is_known_chain(run):
        rigid, rigid_force, _ = _rigid(run)
        position = [Curve(t, 1e3 * rigid[:, i], "" if i else "rigid contacts", red) for i in (0, 1)]
        forces = [[Curve(t, rigid_force[:, i], style=red)] for i in (0, 1)]
    for i, linestyle in enumerate(("-", "--")):
        line = {"color": "black", "linestyle": linestyle, "linewidth": 1.0}
        velocity.append(Curve(t, v[:, i], f"body {i + 1}", line))
        position.append(Curve(t, 1e3 * x[:, i], f"body {i + 1}", line))
        forces[i].append(Curve(t, run.force[:, i], style={"color": "black", "linewidth": 1.0}))
    legend = {"loc": "upper right", "ncols": 3, "fontsize": "medium"}
    sticks = [partial(shade_true, time=t, flags=run.sticking[:, i], shortest=_SHORTEST, color="0.85") for i in (0, 1)]
    return panels(
        Panel("velocity (m/s)", velocity, "", legend=legend, extra=make_room),
        Panel("position (mm)", position, "", legend=legend, extra=make_room),
        Panel("force f1 (N)", forces[0], "", extra=sticks[0]),
        Panel("force f2 (N)", forces[1], "time t (s)", {"xlim": (0.0, t[-1])}, extra=sticks[1]),
        size=(11, 10),
        sharex=True,
    )
