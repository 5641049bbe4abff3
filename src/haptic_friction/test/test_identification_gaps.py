"""Parameters that a record does not identify, and the reported reasons."""

from __future__ import annotations

import numpy as np
import pytest
from identification_cases import CONTACT, LAWS, PARAMETERS, B, K, T, noise, response, speeds

from haptic_friction.identification import identify_law, identify_model_c
from haptic_friction.identification.records import split_samples


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


def test_two_sliding_samples_of_a_direction_tell_its_rest_from_sliding() -> None:
    """Forward it slides and rests for long. Backward two samples slide at 2 N, and then it rests at 0.5 N."""
    velocity = np.concatenate((np.linspace(0.1, 0.2, 60), [-0.1, -0.2], np.zeros(20)))[:, None]
    force = np.concatenate((np.full(60, 4.0), [-2.0, -2.0], np.full(20, -0.5)))[:, None]
    slides, static = split_samples(velocity, force, 0.01, per_direction=True)
    np.testing.assert_array_equal(np.flatnonzero(slides), np.arange(62))
    np.testing.assert_array_equal(np.flatnonzero(static), np.arange(63, 82))  # without the first sample of the rest


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
