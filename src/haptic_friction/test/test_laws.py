"""Friction laws: Phi, and Phi_Z as the solution of its implicit equation (52)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, root
from scipy.spatial.transform import Rotation

from haptic_friction import CoulombLaw, ViscousCoulombLaw, kernels

EPS = np.finfo(float).eps

properties = settings(derandomize=True, database=None, deadline=None, max_examples=200)
# single precision keeps the squares of the components far from underflow
vectors = st.integers(1, 3).flatmap(lambda n: st.lists(st.floats(-10, 10, width=32), min_size=n, max_size=n))
impedances = st.floats(1e-6, 1e2)
forces = st.floats(0, 100, width=32)
viscosities = st.floats(0, 100, width=32)


def is_static(law: CoulombLaw | ViscousCoulombLaw, speed: float, Z: float) -> bool:
    return bool(kernels.projected_magnitude(law.code, law.coefficients, speed, Z)[1])


# Phi


def test_coulomb_force_has_magnitude_f_along_the_velocity() -> None:
    np.testing.assert_allclose(CoulombLaw(5.0).force([3e-9, -4e-9]), [3.0, -4.0], rtol=4 * EPS)


def test_viscous_force_grows_by_d_per_speed() -> None:
    law = ViscousCoulombLaw(5.0, viscosity=2.0)
    np.testing.assert_allclose(law.force([0.0, 0.6, 0.8]), [0.0, 0.6 * 7.0, 0.8 * 7.0], rtol=4 * EPS)


@pytest.mark.parametrize("law", [CoulombLaw(5.0), ViscousCoulombLaw(5.0, viscosity=2.0)])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_force_at_rest_is_zero(law: CoulombLaw, dimension: int) -> None:
    np.testing.assert_array_equal(law.force(np.zeros(dimension)), np.zeros(dimension))


def test_breakaway_force_is_g_of_zero() -> None:
    assert CoulombLaw(5.0).breakaway_force == 5.0
    assert ViscousCoulombLaw(5.0, viscosity=2.0).breakaway_force == 5.0


def test_a_coulomb_law_is_a_viscous_law_without_viscosity() -> None:
    x = [0.3, -0.2]
    np.testing.assert_array_equal(
        CoulombLaw(5.0).projected(x, 0.01), ViscousCoulombLaw(5.0, viscosity=0.0).projected(x, 0.01)
    )


# Phi_Z: closed forms (53), (55)


@pytest.mark.parametrize("law", [CoulombLaw(4.0), ViscousCoulombLaw(4.0, viscosity=3.0)])
def test_static_region_gives_x_over_z(law: CoulombLaw) -> None:
    x = np.array([0.3, -0.4, 0.5])  # |x| = 0.71 < Z F = 1
    np.testing.assert_array_equal(law.projected(x, 0.25), x / 0.25)
    assert is_static(law, float(np.linalg.norm(x)), 0.25)


def test_sliding_region_of_coulomb_gives_f() -> None:
    np.testing.assert_allclose(CoulombLaw(4.0).projected([3.0, -4.0], 0.25), [2.4, -3.2], rtol=4 * EPS)  # (53)


def test_sliding_region_of_viscous_coulomb_gives_55() -> None:
    law = ViscousCoulombLaw(4.0, viscosity=3.0)
    magnitude = (4.0 + 3.0 * 5.0) / (1.0 + 0.25 * 3.0)
    np.testing.assert_allclose(law.projected([3.0, -4.0], 0.25), [0.6 * magnitude, -0.8 * magnitude], rtol=4 * EPS)


@pytest.mark.parametrize("law", [CoulombLaw(4.0), ViscousCoulombLaw(4.0, viscosity=3.0)])
def test_the_boundary_is_static_and_the_force_there_is_f(law: CoulombLaw) -> None:
    Z = 0.25  # binary fractions: Z F = 1 exactly
    np.testing.assert_array_equal(law.projected([0.0, -1.0], Z), [0.0, -4.0])
    assert is_static(law, 1.0, Z)
    assert not is_static(law, float(np.nextafter(1.0, 2.0)), Z)


@pytest.mark.parametrize("law", [CoulombLaw(4.0), ViscousCoulombLaw(4.0, viscosity=3.0)])
def test_the_force_is_continuous_across_the_boundary(law: CoulombLaw) -> None:
    Z, step = 0.3, 1e-9
    below, above = (law.projected([Z * 4.0 + sign * step], Z)[0] for sign in (-1, 1))
    assert is_static(law, Z * 4.0 - step, Z) and not is_static(law, Z * 4.0 + step, Z)
    assert abs(above - below) <= 2 * step / Z * (1 + 1e-6)  # 1/Z is the steepest slope of Phi_Z


# Phi_Z: properties


@properties
@given(vectors, impedances, forces, viscosities)
def test_projected_solves_the_implicit_equation(x: list[float], Z: float, F: float, D: float) -> None:
    """y = Phi(x - Z y) (52): at rest |y| <= F, in sliding |v| y = g(|v|) v with v = x - Z y."""
    law = ViscousCoulombLaw(F, viscosity=D)
    y = law.projected(x, Z)
    size, force = float(np.linalg.norm(x)), float(np.linalg.norm(y))
    slip = np.asarray(x) - Z * y
    error = 8 * EPS * size  # of the computed slip, by rounding
    if is_static(law, size, Z):
        assert np.linalg.norm(slip) <= error
        assert force <= F * (1 + 8 * EPS)
    else:
        speed = float(np.linalg.norm(slip))
        residual = speed * y - (F + D * speed) * slip
        # the error of the slip reaches each term, and g(speed) through D; y is rounded itself
        assert np.linalg.norm(residual) <= error * (2 * force + 2 * F + 4 * D * speed)


@properties
@given(vectors, impedances, forces, viscosities)
def test_projected_agrees_with_root_finding(x: list[float], Z: float, F: float, D: float) -> None:
    """The slip speed s solves s + Z (F + D s) = |x|, if there is one above zero."""
    size = float(np.linalg.norm(x))
    if size <= Z * F:
        expected = np.asarray(x) / Z
    else:
        speed = brentq(lambda s: s + Z * (F + D * s) - size, 0.0, size, xtol=1e-16 * size, rtol=4 * EPS)
        expected = (F + D * speed) * np.asarray(x) / size
    found = ViscousCoulombLaw(F, viscosity=D).projected(x, Z)
    # brentq stops at 4 eps of the root; its function is known to 4 eps |x|, whence D and 1/Z
    np.testing.assert_allclose(found, expected, rtol=16 * EPS, atol=16 * EPS * (F + D * size))


@pytest.mark.parametrize("x", [[2.0], [1.0, -2.0], [1.0, -2.0, 0.5]])
def test_projected_agrees_with_a_vector_solver(x: list[float]) -> None:
    """SciPy's hybrid Powell method on y - Phi(x - Z y) = 0, which knows nothing of isotropy."""
    law, Z = ViscousCoulombLaw(4.0, viscosity=3.0), 0.1
    solution = root(lambda y: y - law.force(np.asarray(x) - Z * y), np.asarray(x), tol=1e-13)
    assert solution.success
    np.testing.assert_allclose(law.projected(x, Z), solution.x, rtol=1e-10)  # solver's 1e-13, with margin


