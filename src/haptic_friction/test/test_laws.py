"""Friction laws: Phi, and Phi_Z as the solution of its implicit equation (52)."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar, root
from scipy.stats import ortho_group

from haptic_friction import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    FunctionLaw,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
)
from haptic_friction.laws import projection

EPS = np.finfo(float).eps

properties = settings(derandomize=True, database=None, deadline=None, max_examples=100)
# single precision keeps the squares of the components far from underflow
vectors = st.integers(1, 3).flatmap(lambda n: st.lists(st.floats(-10, 10, width=32), min_size=n, max_size=n))
impedances = st.floats(1e-6, 1e2)
forces = st.floats(0, 100, width=32)
viscosities = st.floats(0, 100, width=32)
#: share of the largest Z for which Phi_Z exists
shares = st.floats(1e-3, 0.999)


def tustin(s: float) -> float:
    """3 + 2/(1 + (s/0.05)^2) + 0.5 s: falls, then rises."""
    return 3.0 + 2.0 / (1.0 + (s / 0.05) ** 2) + 0.5 * s


def tustin_slope(s: float) -> float:
    return 0.5 - 4.0 * s / 0.05**2 / (1.0 + (s / 0.05) ** 2) ** 2


ISOTROPIC: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(4.0),
    "viscous": ViscousCoulombLaw(4.0, viscosity=3.0),
    "stribeck": StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.05, viscosity=2.0),
    "table": TableLaw([0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0]),
    "function": FunctionLaw(tustin, tustin_slope),
}
MONOTONE = [ISOTROPIC[name] for name in ("coulomb", "viscous")]


def g_of(name: str, s: float) -> float:
    """The isotropic laws above, written out once more."""
    return {
        "coulomb": 4.0,
        "viscous": 4.0 + 3.0 * s,
        "stribeck": 3.0 + 2.0 * math.exp(-((s / 0.05) ** 2)) + 2.0 * s,
        "table": float(np.interp(s, [0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0])),
        "function": tustin(s),
    }[name]


def solve(law: FrictionLaw, x: Any, Z: float) -> tuple[np.ndarray, bool]:
    """Phi_Z(x) and whether it is in the static branch."""
    x = np.asarray(x, dtype=float)
    y, static = np.empty((1, 1, len(x))), np.empty(1, dtype=bool)
    projection.project_all(law.code, law.coefficients[None], x[None, None], Z, y, static, (0.0,) * len(x))
    np.testing.assert_array_equal(y[0, 0], law.projected(x, Z))
    return y[0, 0], bool(static[0])


def longest(law: FrictionLaw) -> float:
    """Up to this Z [m/(N s)] Phi_Z exists; 10 where it always does."""
    return -1.0 / law.slope_range[0] if law.slope_range[0] < 0.0 else 10.0


# Phi


@pytest.mark.parametrize("name", ISOTROPIC)
def test_force_is_g_along_the_velocity(name: str) -> None:
    law = ISOTROPIC[name]
    for s in (1e-9, 0.01, 0.02, 0.05, 0.3, 2.0):
        g = g_of(name, s)
        np.testing.assert_allclose(law.force([0.6 * s, 0.0, -0.8 * s]), [0.6 * g, 0.0, -0.8 * g], rtol=8 * EPS)
        np.testing.assert_allclose(law.force([-s]), [-g], rtol=8 * EPS)
        assert law.magnitude(s) == pytest.approx(g, rel=8 * EPS)


def test_in_one_dimension_the_force_is_g_to_the_last_bit_at_any_speed() -> None:
    law = CoulombLaw(0.1)
    for s in (5e-324, 1e-200, 0.3, 7.7, 1e99):
        for sign in (1.0, -1.0):
            assert law.force([sign * s])[0] == sign * 0.1
            assert law.projected([sign * s], 1e-323 if s < 1e-300 else 1e-300)[0] == sign * 0.1


@pytest.mark.parametrize("name", ISOTROPIC)
def test_slope_is_the_derivative_of_g(name: str) -> None:
    for s in (0.003, 0.03, 0.2, 1.5):
        difference = (g_of(name, s + 1e-6) - g_of(name, s - 1e-6)) / 2e-6
        # rounding of g leaves 1e-9, the third derivative, below 1e5 N s^3/m^3, 1e-7
        assert ISOTROPIC[name].slope(s) == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_force_at_rest_is_zero(law: FrictionLaw, dimension: int) -> None:
    np.testing.assert_array_equal(law.force(np.zeros(dimension)), np.zeros(dimension))


@pytest.mark.parametrize("name", ISOTROPIC)
def test_breakaway_force_is_g_of_zero(name: str) -> None:
    assert ISOTROPIC[name].breakaway_force == g_of(name, 0.0)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
def test_many_vectors_at_once_give_the_same_as_one_by_one(law: FrictionLaw) -> None:
    x = np.random.default_rng(0).normal(scale=0.1, size=(20, 2))
    np.testing.assert_array_equal(law.force(x), [law.force(row) for row in x])
    np.testing.assert_array_equal(law.projected(x, 0.01), [law.projected(row, 0.01) for row in x])
    assert law.force(x[:0]).shape == law.projected(x[:0], 0.01).shape == (0, 2)


def test_a_coulomb_law_is_a_viscous_law_without_viscosity() -> None:
    x = [0.3, -0.2]
    np.testing.assert_array_equal(
        CoulombLaw(5.0).projected(x, 0.01), ViscousCoulombLaw(5.0, viscosity=0.0).projected(x, 0.01)
    )


@properties
@given(forces, forces, st.floats(1e-3, 10), viscosities)
def test_the_steepest_fall_of_stribecks_law_is_where_the_formula_says(
    Fc: float, rise: float, vs: float, D: float
) -> None:
    law = StribeckLaw(Fc, static_force=Fc + rise, stribeck_velocity=vs, viscosity=D)
    found = minimize_scalar(law.slope, bounds=(0.0, 3.0 * vs), method="bounded", options={"xatol": 1e-9 * vs})
    scale = D + (Fc + rise) / vs
    # at the minimum an error of 1e-9 of its place is 1e-18 of its value
    assert found.fun == pytest.approx(law.slope_range[0], abs=16 * EPS * scale)
    assert law.slope(vs / math.sqrt(2.0)) == pytest.approx(law.slope_range[0], abs=16 * EPS * scale)
    assert law.slope_range[1] == D


# Phi_Z: closed forms (53), (55)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
def test_static_region_gives_x_over_z(law: FrictionLaw) -> None:
    Z = 0.01
    x = np.array([0.3, -0.4, 0.5]) * Z * law.breakaway_force  # 0.71 of the limit
    y, static = solve(law, x, Z)
    assert static
    np.testing.assert_array_equal(y, x / Z)


def test_sliding_region_of_coulomb_gives_f() -> None:
    np.testing.assert_allclose(CoulombLaw(4.0).projected([3.0, -4.0], 0.25), [2.4, -3.2], rtol=4 * EPS)  # (53)


def test_sliding_region_of_viscous_coulomb_gives_55() -> None:
    law = ViscousCoulombLaw(4.0, viscosity=3.0)
    magnitude = (4.0 + 3.0 * 5.0) / (1.0 + 0.25 * 3.0)
    np.testing.assert_allclose(law.projected([3.0, -4.0], 0.25), [0.6 * magnitude, -0.8 * magnitude], rtol=4 * EPS)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_boundary_is_static_and_the_force_there_is_g_of_zero(law: FrictionLaw, sign: int) -> None:
    Z = 2.0**-8  # a power of two: Z g(0) is exact
    limit = Z * law.breakaway_force
    y, static = solve(law, [0.0, sign * limit], Z)
    assert static and y[1] == sign * law.breakaway_force
    assert not solve(law, [0.0, sign * np.nextafter(limit, 1.0)], Z)[1]


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_force_is_continuous_across_the_boundary(law: FrictionLaw, share: float) -> None:
    Z = share * min(longest(law), 1.0)
    limit = Z * law.breakaway_force
    for step in (1e-4 * limit, 1e-8 * limit, 1e-12 * limit):
        (below, rests), (above, stays) = (solve(law, [limit + sign * step], Z) for sign in (-1, 1))
        assert rests and not stays
        # 1/Z is the slope below; above it is at most 1/(1/g' + Z), steepest where g falls most
        slope = 1.0 / Z + max(abs(bound) for bound in law.slope_range) / (1.0 - share)
        assert abs(above[0] - below[0]) <= 2 * step * slope + 16 * EPS * limit * slope


# Phi_Z: the implicit equation


def exact_slip(g: Any, size: float, Z: float) -> Any:
    """Root s of s + Z g(s) = |x|, in 50 digits; g takes and gives mpmath numbers."""
    with mpmath.workdps(50):
        x, z = mpmath.mpf(size), mpmath.mpf(Z)
        return mpmath.findroot(
            lambda s: s + z * g(s) - x, (mpmath.mpf(0), x), solver="anderson", tol=1e-90, maxsteps=500
        )


def scaled_to(law: FrictionLaw, x: list[float], Z: float) -> list[float]:
    """x in units of the static limit Z g(0), so that both branches come up."""
    return [value * Z * law.breakaway_force for value in x]


def assert_solves(law: FrictionLaw, g: Any, x: list[float], Z: float) -> None:
    """Phi_Z(x) against root finding in 50 digits."""
    size = float(np.linalg.norm(x))
    y, static = solve(law, x, Z)
    assert static == (size <= Z * law.breakaway_force) or size == pytest.approx(Z * law.breakaway_force, rel=4 * EPS)
    if static:
        np.testing.assert_array_equal(y, np.asarray(x) / Z)
        return
    expected = float(g(exact_slip(g, size, Z))) * np.asarray(x) / size
    # |x| is rounded, and s with it; where 1 + Z g' is small, s answers by more, and g by g' times that
    steepest = max(abs(bound) for bound in law.slope_range)
    answer = steepest / (1.0 + Z * law.slope_range[0])
    np.testing.assert_allclose(y, expected, rtol=16 * EPS, atol=16 * EPS * (size + Z * law.breakaway_force) * answer)


def stribeck_mp(Fc: float, Fs: float, vs: float, D: float) -> Any:
    c, f, v, d = (mpmath.mpf(value) for value in (Fc, Fs, vs, D))
    return lambda s: c + (f - c) * mpmath.exp(-((s / v) ** 2)) + d * s


@properties
@given(vectors, forces, st.floats(0.0625, 100, width=32), st.floats(2.0**-7, 8, width=32), viscosities, shares)
def test_stribecks_phi_z_is_the_root_to_rounding(
    x: list[float], Fc: float, rise: float, vs: float, D: float, share: float
) -> None:
    law = StribeckLaw(Fc, static_force=Fc + rise, stribeck_velocity=vs, viscosity=D)
    Z = share * longest(law)
    assert_solves(law, stribeck_mp(Fc, Fc + rise, vs, D), scaled_to(law, x, Z), Z)


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6, 1e-9])
def test_phi_z_is_the_root_close_to_the_limit_of_its_existence(gap: float) -> None:
    """There 1 + Z g' is nearly zero at one speed, and Newton's step nearly without end."""
    law = ISOTROPIC["stribeck"]
    Z = (1.0 - gap) * longest(law)
    s = 0.05 / math.sqrt(2.0)  # where g falls most
    for factor in (0.5, 0.99, 1.0 - 1e-6, 1.0, 1.0 + 1e-6, 1.01, 2.0, 50.0):
        assert_solves(law, stribeck_mp(3.0, 5.0, 0.05, 2.0), [factor * s + Z * law.magnitude(factor * s)], Z)
    for excess in (1e-15, 1e-9, 1e-3, 1.0):
        assert_solves(law, stribeck_mp(3.0, 5.0, 0.05, 2.0), [Z * law.breakaway_force * (1.0 + excess)], Z)


def test_newtons_method_does_not_go_round_in_circles() -> None:
    """Close to the limit of existence Newton alone does so for one of a hundred of these; the bracket ends it."""
    random = np.random.default_rng(0)
    for _ in range(600):
        Fc, rise, gap, excess = 10.0 ** random.uniform([-3.0, -1.0, -6.0, -6.0], [1.0, 2.0, -1.0, 1.0])
        law = StribeckLaw(Fc, static_force=Fc + rise, stribeck_velocity=1.0)
        Z = (1.0 - gap) * longest(law)
        x = [Z * law.breakaway_force * (1.0 + excess)]
        assert_solves(law, stribeck_mp(Fc, Fc + rise, 1.0, 0.0), x, Z)


@properties
@given(vectors, shares)
def test_a_functions_phi_z_is_the_root_to_rounding(x: list[float], share: float) -> None:
    law = ISOTROPIC["function"]
    v, Z = mpmath.mpf(0.05), share * longest(law)
    assert_solves(law, lambda s: 3 + 2 / (1 + (s / v) ** 2) + s / 2, scaled_to(law, x, Z), Z)


@properties
@given(vectors, impedances, forces, viscosities)
def test_the_closed_form_55_is_the_root_to_rounding(x: list[float], Z: float, F: float, D: float) -> None:
    assert_solves(ViscousCoulombLaw(F, viscosity=D), lambda s: mpmath.mpf(F) + mpmath.mpf(D) * s, x, Z)


@properties
@given(vectors, shares)
def test_every_isotropic_law_solves_the_implicit_equation(x: list[float], share: float) -> None:
    """y = Phi(x - Z y) (52): in sliding |v| y = g(|v|) v with v = x - Z y, at rest |y| <= g(0)."""
    for law in ISOTROPIC.values():
        Z = share * min(longest(law), 1.0)
        z = scaled_to(law, x, Z)
        size = float(np.linalg.norm(z))
        y, static = solve(law, z, Z)
        v = np.asarray(z) - Z * y
        speed, force = float(np.linalg.norm(v)), float(np.linalg.norm(y))
        error = 16 * EPS * (size + Z * force)  # of the computed v
        if static:
            assert speed <= error and force <= law.breakaway_force * (1 + 8 * EPS)
        else:
            steepest = max(abs(bound) for bound in law.slope_range)
            residual = speed * y - law.magnitude(speed) * v
            # the error of v reaches each term, and g through its slope; the root's own grows as 1 + Z g' falls
            worst = error * (2 * force + 2 * law.breakaway_force + 4 * steepest * speed) / (1.0 - share)
            assert np.linalg.norm(residual) <= worst


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
@pytest.mark.parametrize("x", [[2.0], [1.0, -2.0], [1.0, -2.0, 0.5]])
def test_projected_agrees_with_a_vector_solver(law: FrictionLaw, x: list[float]) -> None:
    """SciPy's hybrid Powell method on y - Phi(x - Z y) = 0, which knows nothing of isotropy."""
    Z = 0.01
    solution = root(lambda y: y - law.force(np.asarray(x) - Z * y), law.force(x), tol=1e-13)
    assert np.linalg.norm(solution.fun) < 1e-10
    # where the law falls, at up to half of 1/Z, the solution is off by twice the residual
    np.testing.assert_allclose(law.projected(x, Z), solution.x, rtol=0, atol=2e-10)


