"""The contact experiments as a user runs them: real processes, real DDS, bags, the report's claims and numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from library_answers import contact_answers, in_a_fresh_process
from started_runs import finished_run, metrics_of

from convex_contact.scenes.grasp import Grasp, hold
from convex_contact.scenes.tosses import load_tosses
from haptic_bags.bags import Bag
from haptic_core.commands import NONE, WRENCH
from haptic_experiments.experiments.grasp import offset
from haptic_experiments.kit.contact import ContactRun
from haptic_experiments.studies.arm_pushes_ball import PushSettings, tasks
from haptic_experiments.studies.arm_pushes_ball import report as study_report

Run = Callable[..., tuple[Path, dict[str, Any]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs an experiment to its end; gives its directory and metrics."""

    def finished(name: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
        directory = finished_run(tmp_path, name, *arguments)
        assert (directory / "figure.png").read_bytes().startswith(b"\x89PNG")
        return directory, metrics_of(directory)

    return finished


def shown(metrics: dict[str, Any]) -> list[bool | None]:
    return [claim["shown"] for claim in metrics["claims"]]


def check_against_the_library(bag: Bag, namespace: str) -> None:
    """Wrenches and bodies are, bit for bit, what the library makes of the recorded device states."""
    device, command, state = (
        bag.topics[f"{namespace}/{n}"] for n in ("device_state", "device_command", "contact/state")
    )
    answers = in_a_fresh_process(contact_answers, bag.parameters("contact"), device["tool_pose"], device["tool_twist"])
    np.testing.assert_array_equal(command["tool_wrench"], answers.pop("wrench"))
    for name, values in answers.items():
        np.testing.assert_array_equal(state[name], values, err_msg=name)


@pytest.mark.experiment
def test_the_box_on_the_belt_figures_3_and_4(run: Run) -> None:
    directory, metrics = run("conveyor_belt")
    assert shown(metrics) == [True] * 6
    assert len(list(directory.glob("bag*"))) == len(metrics["runs"]) == 6
    bag = Bag(directory / "bag_sap")
    check_against_the_library(bag, "/script")
    np.testing.assert_array_equal(bag.topics["/script/contact/state"]["tick"], np.arange(201))
    assert set(bag.topics["/script/device_command"]["mode"]) == {NONE}
    belt = bag.topics["/script/contact/state"]["velocity"][:, 0]
    # v = A w sin(w t) at the end of each step
    np.testing.assert_allclose(belt[1:], 0.4 * np.pi * np.sin(2 * np.pi * 0.01 * np.arange(1, 201)), atol=1e-12)


@pytest.mark.experiment
def test_the_sphere_figures_6_and_7(run: Run) -> None:
    directory, metrics = run("falling_sphere", "approximation:=lagged")
    assert shown(metrics) == [None, None, True, True, True]  # the first two are about three approximations
    run_of = ContactRun.from_bag(Bag(directory / "bag"))
    # before it touches: symplectic Euler of the fall, z = h - g T^2 n (n + 1)/2
    n = np.arange(30)
    np.testing.assert_allclose(run_of.position[:30, 1, 2], 0.05 - 9.81 * 4e-6 * n * (n + 1) / 2, atol=1e-12)


@pytest.mark.experiment
def test_a_hand_pushes_objects_about(run: Run) -> None:
    directory, metrics = run("touch_clutter", "duration:=2.0", "command_delay_ticks:=0")
    claims = metrics["claims"]
    assert [claim["shown"] for claim in claims] == [True] * 4, claims
    bag = Bag(directory / "bag")
    check_against_the_library(bag, "/joystick")
    assert set(bag.topics["/joystick/device_command"]["mode"]) == {WRENCH}
    force = bag.topics["/joystick/device_command"]["tool_wrench"]
    assert np.abs(force[:, :2]).max() > 1.0 and not force[:, 2:].any()  # the height is held, nothing turns
    run_of = ContactRun.from_bag(bag, "/joystick")
    assert run_of.names[run_of.body("finger")] == "finger" and len(run_of.names) == 16


@pytest.mark.experiment
def test_a_file_of_one_s_own_is_touched(run: Run, tmp_path: Path) -> None:
    mesh = tmp_path / "brick.stl"
    trimesh.creation.box((0.04, 0.04, 0.04)).apply_translation((-0.04, -0.08, 0.0)).export(mesh)
    directory, metrics = run("touch", f"world:={mesh}", "duration:=0.6", "command_delay_ticks:=0")
    run_of = ContactRun.from_bag(Bag(directory / "bag"), "/joystick")
    assert run_of.names == ["brick", "table", "finger"] and len(shown(metrics)) == 4
    check_against_the_library(Bag(directory / "bag"), "/joystick")


@pytest.mark.experiment
def test_a_toss_beside_its_recording(run: Run) -> None:
    directory, metrics = run("cube_toss", "approximation:=lagged", "toss:=18")
    numbers = metrics["runs"]["lagged"]
    toss = load_tosses()[18]
    assert numbers["toss"] == toss.number and numbers["samples"] == toss.samples
    assert shown(metrics)[:2] == [True, True] and 0.0 < numbers["position_error"] < 0.5
    check_against_the_library(Bag(directory / "bag"), "/script")


@pytest.mark.experiment
def test_a_rod_in_a_gripper_on_a_circle(run: Run) -> None:
    directory, metrics = run("grasp", "approximation:=lagged", "duration:=1.8", "world_parameters:=['frequency=1.8']")
    numbers = metrics["runs"]["lagged"]
    assert shown(metrics) == [None, True, None, None, True]
    bag = Bag(directory / "bag")
    check_against_the_library(bag, "/script")
    alone = hold(Grasp(frequency=1.8), period=0.01, approximation="lagged", duration=1.8)
    assert numbers["time_to_failure_s"] == pytest.approx(alone.time_to_failure, abs=1e-9)
    rod = offset(ContactRun.from_bag(bag), Grasp(frequency=1.8))
    np.testing.assert_allclose(rod[: len(alone.offset)], alone.offset, atol=1e-12)


@pytest.mark.experiment
def test_an_arm_pushes_a_ball_figure_25(run: Run) -> None:
    """Cut short: the ball does not arrive yet, but the cost is lower, and the node plays what was found."""
    directory, metrics = run("arm_pushes_ball", "optimizer_iterations:=4", "effort_limit:=9.0")
    claims = {claim["claim"]: claim["shown"] for claim in metrics["claims"]}
    assert list(claims.values()) == [False, True, True, True, None], metrics["claims"]
    assert claims["The node plays the optimised inputs: its ball moves as in the optimisation."]
    assert metrics["iterations"] == 4 and metrics["largest_effort"] <= 9.0
    run_of = ContactRun.from_bag(Bag(directory / "bag"))
    np.testing.assert_array_equal(run_of.tick, np.arange(51))
    check_against_the_library(Bag(directory / "bag"), "/script")


@pytest.mark.study
def test_study_of_the_arm_agrees_with_finite_differences(tmp_path: Path) -> None:
    settings = PushSettings(max_iterations=1, stiction_tolerance=0.1)
    work = tasks(settings)
    results = {name: task.run() for name, task in work.items()}
    # one linearisation, one line search: what differences of 1e-6 leave
    np.testing.assert_allclose(results["differences"]["costs"], results["derivatives"]["costs"], rtol=1e-4)
    made = study_report(settings, results, tmp_path)
    assert made.metrics["iterations"] == 1 and made.metrics["gradient_error"] < 1e-4
    assert len(made.tables[0].rows) == 1
    assert "differences" not in tasks(PushSettings(differences=False))
    for change in ({"target_x": 0.5}, {"target_y": 0.0}, {"effort_limit": 3.0}):
        one, two = settings.problem(), PushSettings(**change).problem()
        assert one.limit != two.limit or not np.array_equal(one.target, two.target)


@pytest.mark.experiment
def test_a_finger_of_gears_moves_in_the_loop_as_in_the_library(run: Run) -> None:
    """Its first ticks; the phases of Fig. 24 take 0.36 s, and their claims are judged on synthetic signals."""
    directory, metrics = run("barrett_finger", "approximation:=lagged", "duration:=0.004")
    assert shown(metrics) == [None] * 7, metrics["claims"]
    assert metrics["runs"]["lagged"]["mean_contacts"] > 0
    check_against_the_library(Bag(directory / "bag"), "/script")


@pytest.mark.experiment
def test_an_arm_with_deformable_fingers_grips_a_peg_and_lifts_it(run: Run) -> None:
    """The first 2.4 s of the hand's plan, on the coarsest mesh: grip and lift."""
    directory, metrics = run("deformable_peg", "duration:=2.4", "world_parameters:=['cells=1', 'layers=1']")
    numbers = next(iter(metrics["runs"].values()))
    assert 0.06 < numbers["largest_lift_m"] < 0.09 and not numbers["inserted"]  # the plan lifts by 85 mm
    assert 1.0 < numbers["grip_force_N"] < 4.5  # half of the motor's 8 N at most, and what friction adds
    bag = Bag(directory / "bag")
    check_against_the_library(bag, "/joystick")
    run_of = ContactRun.from_bag(bag, "/joystick")
    way = run_of.position[:, run_of.body("arm/link_7"), 2]
    assert np.ptp(way - run_of.tool[:, 1]) < 0.02  # the gripper's height is the tool's, but for the lag of the coupling


@pytest.mark.experiment
def test_contact_surfaces_beside_closed_forms(run: Run) -> None:
    directory, metrics = run("hydroelastic_patch", "approximation:=lagged")
    assert shown(metrics) == [True] * 4, metrics["claims"]
    check_against_the_library(Bag(directory / "bag"), "/script")
