"""The simulated parallel-link manipulator."""

from haptic_devices.five_bar.control import aim, servo
from haptic_devices.five_bar.device import FiveBar
from haptic_devices.five_bar.kinematics import Linkage, forward, inverse, joint_rates, stop, tool_jacobian
from haptic_devices.five_bar.parameters import DEFAULT_FILE, FiveBarParameters, LinkInertia, inertia_constants
from haptic_devices.five_bar.simulation import SUBSTEPS, Arm, ArmState, integrate, observe, pass_period

__all__ = [
    "DEFAULT_FILE",
    "SUBSTEPS",
    "Arm",
    "ArmState",
    "FiveBar",
    "FiveBarParameters",
    "LinkInertia",
    "Linkage",
    "aim",
    "forward",
    "inertia_constants",
    "integrate",
    "inverse",
    "joint_rates",
    "observe",
    "pass_period",
    "servo",
    "stop",
    "tool_jacobian",
]