# Phi_Z: properties


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
@pytest.mark.parametrize("share", [0.05, 0.999])
def test_the_sliding_velocity_rises_with_x(law: FrictionLaw, share: float) -> None:
    Z = share * min(longest(law), 1.0)
    x = np.linspace(-6.0, 6.0, 4001) * Z * law.breakaway_force
    velocity = x - Z * law.projected(x[:, None], Z)[:, 0]
    assert np.diff(velocity).min() >= -8 * EPS * x[-1]  # x is rounded, and Z y
    np.testing.assert_allclose(velocity, -velocity[::-1], rtol=0, atol=8 * EPS * x[-1])  # odd


@properties
@given(vectors, vectors, impedances)
def test_phi_z_of_a_rising_law_is_monotone_and_shortens_no_less(x: list[float], z: list[float], Z: float) -> None:
    """(v - w).(y - u) >= 0 for y = Phi_Z(x), v = x - Z y, ...: what makes the models forget their past."""
    n = min(len(x), len(z))
    a, b = np.array(x[:n]), np.array(z[:n])
    for law in MONOTONE:
        y, u = law.projected(a, Z), law.projected(b, Z)
        v, w = a - Z * y, b - Z * u
        size = float(np.linalg.norm(a) + np.linalg.norm(b))
        force = float(np.linalg.norm(y) + np.linalg.norm(u))
        assert (v - w) @ (y - u) >= -32 * EPS * size * force  # rounding of v and y, each against the other


