"""friction_admittance as a user runs it: real processes, real DDS, a bag, a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from started_runs import finished_run, metrics_of

from haptic_bags.bags import Bag
from haptic_core.commands import POSITION, VELOCITY
from haptic_friction import CoulombLaw, ModelA

TICKS = 1900


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of 1.9 s, up to shortly before c, with other numbers than the experiment's."""
    words = ("duration:=1.9", "command_delay_ticks:=1", "compensation:=parallel", "mass:=2.5", "friction_force:=5")
    hand = "hand_parameters:=[expected_resistance=5.0, stiffness=450.0]"
    return finished_run(tmp_path_factory.mktemp("finished"), "friction_admittance", *words, hand)


@pytest.fixture(scope="module")
def bag(finished: Path) -> Bag:
    return Bag(finished / "bag")


def test_the_run_leaves_one_bag_and_a_report(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {"bag", "metrics.json", "figure.png", "report.html", "run.yaml"}
    assert (finished / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_arguments_reach_the_nodes(bag: Bag) -> None:
    friction, device = bag.parameters("friction"), bag.started("device")
    assert (friction["rendering"], friction["model"], friction["mass"], friction["friction_force"]) == (
        "admittance",
        "A",
        2.5,
        5.0,
    )
    assert device["device"]["compensation"] == "parallel"
    assert (device["hand"]["expected_resistance"], device["hand"]["stiffness"]) == (5.0, 450.0)
    assert device["parameters"]["command_delay_ticks"] == 1
    assert [phase["name"] for phase in device["phases"]] == ["a-b", "b-c", "c", "c-d", "d-e", "e"]


def test_the_commanded_motion_is_model_a_of_the_measured_force(bag: Bag) -> None:
    state, command = (bag.topics[f"/five_bar/{name}"] for name in ("device_state", "device_command"))
    np.testing.assert_array_equal(state["tick"], np.arange(TICKS))
    assert state["has_force_sensor"].all() and (command["motion_fields"] == POSITION | VELOCITY).all()
    model = ModelA(CoulombLaw(5.0), mass=2.5, period=1e-3, dimension=2)
    velocity = model.simulate(state["tool_wrench"][:, 0:2])
    np.testing.assert_array_equal(command["tool_twist"][:, 0:2], velocity)
    way = state["tool_pose"][0, 0:2] + np.cumsum(1e-3 * velocity, axis=0)
    np.testing.assert_allclose(command["tool_pose"][:, 0:2], way, rtol=0, atol=1e-12)
    assert np.abs(velocity).max() > 0.1


def test_the_report_judges_what_the_run_reaches(finished: Path) -> None:
    metrics = metrics_of(finished)
    verdicts = [claim["shown"] for claim in metrics["claims"]]
    # straight motion, curve, rest; isotropy (few directions), annihilation; the smallest mass is a finding;
    # compensation has nothing beside it
    assert verdicts[:3] == [True, None, None] and verdicts[4:] == [True, None, None, None]
    joints = metrics["runs"]["bag"]["joints"]
    assert joints["residual_rms"] < 0.2 * joints["friction_rms"]
