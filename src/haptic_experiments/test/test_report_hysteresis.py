"""The report of friction_hysteresis: its columns, verdicts, runs that are cut."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_hysteresis import analyse, labels, loading_curve
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_friction.factory import make_model, parameters_of
from haptic_friction.reference.hysteresis import LoadingCurve, masing

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


# Columns


def test_the_curve_of_a_column() -> None:
    run = run_of(motion(0.1))
    curve = loading_curve(run, 1)
    assert curve is not None and curve.damping_time == pytest.approx(40.0 / 24000.0)
    np.testing.assert_array_equal(curve.at(np.array([0.0, 2.5e-5, 5e-5, 8e-4, 1.0])), [0.0, 0.6, 1.2, 4.0, 4.0])
    stiffness, breakaway = curve.elements
    np.testing.assert_allclose(stiffness, [8000.0, 6000.0, 6500.0, 2750.0, 750.0])
    assert breakaway.sum() == pytest.approx(4.0) and stiffness.sum() == pytest.approx(24000.0)
    single = loading_curve(run, 2)
    assert single is not None and (single.displacement[0], single.force[0]) == pytest.approx((5e-4, 4.0))
    assert loading_curve(run_of(motion(0.1), law="viscous_coulomb", viscosity=1.0), 2) is None
    assert loading_curve(run_of(motion(0.1), models=["B"] * 4), 0) is None


def test_columns_are_distinguished() -> None:
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