@properties
@given(st.integers(0, 99), vectors, shares)
def test_turning_or_reflecting_x_does_so_to_the_force(seed: int, x: list[float], share: float) -> None:
    n = len(x)
    turn = ortho_group.rvs(n, random_state=seed) if n > 1 else np.array([[-1.0]])
    for law in ISOTROPIC.values():
        Z = share * min(longest(law), 1.0)
        # the product is exact to 8 eps |x|; 1/Z is the steepest slope of the static branch, g'/(1 + Z g') of the other
        steepest = max(abs(bound) for bound in law.slope_range) / (1.0 - share)
        size = float(np.linalg.norm(x))
        slope = min(1.0 / Z, law.breakaway_force / max(size, 1e-300)) + steepest
        turned, original = law.projected(turn @ x, Z), turn @ law.projected(x, Z)
        np.testing.assert_allclose(turned, original, rtol=0, atol=64 * EPS * size * slope)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
def test_along_a_line_it_is_the_one_dimensional_law(law: FrictionLaw) -> None:
    direction, Z = np.array([0.48, -0.64, 0.6]), 0.005
    for size in np.array([-3.0, -1.01, -0.5, 0.2, 0.99, 1.01, 2.0, 30.0]) * Z * law.breakaway_force:
        np.testing.assert_allclose(
            law.projected(size * direction, Z), law.projected([size], Z) * direction, rtol=64 * EPS
        )


