"""After its first ticks a loop keeps no memory: no list grows, and no object is left to the garbage collector.

The tests compare the blocks of memory and the objects in use before and after 1000 ticks. What a tick allocates and
releases again, such as messages and arrays of an intermediate result, is not counted: a loop does allocate.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from haptic_experiments import graph
from haptic_launch.experiments import share
from haptic_launch.launch_file import load_launch_file

#: ticks after which the first contact is made, and the contact node's memory of the last ticks is full
WARM_UP = 2500
TICKS = 1000
#: blocks that may come and go in so many ticks; one that each tick keeps would be 1000
FEW = 50


def kept(made: graph.Graph, *, measured: bool = False) -> tuple[int, int]:
    """Blocks of memory and objects with references that 1000 ticks of device and renderers leave behind.

    Args:
        made: at its start.
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


#: nodes in one process that print what the ticks after the warm-up keep; {warm_up} and {ticks} are numbers. A whole
#: garbage collection would empty the interpreter's lists of free tuples, which then fill again, a tuple in each tick
NODES = """
import gc, sys
from haptic_core import composition
from haptic_core.flight_recorder import FlightRecorder

first, end = [], FlightRecorder.end

def counted(self, tick):
    end(self, tick)
    if tick in ({warm_up}, {warm_up} + {ticks}) and "device" in self._names:
        gc.disable()
        now = sys.getallocatedblocks(), gc.get_count()[0]
        print("kept", *(after - before for before, after in zip(first, now)), flush=True)
        first[:] = now

FlightRecorder.end = counted
composition.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["friction_impedance", "cobot_guided_tool", "tau_touch_world"])
def test_a_tick_of_nodes_with_their_messages_keeps_nothing(name: str, tmp_path: Path) -> None:
    """Device and rendering nodes in one process, with executor, messages, logging and diagnostics (each second)."""
    arguments = {"layout": "composed", "record": "false", "duration": f"{1e-3 * (WARM_UP + TICKS + 100)}"}
    (nodes,) = load_launch_file(share() / f"launch/{name}.launch.yaml").evaluate(
        arguments, environment=os.environ, parameter_directory=tmp_path
    )
    command = [sys.executable, "-c", NODES.format(warm_up=WARM_UP, ticks=TICKS), *nodes.command[1:]]
    done = subprocess.run(command, env=nodes.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    blocks, objects = map(int, done.stdout.splitlines()[-1].split()[1:])
    assert objects < FEW and blocks < TICKS // 4, (blocks, objects)


def test_memory_that_a_tick_keeps_is_detected() -> None:
    blocks, _ = kept(graph.build("friction_impedance"), measured=True)
    assert blocks > TICKS - FEW
