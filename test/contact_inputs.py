"""Parameters of the contact node, the path of a tool and a node without ROS for its tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from convex_contact.node import ContactNode
from haptic_core import rendering_node
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.transport.interface import RosTopics
from haptic_msgs.msg import BodyStates, DeviceCommand

OWN = load_parameter_specs(ContactNode.parameter_file)
BASE = load_parameter_specs(rendering_node._BASE_FILE)
SPECS = {**OWN, "period": BASE["period"]}


def tool(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Pose and twist of the tool: it pushes the box, turns and comes near the floor."""
    t = 1e-3 * k
    turn = Rotation.from_rotvec([0.5 * np.sin(20 * t), 0.3 * t, 2.0 * t])
    position = [0.03 * np.sin(12 * t), 0.01 * t, 0.0102 - 0.004 * np.sin(15 * t)]
    velocity = [0.36 * np.cos(12 * t), 0.01, -0.06 * np.cos(15 * t)]
    return np.concatenate([position, turn.as_quat()]), np.concatenate([velocity, [0.0, 0.3, 2.0]])


#: what all runs have, so that a way to the start ends within them
SHORT = {"approach_time": 0.01, "proxy": "finger"}
#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "sigma": {"approximation": "sap"},
    "near_rigid": {"approximation": "sap", "near_rigid": 1.0, "world_parameters": ["materials.wood.stiffness=1e9"]},
    "tangential_stiffness": {"approximation": "lagged_elastoplastic", "tangential_stiffness": 100.0},
    "tangential_damping": {"approximation": "lagged_elastoplastic", "tangential_damping": 10.0},
    "max_force": {"max_force": 0.4},
    "max_torque": {"max_torque": 1e-4, "coupled_rotation": True},
    "coupling_rotational_stiffness": {"coupled_rotation": True},
    "coupling_rotational_damping": {"coupled_rotation": True},
    "relative_tolerance": {"relative_tolerance": 1e-3},
    "linear_rotation": {},
}


def base_values(world: str, name: str = "", **change: Any) -> dict[str, Any]:
    """The defaults, in the context in which a parameter acts."""
    return check_all(SPECS, {"world": world, **SHORT, **CONTEXT.get(name, {}), **change})


def bare(parameters: dict[str, Any]) -> Any:
    """A plain object in the node's place, on which the node's own methods run; ROS need not be started."""
    silent = SimpleNamespace(get_subscription_count=lambda: 0, topic_name="silent")
    node: Any = SimpleNamespace(
        renderer=None, parameters=parameters, command=DeviceCommand(), state=BodyStates(), tick=0, warnings=[]
    )
    node.get_logger = lambda: SimpleNamespace(warning=node.warnings.append, info=lambda text: None)
    node._contacts = node._statistics = node._markers = silent
    node._display_ticks, node.inputs, node.transport = 1, {}, RosTopics()
    node.step_time = SimpleNamespace(add=lambda duration: None)
    ContactNode.install(node, ContactNode.build(node, parameters))
    return node
