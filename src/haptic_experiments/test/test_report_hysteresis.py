"""The report of friction_hysteresis: Masing's rules against elements, closed forms, verdicts, runs that are cut."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_hysteresis import (
    LoadingCurve,
    analyse,
    displacement,
    labels,
    loop_results,
    masing,
    turning_points,
)
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_friction.factory import make_model, parameters_of

Make = Callable[..., Bag]

T = 1e-3
PARAMETERS: dict[str, Any] = {
    "rendering": "impedance",
    "models": ["parallel", "parallel", "C", "C"],
    "loading_displacement": [5e-5, 1e-4, 2e-4, 4e-4, 8e-4],
    "loading_force": [1.2, 2.0, 3.0, 3.7, 4.0],
    "friction_force": 4.0,
    "stiffness": [24000.0, 24000.0, 8000.0, 8000.0],
    "damping": [0.0, 40.0, 0.0, 40.0],
    "velocity_threshold": [0.01],
    "mass": [2.0],
    "projection": "exact",
    "law": "coulomb",
    "period": T,
}
CURVE = LoadingCurve(np.array(PARAMETERS["loading_displacement"]), np.array(PARAMETERS["loading_force"]), 0.0)
SINGLE = LoadingCurve(np.array([5e-4]), np.array([4.0]), 0.0)
#: the claims in their order
CLAIMS = ["presliding", "masing", "energy", "memory", "bilinear", "rate", "damping"]


def motion(*turns: float, speed: float = 2e-3) -> np.ndarray:
    """Velocities [m/s] from 0 through displacements [mm] at a constant speed."""
    parts = [np.zeros(0)]
    for a, b in pairwise((0.0, *turns)):
        parts.append(np.full(round(1e-3 * abs(b - a) / (speed * T)), np.sign(b - a) * speed))
    return np.concatenate(parts)


SCRIPT = np.concatenate(
    (
        motion(0.1, -0.1, 0.1, 0.4, -0.4, 0.4, 1.0, -1.0, 1.0, -1.0, 0.3, -0.2, 0.3, 1.0),
        np.repeat([-8e-3, 8e-3], 250),
        np.repeat([-1e-3, 1e-3], 2000),
    )
)


def simulated(velocity: np.ndarray, **parameters: Any) -> dict[str, np.ndarray]:
    """What the node says of a motion."""
    known = {**PARAMETERS, **parameters}
    columns = [make_model(parameters_of(known, column), dimension=1) for column in range(len(known["models"]))]
    force = np.column_stack([model.simulate(velocity[:, None])[:, 0] for model in columns])
    return {"velocity": np.repeat(velocity[:, None], len(columns), axis=1), "force": force}


@functools.cache
def known_signals() -> dict[str, np.ndarray]:
    return simulated(SCRIPT)


@pytest.fixture
def bag(scripted_bag: Make) -> Callable[..., Bag]:
    def make(columns: dict[str, np.ndarray] | None = None, velocity: np.ndarray = SCRIPT, **parameters: Any) -> Bag:
        columns = columns or known_signals()
        return scripted_bag(columns, {**PARAMETERS, **parameters}, velocity=velocity)

    return make


def verdicts(bag: Bag) -> dict[str, bool | None]:
    return dict(zip(CLAIMS, (claim.shown for claim in analyse({"bag": bag}).claims), strict=True))


# Masing's rules


def elements_force(x: np.ndarray, curve: LoadingCurve) -> np.ndarray:
    """Force of elastoplastic elements written out: each a spring whose force is cut at its breakaway force."""
    stiffness, breakaway = curve.elements
    force, total = np.zeros(len(stiffness)), np.empty(len(x))
    for k, step in enumerate(np.diff(x, prepend=0.0)):
        force = np.clip(force + stiffness * step, -breakaway, breakaway)
        total[k] = force.sum()
    return total


@pytest.mark.parametrize("seed", range(20))
def test_masings_rules_are_what_the_elements_do_on_any_way(seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = random.normal(0.0, 4e-4, 40)
    x = np.concatenate([np.linspace(a, b, 50)[1:] for a, b in pairwise((0.0, *turns))])
    for curve in (CURVE, SINGLE):
        predicted, loops = masing(x, curve)
        np.testing.assert_allclose(predicted, elements_force(x, curve), rtol=0, atol=1e-12)
        assert loops


def test_turning_points_are_where_the_direction_changes_also_after_a_rest() -> None:
    x = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 1.0, 4.0])
    assert turning_points(x) == [4, 7, 8]
    assert turning_points(np.zeros(5)) == [4]
    assert turning_points(np.array([0.0, 0.0, -1.0, 0.0])) == [2, 3]


def test_the_loops_of_a_known_motion() -> None:
    x = np.cumsum(T * motion(0.4, -0.4, 0.4, 1.0, -1.0, 0.3, -0.2, 0.3, 1.0, -0.5))
    _, loops = masing(x, CURVE)
    turns = [(round(1e3 * x[loop.start], 6), round(1e3 * x[loop.turn], 6), loop.simple) for loop in loops]
    assert turns == [(0.4, -0.4, True), (0.3, -0.2, True), (1.0, -1.0, False)]
    assert [round(1e3 * x[loop.end], 6) for loop in loops] == [0.4, 0.3, 1.0]


def test_a_loop_that_is_passed_between_two_samples_is_closed_where_it_was() -> None:
    velocity = np.concatenate((motion(0.5, -0.1), np.full(100, 6.7e-3)))  # 6.7 µm a step
    run = run_of(velocity)
    (loop,) = loop_results(run, displacement(run), 0, CURVE)
    # the slope changes where it closes: between two samples a straight line is off by up to a quarter of K dx
    assert 0.0 < abs(loop["closure"]) < 0.25 * 24000.0 * 6.7e-6


def run_of(velocity: np.ndarray, **parameters: Any) -> ScriptedRun:
    """The signals of a motion as the report reads them."""
    columns = simulated(velocity, **parameters)
    known = {**PARAMETERS, **parameters}
    n = len(velocity)
    return ScriptedRun(
        period=T,
        tick=np.arange(n),
        input_velocity=velocity,
        input_force=np.zeros(n),
        models=known["models"],
        velocity=columns["velocity"],
        force=columns["force"],
        displacement=np.zeros_like(columns["force"]),
        sticking=np.ones_like(columns["force"], dtype=bool),
        parameters=known,
        device={"mode": "lockstep"},
    )


# Curves and closed forms


def test_the_curve_of_a_column() -> None:
    run = run_of(motion(0.1))
    curve = LoadingCurve.of(run, 1)
    assert curve is not None and curve.damping_time == pytest.approx(40.0 / 24000.0)
    np.testing.assert_array_equal(curve.at(np.array([0.0, 2.5e-5, 5e-5, 8e-4, 1.0])), [0.0, 0.6, 1.2, 4.0, 4.0])
    stiffness, breakaway = curve.elements
    np.testing.assert_allclose(stiffness, [8000.0, 6000.0, 6500.0, 2750.0, 750.0])
    assert breakaway.sum() == pytest.approx(4.0) and stiffness.sum() == pytest.approx(24000.0)
    single = LoadingCurve.of(run, 2)
    assert single is not None and (single.displacement[0], single.force[0]) == pytest.approx((5e-4, 4.0))
    assert LoadingCurve.of(run_of(motion(0.1), law="viscous_coulomb", viscosity=1.0), 2) is None
    assert LoadingCurve.of(run_of(motion(0.1), models=["B"] * 4), 0) is None


@pytest.mark.parametrize("damping", [0.0, 40.0])
@pytest.mark.parametrize("speed", [1e-3, 4e-3])
@pytest.mark.parametrize("amplitude", [0.04, 0.15, 0.4, 1.0])
def test_the_energy_of_a_cycle_is_that_of_the_simulated_elements(
    amplitude: float, speed: float, damping: float
) -> None:
    run = run_of(motion(amplitude, -amplitude, amplitude, -amplitude, speed=speed), damping=[damping] * 4)
    x = displacement(run)
    for column in (0, 2):
        curve = LoadingCurve.of(run, column)
        assert curve is not None
        (loop,) = loop_results(run, x, column, curve)
        assert loop["closed_form_energy"] == pytest.approx(curve.energy(1e-3 * amplitude, speed))
        # kinks within a step; after a slip the damper relaxes over B/K, up to 5 ms of a cycle of 40 ms and more
        scale = 4.0 * float(curve.at(np.array(1e-3 * amplitude))) * 1e-3 * amplitude
        # the force jumps by 2 B u in the step after each of two reversals, of which the polygon misses half
        jumps = 2.0 * damping * speed * speed * T
        assert loop["energy"] == pytest.approx(loop["closed_form_energy"], rel=0, abs=5e-3 * scale + jumps)
        assert loop["amplitude"] == pytest.approx(1e-3 * amplitude) and loop["speed"] == pytest.approx(speed)


def test_an_element_takes_four_times_the_force_times_the_way_it_slips() -> None:
    assert SINGLE.energy(1e-3, 0.0) == pytest.approx(4.0 * 4.0 * 0.5e-3)
    assert SINGLE.energy(4e-4, 0.0) == 0.0
    damped = LoadingCurve(SINGLE.displacement, SINGLE.force, 40.0 / 8000.0)
    assert damped.energy(1e-3, 8e-3) == pytest.approx(4 * 4.0 * 1e-3 - (2 * 4.0 - 40.0 * 8e-3) ** 2 / 8000.0)
    assert damped.energy(1e-4, 8e-3) == pytest.approx(4 * 1e-4 * 40.0 * 8e-3)


def test_columns_are_told_apart() -> None:
    names = labels(run_of(motion(0.1)))
    assert names[0] == "parallel elements, B = 0 N s/m" and names[3] == "single model C, B = 40 N s/m"
    assert len(set(labels(run_of(motion(0.1), models=["C"] * 4, damping=[0.0])))) == 4


# Verdicts


def test_the_simulated_elements_show_every_claim(bag: Callable[..., Bag]) -> None:
    report = analyse({"bag": bag()})
    assert [claim.shown for claim in report.claims] == [True] * len(CLAIMS), report.claims
    models = report.metrics["models"]
    many = models["parallel elements, B = 0 N s/m"]
    assert many["deviation_from_masing"] < 1e-11
    assert [round(1e3 * p["amplitude"], 6) for p in many["loops"]] == [0.1, 0.4, 1.0, 0.25, 1.0, 1.0, 1.0]
    assert [p["minor"] for p in many["loops"]] == [False, False, False, True, False, False, False]
    assert json.dumps(report.metrics, allow_nan=False)
    assert not notes(report)


def changed(column: int, force: np.ndarray) -> dict[str, np.ndarray]:
    """The signals with another force of a column."""
    columns = {name: table.copy() for name, table in known_signals().items()}
    columns["force"][:, column] = force
    return columns


def test_a_single_element_in_place_of_many_is_refuted(bag: Callable[..., Bag]) -> None:
    said = verdicts(bag(changed(0, known_signals()["force"][:, 2])))
    assert said["presliding"] is False and said["masing"] is False and said["energy"] is False


def test_many_elements_in_place_of_a_single_one_are_refuted(bag: Callable[..., Bag]) -> None:
    said = verdicts(bag(changed(2, known_signals()["force"][:, 0])))
    assert said["bilinear"] is False and said["presliding"] is False and said["masing"] is True


@pytest.mark.parametrize(("error", "shown"), [(0.015, True), (0.025, False)])
def test_half_a_percent_of_the_force_is_the_limit_of_masings_rule(
    error: float, shown: bool, bag: Callable[..., Bag]
) -> None:
    force = known_signals()["force"][:, 0].copy()
    force[1000] += error
    assert verdicts(bag(changed(0, force)))["masing"] is shown


def test_a_minor_loop_that_does_not_close_is_refuted(bag: Callable[..., Bag]) -> None:
    x = np.cumsum(T * SCRIPT)
    (minor,) = [loop for loop in masing(x, CURVE)[1] if abs(x[loop.start] + x[loop.turn]) > 1e-5]
    force = known_signals()["force"][:, 0].copy()
    force[minor.end :] += 0.05
    assert verdicts(bag(changed(0, force)))["memory"] is False


def test_damped_elements_in_place_of_undamped_ones_and_the_other_way_round(bag: Callable[..., Bag]) -> None:
    assert verdicts(bag(changed(0, known_signals()["force"][:, 1])))["rate"] is False
    assert verdicts(bag(changed(1, known_signals()["force"][:, 0])))["damping"] is False


# Runs in which the claims cannot be judged


def notes(report: Any) -> list[str]:
    return [text.get_text() for panel in report.figure.axes for text in panel.texts]


@pytest.mark.parametrize("samples", [2, 40, 200])
def test_a_run_that_is_cut_before_a_loop_closes_still_has_a_figure(samples: int, bag: Callable[..., Bag]) -> None:
    columns = {name: table[:samples] for name, table in known_signals().items()}
    report = analyse({"bag": bag(columns, SCRIPT[:samples])})
    shown = dict(zip(CLAIMS, (claim.shown for claim in report.claims), strict=True))
    assert shown["memory"] is None and shown["rate"] is None and shown["damping"] is None
    assert "not reached in this run" in notes(report)
    assert json.dumps(report.metrics, allow_nan=False)


def test_a_script_at_rest_shows_nothing(bag: Callable[..., Bag]) -> None:
    columns = {name: 0.0 * table[:100] for name, table in known_signals().items()}
    assert {claim.shown for claim in analyse({"bag": bag(columns, np.zeros(100))}).claims} == {None}


def test_one_speed_does_not_show_that_the_rate_does_not_matter(bag: Callable[..., Bag]) -> None:
    velocity = motion(0.4, -0.4, 0.4, 1.0, -1.0, 1.0, -1.0)
    said = verdicts(bag(simulated(velocity), velocity))
    assert said["masing"] is True and said["rate"] is None and said["damping"] is None and said["memory"] is None


def test_other_models_have_a_figure_and_no_claims(bag: Callable[..., Bag]) -> None:
    parameters = {"models": ["B", "dahl", "lugre", "parallel"], "damping": [40.0]}
    report = analyse({"bag": bag(simulated(SCRIPT, **parameters), **parameters)})
    said = dict(zip(CLAIMS, (claim.shown for claim in report.claims), strict=True))
    assert said == {**dict.fromkeys(CLAIMS), "damping": True}


def test_a_law_with_viscosity_leaves_the_parallel_elements(bag: Callable[..., Bag]) -> None:
    parameters = {"law": "viscous_coulomb", "viscosity": 2.0}
    said = verdicts(bag(simulated(SCRIPT, **parameters), **parameters))
    assert said == {**dict.fromkeys(CLAIMS, True), "bilinear": None}


def test_a_sine_has_loops_but_no_closed_form_with_damping(bag: Callable[..., Bag]) -> None:
    parts = [1e-3 * 2 * np.pi * f * np.cos(2 * np.pi * f * T * np.arange(round(2.0 / (f * T)))) for f in (0.5, 2.0)]
    velocity = np.concatenate(parts)
    report = analyse({"bag": bag(simulated(velocity), velocity)})
    said = dict(zip(CLAIMS, (claim.shown for claim in report.claims), strict=True))
    assert said["masing"] is True and said["bilinear"] is True and said["damping"] is None
