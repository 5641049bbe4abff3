"""Single steps of the four models, and the approximations of Phi_Z, against independent reference solutions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    FrictionModel,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    ViscousCoulombLaw,
)

EPS = np.finfo(float).eps

DATA = Path(__file__).with_name("data")
STEPS = json.loads((DATA / "onestep_public.json").read_text())
CASES = STEPS["cases"] + STEPS["edge_cases"]
APPROXIMATIONS = json.loads((DATA / "approx_public.json").read_text())["cases"]

#: the tolerance that the reference states: above its own error, far below any change of a formula
RELATIVE = 1e-9


def law_of(law: dict[str, Any]) -> FrictionLaw:
    if law["law"] == "coulomb":
        return CoulombLaw(law["F"])
    if law["law"] == "coulomb_viscous":
        return ViscousCoulombLaw(law["F"], viscosity=law["D"])
    return StribeckLaw(law["Fc"], static_force=law["Fs"], stribeck_velocity=law["vs"], viscosity=law["D"])


def model_of(case: dict[str, Any]) -> FrictionModel:
    """The model of a case in the state that precedes the step."""
    law, start = law_of(case["law"]), case["in"]
    mass, spring = {"mass": case["M"]}, {"stiffness": case["K"], "damping": case["B"]}
    rest = {"period": case["T"], "dimension": case["dim"]}
    if case["model"] == "A":
        a = ModelA(law, **mass, **rest)
        a.reset(velocity=start["v_prev"])
        return a
    if case["model"] == "B":
        b = ModelB(law, **mass, **spring, **rest)
        b.reset(velocity=start["u_prev"], displacement=start["e_prev"], previous_displacement=start["e_prev2"])
        return b
    if case["model"] == "C":
        c = ModelC(law, **spring, **rest)
        c.reset(displacement=start["e_prev"])
        return c
    d = ModelD(law, **mass, **spring, **rest)
    d.reset(velocity=start["u_prev"], displacement=start["e_prev"])
    return d


def assert_reference(found: Any, expected: list[float], name: str, absolute: float = 0.0) -> None:
    tolerance = RELATIVE * float(np.abs(expected).max()) + absolute
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=name)


def test_the_cases_stick_and_slide_in_each_model_and_dimension_with_each_law() -> None:
    kinds = {(case["model"], case["dim"], case["out"]["static"]) for case in CASES}
    assert {(model, n) for model, n, static in kinds if not static} == {(m, n) for m in "ABCD" for n in (1, 2, 3)}
    assert {(model, n) for model, n, static in kinds if static} >= {(m, n) for m in "ABCD" for n in (1, 3)}
    assert {(case["model"], case["law"]["law"]) for case in CASES} == {
        (m, law) for m in "ABCD" for law in ("coulomb", "coulomb_viscous", "stribeck")
    }


@pytest.mark.covering(70)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_one_step_agrees_with_the_reference(case: dict[str, Any]) -> None:
    model, expected = model_of(case), case["out"]
    output = model.step(case["in"]["u" if model.kind == "impedance" else "h"])
    assert abs(model.Z - case["Z"]) <= 8 * EPS * case["Z"]  # five operations
    assert_reference(model.friction_force, expected["f"], "f", RELATIVE * model.law.breakaway_force)
    assert_reference(output, expected[{"A": "v", "B": "h", "C": "f", "D": "u"}[case["model"]]], "output")
    if "e" in expected:
        assert_reference(model.displacement, expected["e"], "e")
    assert_reference(model.sliding_velocity, expected["v"], "v")
    assert model.sticking is expected["static"]
    if expected["static"]:
        np.testing.assert_array_equal(model.sliding_velocity, np.zeros(case["dim"]))


@pytest.mark.covering(70)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_simulating_one_step_gives_the_same_numbers(case: dict[str, Any]) -> None:
    stepped, simulated = model_of(case), model_of(case)
    value = case["in"]["u" if stepped.kind == "impedance" else "h"]
    np.testing.assert_array_equal(simulated.simulate([value]), [stepped.step(value)])
    for name, row in stepped.state.items():
        np.testing.assert_array_equal(simulated.state[name], row, err_msg=name)


@pytest.mark.covering(70)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_phi_z_of_v_star_agrees_with_the_reference(case: dict[str, Any]) -> None:
    law = law_of(case["law"])
    found = law.projected(case["out"]["v_star"], case["Z"])
    assert_reference(found, case["out"]["f"], "f", RELATIVE * law.breakaway_force)


@pytest.mark.parametrize("case", APPROXIMATIONS, ids=[case["id"] for case in APPROXIMATIONS])
def test_the_approximations_agree_with_the_reference(case: dict[str, Any]) -> None:
    law: FrictionLaw
    if case["eq"] == "(59)":
        law = AnisotropicLaw(case["S"], viscosity=case["V"], exact=False)
    else:
        law = law_of(case["law"])
        exact = law.projected(case["x"], case["Z"])
        assert_reference(exact, case["y_exact"], "exact", RELATIVE * law.breakaway_force)
        assert np.array_equal(exact, np.array(case["x"]) / case["Z"]) == case["static_exact"]
        law = law.approximated()
    found = law.projected(case["x"], case["Z"])
    assert_reference(found, case["y"], "y", RELATIVE * law.breakaway_force)
    assert np.array_equal(found, np.array(case["x"]) / case["Z"]) == case["static"]
