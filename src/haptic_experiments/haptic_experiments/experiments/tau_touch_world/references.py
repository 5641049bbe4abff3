"""The scene of `tau_touch_world` in one process: as the nodes compute it, and with everything implicit.

`TouchScene.split` is the graph of the nodes. Within tick k the world moves from t_(k-1) to t_k with the reactions of
wall and friction of tick k-1 on its bodies; the planes near the tool are found; the wall pushes, the friction acts
along. The edges from these two to the world are delayed. The device holds the command of tick k from t_k to t_(k+1),
and so do the bodies: action and reaction are the same force over the same time. The delay costs that the force does
not yet know how the bodies yield to it.

`TouchScene.implicit` has no controller and no sensors. In each tick the tool is a body of the convex problem, a sphere
with the true position and velocity of the device's tool, with

    v* = velocity at the end of the tick without contact   the device is asked, hand and joint friction included
    A  = apparent inertia at the tool, its rotation free   M_x + m of the hand + T/2 (slopes of friction and hand)

so the impulses P of contacts with stiffness `REFERENCE_STIFFNESS` and Coulomb friction are those at the velocities of
the end of the tick, for tool and bodies alike. P/T acts on the device during that tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convex_contact import Simulator, World
from convex_contact.haptics.settings import ToolTransform
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from convex_contact.scenes.held_tool import ContactPart, GivenMotion, add_tool, forces_on_tool, free_bodies
from haptic_bags.ticks import Ticks
from haptic_core import commands
from haptic_core.parameters import entry_values
from haptic_devices.motions.spatial import GRIP
from haptic_devices.tau.apparent_inertia import apparent_inertia
from haptic_experiments import graph
from haptic_experiments.graph import Graph
from haptic_experiments.graph_steps import Inputs, Step, WallStep
from haptic_files import with_entries
from haptic_files.moved_modules import renamed
from haptic_launch.launch_nodes import LaunchedNode
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.rotations import rotation_from_quaternion

__getattr__ = renamed(__name__, {"Part": "convex_contact.scenes.held_tool:ContactPart"})
#: contact of the tool with a body in the implicit step [N/m], [s/m]; the stiffness is that of the rendered walls
REFERENCE_STIFFNESS, REFERENCE_DISSIPATION = 4e4, 20.0
#: topics that make a `Touch`
TOPICS = ("device_state", "simulation_state", "contact/state", "contact/planes", "wall/state", "friction/state")


@dataclass(frozen=True)
class Touch:
    """Motion and forces of a run, row by tick; forces are those that act from the row's time on for one period."""

    position: np.ndarray  #: position of the true tool, device's base frame (n, 3) [m]
    velocity: np.ndarray  #: velocity of the true tool, device's base frame (n, 3) [m/s]
    push: np.ndarray  #: normal force of all planes on the tool (n, 3) [N]
    friction: np.ndarray  #: friction of all planes on the tool (n, 3) [N]
    sticking: np.ndarray  #: flags (n,) of a contact that sticks; False without contact
    pose: np.ndarray  #: poses of the bodies that can move, world frame (n, b, 7) [m]
    twist: np.ndarray  #: twists of these bodies (n, b, 6) [m/s], [rad/s]
    depth: np.ndarray  #: depth of the measured tool behind the deepest surface that pushes (n,) [m]; 0 without one
    normal_work: np.ndarray  #: work of the normal forces on tool and bodies together, up to the row's time (n,) [J]
    friction_work: np.ndarray  #: work of the friction, up to the row's time (n,) [J]
    cut_work: np.ndarray  #: work of action and reaction together, where they are not the same at the same time (n,) [J]
    step_time: float = float("nan")  #: median time of a tick [s]

    @property
    def load(self) -> np.ndarray:
        """Size of the push (n,) [N]."""
        return np.linalg.norm(self.push, axis=1)

    @classmethod
    def of_ticks(cls, ticks: Ticks, free: Sequence[int]) -> Touch:
        """Reads `TOPICS` of a bag or of a graph; depth and works are zero.

        Args:
            ticks: rows of the topics.
            free: numbers of the bodies that can move.
        """
        truth, bodies, friction = ticks["simulation_state"], ticks["contact/state"], ticks["friction/state"]
        n = len(ticks.tick)
        push = np.zeros((n, 3))
        for k, (pressing, normals) in enumerate(pressed_planes(ticks)):
            push[k] = pressing @ normals if len(pressing) else 0.0
        tables = {name: np.reshape(bodies[name], (n, -1, 4 if name == "orientation" else 3))[:, free] for name in
                  ("position", "orientation", "velocity", "angular_velocity")}  # fmt: skip
        none = np.zeros(n)
        return cls(
            position=truth["tool_pose"][:, :3],
            velocity=truth["tool_twist"][:, :3],
            push=push,
            friction=-np.asarray(friction["force"]),
            sticking=np.asarray(friction["sticking"], dtype=bool)[:, 0] & push.any(axis=1),
            pose=np.concatenate([tables["position"], tables["orientation"]], axis=2),
            twist=np.concatenate([tables["velocity"], tables["angular_velocity"]], axis=2),
            depth=none,
            normal_work=none,
            friction_work=none,
            cut_work=none,
        )


