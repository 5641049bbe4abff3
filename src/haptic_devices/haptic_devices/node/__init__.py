"""The node that hosts a device and is the clock of the loop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haptic_devices.node.device_node import DeviceNode, main

__all__ = ["DeviceNode", "main"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.device_node"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
