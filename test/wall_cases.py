"""Parameters of the wall node and a motion of the TAU's tool, for tests of its walls."""

from __future__ import annotations

from typing import Any

import numpy as np

from haptic_core import rendering_node
from haptic_core.parameters import check_all, load_parameter_specs
from tau_wall_control import TauDevice, WallRenderer
from tau_wall_control.node import WallNode

OWN = load_parameter_specs(WallNode.parameter_file)
BASE = load_parameter_specs(rendering_node._BASE_FILE)
SPECS = {**OWN, "period": BASE["period"]}


def values(**change: Any) -> dict[str, Any]:
    """The node's parameters, defaults but for the changes."""
    return check_all(SPECS, change)


def way(device: TauDevice, ticks: int = 80, period: float = 1e-3) -> list[tuple[np.ndarray, np.ndarray]]:
    """Joint angles and rates of a tool that meets the wall z = 0, slides 1.6 mm along it, and leaves it slowly."""
    result = []
    for k in range(ticks):
        z = 3e-5 * np.cos(2.0 * np.pi * k / ticks)
        p = np.array([0.002 + 2e-5 * k, 0.001, z])
        velocity = np.array([0.02, 0.0, -3e-5 * 2.0 * np.pi / (ticks * period) * np.sin(2.0 * np.pi * k / ticks)])
        G = device.dynamics(p).actuated_map
        result.append((device.inverse_kinematics(p), G @ np.concatenate([velocity, np.zeros(3)])))
    return result


def guarded(moving: bool = False, **change: Any) -> WallRenderer:
    """The renderer of these parameters."""
    return WallRenderer.from_parameters(values(**change), moving=moving)
