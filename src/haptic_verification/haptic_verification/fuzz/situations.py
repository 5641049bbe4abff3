"""Nodes under load, with the messages of the device and of other nodes, for `changes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from admittance_constraints.node import ConstraintNode
from convex_contact.node import ContactNode
from haptic_core.messages import allocate, set_pose, set_twist, set_vector
from haptic_core.suite_node import SuiteNode
from haptic_devices.node.device_node import DeviceNode
from haptic_friction.node import FrictionNode
from haptic_msgs.msg import ContactArray, DeviceState, WallState
from haptic_verification.fuzz.subjects import PERIOD
from tau_wall_control import TauDevice
from tau_wall_control.node import WallNode

#: ticks before the change, and after it
SETTLED, AFTER = 80, 110
#: factors of a number's present value, beside its bounds
FACTORS = (0.9, 1.1)
#: tolerance of a step [N, N m, m/s]
ROUNDING = 1e-12


@dataclass(frozen=True)
class Situation:
    """A node under load.

    Attributes:
        node: class of the node.
        load: description of the load.
        parameters: parameters of the node.
        state: function that returns the device's state at a tick of the situation.
        inputs: function by entry of the parameter `inputs` that returns the message at a tick.
        values: new values by parameter, where its bounds do not suffice.
        only: names of the parameters to change; empty: all that may be changed.
        follows: True if the tool is 0.1 mm and 1 mrad behind the command of the tick before.
    """

    node: type[SuiteNode]
    load: str
    parameters: Mapping[str, Any]
    state: Callable[[int], DeviceState]
    inputs: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    follows: bool = False


# ---- messages to the nodes -------------------------------------------------------------------------


def _state(pose: np.ndarray, twist: np.ndarray, wrench: tuple[float, ...] = (0.0,) * 6) -> DeviceState:
    state = DeviceState(period=PERIOD, has_force_sensor=any(wrench))
    set_pose(state.tool_pose, pose)
    set_twist(state.tool_twist, twist)
    set_vector(state.tool_wrench.force, wrench[:3])
    set_vector(state.tool_wrench.torque, wrench[3:])
    for name in ("position", "velocity", "effort"):
        allocate(state, f"joint_{name}", 2)
    return state


def _straight(
    speed: tuple[float, float, float], wrench: tuple[float, ...] = (0.0,) * 6, start: tuple[float, ...] = (0.0,) * 3
) -> Callable[[int], DeviceState]:
    """Returns the states by tick of a tool that moves along a line, with the user's wrench on it."""

    def state(k: int) -> DeviceState:
        position = np.array(start) + k * PERIOD * np.array(speed)
        return _state(np.array((*position, 0.0, 0.0, 0.0, 1.0)), np.array((*speed, 0.0, 0.0, 0.0)), wrench)

    return state


def _pressing(k: int) -> DeviceState:
    """Returns the state at tick k of a tool that moves down by 10 mm into a table, slides along it and rotates."""
    depth, angle = 0.01 * min(k / 50, 1.0), 0.2 * min(k / 50, 1.0)
    rate = 0.2 * (k < 50), 4.0 * (k < 50)
    pose = np.array((2e-5 * k, 0.0, 0.015 - depth, *Rotation.from_rotvec([0.0, angle, 0.0]).as_quat()))
    return _state(pose, np.array((0.02, 0.0, -rate[0], 0.0, rate[1], 0.0)))


def _at_the_wall() -> Callable[[int], DeviceState]:
    """Returns the states by tick of the TAU device with its tool 20 um inside the wall z = 0, sliding at 20 mm/s."""
    device, poses = TauDevice.default(), {}

    def state(k: int) -> DeviceState:
        x = 2e-5 * k
        if k not in poses:
            poses[k] = np.asarray(device.inverse_kinematics((x, 0.0, 2e-3 if k < 2 else -2e-5)))
        state = _state(np.array((x, 0.0, -2e-5, 0.0, 0.0, 0.0, 1.0)), np.array((0.02, 0.0, 0.0, 0.0, 0.0, 0.0)))
        before = poses.get(k - 1, poses[k])
        rate = (poses[k] - before) / PERIOD if k > 2 else np.zeros(6)
        for name, row in (("position", poses[k]), ("velocity", rate), ("effort", np.zeros(6))):
            allocate(state, f"joint_{name}", 6)[:] = row
        return state

    return state


def _wall_contact(k: int) -> WallState:
    return WallState(
        point=[0.0] * 3,
        normal=[0.0, 0.0, 1.0],
        velocity=[0.0] * 3,
        penetration=[1e-4],
        push=[6.0],
        in_contact=[True],
        effort=[0.0] * 6,
        saturation=[0.0] * 6,
    )


def _contacts(k: int) -> ContactArray:
    """Returns contacts in which body 1 is pressed onto body 0 with 6 N, and body 2 with 2 N."""
    return ContactArray(
        period=PERIOD,
        body_a=[0, 0],
        body_b=[1, 2],
        position=[0.0] * 6,
        normal=[0.0, 0.0, 1.0] * 2,
        signed_distance=[-1e-4] * 2,
        normal_impulse=[6e-3, 2e-3],
        tangential_impulse=[0.0] * 6,
        slip_velocity=[0.05, 0.0, 0.0] * 2,
        sticking=[False] * 2,
    )


# ---- under load -----------------------------------------------------------------------------------

