"""Graphs of the experiments on the TAU with friction, whose nodes one launch file of `launch/include` starts."""

from __future__ import annotations

import pytest

from haptic_launch.experiment_graph import CLOCK, graph_of
from haptic_launch.experiments import load_experiment
from haptic_launch.file_parameters import nodes_of_run
from haptic_launch.launch_file import load_launch_file

#: source and target of each message of the same tick, and of the tick before
GRAPHS: dict[str, tuple[set[str], set[str]]] = {
    "tau_rough_wall": ({"wall > friction"}, set()),
    "dental_probe": ({"contact > wall", "wall > friction"}, set()),
    "tau_touch_world": ({"contact > wall", "wall > friction"}, {"wall > contact", "friction > contact"}),
}


@pytest.mark.parametrize("layout", ["processes", "composed"])
@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_exchange_what_the_experiment_needs(name: str, layout: str) -> None:
    nodes = nodes_of_run(load_launch_file(load_experiment(name).launch_file), {"layout": layout})
    graph = graph_of(nodes)
    edges = [edge for edge in graph.edges if CLOCK not in (edge.source, edge.target)]
    found = tuple({f"{e.source} > {e.target}" for e in edges if e.delayed is delayed} for delayed in (False, True))
    assert found == GRAPHS[name]
    sources = {edge.source for edge in graph.edges if edge.target == CLOCK}
    assert sources == {"wall", "friction"} | ({"contact"} if name != "tau_rough_wall" else set())
    assert {node.name for node in nodes if node.namespace == "/tau"} == {*sources, CLOCK}
    consumers = {node.name: {entry for entry in node.parameters.get("consumers", ()) if entry} for node in nodes}
    for edge in edges:  # a node becomes active once its consumers listen
        assert any(entry.partition(":")[0] == edge.target for entry in consumers[edge.source]), edge


def test_user_can_delay_the_friction_of_the_rough_wall() -> None:
    path = load_experiment("tau_rough_wall").launch_file
    (edge,) = [
        edge
        for edge in graph_of(nodes_of_run(load_launch_file(path), {"delayed_inputs": "[wall]"})).edges
        if CLOCK not in (edge.source, edge.target)
    ]
    assert (edge.source, edge.target, edge.delayed) == ("wall", "friction", True)
