"""Models with scaled parameters, for the tests of batches and of parallel elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haptic_friction import (
    CoulombLaw,
    FrictionModel,
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

T = 1e-3
Make = Callable[[float, int], FrictionModel]

#: models with all parameters depending on a scale, and on the dimension
MODELS: dict[str, Make] = {
    "A": lambda s, n: ModelA(CoulombLaw(4.0 * s), mass=2.0 / s, period=T, dimension=n),
    "B": lambda s, n: ModelB(CoulombLaw(4.0 * s), mass=0.1 / s, stiffness=6e3 * s, damping=10.0, period=T, dimension=n),
    "C": lambda s, n: ModelC(CoulombLaw(4.0 * s), stiffness=6e3 * s, damping=10.0 / s, period=T, dimension=n),
    "D": lambda s, n: ModelD(CoulombLaw(4.0 * s), mass=2.0 / s, stiffness=6e3 * s, damping=10.0, period=T, dimension=n),
    "C of a viscous law": lambda s, n: ModelC(
        ViscousCoulombLaw(4.0 * s, viscosity=3.0 * s), stiffness=6e3, damping=0.0, period=T, dimension=n
    ),
    "C of Stribeck's law": lambda s, n: ModelC(
        StribeckLaw(4.0 * s, static_force=5.0 * s, stribeck_velocity=0.1),
        stiffness=6e3,
        damping=50.0,
        period=T,
        dimension=n,
    ),
    "C of a table": lambda s, n: ModelC(
        TableLaw([0.0, 0.1, 0.2], [4.0 * s, 3.0 * s, 3.5]), stiffness=6e3, damping=50.0, period=T, dimension=n
    ),
    "C with a mass": lambda s, n: WithMass(
        ModelC(CoulombLaw(4.0 * s), stiffness=6e3 * s, damping=10.0, period=T, dimension=n), mass=1.0 / s
    ),
    "A with a spring": lambda s, n: WithCompliance(
        ModelA(CoulombLaw(4.0 * s), mass=2.0 / s, period=T, dimension=n), stiffness=6e3 * s, damping=50.0
    ),
}
SCALES = (1.0, 0.5, 2.0, 3.0)


def inputs_of(model: FrictionModel, motion: Callable[..., np.ndarray], seed: int, steps: int = 300) -> np.ndarray:
    """Velocities that slide, turn, rest and stick, or forces of which half are above the friction force."""
    scale = 1.0 if model.kind == "impedance" else 40.0
    return scale * motion(steps, model.dimension, seed)
