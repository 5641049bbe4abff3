"""Graph of the nodes that a launch file starts: the messages that they exchange within a tick, and recorded topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

from haptic_core.errors import HapticError
from haptic_files.entries import node_and_kind
from haptic_launch.launch_nodes import LaunchedNode

#: node at which every tick begins and ends
CLOCK = "device"
#: device that plays a file and simulates nothing
SCRIPTED = "scripted"
#: topics of a rendering node with one message a tick, by executable
NODE_TOPICS: dict[str, dict[str, str]] = {
    "admittance_constraints/constraint_node": {"state": "ConstrainedReference"},
    "convex_contact/contact_node": {
        "state": "BodyStates",
        "contacts": "ContactArray",
        "statistics": "SolverStatistics",
        "planes": "ContactPlanes",
    },
    "haptic_friction/comparison_node": {"state": "FrictionState"},
    "haptic_friction/friction_node": {"state": "FrictionState"},
    "haptic_friction/network_node": {"state": "FrictionState"},
    "tau_wall_control/wall_node": {"state": "WallState"},
}
#: topics that a node publishes only for another node
_ON_DEMAND = {"planes"}
#: executables that publish a latched scene
_WITH_SCENE = {"convex_contact/contact_node"}
#: types of messages that a node receives from another one, by the kind in its parameter `inputs`
INPUT_MESSAGES = {
    "bodies": "BodyStates",
    "constraints": "ConstrainedReference",
    "contacts": "ContactArray",
    "friction": "FrictionState",
    "planes": "ContactPlanes",
    "wall": "WallState",
}
#: kinds in the parameter `inputs` that a rendering node understands, by executable
INPUT_KINDS: dict[str, tuple[str, ...]] = {
    "admittance_constraints/constraint_node": ("contacts", "friction"),
    "convex_contact/contact_node": ("wall", "friction", "constraints"),
    "haptic_friction/comparison_node": (),
    "haptic_friction/friction_node": ("wall", "contacts", "bodies", "constraints"),
    "haptic_friction/network_node": (),
    "tau_wall_control/wall_node": ("planes",),
}


@dataclass(frozen=True)
class Recorded:
    """Topics of the bag and their types.

    Attributes:
        every_tick: topics with one message a tick, checked for gaps.
        events: latched topics with occasional messages.
    """

    # for pydantic, which reads it as a field of `haptic_launch.experiments.Experiment`
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    every_tick: dict[str, str] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A message that one node of an experiment sends to another each tick.

    Attributes:
        source: name of the node that publishes.
        target: name of the node that receives the message.
        message: full name of the message's type; empty for an input of another package.
        delayed: whether the message is that of the previous tick, which breaks a cycle.
    """

    source: str
    target: str
    message: str
    delayed: bool = False


def evaluation_order(edges: Sequence[Edge]) -> tuple[str, ...]:
    """Sorts the nodes so that each comes after the nodes whose messages it needs; the device comes first.

    Args:
        edges: edges of the graph. Edges to the device, which end the tick, and delayed edges are ignored.

    Raises:
        ValueError: the other edges make a cycle; the message names it.
    """
    graph: dict[str, set[str]] = {CLOCK: set()}
    for edge in edges:
        graph.setdefault(edge.source, set())
        graph.setdefault(edge.target, set())
        if edge.target != CLOCK and not edge.delayed:
            graph[edge.target].add(edge.source)
    for node in graph:
        if node != CLOCK:
            graph[node].add(CLOCK)
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ValueError(f"{' -> '.join(error.args[1])} is a cycle: declare one of its edges delayed") from None


@dataclass(frozen=True)
class ExperimentGraph:
    """Graph of the nodes of an experiment's launch file.

    Attributes:
        clock: topic of the device whose ticks the others answer.
        edges: messages between nodes, in this order: device states, states of the same tick, states of the previous
            tick, commands.
        recorded: topics of the device, and of each rendering node.
    """

    clock: str
    edges: tuple[Edge, ...]
    recorded: Recorded


def graph_of(nodes: Sequence[LaunchedNode]) -> ExperimentGraph:
    """Builds the graph of nodes from their parameters.

    The device is the node with the parameter `sources`, which names the rendering nodes; these name each other in
    `inputs`, `delayed_inputs` and `consumers`. Topics and messages of other packages are not known here.

    Raises:
        HapticError: there is not exactly one device, a source is missing, or the edges that are not delayed make a
            cycle.
    """
    devices = [node for node in nodes if _names(node.parameters, "sources")]
    if len(devices) != 1:
        raise HapticError(f"expected one node with the parameter sources, the device, got {len(devices)}")
    (device,) = devices
    by_name = {node.name: node for node in nodes if node.namespace == device.namespace}
    names = _names(device.parameters, "sources")
    missing = [name for name in names if name not in by_name]
    if missing:
        raise HapticError(f"source {missing[0]} of the device is no node in {device.namespace or '/'}")
    sources = [by_name[name] for name in names]
    taken = [edge for node in sources for edge in _inputs(node)]
    edges = (
        *(Edge(source=CLOCK, target=name, message=_full("DeviceState")) for name in names),
        *(edge for edge in taken if not edge.delayed),
        *(edge for edge in taken if edge.delayed),
        *(Edge(source=name, target=CLOCK, message=_full("DeviceCommand")) for name in names),
    )
    try:
        evaluation_order(edges)
    except ValueError as error:
        raise HapticError(str(error)) from None
    return ExperimentGraph(f"{device.namespace}/device_state", edges, _recorded(device, sources))


def _full(message: str) -> str:
    return f"haptic_msgs/msg/{message}"


def _names(parameters: Mapping[str, Any], name: str) -> list[str]:
    """Returns the entries of a parameter that is a list of names, without empty entries."""
    return [entry for entry in parameters.get(name, ()) if entry]


def _inputs(node: LaunchedNode) -> list[Edge]:
    """Returns the edges of a rendering node's inputs; those that are in `delayed_inputs`, too, are delayed."""
    delayed = _names(node.parameters, "delayed_inputs")
    found = []
    for entry in _names(node.parameters, "inputs"):
        source, kind = node_and_kind(entry)
        message = _full(INPUT_MESSAGES[kind]) if kind in INPUT_MESSAGES else ""
        found.append(Edge(source=source, target=node.name, message=message, delayed=entry in delayed))
    return found


def _recorded(device: LaunchedNode, sources: Sequence[LaunchedNode]) -> Recorded:
    space = device.namespace
    every_tick = {f"{space}/device_state": _full("DeviceState")}
    if device.parameters.get("device") != SCRIPTED:
        every_tick[f"{space}/simulation_state"] = _full("SimulationState")
    every_tick[f"{space}/device_command"] = _full("DeviceCommand")
    events = {f"{space}/tick_event": _full("TickEvent")}
    for node in sources:
        consumed = {entry.partition(":")[2] for entry in _names(node.parameters, "consumers")}
        for topic, message in NODE_TOPICS.get(node.executable, {}).items():
            if topic not in _ON_DEMAND or topic in consumed:
                every_tick[f"{space}/{node.name}/{topic}"] = _full(message)
        if node.executable in _WITH_SCENE:
            events[f"{space}/scene"] = _full("Scene")
    return Recorded(every_tick=every_tick, events=events)
