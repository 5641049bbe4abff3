"""The report of Figs. 6 and 7 on independent solutions of model A, and on runs that are not as claimed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_zero_reaching import analyse
from haptic_experiments.report import Report

Make = Callable[..., Bag]

RUNS = json.loads((Path(__file__).parents[2] / "haptic_friction/test/data/fig06_07_modelA.json").read_text())["runs"]
PAPER = {f"bag{place}": run for place, run in enumerate(RUNS) if run["fig"] != "fig6_text"}


@pytest.fixture
def report(scripted_bag: Make) -> Callable[..., Report]:
    """Makes the report of the independent solutions, changed."""

    def make(change: Callable[[np.ndarray, np.ndarray], Any] = lambda v, f: None, **parameters: Any) -> Report:
        bags = {}
        for name, run in PAPER.items():
            v, f = np.array(run["v"]), np.array(run["f"])
            change(v, f)
            own = {"models": ["A"], "mass": [run["M"]], "friction_force": run["F"], "initial_velocity": run["v0"]}
            bags[name] = scripted_bag(
                {"velocity": v[:, None], "force": f[:, None], "sticking": (v == 0.0)[:, None]},
                {**own, "period": run["T"], **parameters},
                force=np.full(len(v), run["h"]),
            )
        return analyse(bags)

    return make


def test_the_independent_solutions_show_every_claim(report: Callable[..., Report]) -> None:
    result = report()
    assert [claim.shown for claim in result.claims] == [True] * 3
    firsts = [result.metrics["runs"][name]["A"]["first_zero_step"] for name in PAPER]
    assert firsts == [run["first_exact_zero_step"] for run in PAPER.values()] == [78, 20, 73, None]
    assert "step 78 (0.078 s)" in result.claims[0].measured and "step 20 (0.08 s)" in result.claims[0].measured


def chatter(v: np.ndarray, f: np.ndarray) -> None:
    """After the stop the velocity changes its sign every step, as that of an explicit sign function does."""
    rest = np.flatnonzero(v == 0.0)[1:]
    v[rest] = 1e-6 * (-1.0) ** rest


def creep(v: np.ndarray, f: np.ndarray) -> None:
    v[v == 0.0] = 1e-9


def drift(v: np.ndarray, f: np.ndarray) -> None:
    v[np.flatnonzero(v == 0.0)[1:]] = 1e-9


def jump(v: np.ndarray, f: np.ndarray) -> None:
    """Back and forth once while it still slides."""
    v[5] = -v[5]


def late(v: np.ndarray, f: np.ndarray) -> None:
    v[1:] = v[:-1].copy()


def harder(v: np.ndarray, f: np.ndarray) -> None:
    f *= 1.001


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (chatter, [False, True, False]),
        (creep, [False, True, False]),
        (drift, [False, True, False]),
        (jump, [False, False, False]),
        (late, [False, True, False]),
        (harder, [True, True, False]),
    ],
)
def test_a_run_that_is_not_as_claimed_is_found(
    change: Callable[..., None], shown: list[bool], report: Callable[..., Report]
) -> None:
    assert [claim.shown for claim in report(change).claims] == shown


def test_a_run_that_turns_round_twice_is_not_a_reversal(report: Callable[..., Report]) -> None:
    def swing(v: np.ndarray, f: np.ndarray) -> None:
        v[-1] = abs(v[-1])

    assert report(swing).claims[1].shown is False


@pytest.mark.parametrize(
    "change",
    [{"models": ["dahl"]}, {"law": "stribeck"}, {"initial_velocity": -0.7}, {"initial_velocity": 0.0}, {"mass": [9.0]}],
)
def test_another_run_is_not_judged_but_drawn(change: dict[str, Any], report: Callable[..., Report]) -> None:
    result = report(**change)
    assert [claim.shown for claim in result.claims] == [None] * 3
    assert result.figure.axes and "runs" in result.metrics


def test_missed_ticks_and_a_changing_pull_are_not_judged(scripted_bag: Make) -> None:
    run = PAPER["bag0"]
    v = np.array(run["v"])[:, None]
    parameters = {"models": ["A"], "mass": [1.0], "friction_force": 8.0, "initial_velocity": 0.7, "period": 1e-3}
    pull = np.full(len(v), -1.0)
    pull[-1] = -2.0
    changing = scripted_bag({"velocity": v}, parameters, force=pull)
    missed = scripted_bag({"velocity": v}, parameters, missed=(5,), force=np.full(len(v), -1.0))
    assert {claim.shown for claim in analyse({"bag": changing, "bag_1": missed}).claims} == {None}


def test_short_periods_stand_left_and_the_stop_above(report: Callable[..., Report]) -> None:
    titles = [axes.get_title() for axes in report().figure.axes if axes.get_title()]
    assert titles == [f"T = {T} ms; v0 = {v} m/s, h = {h} N" for v, h in ((0.7, -1), (1.3, -10)) for T in (1, 4)]
