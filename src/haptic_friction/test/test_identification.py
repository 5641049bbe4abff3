"""Identification of laws and of model C: known answers, coverage of the intervals, what a record cannot tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation
from scipy.stats import binom

from haptic_friction import CoulombLaw, FrictionLaw, ModelC, StribeckLaw, ViscousCoulombLaw
from haptic_friction.identification import Estimate, Identification, identify_law, identify_model_c
from haptic_friction.identification.fitting import correlation_time

#: period (s), stiffness (N/m), damping (N s/m)
T, K, B = 1e-3, 6000.0, 10.0
CONTACT = {"stiffness": K, "damping": B}
#: parameters of each law; Stribeck's falls gently enough for Phi_Z with these K, B, T
PARAMETERS: dict[str, dict[str, float]] = {
    "coulomb": {"force": 4.0},
    "viscous_coulomb": {"force": 4.0, "viscosity": 5.0},
    "stribeck": {"kinetic_force": 4.0, "static_force": 5.5, "stribeck_velocity": 0.08, "viscosity": 5.0},
}
LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(**PARAMETERS["coulomb"]),
    "viscous_coulomb": ViscousCoulombLaw(**PARAMETERS["viscous_coulomb"]),
    "stribeck": StribeckLaw(**PARAMETERS["stribeck"]),
}


# Synthetic records


def speeds(random: np.random.Generator, samples: int) -> np.ndarray:
    """Sliding speeds between 0.02 and 0.3 m/s that vary like a hand's, (samples, 1)."""
    time = T * np.arange(samples)[:, None]
    frequency, phase = np.array([0.7, 1.9, 3.1]), random.uniform(0.0, 6.28, 3)
    return 0.16 + 0.14 * np.mean(np.sin(2 * np.pi * frequency * time + phase), axis=1, keepdims=True)


def strokes(random: np.random.Generator, samples: int, dimension: int) -> np.ndarray:
    """Strokes of up to 0.2 m/s and rests with a tremor of 10 Hz, (samples, dimension)."""
    time = T * np.arange(samples)
    parts = [
        0.08 * np.sin(2 * np.pi * frequency * time[:, None] + random.uniform(0.0, 6.28, dimension))
        for frequency in (1.1, 2.3, 3.7)
    ]
    moving = (np.sin(2 * np.pi * 0.8 * time + random.uniform(0.0, 6.28)) > -0.2).astype(float)
    smooth = lfilter([0.02], [1.0, -0.98], moving)[:, None]
    return smooth**2 * sum(parts) + 0.004 * np.sin(
        2 * np.pi * 10.0 * time[:, None] + random.uniform(0.0, 6.28, dimension)
    )


def noise(random: np.random.Generator, like: np.ndarray, rms: float, correlation: float) -> np.ndarray:
    """Gaussian noise of the shape of a signal, white or with the autocorrelation `correlation` ** lag."""
    white = random.normal(size=(1000 + len(like), like.shape[1]))
    coloured = lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], white, axis=0)
    return rms * coloured[1000:]


def quantised(velocity: np.ndarray, count: float) -> np.ndarray:
    """The difference of the counts of an encoder, over the period."""
    position = np.round(T * np.cumsum(velocity, axis=0) / count) * count
    return np.diff(position, axis=0, prepend=np.zeros_like(position[:1])) / T


def response(law: str, velocity: np.ndarray) -> np.ndarray:
    model = ModelC(LAWS[law], period=T, dimension=velocity.shape[1], **CONTACT)
    return model.simulate(velocity)


