"""The rendering nodes of an experiment as steps of a graph: each does without ROS what its node does with messages.

The step of a node is an entry point of group `haptic_graph_steps`, so that nodes of other packages take part, too.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haptic_core import commands
from haptic_core.errors import HapticError
from haptic_core.messages import set_pose, set_twist, set_vector, set_wrench
from haptic_files.plugins import installed_plugins, load_plugin
from haptic_msgs.msg import DeviceCommand

Inputs = Mapping[str, Mapping[str, Any]]

#: group of the entry points of functions that make a step of a node's parameters
ENTRY_POINTS = "haptic_graph_steps"


def _given(inputs: Inputs, kind: str) -> dict[str, Any]:
    """Returns the inputs of a kind by name of the other node, without those of nodes before their first tick."""
    return {name: value for name, value in inputs.get(kind, {}).items() if value is not None}


class Step(ABC):
    """One rendering node of the graph: its renderer with its inputs and outputs.

    Args:
        values: all parameters of the node, and `period` [s].

    Attributes:
        command: the answer to the last tick.
        renderer: renderer of the node, reset at the start of a run.
    """

    renderer: Any

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.command = DeviceCommand()
        self.values = values

    @abstractmethod
    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        """Makes one tick and fills `command`.

        Args:
            tick: number of the tick.
            reading: reading of the device.
            ready: whether the device follows commands.
            inputs: outputs of the other nodes, by kind, then by name of the node; None before its first tick.

        Returns:
            Mode of the command.
        """

    def output(self, kind: str) -> Any:
        """Returns the input of this kind for another node."""
        raise HapticError(f"{type(self).__name__}: no output of kind {kind!r}")

    @abstractmethod
    def row(self) -> dict[str, Any]:
        """Returns the numbers of the last tick, by name, as the node's state has them."""

    def topic(self, name: str) -> dict[str, Any]:
        """Returns the numbers of the last tick on a topic that the node publishes beside its state."""
        raise HapticError(f"{type(self).__name__}: no topic {name!r}")

    def reset(self) -> None:
        """Returns to the start."""
        self.renderer.reset()


class FrictionStep(Step):
    """`friction_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from haptic_friction.renderer import FrictionRenderer
        from haptic_friction.settings import command_mode

        super().__init__(values)
        self.renderer = FrictionRenderer.from_parameters(values)
        self._mode = commands.MODE_NAMES.index(command_mode(values))

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        from haptic_friction.renderer import ReferenceMotion, Surfaces

        walls, references = _given(inputs, "wall").values(), _given(inputs, "constraints").values()
        answer = self.renderer.step(
            velocity=reading.tool_twist[:3],
            force=reading.tool_wrench[:3],
            position=reading.tool_pose[:3],
            ready=ready,
            surfaces=[Surfaces(wall.normal, wall.push, wall.velocity) for wall in walls],
            contacts=list(_given(inputs, "contacts").values()),
            references=[ReferenceMotion(state.motion.twist[:3], state.multipliers) for state in references],
            bodies=next(iter(_given(inputs, "bodies").values()), None),
        )
        if answer.position is None or answer.velocity is None:
            set_vector(self.command.tool_wrench.force, answer.force.tolist())
        else:
            if answer.starts:
                set_pose(self.command.tool_pose, reading.tool_pose)
                self.command.motion_fields = DeviceCommand.FIELD_POSITION | DeviceCommand.FIELD_VELOCITY
            set_vector(self.command.tool_pose.position, answer.position.tolist())
            set_vector(self.command.tool_twist.linear, answer.velocity.tolist())
        return self._mode

    def output(self, kind: str) -> Any:
        return self.renderer.state.force.copy() if kind == "friction" else super().output(kind)

    def row(self) -> dict[str, Any]:
        return self.renderer.state._asdict()


class ComparisonStep(Step):
    """`comparison_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from haptic_friction.comparison_renderer import ComparisonRenderer

        super().__init__(values)
        self.renderer = ComparisonRenderer.from_parameters(values)

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        self.renderer.step(velocity=reading.tool_twist[:3].tolist(), force=reading.tool_wrench[:3].tolist())
        return commands.NONE

    def row(self) -> dict[str, Any]:
        return self.renderer.state._asdict()


class NetworkStep(Step):
    """`network_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from haptic_friction.network_renderer import NetworkRenderer

        super().__init__(values)
        self.renderer = NetworkRenderer.from_parameters(values)

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        force = self.renderer.step(velocity=reading.tool_twist[:3].tolist())
        set_vector(self.command.tool_wrench.force, force.tolist())
        return commands.WRENCH

    def row(self) -> dict[str, Any]:
        return self.renderer.state._asdict()


