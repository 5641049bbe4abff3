"""Constants, laws and classical friction models, for the tests of the classical models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from haptic_friction import AnisotropicLaw, CoulombLaw, StribeckLaw, ViscousCoulombLaw
from haptic_friction.classical.bristles import (
    DahlModel,
    ElastoplasticModel,
    HaywardArmstrongModel,
    LuGreModel,
    ResetIntegratorModel,
)
from haptic_friction.classical.thresholds import ExplicitCoulombModel, KarnoppModel, QuinnModel, RegularizedCoulombModel
from haptic_friction.models.model import FrictionModel

Motion = Callable[..., np.ndarray]

EPS = np.finfo(float).eps
DATA = Path(__file__).parents[1] / "src" / "haptic_friction" / "test" / "data"
DRIFT = json.loads((DATA / "classical_drift.json").read_text())
M, F, T = DRIFT["M"], DRIFT["F"], DRIFT["T"]
S0, S1 = DRIFT["S0"], DRIFT["S1"]

COULOMB, VISCOUS = CoulombLaw(F), ViscousCoulombLaw(F, viscosity=3.0)
FALLING = StribeckLaw(F, static_force=1.5 * F, stribeck_velocity=1e-3)
ANISOTROPIC = AnisotropicLaw([[6.0, 1.0, 0.0], [1.0, 4.0, 0.5], [0.0, 0.5, 3.0]])

THRESHOLD: dict[str, Any] = {"velocity_threshold": 0.05, "period": T}
ADMITTANCES: dict[str, Callable[..., FrictionModel]] = {
    "karnopp": lambda **n: KarnoppModel(VISCOUS, mass=M, **THRESHOLD, **n),
    "karnopp_zero": lambda **n: KarnoppModel(COULOMB, mass=M, zero_velocity=True, **THRESHOLD, **n),
    "quinn": lambda **n: QuinnModel(COULOMB, mass=M, **THRESHOLD, **n),
}
#: with bristles soft enough for the motion to bend them in many steps
SOFT: dict[str, Any] = {"bristle_stiffness": 2e3, "period": T}
IMPEDANCES: dict[str, Callable[..., FrictionModel]] = {
    "regularized": lambda **n: RegularizedCoulombModel(VISCOUS, **THRESHOLD, **n),
    "explicit_coulomb": lambda **n: ExplicitCoulombModel(VISCOUS, period=T, **n),
    "dahl": lambda **n: DahlModel(COULOMB, **SOFT, **n),
    "dahl_explicit": lambda **n: DahlModel(COULOMB, explicit=True, **SOFT, **n),
    "lugre": lambda **n: LuGreModel(FALLING, bristle_damping=20.0, viscosity=3.0, **SOFT, **n),
    "lugre_explicit": lambda **n: LuGreModel(FALLING, bristle_damping=20.0, explicit=True, **SOFT, **n),
    "elastoplastic": lambda **n: ElastoplasticModel(VISCOUS, bristle_damping=20.0, viscosity=3.0, **SOFT, **n),
    "reset_integrator": lambda **n: ResetIntegratorModel(COULOMB, bristle_damping=20.0, stiction_gain=0.3, **SOFT, **n),
    "hayward_armstrong": lambda **n: HaywardArmstrongModel(COULOMB, **SOFT, **n),
    "hayward_armstrong_creep": lambda **n: HaywardArmstrongModel(COULOMB, creep_exponent=2.0, **SOFT, **n),
}
ALL = ADMITTANCES | IMPEDANCES


def inputs_of(name: str, motion: Motion, steps: int, dimension: int) -> np.ndarray:
    """Velocities of up to 0.2 m/s, or forces of up to 20 N."""
    return motion(steps, dimension) * (100.0 if name in ADMITTANCES else 1.0)
