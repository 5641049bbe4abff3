"""Parameters of models A, B, C and D."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from model_cases import LAW, MASS, PARTS, PERIOD, SPRING, Motion, values

from haptic_friction import FrictionModel, ModelA, ModelB, ModelC, ModelD

ARGUMENTS: dict[str, tuple[Callable[..., FrictionModel], dict[str, float]]] = {
    "A": (ModelA, {**MASS, **PERIOD}),
    "B": (ModelB, {**MASS, **SPRING, **PERIOD}),
    "C": (ModelC, {**SPRING, **PERIOD}),
    "D": (ModelD, {**MASS, **SPRING, **PERIOD}),
}
UNITS = {"mass": "kg", "stiffness": "N/m", "damping": "N s/m", "period": "s"}


@pytest.mark.parametrize(("name", "change"), [(name, key) for name in PARTS for key in ARGUMENTS[name][1]])
def test_each_parameter_changes_the_result_and_is_shown(name: str, change: str, motion: Motion) -> None:
    make, arguments = ARGUMENTS[name]
    plain, changed = make(LAW, **arguments), make(LAW, **{**arguments, change: 1.1 * arguments[change]})
    inputs = values(plain, motion, 100)
    assert getattr(changed, change) == 1.1 * arguments[change]
    expected = plain.simulate(inputs)
    assert np.abs(changed.simulate(inputs) - expected).max() > 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize(("name", "change"), [(name, key) for name in PARTS for key in ARGUMENTS[name][1]])
def test_parameters_out_of_range_are_refused_by_name(name: str, change: str) -> None:
    make, arguments = ARGUMENTS[name]
    zero = [] if change == "damping" or (name, change) == ("B", "mass") else [0.0]
    for value in (-1.0, np.nan, np.inf, *zero):
        with pytest.raises(ValueError) as caught:
            make(LAW, **{**arguments, change: value})
        message = str(caught.value)
        assert message.startswith(f"{change}: expected ") and message.endswith(f"[{UNITS[change]}], got {value!r}")


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dimension", [0, -1, 2.5, np.nan, np.inf])
def test_a_dimension_that_is_no_whole_number_from_1_is_refused(name: str, dimension: float) -> None:
    make, arguments = ARGUMENTS[name]
    with pytest.raises(ValueError, match=f"^dimension: expected a whole number from 1, got {dimension}"):
        make(LAW, dimension=dimension, **arguments)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("law", [4.0, "coulomb"])
def test_something_else_than_a_law_is_refused(name: str, law: object) -> None:
    make, arguments = ARGUMENTS[name]
    with pytest.raises(ValueError, match=rf"^law: expected a friction law such as CoulombLaw\(4.0\), got {law!r}$"):
        make(law, **arguments)


def test_damping_may_be_zero_and_so_may_the_mass_of_model_b() -> None:
    for make in (ModelB, ModelD):
        assert make(LAW, mass=1.0, stiffness=1e4, damping=0.0, **PERIOD).step([0.0])[0] == 0.0
    assert ModelC(LAW, stiffness=1e4, damping=0.0, **PERIOD).step([0.0])[0] == 0.0
    assert ModelB(LAW, mass=0.0, stiffness=1e4, damping=0.0, **PERIOD).step([0.0])[0] == 0.0


def test_parameters_that_leave_no_finite_impedance_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Z: expected a finite number above 0 .* got inf"):
        ModelA(LAW, mass=1e-320, **PERIOD)
