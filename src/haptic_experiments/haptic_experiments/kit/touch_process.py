"""The scene of `tau_touch_world` without nodes: once as the nodes compute it, once with everything implicit.

`split` does what the nodes do, in their order: within tick k the world moves from t_(k-1) to t_k with what wall and
friction of tick k-1 did to the tool, with the other sign, on its bodies; the planes near the tool are found; the wall
pushes, the friction acts along. The cycle is cut on the way from these two to the world. The device holds the command
of tick k from t_k to t_(k+1), and so do the bodies: action and reaction are the same force over the same time. What
the cut costs is that the force does not yet know how the bodies give way to it.

`implicit` has no controller and no sensors. In each tick the tool is a body of the convex problem, a sphere with the
true place and velocity of the device's tool, with

    v* = velocity at the end of the tick without contact   the device is asked, hand and joint friction included
    A  = apparent inertia at the tool, its rotation free   M_x + m of the hand + T/2 (slopes of friction and hand)

so the impulses P of contacts with stiffness `REFERENCE_STIFFNESS` and Coulomb friction are those at the velocities of
the end of the tick, for tool and bodies alike. P/T acts on the device during that tick.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convex_contact import Simulator, World
from convex_contact.haptics.rendering import ContactRendering, ToolPlace, make_rendering
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from convex_contact.simulation.dynamics import WorldDynamics
from haptic_core.parameters import parse_entries
from haptic_devices import factories
from haptic_devices.hands.spatial_hand import SpatialHand
from haptic_devices.motions.spatial import GRIP, SpatialPlan
from haptic_devices.tau import Tau
from haptic_friction.renderer import FrictionRenderer, Surfaces
from tau_wall_control import MovingPlanes, WallRenderer
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.walls.factory import make_controller, make_device

Parameters = Mapping[str, Any]

#: of tool against body in the implicit step [N/m], [s/m]: what a step of force meets at the rendered walls
REFERENCE_STIFFNESS, REFERENCE_DISSIPATION = 4e4, 20.0
#: push and friction of one plane on the tool [N], and the way of its body's point in a tick [m]
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
#: what makes the reference's sphere a point that does not spin: moment of inertia [kg m^2]
_NO_SPIN = 1.0


@dataclass(frozen=True)
class Touch:
    """What happened, row by tick; forces are those that act from the row's time on for one period.

    Attributes:
        position, velocity: of the true tool, device's base frame (n, 3) [m], [m/s].
        push: of all planes on the tool (n, 3) [N].
        friction: of all on the tool (n, 3) [N].
        sticking: (n,) the contact sticks; False without contact.
        pose: of the bodies that can move, world frame (n, b, 7) [m].
        twist: of these (n, b, 6) [m/s], [rad/s].
        depth: of the tool behind the deepest surface that pushes (n,), by what is measured there; 0 without [m].
        normal_work: that the pushes did on tool and bodies together, up to the row's time (n,) [J].
        friction_work: likewise of the friction (n,) [J].
        cut_work: that action and reaction did because they were not the same at the same time (n,) [J].
        step_time: of a tick, median [s].
    """

    position: np.ndarray
    velocity: np.ndarray
    push: np.ndarray
    friction: np.ndarray
    sticking: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    depth: np.ndarray
    normal_work: np.ndarray
    friction_work: np.ndarray
    cut_work: np.ndarray
    step_time: float = float("nan")

    @property
    def load(self) -> np.ndarray:
        """Size of the push (n,) [N]."""
        return np.linalg.norm(self.push, axis=1)


@dataclass
class _Rows:
    """Collects a `Touch`."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def finish(self) -> Touch:
        columns = [np.array(column) for column in zip(*self.rows, strict=True)]
        push, friction, cut = np.cumsum(columns.pop(), axis=0).T
        place, velocity, *rest = columns
        return Touch(place, velocity, *rest, push, friction, cut, float(np.median(self.times)))  # type: ignore[call-arg, arg-type]


class _GivenMotion:
    """Puts the device's inertia and velocity without contact in the place of a body's, as a coupling of a simulator."""

    def __init__(self, dynamics: WorldDynamics, body: int) -> None:
        tree = int(dynamics.arrays.body_tree[body])
        first = int(dynamics.arrays.tree_v[tree])
        self._block, self._goal = dynamics.arrays.A[tree], dynamics.arrays.v_star[first : first + 6]
        self.inertia, self.velocity = np.eye(3), np.zeros(3)

    def add(self, period: float) -> None:
        self._block[:6, :6] = _NO_SPIN * np.eye(6)
        self._block[:3, :3] = self.inertia
        self._goal[:3], self._goal[3:] = self.velocity, 0.0

    def finish(self, period: float) -> None:
        """Nothing to note."""

    def reset(self) -> None:
        """Nothing to forget."""


