"""An experiment in one process, without ROS: device, hand and renderers of its launch file, stepped in lockstep.

    done = graph.run("friction_impedance", {"duration": "2.0"})
    done.columns["device"]["position"]           # (n, joints)
    done.columns["friction"]["force"]            # (n, 3)

Every tick does what the nodes do: the renderers answer the reading of the device in the order of evaluation, with the
inputs of the same tick or, if delayed, of the tick before; the device adds the answers and advances. The numbers are
those of the nodes to the last bit (``test/test_graph_of_nodes.py``). Passivity, changes of parameters and resets are
left to the nodes.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import commands
from haptic_core.errors import HapticError
from haptic_core.messages import set_pose, set_twist, set_vector, set_wrench
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.factories import find_device
from haptic_devices.loop import OK, TickLoop
from haptic_launch.experiment_graph import Edge, evaluation_order, graph_of
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes
from haptic_msgs.msg import DeviceCommand

Inputs = Mapping[str, Mapping[str, Any]]
Columns = dict[str, np.ndarray]


class Step(ABC):
    """One rendering node of the graph: its renderer, and what the node does with messages.

    Args:
        values: all parameters of the node, and `period` [s].

    Attributes:
        command: the answer to the last tick.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.command = DeviceCommand()
        self.values = values

    @abstractmethod
    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        """Makes one tick and fills `command`.

        Args:
            tick: number.
            reading: of the device.
            ready: the device follows commands.
            inputs: by kind, then by name of the other node, what its `output` was; None before its first tick.

        Returns:
            Mode of the command.
        """

    def output(self, kind: str) -> Any:
        """What another node takes as an input of this kind."""
        raise HapticError(f"{type(self).__name__}: no output of kind {kind!r}")

    @abstractmethod
    def row(self) -> dict[str, Any]:
        """Numbers of the last tick, by name."""


class FrictionStep(Step):
    """`friction_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from haptic_friction.renderer import FrictionRenderer, command_mode

        super().__init__(values)
        self.renderer = FrictionRenderer.from_parameters(values)
        self._mode = commands.MODE_NAMES.index(command_mode(values))

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        from haptic_friction.renderer import ReferenceMotion, Surfaces

        walls, references = (
            [value for value in inputs.get(kind, {}).values() if value is not None] for kind in ("wall", "constraints")
        )
        answer = self.renderer.step(
            velocity=reading.tool_twist[:3],
            force=reading.tool_wrench[:3],
            position=reading.tool_pose[:3],
            ready=ready,
            surfaces=[Surfaces(wall.normal, wall.push, wall.velocity) for wall in walls],
            contacts=[value for value in inputs.get("contacts", {}).values() if value is not None],
            references=[ReferenceMotion(state.motion.twist[:3], state.multipliers) for state in references],
            bodies=next((value for value in inputs.get("bodies", {}).values() if value is not None), None),
        )
        if answer.position is None or answer.velocity is None:
            set_vector(self.command.tool_wrench.force, answer.force.tolist())
        else:
            if answer.starts:
                set_pose(self.command.tool_pose, reading.tool_pose)
                self.command.motion_fields = DeviceCommand.POSITION | DeviceCommand.VELOCITY
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
        self.command.motion_fields = DeviceCommand.VELOCITY | DeviceCommand.ACCELERATION
        if self.renderer.commands_pose:
            self.command.motion_fields |= DeviceCommand.POSITION

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        contacts, frictions = (
            [value for value in inputs.get(kind, {}).values() if value is not None] if inputs else None
            for kind in ("contacts", "friction")
        )
        motion = self.renderer.step(
            reading.tool_pose.copy(),
            reading.tool_wrench.copy(),
            contacts=contacts,
            frictions=None if frictions is None else [_Force(force) for force in frictions],
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
        return {name: getattr(state, name) for name in (*names, "constraint_residual")}


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

        references = [value for value in inputs.get("constraints", {}).values() if value is not None]
        walls = {name: wall for name, wall in inputs.get("wall", {}).items() if wall is not None}
        answer = self.renderer.step(
            reading.tool_pose.copy(),
            reading.tool_twist.copy(),
            tick=tick,
            follows=ready,
            reference=(references[-1].motion.pose, references[-1].motion.twist) if references else None,
            friction={name: force for name, force in inputs.get("friction", {}).items() if force is not None},
            walls=[WallPush(name, wall.tick, wall.push) for name, wall in walls.items()],
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


@dataclass(frozen=True)
class _Wall:
    """Walls of a tick for friction and contact."""

    tick: int
    normal: np.ndarray
    push: np.ndarray
    velocity: np.ndarray


class WallStep(Step):
    """`wall_node`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        from tau_wall_control.walls.renderer import WallRenderer

        super().__init__(values)
        self.renderer = WallRenderer.from_parameters(values)
        self._tick = 0

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        from tau_wall_control.walls.planes import MovingPlanes

        planes = None
        if self.renderer.moving:
            (near,) = inputs["planes"].values()
            planes = MovingPlanes.at_distances(
                reading.tool_pose[:3].copy(),
                key=near.key.astype(np.int64),
                surface_point=near.point,
                signed_distance=near.signed_distance,
                normal=near.normal,
                velocity=near.velocity,
                inverse_mass=near.inverse_mass,
                body=near.body,
            )
        rendered = self.renderer.step(reading.position, reading.velocity, planes, obeys=ready)
        self.command.joint_effort = rendered.torque.tolist()
        self._tick = tick
        return commands.EFFORT

    def output(self, kind: str) -> Any:
        report = self.renderer.report(self.command.joint_effort)
        return _Wall(self._tick, report.normal, report.push.copy(), report.velocity)

    def row(self) -> dict[str, Any]:
        report = self.renderer.report(self.command.joint_effort)
        return {name: getattr(report, name) for name in ("penetration", "push", "effort", "saturation")}


