"""The verdicts on the sliding rod follow the numbers that the report simulates: each fails with one of them altered."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_experiments.experiments.sliding_rod import (
    PERIODS,
    Peak,
    RunNumbers,
    _claim_bags,
    _claim_orders,
    _claim_peaks,
    _claim_stick,
)
from haptic_experiments.kit.results import Claims

Numbers = dict[str, Any]


@pytest.fixture
def numbers() -> Numbers:
    """As the paper has them, with errors of first order in the step."""
    first_order = {name: {T: 100.0 * T * size for T in PERIODS} for name, size in (("lagged", 1.2), ("sap", 1.0))}
    return {
        "peaks": {
            "without": {name: Peak(17.44, 822.0) for name in ("lagged", "sap", "similar")},
            "with": {"lagged": Peak(17.44, 822.0), "sap": Peak(18.07, 722.0), "similar": Peak(16.74, 557.0)},
        },
        "force": np.array([0.0, 1.0, 1.0, 0.0]),
        "normal_velocity": np.array([-1.0, -0.5, 0.5, 1.0]),
        "sticks": {"lagged": 0.21},
        "errors": {"without": first_order, "with": deepcopy(first_order)},
        "runs": {"lagged": RunNumbers(period=1e-3, peak_time=28.0, peak_force=249.0, highest=0.5, last_speed=2.4)},
    }


def verdicts(n: Numbers) -> dict[str, bool | None]:
    claims = Claims()
    _claim_peaks(claims, n["peaks"])
    impact: Any = SimpleNamespace(time=1e-3 * np.arange(4), force=n["force"], normal_velocity=n["normal_velocity"])
    _claim_stick(claims, impact, n["sticks"])
    _claim_orders(claims, n["errors"])
    _claim_bags(claims, n["runs"])
    return {claim.text: claim.shown for claim in claims}


def test_all_is_shown_with_the_numbers_of_the_paper(numbers: Numbers) -> None:
    assert list(verdicts(numbers).values()) == [True] * 10


def _later(n: Numbers) -> None:
    n["peaks"]["without"]["sap"] = Peak(17.44 + 0.051, 822.0)


def _weaker(n: Numbers) -> None:
    n["peaks"]["without"]["similar"] = Peak(17.44, 0.94 * 822.0)


def _all_later(n: Numbers) -> None:
    n["peaks"]["without"] = dict.fromkeys(("lagged", "sap", "similar"), Peak(17.47 + 0.051, 1.021 * 821.0))


def _similar_as_lagged(n: Numbers) -> None:
    n["peaks"]["with"]["similar"] = n["peaks"]["with"]["lagged"]


def _stuck_longer(n: Numbers) -> None:
    n["sticks"]["lagged"] = 0.221


def _sinks(n: Numbers) -> None:
    n["normal_velocity"] = -n["normal_velocity"]


def _presses_to_the_end(n: Numbers) -> None:
    n["force"] = np.ones(4)


def _second_order(n: Numbers) -> None:
    n["errors"]["with"]["lagged"] = {T: 1e5 * T * T for T in PERIODS}


def _sap_is_worse(n: Numbers) -> None:
    n["errors"]["without"]["sap"] = {T: 200.0 * T for T in PERIODS}


def _slides_on(n: Numbers) -> None:
    n["runs"]["lagged"] = replace(n["runs"]["lagged"], last_speed=8.1)


def _stays_low(n: Numbers) -> None:
    n["runs"]["lagged"] = replace(n["runs"]["lagged"], highest=0.1774)


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (_later, ["the same impact"]),
        (_weaker, ["the same impact"]),
        (_all_later, ["Its time", "Its force"]),
        (_similar_as_lagged, ["Similar strikes earlier", "The forces of these peaks"]),
        (_stuck_longer, ["sticks for about 0.2 ms"]),
        (_sinks, ["jumps off"]),
        (_presses_to_the_end, ["jumps off"]),
        (_second_order, ["first order"]),
        (_sap_is_worse, ["largest error"]),
        (_slides_on, ["jams and is thrown up"]),
        (_stays_low, ["jams and is thrown up"]),
    ],
)
def test_a_claim_fails_with_another_number(numbers: Numbers, alter: Any, words: list[str]) -> None:
    alter(numbers)
    failed = [text for text, shown in verdicts(numbers).items() if shown is False]
    assert len(failed) == len(words)
    for text, word in zip(failed, words, strict=True):
        assert word in text