def test_small_viscosity_tends_to_the_coulomb_law() -> None:
    x, Z, coulomb = [0.3, -0.4], 0.01, CoulombLaw(4.0)
    errors = [
        np.linalg.norm(ViscousCoulombLaw(4.0, viscosity=D).projected(x, Z) - coulomb.projected(x, Z))
        for D in (1e-3, 1e-4, 1e-5)
    ]
    # (55) minus (53) is D (|x| - Z F)/(1 + Z D)
    np.testing.assert_allclose(errors, [D * (0.5 - Z * 4.0) / (1 + Z * D) for D in (1e-3, 1e-4, 1e-5)], rtol=1e-9)


@pytest.mark.parametrize("law", ISOTROPIC.values(), ids=ISOTROPIC)
def test_small_z_tends_to_the_law_itself(law: FrictionLaw) -> None:
    x = np.array([0.03, -0.04])
    exact = law.force(x)
    steepest = max(abs(bound) for bound in law.slope_range)
    for Z in (1e-3, 1e-6, 1e-9):
        y = law.projected(x, Z)  # g at a speed Z |y| below |x|
        assert np.linalg.norm(y - exact) <= steepest * Z * float(np.linalg.norm(y)) + 8 * EPS * 6.0


def test_without_friction_there_is_no_force() -> None:
    np.testing.assert_array_equal(CoulombLaw(0.0).projected([0.3, -0.4], 0.1), [0.0, 0.0])
    np.testing.assert_array_equal(CoulombLaw(0.0).projected([0.0, 0.0], 0.1), [0.0, 0.0])