#: step of a rendering node by executable
STEPS: dict[str, type[Step]] = {
    "admittance_constraints/constraint_node": ConstraintStep,
    "convex_contact/contact_node": ContactStep,
    "haptic_friction/comparison_node": ComparisonStep,
    "haptic_friction/friction_node": FrictionStep,
    "haptic_friction/network_node": NetworkStep,
    "tau_wall_control/wall_node": WallStep,
}


@dataclass
class Graph:
    """Device and rendering steps of an experiment.

    Attributes:
        loop: of the device, at its tick.
        steps: in the order of evaluation, by name.
        edges: what they take from each other.
        length: number of ticks of a whole run; None without an end.
    """

    loop: TickLoop
    steps: dict[str, Step]
    edges: tuple[Edge, ...]
    length: int | None
    _inputs: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    _before: dict[tuple[str, str], Any] = field(default_factory=dict)

    def advance(self, reading: Any) -> None:
        """Lets every step answer the present tick, and offers the answers to the device."""
        loop, outputs = self.loop, dict[tuple[str, str], Any]()
        for name, step in self.steps.items():
            inputs: dict[str, dict[str, Any]] = {}
            for source, kind, delayed in self._inputs[name]:
                known = self._before if delayed else outputs
                if not delayed and (source, kind) not in outputs:
                    outputs[source, kind] = self.steps[source].output(kind)
                inputs.setdefault(kind, {})[source] = known.get((source, kind))
            command = step.command
            command.source, command.tick = name, loop.tick
            command.mode = step.answer(loop.tick, reading, loop.status == OK, inputs)
            loop.offer(command)
        late = {(source, kind) for entries in self._inputs.values() for source, kind, delayed in entries if delayed}
        self._before = {(source, kind): self.steps[source].output(kind) for source, kind in late}


@dataclass(frozen=True)
class GraphRun:
    """What a run has left.

    Attributes:
        columns: of the device and of each step, one row a tick; rows of objects where their length varies.
        graph: at its end.
    """

    columns: dict[str, Columns]
    graph: Graph


