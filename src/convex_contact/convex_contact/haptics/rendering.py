"""A world in the loop of a device: the tool drives one of its bodies, the proxy, and feels the forces on it.

Tick k brings the tool's pose at t_k = k T. The world then moves from t_(k-1) to t_k in a whole number of steps, and the
answer is the force at t_k; at the first tick nothing moves yet. The proxy is

* a free body or a link of a tree: a virtual coupling (`coupling`) pulls it to the tool. Within the tick the coupling's
  target moves on a straight line from the last pose to the new one. The force on the tool is -F, where F is the mean of
  the coupling's forces on the proxy over the steps;
* a prescribed body: it takes the tool's twist, or follows another node's reference, and the tool feels nothing.

The tool may also be a sphere that other nodes render. They receive the planes near it (`tool_planes`); the reactions to
their forces on the tool act on the bodies during the following tick.

**Passivity.** The coupling's steps are implicit. With its elongation e, the stored energy k e^2/2 grows in a step by no
more than the work of the target less the work on the proxy, whatever k, b and the period are. Summed over a tick, the
work of the target is F . (x_k - x_(k-1)), so the world as the device sees it at its sampling instants,

    sum over k of F_k . (x_k - x_(k-1)) + energy at the start >= 0,

is passive, bodies and contacts included. Only the hold of F for one period between the instants can still add energy:
the device's damping must exceed `Coupling.device_damping`, k T/2 + b (times the square of the scale).

**Frames.** With p and R of the world's frame in the device's base, and the scale s,

    x_world = s R^T (x_tool - p),      F_tool = - s R F_proxy,

which conserves power. Along axes of the world that the tool does not drive, the proxy keeps its initial coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact.haptics.frame_kernels import (
    ALL_AXES,
    add_force,
    add_force_at,
    express_in_base,
    is_identity,
    map_position,
    transform_limited,
)
from convex_contact.haptics.settings import CouplingNumbers, ToolTransform
from convex_contact.haptics.tool_planes import Planes, ToolPlanes
from convex_contact.model.world import World, WorldError
from convex_contact.model.world_source import open_world
from convex_contact.problem import checks
from convex_contact.problem.normal_laws import HertzLaw
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.simulator import Simulator
from haptic_files import listed, nearest
from haptic_files.moved_modules import renamed
from haptic_math.profiles import smooth_step

#: arguments of the simulator that are parameters of the same name
_SIMULATOR = (
    *("approximation", "stiction_tolerance", "sigma", "near_rigid", "tangential_damping", "relative_tolerance"),
    *("max_iterations", "threshold", "speculative", "linear_rotation"),
)


class ContactRendering:
    """Moves a world tick by tick with a device's tool in it.

    Args:
        world: description of the world.
        period: T of the loop [s].
        substeps: steps of the simulation per tick.
        proxy: name of the body that the tool drives; empty: none.
        place: transform from the device's space to the world.
        numbers: stiffness, damping and limits of the coupling.
        approach_time: time in which the proxy approaches the tool and the force fades in [s], at the start and after
            the device has been in its safe state.
        touch_radius: radius of the sphere at the tool for which :meth:`planes` finds planes [m, device]; 0: none.
        touch_reach: largest distance of surfaces that :meth:`planes` finds [m, device].
        **simulator: further arguments of :class:`Simulator`.

    Attributes:
        simulator: the world in motion; its contacts and statistics are those of the last step of the tick.
        proxy: number of the body; -1 without.
        coupling: the virtual coupling; None without a proxy or with a prescribed one.
        target: position of the coupling's target at the end of the tick (3,) [m], in the world frame.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    def __init__(
        self,
        world: World,
        *,
        period: float,
        substeps: int = 1,
        proxy: str = "",
        place: ToolTransform,
        numbers: CouplingNumbers,
        approach_time: float = 0.0,
        touch_radius: float = 0.0,
        touch_reach: float = 0.01,
        **simulator: Any,
    ) -> None:
        self.period, self.place = checks.number("period", period, above=0.0), place
        self._substeps = int(checks.number("substeps", substeps, minimum=1.0))
        still = bool(touch_radius)  # planes of fixed bodies are needed, too
        self.simulator = Simulator(world, period=self.period / self._substeps, still=still, **simulator)
        self._approach = round(checks.number("approach_time", approach_time, minimum=0.0) / self.period)
        self._rotation, self._orientation = place.frame.rotation, np.eye(3)
        self.proxy = _proxy(world, proxy) if proxy else -1
        kind = world.bodies[self.proxy].kind if proxy else ""
        if kind == "fixed":
            raise WorldError(f"{proxy}: expected a body that can move, got a fixed one")
        self._prescribed = kind == "prescribed"
        self.coupling: Coupling | None = None
        self.bodies = BodyTable(self.simulator.dynamics)
        self._surroundings: ToolPlanes | None = None
        if touch_radius:
            radius, reach = place.scale * touch_radius, place.scale * touch_reach
            self._surroundings = ToolPlanes(world, radius=radius, reach=reach)
        self.retune(numbers)
        self.reset()

    @property
    def is_coupled(self) -> bool:
        """A virtual coupling transmits forces between tool and world."""
        return self.proxy >= 0 and not self._prescribed

    def retune(self, numbers: CouplingNumbers) -> None:
        """Replaces the numbers of the coupling between two ticks; the world keeps its state.

        Raises:
            ValueError: a number is wrong; nothing has changed.
        """
        if self.is_coupled:
            turning = (numbers.rotational_stiffness, numbers.rotational_damping)
            made = Coupling(
                self.simulator.dynamics,
                self.proxy,
                stiffness=numbers.stiffness,
                damping=numbers.damping,
                rotational_stiffness=turning[0],
                rotational_damping=turning[1],
            )
            made.set_orientation(pin.Quaternion(self._orientation).coeffs(), np.zeros(3))
            self.simulator.couplings[:] = [made]
            self.coupling = made
        self.numbers = numbers

    def warning(self) -> str:
        """Returns why the coupling is not passive with the device's damping; empty if it is or if that is unknown."""
        given = self.numbers.device_damping
        if self.coupling is None or not given:
            return ""
        needed = self.place.scale**2 * self.coupling.device_damping(self.period)
        if given >= needed:
            return ""
        return (
            f"coupling_stiffness {self.numbers.stiffness:g} N/m and coupling_damping {self.numbers.damping:g} N s/m "
            f"held for {self.period:g} s need a device damping of {needed:.3g} N s/m (k T/2 + b, times scale^2) to be "
            f"passive, and device_damping is {given:g} N s/m"
        )

    def warm_up(self) -> None:
        """Makes two ticks and resets the world, so that all code is compiled before the first tick.

        Raises:
            ConvergenceError: the world's first step cannot be solved.
        """
        R, frame = self._rotation, self.place.frame
        here = frame.position + R @ self.target / self.place.scale  # tool position at the proxy
        pose = np.concatenate([here, pin.Quaternion(R @ self._orientation).coeffs()])
        for _ in range(2):  # nothing moves in the first
            self.step(pose, np.zeros(6))
        _ = self.simulator.contacts_in_world_axes, self.simulator.statistics
        self.bodies.read()
        if self._surroundings is not None:
            found = self.planes(np.zeros(3))
            self._surroundings.reduce_inverse_masses(found, self.simulator)
            express_in_base(R, frame.position, 1.0, *found[2:])
        add_force(R, 1.0, np.zeros(3), np.zeros(6))
        add_force_at(R, frame.position, 1.0, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(6))
        self.reset()

    def reset(self) -> None:
        """Resets the world to its description; the next tick is the first."""
        self.simulator.reset()
        self._fresh, self._joined = True, False
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.target = np.zeros(3)
        if self.proxy >= 0:
            state = self.simulator.state(self.proxy)
            self.target = state.position
            self._home, self._orientation = state.position.copy(), _matrix(state.orientation)

    def planes(self, position: np.ndarray) -> Planes:
        """Returns the planes near the tool at a position (3,) [m]; all in the device's base frame and measures.

        Raises:
            WorldError: there is no `touch_radius`.
        """
        if self._surroundings is None:
            raise WorldError("touch_radius: expected above 0 for planes at the tool, got 0")
        R, p, s = self._rotation, self.place.frame.position, self.place.scale
        found = self._surroundings.find(self.bodies.read(), s * ((position - p) @ R))
        if not len(found.key):
            return found
        if self.simulator.time > 0.0:
            self._surroundings.reduce_inverse_masses(found, self.simulator)
        express_in_base(R, p, s, *found[2:])
        return found

    def release(self) -> None:
        """Removes the forces of :meth:`pull` and :meth:`react` from the bodies."""
        self.simulator.dynamics.arrays.body_wrench[:] = 0.0

    def pull(self, body: int, force: np.ndarray, point: np.ndarray | None = None) -> None:
        """Applies a force (3,) [N] to a free body until :meth:`release`; ignores other bodies.

        Args:
            body: number of the body.
            force: in the device's base frame and measure.
            point: of application (3,) [m], in the same frame and measure; default: the centre of mass.
        """
        a, place = self.simulator.dynamics.arrays, self.place
        if self.simulator.world.bodies[body].kind != "free":
            return
        R, p, s, wrench = self._rotation, place.frame.position, place.scale, a.body_wrench[body]
        if point is None:
            add_force(R, s, force, wrench)
            return
        start = a.tree_q[a.body_tree[body]]
        add_force_at(R, p, s, force, point, a.q[start : start + 3], wrench)

    def react(self, planes: Planes, push: np.ndarray, friction: np.ndarray) -> None:
        """Applies the reactions of forces on the tool to the bodies of the planes, until :meth:`release`.

        Args:
            planes: the rendered planes.
            push: normal force of each plane on the tool (w,) [N].
            friction: force of all planes on the tool (3,) [N]; it is distributed in proportion to the normal forces.
        """
        total = np.add.reduce(push)
        for i, f in enumerate(push.tolist()):
            if f > 0.0:
                self.pull(int(planes.body[i]), -f * planes.normal[i] - f / total * friction, planes.point[i])

    def step(self, pose: np.ndarray, twist: np.ndarray, *, follows: bool = True, arrives: bool = False) -> np.ndarray:
        """Makes one tick.

        Args:
            pose: of the tool (7,), position [m] and quaternion x, y, z, w, in the device's base frame.
            twist: of the tool (6,) [m/s, rad/s], in the same frame; used only for a prescribed proxy.
            follows: False while the device does not obey: the target keeps its pose, and the wrench is zero.
            arrives: a prescribed proxy reaches the pose by the end of the tick, whatever the twist; in the first tick
                it starts there.

        Returns:
            The wrench on the tool (6,) [N, N m], in the device's base frame, at the tool.

        Raises:
            ConvergenceError: a step could not be solved.
        """
        if self._prescribed:
            self._prescribe(pose, twist, arrives)
        fresh, self._fresh = self._fresh, False
        if self.coupling is None:
            if not fresh:
                self.simulator.step(self._substeps)
            return np.zeros(6)
        present = self.target, self._orientation, 0.0
        goal, rotation, fraction = self._coupling_target(pose, fresh) if follows else present
        self._joined = follows
        if fresh:
            self.target, self._orientation = goal, rotation
            return np.zeros(6)
        self._pull(goal, rotation)
        return self._limited_wrench(fraction)

    # --- parts -----------------------------------------------------------------------------------------------

    def _prescribe(self, pose: np.ndarray, twist: np.ndarray, arrives: bool) -> None:
        """Prescribes the proxy's motion in the coming tick."""
        place, dynamics = self.place, self.simulator.dynamics
        if not arrives:
            linear, angular = twist[:3] @ self._rotation, twist[3:] @ self._rotation
            moved = np.concatenate([place.scale * place.axes * linear, angular * place.turns])
            dynamics.prescribe(self.proxy, moved)
            return
        goal, moved, now = np.empty(3), np.empty(6), dynamics.arrays.body_pose[self.proxy]
        present, position = now[:9].reshape(3, 3), now[9:]
        map_position(self._rotation, place.frame.position, place.scale, place.axes, self._home, pose, goal)
        rotation = self._rotation.T @ _matrix(pose[3:]) if place.turns else present
        if self._fresh:
            dynamics.prescribe(self.proxy, np.zeros(6), goal, pin.Quaternion(rotation).coeffs())
            return
        change = rotation @ present.T
        moved[:3] = goal - position
        moved[3:] = 0.0 if is_identity(change) else pin.log3(change)  # which takes longer than all the rest
        moved /= self.period
        dynamics.prescribe(self.proxy, moved)

    def _coupling_target(self, pose: np.ndarray, fresh: bool) -> tuple[np.ndarray, np.ndarray, float]:
        """Returns the target's position (3,) and rotation (3, 3), and the fraction of the force to render."""
        place = self.place
        position = np.empty(3)
        map_position(self._rotation, place.frame.position, place.scale, place.axes, self._home, pose, position)
        rotation = self._rotation.T @ _matrix(pose[3:]) if place.turns else self._orientation
        if not self._joined:
            self._position_error = self.target - position
            self._rotation_error = pin.log3(self._orientation @ rotation.T) if place.turns else np.zeros(3)
            self._approach_ticks_left = self._approach
        if not self._approach_ticks_left:
            return position, rotation, 1.0
        self._approach_ticks_left -= not fresh
        fraction = smooth_step(1.0 - self._approach_ticks_left / self._approach)
        if place.turns:
            rotation = pin.exp3((1.0 - fraction) * self._rotation_error) @ rotation
        return position + (1.0 - fraction) * self._position_error, rotation, fraction

    def _pull(self, goal: np.ndarray, rotation: np.ndarray) -> None:
        """Steps the world while the target moves to a goal; sets the mean force and torque."""
        coupling, n, start, begin = self.coupling, self._substeps, self.target, self._orientation
        assert coupling is not None
        self.target, self._orientation = goal, rotation
        spin = pin.log3(rotation @ begin.T) if self.place.turns else None
        self.force[:] = self.torque[:] = 0.0
        for i in range(1, n + 1):
            coupling.lead(start, goal, i, n, self.period)
            if spin is not None:
                at = rotation if i == n else pin.exp3(i / n * spin) @ begin
                coupling.set_orientation(pin.Quaternion(at).coeffs(), spin / self.period)
            self.simulator.step()
            self.force += coupling.force
            self.torque += coupling.torque
        if n > 1:
            self.force /= n
            self.torque /= n

    def _limited_wrench(self, fraction: float) -> np.ndarray:
        """Returns a fraction of the wrench on the tool, within its bounds."""
        place, numbers, wrench = self.place, self.numbers, np.empty(6)
        force_scale, torque_scale = -place.scale, -1.0 if place.turns else 0.0
        transform_limited(self._rotation, force_scale, place.axes, self.force, fraction, numbers.max_force, wrench[:3])
        transform_limited(self._rotation, torque_scale, ALL_AXES, self.torque, fraction, numbers.max_torque, wrench[3:])
        return wrench


