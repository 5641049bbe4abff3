"""The verdicts on clutter: each fails just beyond its limit, and with the numbers of another approximation."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from convex_contact.simulation.run_statistics import RunStatistics
from haptic_experiments.experiments import clutter
from haptic_experiments.experiments.clutter import (
    FAILED,
    NAMES,
    PERIOD,
    PERIODS,
    STIFFNESS,
    STIFFNESSES,
    WEIGHT,
    Iterations,
    RunNumbers,
    Stages,
    _claim_periods,
    _claim_stiffnesses,
    _claim_time,
    _late_and_early,
    measure,
)
from haptic_experiments.kit.contact import ContactRun, Contacts
from haptic_experiments.kit.results import Claims

SHORT, LONG = PERIODS[0], PERIODS[-1]
SOFT, STEEL = STIFFNESSES[:2]


def statistics(iterations: float = 5.0, condition: float = 1e5, stiffness: float = STEEL) -> RunStatistics:
    """Of a run whose spheres rest on the floor as deep as their weight presses them."""
    return RunStatistics(iterations, condition, 1e-6, WEIGHT / stiffness, 1e-3, np.ones(3))


def run_numbers(early: Stages, late: Stages) -> RunNumbers:
    """Of a run with iterations and condition number of its first and of its last second."""
    work = Iterations(early=early.early, late=late.early, mean=5.0, largest=20)
    return RunNumbers(work, Stages(early.late, late.late), 1e-6, 1e-6, 1e-6)


#: as the paper has them: (iterations, condition number) while the spheres collide, and at rest
NUMBERS: dict[str, Any] = {
    "runs": {
        "sap": run_numbers(Stages(13.5, 1e5), Stages(7.0, 1e6)),
        "lagged": run_numbers(Stages(10.0, 2e6), Stages(2.0, 3e5)),
        "similar": run_numbers(Stages(10.0, 2e6), Stages(2.0, 3e5)),
        "lagged_regularized": run_numbers(Stages(9.0, 8e5), Stages(2.0, 3e5)),
    },
    "periods": {
        name: {T: statistics() for T in PERIODS}
        | {LONG: statistics(5.5 if name == "sap" else 10.0, 2e5 if name == "sap" else 5e6)}
        for name in NAMES
    },
    "stiffnesses": {name: {k: statistics(stiffness=k) for k in STIFFNESSES} for name in NAMES},
    "tolerances": {
        "sap": Stages(5e-3, 3e-5),
        "lagged": Stages(1e-4, 1e-4),
        "similar": Stages(1e-4, 1e-4),
        "lagged_regularized": Stages(6e-3, 1e-4),
    },
}
COLLIDE, SAVES, WIDE, CONDITION, WORK, DEPTH, CONVERGES, STIFF = (
    "More iterations and worse condition",
    "The regularised tolerance",
    "SAP and the regularised Lagged have a wide",
    "The condition number of Lagged and Similar",
    "So do their iterations",
    "The penetration at rest",
    "Every step converges",
    "Up to steel's stiffness",
)


def failed(numbers: dict[str, Any]) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    _claim_time(claims, numbers["runs"])
    _claim_periods(claims, numbers["periods"], numbers["tolerances"])
    _claim_stiffnesses(claims, numbers["stiffnesses"])
    assert len(claims) == 8 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        (COLLIDE, ["runs", "lagged", "iterations", "late"], 9.9, 10.0),
        (COLLIDE, ["runs", "lagged", "condition", "late"], 1.9e6, 2.1e6),
        (COLLIDE, ["runs", "similar", "iterations", "late"], 9.9, 10.1),
        (COLLIDE, ["runs", "similar", "condition", "late"], 1.9e6, 2.1e6),
        (COLLIDE, ["runs", "sap", "condition", "late"], 1.1e5, 0.9e5),
        (SAVES, ["runs", "lagged_regularized", "iterations", "early"], 9.9, 10.1),
        (SAVES, ["runs", "lagged_regularized", "condition", "early"], 1.9e6, 2.1e6),
        (WIDE, ["tolerances", "sap", "early"], 1.1e-4, 0.9e-4),
        (WIDE, ["tolerances", "sap", "late"], 4.9e-5, 5.1e-5),
        (WIDE, ["tolerances", "lagged_regularized", "early"], 1.1e-4, 0.9e-4),
        (CONDITION, ["periods", "lagged", LONG, "condition"], 4.1e5, 3.9e5),
        (CONDITION, ["periods", "similar", LONG, "condition"], 4.1e5, 3.9e5),
        (CONDITION, ["periods", "sap", LONG, "condition"], 2.4e6, 2.6e6),
        (WORK, ["periods", "lagged", LONG, "iterations"], 6.7, 6.5),
        (WORK, ["periods", "similar", LONG, "iterations"], 6.7, 6.5),
        (WORK, ["periods", "sap", LONG, "iterations"], 5.9, 6.1),
        (DEPTH, ["stiffnesses", "sap", STEEL, "median_penetration"], 1.0009 * WEIGHT / STEEL, 1.0011 * WEIGHT / STEEL),
        (DEPTH, ["stiffnesses", "similar", SOFT, "median_penetration"], 0.9991 * WEIGHT / SOFT, 0.9989 * WEIGHT / SOFT),
        (DEPTH, ["stiffnesses", "lagged", SOFT, "median_penetration"], WEIGHT / SOFT, np.nan),
        (CONVERGES, ["stiffnesses", "similar", STIFFNESSES[-1]], statistics(stiffness=STIFFNESSES[-1]), FAILED),
        (STIFF, ["stiffnesses", "sap", STEEL, "iterations"], 5.9, 6.1),
        (STIFF, ["stiffnesses", "similar", SOFT, "iterations"], 4.2, 4.1),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(words: str, path: Sequence[Any], inside: Any, outside: Any) -> None:
    assert failed(altered(NUMBERS, path, inside)) == []
    (text,) = failed(altered(NUMBERS, path, outside))
    assert text.startswith(words)


@pytest.mark.parametrize(
    ("what", "other", "words"),
    [
        ("runs", "sap", [COLLIDE, SAVES]),
        ("periods", "sap", [CONDITION, WORK]),
        ("periods", "lagged", [CONDITION, WORK]),
        ("tolerances", "lagged", [WIDE]),
    ],
)
def test_approximations_that_are_all_alike_fail_the_claims_that_tell_them_apart(
    what: str, other: str, words: list[str]
) -> None:
    found = failed({**NUMBERS, what: dict.fromkeys(NAMES, NUMBERS[what][other])})
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))


def test_a_first_step_that_does_not_converge_fails_the_claims_on_the_period() -> None:
    found = failed(altered(NUMBERS, ["periods", "lagged", LONG], FAILED))
    assert len(found) == 2 and found[0].startswith(CONDITION) and found[1].startswith(WORK)


def test_the_regularised_tolerance_is_that_of_the_runs_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs time, and the sweep computes it at no other period."""
    asked = []

    def sweep(name: str, period: float, stiffness: float, *, tolerances: bool = False) -> RunStatistics:
        asked.append((period, stiffness) if tolerances else None)
        by_period = NUMBERS["periods"][name][period] if stiffness == STIFFNESS else statistics(stiffness=stiffness)
        stages = NUMBERS["tolerances"][name]
        return altered(by_period, ["tolerance"], np.array([stages.early, 1e-4, stages.late] if tolerances else []))

    runs = {name: SimpleNamespace(parameters={}) for name in NUMBERS["runs"]}
    monkeypatch.setattr(clutter, "sweep", sweep)
    monkeypatch.setattr(clutter, "runs_of", lambda bags: runs)
    monkeypatch.setattr(clutter, "measure", lambda run: next(NUMBERS["runs"][n] for n in runs if runs[n] is run))
    claims = clutter.analyse({}).claims
    assert [claim.text for claim in claims if not claim.shown] == []
    assert [found for found in asked if found] == [(PERIOD, STIFFNESS)] * len(NAMES)


