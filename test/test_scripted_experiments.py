"""The scripted experiments as a user runs them: real processes, real DDS, bags, the report's claims and numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from started_runs import finished_run, metrics_of

from haptic_bags.bags import Bag
from haptic_friction import CoulombLaw, ModelA, ModelB


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Runs an experiment to its end; gives its directory and metrics."""

    def finished(name: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
        directory = finished_run(tmp_path, name, *arguments)
        assert (directory / "figure.png").read_bytes().startswith(b"\x89PNG")
        return directory, metrics_of(directory)

    return finished


def shown(metrics: dict[str, Any]) -> list[bool | None]:
    return [claim["shown"] for claim in metrics["claims"]]


@pytest.mark.experiment
def test_zero_reaching_figures_6_and_7(run: Callable[..., tuple[Path, dict[str, Any]]]) -> None:
    directory, metrics = run("friction_zero_reaching")
    assert shown(metrics) == [True] * 3
    runs = {name: numbers["A"] for name, numbers in metrics["runs"].items()}
    steps = {name: numbers["first_zero_step"] for name, numbers in runs.items()}
    assert steps == {"bag": 78, "bag_stop_4ms": 20, "bag_reversal_1ms": 73, "bag_reversal_4ms": None}
    model = ModelA(CoulombLaw(8.0), mass=1.0, period=4e-3)
    model.reset(velocity=[1.3])
    state = Bag(directory / "bag_reversal_4ms").topics["/script/comparison/state"]
    np.testing.assert_array_equal(state["tick"], np.arange(51))
    np.testing.assert_array_equal(state["velocity"], model.simulate(np.full((51, 1), -10.0)))


@pytest.mark.experiment
def test_model_b_and_its_alternative_figure_13(run: Callable[..., tuple[Path, dict[str, Any]]]) -> None:
    directory, metrics = run("friction_model_b")
    assert shown(metrics) == [True] * 4
    numbers = metrics["runs"]["bag"]
    assert [numbers[name]["stiffness"] for name in ("B", "B_2", "B_3")] == [8.3e4, 2.5e5, 7.5e5]
    assert numbers["A_3"]["growth"] == pytest.approx(numbers["A_3"]["spectral_radius"], rel=1e-6)
    bag = Bag(directory / "bag")
    model = ModelB(CoulombLaw(10.0), mass=1.0, stiffness=7.5e5, damping=2.0 * 7.5e5**0.5, period=1e-3)
    u = bag.topics["/script/device_state"]["tool_twist"][:, :1]
    np.testing.assert_allclose(u[:, 0], 0.1e-3 * np.arange(201), rtol=1e-12)
    np.testing.assert_array_equal(bag.topics["/script/comparison/state"]["force"][:, 2:3], model.simulate(u))


@pytest.mark.experiment
def test_model_d_and_its_alternative_figure_14(run: Callable[..., tuple[Path, dict[str, Any]]]) -> None:
    _, metrics = run("friction_model_d")
    assert shown(metrics) == [True] * 7
    short, long = metrics["runs"]["bag"], metrics["runs"]["bag_period_4ms"]
    assert [short[name]["sign_changes"] for name in ("D", "D_2", "D_3", "C", "C_2")] == [1] * 5
    assert long["D"]["sign_changes"] == 1 < long["C"]["sign_changes"]
    assert short["C_4"]["left"] < 1e-3 < 0.1 < short["C_5"]["left"]  # T^2 K/M = 0.65 and 0.72


@pytest.mark.experiment
def test_two_contacts_figure_11(run: Callable[..., tuple[Path, dict[str, Any]]]) -> None:
    """Four periods of the base, the last two after the transient."""
    directory, metrics = run("friction_two_contacts", "duration:=5.1")
    assert shown(metrics) == [True] * 3
    numbers = metrics["runs"]["bag"]
    assert [numbers[f"contact_{i}"]["stick_phases_per_period"] for i in (1, 2)] == [[2, 2], [2, 2]]
    bag = Bag(directory / "bag")
    wrench = bag.topics["/script/device_command"]["tool_wrench"]
    np.testing.assert_array_equal(wrench[:, 0], -bag.topics["/script/network/state"]["force"][:, 0])
    assert not wrench[:, 1:].any()


@pytest.mark.experiment
def test_other_arguments_reach_the_models_and_are_not_judged(
    run: Callable[..., tuple[Path, dict[str, Any]]], tmp_path: Path
) -> None:
    script = tmp_path / "push.csv"
    script.write_text("time,force_0\n0.0,0.0\n0.1,12.0\n")
    directory, metrics = run(
        "friction_model_d",
        "models:=[A, dahl]",
        "stiffness:=[100000]",
        "damping:=[0]",
        "mass:=[1, 2]",
        "law:=coulomb",
        "period:=0.002",
        f"script:={script}",
    )
    assert set(shown(metrics)) == {None}
    bag = Bag(directory / "bag")
    parameters = bag.parameters("comparison")
    assert parameters["mass"] == [1.0, 2.0] and parameters["stiffness"] == [1e5]
    assert bag.topics["/script/device_state"]["tool_wrench"][-1, 0] == pytest.approx(12.0)
    assert [path.name for path in directory.glob("bag*")] == ["bag"]
