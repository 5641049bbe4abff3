"""Device models, the simulated hands that hold them, and the node that hosts a device.

The names of this package are imported when they are first used: a process with one device loads no other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from haptic_files.moved_modules import forward_moved_modules

if TYPE_CHECKING:
    from haptic_devices.device import Device, DeviceError, Joint, Reading, Truth
    from haptic_devices.five_bar import FiveBar
    from haptic_devices.joystick import Joystick
    from haptic_devices.scripted import Script, ScriptedDevice

__all__ = ["Device", "DeviceError", "FiveBar", "Joint", "Joystick", "Reading", "Script", "ScriptedDevice", "Truth"]

#: module of each name of the package
_MODULES = {
    **dict.fromkeys(("Device", "DeviceError", "Joint", "Reading", "Truth"), "device"),
    "FiveBar": "five_bar",
    "Joystick": "joystick",
    **dict.fromkeys(("Script", "ScriptedDevice"), "scripted"),
}

_moved_module = forward_moved_modules(
    __name__,
    {
        "cobotic_hand_controller": "cobotic",
        "control_description": "control.description",
        "control_node": "control.node",
        "encoder": "components.encoder",
        "five_bar_stability": "five_bar.stability",
        "force_sensor": "components.force_sensor",
        "friction_compensation": "components.friction_compensation",
        "handle": "hands.handle",
        "hosted": "control.hosted",
        "joint_friction": "components.joint_friction",
        "motion": "motions.planar",
        "operator": "hands.operator",
        "spatial_hand": "hands.spatial_hand",
        "spatial_motion": "motions.spatial",
        "state_publisher": "node.state_publisher",
        "urdf": "components.urdf",
        "wall_motion": "motions.wall",
    },
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return _moved_module(name)
