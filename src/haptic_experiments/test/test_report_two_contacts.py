"""The report of Fig. 11 on an independent solution, on closed forms, and on runs that are not as claimed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_two_contacts import (
    analyse,
    bodies,
    drive_periods,
    momentum_residual,
    stick_phases,
)
from haptic_experiments.kit.comparison import ScriptedRun

Make = Callable[..., Bag]
Columns = dict[str, np.ndarray]

DATA = Path(__file__).parents[2] / "haptic_friction/test/data"
FILE = np.load(DATA / "fig11_two_contacts.npz")
PARAMETERS = {
    "model": "C",
    "period": 1e-3,
    "body_mass": [1.0, 1.0],
    "body_stiffness": [100.0, 200.0],
    "contact_first": [-1, 0],
    "contact_second": [0, 1],
    "friction_force": [5.0, 2.5],
}
#: five and a half periods of the base: three after the transient
TICKS = 7001


def signals() -> Columns:
    """The independent solution as the node would report it; at tick 0 all is at rest."""

    def table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.vstack((np.zeros(2), np.column_stack((first, second))))[:TICKS]

    return {
        "velocity": table(FILE["u"] - FILE["v1"], FILE["v1"] - FILE["v2"]),
        "force": table(FILE["f1"], FILE["f2"]),
        "elastic_displacement": table(FILE["e1"], FILE["e2"]),
        "sticking": table(FILE["static1"], FILE["static2"]).astype(bool),
    }


BASE = np.concatenate(([0.0], FILE["u"]))[:TICKS]


@pytest.fixture
def bag(scripted_bag: Make) -> Callable[..., Bag]:
    def make(columns: Columns, velocity: np.ndarray = BASE, **parameters: Any) -> Bag:
        return scripted_bag(columns, {**PARAMETERS, **parameters}, node="network", velocity=velocity)

    return make


@pytest.fixture
def verdicts(bag: Callable[..., Bag]) -> Callable[..., list[bool | None]]:
    """What is said of signals: stick-slip, rigid limit, forces."""
    return lambda *args, **kwargs: [claim.shown for claim in analyse({"bag": bag(*args, **kwargs)}).claims]


def test_the_independent_solution_shows_every_claim(bag: Callable[..., Bag]) -> None:
    result = analyse({"bag": bag(signals())})
    assert [claim.shown for claim in result.claims] == [True, True, True]
    numbers = result.metrics["runs"]["bag"]
    assert numbers["drive_periods"] == 3
    for contact in ("contact_1", "contact_2"):
        assert numbers[contact]["stick_phases_per_period"] == [2, 2, 2]
    assert "inferred" in result.caption


def test_the_bodies_move_as_in_the_independent_solution(bag: Callable[..., Bag]) -> None:
    velocity, position = bodies(ScriptedRun.from_bag(bag(signals()), "network"))
    for place in (0, 1):  # sums of 10^4 terms below 1
        np.testing.assert_allclose(velocity[1:, place], FILE[f"v{place + 1}"][: TICKS - 1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(position[1:, place], FILE[f"x{place + 1}"][: TICKS - 1], rtol=0, atol=1e-12)


def test_momentum_is_balanced_but_not_with_another_mass_spring_or_force(bag: Callable[..., Bag]) -> None:
    def residual(columns: Columns, **parameters: Any) -> float:
        return momentum_residual(ScriptedRun.from_bag(bag(columns, **parameters), "network"))

    assert residual(signals()) < 1e-12
    assert residual(signals(), body_mass=[1.0, 1.001]) > 1e-4
    assert residual(signals(), body_stiffness=[100.1, 200.0]) > 1e-4
    harder = signals()
    harder["force"][:, 1] *= 1.001
    assert residual(harder) > 1e-4


def test_drive_periods_go_from_rise_to_rise(bag: Callable[..., Bag]) -> None:
    run = ScriptedRun.from_bag(bag(signals()), "network")
    starts = [start for start, _ in drive_periods(run)]
    period = 2.0 * np.pi / 5.0 / 1e-3
    np.testing.assert_allclose(starts, period * np.arange(5), atol=1.0)
    assert all(end == start for (_, end), start in zip(drive_periods(run)[:-1], starts[1:], strict=True))


def test_short_sticking_is_no_phase() -> None:
    sticking = np.zeros(100, dtype=bool)
    sticking[10:14] = sticking[30:36] = sticking[95:] = True
    assert stick_phases(sticking, 1e-3, 0, 100) == [(30, 36), (95, 100)]
    assert stick_phases(sticking, 1e-3, 31, 100) == [(95, 100)]
    assert stick_phases(sticking, 5e-4, 0, 100) == []


def sliding(columns: Columns) -> None:
    columns["sticking"][:, 1] = False


def stuck(columns: Columns) -> None:
    columns["sticking"][:, 0] = True


def flickering(columns: Columns) -> None:
    columns["sticking"][::3, 1] = False


def late(columns: Columns) -> None:
    for name in columns:
        columns[name][100:] = columns[name][:-100].copy()


def overloaded(columns: Columns) -> None:
    columns["force"][3000, 0] = 5.001


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (sliding, [False, False, True]),
        (stuck, [False, False, True]),
        (flickering, [False, False, True]),
        (late, [True, False, False]),
        (overloaded, [True, True, False]),
    ],
)
def test_a_run_that_is_not_as_claimed_is_found(
    change: Callable[[Columns], None], shown: list[bool], verdicts: Callable[..., list[bool | None]]
) -> None:
    columns = signals()
    change(columns)
    assert verdicts(columns) == shown


@pytest.mark.parametrize(
    "change",
    [{"law": "stribeck"}, {"contact_first": [-1, -1]}, {"contact_second": [1, 0]}, {"body_mass": [1.0, 1.0, 1.0]}],
)
def test_another_network_is_not_judged_but_drawn(change: dict[str, Any], bag: Callable[..., Bag]) -> None:
    result = analyse({"bag": bag(signals(), **change)})
    assert [claim.shown for claim in result.claims] == [None, None, None]
    result.figure.canvas.draw()


def test_a_force_above_the_friction_force_is_found(verdicts: Callable[..., list[bool | None]]) -> None:
    """The momentum is balanced all the same."""
    assert verdicts(signals(), friction_force=[4.999, 2.5]) == [True, True, False]


def test_another_model_is_measured_but_not_judged(bag: Callable[..., Bag]) -> None:
    claims = analyse({"bag": bag(signals(), model="dahl")}).claims
    assert [claim.shown for claim in claims] == [None, None, None]
    assert claims[0].measured.startswith("model dahl: contact 1: 2 stick phases of")


def test_a_short_run_is_judged_by_its_forces_only(verdicts: Callable[..., list[bool | None]]) -> None:
    short = {name: table[:2000] for name, table in signals().items()}
    assert verdicts(short, BASE[:2000]) == [None, None, True]


def test_a_run_without_motion_is_drawn(bag: Callable[..., Bag]) -> None:
    columns = {name: np.zeros_like(table) for name, table in signals().items()}
    result = analyse({"bag": bag(columns, np.zeros(TICKS))})
    assert result.claims[0].shown is None
    result.figure.canvas.draw()