# Existence (15), (56)


FALLING = {name: law for name, law in ISOTROPIC.items() if law.slope_range[0] < 0.0}


def test_the_falling_laws_are_three() -> None:
    assert sorted(FALLING) == ["function", "stribeck", "table"]


@pytest.mark.parametrize("law", FALLING.values(), ids=FALLING)
def test_z_beyond_the_limit_is_refused_with_both_numbers(law: FrictionLaw) -> None:
    limit = longest(law)
    law.projected([1.0], limit * (1.0 - 1e-9))
    Z = limit * (1.0 + 1e-9)
    for call in (law.check_existence, lambda z: law.projected([1.0], z)):
        with pytest.raises(ValueError, match=r"^law: .*\(15\)") as caught:
            call(Z)
        assert f"{law.slope_range[0]:.6g} N s/m" in str(caught.value) and f"{-1.0 / Z:.6g} N s/m" in str(caught.value)
    law.approximated().projected([1.0], Z)  # exists for every Z


@pytest.mark.parametrize("law", FALLING.values(), ids=FALLING)
@pytest.mark.parametrize("dimension", [1, 2])
def test_each_model_refuses_its_own_z_beyond_the_limit(law: FrictionLaw, dimension: int) -> None:
    """Z = T/M, T/(M + T B + T^2 K), 1/(B + T K) and T/M + 1/(B + T K), on both sides of the limit."""
    limit, T = longest(law), 1e-3
    for Z, exists in ((limit * (1.0 - 1e-9), True), (limit * (1.0 + 1e-9), False)):
        settings: list[tuple[Any, dict[str, float]]] = [
            (ModelA, {"mass": T / Z}),
            # shares of T/Z = M + T B + T^2 K
            (ModelB, {"mass": 0.5 * T / Z, "damping": 0.2 / Z, "stiffness": 0.3 / Z / T}),
            (ModelB, {"mass": 0.0, "damping": 0.0, "stiffness": 1.0 / Z / T}),
            (ModelC, {"damping": 0.4 / Z, "stiffness": 0.6 / Z / T}),
            # T/M = 0.3 Z and B + T K = 1/(0.7 Z)
            (ModelD, {"mass": T / (0.3 * Z), "damping": 0.4 / (0.7 * Z), "stiffness": 0.6 / (0.7 * Z) / T}),
        ]
        for make, values in settings:
            if exists:
                model = make(law, period=T, dimension=dimension, **values)
                assert abs(model.Z - Z) <= 8 * EPS * Z  # five operations
            else:
                with pytest.raises(ValueError, match=r"^law: .*\(15\)"):
                    make(law, period=T, dimension=dimension, **values)
                make(law.approximated(), period=T, dimension=dimension, **values)


