"""Existence of Phi_Z (15), (56), and the approximations (46), (57), which exist for every Z."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from law_cases import EPS, ISOTROPIC, MONOTONE, g_of, longest, solve

from haptic_friction import FrictionLaw, ModelA, ModelB, ModelC, ModelD, TableLaw

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
