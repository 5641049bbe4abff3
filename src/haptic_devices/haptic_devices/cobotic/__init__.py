"""The simulated 6-DOF admittance display that stands in for the Cobotic Hand Controller."""

from haptic_devices.cobotic.device import CoboticHandController
from haptic_devices.cobotic.driver import aim
from haptic_devices.cobotic.kinematics import bias, forward, inverse, joint_rates, rotation, tool_jacobian
from haptic_devices.cobotic.parameters import DEFAULT_FILE, CoboticHandControllerParameters
from haptic_devices.cobotic.records import Compensation, Driver, EndEffector, Servo
from haptic_devices.cobotic.simulation import GRAVITY, SUBSTEPS, integrate, observe, own_wrench, to_tool

__all__ = [
    "DEFAULT_FILE",
    "GRAVITY",
    "SUBSTEPS",
    "CoboticHandController",
    "CoboticHandControllerParameters",
    "Compensation",
    "Driver",
    "EndEffector",
    "Servo",
    "aim",
    "bias",
    "forward",
    "integrate",
    "inverse",
    "joint_rates",
    "observe",
    "own_wrench",
    "rotation",
    "to_tool",
    "tool_jacobian",
]
