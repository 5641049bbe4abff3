"""Models coupled to a mass or to a compliance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_cases import EPS, LAW, MODELS, Motion, observe, values

from haptic_friction import WithCompliance, WithMass


def test_a_coupled_model_takes_the_parameters_over_and_leaves_the_part_alone(motion: Motion) -> None:
    for part, coupled in ((MODELS["C"](), WithMass), (MODELS["A"](), WithCompliance)):
        inputs = values(part, motion, 100)
        part.simulate(inputs)
        before = observe(part)
        given: dict[str, float] = {"mass": 2.0} if coupled is WithMass else {"stiffness": 3000.0, "damping": 30.0}
        make: Any = coupled
        model = make(part, **given)
        assert model.model is part and model.law is part.law
        assert (model.period, model.dimension) == (part.period, part.dimension)
        assert all(not row.any() for row in model.state.values())
        assert {name: getattr(model, name) for name in given} == given
        model.simulate(values(model, motion, 100))
        assert observe(part) == before
        expected = part.simulate(inputs)
        part.restore({row: before[3 + k] for k, row in enumerate(part.rows)})
        np.testing.assert_array_equal(part.simulate(inputs), expected)


def test_a_compliance_may_be_a_spring_or_a_damper_alone() -> None:
    spring = WithCompliance(MODELS["A"](LAW, 1), stiffness=1000.0, damping=0.0)
    damper = WithCompliance(MODELS["A"](LAW, 1), stiffness=0.0, damping=20.0)
    assert spring.step([0.5])[0] == pytest.approx(1000.0 * 1e-3 * 0.5, rel=4 * EPS)
    assert damper.step([0.5])[0] == pytest.approx(20.0 * 0.5, rel=4 * EPS)


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf])
def test_a_bad_mass_is_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match=r"^mass: expected a finite number above 0 \[kg\], got "):
        WithMass(MODELS["C"](), mass=value)


@pytest.mark.parametrize(("name", "unit"), [("stiffness", "N/m"), ("damping", "N s/m")])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_bad_compliance_is_refused_by_name(name: str, unit: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected a finite number, not negative \[{unit}\], got "):
        WithCompliance(MODELS["A"](), **{"stiffness": 1.0, "damping": 1.0, name: value})


def test_a_compliance_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^stiffness, damping: expected one above 0, got 0 for both"):
        WithCompliance(MODELS["A"](), stiffness=0.0, damping=0.0)


@pytest.mark.parametrize("name", ["A", "D", "mass and C", "compliance and A"])
def test_a_mass_takes_impedances_that_are_not_coupled(name: str) -> None:
    part: Any = MODELS[name]()
    with pytest.raises(ValueError, match=r"^model: expected an impedance model that is not coupled, got "):
        WithMass(part, mass=1.0)


@pytest.mark.parametrize("name", ["B", "C", "mass and C", "compliance and A"])
def test_a_compliance_takes_admittances_that_are_not_coupled(name: str) -> None:
    part: Any = MODELS[name]()
    with pytest.raises(ValueError, match=r"^model: expected an admittance model that is not coupled, got "):
        WithCompliance(part, stiffness=1.0, damping=1.0)
