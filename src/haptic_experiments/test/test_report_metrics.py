"""The metrics of friction_impedance's report, on signals with known answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_experiments.experiments.friction_impedance import analyse
from haptic_experiments.experiments.friction_impedance.joystick import Run, chatter_force, opposition, rest_drifts
from haptic_friction.reference.lag import radius_of_curvature

Signals = Callable[..., Run]
Bags = Callable[..., Bag]

#: period (s), friction force (N), yield distance F/K (m) of the synthetic signals
T, F, YIELD = 1e-3, 4.0, 4.0 / 6000.0
#: way of the tip for one count [m], and delay of the measured velocity [s]
SENSOR = (1.2e-5, 1e-3)


# Signals


def test_run_contains_the_data_of_the_bag(signals: Signals, bag_of: Bags) -> None:
    run = signals()
    found = Run.from_bag(bag_of(run))
    for name in ("time", "measured", "position", "velocity", "force", "displacement", "sticking"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name), err_msg=name)
    assert found.period == T and found.phases == run.phases


def test_ticks_that_the_friction_node_missed_are_left_out_of_all_signals(signals: Signals, bag_of: Bags) -> None:
    run, missed = signals(), (0, 700, 701, 2500)
    found = Run.from_bag(bag_of(run, missed, mode="realtime"))
    kept = np.setdiff1d(np.arange(4000), missed)
    for name in ("time", "measured", "position", "velocity", "force", "displacement", "sticking"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name)[kept], err_msg=name)
    part = found.part(0.69, 0.71)
    np.testing.assert_allclose(found.time[part], T * np.array([*range(690, 700), *range(702, 710)]), atol=1e-12)


def test_a_bag_of_one_tick_is_refused_in_one_line(signals: Signals, bag_of: Bags) -> None:
    with pytest.raises(HapticError, match=r"^runs/x/bag: too short for a report \(1 ticks that all topics have\)$"):
        analyse({"bag": bag_of(signals(duration=0.001))})


# Metrics


def test_chatter_is_the_rms_of_what_lies_above_50_hz() -> None:
    time = T * np.arange(2000)  # whole cycles of all that follows
    slow = 3.0 + 2.0 * np.sin(2 * np.pi * 10.0 * time)
    fast = 0.3 * np.sin(2 * np.pi * 100.0 * time), 0.4 * np.sin(2 * np.pi * 217.0 * time)
    force = np.column_stack((slow + fast[0], -slow + fast[1]))
    assert chatter_force(force, T) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert chatter_force(np.column_stack((slow, -slow)), T) < 1e-12


@pytest.mark.parametrize("drift", [0.0, 1e-6, -3e-5])
def test_the_drift_of_a_rest_is_that_of_the_contact_not_of_the_spring(drift: float, signals: Signals) -> None:
    (rest,) = rest_drifts(signals(drift=drift))
    assert rest.start == pytest.approx(1.6) and rest.length == pytest.approx(2.4, abs=2 * T)
    # the displacement follows the force exactly: what is left is the line, to the rounding of 0.1 m
    assert rest.drift == pytest.approx(abs(drift) * rest.length, abs=1e-13)
    assert rest.travel > 1e-4  # of the spring: 1 N peak to peak over 6000 N/m
    assert rest.largest_force == pytest.approx(2.5, rel=1e-3)
    assert rest.sticking_share == 1.0 and rest.chatter_force < 1e-3


def test_tremor_beside_the_spring_hardly_counts_as_drift(signals: Signals) -> None:
    run = signals(drift=1e-5)
    amplitude, omega = 1e-5, 2 * np.pi * 10.0
    run.position[:, 1] += amplitude * np.sin(omega * run.time)
    (rest,) = rest_drifts(run)
    # a straight line through whole periods of a sine over the length L rises by 12 A/(omega L)
    bound = 12 * amplitude / (omega * rest.length)
    assert abs(rest.drift - 1e-5 * rest.length) < 1.01 * bound < 1e-6


def test_short_rests_and_other_phases_have_no_drift(signals: Signals) -> None:
    assert rest_drifts(signals(duration=2.0)) == []
    assert len(rest_drifts(signals(duration=2.2))) == 1
    moves = [{**phase, "kind": "move"} for phase in signals().phases]
    assert rest_drifts(replace(signals(), phases=moves)) == []


@pytest.mark.parametrize("angle", [0.0, 1.0, 10.0, -30.0, 170.0])
def test_opposition_is_the_angle_between_force_and_velocity(angle: float, signals: Signals) -> None:
    run = signals(duration=1.0)
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    result = opposition(replace(run, force=run.force @ [[cosine, sine], [-sine, cosine]]), YIELD, *SENSOR)
    for found in (result.median_angle, result.p95_angle):
        assert np.degrees(found) == pytest.approx(abs(angle), abs=1e-5)  # arccos near 1: sqrt(2 eps)
    assert result.opposing_share == (abs(angle) < 90.0)
    # straight on nothing lags: what is left are two counts of 1.2e-5 m across F/K = 6.7e-4 m, 1.5 degrees
    assert result.within_steady_lag_share == (abs(angle) < 1.4)
    # the first F/K = 0.67 mm of the way, 7 samples, the stretch may point anywhere
    assert result.within_lag_share == pytest.approx(float(abs(angle) < 1.4), abs=0.01)
    assert result.mean_force == pytest.approx(F) and result.sign_flips_per_second == 0.0
    assert result.samples >= 999


def test_opposition_counts_sign_flips(signals: Signals) -> None:
    run = signals(duration=1.0)
    run.force[500:600] *= -1.0
    assert opposition(run, YIELD, *SENSOR).sign_flips_per_second == pytest.approx(2.0, rel=2e-3)


def test_opposition_needs_speed_force_and_sliding(signals: Signals) -> None:
    run = signals(duration=1.0)
    assert opposition(replace(run, velocity=0.1 * run.velocity), YIELD, *SENSOR) is None
    assert opposition(replace(run, force=0.0 * run.force), YIELD, *SENSOR) is None
    assert opposition(replace(run, sticking=np.ones_like(run.sticking)), YIELD, *SENSOR) is None


def circle(radius: float) -> Run:
    """Ten seconds at 0.1 m/s on a circle, sticking for one tick at the start and in the middle."""
    time = T * np.arange(10_000)
    angle = 0.1 / radius * time
    position = radius * np.column_stack((np.cos(angle), np.sin(angle)))
    velocity = 0.1 * np.column_stack((-np.sin(angle), np.cos(angle)))
    force = 40.0 * velocity
    sticking = np.arange(10_000) % 5000 == 0
    return Run(T, time, [], position, position, velocity, force, sticking, force / 6000.0)


def test_the_radius_of_a_circle(signals: Signals) -> None:
    run = circle(0.02)
    # omega = 5/s; finite differences are off by (omega T)^2/6
    np.testing.assert_allclose(radius_of_curvature(run.velocity, run.time), 0.02, rtol=(5.0 * T) ** 2)
    straight = signals(duration=1.0)
    assert np.isinf(radius_of_curvature(straight.velocity, straight.time)).all()


@pytest.mark.parametrize("radius", [3.0 * YIELD, 20.0 * YIELD])
def test_in_curves_the_force_may_lag_as_the_spring_does_and_no_more(radius: float) -> None:
    run = circle(radius)
    lag = np.arcsin(YIELD / radius)
    for factor, within in ((0.0, True), (1.0, True), (2.5, False)):
        cosine, sine = np.cos(factor * lag), np.sin(factor * lag)
        result = opposition(replace(run, force=run.force @ [[cosine, sine], [-sine, cosine]]), YIELD, *SENSOR)
        assert result.samples == 9998 and result.median_angle == pytest.approx(factor * lag, abs=1e-3)
        # until the lag has settled, over some F/K of a way of 1 m, it is smaller
        assert result.within_lag_share == pytest.approx(float(within), abs=0.02)
        assert result.within_steady_lag_share == float(within)
