"""The report of Fig. 14 on independent solutions, on closed forms, and on runs that are not as claimed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_model_d import analyse
from haptic_friction.reference.motions import slide_to_rest

Make = Callable[..., Bag]

FILE = np.load(Path(__file__).parents[2] / "haptic_friction/test/data/fig14_modelD.npz")
STIFFNESS = [8.3e4, 2.5e5, 7.5e5]
PARAMETERS = {
    "models": ["D", "D", "D", "C", "C", "C"],
    "period": 1e-3,
    "mass": [1.0],
    "stiffness": STIFFNESS * 2,
    "damping": [2.0 * K**0.5 for K in STIFFNESS] * 2,
    "friction_force": 7.0,
    "initial_velocity": 1.0,
}
#: original, its equations; alternative: high stiffness, long period, limits of convergence and stability, decay
CLAIMS = ["original", "equations", "stiffness", "period", "convergence", "instability", "decay"]


def signals() -> dict[str, np.ndarray]:
    """The independent solutions as the node would report them."""
    keys = [f"K{K:.1e}_{name}" for name in ("D", "alt") for K in STIFFNESS]
    u, f, e, static = (np.column_stack([FILE[f"{key}_{name}"] for key in keys]) for name in ("u", "f", "e", "static"))
    return {"velocity": u, "force": f, "elastic_displacement": e, "sticking": static.astype(bool)}


@pytest.fixture
def verdicts(scripted_bag: Make) -> Callable[..., dict[str, bool | None]]:
    """What is said of signals, by claim."""

    def make(columns: dict[str, np.ndarray], **parameters: Any) -> dict[str, bool | None]:
        claims = analyse({"bag": scripted_bag(columns, {**PARAMETERS, **parameters})}).claims
        return dict(zip(CLAIMS, (claim.shown for claim in claims), strict=True))

    return make


def test_the_independent_solutions_show_the_claims(
    verdicts: Callable[..., dict[str, bool | None]], scripted_bag: Make
) -> None:
    said = verdicts(signals())
    assert said == {**dict.fromkeys(CLAIMS, True), "period": None}
    numbers = analyse({"bag": scripted_bag(signals(), PARAMETERS)}).metrics["runs"]["bag"]
    assert [numbers[name]["ratio"] for name in ("C", "C_2", "C_3")] == pytest.approx([0.083, 0.25, 0.75])
    assert numbers["C"]["decay"] == pytest.approx(0.8305, abs=1e-4)
    assert numbers["C_2"]["decay"] == pytest.approx(0.75, abs=1e-9)
    assert numbers["C_3"]["decay"] is None  # it never sticks for long
    assert [numbers[name]["sign_changes"] for name in ("D", "D_2", "D_3", "C", "C_2")] == [1] * 5
    assert numbers["C_3"]["sign_changes"] > 100
    assert numbers["D"]["stop_step"] == 143  # u0 M/(F T) = 142.9


def test_the_other_way_round_the_original_is_refuted(verdicts: Callable[..., dict[str, bool | None]]) -> None:
    said = verdicts({name: np.roll(table, 3, axis=1) for name, table in signals().items()})
    assert said["original"] is False and said["stiffness"] is False
    assert said["convergence"] is False and said["instability"] is False


def changed(column: int, values: np.ndarray) -> dict[str, np.ndarray]:
    """The independent solutions with other velocities of a model after step 150."""
    columns = signals()
    columns["velocity"][150:, column] = values[: len(columns["velocity"]) - 150]
    return columns


K = np.arange(300)


@pytest.mark.parametrize(
    ("columns", "refuted"),
    [
        # the original swings, or is late
        (changed(2, 1e-3 * 0.8**K * (-1.0) ** K), {"original"}),
        ({**signals(), "velocity": np.roll(signals()["velocity"], 3, axis=0)}, {"original"}),
        # the alternative at 1/4 oscillates but comes to rest, or does not come to rest at all
        (changed(4, 1e-3 * 0.75**K * (-1.0) ** K), {"convergence"}),
        (changed(4, np.full(300, 1e-3)), {"stiffness", "instability", "decay"}),
        # at 0.75 it comes to rest without oscillation
        (changed(5, 1e-3 * 0.75**K), {"stiffness", "instability"}),
        # another velocity, force or elastic displacement than that of the equations
        (changed(0, np.zeros(300)), {"equations"}),
        ({**signals(), "force": 1.01 * signals()["force"]}, {"equations"}),
        ({**signals(), "elastic_displacement": 1.01 * signals()["elastic_displacement"]}, {"equations"}),
        # another decay
        (changed(3, 1e-3 * 0.7**K), {"decay"}),
    ],
)
def test_a_run_that_is_not_as_claimed_is_found(
    columns: dict[str, np.ndarray], refuted: set[str], verdicts: Callable[..., dict[str, bool | None]]
) -> None:
    said = verdicts(columns)
    assert refuted <= {name for name, shown in said.items() if shown is False}


def test_a_longer_period_that_makes_the_alternative_vibrate_shows_the_claim(scripted_bag: Make) -> None:
    """The continuous motion at 1 ms, and at 4 ms the same with a zigzag on the alternative after the stop."""
    bags = {}
    for name, period in (("bag", 1e-3), ("bag_long", 4e-3)):
        time = period * np.arange(1, round(0.3 / period) + 2)
        u = slide_to_rest(time, mass=1.0, stiffness=8.3e4, damping=2 * 8.3e4**0.5, force=7.0, start=1.0)
        zigzag = np.where(time > 0.16, 0.02 * (-1.0) ** np.arange(len(u)), 0.0) * (period > 1e-3)
        own = {"models": ["D", "C"], "stiffness": [8.3e4], "damping": [2 * 8.3e4**0.5], "period": period}
        columns = {"velocity": np.column_stack((u, u + zigzag)), "sticking": np.column_stack((u < 0, u < 0))}
        bags[name] = scripted_bag(columns, {**PARAMETERS, **own})
    claims = dict(zip(CLAIMS, analyse(bags).claims, strict=True))
    assert claims["original"].shown and claims["period"].shown
    calm = bags["bag_long"].topics["/script/comparison/state"]["velocity"]
    calm[:, 1] = calm[:, 0]
    assert dict(zip(CLAIMS, analyse(bags).claims, strict=True))["period"].shown is False


@pytest.mark.parametrize(
    "change",
    [
        {"models": ["A"] * 6},
        {"law": "stribeck"},
        {"friction_force": 0.0},
        {"friction_force": 0.1},
        {"damping": [1.0]},
        {"initial_velocity": -1.0},
        {"initial_velocity": 0.0},
    ],
)
def test_another_run_is_not_judged_but_drawn(change: dict[str, Any], scripted_bag: Make) -> None:
    result = analyse({"bag": scripted_bag(signals(), {**PARAMETERS, **change})})
    assert [claim.shown for claim in result.claims] == [None] * len(CLAIMS)
    result.figure.canvas.draw()


def test_a_force_or_missed_ticks_are_not_judged(scripted_bag: Make) -> None:
    pushed = scripted_bag(signals(), PARAMETERS, force=np.full(len(signals()["velocity"]), 0.1))
    missed = scripted_bag(signals(), PARAMETERS, missed=(3,))
    for bag in (pushed, missed):
        assert {claim.shown for claim in analyse({"bag": bag}).claims} == {None}