class TouchProcess:
    """Device, hand, world, wall and friction of a run.

    Args:
        nodes: parameters of device, contact, wall and friction.
        first, last: phases of the hand's plan to play, by name; default: all.
        entries: of the world, beside its `world_parameters`.
        controller: of the wall, if it is designed already.
    """

    def __init__(
        self,
        nodes: Mapping[str, Parameters],
        *,
        first: str = "",
        last: str = "",
        entries: Mapping[str, Any] | None = None,
        controller: WallController | None = None,
    ) -> None:
        self._device_parameters, self._contact = nodes["device"], nodes["contact"]
        self._wall, self._friction = nodes["wall"], nodes["friction"]
        self.period = float(self._device_parameters["period"])
        given = parse_entries(self._contact["world_parameters"])
        self._entries = {name: value for name, (value, _) in given.items()}
        self._entries |= entries or {}
        self.controller = controller or make_controller(self._wall, make_device(self._wall))
        self._part = (first, last)
        made = self._made()
        self.plan = made.hand.plan if made.hand is not None else None
        self.ticks = len(self.plan.table) if self.plan is not None else 0

    def _made(self) -> Tau:
        """The device at its start, with the part of the plan."""
        device = factories.tau(dict(self._device_parameters))
        first, last = self._part
        if device.hand is not None and (first or last):
            assert isinstance(device.hand.plan, SpatialPlan)
            plan = cropped(device.hand.plan, first, last)
            hand = SpatialHand(device.hand.parameters, plan, self._device_parameters["seed"])
            device = Tau(device.mechanism, device.parameters, hand)
        device.configure(self.period)
        device.activate()
        return device

    @property
    def count(self) -> float:
        """What one count of the encoders moves the tool by at the most, in the middle [m]."""
        return make_device(self._wall).tool_resolution

    def plain(self, point: np.ndarray, normal: np.ndarray, ticks: int) -> np.ndarray:
        """True tool (n, 3) [m] of the same hand at one wall that is fixed, without friction."""
        device = self._made()
        wall = {**self._wall, "wall_points": point.tolist(), "wall_normals": normal.tolist()}
        walls = WallRenderer.from_parameters(wall, controller=self.controller, moving=False)
        found = []
        for _ in range(ticks):
            reading = device.read()
            found.append(device.truth().tool_pose[:3].copy())
            device.write(walls.step(reading.position, reading.velocity).torque)
        return np.array(found)

    # ---- as the nodes do it ---------------------------------------------------------------------------------

    def split(self, ticks: int = 0, late: int = 0, told: bool = True) -> Touch:
        """Ticks (0: the plan's) as the nodes make them.

        Args:
            ticks: how many.
            late: ticks by which the bodies feel the reactions later still.
            told: the wall knows how the bodies yield; else it takes all for fixed.
        """
        p, device = self._friction, self._made()
        rendering = make_rendering(self._contact, self._entries, worlds_folder())
        walls = WallRenderer.from_parameters(self._wall, controller=self.controller, moving=True)
        renderer = FrictionRenderer.from_parameters(p)
        moving = free_bodies(rendering.simulator.world)
        rows, past = _Rows(), list[Any]()
        for _ in range(ticks or self.ticks):
            reading, truth = device.read(), device.truth()
            place, velocity = truth.tool_pose[:3].copy(), truth.tool_twist[:3].copy()
            start = time.perf_counter()
            felt = past[-1 - late] if len(past) > late else None
            rendering.release()
            if felt is not None:
                rendering.react(*felt)
            rendering.step(reading.tool_pose, reading.tool_twist, follows=True)
            planes = rendering.planes(reading.tool_pose[:3])
            near = MovingPlanes.at_distances(
                reading.tool_pose[:3],
                key=planes.key,
                signed_distance=planes.signed_distance,
                normal=planes.normal,
                velocity=planes.velocity,
                inverse_mass=planes.inverse_mass if told else np.zeros(len(planes.key)),
                body=planes.body,
            )
            state = walls.step(reading.position, reading.velocity, near)
            surfaces = Surfaces(planes.normal, state.push, planes.velocity)
            friction = renderer.step(velocity=reading.tool_twist[:3], surfaces=[surfaces]).force
            torque = state.torque + device.jacobian().T @ np.concatenate([friction, np.zeros(3)])
            rows.times.append(time.perf_counter() - start)
            bodies = rendering.bodies.read()
            work = self._work(rendering, past, felt, place)
            push = state.push @ planes.normal if len(state.push) else np.zeros(3)
            rows.rows.append(
                (
                    place,
                    velocity,
                    push,
                    friction.copy(),
                    bool((state.push > 0.0).any()) and renderer.model.sticking,
                    np.hstack([bodies.position[moving], bodies.orientation[moving]]),
                    np.hstack([bodies.velocity[moving], bodies.angular_velocity[moving]]),
                    float(np.max(-planes.signed_distance[state.push > 0.0], initial=0.0)),
                    work,
                )
            )
            past = [*past[-late - 1 :], (planes, state.push.copy(), friction.copy())]
            self._before = place
            device.write(torque)
        return rows.finish()

    def _work(
        self, rendering: ContactRendering, past: list[Any], felt: Any, place: np.ndarray
    ) -> tuple[float, float, float]:
        """Work of push, of friction, and of what action and reaction differ by, in the tick that ends now [J]."""
        if not past:
            return 0.0, 0.0, 0.0
        moved = place - self._before
        one = _shares(rendering, past[-1], self.period)
        other = one if felt is past[-1] else _shares(rendering, felt, self.period)
        push = sum(float(force @ (moved - way)) for force, _, way in one)
        friction = sum(float(force @ (moved - way)) for _, force, way in one)
        cut = sum(float((f + g) @ way) for f, g, way in one) - sum(float((f + g) @ way) for f, g, way in other)
        return push, friction, cut

    # ---- everything implicit --------------------------------------------------------------------------------

    def implicit(self, ticks: int = 0) -> Touch:
        """Ticks (0: the plan's) in which tool and bodies are one convex problem."""
        c, p, T = self._contact, self._friction, self.period
        device, trial, place = self._made(), self._made(), ToolPlace.of(c)
        world = open_world(c["world"], self._entries, worlds_folder())
        tool = with_tool(world, c["touch_radius"], p["friction_coefficient"])
        names = ("approximation", "stiction_tolerance", "sigma", "near_rigid", "relative_tolerance", "threshold")
        simulator = Simulator(world, period=T, **{name: c[name] for name in names})
        given = _GivenMotion(simulator.dynamics, tool)
        simulator.couplings.append(given)  # type: ignore[arg-type]  # it does what a coupling does
        moving = [i for i in free_bodies(world) if i != tool]
        R, hand, mechanism = place.frame.rotation, device.hand, device.mechanism
        rows, work = _Rows(), (0.0, 0.0, 0.0)
        for k in range(ticks or self.ticks):
            reading, truth = device.read(), device.truth()
            pose, twist = truth.tool_pose.copy(), truth.tool_twist.copy()
            positions, orientations, velocities, spins = (values[moving] for values in simulator.body_states())
            start = time.perf_counter()
            J = device.jacobian().copy()
            weight = mechanism.dynamics(reading.tool_pose[:3], rotation_from_quaternion(reading.tool_pose[3:]))
            hold = J.T @ weight.gravity_force
            trial.take_over(device)
            trial.write(hold)
            grip = float(hand.table[min(k, len(hand.table) - 1), GRIP]) if hand is not None else 0.0
            given.inertia = R.T @ apparent_inertia(device, pose, twist, grip, T) @ R
            given.velocity = trial.truth().tool_twist[:3] @ R
            simulator.set_state(
                tool,
                position=(pose[:3] - place.frame.position) @ R,
                orientation=(0.0, 0.0, 0.0, 1.0),
                velocity=twist[:3] @ R,
                angular_velocity=(0.0, 0.0, 0.0),
            )
            simulator.step()
            force = R @ given.inertia @ (simulator.state(tool).velocity - given.velocity) / T
            rows.times.append(time.perf_counter() - start)
            push, friction, sticking, depth, parts = _on_tool(simulator, tool, R)
            rows.rows.append(
                (
                    pose[:3],
                    twist[:3],
                    push,
                    friction,
                    sticking,
                    np.hstack([positions, orientations]),
                    np.hstack([velocities, spins]),
                    depth,
                    work,
                )
            )
            device.write(hold + J.T @ np.concatenate([force, np.zeros(3)]))
            moved = device.truth().tool_pose[:3] - pose[:3]
            push_work = sum(float(f @ (moved - way)) for f, _, way in parts)
            work = (push_work, sum(float(f @ (moved - way)) for _, f, way in parts), 0.0)
        return rows.finish()


