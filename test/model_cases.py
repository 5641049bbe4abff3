"""Friction models of all kinds and laws for them, for the tests of the models as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    FrictionModel,
    FunctionLaw,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
)

Motion = Callable[..., np.ndarray]

EPS = np.finfo(float).eps
MASS, SPRING, PERIOD = {"mass": 0.5}, {"stiffness": 6000.0, "damping": 60.0}, {"period": 1e-3}
LAW = ViscousCoulombLaw(4.0, viscosity=5.0)
STRIBECK = StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.05, viscosity=2.0)
S, V = np.array([[3.0, 0.5], [0.5, 2.0]]), np.array([[3.0, 1.0], [1.0, 5.0]])
#: of any number of dimensions, but for the tensors of two
LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(4.0),
    "viscous": LAW,
    "stribeck": STRIBECK,
    "stribeck (46)": STRIBECK.approximated(),
    "table": TableLaw([0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0]),
    "function": FunctionLaw(lambda s: 3.0 + 2.0 / (1.0 + 20.0 * s), lambda s: -40.0 / (1.0 + 20.0 * s) ** 2),
    "tensor": AnisotropicLaw(S, viscosity=2.0),
    "tensors (59)": AnisotropicLaw(S, viscosity=V, exact=False),
}

Make = Callable[..., FrictionModel]
MODELS: dict[str, Make] = {
    "A": lambda law=LAW, n=2: ModelA(law, dimension=n, **MASS, **PERIOD),
    "B": lambda law=LAW, n=2: ModelB(law, dimension=n, **MASS, **SPRING, **PERIOD),
    "C": lambda law=LAW, n=2: ModelC(law, dimension=n, **SPRING, **PERIOD),
    "D": lambda law=LAW, n=2: ModelD(law, dimension=n, **MASS, **SPRING, **PERIOD),
    "mass and B": lambda law=LAW, n=2: WithMass(MODELS["B"](law, n), mass=2.0),
    "mass and C": lambda law=LAW, n=2: WithMass(MODELS["C"](law, n), mass=2.0),
    "compliance and A": lambda law=LAW, n=2: WithCompliance(MODELS["A"](law, n), stiffness=3000.0, damping=30.0),
    "compliance and D": lambda law=LAW, n=2: WithCompliance(MODELS["D"](law, n), stiffness=3000.0, damping=30.0),
}
PARTS = ("A", "B", "C", "D")

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def values(model: FrictionModel, motion: Motion, steps: int, seed: int = 0) -> np.ndarray:
    """Velocities of 0.2 m/s, or forces of 10 N."""
    return motion(steps, model.dimension, seed=seed) * (50.0 if model.kind == "admittance" else 1.0)


def observe(model: FrictionModel) -> tuple[Any, ...]:
    """The whole state of a model as comparable values."""
    arrays = (model.displacement, model.friction_force, model.sliding_velocity, *model.state.values())
    return (*(tuple(array.tolist()) for array in arrays), model.sticking, model.dissipated_energy)
