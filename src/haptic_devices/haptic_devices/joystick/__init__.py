"""The simulated joystick."""

from haptic_devices.joystick.device import (
    DEFAULT_FILE,
    SUBSTEPS,
    Gimbal,
    Joystick,
    JoystickParameters,
    integrate,
    observe,
    pass_period,
    tip_jacobian,
    tip_state,
)

__all__ = [
    "DEFAULT_FILE",
    "SUBSTEPS",
    "Gimbal",
    "Joystick",
    "JoystickParameters",
    "integrate",
    "observe",
    "pass_period",
    "tip_jacobian",
    "tip_state",
]
