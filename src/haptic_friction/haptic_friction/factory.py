"""Laws and models by name, from the numbers of a node's or a study's parameters. No ROS import."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from haptic_files import FileError, kind_of, read_text
from haptic_files.plugins import find_plugin, installed_plugins
from haptic_friction.classical.bristles import (
    DahlModel,
    ElastoplasticModel,
    HaywardArmstrongModel,
    LuGreModel,
    ResetIntegratorModel,
)
from haptic_friction.classical.thresholds import (
    ExplicitCoulombModel,
    KarnoppModel,
    QuinnModel,
    RegularizedCoulombModel,
)
from haptic_friction.laws import (
    AnisotropicLaw,
    AsymmetricLaw,
    CoulombLaw,
    FrictionLaw,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
)
from haptic_friction.models.batch import ParallelElements
from haptic_friction.models.model import AdmittanceModel, FrictionModel, ImpedanceModel, WithCompliance, WithMass
from haptic_friction.models.model_a import ModelA
from haptic_friction.models.model_b import ModelB
from haptic_friction.models.model_c import ModelC
from haptic_friction.models.model_d import ModelD
from haptic_friction.network import Body, Contact, ContactNetwork

Parameters = Mapping[str, Any]

#: group of the entry points of functions that make a law
ENTRY_POINTS = "haptic_laws"


def read_table(law_file: str) -> TableLaw:
    """Reads a `TableLaw` from a CSV file with the header `speed,force` [m/s], [N].

    Raises:
        ValueError: the file cannot be read, or is not such a table; the message has its name and the line.
    """
    if not law_file:
        raise ValueError("law_file: expected the path of a CSV file, got nothing")
    try:
        text = read_text(law_file, encoding="utf-8-sig")
    except FileError as error:
        raise ValueError(f"law_file: {error}") from None
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ValueError(f"law_file: {law_file}: expected the header speed,force, got an empty file")
    number, header = lines[0]
    if header.replace(" ", "") != "speed,force":
        got = kind_of(header)
        raise ValueError(f"law_file: {law_file}: line {number}: expected the header speed,force, got {got}")
    speeds: list[float] = []
    forces: list[float] = []
    for number, line in lines[1:]:
        where = f"law_file: {law_file}: line {number}"
        fields = line.split(",")
        try:
            speed, force = map(float, fields)
        except ValueError:
            got = "other text" if len(fields) == 2 else f"{len(fields)} field{'s' * (len(fields) != 1)}"
            raise ValueError(f"{where}: expected two numbers, got {got}") from None
        if not (math.isfinite(speed) and (speed > speeds[-1] if speeds else speed == 0.0)):
            raise ValueError(f"{where}: speed: expected rising, finite speeds from 0 [m/s]")
        if not (math.isfinite(force) and (force > 0.0 or (force == 0.0 and not speeds))):
            raise ValueError(f"{where}: force: expected finite forces above 0 [N]")
        speeds.append(speed)
        forces.append(force)
    if len(speeds) < 2:
        raise ValueError(f"law_file: {law_file}: expected two or more points, got {len(speeds)}")
    return TableLaw(speeds, forces)


def load_function(law_function: str) -> FrictionLaw:
    """Calls a function that an installed package registers as entry point of group `haptic_laws`; returns its law.

    Args:
        law_function: name of the entry point, or its value, `module:function`.

    Raises:
        ValueError: there is no such entry point, it raises an error, or it does not return a `FrictionLaw`.
    """
    found = find_plugin(ENTRY_POINTS, law_function)
    if found is None:
        known = ", ".join(installed_plugins(ENTRY_POINTS)) or "none is installed"
        raise ValueError(
            f"law_function: expected an entry point of group {ENTRY_POINTS} ({known}), got {law_function!r}"
        )
    try:
        law = found.load()()
    except Exception as error:  # whatever the user's code raises
        reason = ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
        raise ValueError(
            f"law_function: {law_function!r}: expected a function without arguments that makes a FrictionLaw, "
            f"got {reason}"
        ) from error
    if not isinstance(law, FrictionLaw):
        raise ValueError(f"law_function: {law_function}: expected a FrictionLaw, got {type(law).__name__}")
    return law


@contextmanager
def _renamed(**names: str) -> Iterator[None]:
    """Replaces names of arguments of the library by names of parameters in the text of a ValueError."""
    try:
        yield
    except ValueError as error:
        words = rf"\b({'|'.join(names)})\b"
        raise ValueError(re.sub(words, lambda found: names[found[0]], str(error))) from error


class LawMaker:
    """Callable that makes a law from the values of a node's parameters; its ValueError names the parameter.

    Args:
        make: a law, or a function that returns one.
        parameters: names of the parameters by the arguments of `make`.
    """

    def __init__(self, make: Callable[..., FrictionLaw], **parameters: str) -> None:
        self.make, self.parameters = make, parameters

    def __call__(self, p: Parameters) -> FrictionLaw:
        with _renamed(**self.parameters):
            return self.make(**{argument: p[name] for argument, name in self.parameters.items()})


def _anisotropic(force_tensor: Sequence[float], viscosity: float, projection: str) -> AnisotropicLaw:
    size = round(len(force_tensor) ** 0.5)
    if size * size != len(force_tensor) or not size:
        raise ValueError(f"force_tensor: expected n times n numbers, row by row, got {len(force_tensor)}")
    return AnisotropicLaw(np.reshape(force_tensor, (size, size)), viscosity=viscosity, exact=projection == "exact")


#: maker of each law
LAWS: dict[str, LawMaker] = {
    "coulomb": LawMaker(CoulombLaw, force="friction_force"),
    "viscous_coulomb": LawMaker(ViscousCoulombLaw, force="friction_force", viscosity="viscosity"),
    "stribeck": LawMaker(
        StribeckLaw,
        kinetic_force="friction_force",
        static_force="static_force",
        stribeck_velocity="stribeck_velocity",
        viscosity="viscosity",
    ),
    "anisotropic": LawMaker(_anisotropic, force_tensor="force_tensor", viscosity="viscosity", projection="projection"),
    "table": LawMaker(read_table, law_file="law_file"),
    "function": LawMaker(load_function, law_function="law_function"),
}


def breakaway_parameter(law: str) -> str:
    """Returns the parameter with the largest static force [N] of a law: `static_force`, or `friction_force`."""
    return "static_force" if "static_force" in LAWS[law].parameters.values() else "friction_force"


#: value of `backward_law` for one law in both directions, and the parameters of a backward law without their prefix
SYMMETRIC = "symmetric"
BACKWARD = {name for law, maker in LAWS.items() if law != "anisotropic" for name in maker.parameters.values()}


def make_law(p: Parameters) -> FrictionLaw:
    """Makes the friction law of the parameters `law`, `projection` and those of the law itself.

    With a `backward_law` other than "symmetric" the result is an `AsymmetricLaw`, whose backward part has the
    parameters with the prefix "backward_".

    Raises:
        ValueError: a number or a file is refused; the message names it.
    """
    law = LAWS[p["law"]](p)
    if p.get("backward_law", SYMMETRIC) != SYMMETRIC:
        with _renamed(**{name: f"backward_{name}" for name in BACKWARD}):
            backward = LAWS[p["backward_law"]]({**p, **{name: p[f"backward_{name}"] for name in BACKWARD}})
        with _renamed(forward="law", backward="backward_law"):
            law = AsymmetricLaw(law, backward)
    return law.approximated() if p["projection"] == "approximate" else law


@_renamed(displacement="loading_displacement", force="loading_force")
def _parallel(law: FrictionLaw, p: Parameters, common: dict[str, Any]) -> ParallelElements:
    beside = set(p.get("models", ())) - {"parallel"}  # models for which the law is meant
    if p["law"] != "coulomb" and not beside:
        raise ValueError(f"law: expected coulomb for model parallel, whose forces are loading_force, got {p['law']!r}")
    return ParallelElements.from_loading_curve(
        p["loading_displacement"], p["loading_force"], damping_time=p["damping"] / p["stiffness"], **common
    )


#: maker of each model from a law, the parameters, and period and dimension
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


def make_model(p: Parameters, *, dimension: int, compiled: bool = True) -> FrictionModel | ParallelElements:
    """Makes the friction model of the parameters, in its initial state.

    A model of another kind than the parameter `rendering` is coupled as in Fig. 12: an
    impedance with a mass in front of it, an admittance with a spring and damper.

    Args:
        p: parameters of the friction node.
        dimension: number of axes along which friction acts.
        compiled: true compiles the loop before the first step; false only checks the parameters.

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
    if compiled:
        model.step(np.zeros(dimension))  # compiles, or loads what was compiled before
        model.reset()
    return model


