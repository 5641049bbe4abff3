"""The contact experiments as a user runs them: real processes, real DDS, bags, the report's claims and numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_answers import contact_answers, in_a_fresh_process
from started_runs import environment

from convex_contact.tosses import load_tosses
from haptic_bringup.bags import Bag
from haptic_bringup.reports.contact import ContactRun, rms_error, trajectory
from haptic_core.commands import NONE, WRENCH

DOMAIN = 97

Run = Callable[..., tuple[Path, dict[str, Any]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs an experiment to its end; gives its directory and metrics."""

    def finished(domain: int, name: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
        command = [sys.executable, "-m", "haptic_bringup", "run", name, *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment(domain), check=True, stdin=subprocess.DEVNULL)
        (directory,) = (tmp_path / "runs").iterdir()
        assert (directory / "figure.png").read_bytes().startswith(b"\x89PNG")
        return directory, json.loads((directory / "metrics.json").read_text())

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


def test_the_box_on_the_belt_figures_3_and_4(run: Run) -> None:
    directory, metrics = run(DOMAIN, "conveyor_belt")
    assert shown(metrics) == [True] * 6
    assert len(list(directory.glob("bag*"))) == len(metrics["runs"]) == 6
    bag = Bag(directory / "bag_sap")
    check_against_the_library(bag, "/script")
    np.testing.assert_array_equal(bag.topics["/script/contact/state"]["tick"], np.arange(201))
    assert set(bag.topics["/script/device_command"]["mode"]) == {NONE}
    belt = bag.topics["/script/contact/state"]["velocity"][:, 0]
    # v = A w sin(w t) at the end of each step
    np.testing.assert_allclose(belt[1:], 0.4 * np.pi * np.sin(2 * np.pi * 0.01 * np.arange(1, 201)), atol=1e-12)


def test_the_sphere_figures_6_and_7(run: Run) -> None:
    directory, metrics = run(DOMAIN + 1, "falling_sphere", "approximation:=lagged")
    assert shown(metrics) == [True] * 5
    run_of = ContactRun.from_bag(Bag(directory / "bag"))
    # before it touches: symplectic Euler of the fall, z = h - g T^2 n (n + 1)/2
    n = np.arange(30)
    np.testing.assert_allclose(run_of.position[:30, 1, 2], 0.05 - 9.81 * 4e-6 * n * (n + 1) / 2, atol=1e-12)


def test_a_hand_pushes_objects_about(run: Run) -> None:
    directory, metrics = run(DOMAIN + 2, "touch_clutter", "duration:=2.0", "command_delay_ticks:=0")
    claims = metrics["claims"]
    assert [claim["shown"] for claim in claims] == [True] * 4, claims
    bag = Bag(directory / "bag")
    check_against_the_library(bag, "/joystick")
    assert set(bag.topics["/joystick/device_command"]["mode"]) == {WRENCH}
    force = bag.topics["/joystick/device_command"]["tool_wrench"]
    assert np.abs(force[:, :2]).max() > 1.0 and not force[:, 2:].any()  # the height is held, nothing turns
    run_of = ContactRun.from_bag(bag, "/joystick")
    assert run_of.names[run_of.body("finger")] == "finger" and len(run_of.names) == 16


def test_a_toss_beside_its_recording(run: Run) -> None:
    directory, metrics = run(DOMAIN + 3, "cube_toss", "approximation:=lagged", "toss:=18")
    numbers = metrics["runs"]["lagged"]
    toss = load_tosses()[18]
    assert numbers["toss"] == toss.number and numbers["samples"] == toss.samples
    assert shown(metrics)[:2] == [True, True] and 0.0 < numbers["position_error"] < 0.5
    check_against_the_library(Bag(directory / "bag"), "/script")


def test_the_error_of_a_study_is_its_definition() -> None:
    """sqrt(1/T int |p - p_ref|^2 dt) of a straight line that runs away with 2 m/s from its reference."""
    t = np.linspace(0.0, 3.0, 3001)
    path = np.column_stack([2.0 * t, np.zeros_like(t), np.ones_like(t)])
    reference = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    # 2 T/sqrt(3); the trapezoids of a parabola at 1 ms
    assert rms_error(t, path, np.array([0.0, 3.0]), reference) == pytest.approx(2.0 * 3.0 / np.sqrt(3.0), rel=1e-6)


def test_a_trajectory_of_a_study_is_the_simulator_s() -> None:
    from convex_contact.scenes import falling_sphere

    t, path, seen = trajectory(falling_sphere(), "ball", period=1e-3, duration=0.02, observe=lambda s: s.time)
    np.testing.assert_allclose(t, np.arange(21) * 1e-3, atol=1e-15)
    np.testing.assert_allclose(seen, t[1:], atol=1e-15)
    n = np.arange(21)
    np.testing.assert_allclose(path[:, 2], 0.05 - 9.81 * 1e-6 * n * (n + 1) / 2, atol=1e-14)