_SLIDING = _straight((0.05, 0.02, 0.0))
_CREEPING = _straight((2e-3, 0.0, 0.0))
_USER_WRENCH = (6.0, 2.0, 0.0, 0.0, 0.0, 0.0)
_PULLED = _straight((0.0, 0.0, 0.0), _USER_WRENCH)
_DISK = ["mass=1.0", "inertia=[0.003, 0.006, 0.003]", "radius=0.1"]
_UPRIGHT = (0.7071067811865476, 0.0, 0.0, 0.7071067811865476)


def _rolling(k: int) -> DeviceState:
    """Returns the state of an upright disk on the floor that the user pulls forward and rotates."""
    return _state(np.array((0.0, 0.0, 0.1, *_UPRIGHT)), np.zeros(6), (1.0, 0.3, 0.0, 0.0, 0.0, 0.02))


_MECHANISM = {
    "mechanism_parameters": (
        ["mass=2.0", *_DISK[1:]],
        ["mass=0.1", *_DISK[1:]],
        [*_DISK[:2], "radius=0.08"],
        [*_DISK, "translational_damping=2.0"],
    )
}
_STRIBECK = {"law": "stribeck", "viscosity": 2.0}
_ELASTIC = ("stiffness", "damping", "friction_force", "static_force", "viscosity", "projection", "law")

SITUATIONS: dict[str, Situation] = {
    "device": Situation(
        DeviceNode, "pushed, 0.05 N m", {"device": "joystick", "sources": ["one"], "duration": 1e6}, _SLIDING
    ),
    "friction": Situation(
        FrictionNode, "slides at 54 mm/s", _STRIBECK, _SLIDING,
        values={"law_function": ("none",)},
    ),
    "friction, presliding": Situation(
        FrictionNode, "sticks, at 2 mm/s", {**_STRIBECK, "stiffness": 1000.0}, _CREEPING, only=_ELASTIC
    ),
    "friction, anisotropic": Situation(
        FrictionNode,
        "slides",
        {"law": "anisotropic"},
        _SLIDING,
        values={"force_tensor": ([4.4, 0.0, 0.0, 2.2], [2.0, 0.5, 0.5, 8.0], [100.0, 0.0, 0.0, 100.0])},
        only=("force_tensor", "viscosity", "projection"),
    ),
    "friction, parallel": Situation(
        FrictionNode,
        "slides",
        {"model": "parallel"},
        _CREEPING,
        values={"loading_displacement": ([3e-4, 1e-3, 4e-3], [1e-5, 2e-5, 3e-5]),
                "loading_force": ([2.0, 3.5, 4.4], [20.0, 35.0, 40.0])},
        only=("loading_displacement", "loading_force"),
    ),
    "friction, on walls": Situation(
        FrictionNode, "slides, 6 N", {"inputs": ["wall"]}, _SLIDING, {"wall": _wall_contact},
        only=("friction_coefficient", "friction_force", "stiffness"),
    ),
    "friction, on contacts": Situation(
        FrictionNode, "slides, 6 N", {"inputs": ["contact:contacts"], "load_body": 1}, _SLIDING,
        {"contact:contacts": _contacts}, {"load_body": (0, 2, 7)}, ("load_body", "friction_coefficient"),
    ),
    "friction, admittance": Situation(
        FrictionNode, "pulled, 6.3 N", {"rendering": "admittance", "model": "D", **_STRIBECK}, _PULLED,
        follows=True,
    ),
    "friction, Karnopp": Situation(
        FrictionNode, "pulled, 6.3 N", {"rendering": "admittance", "model": "karnopp"}, _PULLED,
        only=("velocity_threshold", "mass"), follows=True,
    ),
    "constraint": Situation(
        ConstraintNode, "rolls", {"mechanism_parameters": _DISK, "approach_time": 0.05, "feedback": "node"}, _rolling,
        values=_MECHANISM, follows=True,
    ),
    "constraint, posed": Situation(
        ConstraintNode, "rolls", {"mechanism_parameters": _DISK, "approach_time": 0.05, "feedback": "device"}, _rolling,
        values=_MECHANISM,
        only=("mechanism_parameters", "friction_force", "friction_torque", "force_deadband", "moment_deadband",
              "largest_lead", "largest_turn_lead"),
        follows=True,
    ),
    "constraint, with contacts": Situation(
        ConstraintNode, "rolls, touched",
        {"mechanism_parameters": _DISK, "approach_time": 0.05, "inputs": ["contact:contacts"],
         "delayed_inputs": ["contact:contacts"], "contact_body": 1},
        _rolling, {"contact:contacts": _contacts}, {"contact_body": (0, 2, 7)}, ("contact_body",),
        follows=True,
    ),
    "contact": Situation(
        ContactNode, "pressed, 5 N, slides, turned",
        {"world": str(Path(__file__).with_name("pressed_world.yaml")), "proxy": "tool", "coupled_rotation": True,
         "approach_time": 0.0},
        _pressing,
    ),
    "wall": Situation(
        WallNode, "pressed, slides", {"scheme": "sopc", "friction_coefficient": 0.3}, _at_the_wall(),
        values={"wall_points": ([0.0, 0.0, 1e-4], [0.0, 0.0, -1e-4], [0.0, 0.0, 0.02], [0.0, 0.0, -0.02], [0.0] * 6),
                "wall_normals": ([0.0, 0.1, 0.995], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0])},
    ),
    "wall, holding": Situation(
        WallNode, "pressed, slides", {"scheme": "sopc", "contact": "holding"}, _at_the_wall(),
        values={"wall_points": ([0.0, 0.0, 1e-4], [0.0, 0.0, -0.02]), "wall_normals": ([0.0, 0.1, 0.995],)},
        only=("wall_points", "wall_normals", "release_gap"),
    ),
}  # fmt: skip