#: parameters with one number for all models or one for each
PER_MODEL = ("mass", "stiffness", "damping", "velocity_threshold")


def parameters_of(parameters: Parameters, index: int) -> dict[str, Any]:
    """Selects the parameters for `make_model` of one of several models, at an index of the list `models`.

    Raises:
        ValueError: a list has neither one entry nor as many as there are models.
    """
    count = len(parameters["models"])
    own = {"model": parameters["models"][index]}
    for name in PER_MODEL:
        values = parameters[name]
        if len(values) not in (1, count):
            raise ValueError(f"parameter {name}: expected 1 or {count} entries, as models has, got {len(values)}")
        own[name] = values[index if len(values) > 1 else 0]
    return {**parameters, **own}


def make_network(p: Parameters, *, compiled: bool = True) -> ContactNetwork:
    """Makes the network that the parameters of the network node describe.

    Args:
        p: parameters of the network node.
        compiled: true compiles the loop before the first step; false only checks the parameters.

    Raises:
        ValueError: lists of different length, or a number that is refused; the message names it.
    """
    for name, count in (
        ("body_stiffness", len(p["body_mass"])),
        ("contact_second", len(p["contact_first"])),
        ("friction_force", len(p["contact_first"])),
        ("static_force", len(p["contact_first"])),
    ):
        if len(p[name]) != count:
            raise ValueError(f"parameter {name}: expected {count} entries, got {len(p[name])}")
    common = {"period": p["period"], "dimension": 1}
    own = [
        {"friction_force": kinetic, "static_force": static}
        for kinetic, static in zip(p["friction_force"], p["static_force"], strict=True)
    ]
    bodies = [Body(M, K) for M, K in zip(p["body_mass"], p["body_stiffness"], strict=True)]
    contacts = [
        Contact(first, second, MODELS[p["model"]](make_law({**p, **forces}), p, common))  # type: ignore[arg-type]
        for first, second, forces in zip(p["contact_first"], p["contact_second"], own, strict=True)
    ]
    network = ContactNetwork(bodies, contacts)
    if compiled:
        network.step([0.0])  # compiles, or loads what was compiled before
        network.reset()
    return network


def kinetic_force(p: Parameters) -> float:
    """Returns the force F [N] at which the contact slides; of elements in parallel that of all."""
    return float(p["loading_force"][-1] if p.get("model") == "parallel" else p["friction_force"])


def breakaway_force(p: Parameters) -> float:
    """Returns the force [N] at which the contact begins to slide: F, or Fs of a law that has one."""
    if p.get("model") == "parallel":
        return kinetic_force(p)
    return float(p[breakaway_parameter(p.get("law", "coulomb"))])
