"""Haptic display of constrained dynamic systems via admittance displays (Faulring, Lynch, Colgate, Peshkin).

The suite renders a `Mechanism` (`model`; ready ones in `mechanisms`, a user's own by `load_mechanism`).
`ReferenceGenerator` steps Algorithm 1 (`generation`) with compiled equations of motion (`dynamics`).
`AdmittanceController` (`display`) makes the motion of a display from it. `ConstraintRenderer` computes a tick of the
node `constraint_node`. The README of the package has the order to read in.
"""

from admittance_constraints._moved import MOVED, RENAMED
from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.display.controller import AdmittanceController
from admittance_constraints.display.end_effector import EndEffector
from admittance_constraints.display.external import SPLIT_LIMIT, ExternalForces, contact_wrench, split_number
from admittance_constraints.display.feedback import PIDFeedback, motion_command, pose_error, task_error
from admittance_constraints.display.placement import DisplayTransform
from admittance_constraints.dynamics.accelerations import solve_accelerations
from admittance_constraints.dynamics.projections import (
    constraint_inverse,
    task_space_inertia,
    unconstrained_projection,
)
from admittance_constraints.errors import ConstraintError, MechanismError, SingularConfigurationError
from admittance_constraints.generation.friction import FreeDirectionFriction
from admittance_constraints.generation.reference_generator import (
    GeneratorState,
    Reference,
    ReferenceGenerator,
    Trajectory,
)
from admittance_constraints.generation.stops import Stop, StoppedGenerator, StoppedReference
from admittance_constraints.mechanisms import (
    DiskOnSphere,
    DiskOnSphereAsPrinted,
    FourBar,
    KnifeEdge,
    Pendulum,
    PointOnParaboloid,
    PointOnSurface,
    RollingDisk,
    TwoLinkOnCircle,
)
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.linkage import Link, add_serial_linkage
from admittance_constraints.model.loading import load_mechanism
from admittance_constraints.model.mechanism import Mechanism
from admittance_constraints.model.urdf import UrdfMechanism
from admittance_constraints.renderer import ConstraintRenderer, ConstraintState
from haptic_files.moved_modules import forward_moved_modules
from haptic_math.compilation import announce_compilation

__all__ = [
    "SPLIT_LIMIT",
    "AdmittanceController",
    "ConstraintError",
    "ConstraintRenderer",
    "ConstraintState",
    "Definition",
    "DiskOnSphere",
    "DiskOnSphereAsPrinted",
    "DisplayTransform",
    "EndEffector",
    "ExternalForces",
    "FourBar",
    "FreeDirectionFriction",
    "GeneratorState",
    "KnifeEdge",
    "Link",
    "Mechanism",
    "MechanismError",
    "PIDFeedback",
    "Pendulum",
    "PointOnParaboloid",
    "PointOnSurface",
    "Reference",
    "ReferenceGenerator",
    "RollingDisk",
    "SingularConfigurationError",
    "Stop",
    "StoppedGenerator",
    "StoppedReference",
    "ToolMotion",
    "Trajectory",
    "TwoLinkOnCircle",
    "UrdfMechanism",
    "add_serial_linkage",
    "constraint_inverse",
    "contact_wrench",
    "load_mechanism",
    "motion_command",
    "pose_error",
    "solve_accelerations",
    "split_number",
    "task_error",
    "task_space_inertia",
    "unconstrained_projection",
]

announce_compilation(__name__)
__getattr__ = forward_moved_modules(__name__, MOVED, RENAMED)
