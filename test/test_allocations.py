"""After its first ticks a loop keeps nothing that it allocates: no list grows, the garbage collector has no work."""

from __future__ import annotations

import gc
import sys

import pytest

from haptic_experiments import graph

#: ticks after which the first contact is made, and the contact node's memory of the last ticks is full
WARM_UP = 2500
TICKS = 1000
#: blocks that may come and go in so many ticks; one that each tick keeps would be 1000
FEW = 50


def kept(made: graph.Graph, *, measured: bool = False) -> tuple[int, int]:
    """Blocks of memory and objects with references that 1000 ticks of device and renderers leave behind.

    Args:
        made: At its start.
        measured: whether the graph's own records of each tick count, too.
    """
    reading = made.restart()
    gc.collect()
    gc.disable()
    try:
        for tick in range(WARM_UP + TICKS):
            if tick == WARM_UP:
                blocks, objects = sys.getallocatedblocks(), gc.get_count()[0]
            made.advance(reading)
            for times in () if measured else made.times.values():
                times.clear()
            reading = made.loop.advance()
        return sys.getallocatedblocks() - blocks, gc.get_count()[0] - objects
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "friction_impedance",
        "friction_admittance",
        "rolling_disk",
        pytest.param("tau_rough_wall", marks=pytest.mark.slow),
        pytest.param("touch_clutter", marks=pytest.mark.slow),
        pytest.param("tau_touch_world", marks=pytest.mark.slow),
        pytest.param("cobot_guided_tool", marks=pytest.mark.slow),
    ],
)
def test_a_tick_of_device_and_renderers_keeps_nothing(name: str) -> None:
    blocks, objects = kept(graph.build(name))
    assert blocks < FEW and objects < FEW, (blocks, objects)


def test_what_a_tick_keeps_is_seen() -> None:
    blocks, _ = kept(graph.build("friction_impedance"), measured=True)
    assert blocks > TICKS - FEW
