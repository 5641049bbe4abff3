"""Phi_Z as the solution of its implicit equation (52): closed forms, roots in 50 digits, properties."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_cases import (
    EPS,
    ISOTROPIC,
    MONOTONE,
    forces,
    impedances,
    longest,
    properties,
    shares,
    solve,
    vectors,
    viscosities,
)
from scipy.optimize import root
from scipy.stats import ortho_group

from haptic_friction import CoulombLaw, FrictionLaw, StribeckLaw, ViscousCoulombLaw

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


@pytest.mark.slow
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


@pytest.mark.slow
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
