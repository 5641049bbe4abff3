"""Report of model D and its alternative sliding to rest: Fig. 14 of Kikuuwe et al., and section IV-C."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes

from haptic_bags.bags import Bag
from haptic_experiments.kit import comparison
from haptic_experiments.kit.comparison import Case, ColumnNumbers, ScriptedRun
from haptic_experiments.kit.results import MERGED, Claims, Report
from haptic_experiments.kit.signals import dominant_mode, largest, sign_changes
from haptic_friction.design import CONVERGENCE_LIMIT, INSTABILITY_LIMIT, evaluate_model_c
from haptic_friction.reference.motions import model_d_deviation, slide_to_rest

#: the original, and the model on which the mass of the alternative of Fig. 12(b) slides
_ORIGINAL, _ALTERNATIVE = "D", "C"
#: fraction of the largest velocity after the stop that is left at the end of an object that counts as at rest
_AT_REST = 1e-3
_END = 0.1  #: fraction of the run, at its end, that decides that
_SMALL = 1e-12  #: fraction of the start velocity below which an object's velocity is rounding
_FILLING = 0.1  #: the spring fills within this fraction of the sliding at most
_GROWTH = 1e-3  #: agreement of an eigenvalue measured over a few steps with the computed one
#: deviation of a step from its equations that is rounding, as a fraction of M u_0/T
_ROUNDING = 1e-12
_CRITICAL = 1e-6  #: relative deviation within which an element counts as critically damped


@dataclass(frozen=True)
class Sticking:
    """Motion of the alternative while it sticks."""

    decay: float | None  #: factor per step of the strongest mode; None if it does not stick for long enough
    spectral_radius: float  #: largest eigenvalue of its map


@dataclass(frozen=True)
class Stop(Case):
    """Numbers of a column that slides to rest."""

    stop_step: int  #: first step that ends without a velocity forward (1-based)
    sign_changes: int  #: changes of the velocity's sign from the start; 1 is the spring's pull back after the stop
    pull_back: float  #: largest speed against the start velocity [m/s]
    left: float  #: largest speed in the last tenth of the run over that
    deviation: float  #: largest difference of the velocity from the continuous motion [m/s]
    velocity_step: float  #: T F/M [m/s]
    step_deviation: float | None  #: largest deviation of a step of model D from (39) to (41) [N]; None: another model
    start_force: float  #: M u_0/T, the force that stops the mass in one step [N]
    sticking: Sticking | None = field(metadata=MERGED)  #: while it sticks; None if it is not the alternative

    @property
    def rests(self) -> bool:
        """The object is at rest at the end."""
        return self.left < _AT_REST

    @property
    def words(self) -> str:
        """The stop in words."""
        plural = "" if self.sign_changes == 1 else "s"
        return (
            f"{self.element.words}: {self.sign_changes} change{plural} of sign, {self.left:.2g} of the pull back left"
        )


@dataclass(frozen=True)
class Numbers(ColumnNumbers):
    """Numbers of one model in one run."""

    ratio: float  #: T^2 K/M


def measure(run: ScriptedRun, column: int) -> Numbers:
    """Measures one model in one run."""
    element = run.element(column)
    return Numbers(element, _stop(run, column), element.ratio)


def _stop(run: ScriptedRun, column: int) -> Stop | None:
    """Measures a column that slides to rest; None where the run has no closed form, or ends too early."""
    u, start, F = run.velocity[:, column], run.parameters["initial_velocity"], run.parameters["friction_force"]
    element = run.element(column)
    T, K, B, M = element.period, element.stiffness, element.damping, element.mass
    is_free = run.is_complete and not run.input_force.any() and run.parameters["law"] == "coulomb"
    if not is_free or start <= 0.0 or F == 0.0 or abs(B * B / (4.0 * K * M) - 1.0) > _CRITICAL:
        return None
    if 2.0 * start * M / F > run.time[-1] or F * B / (K * M * start) > _FILLING:
        return None  # the run ends before the object has come to rest, or the spring fills too slowly
    pull_back = max(largest(np.minimum(u, 0.0)), _SMALL * start)
    exact = slide_to_rest(run.time + T, mass=M, stiffness=K, damping=B, force=F, start=start)
    sticking = None
    if element.model == _ALTERNATIVE:
        slides = np.flatnonzero(~run.sticking[:, column])
        # the velocity of the first step that sticks still answers to a force of sliding
        stuck = u[int(slides[-1]) + 2 if len(slides) else 0 :]
        decay = dominant_mode(stuck[np.abs(stuck) > _SMALL * start])
        sticking = Sticking(decay, evaluate_model_c(mass=M, stiffness=K, damping=B, period=T).spectral_radius)
    return Stop(
        element=element,
        stop_step=int(np.argmax(u <= 0.0)) + 1,
        sign_changes=sign_changes(np.where(np.abs(u) > _SMALL * start, u, 0.0)),
        pull_back=pull_back,
        left=largest(u[-max(1, round(_END * len(u))) :]) / pull_back,
        deviation=largest(u - exact),
        velocity_step=T * F / M,
        step_deviation=_step_deviation(run, column),
        start_force=M * start / T,
        sticking=sticking,
    )


def _step_deviation(run: ScriptedRun, column: int) -> float | None:
    if run.models[column] != _ORIGINAL:
        return None
    element, parameters = run.element(column), run.parameters
    return model_d_deviation(
        run.velocity[:, column],
        run.force[:, column],
        run.displacement[:, column],
        run.input_force,
        period=element.period,
        mass=element.mass,
        stiffness=element.stiffness,
        damping=element.damping,
        friction=parameters["friction_force"],
        start=parameters["initial_velocity"],
    )


def _claims(claims: Claims, originals: list[Stop], alternatives: list[Stop]) -> None:
    alternatives = sorted(alternatives, key=lambda case: case.element.ratio)
    _claim_original(claims, originals)
    _claim_equations(claims, originals)
    _claim_vibration(claims, alternatives)
    _claim_limits(claims, alternatives)


def _claim_original(claims: Claims, cases: list[Stop]) -> None:
    text = "The stiffness of model D is not limited: it comes to rest without oscillation (Fig. 14, left)."
    missing = "Coulomb friction, critical damping, a start velocity and no force until it rests"
    farthest = max(cases, key=lambda case: case.deviation / case.velocity_step, default=None)
    if worst := claims.reached(text, farthest, unless=f"no run of model {_ORIGINAL} with {missing}"):
        claims.say(
            text,
            f"{len(cases)} cases up to T^2 K/M = {max(case.element.ratio for case in cases):.3g}: at most "
            f"{max(case.sign_changes for case in cases)} change of sign each (1 is the spring's pull back), at the end "
            f"at most {max(case.left for case in cases):.1e} of it left (limit {_AT_REST:g}); at most "
            f"{1e3 * worst.deviation:.2f} mm/s from the continuous motion ({worst.element.words}; limit T F/M = "
            f"{1e3 * worst.velocity_step:g} mm/s)",
            all(case.sign_changes <= 1 and case.rests and case.deviation < case.velocity_step for case in cases),
        )


def _claim_equations(claims: Claims, cases: list[Stop]) -> None:
    known = [(case.step_deviation, case.start_force) for case in cases if case.step_deviation is not None]
    claims.say(
        "Each step of model D is the solution of (39) to (41).",
        f"at most {max((deviation for deviation, _ in known), default=0.0):.1e} N off, of forces up to M u0/T = "
        f"{max((force for _, force in known), default=0.0):.3g} N (limit {_ROUNDING:g} of that, rounding)",
        all(deviation < _ROUNDING * force for deviation, force in known),
        unless="" if known else f"no run of model {_ORIGINAL} that slides to rest",
    )


def _claim_vibration(claims: Claims, cases: list[Stop]) -> None:
    short = comparison.at_shortest_period(cases)
    low = [case for case in short if case.element.ratio <= CONVERGENCE_LIMIT]
    high = [case for case in short if case.element.ratio > INSTABILITY_LIMIT]
    claims.say(
        "The alternative becomes vibratory or unstable with high stiffness (Fig. 14, right).",
        f"{'; '.join(case.words for case in short)} (limit {_AT_REST:g})",
        all(case.rests for case in low) and not any(case.rests for case in high),
        unless="" if low and high else "no low and no high stiffness of a mass on model C at one period",
    )
    pairs = comparison.pairs_of_periods(
        cases, lambda a: a.element.ratio <= CONVERGENCE_LIMIT, lambda b: b.element.ratio > CONVERGENCE_LIMIT
    )
    claims.say(
        "The alternative becomes vibratory or unstable with a large timestep size.",
        f"{'; '.join(case.words for case in (pairs[0] if pairs else ()))} (limit {_AT_REST:g})",
        all(a.rests and b.sign_changes > a.sign_changes for a, b in pairs),
        unless="" if pairs else "no stiffness below 1/4 at one period and above it at a longer one",
    )


def _claim_limits(claims: Claims, cases: list[Stop]) -> None:
    def sides(limit: float) -> tuple[list[Stop], list[Stop], str]:
        """Finds the cases on both sides of a ratio, and the reason if there are none on one side."""
        inside, outside = ([e for e in cases if (e.element.ratio <= limit) is below] for below in (True, False))
        return inside, outside, "" if inside and outside else "no cases on both sides of the limit"

    inside, outside, missing = sides(CONVERGENCE_LIMIT * (1.0 + _CRITICAL))
    changes = ", ".join(f"{case.element.ratio:.3g}: {case.sign_changes}" for case in cases)
    claims.say(
        "With critical damping, T^2 K/M < 1/4 is necessary for a convergence without oscillation; 1/4 is the margin.",
        f"T^2 K/M and sign changes: {changes} (1 is the spring's pull back)",
        all(case.sign_changes <= 1 for case in inside) and all(case.sign_changes > 1 for case in outside),
        unless=missing,
    )
    below, above, missing = sides(INSTABILITY_LIMIT)
    left = ", ".join(f"{case.element.ratio:.3g}: {case.left:.2g}" for case in cases)
    claims.say(
        f"It does not come to rest from T^2 K/M = (2 sqrt 2 - 2)^2 = {INSTABILITY_LIMIT:.3f} on (from (63)).",
        f"T^2 K/M and share of the pull back at the end: {left} (limit {_AT_REST:g})",
        all(case.rests for case in below) and not any(case.rests for case in above),
        unless=missing,
    )
    text = "While it sticks, its velocity decays with the eigenvalues of (63)."
    sticks = [(case, case.sticking) for case in cases if case.sticking is not None]
    decays = [(case, s.decay, s.spectral_radius) for case, s in sticks if s.decay is not None]
    comparison.eigenvalue_claim(claims, text, decays, _GROWTH, "no alternative that sticks for long enough")


_CAPTION = (
    "Velocity u over time, as in Fig. 14: left model D, right its alternative of Fig. 12(b), a mass on model C; a row "
    "for each control period T. Large: the stop; small: the whole run. Line styles as in the paper: lowest stiffness "
    "grey, middle one dashed (with T = 1 ms the marginal case T^2 K/M = 1/4), highest black; in colour stiffnesses "
    "that the paper does not have, on either side of the limit of stability 0.686."
)


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    """Draws the stop, and the whole run in an inset."""
    window = _window(run)
    _draw_velocities(axes, run, columns)
    axes.set(xlabel="time t (s)", ylabel="velocity u (m/s)")
    if columns:
        axes.legend(loc="lower right", framealpha=1.0, fontsize="small")
    if window and columns:
        inset = axes.inset_axes((0.5, 0.6, 0.48, 0.37))
        _draw_velocities(inset, run, columns)
        inset.tick_params(labelsize="small")
        axes.set(xlim=window[0], ylim=window[1])


def _draw_velocities(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    time = np.concatenate(([0.0], run.time + run.period))
    for place, column in enumerate(columns):
        label = f"{run.models[column]}, K = {comparison.power_of_ten(run.number('stiffness', column))} N/m"
        u = np.concatenate(([run.parameters["initial_velocity"]], run.velocity[:, column]))
        axes.plot(time, u, label=label, **comparison.stiffness_style(place))
    axes.set_xlim(0.0, time[-1])


def _window(run: ScriptedRun) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Computes limits of time and velocity around the stop; None where the run has no stop."""
    F, M, start = run.parameters["friction_force"], run.number("mass"), run.parameters["initial_velocity"]
    end = float(run.time[-1])
    stop = abs(start) * M / F if F > 0.0 else np.inf
    reach = largest(run.velocity[run.time > stop + 2.0 * run.period])
    if not 0.0 < stop < end or not 0.0 < reach < abs(start):
        return None
    return (stop - 0.03 * end, min(stop + 0.25 * end, end)), (-2.0 * reach, 3.5 * reach)


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    models = (_ORIGINAL, _ALTERNATIVE)
    return comparison.alternative_report(bags, models, measure, _claims, _draw, _CAPTION, figure_part="b", height=4.4)
