"""Tests of which updates of a controller manager open a tick; the C++ class is compiled without ros2_control."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

PERIOD = 1_000_000
HELD = -1


class Grid:
    """The C++ class; times in periods."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._grid = ctypes.c_void_p(library.grid_make(ctypes.c_int64(PERIOD)))

    def update(self, elapsed: float) -> int:
        """Number of skipped ticks; HELD if the update opens no tick."""
        return int(self._library.grid_update(self._grid, ctypes.c_int64(round(elapsed * PERIOD))))

    def updates(self, elapsed: Sequence[float]) -> list[int]:
        return [self.update(each) for each in elapsed]

    def restart(self) -> None:
        self._library.grid_restart(self._grid)

    def close(self) -> None:
        self._library.grid_destroy(self._grid)


@pytest.fixture
def grid(library: ctypes.CDLL) -> Iterator[Grid]:
    made = Grid(library)
    yield made
    made.close()


@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.45, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_late_wakings_neither_skip_nor_double_a_tick(grid: Grid, jitter: float, seed: int) -> None:
    late = np.random.default_rng(seed).uniform(0.0, jitter, 5001)
    times = np.arange(5001) + late
    assert grid.updates(np.diff(times).tolist()) == [0] * 5000


def test_periods_that_are_a_little_too_long_add_up_to_the_ticks_that_they_lack(grid: Grid) -> None:
    found = grid.updates([1.25] * 4000)  # a manager that is slower than its rate
    assert min(found) == 0 and len(found) + sum(found) == 5000


@pytest.mark.parametrize("elapsed", [1.999, 2.0, 2.001, 7.5])
def test_whole_periods_without_an_update_are_skipped_ticks(grid: Grid, elapsed: float) -> None:
    assert grid.updates([1.0, elapsed]) == [0, int(elapsed) - 1]


def test_a_late_update_does_not_move_the_grid(grid: Grid) -> None:
    assert grid.updates([3.4, 0.6, 1.0, 1.0]) == [2, 0, 0, 0]


@pytest.mark.parametrize("catching_up", [[0.0] * 4, [0.05, 0.05, 0.05, 0.05], [0.1, 0.0, 0.1, 0.2]])
def test_updates_that_make_up_for_lost_periods_open_no_tick(grid: Grid, catching_up: list[float]) -> None:
    assert grid.update(5.0) == 4
    assert grid.updates(catching_up) == [HELD] * 4
    assert grid.updates([1.0 - sum(catching_up), 1.0, 1.0]) == [0, 0, 0]


def test_updates_that_catch_up_slowly_open_one_tick_a_period(grid: Grid) -> None:
    found = grid.updates([11.0, *[0.6] * 50])
    assert found[0] == 10
    ticks = sum(skipped >= 0 for skipped in found[1:26])
    assert ticks == 15  # in 25 x 0.6 periods; the manager is then no longer behind
    assert found.count(HELD) == 10


def test_an_early_update_is_a_tick_and_moves_the_grid(grid: Grid) -> None:
    """The update before it was late, from which the grid had started."""
    assert grid.updates([0.2, 1.0, 1.0, 1.9, 0.1]) == [0, 0, 0, 0, 0]


def test_a_restart_forgets_what_was_skipped(grid: Grid) -> None:
    assert grid.update(5.0) == 4
    grid.restart()
    assert grid.updates([0.2, 1.0]) == [0, 0]


def test_time_that_goes_backwards_counts_as_none(grid: Grid) -> None:
    assert grid.updates([4.0, -2.0, 0.0, 1.0]) == [3, HELD, HELD, 0]
