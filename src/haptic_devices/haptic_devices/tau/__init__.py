"""The simulated TAU device."""

from haptic_devices.tau.device import Tau
from haptic_devices.tau.parameters import DEFAULT_FILE, TauDriverParameters
from haptic_devices.tau.simulation import integrate, observe, pass_period, stop_wrench

__all__ = ["DEFAULT_FILE", "Tau", "TauDriverParameters", "integrate", "observe", "pass_period", "stop_wrench"]
