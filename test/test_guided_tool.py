"""The guided tool as a user runs it: real processes, real DDS, a bag, a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from started_runs import assert_same_bits, finished_run, metrics_of, recorded_run

from haptic_bags.bags import Bag
from haptic_core.commands import MOTION, NONE
from haptic_experiments.experiments.cobot_guided_tool.pushing import GuidedRun
from haptic_experiments.kit.node_graph import evaluation_order, latencies
from haptic_launch.experiments import load_experiment

pytestmark = pytest.mark.experiment

NAMESPACE = "/cobotic_hand_controller"
#: the tool has struck the first cube, and pushes it
WORDS = ("cobot_guided_tool", "duration:=1.8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_run(tmp_path_factory.mktemp("guided"), *WORDS)


@pytest.fixture(scope="module")
def bag(finished: Path) -> Bag:
    return Bag(finished / "bag")


def test_three_nodes_do_what_one_process_does_and_every_claim_is_shown(finished: Path) -> None:
    found = metrics_of(finished)
    shown = [claim["shown"] for claim in found["claims"]]
    # nothing rests pressed in so short a run
    assert shown.count(True) == 7 and shown.count(None) == 1, found["claims"]
    n = found["runs"]["bag"]
    split = n["against_split"]
    assert split["motion"] == split["contact"] == split["friction"] == 0.0 and not any(split["bodies"])
    assert n["largest_contact"] > 3.0 and n["way"]["cube_1"] > 0.02  # it was struck, and pushed on


def test_contact_forces_of_bodies_reach_reference_and_hand(bag: Bag) -> None:
    """Where the cube is struck the reference loses what the contact gives, a tick later, for a mass of 0.5 kg."""
    did = GuidedRun.from_bag(bag).did
    force, speed = did.contact, did.velocity[:, 0]
    struck = int(np.abs(force[:, 0]).argmax())
    lost = 0.5 * (speed[struck + 1] - speed[struck]) / 1e-3
    # beside the hand's and the friction's force, some newtons of which most cancel
    assert force[struck, 0] < -3.0 and lost == pytest.approx(force[struck, 0], abs=2.0)


def test_one_source_moves_the_display_and_the_others_answer_none(bag: Bag) -> None:
    commands = bag.topics[f"{NAMESPACE}/device_command"]
    sources, modes = np.array(commands["source"]), commands["mode"]
    ticks = np.arange(len(bag.topics[f"{NAMESPACE}/device_state"]["tick"]))
    for source, mode in (("constraints", MOTION), ("contact", NONE), ("friction", NONE)):
        np.testing.assert_array_equal(commands["tick"][sources == source], ticks)
        assert set(modes[sources == source]) == {mode}
    assert set(bag.topics[f"{NAMESPACE}/device_state"]["status"]) == {0}


def test_the_graph_that_ran_is_the_one_declared(bag: Bag) -> None:
    graph = load_experiment("cobot_guided_tool").graph
    assert evaluation_order(graph)[:2] == ("device", "constraints")
    assert {edge.source for edge in graph if edge.delayed} == {"contact", "friction"}
    assert {edge.target for edge in graph if edge.delayed} == {"constraints"}
    assert latencies(bag).keys() == {(edge.source, edge.target) for edge in graph}
    assert all(0.0 < half <= most for half, most in latencies(bag).values())


def test_a_second_run_in_several_processes_is_the_same_to_the_last_bit(finished: Path, tmp_path: Path) -> None:
    again = recorded_run(tmp_path, WORDS[0], "duration:=0.6", "layout:=processes")
    assert_same_bits(finished / "bag", again, 600)
