"""The simulated TAU device."""

from haptic_devices.tau.device import Tau
from haptic_devices.tau.parameters import DEFAULT_FILE, TauDriverParameters
from haptic_devices.tau.simulation import EndStops, MeasuredPose, integrate, observe, pass_period, stop_wrench

__all__ = [
    "DEFAULT_FILE",
    "EndStops",
    "MeasuredPose",
    "Tau",
    "TauDriverParameters",
    "integrate",
    "observe",
    "pass_period",
    "stop_wrench",
]
