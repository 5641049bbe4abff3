"""Convex approximations of compliant contact between rigid and articulated bodies (Castro, Han, Masterjohn)."""

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
from convex_contact.coupling import Coupling
from convex_contact.dynamics import BodyState, JointLimits, WorldDynamics
from convex_contact.elastoplastic import transported
from convex_contact.errors import ConvergenceError
from convex_contact.implicit_terms import implicit_terms
from convex_contact.joints import JointActuator, JointCoupler, JointLaw, JointMotion, Sinusoid, Steps
from convex_contact.materials import Material, PairLaw
from convex_contact.native import NativeLibraryError
from convex_contact.normal_laws import FunctionLaw, HertzLaw, LinearLaw, NormalLaw
from convex_contact.pressure_fields import Hydroelastic, PressureField, RigidSurface
from convex_contact.problem import ContactProblem
from convex_contact.rollouts import Gradients, Rollout, rollout
from convex_contact.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Solid, Sphere
from convex_contact.simulator import ContactReport, Simulator, StepStatistics
from convex_contact.solution import Solution
from convex_contact.solver import solve
from convex_contact.world import Body, Geometry, Placement, Tree, World, WorldError

__all__ = [
    "APPROXIMATIONS",
    "Body",
    "BodyState",
    "Box",
    "Capsule",
    "Compliant",
    "Constraint",
    "ContactProblem",
    "ContactReport",
    "ConvergenceError",
    "CouplerConstraint",
    "Coupling",
    "Cylinder",
    "DistanceConstraint",
    "FunctionLaw",
    "Geometry",
    "Gradients",
    "HalfSpace",
    "HertzLaw",
    "HolonomicConstraint",
    "Hull",
    "Hydroelastic",
    "JointActuator",
    "JointCoupler",
    "JointLaw",
    "JointLimit",
    "JointLimits",
    "JointMotion",
    "LinearLaw",
    "Material",
    "NativeLibraryError",
    "NormalLaw",
    "PDActuator",
    "PairLaw",
    "Placement",
    "PrescribedMotion",
    "PressureField",
    "RigidSurface",
    "Rollout",
    "Shape",
    "Simulator",
    "Sinusoid",
    "Solid",
    "Solution",
    "Sphere",
    "StepStatistics",
    "Steps",
    "Tree",
    "WeldConstraint",
    "World",
    "WorldDynamics",
    "WorldError",
    "implicit_terms",
    "rollout",
    "solve",
    "transported",
]
