"""105 problems of one contact against solutions with 40 digits, and ten of them with derivatives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import ContactProblem, solve
from convex_contact.problem.reference import solve_dense

DATA = Path(__file__).with_name("data")
NAMES = {
    "lagged_reg": "lagged_regularized",
    "similar_reg": "similar_regularized",
    "lagged_aniso": "lagged",
    "similar_aniso": "similar",
}


def states(file: str) -> list[dict[str, Any]]:
    """Cases of a reference file."""
    cases: list[dict[str, Any]] = json.loads((DATA / file).read_text())["states"]
    return cases


def reference_problem(case: dict[str, Any]) -> tuple[ContactProblem, str]:
    """The problem of a reference case and its approximation."""
    i = case["input"]
    J, v0 = np.array(i["J"]), np.array(i["v0"])
    problem = ContactProblem(
        A=np.diag(i["A_diag"]),
        v_star=v0 + i["dt"] * np.array(i["accel"]),
        J=J,
        phi0=[i["phi0"]],
        v_n0=[J[2] @ v0],
        period=i["dt"],
        stiffness=i["k"],
        dissipation=i["d"],
        relaxation_time=i["tau_d"],
        friction=[i["mu"]] if i["mu"] is not None else [i["mu_tensor"]],
        stiction_tolerance=i["v_s"],
        sigma=i["sigma"],
        near_rigid=i["beta"],
    )
    return problem, NAMES.get(i["approx"], i["approx"])


CASES = states("single_contact_public.json")
GRADIENTS = states("single_contact_gradients.json")


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{k}-{case['input']['approx']}-{case['input']['kind']}" for k, case in enumerate(cases)]


def test_there_are_all_the_cases() -> None:
    assert len(CASES) == 105 and len(GRADIENTS) == 10


@pytest.mark.covering
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_solution(case: dict[str, Any]) -> None:
    problem, approximation = reference_problem(case)
    expected = case["output"]
    solution = solve(problem, approximation)
    scale, i = np.linalg.norm(expected["v"]), case["input"]
    # rounding of v moves gamma_n by eps dt^2 k |v|, and that moves v by w times as much: 1.2e-10 in the stiffest case
    rounding = np.finfo(float).eps * i["dt"] ** 2 * i["k"] * case["derived"]["w"]
    limit = min(max(1e-12, rounding), 1e-10)  # asked: 1e-10
    assert np.linalg.norm(solution.velocity - expected["v"]) <= limit * scale
    # gamma_n = dt k (...) amplifies the rounding of v by dt^2 k over the mass
    assert solution.impulse[0] == pytest.approx(
        np.array(expected["gamma"]), rel=1e-8, abs=1e-8 * (1e-12 + np.linalg.norm(expected["gamma"]))
    )
    assert solution.cost == pytest.approx(expected["cost"], rel=1e-10, abs=1e-18)
    assert solution.residual < 1e-9 and solution.converged
    assert problem.delassus_estimate[0] == pytest.approx(case["derived"]["w"], rel=1e-12)
    assert problem.parameters.lagged_impulse[0] == pytest.approx(case["derived"]["gamma_n0"], rel=1e-12)
    if approximation == "sap":  # the others' transition is gradual, and the reference's limit is another
        assert bool(solution.sticking[0]) == (expected["mode"] == "stick")


@pytest.mark.covering
@pytest.mark.parametrize("case", CASES[::7], ids=names(CASES[::7]))
def test_readable_solver(case: dict[str, Any]) -> None:
    problem, approximation = reference_problem(case)
    velocity, _, _ = solve_dense(problem, approximation)
    assert np.linalg.norm(velocity - case["output"]["v"]) <= 1e-12 * np.linalg.norm(case["output"]["v"])


@pytest.mark.parametrize("case", GRADIENTS, ids=names(GRADIENTS))
def test_gradients(case: dict[str, Any]) -> None:
    problem, approximation = reference_problem(case)
    solution = solve(problem, approximation)
    mass = case["input"]["A_diag"][3]
    for name, key, factor in (
        ("v0", "dv_dv0", 1.0),
        ("friction", "dv_dmu", 1.0),
        ("stiffness", "dv_dk", 1.0),
        ("mass_scale", "dv_dmass", 1.0 / mass),
    ):
        expected = np.array(case[key])
        came = solution.gradient(name).reshape(expected.shape) * factor
        assert np.abs(came - expected).max() <= 1e-10 * max(np.abs(expected).max(), 1e-300), name  # asked: 1e-8
