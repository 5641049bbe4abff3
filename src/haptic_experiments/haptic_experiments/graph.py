"""Single-process graph of an experiment, without ROS: device, hand and renderers, stepped in lockstep.

    done = graph.run("friction_impedance", {"duration": "2.0"})     # as a launch file describes it
    done = graph.of_bag(bag).run(ticks)                             # with the parameters of a recorded run
    done.columns["friction"]["force"]                               # (n, 3)
    done.ticks("device_state", "friction/state")                    # named as in a bag

Every tick does what the nodes do: the renderers answer the reading of the device in the order of evaluation, with the
inputs of the same tick or, if delayed, of the tick before; the device adds the answers and advances. The numbers are
those of the nodes to the last bit (``test/test_graph_of_nodes.py``). Passivity, changes of parameters and resets are
left to the nodes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haptic_bags.ticks import Ticks
from haptic_core.errors import HapticError
from haptic_core.parameters import check_all
from haptic_devices.device import Device, DeviceError
from haptic_devices.drivers.driver import Driver
from haptic_devices.factories import find_device
from haptic_devices.loop import OK, TickLoop
from haptic_experiments.graph_steps import Step, find_step
from haptic_files.entries import node_and_kind
from haptic_launch.experiment_graph import CLOCK, SCRIPTED, Edge, evaluation_order, graph_of
from haptic_launch.experiments import load_experiment
from haptic_launch.file_parameters import declared_parameters, nodes_of_run
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes

if TYPE_CHECKING:
    from haptic_bags.bags import Bag

Columns = dict[str, np.ndarray]
Parameters = Mapping[str, Mapping[str, Any]]  #: parameters of nodes, by name of the node

_DEVICE = "haptic_devices/device_node"
#: sensors' values that are kept, and their names in DeviceState and SimulationState
_READING = {
    "position": "joint_position",
    "velocity": "joint_velocity",
    "effort": "joint_effort",
    "tool_pose": "tool_pose",
    "tool_twist": "tool_twist",
    "tool_wrench": "tool_wrench",
}


@dataclass
class Graph:
    """Device and rendering steps of an experiment."""

    loop: TickLoop  #: loop of the device, at its tick
    steps: dict[str, Step]  #: rendering steps in the order of evaluation, by name
    period: float  #: T [s]
    edges: tuple[Edge, ...] = ()  #: inputs of the steps
    length: int | None = None  #: number of ticks of a whole run; None without an end
    #: ticks by which the delayed inputs of a step arrive later than one tick, by name of the step
    lag: Mapping[str, int] = field(default_factory=dict)
    #: functions that change an output before the steps that take it, by source and kind
    filters: Mapping[tuple[str, str], Callable[[Any], Any]] = field(default_factory=dict)
    #: durations of the step's answers, by name of the step [s]
    times: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._inputs = {name: _inputs(step.values, self.lag.get(name, 0)) for name, step in self.steps.items()}
        delays: dict[tuple[str, str], int] = {}
        for source, kind, delay in (entry for entries in self._inputs.values() for entry in entries):
            delays[source, kind] = max(delays.get((source, kind), 0), delay)
        self._late = {key: deque[Any](maxlen=delay) for key, delay in delays.items() if delay}

    def restart(self) -> Any:
        """Returns device and steps to their start; returns the first reading."""
        for step in self.steps.values():
            step.reset()
        for line in self._late.values():
            line.clear()
        self.times = {name: [] for name in self.steps}
        self.loop.device.activate()
        self.loop.restart(0)
        return self.loop.device.read()

    def replace(self, name: str, step: Step) -> None:
        """Puts another step in the place of one that has the same inputs."""
        self.steps[name] = step

    def advance(self, reading: Any) -> None:
        """Lets every step answer the present tick, and offers the answers to the device."""
        loop, outputs = self.loop, dict[tuple[str, str], Any]()
        for name, step in self.steps.items():
            inputs: dict[str, dict[str, Any]] = {}
            for source, kind, delay in self._inputs[name]:
                if delay:
                    line = self._late[source, kind]
                    value = line[-delay] if len(line) >= delay else None
                else:
                    if (source, kind) not in outputs:
                        outputs[source, kind] = self._output(source, kind)
                    value = outputs[source, kind]
                inputs.setdefault(kind, {})[source] = value
            command = step.command
            command.source, command.tick = name, loop.tick
            start = time.perf_counter()
            command.mode = step.answer(loop.tick, reading, loop.status == OK, inputs)
            self.times.setdefault(name, []).append(time.perf_counter() - start)
            loop.offer(command)
        for (source, kind), line in self._late.items():
            line.append(self._output(source, kind))

    def _states(self) -> list[str]:
        truth = [] if self.loop.device.truth() is None else ["simulation_state"]
        return ["device_state", *truth, *(f"{name}/state" for name in self.steps)]

    def _output(self, source: str, kind: str) -> Any:
        value, change = self.steps[source].output(kind), self.filters.get((source, kind))
        return value if change is None else change(value)

    def run(
        self,
        ticks: int | None = None,
        *,
        topics: Sequence[str] | None = None,
        observe: Callable[[Graph], None] | None = None,
        raise_on_stop: bool = False,
    ) -> GraphRun:
        """Runs from the start.

        Args:
            ticks: number of ticks; None: as many as the nodes would run.
            topics: topics that are kept, named as in a bag, as "contact/planes"; None: the states of device and nodes.
            observe: called in every tick after the answers, before the device advances.
            raise_on_stop: a safe stop of the device ends the run; else the graph goes on, as the nodes do.

        Raises:
            HapticError: The run has no end.
            DeviceError: The device has stopped.
        """
        length = ticks or self.length
        if length is None:
            raise HapticError("the run has no end: expected the argument duration or a number of ticks")
        reading, loop = self.restart(), self.loop
        rows: dict[str, dict[str, list[Any]]] = {}
        kept = self._states() if topics is None else topics
        answered = [(_column_name(topic), *topic.split("/")) for topic in kept if "/" in topic]
        for tick in range(length):
            if "device_state" in kept:
                _keep(rows, "device", {name: getattr(reading, name) for name in _READING})
            if "simulation_state" in kept:
                truth = loop.device.truth()
                _keep(rows, "truth", {name: getattr(truth, name) for name in _READING})
            self.advance(reading)
            for topic, name, kind in answered:
                step = self.steps[name]
                _keep(rows, topic, step.row() if kind == "state" else step.topic(kind))
            if observe is not None:
                observe(self)
            if tick + 1 < length:
                reading = loop.advance()
            if raise_on_stop and loop.status != OK:
                raise DeviceError(f"tick {loop.tick}: the device has stopped: {loop.reason}")
        columns = {name: {key: _column(values) for key, values in kept.items()} for name, kept in rows.items()}
        return GraphRun(columns, self)


@dataclass(frozen=True)
class GraphRun:
    """Result of a run."""

    #: one row a tick, rows of objects where their length varies: "device", its "truth" if it is simulated, states of
    #: nodes by the node's name, others by the topic
    columns: dict[str, Columns]
    graph: Graph  #: at its end

    def __repr__(self) -> str:
        fields = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in self.columns.items())
        return f"GraphRun({self.length} ticks; {fields})"

    @property
    def length(self) -> int:
        """Number of ticks."""
        return len(next(iter(next(iter(self.columns.values())).values())))

    def ticks(self, *topics: str) -> Ticks:
        """Returns topics with the names of topics and fields that a bag has, see `haptic_bags.bags.Bag.ticks`."""
        count, period = np.arange(self.length), np.full(self.length, self.graph.period)
        tables: dict[str, dict[str, Any]] = {}
        for topic in topics:
            names = {} if "/" in topic else _READING
            columns = {names.get(name, name): column for name, column in self.columns[_column_name(topic)].items()}
            tables[topic] = {"period": period, **columns, "tick": count}
        return Ticks.align(Path("graph"), tables, least=1)

    def step_time(self, *steps: str) -> float:
        """Computes the median over the ticks of the time that some steps, or all of them, take together [s]."""
        times = self.graph.times
        return float(np.median(np.sum([times[name] for name in steps or times], axis=0)))


# ---- graphs of nodes ------------------------------------------------------------------------------------


def build(experiment: str | Path, arguments: Mapping[str, str] | None = None) -> Graph:
    """Makes device and renderers that an experiment's launch file describes.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: arguments of the launch file.

    Raises:
        HapticError: The launch file, or a parameter of a node, is refused.
    """
    path = experiment if isinstance(experiment, Path) else load_experiment(experiment).launch_file
    return of_nodes(nodes_of_run(load_launch_file(path), arguments or {}))


def nodes_of(bag: Bag) -> list[LaunchedNode]:
    """Returns device and rendering nodes of a recorded run, with the parameters that they had at its start.

    Raises:
        HapticError: The device was not simulated, the bag has no start of a node, or its experiment has no such node.
    """
    device = bag.parameters(CLOCK)
    if device.get("device") != SCRIPTED and not any(topic.endswith("/simulation_state") for topic in bag.topics):
        raise HapticError(f"{bag.path}: the device of the run was not simulated")
    launched = launched_nodes(load_launch_file(load_experiment(bag.custom["experiment"]).launch_file))
    executables = {node.name: node.executable for node in launched}
    found = [LaunchedNode(CLOCK, "", _DEVICE, device)]
    for name in device.get("sources", ()):
        if name not in executables or not bag.parameters(name):
            raise HapticError(f"{bag.path}: nothing is known about the node {name}")
        found.append(LaunchedNode(name, "", executables[name], bag.parameters(name)))
    return found


def of_bag(bag: Bag, **options: Any) -> Graph:
    """Makes device and renderers of a recorded run; the options are those of `of_nodes`."""
    return of_nodes(nodes_of(bag), **options)


def of_nodes(
    nodes: Sequence[LaunchedNode],
    *,
    only: Sequence[str] | None = None,
    changes: Parameters | None = None,
    phases: tuple[str, str] = ("", ""),
    lag: Mapping[str, int] | None = None,
    filters: Mapping[tuple[str, str], Callable[[Any], Any]] | None = None,
    steps: Mapping[str, Callable[[Mapping[str, Any]], Step]] | None = None,
) -> Graph:
    """Makes the graph of nodes with their parameters.

    Args:
        nodes: device and rendering nodes.
        only: names of the rendering nodes that take part; default: all. Inputs from others are left out.
        changes: parameters that replace those of the nodes.
        phases: first and last phase of the hand's plan that are played, by name; empty: the plan's ends.
        lag, filters: attributes of the `Graph`.
        steps: functions that make a step of a node's parameters in place of its executable's, by name of the node.

    Raises:
        HapticError: A parameter is refused, or the nodes make no graph.
    """
    if only is not None:
        nodes = [_among(node, only) for node in nodes if node.name in only or _is_device(node)]
    changed = [replace(node, parameters={**node.parameters, **(changes or {}).get(node.name, {})}) for node in nodes]
    edges = graph_of(changed).edges
    by_name = {node.name: node for node in changed}
    (device_node,) = filter(_is_device, changed)
    p = checked(device_node)
    loop = make_loop(p, phases=phases)
    length = p["duration"] or loop.device.end_time
    made: dict[str, Step] = {}
    for name in evaluation_order(edges):
        if name in p["sources"]:
            node = by_name[name]
            made[name] = ((steps or {}).get(name) or find_step(node.executable))(checked(node))
    ticks = round(length / p["period"]) if length != float("inf") else None
    return Graph(loop, made, p["period"], edges, ticks, lag or {}, filters or {})


def _is_device(node: LaunchedNode) -> bool:
    return bool(node.parameters.get("sources"))


def _among(node: LaunchedNode, names: Sequence[str]) -> LaunchedNode:
    """Removes sources and inputs of a node that are not among the names."""
    kept = {
        parameter: [entry for entry in node.parameters[parameter] if entry.partition(":")[0] in names]
        for parameter in ("sources", "inputs", "delayed_inputs", "consumers")
        if parameter in node.parameters
    }
    return replace(node, parameters={**node.parameters, **kept})


def make_device(values: Mapping[str, Any], phases: tuple[str, str] = ("", "")) -> Device:
    """Makes a configured device of the parameters of the device node.

    Args:
        values: all parameters.
        phases: first and last phase of the hand's plan that are played, by name; empty: the plan's ends.

    Raises:
        HapticError: The device is a real one.
    """
    factory = find_device(values["device"])
    if isinstance(factory, Driver):  # a bag must not open a device, nor load its vendor's library
        raise HapticError(f"device {factory.name}: expected a simulated device, got a driver of a real one")
    device: Any = factory(dict(values))
    if any(phases) and device.hand is not None:
        device = device.playing(device.hand.plan.part(*phases))
    device.configure(values["period"])
    made: Device = device
    return made


def make_loop(values: Mapping[str, Any], phases: tuple[str, str] = ("", "")) -> TickLoop:
    """Makes the loop of a device in lockstep; the arguments are those of `make_device`."""
    return TickLoop(
        make_device(values, phases),
        values["sources"],
        command_delay_ticks=values["command_delay_ticks"],
        period=values["period"],
        engagement_time=values["engagement_time"],
    )


def run(experiment: str | Path, arguments: Mapping[str, str] | None = None, *, ticks: int | None = None) -> GraphRun:
    """Runs an experiment in one process.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: arguments of the launch file.
        ticks: number of ticks; None: as many as the nodes would run.

    Raises:
        HapticError: The launch file, or a parameter of a node, is refused; or the run has no end.
    """
    return build(experiment, arguments).run(ticks)


def _column_name(topic: str) -> str:
    return {"device_state": "device", "simulation_state": "truth"}.get(topic, topic.removesuffix("/state"))


def _keep(rows: dict[str, dict[str, list[Any]]], name: str, row: Mapping[str, Any]) -> None:
    kept = rows.setdefault(name, {})
    for key, value in row.items():
        kept.setdefault(key, []).append(np.array(value))


def _column(values: list[np.ndarray]) -> np.ndarray:
    """Stacks one row a tick; makes an array of objects where the number of walls or contacts varies."""
    if len({value.shape for value in values}) == 1:
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _inputs(values: Mapping[str, Any], lag: int) -> list[tuple[str, str, int]]:
    """Returns source, kind and delay [ticks] of the inputs that a node's parameters name."""
    delayed = set(values.get("delayed_inputs", ()))
    entries = [entry for entry in values.get("inputs", ()) if entry]
    return [(*node_and_kind(entry), 1 + lag if entry in delayed else 0) for entry in entries]


def checked(node: LaunchedNode) -> dict[str, Any]:
    """Checks the parameters of a node as the node does; returns all of them."""
    specs = declared_parameters(node.executable)
    if specs is None:
        raise HapticError(f"{node.executable}: its package is not installed, or has no parameter file for it")
    return dict(check_all(specs, node.parameters))
