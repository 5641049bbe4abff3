"""Graphs of nodes: the order within a tick, cycles, what is drawn, latencies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from pydantic import ValidationError

from haptic_bags.bags import Event
from haptic_experiments.kit.node_graph import draw, evaluation_order, latencies
from haptic_launch.experiments import Edge, Experiment, load_experiment


def edges(*words: str) -> list[Edge]:
    """Edges of "a>b", delayed "a~b"."""
    made = []
    for word in words:
        source, target = word.replace("~", ">").split(">")
        made.append(Edge(source=source, target=target, message="haptic_msgs/msg/WallState", delayed="~" in word))
    return made


def test_nodes_come_after_what_they_take() -> None:
    order = evaluation_order(edges("wall>friction", "device>wall", "contact>wall", "friction>device", "device>contact"))
    assert order == ("device", "contact", "wall", "friction")


def test_a_cycle_must_be_cut() -> None:
    with pytest.raises(ValueError, match="is a cycle: declare one of its edges delayed") as caught:
        evaluation_order(edges("contact>wall", "wall>contact", "device>contact", "wall>device"))
    assert "contact -> wall -> contact" in str(caught.value) or "wall -> contact -> wall" in str(caught.value)
    assert evaluation_order(edges("contact>wall", "wall~contact", "device>contact")) == ("device", "contact", "wall")


def test_metadata_with_a_cycle_are_refused() -> None:
    known = load_experiment("tau_rough_wall").model_dump()
    back = {"source": "friction", "target": "wall", "message": "haptic_msgs/msg/FrictionState"}
    with pytest.raises(ValidationError, match="is a cycle"):
        Experiment(**{**known, "graph": [*known["graph"], back]})
    Experiment(**{**known, "graph": [*known["graph"], {**back, "delayed": True}]})


def test_every_edge_is_drawn() -> None:
    axes = Figure().subplots()
    graph = edges("device>wall", "wall>friction", "friction~wall", "friction>device", "wall>device")
    draw(axes, graph, {("wall", "friction"): (2e-4, 5e-4)})
    words = [text.get_text() for text in axes.texts]
    assert [word for word in words if word in ("device", "wall", "friction")] == [
        "device",
        "wall",
        "friction",
        "device",
    ]
    assert "WallState\n200 µs, 99 % 500 µs" in words and "WallState, tick before" in words
    arrows = [text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert [arrow.get_linestyle() for arrow in arrows].count("dashed") == 1 and len(arrows) == len(graph)


def test_latencies_join_the_ticks_that_both_have() -> None:
    def times(source: str, **seen: Any) -> Event:
        return Event(0, source, "times", seen)

    wall = times("wall", published=[[1, 2, 3], [1000, 2000, 3000]], commanded=[[1], [900]], device=[[1], [0]])
    device = times("device", published=[[1], [0]], wall=[[1], [1000]])
    friction = times("friction", published=[[2], [0]], wall=[[2, 3, 4], [2400, 3600, 9000]], old=0)
    found = latencies(SimpleNamespace(events=[wall, friction, device, Event(0, "wall", "state", {})]))  # type: ignore[arg-type]
    assert found["wall", "device"] == pytest.approx((100e-9, 100e-9)) and found["device", "wall"] == (0.0, 0.0)
    assert found.keys() == {("wall", "friction"), ("wall", "device"), ("device", "wall")}
    assert found["wall", "friction"] == pytest.approx((500e-9, 598e-9))
