"""The simulated hand: muscles in closed form, tremor as a stationary band of force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haptic_devices.hands.operator import HandParameters, SimulatedHand, muscle_force
from haptic_devices.motions.planar import MotionPlan

PERIOD = 1e-3
NUMBERS: dict[str, Any] = {
    "mass": 0.2, "stiffness": 500.0, "damping": 15.0, "expected_resistance": 4.0,
    "tremor_force": 0.25, "tremor_low": 8.0, "tremor_high": 12.0,
}  # fmt: skip


def hand(seed: int = 0, **changes: float) -> SimulatedHand:
    plan = MotionPlan(PERIOD, np.zeros((1, 7)), ())
    return SimulatedHand(HandParameters(**{**NUMBERS, **changes}), plan, seed)


def force(holder: SimulatedHand, target: Any, motion: Any, time: float = 0.0) -> np.ndarray:
    result, (position, velocity) = np.zeros(2), np.array(motion, dtype=float).reshape(2, 2)
    muscle_force(holder.arrays, np.array(target, dtype=float), time, position, velocity, result)
    return result


def tremor(holder: SimulatedHand, duration: float) -> np.ndarray:
    """Tremor force over time, shape (n, 2): the muscles of a hand that is at its target."""
    times = np.arange(0.0, duration, 0.01)
    return np.array([force(holder, np.zeros(7), np.zeros(4), time) for time in times])


@given(
    st.lists(st.floats(-0.2, 0.2), min_size=6, max_size=6),
    st.lists(st.floats(-0.5, 0.5), min_size=4, max_size=4),
    st.floats(0.0, 1.0),
)
def test_the_muscles_force_is_impedance_plus_plan_plus_expected_resistance(numbers, motion, grip):
    target = np.array([*numbers, grip])
    x, v = np.array(motion[:2]), np.array(motion[2:])
    goal, speed, extra = target[:2], target[2:4], target[4:6]
    expected = grip * 500.0 * (goal - x) + 15.0 * (speed - v) + extra + 4.0 * speed / (np.linalg.norm(speed) + 0.01)
    assert force(hand(tremor_force=0.0), target, motion) == pytest.approx(expected, abs=1e-11)  # of some 100 N


def test_the_expected_resistance_is_half_applied_at_ten_millimetres_per_second():
    moving = [0, 0, 0.01, 0, 0, 0, 1]
    assert force(hand(tremor_force=0.0, damping=0.0), moving, np.zeros(4)) == pytest.approx([2.0, 0.0], rel=1e-12)


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(5))
def test_the_tremor_s_rms_is_the_parameter(seed):
    values = tremor(hand(seed), 200.0)
    rms = np.sqrt((values**2).sum(axis=1).mean())
    # products of neighbouring sinusoids, 0.3 Hz apart on average, mean out like 1/(2 pi 0.3 Hz 200 s) = 0.3 % each;
    # two that fall within 5 mHz of each other still leave a few per cent
    assert rms == pytest.approx(0.25, rel=0.05)
    assert abs(values.mean()) < 0.25 * 0.01


@pytest.mark.parametrize(("low", "high"), [(8.0, 12.0), (9.0, 9.5)])
def test_the_tremor_lies_in_its_band(low, high):
    values = tremor(hand(1, tremor_low=low, tremor_high=high), 100.0)
    frequency = np.fft.rfftfreq(len(values), 0.01)
    power = (np.abs(np.fft.rfft(values * np.hanning(len(values))[:, None], axis=0)) ** 2).sum(axis=1)
    inside = (frequency >= low - 0.02) & (frequency <= high + 0.02)  # two bins of the window's main lobe
    assert power[inside].sum() > 0.999 * power.sum()


def test_the_tremor_is_fixed_by_the_seed():
    assert (hand(3).arrays.tremor == hand(3).arrays.tremor).all()
    assert (hand(3).arrays.tremor != hand(4).arrays.tremor).any()


def test_an_upper_tremor_frequency_below_the_lower_one_is_refused_by_name():
    with pytest.raises(ValueError, match="tremor_high: expected 8 Hz or more, got 7"):
        hand(tremor_high=7.0)