# Without noise


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_law_is_found_exactly(law: str, dimension: int) -> None:
    random = np.random.default_rng(0)
    speed = speeds(random, 1000)
    direction = random.normal(size=(1000, dimension))
    velocity = speed * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    force = np.array([LAWS[law].force(v) for v in velocity])
    found = identify_law(velocity, force, law=law)
    assert found.law == law and found.samples == 1000 and found.dimension == dimension
    assert not found.not_identified and found.residual_rms < 1e-6
    for name, value in PARAMETERS[law].items():
        assert found.estimates[name].value == pytest.approx(value, rel=1e-6)
        assert found.estimates[name].contains(value)
    np.testing.assert_allclose(found.friction_law().force(velocity[0]), force[0], rtol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_model_c_is_found_exactly_also_from_the_middle_of_a_record(law: str, dimension: int) -> None:
    velocity = strokes(np.random.default_rng(1), 6000, dimension)
    force = response(law, velocity)
    part = slice(1234, None)  # the displacement at its start is unknown
    found = identify_model_c(velocity[part], force[part], period=T, law=law)
    assert not found.not_identified and found.residual_rms < 1e-6
    assert (found.period, found.samples, found.dimension) == (T, 6000 - 1234, dimension)
    for name, value in (PARAMETERS[law] | CONTACT).items():
        assert found.estimates[name].value == pytest.approx(value, rel=1e-5), name
        assert found.estimates[name].contains(value)
    model = found.model_c()
    assert model.dimension == dimension and type(model.law) is type(LAWS[law])
    np.testing.assert_allclose(model.simulate(velocity), force, atol=1e-4)


def test_turning_the_frame_turns_nothing_else() -> None:
    random = np.random.default_rng(2)
    velocity = strokes(random, 3000, 3)
    force = response("viscous_coulomb", velocity) + noise(random, velocity, 0.2, 0.5)
    turn = Rotation.random(rng=3).as_matrix().T
    first, second = (
        identify_model_c(u, f, period=T, law="viscous_coulomb")
        for u, f in ((velocity, force), (velocity @ turn, force @ turn))
    )
    for name, estimate in first.estimates.items():
        for end in ("value", "low", "high"):
            # the solver stops at 1e-7 of the sum of squares' curvature or better
            assert getattr(second.estimates[name], end) == pytest.approx(getattr(estimate, end), rel=1e-4), name


def test_units_are_those_of_the_parameters() -> None:
    velocity = strokes(np.random.default_rng(1), 4000, 1)
    found = identify_model_c(velocity, response("stribeck", velocity), period=T, law="stribeck")
    assert {name: estimate.unit for name, estimate in found.estimates.items()} == {
        "kinetic_force": "N",
        "static_force": "N",
        "stribeck_velocity": "m/s",
        "viscosity": "N s/m",
        "stiffness": "N/m",
        "damping": "N s/m",
    }


# Coverage of the 95 % intervals


def coverage(trials: int, known: dict[str, float], identify: Callable[[np.random.Generator], Identification]) -> None:
    """Counts how often the intervals contain the known answers, and checks the count.

    The count of a calibrated interval is binomial; fewer than its 0.1 % quantile are refused. Nor may an interval be
    wider than twice what the scatter of the values asks for. One record in twenty may tell too little.
    """
    hits: dict[str, int] = dict.fromkeys(known, 0)
    values: dict[str, list[float]] = {name: [] for name in known}
    widths: dict[str, list[float]] = {name: [] for name in known}
    for trial in range(trials):
        found = identify(np.random.default_rng([7, trial]))
        for name, value in known.items():
            if name in found.not_identified:
                continue
            estimate = found.estimates[name]
            hits[name] += estimate.contains(value)
            values[name].append(estimate.value)
            widths[name].append(estimate.high - estimate.low)
    for name in known:
        identified = len(values[name])
        assert identified >= 0.95 * trials, name
        least = binom.ppf(0.001, identified, 0.95)
        assert hits[name] >= least, (name, hits[name], least)
        assert np.median(widths[name]) < 2.0 * (2.0 * 1.96 * np.std(values[name])), name


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


def test_noise_of_the_velocity_attenuates_the_viscosity_and_the_interval_says_so() -> None:
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


# What a record cannot tell


def test_without_sticking_stiffness_and_damping_are_not_identified() -> None:
    random = np.random.default_rng(10)
    velocity = speeds(random, 2000)
    force = response("viscous_coulomb", velocity)[200:] + noise(random, velocity[200:], 0.05, 0.0)
    found = identify_model_c(velocity[200:], force, period=T, law="viscous_coulomb")
    assert set(found.estimates) == {"force", "viscosity"}
    assert found.not_identified == dict.fromkeys(CONTACT, "0 samples stick (expected 20 or more)")
    assert found.estimates["force"].contains(4.0) and found.estimates["viscosity"].contains(5.0)
    assert found.friction_law().breakaway_force == found.estimates["force"].value
    with pytest.raises(ValueError, match=r"^stiffness: not identified \(0 samples stick"):
        found.model_c()


def test_noise_below_the_kinetic_force_is_not_sticking() -> None:
    random = np.random.default_rng(14)
    velocity = speeds(random, 4000)
    force = 4.0 + noise(random, velocity, 0.8, 0.0)  # one sample in six is below 0.8 F
    found = identify_model_c(velocity, force, period=T)
    assert np.count_nonzero(force < 3.2) > 500
    assert set(found.not_identified) == set(CONTACT)


def test_with_one_sticking_position_there_is_no_stiffness() -> None:
    velocity = np.concatenate((np.full((500, 1), 0.1), np.zeros((500, 1))))
    force = np.where(velocity > 0.0, 4.0, 1.0)
    found = identify_model_c(velocity, force, period=T)
    assert found.not_identified["stiffness"] == "nothing moves while it sticks"
    falling = np.where(velocity > 0.0, 4.0, -1.0)
    velocity[500:] = 0.001
    falling[500:, 0] -= 0.001 * np.arange(500)
    found = identify_model_c(velocity, falling, period=T)
    assert found.not_identified["damping"] == "the force does not grow with the displacement while it sticks"


@pytest.mark.parametrize("law", ["viscous_coulomb", "stribeck"])
@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_at_one_speed_only_the_force_there_is_known(law: str, spread: float) -> None:
    random = np.random.default_rng(11)
    velocity = 0.1 * (1.0 + spread * random.normal(size=(2000, 1)))
    found = identify_law(velocity, 4.5 + noise(random, velocity, 0.05, 0.0), law=law)
    assert not found.estimates and set(found.not_identified) == set(PARAMETERS[law])
    for reason in found.not_identified.values():
        assert reason.startswith("the sliding speed stays between") and "only g = 4.5" in reason
    with pytest.raises(ValueError, match="force: not identified"):
        found.friction_law()
    assert identify_law(velocity, 4.5 + 0.0 * velocity, law="coulomb").estimates["force"].value == pytest.approx(4.5)


def test_at_one_speed_stiffness_and_damping_are_still_identified() -> None:
    velocity = np.full((4000, 1), 0.1) * np.sign(np.sin(0.01 * np.arange(4000)))[:, None]
    found = identify_model_c(velocity, response("viscous_coulomb", velocity), period=T, law="viscous_coulomb")
    assert set(found.not_identified) == {"force", "viscosity"}
    # the force of the transients is not quite that of one speed
    assert found.estimates["stiffness"].value == pytest.approx(K, rel=0.02)


def test_stribecks_range_must_be_visited() -> None:
    random = np.random.default_rng(12)
    fast = 0.2 + speeds(random, 3000)  # 0.22 m/s and more; 0.08 m/s is where it falls
    force = np.vectorize(LAWS["stribeck"].magnitude)(fast) + noise(random, fast, 0.05, 0.0)
    found = identify_law(fast, force, law="stribeck")
    assert set(found.not_identified) == {"static_force", "stribeck_velocity"}
    assert "Stribeck" in found.not_identified["static_force"]
    plain = identify_law(fast, 4.0 + 5.0 * fast + noise(random, fast, 0.05, 0.0), law="stribeck")
    assert plain.not_identified["stribeck_velocity"].startswith("no Stribeck effect between 0.2")
    assert plain.estimates["kinetic_force"].contains(4.0) and plain.estimates["viscosity"].contains(5.0)
    tail = 0.06 + speeds(random, 3000)  # from 0.1 m/s on there is enough to see it, too little to know it
    force = np.vectorize(LAWS["stribeck"].magnitude)(tail) + noise(random, tail, 0.002, 0.0)
    found = identify_law(tail, force, law="stribeck")
    assert found.not_identified["static_force"].startswith("the Stribeck velocity is not between 0.1")
    slow = 0.1 * speeds(random, 3000)  # 0.03 m/s at most: the fall has hardly begun
    force = np.vectorize(LAWS["stribeck"].magnitude)(slow) + noise(random, slow, 0.05, 0.0)
    found = identify_law(slow, force, law="stribeck", minimum_speed=0.001)
    assert set(found.not_identified) >= {"static_force", "stribeck_velocity"}


def test_one_short_stretch_is_enough_without_correlation_and_too_little_with_it() -> None:
    """300 samples of sticking at the start of a record of 20 000."""
    random = np.random.default_rng(13)
    velocity = np.concatenate((0.002 * np.sin(0.1 * np.arange(300)), np.full(19_700, 0.1)))[:, None]
    force = response("coulomb", velocity)
    white = identify_model_c(velocity, force + noise(random, force, 0.02, 0.0), period=T)
    assert white.estimates["stiffness"].contains(K) and white.estimates["damping"].contains(B)
    slow = identify_model_c(velocity, force + noise(random, force, 0.02, 0.99), period=T)
    assert slow.not_identified["stiffness"] == "too short a part of the record tells of it"


# Which samples count


def test_the_sliding_mask_and_the_minimum_speed_choose_the_samples() -> None:
    speed = np.linspace(0.001, 0.2, 2000)[:, None]
    force = 4.0 + 5.0 * speed
    force[:1000] = 100.0
    fast = identify_law(speed, force, minimum_speed=float(speed[999, 0]))
    masked = identify_law(speed, force, sliding=np.arange(2000) >= 1000)
    for found in (fast, masked):
        assert found.samples == 1000
        assert found.estimates["force"].value == pytest.approx(4.0, rel=1e-6)
    assert identify_law(speed, 4.0 + 5.0 * speed).samples == np.count_nonzero(speed > 0.01)


# Results


def test_results_are_frozen_and_readable() -> None:
    estimate = Estimate(6004.123, 5992.2, 6016.0, "N/m")
    assert str(estimate) == "6004 [5992, 6016] N/m"
    assert str(Estimate(4.0, 4.0, 4.0, "N")) == "4.000000000 [4.000000000, 4.000000000] N"
    assert str(Estimate(0.5, 0.32, 0.68, "N")) == "0.50 [0.32, 0.68] N"
    assert estimate.contains(5992.2) and estimate.contains(6016.0)
    assert not estimate.contains(5992.1) and not estimate.contains(6016.1)
    found = Identification("coulomb", {"force": Estimate(4.0, 3.9, 4.1, "N")}, 0.1, 100)
    for thing, name in ((estimate, "value"), (found, "law")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 1.0)
    assert found.friction_law().breakaway_force == 4.0
    with pytest.raises(ValueError, match=r"^period: only a law was identified"):
        found.model_c()


# Input that cannot be used

GOOD = np.full((200, 2), 0.1)


@pytest.mark.parametrize(
    "velocity, force, options, message",
    [
        (GOOD, GOOD, {"law": "dahl"}, "law: expected one of coulomb, viscous_coulomb, stribeck, got 'dahl'"),
        (GOOD[:, 0], GOOD, {}, r"velocity: expected shape (n_samples, dimension), got (200,)"),
        (GOOD[:, :0], GOOD, {}, r"velocity: expected shape (n_samples, dimension), got (200, 0)"),
        (GOOD, GOOD[:, :1], {}, r"force: expected the shape of velocity (200, 2), got (200, 1)"),
        (GOOD, GOOD[:-1], {}, r"force: expected the shape of velocity (200, 2), got (199, 2)"),
        (np.where(np.eye(200, 2) > 0, np.nan, GOOD), GOOD, {}, "velocity: expected finite numbers [m/s]"),
        (GOOD, np.where(np.eye(200, 2) > 0, np.inf, GOOD), {}, "force: expected finite numbers [N]"),
        (GOOD[:49], GOOD[:49], {}, "velocity: expected 50 samples or more, got 49"),
        (0.01 * GOOD, GOOD, {}, "velocity: nothing slides, 0 samples above minimum_speed = 0.01 m/s"),
        (GOOD, -GOOD, {}, "force: expected in the direction of sliding, got -0.141 N along it"),
        (GOOD, GOOD, {"minimum_speed": -1.0}, "minimum_speed: expected a finite number, not negative [m/s], got -1.0"),
        (GOOD, GOOD, {"velocity_resolution": np.nan}, "velocity_resolution: expected a finite number"),
    ],
)
@pytest.mark.parametrize("identify", [identify_law, identify_model_c])
def test_unusable_input_is_refused_by_name(
    identify: Callable[..., Identification], velocity: np.ndarray, force: np.ndarray, options: Any, message: str
) -> None:
    period = {"period": T} if identify is identify_model_c else {}
    with pytest.raises(ValueError) as caught:
        identify(velocity, force, **period, **options)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_the_period_and_the_mask_are_checked() -> None:
    for period in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=r"^period: expected a finite number above 0"):
            identify_model_c(GOOD, GOOD, period=period)
    for mask in (np.ones(200), np.ones(199, dtype=bool)):
        with pytest.raises(ValueError, match=r"^sliding: expected booleans of shape \(200,\)"):
            identify_law(GOOD, GOOD, sliding=mask)
    with pytest.raises(ValueError, match=r"^velocity: nothing slides, 49 samples"):
        identify_law(GOOD, GOOD, sliding=np.arange(200) < 49)


def test_a_record_that_only_sticks_has_no_friction_force() -> None:
    velocity = 0.005 * np.sin(0.05 * np.arange(3000))[:, None]
    with pytest.raises(ValueError, match=r"^velocity: nothing slides, 0 samples"):
        identify_model_c(velocity, response("coulomb", velocity), period=T)


def test_the_input_is_not_changed() -> None:
    velocity = strokes(np.random.default_rng(1), 3000, 2)
    force = response("coulomb", velocity)
    before = velocity.copy(), force.copy()
    identify_model_c(velocity, force, period=T, velocity_resolution=1e-3)
    np.testing.assert_array_equal(velocity, before[0])
    np.testing.assert_array_equal(force, before[1])
