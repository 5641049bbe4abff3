"""Compute-time percentiles and the rate limit of the log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haptic_core.statistics import Rejections, TickTimes, TimeStatistics

# percentiles are converted from ns to s by one product: relative error of one rounding
EXACT = 1e-15


def test_without_durations_all_percentiles_are_zero():
    assert TimeStatistics().percentiles(50, 99) == [0.0, 0.0]


def test_percentiles_of_known_durations_in_seconds():
    statistics = TimeStatistics()
    for nanoseconds in range(0, 101_000, 1000):  # 0 to 100 us: percentile p is p us
        statistics.add(nanoseconds)
    assert statistics.percentiles(0, 50, 99, 100) == pytest.approx([0.0, 50e-6, 99e-6, 100e-6], rel=EXACT)


def test_a_window_that_is_not_full_ignores_its_empty_places():
    statistics = TimeStatistics(size=10)
    statistics.add(3_000)
    assert statistics.percentiles(0, 100) == pytest.approx([3e-6, 3e-6], rel=EXACT)


@given(st.integers(1, 8), st.lists(st.integers(0, 10**9), min_size=1, max_size=40))
def test_the_window_holds_exactly_the_last_durations(size, durations):
    statistics = TimeStatistics(size=size)
    for nanoseconds in durations:
        statistics.add(nanoseconds)
    expected = np.percentile(np.array(durations[-size:], dtype=float), [0, 50, 100]) * 1e-9
    assert statistics.count == len(durations)
    assert statistics.percentiles(0, 50, 100) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize(("durations", "last", "expected"), [(5, 2, [4.0, 5.0]), (5, 9, [1.0, 5.0]),
                                                             (12, 3, [10.0, 12.0]), (12, 4, [9.0, 12.0]),
                                                             (12, 8, [5.0, 12.0]), (12, 9, [5.0, 12.0])])  # fmt: skip
def test_the_last_of_a_window_that_turned_round(durations, last, expected):
    """Smallest and largest of durations 1, 2, ... ns in a window of 8."""
    statistics = TimeStatistics(size=8)
    for nanoseconds in range(1, durations + 1):
        statistics.add(nanoseconds)
    assert statistics.percentiles(0, 100, last=last) == pytest.approx([1e-9 * value for value in expected], rel=EXACT)


def test_one_rejection_of_a_kind_is_logged_per_interval_and_all_are_counted():
    rejections = Rejections(interval=1.0)
    logged = [now for now in (10.0, 10.5, 10.99, 11.0, 11.5, 12.0) if rejections.add("late", now)]
    assert logged == [10.0, 11.0, 12.0]
    assert rejections.counts == {"late": 6}


def test_each_kind_has_its_own_rate_limit():
    rejections = Rejections(interval=1.0)
    assert rejections.add("late", 0.0)
    assert rejections.add("not finite", 0.1)
    assert not rejections.add("late", 0.2)
    assert rejections.counts == {"late": 2, "not finite": 1}


def test_times_of_ticks_rise_and_a_number_beyond_all_ticks_is_left_out():
    times = TickTimes(size=3)
    for tick in (1, 2, 2**63 - 1, 2**63, 2**64 - 1, 3):
        times.add(tick)
    ticks, stamps = times.lists()
    assert ticks == [2, 3, 2**63 - 1]
    assert stamps[0] <= stamps[2] <= stamps[1]


def test_of_the_last_no_durations_all_percentiles_are_zero():
    statistics = TimeStatistics()
    statistics.add(3_000)
    assert statistics.percentiles(50, last=0) == [0.0]
