"""The nodes of an experiment as a graph: who takes what from whom within a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

if TYPE_CHECKING:
    from haptic_bringup.bags import Bag
    from haptic_bringup.experiments import Edge

#: the node at which every tick begins and ends
CLOCK = "device"


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


def latencies(bag: Bag) -> dict[tuple[str, str], tuple[float, float]]:
    """Time from a node's publishing to another's receiving [s], 50 and 99 %, over the last ticks of a run.

    All nodes must have run on one machine: the times are those of its steady clock.
    """
    times = {event.source: event.detail for event in bag.events if event.kind == "times"}
    found = {}
    for target, seen in times.items():
        for source in seen.keys() & times.keys():
            ticks, one, other = np.intersect1d(times[source]["published"][0], seen[source][0], return_indices=True)
            if len(ticks):
                passed = np.array(seen[source][1])[other] - np.array(times[source]["published"][1])[one]
                found[source, target] = (1e-9 * float(np.median(passed)), 1e-9 * float(np.percentile(passed, 99)))
    return found


def draw(axes: Axes, edges: Sequence[Edge], measured: Mapping[tuple[str, str], tuple[float, float]]) -> None:
    """Draws the graph from left to right; delayed edges are dashed.

    Args:
        axes: to draw on.
        edges: of the graph.
        measured: what `latencies` found; may be empty.
    """
    order = evaluation_order(edges)
    level = dict.fromkeys(order, 0)
    for node in order:
        before = [e.source for e in edges if e.target == node and not e.delayed and node != CLOCK]
        level[node] = max((level[source] + 1 for source in before), default=0)
    last = max(level.values()) + 1
    places: dict[str, tuple[float, float]] = {}
    for x in range(last):
        column = [node for node in order if level[node] == x]
        for i, node in enumerate(column):
            places[node] = (float(x), 0.5 * (len(column) - 1) - i + 0.35 * (x % 2))
    end = (float(last), 0.0)  # the device once more: the end of the tick
    for edge in edges:
        start, stop = places[edge.source], end if edge.target == CLOCK else places[edge.target]
        style = "dashed" if edge.delayed else "solid"
        arrow = {"arrowstyle": "-|>", "linestyle": style, "shrinkA": 22, "shrinkB": 22, "color": "0.3"}
        axes.annotate("", stop, start, arrowprops=arrow)
        words = edge.message.rsplit("/", 1)[-1] + (", tick before" if edge.delayed else "")
        if (edge.source, edge.target) in measured:
            half, most = (1e6 * seconds for seconds in measured[edge.source, edge.target])
            words += f"\n{half:.0f} µs, 99 % {most:.0f} µs"
        middle = (0.5 * (start[0] + stop[0]), 0.5 * (start[1] + stop[1]))
        axes.text(*middle, words, ha="center", va="center", fontsize=7, bbox={"fc": "white", "ec": "none", "pad": 1})
    for node, place in [*places.items(), (CLOCK, end)]:
        axes.text(*place, node, ha="center", va="center", bbox={"boxstyle": "round", "fc": "#dce9f5", "ec": "0.3"})
    heights = [y for _, y in places.values()]
    axes.set_xlim(-0.4, last + 0.4)
    axes.set_ylim(min(heights) - 0.5, max(heights) + 0.5)
    axes.axis("off")
