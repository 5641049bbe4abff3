"""Convex approximations of compliant contact between rigid and articulated bodies (Castro, Han, Masterjohn).

A `World` (package `model`) describes bodies; `World.load` reads a URDF, an MJCF model or a mesh. `Simulator` (package
`simulation`) steps it, and `Simulator.state` gives position and velocity of a body. `ContactProblem` and `solve` are
one step as matrices (packages `problem`, `solver`). `ContactRenderer` computes a tick of the node.
"""

from convex_contact._moved import MOVED, RENAMED
from convex_contact.control.actuated_world import ActuatedWorld
from convex_contact.control.costs import QuadraticCost
from convex_contact.control.ilqr import Trajectory, optimize
from convex_contact.differentiation.rollouts import Gradients, Rollout, rollout
from convex_contact.haptics.contact_renderer import ContactRenderer
from convex_contact.model.body_joints import BodyJoint, Gear, JointCoordinate
from convex_contact.model.corotational import Elasticity, TetrahedralMesh
from convex_contact.model.joints import (
    JointActuator,
    JointCoupler,
    JointFriction,
    JointLaw,
    JointMotion,
    Sinusoid,
    StepFunction,
)
from convex_contact.model.materials import Material, PairLaw
from convex_contact.model.mjcf import MjcfWarning, load_mjcf
from convex_contact.model.motors import BallActuator, PlanarActuator
from convex_contact.model.native import NativeLibraryError
from convex_contact.model.pressure_fields import Hydroelastic, PressureField, RigidSurface
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, MassProperties, Shape, Sphere
from convex_contact.model.tendons import TendonActuator, TendonCoupler, TendonEquality, TendonLimit
from convex_contact.model.urdf import UrdfWarning
from convex_contact.model.weld import Weld
from convex_contact.model.world import Body, Geometry, KinematicTree, Pose, World, WorldError
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
from convex_contact.problem.elastoplastic import transport_elastic_displacement
from convex_contact.problem.errors import ContactError, ConvergenceError
from convex_contact.problem.implicit_terms import implicit_terms
from convex_contact.problem.normal_laws import FunctionLaw, HertzLaw, LinearLaw, NormalLaw
from convex_contact.problem.problem import ContactProblem
from convex_contact.simulation.batch import Batch, BatchError
from convex_contact.simulation.body_joint_handle import BodyJointHandle
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.dynamics import BodyState, WorldDynamics
from convex_contact.simulation.joint import Joint
from convex_contact.simulation.joint_limits import JointLimits
from convex_contact.simulation.simulator import ContactReport, Simulator, StepStatistics
from convex_contact.simulation.simulator_state import SimulatorState
from convex_contact.simulation.trajectories import StateTrajectory, trajectory
from convex_contact.solver.solution import Solution
from convex_contact.solver.solver import solve
from haptic_files.moved_modules import forward_moved_modules
from haptic_math.compilation import announce_compilation

__all__ = [
    "APPROXIMATIONS",
    "ActuatedWorld",
    "BallActuator",
    "Batch",
    "BatchError",
    "Body",
    "BodyJoint",
    "BodyJointHandle",
    "BodyState",
    "Box",
    "Capsule",
    "Compliant",
    "Constraint",
    "ContactError",
    "ContactProblem",
    "ContactRenderer",
    "ContactReport",
    "ConvergenceError",
    "CouplerConstraint",
    "Coupling",
    "Cylinder",
    "DistanceConstraint",
    "Elasticity",
    "FunctionLaw",
    "Gear",
    "Geometry",
    "Gradients",
    "HalfSpace",
    "HertzLaw",
    "HolonomicConstraint",
    "Hull",
    "Hydroelastic",
    "Joint",
    "JointActuator",
    "JointCoordinate",
    "JointCoupler",
    "JointFriction",
    "JointLaw",
    "JointLimit",
    "JointLimits",
    "JointMotion",
    "KinematicTree",
    "LinearLaw",
    "MassProperties",
    "Material",
    "MjcfWarning",
    "NativeLibraryError",
    "NormalLaw",
    "PDActuator",
    "PairLaw",
    "PlanarActuator",
    "Pose",
    "PrescribedMotion",
    "PressureField",
    "QuadraticCost",
    "RigidSurface",
    "Rollout",
    "Shape",
    "Simulator",
    "SimulatorState",
    "Sinusoid",
    "Solution",
    "Sphere",
    "StateTrajectory",
    "StepFunction",
    "StepStatistics",
    "TendonActuator",
    "TendonCoupler",
    "TendonEquality",
    "TendonLimit",
    "TetrahedralMesh",
    "Trajectory",
    "UrdfWarning",
    "Weld",
    "WeldConstraint",
    "World",
    "WorldDynamics",
    "WorldError",
    "implicit_terms",
    "load_mjcf",
    "optimize",
    "rollout",
    "solve",
    "trajectory",
    "transport_elastic_displacement",
]

__getattr__ = forward_moved_modules(__name__, MOVED, RENAMED)

announce_compilation(__name__, "a few minutes")
