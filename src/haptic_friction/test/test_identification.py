"""Identification of laws and of model C: known answers, choice of samples, results, refused input."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from identification_cases import CONTACT, LAWS, PARAMETERS, T, noise, response, speeds, strokes
from scipy.spatial.transform import Rotation

from haptic_friction.identification import Estimate, Identification, identify_law, identify_model_c

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


@pytest.mark.slow
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


# Which samples count


def test_the_residual_of_both_directions_is_the_rms_over_all_samples() -> None:
    """300 samples that are 0.3 N off forward, 100 that are 0.1 N off backward: sqrt((3 0.3^2 + 0.1^2)/4)."""
    forward = np.repeat([True, False], [300, 100])
    velocity = np.where(forward, 0.1, -0.1)
    off = np.where(forward, 0.3, 0.1) * np.where(np.arange(400) % 2, 1.0, -1.0)
    force = np.where(forward, 5.0, -4.0) + off
    found = identify_law(velocity[:, None], force[:, None], law="coulomb", per_direction=True)
    assert found.residual_rms == pytest.approx(np.sqrt(0.07), rel=1e-3) and found.samples == 400


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


def test_signals_along_a_line_need_no_second_axis() -> None:
    velocity = 0.1 * np.sin(0.02 * np.arange(2000))
    force = 2.0 * np.sign(velocity) + 3.0 * velocity
    one, two = (identify_law(u, f) for u, f in ((velocity, force), (velocity[:, None], force[:, None])))
    assert one == two and one.estimates["viscosity"].value == pytest.approx(3.0)


# Input that cannot be used

GOOD = np.full((200, 2), 0.1)


@pytest.mark.parametrize(
    "velocity, force, options, message",
    [
        (GOOD, GOOD, {"law": "dahl"}, "law: expected one of coulomb, viscous_coulomb, stribeck, got 'dahl'"),
        (GOOD[:, 0], GOOD, {}, r"force: expected the shape of velocity (200, 1), got (200, 2)"),
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
