"""Settings of haptic rendering: the transform from the device's space to the world, and the virtual coupling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from convex_contact.model.world import Pose
from convex_contact.problem import checks
from haptic_files.moved_modules import renamed


@dataclass(frozen=True)
class ToolTransform:
    """Transform from the device's space to the world.

    Attributes:
        frame: pose of the world's frame in the device's base [m].
        scale: s, metres of the world per metre of the device.
        axes: mask of the world's axes x, y, z that the tool drives (3,).
        turns: the proxy rotates with the tool; else it keeps its orientation.
    """

    frame: Pose
    scale: float
    axes: np.ndarray
    turns: bool

    @staticmethod
    def of(p: Mapping[str, Any]) -> ToolTransform:
        """Reads the parameters frame_position, frame_orientation, scale, held_axes and coupled_rotation.

        Raises:
            ValueError: a parameter is wrong.
        """
        orientation = checks.array("frame_orientation", p["frame_orientation"], (4,))
        checks.quaternion_length("frame_orientation", orientation, unit=True, got=repr(p["frame_orientation"]))
        frame = Pose.of(checks.array("frame_position", p["frame_position"], (3,)), orientation, "frame")
        axes = np.array([axis not in p["held_axes"] for axis in "xyz"])
        return ToolTransform(frame, checks.number("scale", p["scale"], above=0.0), axes, bool(p["coupled_rotation"]))


@dataclass(frozen=True)
class CouplingNumbers:
    """Stiffness, damping and limits of the virtual coupling.

    Attributes:
        stiffness: k of the coupling in the world [N/m]; rotational_stiffness [N m/rad].
        damping: b in the world [N s/m]; rotational_damping [N m s/rad].
        max_force: limit of the force on the tool [N]; max_torque: limit of the torque [N m].
        device_damping: damping of the device and of the hand on it, at the tool [N s/m]; 0: unknown.
    """

    stiffness: float
    damping: float
    rotational_stiffness: float
    rotational_damping: float
    max_force: float
    max_torque: float
    device_damping: float

    @staticmethod
    def of(p: Mapping[str, Any]) -> CouplingNumbers:
        """Reads the parameters of these names; those of the coupling have the prefix `coupling_`."""
        coupling = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
        rest = ("max_force", "max_torque", "device_damping")
        return CouplingNumbers(*(p[f"coupling_{name}"] for name in coupling), *(p[name] for name in rest))


__getattr__ = renamed(__name__, {"ToolPlace": "ToolTransform"})
