"""Report of model B and its alternative at a ramp of velocity: Fig. 13 of Kikuuwe et al."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes

from haptic_bags.bags import Bag
from haptic_experiments.kit import comparison
from haptic_experiments.kit.comparison import Case, ColumnNumbers, ScriptedRun
from haptic_experiments.kit.results import HIDDEN, MERGED, Claims, Report
from haptic_experiments.kit.signals import largest, roughness
from haptic_friction.design import evaluate_model_c
from haptic_friction.reference.modes import first_slide_mode
from haptic_friction.reference.motions import ramp_response

#: the original, and the model in front of the spring in the alternative of Fig. 12(a)
_ORIGINAL, _ALTERNATIVE = "B", "A"
_ROUNDING = 1e-9  #: largest deviation of an input that counts as a ramp, relative to its end
_VIBRATING = 10.0  #: a force vibrates when its second differences are so many times those of the continuous motion
_GROWTH = 1e-3  #: agreement of a growth measured over a few steps with the eigenvalue
_CUT = 6.0  #: a force beyond so many times F is not drawn


@dataclass(frozen=True)
class Sliding:
    """Motion of the alternative while it slides."""

    growth: float | None  #: factor per step of the strongest mode; None if it does not slide for long enough
    spectral_radius: float  #: largest eigenvalue of its map
    monotone: bool  #: whether the map is free of oscillation
    stable: bool  #: whether the map is stable


@dataclass(frozen=True)
class Ramp(Case):
    """Numbers of a column that slides at a ramp."""

    largest_force: float = field(metadata=HIDDEN)  #: largest force h [N]
    deviation: float  #: largest difference of the force from that of the continuous motion [N]
    force_step: float  #: rise of the force in the step before it slides [N]
    roughness_ratio: float  #: RMS of the force's second differences over that of the continuous motion
    sliding: Sliding | None = field(metadata=MERGED)  #: while it slides; None if it is not the alternative

    @property
    def vibrates(self) -> bool:
        """The force is much rougher than that of the continuous motion."""
        return self.roughness_ratio > _VIBRATING

    @property
    def is_monotone(self) -> bool:
        """The alternative's map is free of oscillation."""
        return self.sliding is not None and self.sliding.monotone

    @property
    def is_unstable(self) -> bool:
        """The alternative's map is unstable."""
        return self.sliding is not None and not self.sliding.stable


@dataclass(frozen=True)
class Numbers(ColumnNumbers):
    """Numbers of one model in one run."""

    largest_force: float  #: largest force h [N]
    roughness: float  #: RMS of the force's second differences [N]


def free_growth(run: ScriptedRun, column: int) -> float | None:
    """Computes the factor per step of the strongest mode, from the first sliding motion without a stop."""
    return first_slide_mode(run.velocity[:, column], run.sticking[:, column])


def slope_of(run: ScriptedRun) -> float | None:
    """Computes the slope of the input velocity [m/s^2]; None where it is no ramp from zero or a tick is missing."""
    slope = float(run.input_velocity[-1] / run.time[-1])
    is_ramp = largest(run.input_velocity - slope * run.time) <= _ROUNDING * largest(run.input_velocity)
    return slope if run.is_complete and is_ramp and slope > 0.0 else None


def measure(run: ScriptedRun, column: int) -> Numbers:
    """Measures one model in one run."""
    h = run.force[:, column]
    return Numbers(run.element(column), _ramp(run, column), largest(h), roughness(h))


def _ramp(run: ScriptedRun, column: int) -> Ramp | None:
    """Measures a column at a ramp; None where the run has no closed form, or does not yet slide."""
    element, h, slope = run.element(column), run.force[:, column], slope_of(run)
    T, K, B, M = element.period, element.stiffness, element.damping, element.mass
    if run.parameters["law"] != "coulomb" or slope is None or M * K > 1.000001 * B * B / 4.0:
        return None
    F = run.parameters["friction_force"]
    exact = ramp_response(run.time, slope=slope, mass=M, stiffness=K, damping=B, force=F)
    if exact[-1] < F:
        return None
    breakaway, sliding = int(np.argmax(exact >= F)) * T, None
    if element.model == _ALTERNATIVE:
        design = evaluate_model_c(mass=M, stiffness=K, damping=B, period=T)
        sliding = Sliding(free_growth(run, column), design.spectral_radius, design.is_monotone, design.is_stable)
    return Ramp(
        element=element,
        largest_force=largest(h),
        deviation=largest(h - exact),
        force_step=slope * (K * breakaway + B) * T,
        roughness_ratio=roughness(h) / roughness(exact),
        sliding=sliding,
    )


