"""Laws and models by name, from the numbers of a node's or a study's parameters. No ROS import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from haptic_friction.batch import ParallelElements
from haptic_friction.classical_bristles import (
    DahlModel,
    ElastoplasticModel,
    HaywardArmstrongModel,
    LuGreModel,
    ResetIntegratorModel,
)
from haptic_friction.classical_thresholds import (
    ExplicitCoulombModel,
    KarnoppModel,
    QuinnModel,
    RegularizedCoulombModel,
)
from haptic_friction.laws import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
)
from haptic_friction.model import AdmittanceModel, FrictionModel, ImpedanceModel, WithCompliance, WithMass
from haptic_friction.model_a import ModelA
from haptic_friction.model_b import ModelB
from haptic_friction.model_c import ModelC
from haptic_friction.model_d import ModelD

Parameters = Mapping[str, Any]


def read_table(path: str) -> TableLaw:
    """A `TableLaw` from a CSV file with the header `speed,force` [m/s], [N].

    Raises:
        ValueError: the file cannot be read, or is not such a table; the message names it.
    """
    try:
        lines = Path(path).read_text().splitlines()
        table = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:] if line.strip()])
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"law_file: {path or '(empty)'}: {error}") from None
    if not lines or lines[0].replace(" ", "") != "speed,force" or table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"law_file: {path}: expected the header speed,force and two numbers a line")
    try:
        return TableLaw(table[:, 0], table[:, 1])
    except ValueError as error:
        raise ValueError(f"law_file: {path}: {error}") from None


def load_function(name: str) -> FrictionLaw:
    """The law that a function of an installed module makes, named `module:function`.

    Raises:
        ValueError: there is no such function, or it does not return a `FrictionLaw`.
    """
    module, _, attribute = name.partition(":")
    try:
        law = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"law_function: {name!r}: expected module:function without arguments: {error}") from None
    if not isinstance(law, FrictionLaw):
        raise ValueError(f"law_function: {name}: expected a FrictionLaw, got {type(law).__name__}")
    return law


def _anisotropic(p: Parameters) -> AnisotropicLaw:
    size = round(len(p["force_tensor"]) ** 0.5)
    if size * size != len(p["force_tensor"]) or not size:
        raise ValueError(f"force_tensor: expected n times n numbers, row by row, got {len(p['force_tensor'])}")
    exact = p["projection"] == "exact"
    return AnisotropicLaw(np.reshape(p["force_tensor"], (size, size)), viscosity=p["viscosity"], exact=exact)


#: how each law is made
LAWS: dict[str, Callable[[Parameters], FrictionLaw]] = {
    "coulomb": lambda p: CoulombLaw(p["friction_force"]),
    "viscous_coulomb": lambda p: ViscousCoulombLaw(p["friction_force"], viscosity=p["viscosity"]),
    "stribeck": lambda p: StribeckLaw(
        p["friction_force"],
        static_force=p["static_force"],
        stribeck_velocity=p["stribeck_velocity"],
        viscosity=p["viscosity"],
    ),
    "anisotropic": _anisotropic,
    "table": lambda p: read_table(p["law_file"]),
    "function": lambda p: load_function(p["law_function"]),
}


def make_law(p: Parameters) -> FrictionLaw:
    """The friction law of the parameters `law`, `projection` and those that the law has.

    Raises:
        ValueError: a number or a file is refused; the message names it.
    """
    law = LAWS[p["law"]](p)
    return law.approximated() if p["projection"] == "approximate" else law


def _parallel(law: FrictionLaw, p: Parameters, common: dict[str, Any]) -> ParallelElements:
    return ParallelElements.from_loading_curve(
        p["loading_displacement"], p["loading_force"], damping_time=p["damping"] / p["stiffness"], **common
    )


#: how each model is made of a law, the parameters, and period and dimension
MODELS: dict[str, Callable[[FrictionLaw, Parameters, dict[str, Any]], FrictionModel | ParallelElements]] = {
    "A": lambda law, p, common: ModelA(law, mass=p["mass"], **common),
    "B": lambda law, p, common: ModelB(law, mass=p["mass"], stiffness=p["stiffness"], damping=p["damping"], **common),
    "C": lambda law, p, common: ModelC(law, stiffness=p["stiffness"], damping=p["damping"], **common),
    "D": lambda law, p, common: ModelD(law, mass=p["mass"], stiffness=p["stiffness"], damping=p["damping"], **common),
    "parallel": _parallel,
    "karnopp": lambda law, p, common: KarnoppModel(
        law, mass=p["mass"], velocity_threshold=p["velocity_threshold"], **common
    ),
    "quinn": lambda law, p, common: QuinnModel(
        law, mass=p["mass"], velocity_threshold=p["velocity_threshold"], **common
    ),
    "regularized_coulomb": lambda law, p, common: RegularizedCoulombModel(
        law, velocity_threshold=p["velocity_threshold"], **common
    ),
    "explicit_coulomb": lambda law, p, common: ExplicitCoulombModel(law, **common),
    "dahl": lambda law, p, common: DahlModel(law, bristle_stiffness=p["stiffness"], **common),
    "lugre": lambda law, p, common: LuGreModel(
        law, bristle_stiffness=p["stiffness"], bristle_damping=p["damping"], **common
    ),
    "elastoplastic": lambda law, p, common: ElastoplasticModel(
        law, bristle_stiffness=p["stiffness"], bristle_damping=p["damping"], **common
    ),
    "reset_integrator": lambda law, p, common: ResetIntegratorModel(
        law, bristle_stiffness=p["stiffness"], bristle_damping=p["damping"], **common
    ),
    "hayward_armstrong": lambda law, p, common: HaywardArmstrongModel(law, bristle_stiffness=p["stiffness"], **common),
}


def make_model(p: Parameters, *, dimension: int) -> FrictionModel | ParallelElements:
    """The friction model of the parameters, its compiled loop ready, at its start.

    A model of the other kind than the parameter `rendering` asks for is coupled as in Fig. 12: an
    impedance with a mass in front of it, an admittance with a spring and damper.

    Raises:
        ValueError: a number is refused; the message names it.
    """
    model = MODELS[p["model"]](make_law(p), p, {"period": p["period"], "dimension": dimension})
    if model.kind != p["rendering"]:
        if isinstance(model, ParallelElements):
            raise ValueError("model: parallel elements are rendered as an impedance, not as an admittance")
        if isinstance(model, ImpedanceModel):
            model = WithMass(model, mass=p["mass"])
        elif isinstance(model, AdmittanceModel):
            model = WithCompliance(model, stiffness=p["stiffness"], damping=p["damping"])
    model.step(np.zeros(dimension))  # compiles, or loads what was compiled before
    model.reset()
    return model


#: parameters with one number for all models or one for each
PER_MODEL = ("mass", "stiffness", "damping", "velocity_threshold")


def parameters_of(parameters: Parameters, place: int) -> dict[str, Any]:
    """What `make_model` needs for one of several models side by side, at a place in the list `models`.

    Raises:
        ValueError: a list has neither one entry nor as many as there are models.
    """
    count = len(parameters["models"])
    own = {"model": parameters["models"][place]}
    for name in PER_MODEL:
        values = parameters[name]
        if len(values) not in (1, count):
            raise ValueError(f"parameter {name}: expected 1 or {count} entries, as models has, got {len(values)}")
        own[name] = values[place if len(values) > 1 else 0]
    return {**parameters, **own}
