"""Stiff walls by position control on a 6-DOF TAU-type parallel haptic device (Wang, Feng, Andersson).

`TauDevice` is the mechanism (package `device`). `design_wall_controller` makes a `WallController` of a scheme (package
`control`). `WallRenderer` computes what the wall node answers in a tick; `HoldingWall` is the wall of the paper
(package `walls`). `simulate_push` is the paper's test (package `simulation`), `study` has the paper's figures. The
README of the package gives the order to read in.
"""

from haptic_files.moved_modules import forward_moved_modules
from haptic_math.compilation import announce_compilation
from tau_wall_control._moved import MOVED
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_wall_controller, lqr
from tau_wall_control.control.h_infinity import HInfinityController, HInfinityDesign, h_infinity
from tau_wall_control.control.linearisation import LinearModel, linearise
from tau_wall_control.control.options import SCHEMES, DesignOptions
from tau_wall_control.control.passive import PassiveController
from tau_wall_control.device.parameters import TauParameters, load_parameters
from tau_wall_control.device.tau_device import TauDevice, TauState
from tau_wall_control.errors import (
    ControllerFileError,
    ForwardKinematicsError,
    PlanesError,
    SafeStopError,
    SingularError,
    TauError,
    UnreachableError,
)
from tau_wall_control.simulation.limits import penetration_bound
from tau_wall_control.simulation.push import PoseController, PushResult, PushSimulation, simulate_push
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.planes import MovingPlanes, Plane, box
from tau_wall_control.walls.renderer import WallRenderer, WallReport
from tau_wall_control.walls.wall_state import WallState

__all__ = [
    "SCHEMES",
    "ControllerFileError",
    "DesignOptions",
    "ForwardKinematicsError",
    "HInfinityController",
    "HInfinityDesign",
    "HoldingWall",
    "LinearModel",
    "MovingPlanes",
    "PassiveController",
    "Plane",
    "PlanesError",
    "PoseController",
    "PushResult",
    "PushSimulation",
    "SafeStopError",
    "SingularError",
    "TauDevice",
    "TauError",
    "TauParameters",
    "TauState",
    "UnreachableError",
    "WallController",
    "WallRenderer",
    "WallReport",
    "WallState",
    "box",
    "design_wall_controller",
    "h_infinity",
    "linearise",
    "load_parameters",
    "lqr",
    "penetration_bound",
    "simulate_push",
]

announce_compilation(__name__)
__getattr__ = forward_moved_modules(__name__, MOVED)
