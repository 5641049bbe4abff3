"""The report of Fig. 13 on independent solutions, on closed forms, and on runs that are not as claimed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_model_b import analyse, free_growth, slope_of
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.report import Report
from haptic_friction.reference.motions import ramp_response

Make = Callable[..., Bag]

FILE = np.load(Path(__file__).parents[2] / "haptic_friction/test/data/fig13_modelB.npz")
STIFFNESS = [8.3e4, 2.5e5, 7.5e5]
MODELS = ["B", "B", "B", "A", "A", "A"]
PARAMETERS = {
    "models": MODELS,
    "period": 1e-3,
    "mass": [1.0],
    "stiffness": STIFFNESS * 2,
    "damping": [2.0 * K**0.5 for K in STIFFNESS] * 2,
    "friction_force": 10.0,
}


def signals() -> dict[str, np.ndarray]:
    """The independent solutions as the node would report them; tick 0 is at rest."""
    keys = [f"K{K:.1e}_{name}" for name in ("B", "alt") for K in STIFFNESS]
    h, v = (np.column_stack([FILE[f"{key}_{name}"] for key in keys]) for name in ("h", "v"))
    h, v = (np.vstack((np.zeros(6), table)) for table in (h, v))
    return {"force": h, "velocity": v, "sticking": v == 0.0}


@pytest.fixture
def report(scripted_bag: Make) -> Callable[..., Report]:
    """Makes the report of signals."""

    def make(columns: dict[str, np.ndarray], **parameters: Any) -> Report:
        ramp = 0.1 * 1e-3 * np.arange(len(columns["force"]))
        return analyse({"bag": scripted_bag(columns, {**PARAMETERS, **parameters}, velocity=ramp)})

    return make


def test_the_independent_solutions_show_the_claims(report: Callable[..., Report]) -> None:
    result = report(signals())
    assert [claim.shown for claim in result.claims] == [True, True, None, True]
    numbers = result.metrics["runs"]["bag"]
    assert numbers["A_3"]["growth"] == pytest.approx(1.1299, abs=1e-4)
    assert numbers["A"]["growth"] == pytest.approx(0.8305, abs=1e-4)
    assert numbers["A_3"]["roughness_ratio"] > 1000.0 > 2.0 > numbers["B_3"]["roughness_ratio"]
    assert "growth" not in numbers["B"]


def test_the_other_way_round_no_claim_is_shown(report: Callable[..., Report]) -> None:
    """The alternative's signals in the original's columns."""
    swapped = {name: np.roll(table, 3, axis=1) for name, table in signals().items()}
    assert [claim.shown for claim in report(swapped).claims[:2]] == [False, False]


def test_an_original_that_lags_by_some_steps_is_found(report: Callable[..., Report]) -> None:
    late = signals()
    late["force"][5:, :3] = late["force"][:-5, :3].copy()
    assert report(late).claims[0].shown is False


def test_an_original_that_vibrates_a_little_is_found(report: Callable[..., Report]) -> None:
    rough = signals()
    rough["force"][:, 0] += 0.1 * (-1.0) ** np.arange(len(rough["force"]))
    result = report(rough)
    numbers = result.metrics["runs"]["bag"]["B"]
    assert numbers["deviation"] < numbers["force_step"] and result.claims[0].shown is False


def test_an_alternative_that_vibrates_though_it_is_stable_is_found(report: Callable[..., Report]) -> None:
    rough = signals()
    rough["force"][:, 3] += 0.1 * (-1.0) ** np.arange(len(rough["force"]))
    assert report(rough).claims[1].shown is False


def test_another_growth_than_the_eigenvalue_is_found(report: Callable[..., Report]) -> None:
    other = signals()
    other["velocity"][:, 5] = 0.1 + 1e-6 * (-1.05) ** np.arange(len(other["velocity"]))
    other["sticking"][:, 5] = False
    result = report(other)
    assert result.claims[3].shown is False
    assert result.metrics["runs"]["bag"]["A_3"]["growth"] == pytest.approx(1.05, rel=1e-6)


def test_a_longer_period_that_makes_the_alternative_vibrate_shows_the_claim(scripted_bag: Make) -> None:
    """An exact motion at 1 ms, and at 4 ms the same with a zigzag on the alternative."""
    bags = {}
    for name, period in (("bag", 1e-3), ("bag_long", 4e-3)):
        time = period * np.arange(round(0.2 / period) + 1)
        h = ramp_response(time, slope=0.1, mass=1.0, stiffness=8.3e4, damping=2 * 8.3e4**0.5, force=10.0)
        zigzag = 8.0 * (-1.0) ** np.arange(len(h)) * (period > 1e-3)
        own = {"models": ["B", "A"], "stiffness": [8.3e4], "damping": [2 * 8.3e4**0.5], "period": period}
        columns = {"force": np.column_stack((h, h + zigzag)), "velocity": np.zeros((len(h), 2))}
        bags[name] = scripted_bag(columns, {**PARAMETERS, **own}, velocity=0.1 * time)
    claims = analyse(bags).claims
    assert [claim.shown for claim in claims] == [True, None, True, None]
    calm = dict(reversed(bags.items()))
    calm["bag_long"].topics["/script/comparison/state"]["force"][:, 1] = calm["bag_long"].topics[
        "/script/comparison/state"
    ]["force"][:, 0]
    assert analyse(calm).claims[2].shown is False


@pytest.mark.parametrize(
    "change",
    [
        {"models": ["C"] * 6},
        {"law": "stribeck"},
        {"friction_force": 1e4},
        {"damping": [1.0]},
        {"mass": [1000.0]},
    ],
)
def test_another_run_is_not_judged_but_drawn(change: dict[str, Any], report: Callable[..., Report]) -> None:
    result = report(signals(), **change)
    assert [claim.shown for claim in result.claims] == [None] * 4
    assert len(result.figure.axes) == 2


def test_a_model_that_diverges_is_drawn_and_found(report: Callable[..., Report]) -> None:
    broken = signals()
    broken["force"][150:, 0], broken["force"][160:, 5] = np.inf, np.nan
    result = report(broken)
    assert result.claims[0].shown is False
    result.figure.canvas.draw()


def test_another_input_is_no_ramp(scripted_bag: Make) -> None:
    def run(velocity: np.ndarray, **how: Any) -> ScriptedRun:
        return ScriptedRun.from_bag(scripted_bag(signals(), PARAMETERS, velocity=velocity, **how))

    ramp = 0.1 * 1e-3 * np.arange(len(signals()["force"]))
    assert slope_of(run(ramp)) == pytest.approx(0.1)
    for velocity in (ramp + 1e-6, -ramp, np.zeros_like(ramp), 0.1 * np.sin(ramp)):
        assert slope_of(run(velocity)) is None
    assert slope_of(run(ramp, missed=(7,))) is None


def test_growth_is_measured_in_the_first_slide_only(scripted_bag: Make) -> None:
    k = np.arange(60)
    v = np.where(k < 10, 0.0, 0.01 * k + 1e-6 * (-1.1) ** np.clip(k, 0, 40))
    v[40:] = 0.0
    run = ScriptedRun.from_bag(
        scripted_bag({"velocity": v[:, None], "sticking": (v == 0.0)[:, None]}, {**PARAMETERS, "models": ["A"]})
    )
    assert free_growth(run, 0) == pytest.approx(1.1, rel=1e-6)
    still = scripted_bag({"velocity": 0.0 * v[:, None], "sticking": (v > -1)[:, None]}, {**PARAMETERS, "models": ["A"]})
    assert free_growth(ScriptedRun.from_bag(still), 0) is None
