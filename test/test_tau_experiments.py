"""The experiments of the TAU device as a user runs them: real processes, real DDS, bags, reports."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from library_answers import in_a_fresh_process, wall_efforts
from rich.console import Console
from started_runs import finish, finished_run, metrics_of, run_command

from haptic_bags.bags import Bag
from haptic_core.commands import EFFORT, NONE
from haptic_experiments.kit.node_graph import latencies
from haptic_experiments.report import write_report
from haptic_launch.experiments import load_experiment

T = 1e-3
#: the experiments, with arguments that leave one variant
RUNS = {
    "tau_wall": ("command_delay_ticks:=0",),
    "tau_wall_tour": ("scheme:=mopc",),
    "tau_angled_wall": ("command_delay_ticks:=1",),
    "tau_corner": ("command_delay_ticks:=1", "friction_coefficient:=0.2"),
}
ROUGH = ("tau_rough_wall", "delayed_inputs:=[wall]")
FILES = {"bag", "metrics.json", "figure.png", "report.html", "run.yaml"}
TOPICS = ("device_state", "simulation_state", "device_command", "wall/state")


class Finished(dict[str, Path]):
    """Directory of each experiment's whole run, made when it is first asked for."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory

    def __missing__(self, name: str) -> Path:
        self[name] = finished_run(self._factory.mktemp(name), name, *RUNS[name])
        return self[name]


class Bags(dict[str, Bag]):
    """The bags of these runs."""

    def __init__(self, finished: Finished) -> None:
        self._finished = finished

    def __missing__(self, name: str) -> Bag:
        self[name] = Bag(self._finished[name] / "bag")
        return self[name]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return Finished(tmp_path_factory)


@pytest.fixture(scope="module")
def bags(finished: Finished) -> Bags:
    return Bags(finished)


@pytest.mark.experiment
@pytest.mark.parametrize("name", RUNS)
def test_a_run_leaves_its_files_and_every_tick(name: str, finished: Finished, bags: Bags) -> None:
    assert {path.name for path in finished[name].iterdir()} == FILES
    bag = bags[name]
    ticks = np.arange(round(bag.started("device")["phases"][-1]["end"] / T))
    for topic in TOPICS:
        np.testing.assert_array_equal(bag.topics[f"/tau/{topic}"]["tick"], ticks, err_msg=topic)
    assert set(bag.topics["/tau/device_command"]["mode"]) == {EFFORT}
    assert set(bag.topics["/tau/device_state"]["status"]) == {0}


@pytest.mark.experiment
@pytest.mark.parametrize(("name", "claims"), [("tau_wall", 4), ("tau_wall_tour", 4), ("tau_angled_wall", 5),
                                              ("tau_corner", 3)])  # fmt: skip
def test_every_claim_is_shown(name: str, claims: int, finished: Finished) -> None:
    """All but the time of the control step, which other programs on the machine have a part in."""
    found = [claim for claim in metrics_of(finished[name])["claims"] if "control step" not in claim["claim"]]
    assert len(found) == claims and all(claim["shown"] is True for claim in found), found


@pytest.mark.experiment
@pytest.mark.parametrize("name", RUNS)
def test_efforts_are_the_library_s_bit_for_bit(name: str, bags: Bags) -> None:
    bag = bags[name]
    device = bag.topics["/tau/device_state"]
    states = (device["joint_position"], device["joint_velocity"])
    efforts = in_a_fresh_process(wall_efforts, bag.parameters("wall"), *states)
    np.testing.assert_array_equal(bag.topics["/tau/device_command"]["joint_effort"], efforts)
    delay = bag.parameters("device")["command_delay_ticks"]
    acting = bag.topics["/tau/simulation_state"]["applied_effort"]
    np.testing.assert_array_equal(acting[1 + delay :], efforts[: len(efforts) - 1 - delay])


@pytest.mark.experiment
def test_the_numbers_are_those_of_the_true_tool(finished: Finished, bags: Bags) -> None:
    n = metrics_of(finished["tau_wall"])["runs"]["bag"]
    z = bags["tau_wall"].topics["/tau/simulation_state"]["tool_pose"][:, 2]
    assert n["largest_penetration"] == pytest.approx(-z.min(), rel=1e-9)
    (step,) = (push for push in n["pushes"] if push["name"] == "step 13 N")
    (phase,) = (p for p in bags["tau_wall"].started("device")["phases"] if p["name"] == "step 13 N")
    part = z[round(phase["start"] / T) : round(phase["end"] / T)]
    assert step["penetration"] == pytest.approx(-part.min(), rel=1e-9)
    assert step["force"] == pytest.approx(13.2, abs=0.1)  # and the 0.2 N of the touch
    assert step["stiffness"] == pytest.approx(step["force"] / step["penetration"], rel=1e-12)
    (tap,) = n["taps"]
    assert tap["speed"] == pytest.approx(0.5, rel=0.05)
    assert n["saturated"] < 0.01 and n["contact"] > 0.4


@pytest.mark.experiment
def test_switched_gains_jump_at_the_borders(finished: Finished) -> None:
    borders = metrics_of(finished["tau_wall_tour"])["runs"]["bag"]["borders"]
    assert (len(borders["operating_points"]), borders["crossed"]) == (9, 12)
    assert borders["largest_effort_at"] == pytest.approx(0.06, rel=0.2)  # docs/tau.md, "Walls"


