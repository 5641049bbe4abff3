"""The paper's simulated figures 6, 7, 8, 13 and 14, against independent reference solutions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_friction import CoulombLaw, FrictionModel, ModelA, ModelB, ModelC, ModelD, WithCompliance, WithMass

DATA = Path(__file__).with_name("data")
FALLING = json.loads((DATA / "fig06_07_modelA.json").read_text())["runs"]
PULLED, RELEASED = (dict(np.load(DATA / name)) for name in ("fig13_modelB.npz", "fig14_modelD.npz"))
STIFFNESSES = [8.3e4, 2.5e5, 7.5e5]

#: the tolerance that the reference states, relative to the largest number of a trajectory
RELATIVE = 1e-9


def assert_trajectory(model: FrictionModel, inputs: np.ndarray, expected: Mapping[str, np.ndarray]) -> None:
    """Steps a model and compares what it is with the columns; `simulate` must give the same outputs bit for bit."""
    columns: dict[str, list[Any]] = {name: [] for name in expected}
    start, outputs = model.state, []
    for value in inputs:
        outputs.append(model.step([value]))
        now = {
            "f": model.friction_force[0],
            "e": model.displacement[0],
            "v": model.sliding_velocity[0],
            "output": outputs[-1][0],
            "static": model.sticking,
        }
        for name, column in columns.items():
            column.append(now[name])
    for name, column in columns.items():
        if name == "static":
            np.testing.assert_array_equal(column, expected[name])
        else:
            tolerance = RELATIVE * np.abs(expected[name]).max()
            np.testing.assert_allclose(column, expected[name], rtol=0, atol=tolerance, err_msg=name)
    model.restore(start)
    np.testing.assert_array_equal(model.simulate(inputs[:, None]), outputs)


@pytest.mark.parametrize("run", FALLING, ids=[f"{run['fig']}-{run['T']}" for run in FALLING])
def test_figures_6_and_7_stop_and_reverse(run: dict[str, Any]) -> None:
    model = ModelA(CoulombLaw(run["F"]), mass=run["M"], period=run["T"])
    model.reset(velocity=[run["v0"]])
    inputs, velocity = np.full(run["n_steps"], run["h"]), np.array(run["v"])
    assert_trajectory(model, inputs, {"output": velocity, "f": np.array(run["f"])})
    model.reset(velocity=[run["v0"]])
    zero = np.flatnonzero(model.simulate(inputs[:, None])[:, 0] == 0.0)
    assert (int(zero[0]) + 1 if len(zero) else None) == run["first_exact_zero_step"]


def test_figure_6_stops_at_78_ms() -> None:
    model = ModelA(CoulombLaw(8.0), mass=1.0, period=1e-3)
    model.reset(velocity=[0.7])  # the caption's velocity; the text's 1.3 m/s stops at 0.145 s
    velocity = model.simulate(np.full((200, 1), -1.0))[:, 0]
    assert np.flatnonzero(velocity == 0.0)[0] == 77 and not velocity[77:].any()


def test_figure_8_is_the_map_27() -> None:
    reference = np.load(DATA / "fig08_map.npz")
    F = float(reference["F"])
    model = ModelA(CoulombLaw(F), mass=float(reference["M"]), period=float(reference["T"]))
    force, static = np.empty_like(reference["f"]), np.empty_like(reference["static"])
    for i, velocity in enumerate(reference["v_prev"]):
        for j, h in enumerate(reference["h"]):
            model.reset(velocity=[velocity])
            model.step([h])
            force[i, j], static[i, j] = model.friction_force[0], model.sticking
    np.testing.assert_allclose(force, reference["f"], rtol=0, atol=RELATIVE * F)
    # on the boundary, where both branches give F, rounding decides
    off_boundary = np.abs(np.abs(reference["f"]) - F) > RELATIVE * F
    sure = off_boundary | (np.abs(reference["v_prev"][:, None] + 1e-3 * reference["h"]) > 1e-3 * F * (1 + RELATIVE))
    assert static[sure].any() and not static[sure].all() and (~sure).mean() < 0.01
    np.testing.assert_array_equal(static[sure], reference["static"][sure])


def columns(data: Mapping[str, np.ndarray], stiffness: float, kind: str, names: str) -> dict[str, np.ndarray]:
    return {name: data[f"K{stiffness:.1e}_{kind}_{name}"] for name in names.split()}


def test_the_figures_have_the_stiffnesses_of_the_caption() -> None:
    np.testing.assert_array_equal(PULLED["K"], STIFFNESSES)
    np.testing.assert_array_equal(RELEASED["K"], STIFFNESSES)


@pytest.mark.parametrize("stiffness", STIFFNESSES)
def test_figure_13_model_b_is_pulled_from_rest(stiffness: float) -> None:
    mass, damping = float(PULLED["M"]), 2.0 * math.sqrt(stiffness * float(PULLED["M"]))
    law, T = CoulombLaw(float(PULLED["F"])), float(PULLED["T"])
    model = ModelB(law, mass=mass, stiffness=stiffness, damping=damping, period=T)
    expected = columns(PULLED, stiffness, "B", "u h f e v")
    assert_trajectory(model, expected.pop("u"), {"output": expected.pop("h"), **expected})


@pytest.mark.parametrize("stiffness", STIFFNESSES)
def test_figure_13_alternative(stiffness: float) -> None:
    mass, damping = float(PULLED["M"]), 2.0 * math.sqrt(stiffness * float(PULLED["M"]))
    rigid = ModelA(CoulombLaw(float(PULLED["F"])), mass=mass, period=float(PULLED["T"]))
    model = WithCompliance(rigid, stiffness=stiffness, damping=damping)
    expected = columns(PULLED, stiffness, "alt", "u h f e v")
    assert_trajectory(model, expected.pop("u"), {"output": expected.pop("h"), **expected})


@pytest.mark.parametrize("stiffness", STIFFNESSES)
def test_figure_14_model_d_is_released(stiffness: float) -> None:
    mass, damping = float(RELEASED["M"]), 2.0 * math.sqrt(stiffness * float(RELEASED["M"]))
    law, T = CoulombLaw(float(RELEASED["F"])), float(RELEASED["T"])
    model = ModelD(law, mass=mass, stiffness=stiffness, damping=damping, period=T)
    model.reset(velocity=[float(RELEASED["u0"])])
    expected = columns(RELEASED, stiffness, "D", "u f e static")
    inputs = np.full(len(expected["u"]), float(RELEASED["h"]))
    assert_trajectory(model, inputs, {"output": expected.pop("u"), **expected})


@pytest.mark.parametrize("stiffness", STIFFNESSES)
def test_figure_14_alternative(stiffness: float) -> None:
    mass, damping = float(RELEASED["M"]), 2.0 * math.sqrt(stiffness * float(RELEASED["M"]))
    contact = ModelC(
        CoulombLaw(float(RELEASED["F"])), stiffness=stiffness, damping=damping, period=float(RELEASED["T"])
    )
    model = WithMass(contact, mass=mass)
    model.reset(velocity=[float(RELEASED["u0"])])
    expected = columns(RELEASED, stiffness, "alt", "u f e static")
    inputs = np.full(len(expected["u"]), float(RELEASED["h"]))
    assert_trajectory(model, inputs, {"output": expected.pop("u"), **expected})
