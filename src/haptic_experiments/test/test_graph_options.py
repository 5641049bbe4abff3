"""The in-process graph: delayed inputs, changed outputs, parts of a plan, parameters of a recorded run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Event
from haptic_core import commands
from haptic_core.errors import HapticError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.device import DeviceError
from haptic_devices.factories import NODE_PARAMETER_FILE
from haptic_devices.motions.planar import make_plan
from haptic_experiments import graph
from haptic_experiments.graph import Graph
from haptic_experiments.graph_steps import Inputs, Step

DEVICE = {name: spec.default for name, spec in load_parameter_specs(NODE_PARAMETER_FILE).items()}


class Count(Step):
    """Publishes the number of the tick, and keeps what it takes from the step "first"."""

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        self.tick = tick
        seen = inputs.get("count", {}).get("first")
        self.seen = -1 if seen is None else seen
        return commands.NONE

    def output(self, kind: str) -> Any:
        return self.tick

    def row(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def reset(self) -> None:
        self.tick = -1


def counted(delayed: bool, **options: Any) -> list[int]:
    """What the second step takes in five ticks."""
    entries = ["first:count"] if delayed else []
    steps: dict[str, Step] = {
        "first": Count({}),
        "second": Count({"inputs": ["first:count"], "delayed_inputs": entries}),
    }
    loop = graph.make_loop({**DEVICE, "device": "scripted", "sources": ["first", "second"]})
    made = Graph(loop, steps, 1e-3, **options)
    made.run(3)
    return [int(tick) for tick in made.run(5).columns["second"]["seen"]]


def test_inputs_are_of_the_same_tick_of_the_one_before_or_of_an_older_one() -> None:
    assert counted(False) == [0, 1, 2, 3, 4]
    assert counted(True) == [-1, 0, 1, 2, 3]
    assert counted(True, lag={"second": 2}) == [-1, -1, -1, 0, 1]
    assert counted(False, lag={"second": 2}) == [0, 1, 2, 3, 4]  # only what is delayed arrives later


def test_an_output_changes_on_its_way() -> None:
    assert counted(True, filters={("first", "count"): lambda tick: 10 * tick}) == [-1, 0, 10, 20, 30]


def test_a_stop_of_the_device_ends_the_run_where_it_is_asked_for() -> None:
    loop = graph.make_loop({**DEVICE, "device": "scripted", "sources": ["first"]})
    made = Graph(loop, {"first": Count({})}, 1e-3)

    def stop(graph: Graph) -> None:
        if graph.loop.tick == 2:
            graph.loop.stop(1, "a test")

    assert made.run(5, observe=stop).length == 5
    with pytest.raises(DeviceError, match=r"^tick 3: the device has stopped: a test$"):
        made.run(5, observe=stop, raise_on_stop=True)


def test_a_part_of_a_plan_in_the_plane_is_the_plan_s() -> None:
    plan = make_plan("to_and_fro", 1e-3, letters="", strokes=[], rest_duration=1.0, rest_force=1.0)
    names = [phase.name for phase in plan.phases]
    part = plan.part(names[1], names[1])
    start = round(plan.phases[1].start / 1e-3)
    np.testing.assert_array_equal(part.table, plan.table[start : start + len(part.table)])
    assert part.phases[0].start == pytest.approx(0.0, abs=1e-12) and len(part.phases) == 1
    with pytest.raises(ValueError):
        plan.part("no such phase")


def test_a_bag_that_does_not_have_a_node_is_refused() -> None:
    events = [Event(0, "device", "state", {"state": "active", "parameters": {"sources": ["other"]}})]
    bag: Any = SimpleNamespace(path=Path("bag"), custom={"experiment": "friction_impedance"})
    bag.parameters = lambda name: events[0].detail["parameters"] if name == "device" else {}
    bag.topics = {"/joystick/simulation_state": {}}
    with pytest.raises(HapticError, match=r"^bag: nothing is known about the node other$"):
        graph.nodes_of(bag)
    bag.topics = {}
    with pytest.raises(HapticError, match=r"^bag: the device of the run was not simulated$"):
        graph.nodes_of(bag)


def test_a_bag_cannot_open_a_real_device() -> None:
    values = check_all(load_parameter_specs(NODE_PARAMETER_FILE), {"device": "force_dimension", "mode": "realtime"})
    with pytest.raises(HapticError, match="device force_dimension: expected a simulated device"):
        graph.make_device(values)