@properties
@given(
    st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3), impedances, forces, viscosities, st.integers(0, 99)
)
def test_rotating_x_rotates_the_force(x: list[float], Z: float, F: float, D: float, seed: int) -> None:
    law = ViscousCoulombLaw(F, viscosity=D)
    rotation = Rotation.random(rng=seed).as_matrix()
    rotated, original = law.projected(rotation @ x, Z), law.projected(x, Z)
    # the product is exact to 8 eps |x|, and 1/Z is the steepest slope, but no force exceeds F + D |x|
    size = float(np.linalg.norm(x))
    slope = min(size / Z, F + D * size)
    np.testing.assert_allclose(rotated, rotation @ original, rtol=0, atol=32 * EPS * slope)


def test_small_viscosity_tends_to_the_coulomb_law() -> None:
    x, Z, coulomb = [0.3, -0.4], 0.01, CoulombLaw(4.0)
    errors = [
        np.linalg.norm(ViscousCoulombLaw(4.0, viscosity=D).projected(x, Z) - coulomb.projected(x, Z))
        for D in (1e-3, 1e-4, 1e-5)
    ]
    # (55) minus (53) is D (|x| - Z F)/(1 + Z D)
    np.testing.assert_allclose(errors, [D * (0.5 - Z * 4.0) / (1 + Z * D) for D in (1e-3, 1e-4, 1e-5)], rtol=1e-9)


@pytest.mark.parametrize("law", [CoulombLaw(4.0), ViscousCoulombLaw(4.0, viscosity=3.0)])
def test_small_z_tends_to_the_law_itself(law: CoulombLaw) -> None:
    x = np.array([0.3, -0.4])
    exact = law.force(x)
    for Z in (1e-3, 1e-6, 1e-9):
        # |Phi_Z(x) - Phi(x)| = D Z g(|x|)/(1 + Z D)
        bound = 3.0 * Z * float(np.linalg.norm(exact))
        assert np.linalg.norm(law.projected(x, Z) - exact) <= bound + 8 * EPS * 4.0


def test_without_friction_there_is_no_force() -> None:
    np.testing.assert_array_equal(CoulombLaw(0.0).projected([0.3, -0.4], 0.1), [0.0, 0.0])
    np.testing.assert_array_equal(CoulombLaw(0.0).projected([0.0, 0.0], 0.1), [0.0, 0.0])


# Refusals


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
def test_bad_coefficients_are_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match=r"^force: expected a finite number, not negative \[N\], got "):
        CoulombLaw(value)
    with pytest.raises(ValueError, match=r"^force: "):
        ViscousCoulombLaw(value, viscosity=1.0)
    with pytest.raises(ValueError, match=r"^viscosity: expected a finite number, not negative \[N s/m\], got "):
        ViscousCoulombLaw(1.0, viscosity=value)


@pytest.mark.parametrize("Z", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_z_is_refused_by_name(Z: float) -> None:
    with pytest.raises(ValueError, match=r"^Z: expected a finite number above 0 \[m/\(N s\)\], got "):
        CoulombLaw(1.0).projected([1.0], Z)