def pressed_planes(ticks: Ticks) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns normal forces (w,) [N] and normals (w, 3) of each tick's planes; none where the wall had others."""
    found = []
    for push, key, normal in zip(
        ticks["wall/state"]["push"], ticks["contact/planes"]["key"], ticks["contact/planes"]["normal"], strict=True
    ):
        push = np.asarray(push) if len(push) == len(key) else np.zeros(0)
        found.append((push, np.reshape(normal, (-1, 3))[: len(push)]))
    return found


def works(ticks: Ticks, place: ToolTransform, late: int = 0) -> np.ndarray:
    """Sums works up to each tick (n, 3) [J]: of normal forces, of friction, and of action and reaction together.

    Args:
        ticks: rows of `TOPICS`, contiguous.
        place: pose of the world in the device's base frame.
        late: ticks by which the bodies feel the reactions later than in the next tick.
    """
    position = ticks["simulation_state"]["tool_pose"][:, :3]
    found = np.zeros((len(position), 3))
    for k in range(1, len(position)):
        moved = position[k] - position[k - 1]
        acted = _parts(ticks, k - 1, k, place)
        felt = acted if not late else _parts(ticks, k - 1 - late, k, place) if k > late else []
        push = sum(float(force @ (moved - own)) for force, _, own in acted)
        friction = sum(float(force @ (moved - own)) for _, force, own in acted)
        found[k] = (
            push,
            friction,
            sum(float((f + g) @ own) for f, g, own in acted) - sum(float((f + g) @ own) for f, g, own in felt),
        )
    return np.cumsum(found, axis=0)


def _parts(ticks: Ticks, rendered: int, now: int, place: ToolTransform) -> list[ContactPart]:
    """Finds the parts of the planes that pushed in one tick, with their points' displacements before tick `now`."""
    planes, bodies = ticks["contact/planes"], ticks["contact/state"]
    push, friction = np.asarray(ticks["wall/state"]["push"][rendered]), -ticks["friction/state"]["force"][rendered]
    point, normal = (np.reshape(planes[name][rendered], (-1, 3)) for name in ("point", "normal"))
    position, velocity, spin = (
        np.reshape(bodies[name][now], (-1, 3)) for name in ("position", "velocity", "angular_velocity")
    )
    R, p = place.frame.rotation, place.frame.position
    found, total = [], push.sum()
    for i in np.flatnonzero(push > 0.0):
        b = int(planes["body"][rendered][i])
        arm = point[i] - (R @ position[b] + p)
        moves = R @ velocity[b] + np.cross(R @ spin[b], arm)
        found.append((push[i] * normal[i], push[i] / total * friction, ticks.period * moves))
    return found


