"""The nodes of an experiment as a graph: who takes what from whom within a tick."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from pydantic import BaseModel, ConfigDict, Field

#: the node at which every tick begins and ends
CLOCK = "device"


class Edge(BaseModel):
    """What one node of an experiment takes from another each tick."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    target: str
    message: str
    delayed: bool = Field(default=False, description="of the tick before: here a cycle is cut")


def evaluation_order(edges: Sequence[Edge]) -> tuple[str, ...]:
    """The nodes in an order in which each has what it takes; the device comes first.

    Args:
        edges: of the graph. Those that end at the device close the tick, delayed ones are of the tick before: both do
            not count.

    Raises:
        ValueError: the others make a cycle; the message names it.
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