def cropped(plan: SpatialPlan, first: str, last: str) -> SpatialPlan:
    """The phases of a plan from one to another, both with them; empty names are its ends."""
    names = [phase.name for phase in plan.phases]
    i, j = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
    start, end = (round(time / plan.period) for time in (plan.phases[i].start, plan.phases[j].end))
    phases = tuple(
        type(phase)(phase.name, phase.kind, phase.start - start * plan.period, phase.end - start * plan.period)
        for phase in plan.phases[i : j + 1]
    )
    return SpatialPlan(plan.period, np.ascontiguousarray(plan.table[start:end]), phases)


def free_bodies(world: World) -> list[int]:
    """Numbers of the bodies that can move."""
    return [i for i, body in enumerate(world.bodies) if body.kind == "free"]


def with_tool(world: World, radius: float, friction: float) -> int:
    """Adds the tool's tip to a world, a sphere that is stiff against all others; returns its number."""
    others = [body.name for body in world.bodies]
    tool = world.add_sphere("tool tip", radius=radius, mass=1.0, inertia=_NO_SPIN)
    for name in others:
        world.set_pair(
            tool,
            name,
            stiffness=REFERENCE_STIFFNESS,
            dissipation=REFERENCE_DISSIPATION,
            relaxation_time=0.0,
            friction=friction,
        )
    return tool


