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
    rigid_chain,
    stick_phases,
)
from haptic_experiments.kit.comparison import ScriptedRun

Make = Callable[..., Bag]
Columns = dict[str, np.ndarray]

DATA = Path(__file__).parents[2] / "haptic_friction/test/data"
FILE = np.load(DATA / "fig11_two_contacts.npz")
TRUTH = np.load(DATA / "fig11_rigid_truth.npz")
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


def test_the_rigid_limit_is_that_of_an_independent_computation() -> None:
    """At 0.2 ms; the truth has 0.05 ms. Both err by a few steps of a body's velocity, up to 0.5 m/s."""
    period = 2e-4
    u = 0.5 * np.sin(5.0 * period * np.arange(1, 50001))
    position, force, _ = rigid_chain(u, period=period, mass=(1.0, 1.0), stiffness=(100.0, 200.0), force=(5.0, 2.5))
    for place in (0, 1):
        expected = TRUTH[f"x{place + 1}"]
        np.testing.assert_allclose(position[4::5, place], expected, rtol=0, atol=4 * period * 0.5)
        difference = force[4::5, place] - TRUTH[f"f{place + 1}"]
        assert np.mean(np.abs(difference) > 0.1) < 0.01  # but where it jumps a step earlier or later


def test_a_rigid_body_on_a_belt_sticks_until_its_spring_pulls_with_the_friction_force() -> None:
    """Then it swings around F/K with the belt's velocity as its largest: x = F/K + u/w sin w t."""
    u, F, K, T = 0.1, 2.0, 50.0, 1e-4
    position, force, sticking = rigid_chain(
        np.full(20000, u), period=T, mass=(1.0, 1.0), stiffness=(K, 0.0), force=(F, 0.0)
    )
    omega = K**0.5
    caught = np.arcsin(u * omega / F) / omega  # from rest, M x'' = F - K x, to the belt's velocity
    start = F / K * (1.0 - np.cos(omega * caught))
    release = caught + (F / K - start) / u
    t = T * np.arange(1, 20001)
    expected = np.select(
        [t < caught, t < release],
        [F / K * (1.0 - np.cos(omega * t)), start + u * (t - caught)],
        F / K + u / omega * np.sin(omega * (t - release)),
    )
    turn = t < release + 2.0 * np.pi / omega
    np.testing.assert_allclose(position[turn, 0], expected[turn], rtol=0, atol=10 * T * u)
    assert sticking[(t > caught + 2 * T) & (t < release - 2 * T), 0].all()
    assert not sticking[(t > release + 2 * T) & turn, 0][:-20].any()
    assert np.abs(force[:, 0]).max() <= F * (1 + 1e-12) and not force[:, 1].any()


def test_two_bodies_that_stick_move_with_the_base() -> None:
    u = 0.01 * np.sin(np.arange(300) * 0.02)
    position, force, sticking = rigid_chain(u, period=1e-3, mass=(1.0, 2.0), stiffness=(1.0, 1.0), force=(9.0, 8.0))
    assert sticking.all()
    np.testing.assert_allclose(position, 1e-3 * np.cumsum(u)[:, None] * [1.0, 1.0], rtol=0, atol=1e-12)
    acceleration = np.diff(np.concatenate(([0.0], u))) / 1e-3
    np.testing.assert_allclose(force[:, 1], 2.0 * acceleration + position[:, 1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(force[:, 0] - force[:, 1], acceleration + position[:, 0], rtol=0, atol=1e-8)


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
