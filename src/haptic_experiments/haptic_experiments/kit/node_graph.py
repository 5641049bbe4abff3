"""Draws the nodes of an experiment as a graph, with the latencies that were measured between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from haptic_launch.experiment_graph import CLOCK, Edge, evaluation_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from haptic_bags.bags import Bag


def latencies(bag: Bag) -> dict[tuple[str, str], tuple[float, float]]:
    """Computes the time from a node's publishing to another's receiving [s], 50 and 99 %, over a run's last ticks.

    All nodes must have run on one machine: the times are those of its steady clock.
    """
    times = {event.source: event.detail for event in bag.events if event.kind == "times"}
    found = {}
    for target, seen in times.items():
        for source in sorted(seen.keys() & times.keys()):
            sent = times[source]["commanded" if target == CLOCK else "published"]
            ticks, one, other = np.intersect1d(sent[0], seen[source][0], return_indices=True)
            if len(ticks):
                passed = np.array(seen[source][1])[other] - np.array(sent[1])[one]
                found[source, target] = (1e-9 * float(np.median(passed)), 1e-9 * float(np.percentile(passed, 99)))
    return found


_STEP, _SPACE = 3.0, 1.7  #: between two levels of a drawn graph, and between the nodes of one
_FORWARD, _BACK = 0.17, 0.5  #: curvature of an edge per level that it passes, and of one that leads back, per length


def draw(axes: Axes, edges: Sequence[Edge], measured: Mapping[tuple[str, str], tuple[float, float]]) -> None:
    """Draws the graph from left to right; delayed edges are dashed and lead back, on the outside.

    Args:
        axes: axes of the drawing.
        edges: edges of the graph.
        measured: result of `latencies`; may be empty.
    """
    order = evaluation_order(edges)
    level = dict.fromkeys(order, 0)
    for node in order:
        before = [e.source for e in edges if e.target == node and not e.delayed and node != CLOCK]
        level[node] = max((level[source] + 1 for source in before), default=0)
    last = max(level.values()) + 1
    places: dict[str, np.ndarray] = {}
    for x in range(last):
        column = [node for node in order if level[node] == x]
        for i, node in enumerate(column):
            places[node] = np.array([_STEP * x, _SPACE * (0.5 * (len(column) - 1) - i)])
    end = np.array([_STEP * last, 0.0])  # the device once more: the end of the tick
    joined: dict[tuple[str, str, bool], list[str]] = {}
    for edge in edges:
        words = edge.message.rsplit("/", 1)[-1] + (", tick before" if edge.delayed else "")
        joined.setdefault((edge.source, edge.target, edge.delayed), []).append(words)
    heights = [float(place[1]) for place in places.values()]
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for (source, target, delayed), messages in joined.items():
        start, stop = places[source], end if target == CLOCK else places[target]
        along = stop - start
        span = along[0] / _STEP
        height = float(start[1] + stop[1])  # edges curve away from the middle, where the others are
        up, down = (1 if height > 0.0 else -1), (1 if height < 0.0 else -1)
        curvature = _BACK * up if delayed else _FORWARD * (span - 1) * down
        style = "dashed" if delayed else "solid"
        arrow = {"arrowstyle": "-|>", "linestyle": style, "shrinkA": 20, "shrinkB": 20, "color": "0.3"}
        arrow["connectionstyle"] = f"arc3,rad={curvature}"
        axes.annotate("", tuple(stop), tuple(start), arrowprops=arrow)
        words = "\n".join(messages)
        if (source, target) in measured:
            half, most = (1e6 * seconds for seconds in measured[source, target])
            words += f"\n{half:.0f} µs, 99 % {most:.0f} µs"
        middle = 0.5 * (start + stop) + 0.5 * curvature * np.array([along[1], -along[0]])
        heights.append(float(middle[1]))
        axes.text(
            float(middle[0]),
            float(middle[1]),
            words,
            **centred,
            fontsize=7,
            bbox={"fc": "white", "ec": "none", "pad": 1},
        )
    for node, place in [*places.items(), (CLOCK, end)]:
        axes.text(
            float(place[0]), float(place[1]), node, **centred, bbox={"boxstyle": "round", "fc": "#dce9f5", "ec": "0.3"}
        )
    axes.set_xlim(-0.7, end[0] + 0.7)
    axes.set_ylim(min(heights) - 0.6, max(heights) + 0.6)
    axes.set_aspect("equal")
    axes.axis("off")
