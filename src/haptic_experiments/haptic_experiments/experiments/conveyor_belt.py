"""Report of the box on the oscillating conveyor belt: Figs. 3 and 4 of Castro et al."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from convex_contact.scenes import one_body as scene
from convex_contact.scenes.closed_forms import gliding_time
from haptic_bags.bags import Bag
from haptic_experiments.kit import contact
from haptic_experiments.kit.contact import PAPER, ContactRun, Convergence, curves
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report

#: time steps of the paper's study, and of its reference [s]; length [s]
PERIODS, REFERENCE, DURATION = (2e-3, 1e-2, 5e-2), 2e-4, 2.0
_SLIPS = 0.05  #: least speed of a box that slips, for the gliding gap [m/s]
#: numbers of an independent implementation of the paper at T = 10 ms: gliding gap over its prediction (Table I),
#: largest gap [mm], largest normal force over the weight; position error of Lagged [m] by time step
EXPECTED = {
    "gliding": {"sap": 0.997, "lagged": 0.0, "similar": 0.998},
    "largest_gap": {"sap": 0.854, "lagged": 0.0, "similar": 0.783},
    "spike": {"sap": 1.157, "lagged": 1.000, "similar": 1.164},
}
EXPECTED_ERRORS = {2e-3: 8.0e-4, 1e-2: 4.3e-3, 5e-2: 2.2e-2}
#: limits from the two or three digits of these numbers; the ratio's average depends on the slip from which it counts
_TOLERANCES = {"gliding": 0.005, "largest_gap": 0.001, "spike": 0.001}
_ROUNDED = 0.03
_TEXTS = {
    "gliding": "While it slips the box glides at the gap of Table I with SAP and Similar, and with Lagged at none.",
    "largest_gap": "That gap is largest, in mm, where the slip is.",
    "spike": "The normal force jumps when the box sticks with SAP and Similar, and equals the weight with Lagged "
    "(force over weight).",
}


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one run."""

    gliding: float | None  #: gap under the slipping box over that of Table I, mean; None if it does not slip
    largest_gap: float  #: largest gap under the box [mm]
    spike: float  #: largest normal force over the weight
    largest_slip: float  #: largest velocity along the belt [m/s]
    largest_friction: float  #: largest friction over that of the weight


def slip(run: ContactRun) -> np.ndarray:
    """Computes the velocity of the box against the belt (n, 3) [m/s]."""
    return np.asarray(run.velocity[:, run.body("box")] - run.velocity[:, run.body("belt")])


def gap(run: ContactRun) -> np.ndarray:
    """Computes the gap under the box (n,) [m]."""
    return np.asarray(run.position[:, run.body("box"), 2] - 0.5 * scene.BOX_SIDE)


def force_over_weight(run: ContactRun) -> np.ndarray:
    """Computes the force of the belt on the box over its weight (n, 3)."""
    return run.force_on(run.body("belt"), run.body("box")) / (scene.BOX_MASS * scene.GRAVITY)


def predicted_gap(run: ContactRun, approximation: str) -> np.ndarray:
    """Predicts the gap at which the box glides by Table I (n,) [m]."""
    reach = gliding_time(approximation, run.step, scene.BOX_RELAXATION_TIME)
    return np.asarray(scene.BOX_FRICTION * np.abs(slip(run)[:, 0]) * reach)


