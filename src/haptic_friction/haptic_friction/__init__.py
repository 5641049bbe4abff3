"""Friction rendering by implicit Euler integration (Kikuuwe, Takesue, Sano, Mochiyama, Fujimoto).

A `FrictionLaw` (package `laws`) is the steady friction force over velocity. `ModelA` to `ModelD` (package `models`)
and the models of package `classical` step it in time. `identify_law` and `identify_model_c` (package
`identification`) find parameters in records. `FrictionRenderer` computes a tick of the node. The README of the package
has a reading order.
"""

from haptic_files.moved_modules import forward_moved_modules
from haptic_friction._moved import MOVED
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
from haptic_friction.design import ModelCDesign, design_model_c, evaluate_model_c, mobility_limit
from haptic_friction.errors import FrictionError, FrictionInputError
from haptic_friction.identification import (
    Estimate,
    Identification,
    Signals,
    identify_law,
    identify_loading_curve,
    identify_lugre,
    identify_model_c,
    identify_parallel_elements,
    read_signals,
)
from haptic_friction.laws import (
    AnisotropicLaw,
    AsymmetricLaw,
    CoulombLaw,
    FrictionLaw,
    FunctionLaw,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
)
from haptic_friction.models.batch import Batch, ParallelElements
from haptic_friction.models.model import AdmittanceModel, FrictionModel, ImpedanceModel, WithCompliance, WithMass
from haptic_friction.models.model_a import ModelA
from haptic_friction.models.model_b import ModelB
from haptic_friction.models.model_c import ModelC
from haptic_friction.models.model_d import ModelD
from haptic_friction.models.torsional import TorsionalElement, patch_radius
from haptic_friction.network import BASE, Body, Contact, ContactNetwork, ImplicitNetwork, NetworkRun
from haptic_friction.renderer import FrictionRenderer
from haptic_math.compilation import announce_compilation

__all__ = [
    "BASE",
    "AdmittanceModel",
    "AnisotropicLaw",
    "AsymmetricLaw",
    "Batch",
    "Body",
    "Contact",
    "ContactNetwork",
    "CoulombLaw",
    "DahlModel",
    "ElastoplasticModel",
    "Estimate",
    "ExplicitCoulombModel",
    "FrictionError",
    "FrictionInputError",
    "FrictionLaw",
    "FrictionModel",
    "FrictionRenderer",
    "FunctionLaw",
    "HaywardArmstrongModel",
    "Identification",
    "ImpedanceModel",
    "ImplicitNetwork",
    "KarnoppModel",
    "LuGreModel",
    "ModelA",
    "ModelB",
    "ModelC",
    "ModelCDesign",
    "ModelD",
    "NetworkRun",
    "ParallelElements",
    "QuinnModel",
    "RegularizedCoulombModel",
    "ResetIntegratorModel",
    "Signals",
    "StribeckLaw",
    "TableLaw",
    "TorsionalElement",
    "ViscousCoulombLaw",
    "WithCompliance",
    "WithMass",
    "design_model_c",
    "evaluate_model_c",
    "identify_law",
    "identify_loading_curve",
    "identify_lugre",
    "identify_model_c",
    "identify_parallel_elements",
    "mobility_limit",
    "patch_radius",
    "read_signals",
]

announce_compilation(__name__)
__getattr__ = forward_moved_modules(__name__, MOVED)
