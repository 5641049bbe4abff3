"""Graphs of nodes: the order within a tick, cycles, what is drawn, latencies."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from haptic_bags.bags import Event
from haptic_core.composition import node_class
from haptic_core.errors import HapticError
from haptic_core.rendering_node import RenderingNode
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_launch.experiment_graph import INPUT_KINDS, INPUT_MESSAGES, NODE_TOPICS, Edge, evaluation_order, graph_of
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes


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


def test_a_launch_file_with_a_cycle_is_refused(tmp_path: Path) -> None:
    experiment = load_experiment("tau_rough_wall")
    include = experiment.launch_file.parent / "include/tau_friction_nodes.launch.yaml"
    text, nodes = experiment.launch_file.read_text(), include.read_text()
    wall = "    - {name: inputs, value: $(var wall_inputs)}"
    assert text.count(include.name) == nodes.count(wall) == 1

    def graph(inputs: str) -> tuple[Edge, ...]:
        (tmp_path / "nodes.launch.yaml").write_text(nodes.replace(wall, inputs))
        path = f"$(find-pkg-share haptic_bringup)/launch/include/{include.name}"
        (tmp_path / "cycle.launch.yaml").write_text(text.replace(path, f"{tmp_path}/nodes.launch.yaml"))
        return graph_of(launched_nodes(load_launch_file(tmp_path / "cycle.launch.yaml"))).edges

    back = Edge(source="friction", target="wall", message="haptic_msgs/msg/FrictionState")
    with pytest.raises(HapticError, match="is a cycle: declare one of its edges delayed"):
        graph("    - {name: inputs, value: [friction]}")
    edges = graph("    - {name: inputs, value: [friction]}\n    - {name: delayed_inputs, value: [friction]}")
    assert set(edges) - set(experiment.graph) == {replace(back, delayed=True)}


def node(name: str, executable: str = "my_lab/spring_node", **parameters: Any) -> LaunchedNode:
    return LaunchedNode(name, "/arm", executable, parameters)


def test_of_two_messages_of_a_node_one_may_be_that_of_the_tick_before() -> None:
    device = node("device", sources=["world", "friction"], device="arm")
    inputs = {"inputs": ["world:contacts", "world:bodies"], "delayed_inputs": ["world:contacts"]}
    friction = node("friction", "haptic_friction/friction_node", **inputs)
    found = graph_of([device, node("world", "convex_contact/contact_node"), friction]).edges
    assert {(edge.message.rpartition("/")[2], edge.delayed) for edge in found if edge.source == "world"} == {
        ("ContactArray", True), ("BodyStates", False), ("DeviceCommand", False)
    }  # fmt: skip
    back = node("world", "convex_contact/contact_node", inputs=["friction:friction"])
    with pytest.raises(HapticError, match="is a cycle: declare one of its edges delayed"):
        graph_of([device, back, friction])


def test_messages_of_other_packages_are_edges() -> None:
    device = node("device", sources=["taker", "giver"], device="arm")
    taker, giver = node("taker", inputs=["giver:force"]), node("giver")
    edges = graph_of([device, taker, giver]).edges
    assert Edge(source="giver", target="taker", message="") in edges
    assert evaluation_order(edges) == ("device", "giver", "taker")
    with pytest.raises(HapticError, match="is a cycle: declare one of its edges delayed"):
        graph_of([device, taker, node("giver", inputs=["taker:force"])])


def test_topics_are_those_of_the_nodes_that_the_device_waits_for() -> None:
    device = node("device", sources=["friction", "spring"], device="arm")
    friction = node("friction", "haptic_friction/friction_node", inputs=[""], consumers=["spring"])
    found = graph_of([node("viewer"), friction, node("spring", inputs=["friction"]), device])
    assert found.clock == "/arm/device_state"
    assert list(found.recorded.every_tick) == [
        *("/arm/device_state", "/arm/simulation_state", "/arm/device_command", "/arm/friction/state"),
    ]
    assert evaluation_order(found.edges) == ("device", "friction", "spring")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("spring")], "expected one node with the parameter sources, the device, got 0"),
        ([node("a", sources=["b"]), node("b", sources=["a"])], "expected one node .*, got 2"),
        ([node("device", sources=["spring"])], r"source spring of the device is no node in /arm"),
    ],
)
def test_a_launch_file_without_one_device_and_its_sources_is_refused(nodes: list[LaunchedNode], message: str) -> None:
    with pytest.raises(HapticError, match=f"^{message}$"):
        graph_of(nodes)


@pytest.mark.parametrize("executable", sorted(NODE_TOPICS))
def test_table_of_topics_agrees_with_the_node_classes(executable: str) -> None:
    kind = node_class(executable)
    assert issubclass(kind, RenderingNode)
    topics = NODE_TOPICS[executable]
    assert topics["state"] == kind.state_type.__name__
    source = Path(inspect.getfile(kind)).read_text()
    made = re.findall(r'create_lifecycle_publisher\((\w+), "~/(\w+)", qos\)', source)
    assert {(name, message) for message, name in made} == set(topics.items()) - {("state", topics["state"])}
    assert INPUT_KINDS[executable] == tuple(kind.input_types)
    for name, taken in kind.input_types.items():
        assert INPUT_MESSAGES[name] == taken.message.__name__


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
