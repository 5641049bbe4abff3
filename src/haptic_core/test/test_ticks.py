"""The tick counter: forward only, gaps counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haptic_core.errors import InputError
from haptic_core.ticks import LARGEST_JUMP, TickCounter


def test_consecutive_ticks_are_accepted_without_a_miss():
    counter = TickCounter()
    for tick in range(5):
        counter.accept(tick)
    assert (counter.last, counter.missed) == (4, 0)


def test_the_first_tick_may_be_any_and_counts_no_miss():
    counter = TickCounter()
    counter.accept(1000)
    assert (counter.last, counter.missed) == (1000, 0)


@pytest.mark.parametrize("tick", [7, 6, 0])
def test_a_tick_that_repeats_or_goes_backwards_is_refused_and_changes_nothing(tick):
    counter = TickCounter()
    counter.accept(5)
    counter.accept(7)
    with pytest.raises(InputError, match=f"^tick: expected above 7, got {tick}$") as error:
        counter.accept(tick)
    assert error.value.kind == "wrong tick"
    assert (counter.last, counter.missed) == (7, 1)


@given(st.integers(0, 2**62), st.lists(st.integers(1, LARGEST_JUMP)))
def test_missed_is_the_number_of_ticks_jumped_over(first, jumps):
    counter, ticks = TickCounter(), [first, *(first + np.cumsum(jumps, dtype=int)).tolist()]
    for tick in ticks:
        counter.accept(tick)
    assert counter.missed == ticks[-1] - ticks[0] + 1 - len(ticks)


@pytest.mark.parametrize("far", [7 + LARGEST_JUMP + 1, 2**63, 2**64 - 1])
def test_a_tick_from_far_ahead_does_not_shut_the_next_ones_out(far):
    counter = TickCounter()
    counter.accept(7)
    with pytest.raises(InputError, match=f"^tick: expected at most {LARGEST_JUMP} above 7, got {far}$") as error:
        counter.accept(far)
    assert error.value.kind == "wrong tick"
    counter.accept(8)
    assert (counter.last, counter.missed) == (8, 0)


def test_a_jump_is_taken_when_the_next_tick_follows_it():
    counter, far = TickCounter(), 10 * LARGEST_JUMP
    counter.accept(7)
    with pytest.raises(InputError, match="expected at most"):
        counter.accept(far)
    counter.accept(far + 1)
    assert (counter.last, counter.missed) == (far + 1, far - 7)


def test_after_reset_an_earlier_tick_is_accepted():
    counter = TickCounter()
    counter.accept(5)
    counter.accept(9)
    counter.reset()
    counter.accept(0)
    assert (counter.last, counter.missed) == (0, 0)