def measure(run: ContactRun) -> RunNumbers:
    """Measures one run."""
    force, slipping = run.force_on(run.body("belt"), run.body("box")), np.abs(slip(run)[:, 0])
    slips = slipping > _SLIPS
    # Lagged, which glides at no gap, is compared with the gap of Similar
    glides = gliding_time(run.approximation, 1.0) > 0.0
    predicted = predicted_gap(run, run.approximation if glides else "similar")
    return RunNumbers(
        gliding=float(np.mean(gap(run)[slips] / predicted[slips])) if slips.any() else None,
        largest_gap=1e3 * float(gap(run).max()),
        spike=float(force[:, 2].max() / (scene.BOX_MASS * scene.GRAVITY)),
        largest_slip=float(slipping.max()),
        largest_friction=float(np.abs(force[:, 0]).max() / (scene.BOX_FRICTION * scene.BOX_MASS * scene.GRAVITY)),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = contact.runs_of(bags)
    study = Convergence.of(scene.conveyor_belt, "box", reference=REFERENCE, periods=PERIODS, duration=DURATION)
    standard = all(run.is_of("convex_contact.scenes:conveyor_belt", 1e-2) for run in runs.values())

    def claim(claims: Claims, numbers: Mapping[str, RunNumbers]) -> None:
        for key, text in _TEXTS.items():
            measured = {name: getattr(numbers[name], key) for name in PAPER if name in numbers}
            judged = standard and measured.keys() == EXPECTED[key].keys()
            contact.compared(claims, text, measured, EXPECTED[key], judged=judged, absolute=_TOLERANCES[key])
        _claim_convergence(claims, study)

    return contact.report_of(runs, measure, claim, lambda: _figure(runs, study.errors), _CAPTION, study)


def _claim_convergence(claims: Claims, study: Convergence) -> None:
    sap, lagged, similar = (study.errors[name] for name in PAPER)
    short, middle = PERIODS[:2]
    text = "The position error of Lagged (m) at each time step (Fig. 4)."
    study.compare_lagged(claims, text, EXPECTED_ERRORS, _ROUNDED)
    claims.say(
        "Lagged and Similar converge with first order, Similar with the larger error (Fig. 4).",
        f"order {study.orders['lagged']:.2f} and {study.orders['similar']:.2f} (1 within 0.15); error at {short:g} s "
        f"{1e3 * lagged[short]:.2f} and {1e3 * similar[short]:.2f} mm",
        study.is_first_order and similar[short] > lagged[short],
    )
    excess = {p: sap[p] / lagged[p] for p in (short, middle)}
    claims.say(
        "The error of SAP falls less with the step, since tau_d mu |v_t| does not vanish (Fig. 4, where it levels "
        "off).",
        f"it is {excess[middle]:.2f} times that of Lagged at {middle:g} s, {excess[short]:.2f} times at {short:g} s",
        excess[short] > excess[middle] > 1.0,
    )


_CAPTION = (
    "Above: velocity of the box against the belt and force of the belt on it, along the belt and along the normal, as "
    "in Fig. 3 (force over the weight). Below: gap under the box with its prediction (dashed, Table I), and position "
    "error over the time step as in Fig. 4, against Lagged at 0.2 ms. The two regularised approximations and "
    "lagged_elastoplastic are not in the paper's figure."
)


def _figure(runs: Mapping[str, ContactRun], errors: dict[str, dict[float, float]]) -> Figure:
    dashed = {"color": "black", "linestyle": "--", "linewidth": 0.6}
    predictions = [
        Curve(run.time, 1e3 * predicted_gap(run, run.approximation), style=dashed)
        for name, run in runs.items()
        if name in PAPER and gliding_time(run.approximation, 1.0)
    ]
    return panels(
        [
            Panel("slip (m/s)", curves(runs, lambda r: slip(r)[:, 0]), title="contact velocity (Fig. 3)"),
            Panel("friction", curves(runs, lambda r: force_over_weight(r)[:, 0], first=1),
                  title="contact force over weight (Fig. 3)", legend=None),
        ],
        [
            Panel("normal velocity (mm/s)", curves(runs, lambda r: 1e3 * slip(r)[:, 2]), legend=None),
            Panel("normal force", curves(runs, lambda r: force_over_weight(r)[:, 2], first=1), legend=None),
        ],
        [
            Panel("gap (mm)", [*curves(runs, lambda r: 1e3 * gap(r)), *predictions],
                  title="gap under the box and its prediction", legend=None),
            contact.convergence_panel(errors, "convergence (Fig. 4)"),
        ],
        size=(13, 11),
    )  # fmt: skip