@pytest.mark.experiment
@pytest.mark.parametrize("name", RUNS)
def test_the_report_is_rebuilt_from_bag_and_run_file(name: str, finished: Finished, tmp_path: Path) -> None:
    for part in ("bag", "run.yaml"):
        os.symlink(finished[name] / part, tmp_path / part)
    write_report(tmp_path, Console(file=io.StringIO()))
    for file in ("metrics.json", "figure.png", "report.html"):
        assert (tmp_path / file).read_bytes() == (finished[name] / file).read_bytes(), file


@pytest.mark.experiment
def test_a_push_that_the_motors_cannot_hold_ends_in_a_safe_stop(tmp_path: Path) -> None:
    """Motors of a third of the torque: the node stops, the tool falls into its stops, the report says so."""
    words = ("tau_wall", "command_delay_ticks:=0", "longest_saturation:=0.1", "duration:=4.0")
    weak = str([f"actuators.{name}" for name in ("peak_torque_joint=0.4", "peak_torque_motor=0.04",
                                                 "continuous_torque_joint=0.2")])  # fmt: skip
    output = finish(tmp_path, run_command(*words, f"device_parameters:={weak}", f"model_parameters:={weak}"))
    assert "the torque limits have acted for" in output
    (directory,) = (tmp_path / "runs").iterdir()
    bag = Bag(directory / "bag")
    (event,) = [event for event in bag.events if event.kind == "error"]
    assert event.source == "wall" and "torque limits" in event.detail["reason"]
    mode = bag.topics["/tau/device_command"]["mode"]
    assert set(mode[: event.tick - 1]) == {EFFORT} and set(mode[event.tick :]) == {NONE}
    assert not bag.topics["/tau/simulation_state"]["applied_effort"][event.tick + 2 :].any()
    assert metrics_of(directory)["runs"]["bag"]["refused_ticks"] == np.sum(mode == NONE)


@pytest.mark.realtime
def test_in_realtime_the_wall_holds(tmp_path: Path) -> None:
    words = ("mode:=realtime", "period:=0.01", "duration:=1.6", "watchdog_periods:=500")
    directory = finished_run(tmp_path, "tau_wall", *words)
    bag = Bag(directory / "bag")
    assert bag.custom["mode"] == "realtime"
    assert set(bag.topics["/tau/device_state"]["status"]) == {0}
    z = bag.topics["/tau/simulation_state"]["tool_pose"][:, 2]
    # it is pushed with 5 N for 0.5 s, 2 mm in lockstep; without a wall the tool goes to its stop at 30 mm
    unanswered = np.setdiff1d(bag.topics["/tau/device_state"]["tick"], bag.topics["/tau/device_command"]["tick"])
    assert z.min() > -10e-3 or len(unanswered) > 8  # of 160: the machine was elsewhere


@pytest.mark.experiment
def test_two_nodes_do_what_one_process_does(tmp_path: Path) -> None:
    """Wall and friction node, with the push of the tick before; the report compares to the last bit."""
    directory = finished_run(tmp_path, *ROUGH)
    found, bag = metrics_of(directory), Bag(directory / "bag")
    assert [c["shown"] for c in found["claims"]] == [True] * 6, found["claims"]
    n = found["runs"]["bag"]
    assert n["against_split"] == {"motion": 0.0, "friction": 0.0, "dissipated": 0.0}
    assert n["delayed_inputs"] == ["wall"]
    commands = bag.topics["/tau/device_command"]
    for source in ("wall", "friction"):
        ticks = commands["tick"][np.array(commands["source"]) == source]
        np.testing.assert_array_equal(ticks, np.arange(len(bag.topics["/tau/device_state"]["tick"])))
    # declared and run graph agree: all edges that can be timed were
    graph = load_experiment("tau_rough_wall").graph
    timed = {(edge.source, edge.target) for edge in graph}
    assert latencies(bag).keys() == timed
    assert all(0.0 < half <= most for half, most in latencies(bag).values())


def test_run_that_ends_before_the_wall_lists_the_claims_it_did_not_reach(tmp_path: Path) -> None:
    output = finish(tmp_path, run_command(*ROUGH, "duration:=0.3"))
    assert "[nodes] " in output
    (directory,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in directory.iterdir()} == FILES
    ticks = Bag(directory / "bag").topics["/tau/device_state"]["tick"]
    np.testing.assert_array_equal(ticks, np.arange(300))
    found = metrics_of(directory)
    assert [c["shown"] for c in found["claims"]] == [True] + [None] * 5, found["claims"]
    n = found["runs"]["bag"]
    assert n["coefficient"] == {} and n["lean"] is n["chatter"] is n["stable_stiffness"] is None


@pytest.mark.experiment
def test_a_probe_on_a_tooth_is_three_nodes_and_one_process(tmp_path: Path) -> None:
    """All that the report claims holds, and nodes and one process do not differ."""
    words = ("dental_probe", "command_delay_ticks:=0")
    directory = finished_run(tmp_path, *words)
    found = metrics_of(directory)
    assert [c["shown"] for c in found["claims"]] == [True] * 9, found["claims"]
    n = found["runs"]["bag"]
    assert set(n["against_split"].values()) == {0.0}
    assert [tap["name"] for tap in n["taps"]] == ["tap 0.05 m/s", "tap 0.1 m/s", "tap 0.2 m/s"]
    graph = load_experiment("dental_probe").graph
    assert latencies(Bag(directory / "bag")).keys() == {(edge.source, edge.target) for edge in graph}
