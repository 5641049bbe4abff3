"""Laws given by measured points (`TableLaw`) and by functions (`FunctionLaw`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from haptic_friction import FrictionLaw, FunctionLaw, ModelA, ModelB, ModelC, ModelD, StribeckLaw, TableLaw

EPS = np.finfo(float).eps
STRIBECK = StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.05, viscosity=2.0)

Motion = Callable[..., np.ndarray]


# Tables


tables = st.lists(st.tuples(st.floats(2.0**-10, 1, width=32), st.floats(2.0**-4, 50, width=32)), min_size=2, max_size=8)


@pytest.mark.slow
@settings(max_examples=200)
@given(tables, st.floats(0.01, 0.99), st.floats(1.001, 40.0))
def test_phi_z_of_a_table_is_exact_on_every_segment(
    points: list[tuple[float, float]], share: float, over: float
) -> None:
    speeds = np.cumsum([step for step, _ in points]) - points[0][0]
    forces = np.array([force for _, force in points])
    law = TableLaw(speeds, forces)
    Z = share * (-1.0 / law.slope_range[0] if law.slope_range[0] < 0.0 else 1.0)
    x = over * Z * law.breakaway_force

    def excess(s: float) -> float:
        return s + Z * float(np.interp(s, speeds, forces)) - x

    slip = brentq(excess, 0.0, x, xtol=1e-18, rtol=4 * EPS)
    # the slip is known to 8 eps of x, and answers by 1/(1 + Z g'), at most 1/(1 - share)
    steepest = max(abs(bound) for bound in law.slope_range)
    tolerance = 32 * EPS * (x * steepest / (1.0 - share) + forces.max())
    assert abs(law.projected([x], Z)[0] - np.interp(slip, speeds, forces)) <= tolerance


def test_a_table_passes_through_its_points_and_is_constant_beyond_the_last() -> None:
    speeds, forces = [0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0]
    law = TableLaw(speeds, forces)
    for s, g in zip(speeds[1:], forces[1:], strict=True):
        assert law.force([s])[0] == g
        Z = 0.5**7
        assert law.projected([s + Z * g], Z)[0] == pytest.approx(g, rel=8 * EPS)
    assert law.force([50.0])[0] == law.projected([50.0 + 0.01 * 6.0], 0.01)[0] == 6.0
    assert law.breakaway_force == 5.0
    assert law.slope_range == pytest.approx((-50.0, 3.0 / 0.9), rel=4 * EPS)
    # right of a kink, and zero from the last point on
    assert [law.slope(s) for s in speeds] == pytest.approx([-50.0, -12.5, 3.0 / 0.9, 0.0], rel=8 * EPS)


def test_a_table_that_starts_at_zero_force_slides_at_once() -> None:
    law = TableLaw([0.0, 0.1, 0.2], [0.0, 1.0, 1.0])
    # 10 s below 0.1 m/s: y = 10 x/(1 + 10 Z)
    assert law.projected([0.01], 0.1)[0] == pytest.approx(0.05, rel=4 * EPS)
    np.testing.assert_array_equal(law.projected([0.0, 0.0], 0.1), [0.0, 0.0])


@pytest.mark.parametrize("points", [11, 101, 1001])
def test_a_table_of_stribecks_law_is_off_by_its_interpolation(points: int) -> None:
    """Phi_Z is off by |error of g|/(1 + Z g'), and that of g by h^2/8 max|g''| with |g''| <= 2 (Fs - Fc)/vs^2."""
    speeds = np.linspace(0.0, 0.5, points)
    law = TableLaw(speeds, [STRIBECK.magnitude(s) if s else 5.0 for s in speeds])
    bound = (speeds[1] ** 2 / 8.0) * 2.0 * 2.0 / 0.05**2
    Z = 0.5 / -STRIBECK.slope_range[0]
    x = np.linspace(0.0, 0.5, 3001)[:, None]  # up to the table's end; beyond it is constant
    errors = np.abs(law.projected(x, Z) - STRIBECK.projected(x, Z))
    assert errors.max() <= bound / (1.0 + Z * min(law.slope_range[0], STRIBECK.slope_range[0])) + 16 * EPS * 5.0
    # between points at the rest, where g'' is largest, the bound of g is nearly met
    middle = 0.5 * speeds[1]
    if points > 100:
        assert abs(law.magnitude(middle) - STRIBECK.magnitude(middle)) == pytest.approx(bound, rel=0.05)


@pytest.mark.parametrize(
    ("speed", "force", "message"),
    [
        ([0.0], [1.0], "^speed, force: expected two or more points each"),
        ([0.0, 1.0], [1.0], r"^speed, force: .* got shapes \(2,\) and \(1,\)"),
        ([[0.0, 1.0]], [[1.0, 1.0]], "^speed, force: "),
        ([0.1, 1.0], [1.0, 1.0], "^speed: expected rising, finite speeds from 0"),
        ([0.0, 0.0], [1.0, 1.0], "^speed: "),
        ([0.0, 2.0, 1.0], [1.0, 1.0, 1.0], "^speed: "),
        ([0.0, np.inf], [1.0, 1.0], "^speed: "),
        ([0.0, np.nan, 1.0], [1.0, 1.0, 1.0], "^speed: "),
        ([0.0, 1.0], [1.0, 0.0], "^force: expected finite forces above 0"),
        ([0.0, 1.0], [-1.0, 1.0], "^force: "),
        ([0.0, 1.0], [1.0, np.nan], "^force: "),
        ([0.0, 1.0], [np.inf, 1.0], "^force: "),
    ],
)
def test_bad_tables_are_refused_by_name(speed: Any, force: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TableLaw(speed, force)


# Functions


def stribeck_by_functions() -> FunctionLaw:
    Fs, Fc, vs, D = 5.0, 3.0, 0.05, 2.0

    def g(s: float) -> float:
        return Fc + (Fs - Fc) * math.exp(-((s / vs) ** 2)) + D * s

    def slope(s: float) -> float:
        return D - 2.0 * (Fs - Fc) * s / vs**2 * math.exp(-((s / vs) ** 2))

    return FunctionLaw(g, slope)


FUNCTIONS = stribeck_by_functions()


@pytest.mark.parametrize("make", ["A", "B", "C", "D"])
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_users_functions_act_in_all_four_models(make: str, dimension: int, motion: Motion) -> None:
    def model(law: FrictionLaw) -> ModelA | ModelB | ModelC | ModelD:
        rest: dict[str, Any] = {"period": 1e-3, "dimension": dimension}
        if make == "A":
            return ModelA(law, mass=0.5, **rest)
        if make == "B":
            return ModelB(law, mass=0.5, stiffness=6000.0, damping=60.0, **rest)
        if make == "C":
            return ModelC(law, stiffness=6000.0, damping=60.0, **rest)
        return ModelD(law, mass=0.5, stiffness=6000.0, damping=60.0, **rest)

    inputs = motion(1000, dimension) * (50.0 if make in "AD" else 1.0)
    found, expected = model(FUNCTIONS).simulate(inputs), model(STRIBECK).simulate(inputs)
    # the formulas differ in rounding, eps a step, which the falling g enlarges up to 1/(1 + Z g') < 3 times at a stop
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    stuck = model(FUNCTIONS)
    stuck.step(np.zeros(dimension))
    assert stuck.sticking


def test_a_functions_law_has_the_slopes_of_its_formula() -> None:
    assert FUNCTIONS.breakaway_force == 5.0
    assert FUNCTIONS.magnitude(0.03) == pytest.approx(STRIBECK.magnitude(0.03), rel=4 * EPS)
    assert FUNCTIONS.slope(0.03) == pytest.approx(STRIBECK.slope(0.03), rel=16 * EPS)
    # the place of the extreme is known to 1e-8, which is 1e-16 of its value
    assert FUNCTIONS.slope_range == pytest.approx(STRIBECK.slope_range, rel=1e-12)


@pytest.mark.parametrize("speed", [2e-5, 0.7])
def test_the_steepest_fall_is_found_at_any_speed_and_the_steepest_rise(speed: float) -> None:
    """g = 2 - s'/(1 + s'^2) with s' = s/speed falls by 1/speed at rest and rises by 1/8 of that at sqrt(3)."""

    def g(s: float) -> float:
        r = s / speed
        return 2.0 - r / (1.0 + r * r)

    def slope(s: float) -> float:
        r = s / speed
        return (r * r - 1.0) / (1.0 + r * r) ** 2 / speed

    law = FunctionLaw(g, slope)
    # the least inspected speed, 1e-9 m/s, is 5e-5 of the smaller speed: 3 times the square of that
    assert law.slope_range[0] == pytest.approx(-1.0 / speed, rel=1e-8)
    assert law.slope_range[1] == pytest.approx(0.125 / speed, rel=1e-12)
    limit = -1.0 / law.slope_range[0]
    law.check_existence(limit * (1 - 1e-9))
    with pytest.raises(ValueError, match=r"\(15\)"):
        law.check_existence(limit * (1 + 1e-9))


@pytest.mark.covering(4)
@pytest.mark.parametrize(
    ("g", "slope", "message"),
    [
        (lambda s: 4.0 + s, lambda s: 2.0, "^slope: expected the derivative of magnitude"),
        (lambda s: 4.0 + s * s, lambda s: 2.0, "^slope: expected the derivative of magnitude"),
        (lambda s: 4.0 - s, lambda s: 1.0, "^slope: |^magnitude: expected a force above 0"),
        (lambda s: 4.0 - s, lambda s: -1.0, "^magnitude: expected a force above 0"),
        (lambda s: -1.0, lambda s: 0.0, "^magnitude: expected a force above 0"),
        (lambda s: s - 1e-20, lambda s: 1.0, "^magnitude: expected a force above 0"),
        (lambda s: np.nan, lambda s: 0.0, "^magnitude: expected a finite number"),
        (lambda s: 1.0 / s, lambda s: -1.0 / s**2, "^magnitude: expected a finite number"),
        (
            lambda s: 1.0 + math.sqrt(2.0 - s),
            lambda s: -0.5 / math.sqrt(2.0 - s),
            "^magnitude: expected a finite number",
        ),
        (lambda s: 1.0, lambda s: np.inf, "^slope: expected a finite number at every speed, got inf"),
    ],
)
def test_bad_functions_are_refused_by_name(
    g: Callable[[float], float], slope: Callable[[float], float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FunctionLaw(g, slope)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda s: unknown_name * s, "'unknown_name'"),  # noqa: F821
        (lambda s: None, "none to float64"),
        (lambda s: math.exp(s, s), "function exp"),
        (lambda s: math.no_such(s), "'no_such'"),
        (lambda: 1.0, "takes 0 arguments"),
    ],
)
def test_a_function_that_cannot_be_compiled_is_refused_with_the_reason_in_one_line(function: Any, reason: str) -> None:
    for name, functions in (("magnitude", (function, lambda s: 1.0)), ("slope", (lambda s: 4.0 + s, function))):
        with pytest.raises(ValueError) as caught:
            FunctionLaw(*functions)
        assert str(caught.value).startswith(f"{name}: cannot be compiled: ") and reason in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_slope_that_is_infinite_at_rest_only_is_accepted() -> None:
    law = FunctionLaw(lambda s: 1.0 + math.sqrt(s), lambda s: 0.5 / math.sqrt(s))
    # s + Z (1 + sqrt(s)) = 0.75 with Z = 0.5 has the root s = 0.25
    assert law.projected([0.0, 1.0 * 0.25 + 0.5 * 1.5], 0.5) == pytest.approx([0.0, 1.5], rel=16 * EPS)


def test_a_slope_that_rounding_of_a_large_force_hides_is_accepted() -> None:
    """Differences of 1e6 N leave no digit of 1e-3 N s/m at 1 nm/s: the derivative cannot be refused there."""
    law = FunctionLaw(lambda s: 1e6 + 1e-3 * s, lambda s: 1e-3)
    assert law.force([2.0]) == pytest.approx([1e6 + 2e-3], rel=4 * EPS)
