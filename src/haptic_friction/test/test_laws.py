"""Friction laws: the force Phi, and the refusals of bad coefficients and arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_cases import EPS, ISOTROPIC, forces, g_of, properties, viscosities
from scipy.optimize import minimize_scalar

from haptic_friction import AnisotropicLaw, CoulombLaw, FrictionLaw, StribeckLaw, ViscousCoulombLaw
from haptic_friction.laws import projection

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


def test_a_code_without_a_branch_gives_no_number() -> None:
    """Coefficients are not taken for the addresses of a function law."""
    code, coefficients = projection.APPROXIMATE - 1, np.ones((1, 4))
    assert math.isnan(projection.magnitude(code, coefficients, 0, 0.1))
    assert math.isnan(projection.slope(code, coefficients, 0, 0.1))


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
def test_steepest_fall_of_stribecks_law_agrees_with_the_formula(Fc: float, rise: float, vs: float, D: float) -> None:
    law = StribeckLaw(Fc, static_force=Fc + rise, stribeck_velocity=vs, viscosity=D)
    found = minimize_scalar(law.slope, bounds=(0.0, 3.0 * vs), method="bounded", options={"xatol": 1e-9 * vs})
    scale = D + (Fc + rise) / vs
    # at the minimum an error of 1e-9 of its place is 1e-18 of its value
    assert found.fun == pytest.approx(law.slope_range[0], abs=16 * EPS * scale)
    assert law.slope(vs / math.sqrt(2.0)) == pytest.approx(law.slope_range[0], abs=16 * EPS * scale)
    assert law.slope_range[1] == D


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