def build(experiment: str | Path, arguments: Mapping[str, str] | None = None) -> Graph:
    """Makes device and renderers that an experiment's launch file describes.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: of the launch file.

    Raises:
        HapticError: the launch file, or a parameter of a node, is refused.
    """
    path = experiment if isinstance(experiment, Path) else load_experiment(experiment).launch_file
    nodes = launched_nodes(load_launch_file(path), arguments)
    edges = graph_of(nodes).edges
    by_name = {node.name: node for node in nodes}
    (device_node,) = (node for node in nodes if node.parameters.get("sources"))
    p = _checked(device_node)
    device = find_device(p["device"])(p)
    device.configure(p["period"])
    loop = TickLoop(
        device,
        p["sources"],
        command_delay_ticks=p["command_delay_ticks"],
        period=p["period"],
        engagement_time=p["engagement_time"],
    )
    length = p["duration"] or device.end_time
    order = [name for name in evaluation_order(edges) if name in p["sources"]]
    steps = {name: STEPS[by_name[name].executable](_checked(by_name[name])) for name in order}
    inputs = {name: _inputs(steps[name].values) for name in order}
    ticks = round(length / p["period"]) if length != float("inf") else None
    return Graph(loop, steps, edges, ticks, inputs)


def run(experiment: str | Path, arguments: Mapping[str, str] | None = None, *, ticks: int | None = None) -> GraphRun:
    """Runs an experiment in one process.

    Args:
        experiment: name of an experiment, or path of a launch file.
        arguments: of the launch file.
        ticks: how many are run; None: as many as the nodes would run.

    Raises:
        HapticError: the launch file, or a parameter of a node, is refused; or the run has no end.
    """
    graph = build(experiment, arguments)
    length = ticks or graph.length
    if length is None:
        raise HapticError("the run has no end: expected the argument duration or a number of ticks")
    loop, device = graph.loop, graph.loop.device
    device.activate()
    loop.restart(0)
    reading = device.read()
    rows: dict[str, dict[str, list[Any]]] = {}
    for tick in range(length):
        names = ("position", "velocity", "effort", "tool_pose", "tool_twist", "tool_wrench")
        _keep(rows, "device", {name: getattr(reading, name) for name in names})
        graph.advance(reading)
        for name, step in graph.steps.items():
            _keep(rows, name, step.row())
        if tick + 1 < length:
            reading = loop.advance()
    columns = {name: {key: _column(values) for key, values in kept.items()} for name, kept in rows.items()}
    return GraphRun(columns, graph)


def _keep(rows: dict[str, dict[str, list[Any]]], name: str, row: Mapping[str, Any]) -> None:
    kept = rows.setdefault(name, {})
    for key, value in row.items():
        kept.setdefault(key, []).append(np.array(value))


def _column(values: list[np.ndarray]) -> np.ndarray:
    """One row a tick; an array of objects where the number of walls or contacts varies."""
    if len({value.shape for value in values}) == 1:
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _inputs(values: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Source, kind and delay of the inputs that a node's parameters name."""
    delayed = set(values.get("delayed_inputs", ()))
    found = []
    for entry in values.get("inputs", ()):
        if entry:
            node, _, kind = entry.partition(":")
            found.append((node, kind or node, entry in delayed))
    return found


def _checked(node: LaunchedNode) -> dict[str, Any]:
    """All parameters of a node, checked as the node checks them."""
    package, _, executable = node.executable.partition("/")
    files = [_file(package, f"{executable}.yaml")]
    if node.executable in STEPS:
        files.insert(0, _file("haptic_core", "rendering_node.yaml"))
    specs = {name: spec for file in files for name, spec in load_parameter_specs(file).items()}
    return dict(check_all(specs, node.parameters))


def _file(package: str, name: str) -> Path:
    """The parameter file of a node, which lies in its package."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise HapticError(f"package {package} is not installed")
    return next(Path(folders[0]).rglob(name))
