"""Convex approximations of compliant frictional contact (Castro, Han, Masterjohn)."""

from convex_contact.approximations import APPROXIMATIONS
from convex_contact.constraints import (
    Compliant,
    Constraint,
    CouplerConstraint,
    DistanceConstraint,
    HolonomicConstraint,
    JointLimit,
    PDActuator,
    PrescribedMotion,
    WeldConstraint,
)
from convex_contact.elastoplastic import transported
from convex_contact.errors import ConvergenceError
from convex_contact.implicit_terms import implicit_terms
from convex_contact.normal_laws import FunctionLaw, HertzLaw, LinearLaw, NormalLaw
from convex_contact.problem import ContactProblem
from convex_contact.solution import Solution
from convex_contact.solver import solve

__all__ = [
    "APPROXIMATIONS",
    "Compliant",
    "Constraint",
    "ContactProblem",
    "ConvergenceError",
    "CouplerConstraint",
    "DistanceConstraint",
    "FunctionLaw",
    "HertzLaw",
    "HolonomicConstraint",
    "JointLimit",
    "LinearLaw",
    "NormalLaw",
    "PDActuator",
    "PrescribedMotion",
    "Solution",
    "WeldConstraint",
    "implicit_terms",
    "solve",
    "transported",
]