def make_rendering(
    p: Mapping[str, Any], entries: Mapping[str, Any], folder: Path | None = None, *, compiled: bool = True
) -> ContactRendering:
    """Builds the rendering that the parameters of contact_node.yaml describe.

    Args:
        p: parameters by name.
        entries: arguments of the world, from `world_parameters`.
        folder: of the worlds that are known by name.
        compiled: the code is compiled and the first step tried; False: parameters are only checked.

    Raises:
        ValueError: a parameter is refused.
        ConvergenceError: the world's first step cannot be solved.
    """
    world = open_world(p["world"], entries, folder)
    try:
        made = ContactRendering(
            world,
            period=p["period"],
            substeps=p["substeps"],
            proxy=p["proxy"],
            place=ToolTransform.of(p),
            numbers=CouplingNumbers.of(p),
            approach_time=p["approach_time"],
            touch_radius=p["touch_radius"],
            touch_reach=p["touch_reach"],
            normal_law=HertzLaw() if p["normal_law"] == "hertz" else None,
            tangential_stiffness=p["tangential_stiffness"] or None,
            **{name: p[name] for name in _SIMULATOR},
        )
    except WorldError as error:
        raise WorldError(f"world {p['world']}: {error}") from None
    if compiled:
        made.warm_up()
    return made


def _proxy(world: World, name: str) -> int:
    """Returns the number of the body that the tool drives.

    Raises:
        WorldError: there is no such body.
    """
    if all(body.name != name for body in world.bodies):
        known = [body.name for body in world.bodies if body.kind != "fixed"]
        text = f"{name}: no such body; the bodies that can move are: {listed(known, name)}"
        raise WorldError(f"{text}{nearest(name, known)}")
    return world.number(name)


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Returns the rotation matrix of a quaternion (x, y, z, w) of about unit length."""
    x, y, z, w = quaternion
    unit = pin.Quaternion(w, x, y, z)
    unit.normalize()
    return np.asarray(unit.matrix())


__getattr__ = renamed(__name__, {"ToolPlace": "convex_contact.haptics.settings:ToolTransform"})
