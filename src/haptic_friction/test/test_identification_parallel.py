"""Identification of elements in parallel: exact stop operators, loading curves, intervals, what is not identified."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from identification_cases import coverage, noise

from haptic_friction import (
    CoulombLaw,
    Identification,
    ModelC,
    ParallelElements,
    identify_loading_curve,
    identify_parallel_elements,
)
from haptic_friction.identification import parallel

T, SAMPLES = 1e-3, 4000
K, F = np.array([8000.0, 4000.0, 2000.0]), np.array([0.8, 1.2, 2.0])
TRUE = {f"{name}_{j + 1}": values[j] for j in range(3) for name, values in (("stiffness", K), ("force", F))}


def strokes(largest: float = 1.0) -> np.ndarray:
    """Velocity whose reversals span every element, (SAMPLES,)."""
    time = T * np.arange(SAMPLES)
    slow = np.sin(2.0 * np.pi * 0.7 * time) * np.sin(2.0 * np.pi * 0.31 * time + 0.3)
    return largest * (0.012 * slow + 0.004 * np.sin(2.0 * np.pi * 3.1 * time))


@cache
def stop_operators() -> np.ndarray:
    """Force of the elastoplastic elements for a velocity that is linear between samples, (SAMPLES,).

    Between two samples, and a zero of the velocity where there is one, the displacement is monotone; then the
    displacement of an element is that before plus the step, limited to F/K, whatever happens in between.
    """
    u, limit = strokes(), F / K
    e, force = np.zeros(3), np.zeros(SAMPLES)
    for k in range(1, SAMPLES):
        first, last = u[k - 1], u[k]
        steps = [0.5 * T * (first + last)]
        if first * last < 0.0:
            before = T * first / (first - last)
            steps = [0.5 * before * first, 0.5 * (T - before) * last]
        for step in steps:
            e = np.clip(e + step, -limit, limit)
        force[k] = K @ e
    return force


def elements(dimension: int = 1) -> ParallelElements:
    pairs = zip(K.tolist(), F.tolist(), strict=True)
    return ParallelElements(
        [ModelC(CoulombLaw(f), stiffness=k, damping=0.0, period=T, dimension=dimension) for k, f in pairs]
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 900])
def test_elements_are_found_from_the_exact_solution(first: int) -> None:
    found = identify_parallel_elements(strokes()[first:], stop_operators()[first:], period=T, elements=3)
    assert not found.not_identified and found.residual_rms < 1e-4
    for name, value in TRUE.items():
        assert found.estimates[name].value == pytest.approx(value, rel=2e-4), name
    assert [estimate.unit for estimate in found.estimates.values()] == ["N/m", "N"] * 3
    assert (found.elements, found.period, found.dimension) == (3, T, 1)


@pytest.mark.parametrize("dimension", [1, 2])
def test_elements_are_found_from_the_models_own_force(dimension: int) -> None:
    u = np.stack([strokes(), 0.6 * np.roll(strokes(), 10)], axis=1)[:, :dimension]
    f = elements(dimension).simulate(u)
    found = identify_parallel_elements(u, f, period=T, elements=3, substeps=1)
    for name, value in TRUE.items():
        assert found.estimates[name].value == pytest.approx(value, rel=1e-5), name
        assert found.estimates[name].contains(value)
    np.testing.assert_allclose(found.parallel_elements().simulate(u), f, atol=1e-5)


def test_a_measured_loading_curve_gives_the_elements() -> None:
    x = np.linspace(1e-5, 2e-3, 1000)
    f = np.minimum(x[:, None] * K, F).sum(axis=1)
    found = identify_loading_curve(x, f, period=T, elements=3)
    for name, value in TRUE.items():
        assert found.estimates[name].value == pytest.approx(value, rel=1e-5), name
    corners = F / K
    exact = ParallelElements.from_loading_curve(corners, np.minimum(corners[:, None] * K, F).sum(axis=1), period=T)
    motion = strokes()[:, None]
    np.testing.assert_allclose(found.parallel_elements().simulate(motion), exact.simulate(motion), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("correlation, trials", [(0.0, 20), pytest.param(0.9, 60, marks=pytest.mark.slow)])
def test_coverage_of_elements(correlation: float, trials: int) -> None:
    force = stop_operators()[:, None]

    def identify(random: np.random.Generator) -> Identification:
        measured = force + noise(random, force, 0.02, correlation)
        return identify_parallel_elements(strokes(), measured[:, 0], period=T, elements=3)

    coverage(trials, TRUE, identify)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_coverage_of_a_loading_curve(trials: int) -> None:
    x = np.linspace(2e-6, 2e-3, 2000)
    f = np.minimum(x[:, None] * K, F).sum(axis=1)[:, None]

    def identify(random: np.random.Generator) -> Identification:
        return identify_loading_curve(x, f + noise(random, f, 0.02, 0.0), period=T, elements=3)

    coverage(trials, TRUE, identify)


def test_units_and_direction_change_nothing_but_the_scale() -> None:
    u, f = strokes(), stop_operators()
    base = identify_parallel_elements(u, f, period=T, elements=3)
    other = identify_parallel_elements(-5.0 * u, -2.0 * f, period=T, elements=3)
    for name, estimate in base.estimates.items():
        factor = 2.0 / 5.0 if name.startswith("stiffness") else 2.0
        assert other.estimates[name].value == pytest.approx(factor * estimate.value, rel=1e-6)


# Parameters that a record does not determine, and refused input


def test_an_element_that_never_slides_is_a_spring() -> None:
    u = 0.2 * strokes()[:, None]  # the third element, 1 mm to break away, does not slide
    found = identify_parallel_elements(u, elements().simulate(u), period=T, elements=3, substeps=1)
    assert found.not_identified == {"force_3": "element 3 slides in 0 samples (expected 20 or more)"}
    assert found.estimates["stiffness_3"].value == pytest.approx(2000.0, rel=1e-4)
    assert found.estimates["force_2"].value == pytest.approx(1.2, rel=1e-4)
    with pytest.raises(ValueError, match=r"^force_3: not identified \(element 3 slides in"):
        found.parallel_elements()


def test_a_loading_curve_that_rises_to_its_end_leaves_the_last_force_open() -> None:
    x = np.linspace(1e-6, 8e-4, 800)
    found = identify_loading_curve(x, np.minimum(x[:, None] * K, F).sum(axis=1), period=T, elements=3)
    assert found.not_identified == {"force_3": "element 3 slides in 0 samples (expected 20 or more)"}


@pytest.mark.slow
def test_an_element_too_many_is_not_identified() -> None:
    found = identify_parallel_elements(strokes(), stop_operators(), period=T, elements=4)
    assert set(found.not_identified) == {f"{name}_{j}" for name in ("stiffness", "force") for j in (3, 4)}
    assert "one of elements 3 and 4 slides without the other in" in found.not_identified["stiffness_3"]
    assert found.estimates["force_1"].value == pytest.approx(0.8, rel=1e-3)


def test_steady_sliding_has_no_elements() -> None:
    found = identify_parallel_elements(np.full(500, 0.1), np.full(500, 4.0), period=T, elements=2)
    assert not found.estimates and len(found.not_identified) == 4
    assert "(expected 20 or more)" in found.not_identified["stiffness_1"]


def test_a_law_has_no_elements() -> None:
    with pytest.raises(ValueError, match=r"^elements: expected an identification of elements in parallel"):
        Identification("coulomb", {}, 0.0, 100).parallel_elements()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"elements": 0}, "elements: expected a whole number from 1, got 0"),
        ({"elements": 1.5}, "elements: expected a whole number from 1, got 1.5"),
        ({"substeps": 0}, "substeps: expected a whole number from 1, got 0"),
        ({"period": -1.0}, "period: expected a finite number above 0 [s]"),
        ({"velocity": np.zeros(SAMPLES)}, "velocity: expected a motion, got zero throughout"),
        ({"force": -stop_operators()}, "force: expected in the direction of sliding"),
        ({"force": np.zeros(10)}, "force: expected the shape of velocity (4000, 1), got (10, 1)"),
    ],
)
def test_unusable_records_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    given = {"velocity": strokes(), "force": stop_operators(), "period": T} | options
    with pytest.raises(ValueError) as caught:
        identify_parallel_elements(**given)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


RISING = np.linspace(1e-5, 1e-3, 100)


@pytest.mark.parametrize(
    "displacement, force, message",
    [
        (RISING[:49], RISING[:49], "displacement: expected shape (n_samples,) with 50 or more, got (49,)"),
        (RISING[::-1], RISING, "displacement: expected finite, rising values above 0 [m]"),
        (RISING - 1e-5, RISING, "displacement: expected finite, rising values above 0 [m]"),
        (RISING, -RISING, "force: expected in the direction of sliding"),
        (RISING, RISING[:50], "force: expected the shape of velocity (100, 1), got (50, 1)"),
    ],
)
def test_unusable_curves_are_refused_by_name(displacement: np.ndarray, force: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        identify_loading_curve(displacement, force, period=T)
    assert str(caught.value).startswith(message)


def test_start_of_the_search_finds_elements_at_the_displacements_that_it_tries() -> None:
    u = strokes()[:, None]
    reach = float(np.ptp(T * np.cumsum(u)))
    tried = np.geomspace(parallel._SMALLEST, 1.0, parallel._TRIED) * reach
    stiffness = np.array([8000.0, 3000.0])
    force = stiffness * tried[[12, 25]]
    made = parallel.elements_of(stiffness, force, period=T, dimension=1)
    found = parallel._start(u, np.array([made.step(v) for v in u]), T, 2)
    np.testing.assert_allclose(found, [stiffness, force], rtol=1e-6)