class TouchScene:
    """Device, hand, world, wall and friction of a run.

    Args:
        nodes: device, contact, wall and friction node.
        first, last: phases of the hand's plan to play, by name; default: all.
        entries: entries of the world, beside its `world_parameters`.
        controller: controller of the wall, if it is designed already.
    """

    def __init__(
        self,
        nodes: Sequence[LaunchedNode],
        *,
        first: str = "",
        last: str = "",
        entries: Mapping[str, Any] | None = None,
        controller: WallController | None = None,
    ) -> None:
        self._nodes, self._phases = nodes, (first, last)
        values = {node.name: graph.checked(node) for node in nodes if node.name in ("device", "contact", "friction")}
        self._contact, self._friction = values["contact"], values["friction"]
        self._contact["world_parameters"] = with_entries(self._contact["world_parameters"], entries or {})
        self._device = {**values["device"], "sources": ["tool"], "command_delay_ticks": 0}
        self.place, self.period = ToolTransform.of(self._contact), float(self._device["period"])
        self.controller = controller
        made = self._split()
        self.controller = made.steps["wall"].renderer.controller
        self.ticks = round(made.loop.device.end_time / self.period)
        self._free = free_bodies(made.steps["contact"].renderer.simulator.world)

    @property
    def count(self) -> float:
        """Largest displacement of the tool by one count of the encoders, in the middle [m]."""
        assert self.controller is not None
        return self.controller.device.tool_resolution

    def _split(self, late: int = 0, fixed: bool = False) -> Graph:
        changes = {"contact": {"world_parameters": self._contact["world_parameters"]}}
        filters = {("contact", "planes"): _as_fixed} if fixed else {}
        steps = {"wall": partial(WallStep, controller=self.controller)}
        options: dict[str, Any] = {"changes": changes, "filters": filters, "steps": steps}
        return graph.of_nodes(self._nodes, phases=self._phases, lag={"contact": late}, **options)

    def plain(self, point: np.ndarray, normal: np.ndarray, ticks: int) -> np.ndarray:
        """Simulates the same hand at one fixed wall without friction; returns the true tool (n, 3) [m]."""
        plane = {"wall_points": point.tolist(), "wall_normals": normal.tolist()}  # the normal is rounded

        def wall(values: Mapping[str, Any]) -> WallStep:
            return WallStep({**values, **plane}, controller=self.controller)

        made = graph.of_nodes(self._nodes, only=("wall",), phases=self._phases, steps={"wall": wall})
        done = made.run(ticks, topics=("simulation_state",))
        return done.ticks("simulation_state")["simulation_state"]["tool_pose"][:, :3]

    def split(self, ticks: int = 0, late: int = 0, yielding: bool = True, *, raise_on_stop: bool = False) -> Touch:
        """Runs as the nodes do.

        Args:
            ticks: number of ticks; 0: those of the plan.
            late: ticks by which the bodies feel the reactions later still.
            yielding: the wall gets the inverse masses of the bodies; otherwise all bodies count as fixed.
            raise_on_stop: see `Graph.run`.
        """
        done = self._split(late, not yielding).run(ticks or self.ticks, topics=TOPICS, raise_on_stop=raise_on_stop)
        rows = done.ticks(*TOPICS)
        distance = zip(rows["contact/planes"]["signed_distance"], rows["wall/state"]["push"], strict=True)
        work = dict(zip(("normal_work", "friction_work", "cut_work"), works(rows, self.place, late).T, strict=True))
        depth = np.array([float(np.max(-gap[push > 0.0], initial=0.0)) for gap, push in distance])
        return replace(Touch.of_ticks(rows, self._free), depth=depth, step_time=done.step_time(), **work)

    def implicit(self, ticks: int = 0) -> Touch:
        """Runs with tool and bodies in one convex problem; 0 ticks: those of the plan."""
        loop, trial = graph.make_loop(self._device, self._phases), graph.make_device(self._device, self._phases)
        trial.activate()
        step = ImplicitTouchStep(loop.device, trial, self._contact, self._friction)
        done = Graph(loop, {"tool": step}, self.period).run(ticks or self.ticks)
        truth, rows = done.columns["truth"], dict(done.columns["tool"])
        push, friction, cut = np.cumsum(rows.pop("work"), axis=0).T
        rows |= {"normal_work": push, "friction_work": friction, "cut_work": cut}
        return Touch(truth["tool_pose"][:, :3], truth["tool_twist"][:, :3], **rows, step_time=done.step_time())