class ConstraintStep(Step):
    """`constraint_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from admittance_constraints import ConstraintRenderer

        super().__init__(values)
        self.renderer = ConstraintRenderer.from_parameters(values)
        self.command.motion_fields = DeviceCommand.FIELD_VELOCITY | DeviceCommand.FIELD_ACCELERATION
        if self.renderer.commands_pose:
            self.command.motion_fields |= DeviceCommand.FIELD_POSITION

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        motion = self.renderer.step(
            reading.tool_pose.copy(),
            reading.tool_wrench.copy(),
            contacts=list(_given(inputs, "contacts").values()) if inputs else None,
            frictions=[_Force(force) for force in _given(inputs, "friction").values()] if inputs else None,
            follows=ready,
        )
        set_pose(self.command.tool_pose, motion.pose)
        set_twist(self.command.tool_twist, motion.twist)
        set_twist(self.command.tool_acceleration, motion.acceleration)
        return commands.MOTION

    def output(self, kind: str) -> Any:
        return self.renderer.state if kind == "constraints" else super().output(kind)

    def row(self) -> dict[str, Any]:
        state = self.renderer.state
        names = ("z", "z_velocity", "q", "q_velocity", "q_acceleration", "multipliers", "kinetic_energy")
        motion = {} if state.motion is None else {"pose": state.motion.pose, "twist": state.motion.twist}
        return motion | {name: getattr(state, name) for name in (*names, "constraint_residual")}


@dataclass
class _Force:
    """A friction force as `ConstraintRenderer.step` takes it."""

    force: Any


class ContactStep(Step):
    """`contact_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from convex_contact.haptics.contact_renderer import ContactRenderer
        from convex_contact.node import worlds_folder

        super().__init__(values)
        self.renderer = ContactRenderer.from_parameters(values, worlds_folder())
        self._mode = commands.WRENCH if self.renderer.is_coupled else commands.NONE
        self._tick = 0
        self._planes: Any = None

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        from convex_contact.haptics.contact_renderer import WallPush

        references = list(_given(inputs, "constraints").values())
        answer = self.renderer.step(
            reading.tool_pose.copy(),
            reading.tool_twist.copy(),
            tick=tick,
            follows=ready,
            reference=(references[-1].motion.pose, references[-1].motion.twist) if references else None,
            friction=_given(inputs, "friction"),
            walls=[WallPush(name, wall.tick, wall.push) for name, wall in _given(inputs, "wall").items()],
        )
        set_wrench(self.command.tool_wrench, answer.wrench)
        self._tick = tick
        self._planes = answer.planes if self.values["touch_radius"] else None
        return self._mode

    def output(self, kind: str) -> Any:
        world = self.renderer.observe(self._tick)
        if kind == "bodies":
            return world.bodies.velocity.copy()
        return {"contacts": world.contacts, "planes": self._planes}[kind]

    def row(self) -> dict[str, Any]:
        bodies = self.renderer.observe(self._tick).bodies
        names = ("position", "orientation", "velocity", "angular_velocity")
        return {name: getattr(bodies, name).ravel() for name in names}

    def topic(self, name: str) -> dict[str, Any]:
        found = {"contacts": lambda: self.output("contacts"), "planes": lambda: self._planes}.get(name)
        if found is None:
            return super().topic(name)
        return {key: np.ravel(value) if np.ndim(value) else value for key, value in found()._asdict().items()}


@dataclass(frozen=True)
class _Wall:
    """Walls of a tick for friction and contact."""

    tick: int
    normal: np.ndarray
    push: np.ndarray
    velocity: np.ndarray


class WallStep(Step):
    """`wall_node`.

    Args:
        values: see `Step`.
        controller: controller of the renderer; None: one that is designed for the parameters.
    """

    def __init__(self, values: Mapping[str, Any], *, controller: Any = None) -> None:
        from tau_wall_control.walls.renderer import WallRenderer

        super().__init__(values)
        self.renderer: Any = WallRenderer.from_parameters(values, controller=controller)
        self._tick = 0

    def planes(self, reading: Any, inputs: Inputs) -> Any:
        """Returns the walls of a tick, where they come with each step; else None."""
        from tau_wall_control.walls.planes import MovingPlanes

        if not self.renderer.moving:
            return None
        (near,) = inputs["planes"].values()
        return MovingPlanes.at_distances(
            reading.tool_pose[:3].copy(),
            key=near.key.astype(np.int64),
            surface_point=near.point,
            signed_distance=near.signed_distance,
            normal=near.normal,
            velocity=near.velocity,
            inverse_mass=near.inverse_mass,
            body=near.body,
        )

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        planes = self.planes(reading, inputs)
        rendered = self.renderer.step(reading.position, reading.velocity, planes, obeys=ready)
        self.command.joint_effort = rendered.torque.tolist()
        self._tick = tick
        return commands.EFFORT

    def output(self, kind: str) -> Any:
        report = self.renderer.report(self.command.joint_effort)
        return _Wall(self._tick, report.normal, report.push.copy(), report.velocity)

    def row(self) -> dict[str, Any]:
        report = self.renderer.report(self.command.joint_effort)
        names = ("penetration", "push", "in_contact", "effort", "saturation")
        return {name: getattr(report, name) for name in names}


def find_step(executable: str) -> Callable[[Mapping[str, Any]], Step]:
    """Returns the class or function that makes the step of a rendering node of the node's parameters.

    Args:
        executable: "package/executable"; its entry point has the name "package.executable".

    Raises:
        HapticError: no installed package registers a step of the executable, or the step cannot be loaded.
    """
    installed = installed_plugins(ENTRY_POINTS)
    name = executable.replace("/", ".")
    if name not in installed:
        raise HapticError(
            f"{executable}: has no step without ROS: expected an entry point {name} of group {ENTRY_POINTS} "
            f"(registered: {', '.join(installed)})"
        )
    return load_plugin(installed[name], HapticError, executable)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    if name != "STEPS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.STEPS has moved; use {__name__}.find_step", DeprecationWarning, stacklevel=2)
    return {name.replace(".", "/"): point.load() for name, point in installed_plugins(ENTRY_POINTS).items()}
