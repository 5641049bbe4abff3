"""The 95 % intervals of identified parameters: coverage, widths, bias."""

from __future__ import annotations

import numpy as np
import pytest
from identification_cases import (
    CONTACT,
    LAWS,
    PARAMETERS,
    B,
    K,
    T,
    coverage,
    noise,
    quantised,
    response,
    speeds,
    strokes,
)
from scipy.signal import lfilter

from haptic_friction.identification import Identification, identify_law, identify_model_c
from haptic_friction.identification.fitting import correlation_time

# Coverage of the 95 % intervals


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("law", ["coulomb", "viscous_coulomb"])
@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_coverage_of_a_law(law: str, correlation: float) -> None:
    def identify(random: np.random.Generator) -> Identification:
        velocity = random.choice([-1.0, 1.0]) * speeds(random, 2000)
        force = np.sign(velocity) * np.vectorize(LAWS[law].magnitude)(np.abs(velocity))
        return identify_law(velocity, force + noise(random, force, 0.3, correlation), law=law)

    coverage(150, PARAMETERS[law], identify)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_coverage_of_stribecks_law(correlation: float) -> None:
    def identify(random: np.random.Generator) -> Identification:
        velocity = speeds(random, 3000)
        force = np.vectorize(LAWS["stribeck"].magnitude)(velocity)
        return identify_law(velocity, force + noise(random, force, 0.1, correlation), law="stribeck")

    coverage(60, PARAMETERS["stribeck"], identify)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_coverage_of_model_c(dimension: int, correlation: float) -> None:
    def identify(random: np.random.Generator) -> Identification:
        velocity = strokes(random, 4000, dimension)
        force = response("coulomb", velocity)
        return identify_model_c(velocity, force + noise(random, force, 0.2, correlation), period=T, law="coulomb")

    coverage(60, PARAMETERS["coulomb"] | CONTACT, identify)


@pytest.mark.slow
def test_coverage_with_an_encoder() -> None:
    """A law from speeds in counts of 12 um, and model C from counts of 2 um, fine against the tremor of 60 um."""

    def identify_both(random: np.random.Generator) -> Identification:
        velocity = strokes(random, 4000, 1)
        force = response("coulomb", velocity) + noise(random, velocity, 0.2, 0.5)
        resolution = 2e-6 / T
        return identify_model_c(
            quantised(velocity, 2e-6), force, period=T, law="coulomb", velocity_resolution=resolution
        )

    def identify_speeds(random: np.random.Generator) -> Identification:
        velocity = speeds(random, 2000)
        force = np.vectorize(LAWS["viscous_coulomb"].magnitude)(velocity)
        return identify_law(
            quantised(velocity, 12e-6), force + noise(random, force, 0.3, 0.5), velocity_resolution=12e-6 / T
        )

    coverage(30, PARAMETERS["coulomb"] | CONTACT, identify_both)
    coverage(80, PARAMETERS["viscous_coulomb"], identify_speeds)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_the_width_is_that_of_correlated_noise(correlation: float) -> None:
    """For a mean of an AR(1) series: 1.96 sigma sqrt((1 + rho)/(1 - rho)/n); the blocks' scatter is 30 % or less."""
    n = 20_000
    random = np.random.default_rng(4)
    velocity = np.full((n, 1), 0.1)
    found = identify_law(velocity, 4.0 + noise(random, velocity, 0.3, correlation), law="coulomb")
    expected = 2.0 * 1.96 * 0.3 * np.sqrt((1.0 + correlation) / (1.0 - correlation) / n)
    width = found.estimates["force"].high - found.estimates["force"].low
    assert width == pytest.approx(expected, rel=0.4)
    assert found.residual_rms == pytest.approx(0.3, rel=0.05)


@pytest.mark.slow
def test_the_widths_of_stribecks_law_are_those_of_its_derivatives() -> None:
    random = np.random.default_rng(15)
    velocity = speeds(random, 20_000)
    Fc, Fs, vs, D = PARAMETERS["stribeck"].values()
    fall = np.exp(-((velocity / vs) ** 2))
    force = Fc + (Fs - Fc) * fall + D * velocity
    J = np.hstack((1.0 - fall, fall, (Fs - Fc) * fall * 2.0 * velocity**2 / vs**3, velocity))
    expected = 2.0 * 1.96 * 0.1 * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    widths = []
    for _ in range(8):
        found = identify_law(velocity, force + noise(random, velocity, 0.1, 0.0), law="stribeck").estimates
        widths.append([found[name].high - found[name].low for name in PARAMETERS["stribeck"]])
    # 30 blocks: 13 % of scatter each, t = 2.05 for 1.96 and the jackknife's own surplus
    mean = np.mean(widths, axis=0)
    np.testing.assert_allclose(mean, expected, rtol=0.18)
    assert mean[1] / mean[0] == pytest.approx(expected[1] / expected[0], rel=0.12)  # the excess of Fs is 23 % off


