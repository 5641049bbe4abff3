"""Parameters of the classical models and the laws that they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from classical_cases import ANISOTROPIC, COULOMB, FALLING, VISCOUS, F, M, Motion, T

from haptic_friction import CoulombLaw
from haptic_friction.classical.bristles import (
    DahlModel,
    ElastoplasticModel,
    HaywardArmstrongModel,
    LuGreModel,
    ResetIntegratorModel,
)
from haptic_friction.classical.thresholds import ExplicitCoulombModel, KarnoppModel, QuinnModel, RegularizedCoulombModel
from haptic_friction.models.model import FrictionModel


def valid(kind: type[FrictionModel]) -> tuple[dict[str, Any], Any]:
    """Constants and a law that the class takes."""
    constants: dict[str, Any] = {"period": T}
    if kind in (KarnoppModel, QuinnModel):
        constants |= {"mass": M}
    if kind in (KarnoppModel, QuinnModel, RegularizedCoulombModel):
        constants |= {"velocity_threshold": 0.02}
    if issubclass(kind, DahlModel | LuGreModel | ElastoplasticModel | ResetIntegratorModel | HaywardArmstrongModel):
        constants |= {"bristle_stiffness": 2e3}
    if kind in (LuGreModel, ElastoplasticModel, ResetIntegratorModel):
        constants |= {"bristle_damping": 20.0}
    return constants, COULOMB


#: values that change the result, for every parameter but law and dimension
CHANGES: dict[type[FrictionModel], dict[str, Any]] = {
    KarnoppModel: {"mass": 1.0, "velocity_threshold": 0.05, "period": 2e-3, "zero_velocity": True},
    QuinnModel: {"mass": 1.0, "velocity_threshold": 0.05, "period": 2e-3},
    RegularizedCoulombModel: {"velocity_threshold": 0.05},
    ExplicitCoulombModel: {},
    DahlModel: {"bristle_stiffness": 3e3, "period": 2e-3, "explicit": True},
    LuGreModel: {
        "bristle_stiffness": 3e3, "bristle_damping": 0.0, "viscosity": 5.0, "period": 2e-3, "explicit": True,
    },
    ElastoplasticModel: {
        "bristle_stiffness": 3e3, "bristle_damping": 0.0, "viscosity": 5.0, "elastic_fraction": 0.0, "period": 2e-3,
    },
    ResetIntegratorModel: {"bristle_stiffness": 3e3, "bristle_damping": 0.0, "stiction_gain": 0.5, "period": 2e-3},
    HaywardArmstrongModel: {"bristle_stiffness": 3e3, "creep_exponent": 3.0, "period": 2e-3},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CHANGES for name in CHANGES[kind]])
def test_every_parameter_changes_the_result(kind: type[FrictionModel], name: str, motion: Motion) -> None:
    constants, law = valid(kind)
    inputs = motion(600, 1) * (100.0 if kind in (KarnoppModel, QuinnModel) else 1.0)
    before = kind(law, **constants).simulate(inputs)
    after = kind(law, **constants | {name: CHANGES[kind][name]}).simulate(inputs)
    assert np.abs(after - before).max() > 1e-3 * np.abs(before).max()


@pytest.mark.parametrize("kind", CHANGES)
def test_law_and_period_change_the_result(kind: type[FrictionModel], motion: Motion) -> None:
    constants, law = valid(kind)
    inputs = motion(600, 1) * (100.0 if kind in (KarnoppModel, QuinnModel) else 1.0)
    models = [kind(law, **constants), kind(CoulombLaw(1.2 * F), **constants)]
    before, after = (model.simulate(inputs) for model in models)
    assert np.abs(after - before).max() > 1e-2 * np.abs(before).max()
    longer = kind(law, **constants | {"period": 2 * T})
    longer.simulate(inputs)
    assert longer.dissipated_energy > 1.1 * models[0].dissipated_energy  # of the longer way, if of nothing else


#: take every law, an anisotropic one too
ANY_LAW = (KarnoppModel, RegularizedCoulombModel, ExplicitCoulombModel)

POSITIVE = ("mass", "velocity_threshold", "bristle_stiffness", "period")
NOT_NEGATIVE = ("bristle_damping", "viscosity", "stiction_gain", "creep_exponent", "elastic_fraction")


@pytest.mark.parametrize("kind", CHANGES)
def test_bad_parameters_are_named(kind: type[FrictionModel]) -> None:
    constants, law = valid(kind)
    bad: dict[str, tuple[Any, ...]] = {"dimension": (0, 1.5, -1)}
    bad |= {name: (-1.0, math.nan, math.inf, 0.0) for name in POSITIVE if name in constants}
    bad |= {name: (-1.0, math.nan, math.inf) for name in NOT_NEGATIVE if name in constants or name in CHANGES[kind]}
    if kind is ElastoplasticModel:
        bad["elastic_fraction"] += (1.0, 2.0)
    assert set(bad) >= set(constants)
    for name, values in bad.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}: expected"):
                kind(law, **constants | {name: value})


@pytest.mark.parametrize("kind", [QuinnModel, DahlModel, ResetIntegratorModel, HaywardArmstrongModel])
def test_models_of_one_friction_force_refuse_another_law(kind: type[FrictionModel]) -> None:
    constants, _ = valid(kind)
    for law in (VISCOUS, FALLING):
        with pytest.raises(ValueError, match=r"^law: expected a friction force that does not depend on the speed"):
            kind(law, **constants)


@pytest.mark.parametrize(
    "kind", [kind for kind in CHANGES if kind not in (KarnoppModel, RegularizedCoulombModel, ExplicitCoulombModel)]
)
def test_models_that_divide_by_the_friction_force_refuse_zero(kind: type[FrictionModel]) -> None:
    constants, _ = valid(kind)
    with pytest.raises(ValueError, match=r"^law: expected a friction force above 0 N at rest, got 0 N"):
        kind(CoulombLaw(0.0), **constants)


@pytest.mark.parametrize("kind", ANY_LAW)
def test_the_dimension_of_an_anisotropic_law_is_checked(kind: type[FrictionModel]) -> None:
    constants, _ = valid(kind)
    for dimension in (2, 4):
        with pytest.raises(ValueError, match=r"^dimension: expected 3"):
            kind(ANISOTROPIC, **constants | {"dimension": dimension})


@pytest.mark.parametrize("kind", [DahlModel, QuinnModel, LuGreModel, ElastoplasticModel])
def test_models_without_a_form_for_an_anisotropic_law_refuse_it(kind: type[FrictionModel]) -> None:
    constants, valid_law = valid(kind)
    kind(valid_law, **constants)
    with pytest.raises(ValueError, match=r"^law: expected an isotropic law"):
        kind(ANISOTROPIC, **constants | {"dimension": 3})