@pytest.mark.parametrize("law", MONOTONE)
def test_a_law_that_does_not_fall_exists_for_every_z(law: FrictionLaw) -> None:
    for Z in (1e-12, 1.0, 1e12):
        assert np.isfinite(law.projected([1.0], Z)).all()


# The approximations (46), (57)


def steepest_change(name: str) -> float:
    """max |g''| [N s^2/m^2] of the smooth laws."""
    return {"coulomb": 0.0, "viscous": 0.0, "stribeck": 2.0 * 2.0 / 0.05**2, "function": 4.0 / 0.05**2}[name]


@pytest.mark.parametrize("name", ["coulomb", "viscous", "stribeck", "function"])
def test_the_error_of_the_approximation_is_47(name: str) -> None:
    """Phi(x) - Phi(x - Z Phi_Z): Z |Phi_Z Phi'(x)|, and Taylor's remainder; never more than `accuracy` times Phi_Z."""
    law = ISOTROPIC[name]
    close = law.approximated()
    assert close.is_approximated and not law.is_approximated
    for Z in (1e-3, 1e-4, 1e-5):
        for size in np.geomspace(1.05 * Z * law.breakaway_force, 1.0, 50):
            (y, rests), (found, sticks) = solve(law, [size], Z), solve(close, [size], Z)
            assert not rests
            if sticks:
                continue  # g is larger here than x/Z: the static force is not g(0) but that
            error, rounding = abs(found[0] - y[0]), 32 * EPS * law.magnitude(size) / (1.0 + Z * law.slope_range[0])
            first = Z * abs(y[0] * law.slope(size))
            assert abs(error - first) <= 0.5 * (Z * y[0]) ** 2 * steepest_change(name) + rounding
            assert error <= law.accuracy(Z) * abs(y[0]) + rounding


def test_accuracy_is_z_times_the_steepest_slope() -> None:
    # the largest slope of the rising law; of Stribeck's the fall 2 sqrt(2/e)/0.05 - 2
    assert ISOTROPIC["viscous"].accuracy(0.1) == pytest.approx(0.3, rel=4 * EPS)
    assert ISOTROPIC["stribeck"].accuracy(0.1) == pytest.approx(
        0.1 * (40.0 * math.sqrt(2.0 / math.e) - 2.0), rel=8 * EPS
    )
    assert ISOTROPIC["coulomb"].accuracy(0.1) == 0.0
    rising = TableLaw([0.0, 0.5, 1.0], [1.0, 3.0, 4.0])  # and constant from there on
    assert rising.slope_range == (0.0, 4.0)
    assert rising.accuracy(0.1) == pytest.approx(0.4, rel=4 * EPS)


