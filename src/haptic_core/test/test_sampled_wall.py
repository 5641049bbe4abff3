"""The observer's verdict and the analytic limit of sampled walls; what the controller does to a mass before them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from haptic_core.sampled_wall import (
    Column,
    Contact,
    Outcome,
    Wall,
    is_observed_passive,
    is_stable,
    observed_limit,
    touch,
    transition,
)
from haptic_math.passivity import PassivityRule, largest_passive_stiffness

T, b, MASS = 1e-3, 1.0, 0.05
TOUCH = Contact(MASS, speed=0.1, press=1.0, duration=3.0)
CONTROL = PassivityRule(T, control=True, device_damping=b, largest_damping=20.0, largest_force=2.0)


@pytest.mark.covering(2)
@pytest.mark.parametrize("damping", [-0.5, 0.0, 0.25, 0.75])
def test_the_observer_finds_the_limit_of_colgate_and_schenkel(damping: float) -> None:
    limit = largest_passive_stiffness(b, T, damping)
    # bisection to a 4096th of 2 b/T; the motions start from rest, which is one of 4000 samples
    assert observed_limit(damping, b, T) == pytest.approx(limit, abs=1e-3 * 2.0 * b / T)


@pytest.mark.slow
def test_the_verdict_is_the_limit_s_over_a_coarse_grid() -> None:
    """Steps of a quarter of b, and of 2 b/T; no cell lies on the limit."""
    for B in np.arange(-2, 6) * 0.25 * b:
        for K in (np.arange(6) + 0.5) * 0.25 * 2.0 * b / T:
            assert is_observed_passive(Wall(K, B, b, T)) == (largest_passive_stiffness(b, T, B) > K), (K, B)


def test_without_physical_damping_no_wall_is_passive() -> None:
    assert not is_observed_passive(Wall(1.0, 0.0, 1e-9, T))
    assert observed_limit(1.5, b, T) == 0.0


def test_mass_follows_its_differential_equation_between_the_samples() -> None:
    wall = Wall(1.0, 0.0, 2.0, 0.01)
    A = np.zeros((3, 3))
    A[0, 1], A[1, 1], A[1, 2] = 1.0, -2.0 / MASS, 1.0 / MASS
    (a, c), (d, e) = transition(wall, MASS)
    np.testing.assert_allclose(expm(A * 0.01)[:2, 1:], [[a, d], [c, e]], rtol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 1e-12, 1e-8, 1e-6, 1e-4, 0.049, 0.051, 1.0])
def test_the_transition_is_accurate_with_any_damping(damping: float) -> None:
    """Without damping the mass moves by T v + F T^2/(2 m)."""
    A = np.zeros((3, 3))
    A[0, 1], A[1, 1], A[1, 2] = 1.0, -damping / MASS, 1.0 / MASS
    (a, c), (d, e) = transition(Wall(1.0, 0.0, damping, T), MASS)
    np.testing.assert_allclose(expm(A * T)[:2, 1:], [[a, d], [c, e]], rtol=1e-9)


def test_a_mass_that_stays_in_contact_is_stable_as_long_as_its_dampers_outweigh_the_hold() -> None:
    """K T/2 < b + B (Gil et al. 2004), to first order in b T/m = 0.02."""
    for B in (0.0, 0.5):
        limit = 2.0 * (b + B) / T
        assert is_stable(Wall(0.95 * limit, B, b, T), MASS) and not is_stable(Wall(1.05 * limit, B, b, T), MASS)


@pytest.mark.parametrize("damping", [-0.25, 0.0, 0.5])
def test_the_controller_does_nothing_at_passive_walls(damping: float) -> None:
    wall = Wall(0.95 * largest_passive_stiffness(b, T, damping), damping, b, T)
    plain = touch(wall, TOUCH, PassivityRule(T, device_damping=b))
    assert touch(wall, TOUCH, CONTROL) == plain  # to the last bit
    assert plain.injected == plain.damper == 0.0
    # the sums of a passive port stay above zero, but for rounding of its largest terms, some 1e-4 J
    assert plain.lowest > -1e-15


@pytest.mark.parametrize("damping", [-0.5, 0.0, 1.0])
@pytest.mark.parametrize("times", [1.25, 2.0, 4.0])
def test_the_controller_brings_a_mass_to_rest_that_an_active_wall_keeps_bouncing(damping: float, times: float) -> None:
    """The controller counts on four fifths of b; the last fifth dissipates the rest of the energy."""
    wall = Wall(times * 2.0 * (b + damping) / T, damping, b, T)
    assert not is_stable(wall, MASS)
    rule = PassivityRule(T, control=True, device_damping=0.8 * b, largest_damping=20.0, largest_force=2.0)
    long = Contact(MASS, TOUCH.speed, TOUCH.press, 6.0)
    wild, calm = touch(wall, long, PassivityRule(T)), touch(wall, long, rule)
    assert wild.speed > 0.09 and calm.speed < 0.02  # the mass came with 0.1 m/s
    assert wild.lowest < -1e-3 and calm.lowest > 0.05 * wild.lowest
    assert 0.0 < calm.damper <= 2.0 and 0.0 < calm.injected <= 20.0


def test_bounds_of_the_controller_bind() -> None:
    wall = Wall(8000.0, 0.0, b, T)

    def with_bounds(damping: float, force: float) -> Outcome:
        rule = PassivityRule(T, control=True, device_damping=b, largest_damping=damping, largest_force=force)
        return touch(wall, TOUCH, rule)

    assert with_bounds(3.0, 100.0).injected == 3.0
    assert with_bounds(1000.0, 0.25).damper == pytest.approx(0.25, rel=1e-12)
    assert with_bounds(3.0, 0.0).damper == 0.0
    # the less damping is allowed, the further the port falls below zero: 5 times with 1 N s/m as with 20
    assert with_bounds(1.0, 100.0).lowest < 3.0 * with_bounds(20.0, 100.0).lowest < 0.0


def test_a_task_of_the_study_gathers_what_single_walls_give() -> None:
    column = Column(0.25, (500.0, 3000.0), b, T, TOUCH, (PassivityRule(T), CONTROL))
    result = column.run()
    assert result["passive"].tolist() == [True, False] and result["stable"].tolist() == [True, False]
    assert result["speed"].shape == (2, 2)
    assert result["injected"][1, 1] == touch(Wall(3000.0, 0.25, b, T), TOUCH, CONTROL).injected > 0.0
    assert math.isclose(float(result["limit"]), 1500.0, rel_tol=2e-3)
