"""The verdicts of the study on the grasp: each fails just beyond its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from haptic_experiments.kit.results import Claims
from haptic_experiments.studies.grasp import (
    GraspSettings,
    _claim_elastoplastic,
    _claim_errors,
    _claim_times,
    _creep,
    _errors,
    _relative,
    label,
)

SETTINGS = GraspSettings(frequencies=(1.0, 1.2, 1.6, 1.8), reference_frequencies=(1.6, 1.8))
D, LARGE, SMALL = SETTINGS.dissipation, SETTINGS.period, SETTINGS.reference_period
SLOW = label("lagged", 0.0, LARGE, 1.0)


def held(tilt: float = 0.01, sunk: float = 1e-3, time: float = np.inf) -> dict[str, Any]:
    """A run with its largest tilt [rad], how far the rod sinks [m], and its time to failure [s]."""
    return {"tilt": np.array([0.0, tilt]), "offset": np.array([[0, 0, 0], [0, 0, -sunk]]), "time_to_failure": time}


#: as the paper has them: times to failure [s] and relative errors by approximation, dissipation, period and frequency
NUMBERS: dict[str, Any] = {
    "results": {label("lagged", 0.0, LARGE, f): held() for f in (1.0, 1.2)},
    "times": {
        ("lagged", 0.0, SMALL): {1.6: 4.0, 1.8: 2.0},
        ("lagged", D, SMALL): {1.6: 4.2, 1.8: 2.1},
        ("lagged", 0.0, 0.5 * SMALL): {1.6: 4.0, 1.8: 2.0},
    },
    "errors": {
        ("similar", 0.0, SMALL): {1.6: 0.001, 1.8: -0.001},
        ("lagged", 0.0, LARGE): {1.6: -0.4, 1.8: -0.3},
        ("similar", 0.0, LARGE): {1.6: -0.3, 1.8: -0.2},
        ("similar", D, SMALL): {1.6: 0.3, 1.8: 0.05},
        ("similar", D, LARGE): {1.6: 0.1, 1.8: 0.1},
        ("lagged", D, LARGE): {1.6: -0.35, 1.8: -0.3},
        ("lagged_elastoplastic", 0.0, SMALL): {},
        ("lagged_elastoplastic", 0.0, LARGE): {},
    },
    "creep": {"lagged": 100.0, "similar": 90.0, "lagged_elastoplastic": -0.5},
}


def failed(numbers: dict[str, Any]) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    _claim_times(claims, SETTINGS, numbers["results"], numbers["times"])
    _claim_errors(claims, SETTINGS, numbers["errors"])
    _claim_elastoplastic(claims, SETTINGS, numbers["errors"], numbers["creep"])
    assert [claim.shown for claim in claims].count(None) == 1
    return [claim.text for claim in claims if claim.shown is False]


def plain(frequency: float) -> list[Any]:
    """Path to the time to failure without dissipation."""
    return ["times", ("lagged", 0.0, SMALL), frequency]


def error(approximation: str, dissipation: float, period: float, frequency: float) -> list[Any]:
    """Path to a relative error."""
    return ["errors", (approximation, dissipation, period), frequency]


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        ("At low frequencies", ["results", SLOW, "tilt"], np.radians([1.99]), np.radians([2.01])),
        ("At low frequencies", ["results", SLOW], held(sunk=4.9e-3), held(sunk=5.1e-3)),
        ("At low frequencies", ["results", SLOW, "time_to_failure"], np.inf, 7.9),
        ("Dissipation makes", ["times", ("lagged", D, SMALL), 1.6], 4.47, 4.49),
        ("Dissipation makes", ["times", ("lagged", D, SMALL)], {1.6: 3.93, 1.8: 2.1}, {1.6: 3.91, 1.8: 2.1}),
        ("Dissipation makes", ["times", ("lagged", D, SMALL)], {1.6: 4.0, 1.8: 2.01}, {1.6: 4.0, 1.8: 2.0}),
        ("The small step", ["times", ("lagged", 0.0, 0.5 * SMALL), 1.6], 4.07, 4.09),
        ("The small step", ["times", ("lagged", 0.0, 0.5 * SMALL), 1.6], 3.93, 3.92),
        ("At the small step without", error("similar", 0.0, SMALL, 1.6), 0.0049, 0.0051),
        ("At the small step without", error("similar", 0.0, SMALL, 1.8), -0.0049, -0.0051),
        ("At the large step without", error("lagged", 0.0, LARGE, 1.6), -0.43, -0.51),
        ("With dissipation at the small", error("similar", D, SMALL, 1.8), 0.001, -0.001),
        ("With dissipation at the small", error("similar", D, SMALL, 1.6), 0.16, 0.09),
        ("There Similar lasts", error("similar", 0.0, LARGE, 1.8), -0.29, -0.31),
        ("At the large step Lagged", error("lagged", D, LARGE, 1.6), -0.301, -0.299),
        ("At the large step Lagged", error("lagged", D, LARGE, 1.8), -0.399, -0.401),
        ("At the large step with", error("similar", D, LARGE, 1.6), 0.24, 0.26),
        ("Beyond the paper", ["creep", "lagged_elastoplastic"], -0.99, -1.01),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(words: str, path: Sequence[Any], inside: Any, outside: Any) -> None:
    assert failed(altered(NUMBERS, path, inside)) == []
    assert any(text.startswith(words) for text in failed(altered(NUMBERS, path, outside)))


def test_a_time_to_failure_that_does_not_fall_fails_the_claim() -> None:
    flat = altered(altered(NUMBERS, plain(1.8), 4.0), ["times", ("lagged", D, SMALL), 1.8], 4.2)
    found = failed(altered(flat, ["times", ("lagged", 0.0, 0.5 * SMALL), 1.8], 4.0))
    assert len(found) == 1 and found[0].startswith("The time to failure falls")


def test_similar_that_lasts_too_long_at_the_large_step_fails_the_claim() -> None:
    found = failed(altered(NUMBERS, error("similar", 0.0, LARGE, 1.8), 0.001))
    assert [text[:25] for text in found] == ["At the large step without"]


def test_errors_are_relative_to_lagged_with_the_same_dissipation_at_the_small_step() -> None:
    assert _relative({1.0: np.inf, 1.6: 3.0, 1.8: 2.0}, {1.0: 5.0, 1.6: 4.0}) == {1.6: -0.25}
    times = {
        ("lagged", 0.0, SMALL): {1.6: 4.0},
        ("lagged", D, SMALL): {1.6: 5.0},
        ("lagged", 0.0, 0.5 * SMALL): {1.6: 4.0},
        ("similar", D, SMALL): {1.6: 6.0},
        ("lagged", 0.0, LARGE): {1.6: 3.0},
    }
    found = _errors(times, SETTINGS)
    assert found == {
        ("similar", D, SMALL): {1.6: pytest.approx(0.2)},
        ("lagged", 0.0, LARGE): {1.6: pytest.approx(-0.25)},
    }


def test_creep_is_measured_over_whole_turns() -> None:
    """A rod that sinks by 20 um/s and moves up and down with the hand's circle of 0.5 Hz."""
    time = 0.01 * np.arange(701)
    offset = np.zeros((701, 3))
    offset[:, 2] = -20e-6 * time + 1e-3 * np.sin(np.pi * time)
    run = {"time": time, "offset": offset}
    names = ("lagged", "similar", "lagged_elastoplastic")
    results: Any = {label(name, 0.0, LARGE, SETTINGS.creep_frequency): run for name in names}
    assert _creep(SETTINGS, results) == pytest.approx(dict.fromkeys(names, 20.0))
