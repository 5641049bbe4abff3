"""The simulated parallel-link manipulator."""

from haptic_devices.five_bar.control import aim, servo
from haptic_devices.five_bar.device import FiveBar
from haptic_devices.five_bar.kinematics import forward, inverse, joint_rates, stop, tool_jacobian
from haptic_devices.five_bar.parameters import DEFAULT_FILE, FiveBarParameters, inertia_constants
from haptic_devices.five_bar.simulation import SUBSTEPS, integrate, observe

__all__ = [
    "DEFAULT_FILE",
    "SUBSTEPS",
    "FiveBar",
    "FiveBarParameters",
    "aim",
    "forward",
    "inertia_constants",
    "integrate",
    "inverse",
    "joint_rates",
    "observe",
    "servo",
    "stop",
    "tool_jacobian",
]
