"""The experiment tau_touch_world as a user runs it: real processes, real DDS, bags, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from started_runs import assert_same_bits, finished_run, metrics_of, recorded_run

from haptic_bags.bags import Bag
from haptic_experiments.kit.node_graph import evaluation_order, latencies
from haptic_launch.experiments import load_experiment

pytestmark = pytest.mark.experiment

#: ticks of the second run
SHORT = 1000
#: claims that the scene does not reach, and the report says so
NOT_REACHED = ("Nor is it then deeper in the top of the box",)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_run(tmp_path_factory.mktemp("whole"), "tau_touch_world")


@pytest.fixture(scope="module")
def metrics(whole: Path) -> dict[str, Any]:
    return metrics_of(whole)


def test_claims_are_shown_but_for_those_that_are_known(metrics: dict[str, Any]) -> None:
    for claim in metrics["claims"]:
        known = claim["claim"].startswith(NOT_REACHED)
        assert claim["shown"] is (not known), claim


def test_the_nodes_do_what_one_process_does(metrics: dict[str, Any]) -> None:
    numbers = metrics["runs"]["bag"]
    assert numbers["against_split"] == {"motion": 0.0, "bodies": 0.0, "push": 0.0, "friction": 0.0}
    assert numbers["missed"] == 0.0 and numbers["ticks"] == 22200


def test_a_second_run_in_several_processes_is_the_same_bit_for_bit(whole: Path, tmp_path: Path) -> None:
    again = recorded_run(tmp_path, "tau_touch_world", f"duration:={1e-3 * SHORT}", "layout:=processes")
    assert_same_bits(whole / "bag", again, SHORT)


def test_the_declared_graph_is_the_one_that_ran(whole: Path) -> None:
    graph = load_experiment("tau_touch_world").graph
    assert evaluation_order(graph) == ("device", "contact", "wall", "friction")
    assert {(edge.source, edge.target) for edge in graph if edge.delayed} == {
        ("wall", "contact"),
        ("friction", "contact"),
    }
    bag = Bag(whole / "bag")
    assert latencies(bag).keys() == {(edge.source, edge.target) for edge in graph}
    delayed = {name.partition(":")[0] for name in bag.parameters("contact")["delayed_inputs"]}
    assert delayed == {edge.source for edge in graph if edge.delayed}
