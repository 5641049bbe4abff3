"""Parameters of the constraint node, poses and wrenches for its tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from admittance_constraints.node import ConstraintNode
from haptic_core import rendering_node
from haptic_core.parameters import load_parameter_specs

OWN = load_parameter_specs(ConstraintNode.parameter_file)
BASE = load_parameter_specs(rendering_node._BASE_FILE)
#: of the parameters that all rendering nodes have, the one that the reference needs
SPECS = {**OWN, "period": BASE["period"]}

UPRIGHT = Rotation.from_euler("x", 90, degrees=True)
#: on the rolling disk's plane
START = np.array([0.01, 0.02, 0.03, *UPRIGHT.as_quat()])
#: 6 mm above it, and leaning a little
LIFTED = np.array([0.01, 0.02, 0.036, *(Rotation.from_rotvec([0.02, 0.05, 0.0]) * UPRIGHT).as_quat()])
#: an approach that ends within every run
SHORT = {"approach_time": 0.02}
#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "mechanism": [
        "DiskOnSphere",
        "TwoLinkOnCircle",
        "Pendulum",
        "PointOnSurface",
        "PointOnParaboloid",
        "KnifeEdge",
        "FourBar",
    ],
    "mechanism_parameters": [["mass=0.5"], ["", "inertia=[0.001, 0.002, 0.003]"]],
    "frame_position": [[0.01, 0.0, 0.0], [0.0, 0.0, -0.01]],
    "frame_orientation": [[0.0, 0.0, 0.6, 0.8], [0.1, 0.0, 0.0, 0.995]],
    "tool_orientation": [[0.0, 0.6, 0.0, 0.8]],
    "integrator": ["algorithm1"],
    "friction_force": [0.2, 1.0],
    "friction_torque": [0.002, 0.01],
    "force_deadband": [0.2, 1.0],
    "moment_deadband": [0.002, 0.01],
    "contact_body": [1, 2],
    "world_position": [[0.1, 0.0, 0.0]],
    "world_orientation": [[0.0, 0.0, 0.6, 0.8]],
}
#: begin of a refusal of the mechanism
MECHANISM = "parameters mechanism, mechanism_parameters: "


def hand(k: int) -> np.ndarray:
    """Gives a wrench of the user at tick k [N; N m]."""
    return np.sin(0.03 * k * np.arange(1, 7) + np.arange(6)) * [2.0, 2.0, 2.0, 0.02, 0.02, 0.02]


def twist_array(twist: Any) -> np.ndarray:
    a, b = twist.linear, twist.angular
    return np.array((a.x, a.y, a.z, b.x, b.y, b.z))
