"""An experiment in one process, without ROS: device, hand and renderers of its launch file, stepped in lockstep.

    done = graph.run("friction_impedance", {"duration": "2.0"})
    done.columns["device"]["position"]           # (n, joints)
    done.columns["friction"]["force"]            # (n, 3)

Every tick does what the nodes do: the renderers answer the reading of the device in the order of evaluation, with the
inputs of the same tick or, if delayed, of the tick before; the device adds the answers and advances. The numbers are
those of the nodes to the last bit (``test/test_graph_of_nodes.py``). Passivity, changes of parameters and resets are
left to the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core.errors import HapticError
from haptic_core.parameters import check_all
from haptic_core.tick_inputs import node_and_kind
from haptic_devices.factories import find_device
from haptic_devices.loop import OK, TickLoop
from haptic_experiments.graph_steps import STEPS, Step
from haptic_launch.experiment_graph import Edge, evaluation_order, graph_of
from haptic_launch.experiments import load_experiment
from haptic_launch.file_parameters import declared_parameters, nodes_of_run
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode

Columns = dict[str, np.ndarray]


@dataclass
class Graph:
    """Device and rendering steps of an experiment.

    Attributes:
        loop: of the device, at its tick.
        steps: in the order of evaluation, by name.
        edges: inputs that they take from each other.
        length: number of ticks of a whole run; None without an end.
    """

    loop: TickLoop
    steps: dict[str, Step]
    edges: tuple[Edge, ...]
    length: int | None
    _inputs: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    _before: dict[tuple[str, str], Any] = field(default_factory=dict)

    def advance(self, reading: Any) -> None:
        """Lets every step answer the present tick, and offers the answers to the device."""
        loop, outputs = self.loop, dict[tuple[str, str], Any]()
        for name, step in self.steps.items():
            inputs: dict[str, dict[str, Any]] = {}
            for source, kind, delayed in self._inputs[name]:
                known = self._before if delayed else outputs
                if not delayed and (source, kind) not in outputs:
                    outputs[source, kind] = self.steps[source].output(kind)
                inputs.setdefault(kind, {})[source] = known.get((source, kind))
            command = step.command
            command.source, command.tick = name, loop.tick
            command.mode = step.answer(loop.tick, reading, loop.status == OK, inputs)
            loop.offer(command)
        late = {(source, kind) for entries in self._inputs.values() for source, kind, delayed in entries if delayed}
        self._before = {(source, kind): self.steps[source].output(kind) for source, kind in late}


@dataclass(frozen=True)
class GraphRun:
    """What a run has left.

    Attributes:
        columns: of the device and of each step, one row a tick; rows of objects where their length varies.
        graph: at its end.
    """

    columns: dict[str, Columns]
    graph: Graph


def build(experiment: str | Path, arguments: Mapping[str, str] | None = None) -> Graph:
    """Makes device and renderers that an experiment's launch file describes.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: of the launch file.

    Raises:
        HapticError: the launch file, or a parameter of a node, is refused.
    """
    path = experiment if isinstance(experiment, Path) else load_experiment(experiment).launch_file
    nodes = nodes_of_run(load_launch_file(path), arguments or {})
    edges = graph_of(nodes).edges
    by_name = {node.name: node for node in nodes}
    (device_node,) = (node for node in nodes if node.parameters.get("sources"))
    p = _checked(device_node)
    device = find_device(p["device"])(p)
    device.configure(p["period"])
    loop = TickLoop(
        device,
        p["sources"],
        command_delay_ticks=p["command_delay_ticks"],
        period=p["period"],
        engagement_time=p["engagement_time"],
    )
    length = p["duration"] or device.end_time
    order = [name for name in evaluation_order(edges) if name in p["sources"]]
    steps = {name: STEPS[by_name[name].executable](_checked(by_name[name])) for name in order}
    inputs = {name: _inputs(steps[name].values) for name in order}
    ticks = round(length / p["period"]) if length != float("inf") else None
    return Graph(loop, steps, edges, ticks, inputs)


def run(experiment: str | Path, arguments: Mapping[str, str] | None = None, *, ticks: int | None = None) -> GraphRun:
    """Runs an experiment in one process.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: of the launch file.
        ticks: number of ticks; None: as many as the nodes would run.

    Raises:
        HapticError: the launch file, or a parameter of a node, is refused; or the run has no end.
    """
    graph = build(experiment, arguments)
    length = ticks or graph.length
    if length is None:
        raise HapticError("the run has no end: expected the argument duration or a number of ticks")
    loop, device = graph.loop, graph.loop.device
    device.activate()
    loop.restart(0)
    reading = device.read()
    rows: dict[str, dict[str, list[Any]]] = {}
    for tick in range(length):
        names = ("position", "velocity", "effort", "tool_pose", "tool_twist", "tool_wrench")
        _keep(rows, "device", {name: getattr(reading, name) for name in names})
        graph.advance(reading)
        for name, step in graph.steps.items():
            _keep(rows, name, step.row())
        if tick + 1 < length:
            reading = loop.advance()
    columns = {name: {key: _column(values) for key, values in kept.items()} for name, kept in rows.items()}
    return GraphRun(columns, graph)


def _keep(rows: dict[str, dict[str, list[Any]]], name: str, row: Mapping[str, Any]) -> None:
    kept = rows.setdefault(name, {})
    for key, value in row.items():
        kept.setdefault(key, []).append(np.array(value))


def _column(values: list[np.ndarray]) -> np.ndarray:
    """One row a tick; an array of objects where the number of walls or contacts varies."""
    if len({value.shape for value in values}) == 1:
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _inputs(values: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Source, kind and delay of the inputs that a node's parameters name."""
    delayed = set(values.get("delayed_inputs", ()))
    return [(*node_and_kind(entry), entry in delayed) for entry in values.get("inputs", ()) if entry]


def _checked(node: LaunchedNode) -> dict[str, Any]:
    """All parameters of a node, checked as the node checks them."""
    specs = declared_parameters(node.executable)
    if specs is None:
        raise HapticError(f"{node.executable}: its package is not installed, or has no parameter file for it")
    return dict(check_all(specs, node.parameters))