def _as_fixed(planes: Any) -> Any:
    """Makes planes of bodies that do not yield."""
    return planes._replace(inverse_mass=np.zeros(len(planes.key)))


class ImplicitTouchStep(Step):
    """Tool and bodies as one convex problem, see the module.

    Args:
        device: device that the step commands, held by its hand.
        trial: another device of the same parameters.
        contact, friction: parameters of both nodes.
    """

    def __init__(self, device: Any, trial: Any, contact: Mapping[str, Any], friction: Mapping[str, Any]) -> None:
        super().__init__({"period": contact["period"]})
        self._device, self._trial, self._frame = device, trial, ToolTransform.of(contact).frame
        entries = entry_values(contact["world_parameters"])
        world = open_world(contact["world"], entries, worlds_folder())
        self._tool = with_tool(world, contact["touch_radius"], friction["friction_coefficient"])
        names = ("approximation", "stiction_tolerance", "sigma", "near_rigid", "relative_tolerance", "threshold")
        self.renderer = Simulator(world, period=contact["period"], **{name: contact[name] for name in names})
        self._given = GivenMotion(self.renderer.dynamics, self._tool)
        self.renderer.couplings.append(self._given)  # type: ignore[arg-type]  # it does what a coupling does
        self._moving = [i for i in free_bodies(world) if i != self._tool]
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._parts: list[ContactPart] = []
        self._before = np.zeros(3)

    def answer(self, tick: int, reading: Any, ready: bool, inputs: Inputs) -> int:
        device, simulator, tool, T = self._device, self.renderer, self._tool, self.values["period"]
        R, hand, mechanism = self._frame.rotation, device.hand, device.mechanism
        truth = device.truth()
        pose, twist = truth.tool_pose.copy(), truth.tool_twist.copy()
        moved, self._before = pose[:3] - self._before, pose[:3]
        work = [sum(float(part[kind] @ (moved - part[2])) for part in self._parts) for kind in (0, 1)]
        places, orientations, velocities, spins = (values[self._moving] for values in simulator.body_states())
        J = device.jacobian().copy()
        weight = mechanism.dynamics(reading.tool_pose[:3], rotation_from_quaternion(reading.tool_pose[3:]))
        hold = J.T @ weight.gravity_force
        self._trial.take_over(device)
        self._trial.write(hold)
        grip = float(hand.table[min(tick, len(hand.table) - 1), GRIP]) if hand is not None else 0.0
        self._given.inertia = R.T @ apparent_inertia(device, pose, twist, grip, T) @ R
        self._given.velocity = self._trial.truth().tool_twist[:3] @ R
        simulator.set_state(
            tool,
            position=(pose[:3] - self._frame.position) @ R,
            orientation=(0.0, 0.0, 0.0, 1.0),
            velocity=twist[:3] @ R,
            angular_velocity=(0.0, 0.0, 0.0),
        )
        simulator.step()
        force = R @ self._given.inertia @ (simulator.state(tool).velocity - self._given.velocity) / T
        push, friction, sticking, depth, self._parts = forces_on_tool(simulator, tool, R)
        self._row = {"push": push, "friction": friction, "sticking": sticking, "depth": depth, "work": [*work, 0.0]}
        self._row |= {"pose": np.hstack([places, orientations]), "twist": np.hstack([velocities, spins])}
        self.command.joint_effort = (hold + J.T @ np.concatenate([force, np.zeros(3)])).tolist()
        return commands.EFFORT

    def row(self) -> dict[str, Any]:
        return self._row


def with_tool(world: World, radius: float, friction: float) -> int:
    """Adds the tool's tip to a world, a sphere that is stiff against all others; returns its number."""
    numbers = {"stiffness": REFERENCE_STIFFNESS, "dissipation": REFERENCE_DISSIPATION}
    return add_tool(world, radius=radius, friction=friction, **numbers)