def _claims(claims: Claims, originals: list[Ramp], alternatives: list[Ramp]) -> None:
    _claim_original(claims, originals)
    _claim_alternative(claims, alternatives)


def _claim_original(claims: Claims, cases: list[Ramp]) -> None:
    text = "The stiffness of model B is not limited: its force neither vibrates nor grows (Fig. 13, left)."
    missing = "Coulomb friction, critical damping or more, and a ramp that makes it slide"
    farthest = max(cases, key=lambda case: case.deviation / case.force_step, default=None)
    if worst := claims.reached(text, farthest, unless=f"no run of model {_ORIGINAL} with {missing}"):
        claims.say(
            text,
            f"{len(cases)} cases up to T^2 K/M = {max(case.element.ratio for case in cases):.3g}: at most "
            f"{worst.deviation:.3f} N from the continuous motion ({worst.element.words}; before it slides the force "
            f"rises by {worst.force_step:.3f} N a step, the limit), second differences at most "
            f"{max(case.roughness_ratio for case in cases):.2f} times those of that motion (limit {_VIBRATING:g})",
            all(case.deviation < case.force_step and not case.vibrates for case in cases),
        )


def _claim_alternative(claims: Claims, cases: list[Ramp]) -> None:
    short = comparison.at_shortest_period(cases)
    both = any(case.is_unstable for case in short) and any(case.is_monotone for case in short)
    parts = [f"{case.element.words}: second differences {case.roughness_ratio:.3g} times" for case in short]
    claims.say(
        "The alternative becomes vibratory or unstable with high stiffness (Fig. 13, right).",
        f"{'; '.join(parts)} those of the continuous motion (limit {_VIBRATING:g})",
        all(case.vibrates == case.is_unstable for case in short if case.is_monotone or case.is_unstable),
        unless="" if both else "no low and no high stiffness of model A with a spring in front at one period",
    )
    pairs = comparison.pairs_of_periods(cases, lambda case: case.is_monotone, lambda case: case.is_unstable)
    parts = [
        f"{case.element.words}: force up to {case.largest_force:.3g} N, second differences "
        f"{case.roughness_ratio:.3g} times those of the continuous motion (limit {_VIBRATING:g})"
        for case in (pairs[0] if pairs else ())
    ]
    claims.say(
        "The alternative becomes vibratory or unstable with a large timestep size.",
        "; ".join(parts),
        all(long.vibrates and not short.vibrates for short, long in pairs),
        unless="" if pairs else "no stiffness that is stable at one period and unstable at a longer one",
    )
    text = "What makes it unstable is the added delay: while it slides, its map has the eigenvalues of (63)."
    slides = [(case, case.sliding) for case in cases if case.sliding is not None]
    growths = [(case, s.growth, s.spectral_radius) for case, s in slides if s.growth is not None]
    comparison.eigenvalue_claim(claims, text, growths, _GROWTH, "no alternative that slides for long enough")


_CAPTION = (
    "Force h of the spring and damper over time, as in Fig. 13: left model B, right its alternative of Fig. 12(a), a "
    "model A with spring and damper in front; a row for each control period T. Line styles as in the paper: lowest "
    "stiffness grey, middle one dashed, highest black. The line of one that diverges ends where it leaves the axes."
)


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    force = run.parameters["friction_force"]
    limit = _CUT * max(force, 1.0)
    top = 0.0
    for place, column in enumerate(columns):
        h = run.force[:, column]
        label = f"{run.models[column]}, K = {comparison.power_of_ten(run.number('stiffness', column))} N/m"
        beyond = np.flatnonzero(np.abs(h) > limit)
        end = int(beyond[0]) + 1 if len(beyond) else len(h)
        axes.plot(run.time[:end], h[:end], label=label, **comparison.stiffness_style(place))
        top = max(top, min(largest(h), limit))
    axes.set(xlim=(0.0, run.time[-1]), xlabel="time t (s)", ylabel="force h (N)")
    top = max(top, force, 1e-3)
    axes.set_ylim(-top if top > 1.5 * force else -0.05 * top, 1.1 * top)
    if columns:
        axes.legend(loc="upper left" if top > 1.5 * force else "lower right", framealpha=1.0)


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    models = (_ORIGINAL, _ALTERNATIVE)
    return comparison.alternative_report(bags, models, measure, _claims, _draw, _CAPTION, figure_part="a", height=3.8)