def apparent_inertia(device: Tau, pose: np.ndarray, twist: np.ndarray, grip: float, period: float) -> np.ndarray:
    """What stands against a force at the tool over one period (3, 3) [kg], its rotation free, in the base frame.

    Inertia of mechanism and hand, and half the period times what joint friction and the hand's damping grow with
    velocity: under a constant force the velocity ramps, so that its mean has half the change of its end.
    """
    mechanism, hand = device.mechanism, device.hand
    d, f = mechanism.dynamics(pose[:3], rotation_from_quaternion(pose[3:])), mechanism.parameters.friction
    G, v = d.actuated_map, f.coulomb_smoothing_speed
    slope = f.viscous_actuated + f.coulomb_actuated / v / np.cosh(np.clip(G @ twist / v, -300.0, 300.0)) ** 2
    M = d.mass_matrix + 0.5 * period * (G.T * slope) @ G
    if hand is not None:
        damping = np.repeat([hand.parameters.damping, hand.parameters.rotational_damping], 3)
        M = M + grip * np.diag(hand.inertia + 0.5 * period * damping)
    return np.linalg.inv(np.linalg.inv(M)[:3, :3])


def _shares(rendering: ContactRendering, felt: Any, period: float) -> list[Part]:
    """Of each plane that pushed: push and friction on the tool [N], and the way of its point in the last tick [m]."""
    if felt is None:
        return []
    planes, push, friction = felt
    bodies, R, p = rendering.bodies, rendering.place.frame.rotation, rendering.place.frame.position
    found, total = [], push.sum()
    for i in np.flatnonzero(push > 0.0):
        b = int(planes.body[i])
        arm = planes.point[i] - (R @ bodies.position[b] + p)
        velocity = R @ bodies.velocity[b] + np.cross(R @ bodies.angular_velocity[b], arm)
        found.append((push[i] * planes.normal[i], push[i] / total * friction, period * velocity))
    return found


def _on_tool(simulator: Simulator, tool: int, R: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool, float, list[Part]]:
    """Push and friction on the tool (3,) each [N], whether all its contacts stick, the depth [m], and all parts."""
    found, T = simulator.contacts, simulator.period
    velocity = simulator.state(tool).velocity
    push, friction, depth, sticks, parts = np.zeros(3), np.zeros(3), 0.0, [], []
    for k in np.flatnonzero((found.body == tool).any(axis=1)):
        impulse = found.impulse[k]
        if impulse[2] <= 0.0:
            continue
        sign = 1.0 if found.body[k, 1] == tool else -1.0
        t1, t2, normal = sign * found.frame[k]
        slip = found.slip_velocity[k] + found.normal_velocity[k] * found.frame[k, 2]
        pressing, rubbing = R @ (impulse[2] / T * normal), R @ ((impulse[0] * t1 + impulse[1] * t2) / T)
        parts.append((pressing, rubbing, R @ (T * (velocity - sign * slip))))
        push, friction = push + pressing, friction + rubbing
        depth = max(depth, -float(found.signed_distance[k]))
        sticks.append(bool(found.sticking[k]))
    return push, friction, bool(sticks) and all(sticks), depth, parts
