"""Friction laws Phi and their implicit counterparts Phi_Z (Kikuuwe et al., sections II, III-E and III-F).

A law gives the steady friction force of a sliding contact; at rest the force is any of a set. Isotropic
laws are Phi(v) = g(|v|) v/|v| in any dimension, with any vector of length g(0) or less at rest. The force
on the sliding body, which opposes its motion, is -Phi(v). The models need Phi_Z, eq. (52), the solution y of
y = Phi(x - Z y), with Z > 0 in m/(N s).

A user-defined law is a class that names a closed form and its coefficients, a `FunctionLaw` of g and g',
or a `TableLaw` of measured points. An `AsymmetricLaw` takes one law for each direction along a line. No law
has memory, dwell-time dependence or presliding displacement; models B, C and D add presliding displacement.
"""

from haptic_files.moved_modules import renamed
from haptic_friction.laws.anisotropic import AnisotropicLaw
from haptic_friction.laws.asymmetric import AsymmetricLaw
from haptic_friction.laws.function import INSPECTED_SPEEDS, FunctionLaw
from haptic_friction.laws.isotropic import CoulombLaw, StribeckLaw, TableLaw, ViscousCoulombLaw
from haptic_friction.laws.law import (
    LARGEST,
    FrictionLaw,
    checked,
    checked_law,
    constructor_parameters,
    fixed_attribute,
    symmetric_matrix,
)

__all__ = [
    "INSPECTED_SPEEDS",
    "LARGEST",
    "AnisotropicLaw",
    "AsymmetricLaw",
    "CoulombLaw",
    "FrictionLaw",
    "FunctionLaw",
    "StribeckLaw",
    "TableLaw",
    "ViscousCoulombLaw",
    "checked",
    "checked_law",
    "constructor_parameters",
    "fixed_attribute",
    "symmetric_matrix",
]

__getattr__ = renamed(__name__, {"numbers": "haptic_math.quantities:float_array"})
