"""Convex approximations of compliant contact between rigid and articulated bodies (Castro, Han, Masterjohn)."""

from convex_contact._moved import MOVED
from convex_contact.differentiation.rollouts import Gradients, Rollout, rollout
from convex_contact.haptics.contact_renderer import ContactRenderer
from convex_contact.model.joints import (
    JointActuator,
    JointCoupler,
    JointFriction,
    JointLaw,
    JointMotion,
    Sinusoid,
    Steps,
)
from convex_contact.model.materials import Material, PairLaw
from convex_contact.model.mjcf import MjcfWarning, load_mjcf
from convex_contact.model.native import NativeLibraryError
from convex_contact.model.pressure_fields import Hydroelastic, PressureField, RigidSurface
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Solid, Sphere
from convex_contact.model.tendons import TendonActuator, TendonCoupler, TendonLimit
from convex_contact.model.urdf import UrdfWarning
from convex_contact.model.weld import Weld
from convex_contact.model.world import Body, Geometry, Placement, Tree, World, WorldError
from convex_contact.problem.approximations import APPROXIMATIONS
from convex_contact.problem.constraints import (
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
from convex_contact.problem.elastoplastic import transported
from convex_contact.problem.errors import ConvergenceError
from convex_contact.problem.implicit_terms import implicit_terms
from convex_contact.problem.normal_laws import FunctionLaw, HertzLaw, LinearLaw, NormalLaw
from convex_contact.problem.problem import ContactProblem
from convex_contact.simulation.batch import Batch, BatchError
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.dynamics import BodyState, WorldDynamics
from convex_contact.simulation.joint import Joint
from convex_contact.simulation.joint_limits import JointLimits
from convex_contact.simulation.simulator import ContactReport, Simulator, StepStatistics
from convex_contact.simulation.simulator_state import SimulatorState
from convex_contact.solver.solution import Solution
from convex_contact.solver.solver import solve
from haptic_files.moved_modules import forward_moved_modules

__all__ = [
    "APPROXIMATIONS",
    "Batch",
    "BatchError",
    "Body",
    "BodyState",
    "Box",
    "Capsule",
    "Compliant",
    "Constraint",
    "ContactProblem",
    "ContactRenderer",
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
    "Joint",
    "JointActuator",
    "JointCoupler",
    "JointFriction",
    "JointLaw",
    "JointLimit",
    "JointLimits",
    "JointMotion",
    "LinearLaw",
    "Material",
    "MjcfWarning",
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
    "SimulatorState",
    "Sinusoid",
    "Solid",
    "Solution",
    "Sphere",
    "StepStatistics",
    "Steps",
    "TendonActuator",
    "TendonCoupler",
    "TendonLimit",
    "Tree",
    "UrdfWarning",
    "Weld",
    "WeldConstraint",
    "World",
    "WorldDynamics",
    "WorldError",
    "implicit_terms",
    "load_mjcf",
    "rollout",
    "solve",
    "transported",
]

__getattr__ = forward_moved_modules(__name__, MOVED)