# ---- altered recordings -----------------------------------------------------------------------------------


def recorded(early: float, late: float, collides: float, rests: float) -> ContactRun:
    """A run of 3 s with iterations and condition number of the first and of the last second."""
    time = 2e-3 * np.arange(1501)
    collide = time <= 1.0
    none = Contacts(*[np.zeros((1, 2))] * 3, np.array([-1e-6]), *[np.zeros((1, 3))] * 4)
    run: Any = SimpleNamespace(
        time=time,
        contacts=[none] * len(time),
        iterations=np.where(collide, early, late),
        condition=np.where(collide, collides, rests),
        residual=np.zeros(len(time)),
    )
    return run  # type: ignore[no-any-return]


def test_statistics_that_are_reversed_in_time_fail_the_claims_on_the_collisions() -> None:
    arguments = {"sap": (13.0, 7.0, 1e5, 1e6), "lagged": (10.0, 2.0, 2e6, 3e5), "similar": (10.0, 2.0, 2e6, 3e5)}
    others = {"lagged_regularized": NUMBERS["runs"]["lagged_regularized"]}
    runs = {name: measure(recorded(*numbers)) for name, numbers in arguments.items()}
    assert failed({**NUMBERS, "runs": runs | others}) == []
    for name, (early, late, collides, rests) in arguments.items():
        reversed_run = measure(recorded(late, early, rests, collides))
        found = failed({**NUMBERS, "runs": {**runs, **others, name: reversed_run}})
        assert found[0].startswith(COLLIDE)


def test_a_tolerance_that_stays_wide_fails_the_claim_on_it() -> None:
    series = np.repeat([5e-3, 1e-4, 3e-5], 100)
    sound = altered(NUMBERS, ["tolerances", "sap"], _late_and_early(series))
    assert failed(sound) == []
    (text,) = failed(altered(NUMBERS, ["tolerances", "sap"], _late_and_early(np.full(300, 5e-3))))
    assert text.startswith(WIDE)