def test_for_coulomb_friction_the_approximation_is_exact() -> None:
    law = ISOTROPIC["coulomb"]
    for x in ([0.01, 0.02], [0.3, -0.4], [0.0, 0.0]):
        np.testing.assert_allclose(law.approximated().projected(x, 0.05), law.projected(x, 0.05), rtol=4 * EPS)


@pytest.mark.parametrize("name", ISOTROPIC)
def test_the_approximation_is_the_law_beyond_x_over_z_and_continuous(name: str) -> None:
    law, Z = ISOTROPIC[name].approximated(), 1e-3
    sizes = np.linspace(0.5, 2.0, 2001) * Z * law.breakaway_force
    y, static = (np.array(part) for part in zip(*(solve(law, [0.6 * s, 0.8 * s], Z) for s in sizes), strict=True))
    g = np.array([g_of(name, s) for s in sizes])
    clear = np.abs(sizes / Z - g) > 1e-12
    np.testing.assert_array_equal(static[clear], (sizes / Z <= g)[clear])
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), np.minimum(sizes / Z, g), rtol=8 * EPS)
    assert np.count_nonzero(np.diff(static)) == 1


# Refusals


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
def test_bad_coefficients_are_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match=r"^force: expected a finite number, not negative \[N\], got "):
        CoulombLaw(value)
    with pytest.raises(ValueError, match=r"^force: "):
        ViscousCoulombLaw(value, viscosity=1.0)
    with pytest.raises(ValueError, match=r"^viscosity: expected a finite number, not negative \[N s/m\], got "):
        ViscousCoulombLaw(1.0, viscosity=value)


@pytest.mark.parametrize("name", ["kinetic_force", "static_force", "stribeck_velocity", "viscosity"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_coefficients_of_stribecks_law_are_refused_by_name(name: str, value: float) -> None:
    values = {"kinetic_force": 3.0, "static_force": 5.0, "stribeck_velocity": 0.05, "viscosity": 2.0, name: value}
    with pytest.raises(ValueError, match=f"^{name}: expected a finite number"):
        StribeckLaw(values.pop("kinetic_force"), **values)


def test_static_friction_below_kinetic_and_a_stribeck_velocity_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^static_force: expected kinetic_force = 3 N or more, got 2.9"):
        StribeckLaw(3.0, static_force=2.9, stribeck_velocity=0.05)
    with pytest.raises(ValueError, match=r"^stribeck_velocity: expected a finite number above 0 \[m/s\], got 0.0"):
        StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.0)


def test_equal_static_and_kinetic_friction_is_the_viscous_law() -> None:
    law, viscous = StribeckLaw(4.0, static_force=4.0, stribeck_velocity=0.1, viscosity=3.0), ISOTROPIC["viscous"]
    for x in ([0.1, 0.2], [3.0, -4.0]):
        np.testing.assert_allclose(law.projected(x, 0.25), viscous.projected(x, 0.25), rtol=16 * EPS)


@pytest.mark.parametrize("Z", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_z_is_refused_by_name(Z: float) -> None:
    with pytest.raises(ValueError, match=r"^Z: expected a finite number above 0 \[m/\(N s\)\], got "):
        CoulombLaw(1.0).projected([1.0], Z)


@pytest.mark.parametrize("value", [[np.nan], [0.0, np.inf], [[[1.0]]], []])
def test_bad_vectors_are_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^velocity: expected finite numbers below 1e\+100 \[m/s\], shape"):
        CoulombLaw(1.0).force(value)
    with pytest.raises(ValueError, match=r"^x: expected finite numbers below 1e\+100 \[m/s\], shape"):
        CoulombLaw(1.0).projected(value, 0.1)


def test_an_isotropic_law_acts_in_any_number_of_dimensions_and_a_tensor_in_its_own() -> None:
    law = AnisotropicLaw(np.diag([1.0, 2.0]))
    law.check_dimension(2)
    for call in (lambda: law.check_dimension(3), lambda: law.force([1.0, 2.0, 3.0]), lambda: law.projected([1.0], 0.1)):
        with pytest.raises(ValueError, match=r"^dimension: expected 2, that of force_tensor, got "):
            call()
    ISOTROPIC["coulomb"].check_dimension(17)
