"""Device models, the simulated operator, and the node that hosts a device."""

from haptic_devices.device import Device, DeviceError, Joint, Reading, Truth
from haptic_devices.five_bar import FiveBar
from haptic_devices.joystick import Joystick
from haptic_devices.scripted import Script, ScriptedDevice

__all__ = ["Device", "DeviceError", "FiveBar", "Joint", "Joystick", "Reading", "Script", "ScriptedDevice", "Truth"]
