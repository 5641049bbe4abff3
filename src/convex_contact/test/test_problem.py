"""Bad input: one line that names the field, what was expected and what came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from convex_contact import ContactProblem, HertzLaw, solve


def arguments(**changes: Any) -> dict[str, Any]:
    return {
        "A": np.eye(3),
        "v_star": [0.1, 0.0, -0.1],
        "J": np.eye(3),
        "phi0": [-1e-4],
        "v_n0": [0.0],
        "period": 1e-3,
        "stiffness": 1e5,
        "dissipation": 1.0,
        "relaxation_time": 1e-4,
        "friction": [0.5],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": np.eye(2)}, r"A: expected shape \(3, 3\), got \(2, 2\)"),
        ({"A": np.diag([1.0, 1.0, -1.0])}, "A: expected a positive definite matrix, got the diagonal"),
        (
            {"A": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]},
            "A: expected a positive definite matrix, .* eigenvalue.* -1",
        ),
        ({"A": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "A: expected a symmetric matrix"),
        ({"A": "mass"}, "A: expected numbers of shape"),
        ({"v_star": [0.0, np.nan, 0.0]}, r"v_star: expected finite numbers, got .*nan.* at \[1\]"),
        ({"v_star": []}, r"v_star: expected shape \(nv,\) with nv > 0"),
        ({"J": np.eye(3)[:2]}, r"J: expected shape \(3, 3\), got \(2, 3\)"),
        ({"J": np.zeros((3, 3))}, "J: expected contacts that can move, got only zeros for contact 0"),
        ({"phi0": -1e-4}, r"phi0: expected shape \(nc,\), got \(\)"),
        ({"phi0": [np.inf]}, "phi0: expected finite numbers"),
        ({"v_n0": [0.0, 0.0]}, r"v_n0: expected shape \(1,\), got \(2,\)"),
        ({"period": 0.0}, r"period: expected more than 0, got 0\.0"),
        ({"period": "fast"}, "period: expected a number, got 'fast'"),
        ({"stiffness": [0.0]}, r"stiffness: expected more than 0, got .*0\.0.* at \[0\]"),
        ({"dissipation": -1.0}, "dissipation: expected 0 or more"),
        ({"relaxation_time": -1.0}, "relaxation_time: expected 0 or more"),
        ({"friction": [-0.1]}, "friction: expected 0 or more"),
        ({"friction": [[0.5, 0.5]]}, r"friction: expected shape \(1,\) or \(1, 2, 2\), got \(1, 2\)"),
        ({"friction": [[[0.5, 0.6], [0.6, 0.5]]]}, "friction: expected a positive definite matrix"),
        ({"stiction_tolerance": 0.0}, "stiction_tolerance: expected more than 0"),
        ({"sigma": -1.0}, "sigma: expected more than 0"),
        ({"near_rigid": -1.0}, "near_rigid: expected 0 or more"),
        ({"bias": [0.0, 0.0]}, r"bias: expected shape \(1, 3\), got \(2,\)"),
        ({"normal_law": "hertz"}, "normal_law: expected a NormalLaw or None, got 'hertz'"),
        ({"tangential_stiffness": 0.0}, "tangential_stiffness: expected more than 0"),
        ({"tangential_damping": -1.0}, "tangential_damping: expected 0 or more"),
        ({"elastic_displacement": [0.0, 0.0]}, r"elastic_displacement: expected shape \(1, 2\), got \(2,\)"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        ContactProblem(**arguments(**changes))
    assert "\n" not in str(caught.value).replace("\n ", " ")


def test_solve_refuses() -> None:
    problem = ContactProblem(**arguments())
    with pytest.raises(ValueError, match=r"approximation: expected one of sap, lagged, .*, got 'coulomb'"):
        solve(problem, "coulomb")
    with pytest.raises(ValueError, match=r"initial: expected shape \(3,\), got \(2,\)"):
        solve(problem, initial=[0.0, 0.0])
    with pytest.raises(ValueError, match="relative_tolerance: expected more than 0"):
        solve(problem, relative_tolerance=0.0)
    with pytest.raises(ValueError, match="normal_law: expected None with sap"):
        solve(ContactProblem(**arguments(normal_law=HertzLaw())), "sap")


def test_argument_that_is_no_problem_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^problem: expected a ContactProblem, got 1$"):
        solve(1, "lagged")  # type: ignore[arg-type]


def test_arguments_are_copied() -> None:
    given = arguments(v_star=np.array([0.1, 0.0, -0.1]))
    problem = ContactProblem(**given)
    given["v_star"][0] = 7.0
    assert problem.v_star[0] == 0.1


def test_flat_bias() -> None:
    """b as (3 nc,) or (nc, 3)."""
    flat, table = (ContactProblem(**arguments(bias=b)) for b in ([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0]]))
    assert np.array_equal(np.asarray(flat.bias), np.asarray(table.bias))


def test_a_single_entry_without_a_mirror_image_is_refused() -> None:
    A = np.eye(3)
    A[0, 2] = 0.1
    one = np.ones(1)
    with pytest.raises(ValueError, match=r"A: expected a symmetric matrix, got entries that differ by 0\.1 "):
        ContactProblem(
            A=A, v_star=np.zeros(3), J=np.eye(3), phi0=-1e-3 * one, v_n0=0.0 * one, period=1e-3, stiffness=1e4 * one,
            dissipation=0.0 * one, relaxation_time=0.0 * one, friction=0.5 * one,
        )  # fmt: skip