def test_the_width_of_the_damping_counts_the_unknown_displacement() -> None:
    """K and B from 2000 samples of sticking, f = K e + B u + an unknown constant, and the moment of breakaway."""
    random = np.random.default_rng(16)
    stuck = 0.0002 * (1.0 + 0.5 * np.sin(0.2 * np.arange(2000)))
    velocity = np.concatenate((stuck, np.full(2000, 0.1)))[:, None]
    force = response("coulomb", velocity)
    columns = np.column_stack((T * np.cumsum(stuck), stuck, np.ones(2000)))
    with_it, without = (np.sqrt(np.linalg.inv(c.T @ c)[1, 1]) for c in (columns, columns[:, :2]))
    widths = []
    for _ in range(10):
        found = identify_model_c(velocity, force + noise(random, force, 0.02, 0.0), period=T).estimates.get("damping")
        if found is not None:  # in some records only the breakaway tells of it
            widths.append((found.high - found.low) / (2.0 * 1.96 * 0.02))
    assert len(widths) >= 5
    assert np.mean(widths) == pytest.approx(with_it, rel=0.3)
    assert without < 0.6 * with_it


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_correlation_time_is_that_of_an_ar1_series(correlation: float) -> None:
    series = noise(np.random.default_rng(5), np.zeros((100_000, 1)), 1.0, correlation)[:, 0]
    # its error is sqrt(2 (2 M + 1)/n) with a window M of 5 times itself, 6 % at most here
    assert correlation_time(series) == pytest.approx((1.0 + correlation) / (1.0 - correlation), rel=0.15)
    assert correlation_time(np.zeros(10)) == 1.0


# Bias


def test_without_viscosity_its_interval_starts_at_zero() -> None:
    random = np.random.default_rng(6)
    velocity = speeds(random, 2000)
    found = [identify_law(velocity, 4.0 + noise(np.random.default_rng(seed), velocity, 0.3, 0.0)) for seed in range(20)]
    assert all(result.estimates["viscosity"].value >= 0.0 for result in found)
    at_bound = [result.estimates["viscosity"] for result in found if result.estimates["viscosity"].value < 1e-3]
    assert len(at_bound) >= 3  # half of the unbounded estimates are negative
    assert all(estimate.low == 0.0 < estimate.high for estimate in at_bound)


def test_noise_of_the_velocity_attenuates_the_viscosity_and_widens_its_interval() -> None:
    random = np.random.default_rng(8)
    speed = 0.3 + 0.1 * np.sin(0.05 * np.arange(8000))[:, None]
    force = 4.0 + 5.0 * speed
    count = 8e-5  # 0.08 m/s in the velocity
    error = count / T * np.diff(random.uniform(-0.5, 0.5, (8001, 1)), axis=0)
    plain = identify_law(speed + error, force).estimates["viscosity"]
    share = (count / T) ** 2 / 6.0 / (0.1**2 / 2.0)
    assert plain.value == pytest.approx(5.0 / (1.0 + share), rel=0.03)
    assert not plain.contains(5.0)
    widened = identify_law(speed + error, force, velocity_resolution=count / T).estimates["viscosity"]
    assert widened.contains(5.0) and widened.high < 5.5
    assert (widened.value, widened.low) == (plain.value, plain.low)
    coarse = speed + 3.0 * error
    lost = identify_law(coarse, force, velocity_resolution=3.0 * count / T)
    assert lost.not_identified["viscosity"] == "lost in the quantisation of the velocity (0.24 m/s)"
    assert "viscosity" in identify_law(coarse, force).estimates


def test_a_delay_of_the_velocity_takes_k_times_itself_off_the_damping() -> None:
    velocity = strokes(np.random.default_rng(9), 6000, 1)
    delayed = lfilter([0.5], [1.0, -0.5], velocity, axis=0)  # by (1 - a)/a = 1 period
    found = identify_model_c(velocity, response("coulomb", delayed), period=T)
    # the first order of the delay; the next is (2 pi 10 Hz T)^2, 0.4 %, of K T
    assert found.estimates["damping"].value == pytest.approx(B - K * T, abs=0.05 * K * T)
    assert found.estimates["stiffness"].value == pytest.approx(K, rel=0.02)
