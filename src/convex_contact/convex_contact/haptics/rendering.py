"""A world in the loop of a device: the tool drives a body of it, and feels what holds that body up.

Tick k brings the tool's pose at t_k = k T. The world then moves from t_(k-1) to t_k in a whole number of steps, and the
answer is the force at t_k; at the first tick nothing moves yet. The body that the tool drives, the proxy, is

* a free body or a link of a tree: a virtual coupling (`coupling`) pulls it to the tool. Within the tick the coupling's
  target goes straight from the last pose to the new one. The force on the tool is -F, where F is the mean of the
  coupling's forces on the proxy over the steps;
* a prescribed body: it takes the tool's twist, or goes where another node's reference is, and the tool feels nothing.

The tool may also be a sphere that other nodes render: they get the planes near it (`tool_planes`), and what they do to
the tool acts on the bodies, with the other sign, for the tick that follows.

**Passivity.** The coupling's steps are implicit: with its stretch e, the energy k e^2/2 that it stores grows in a step
by no more than the work that the target does less the work on the proxy, whatever k, b and the period are. Summed over
a tick the work of the target is F . (x_k - x_(k-1)), so the world as the device sees it at its sampling instants,

    sum over k of F_k . (x_k - x_(k-1)) + energy at the start >= 0,

is passive, bodies and contacts included. What can still add energy is the hold of F for one period between them: the
device's damping must exceed `Coupling.device_damping`, k T/2 + b (times the square of the scale).

**Places.** With p and R of the world's frame in the device's base, and the scale s,

    x_world = s R^T (x_tool - p),      F_tool = - s R F_proxy,

which conserves power. Axes of the world that the tool does not drive keep the value that the proxy had at the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numba import njit

from convex_contact.haptics.settings import CouplingNumbers, ToolPlace
from convex_contact.haptics.tool_planes import Planes, ToolPlanes
from convex_contact.model.world import World, WorldError
from convex_contact.model.world_source import open_world
from convex_contact.problem import checks
from convex_contact.problem.normal_laws import HertzLaw
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.simulator import Simulator
from haptic_math.profiles import smooth_step

#: the simulator's arguments that are parameters of the same name
_SIMULATOR = (
    *("approximation", "stiction_tolerance", "sigma", "near_rigid", "tangential_damping", "relative_tolerance"),
    *("max_iterations", "threshold", "speculative", "linear_rotation"),
)


class ContactRendering:
    """Moves a world tick by tick with a device's tool in it.

    Args:
        world: The description.
        period: T of the loop, s.
        substeps: Steps of the simulation per tick.
        proxy: Name of the body that the tool drives; empty: none.
        place: How the device's space lies in the world's.
        numbers: Of the coupling.
        approach_time: For which the proxy is led to the tool, and the force faded in, at the start and after the device
            has been in its safe state, s.
        touch_radius: Of the sphere at the tool whose surroundings :meth:`planes` gives, m, device; 0: none.
        touch_reach: Of the surfaces that it gives, m, device.
        **simulator: Further arguments of :class:`Simulator`.

    Attributes:
        simulator: The world in motion; its contacts and statistics are those of the last step of the tick.
        proxy: Number of the body; -1 without.
        coupling: None without, or with a prescribed proxy.
        target: Where the coupling pulls the proxy at the end of the tick (3,), m, world.

    Raises:
        ValueError: Something does not fit; the message names it.
    """

    def __init__(
        self,
        world: World,
        *,
        period: float,
        substeps: int = 1,
        proxy: str = "",
        place: ToolPlace,
        numbers: CouplingNumbers,
        approach_time: float = 0.0,
        touch_radius: float = 0.0,
        touch_reach: float = 0.01,
        **simulator: Any,
    ) -> None:
        self.period, self.place = checks.number("period", period, above=0.0), place
        self._substeps = int(checks.number("substeps", substeps, minimum=1.0))
        still = bool(touch_radius)  # planes of what cannot move are of use, too
        self.simulator = Simulator(world, period=self.period / self._substeps, still=still, **simulator)
        self._approach = round(checks.number("approach_time", approach_time, minimum=0.0) / self.period)
        self._rotation, self._turn = place.frame.rotation, np.eye(3)
        self.proxy = world.number(proxy) if proxy else -1
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
        """The tool feels the world."""
        return self.proxy >= 0 and not self._prescribed

    def retune(self, numbers: CouplingNumbers) -> None:
        """Takes other numbers of the coupling, between ticks; the world goes on.

        Raises:
            ValueError: A number is wrong; nothing has changed.
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
            made.turn(pin.Quaternion(self._turn).coeffs(), np.zeros(3))
            self.simulator.couplings[:] = [made]
            self.coupling = made
        self.numbers = numbers

    def warning(self) -> str:
        """What the passivity condition says against the device's damping; empty if nothing, or if it is unknown."""
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
        """Makes two ticks and takes them back, so that the compiled code is there when the first tick comes.

        Raises:
            ConvergenceError: The world's first step cannot be solved.
        """
        R, frame = self._rotation, self.place.frame
        here = frame.position + R @ self.target / self.place.scale  # the tool where the proxy is
        pose = np.concatenate([here, pin.Quaternion(R @ self._turn).coeffs()])
        for _ in range(2):  # nothing moves in the first
            self.step(pose, np.zeros(6))
        _ = self.simulator.contacts
        self.bodies.read()
        if self._surroundings is not None:
            self.planes(np.zeros(3))
        self.reset()

    def reset(self) -> None:
        """The world back at its description; the next tick is the first."""
        self.simulator.reset()
        self._fresh, self._joined = True, False
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.target = np.zeros(3)
        if self.proxy >= 0:
            state = self.simulator.state(self.proxy)
            self.target = state.position
            self._home, self._turn = state.position.copy(), _matrix(state.orientation)

    def planes(self, position: np.ndarray) -> Planes:
        """What is near the tool at (3,), m; all in the device's base frame and measures.

        Raises:
            WorldError: There is no `touch_radius`.
        """
        if self._surroundings is None:
            raise WorldError("touch_radius: expected above 0 for planes at the tool, got 0")
        R, p, s = self._rotation, self.place.frame.position, self.place.scale
        found = self._surroundings.find(self.bodies.read(), s * ((position - p) @ R))
        if self.simulator.time > 0.0:
            self._surroundings.bear(found, self.simulator)
        return found._replace(
            point=found.point @ R.T / s + p,
            normal=found.normal @ R.T,
            signed_distance=found.signed_distance / s,
            velocity=found.velocity @ R.T / s,
            inverse_mass=found.inverse_mass / s**2,
        )

    def release(self) -> None:
        """Takes away what :meth:`pull` and :meth:`react` put on the bodies."""
        self.simulator.dynamics.arrays.body_wrench[:] = 0.0

    def pull(self, body: int, force: np.ndarray, point: np.ndarray | None = None) -> None:
        """Adds a force (3,), N, on a body until :meth:`release`; on one that is not free it does nothing.

        Args:
            body: Number.
            force: In the device's base frame and measure.
            point: Where it acts (3,), m, likewise; default: the centre of mass.
        """
        a, place = self.simulator.dynamics.arrays, self.place
        if self.simulator.world.bodies[body].kind != "free":
            return
        pulling = force @ self._rotation / place.scale
        a.body_wrench[body, :3] += pulling
        if point is not None:
            start = a.tree_q[a.body_tree[body]]
            arm = place.scale * ((point - place.frame.position) @ self._rotation) - a.q[start : start + 3]
            a.body_wrench[body, 3:] += np.cross(arm, pulling)

    def react(self, planes: Planes, push: np.ndarray, friction: np.ndarray) -> None:
        """Lets bodies feel what their planes do to the tool, until :meth:`release`.

        Args:
            planes: That were rendered.
            push: Of each on the tool along its normal (w,), N.
            friction: Of all on the tool (3,), N; each has a share by its push.
        """
        total = push.sum()
        for i in np.flatnonzero(push > 0.0):
            self.pull(int(planes.body[i]), -push[i] * planes.normal[i] - push[i] / total * friction, planes.point[i])

    def step(self, pose: np.ndarray, twist: np.ndarray, *, follows: bool = True, arrives: bool = False) -> np.ndarray:
        """One tick.

        Args:
            pose: Of the tool (7,), m and quaternion x, y, z, w, in the device's base.
            twist: Of the tool (6,), m/s and rad/s, likewise; only a prescribed proxy takes it.
            follows: False while the device does not obey: the target stays where it is, and nothing is felt.
            arrives: A prescribed proxy is at the pose when the tick ends, whatever the twist; at the first tick it is
                put there.

        Returns:
            The wrench on the tool (6,), N and N m, in the device's base, at the tool.

        Raises:
            ConvergenceError: A step could not be solved.
        """
        if self._prescribed:
            self._prescribe(pose, twist, arrives)
        fresh, self._fresh = self._fresh, False
        if self.coupling is None:
            if not fresh:
                self.simulator.step(self._substeps)
            return np.zeros(6)
        goal, turn, share = self._goal(pose, fresh) if follows else (self.target, self._turn, 0.0)
        self._joined = follows
        if fresh:
            self.target, self._turn = goal, turn
            return np.zeros(6)
        self._pull(goal, turn)
        return self._felt(share)

    # --- parts -----------------------------------------------------------------------------------------------

    def _prescribe(self, pose: np.ndarray, twist: np.ndarray, arrives: bool) -> None:
        """Tells a prescribed proxy how to move in the coming tick."""
        place, dynamics = self.place, self.simulator.dynamics
        if not arrives:
            linear, angular = twist[:3] @ self._rotation, twist[3:] @ self._rotation
            moved = np.concatenate([place.scale * place.axes * linear, angular * place.turns])
            dynamics.prescribe(self.proxy, moved)
            return
        goal, now = np.empty(3), dynamics.arrays.body_pose[self.proxy]
        turned, place_now = now[:9].reshape(3, 3), now[9:]
        _place(self._rotation, place.frame.position, place.scale, place.axes, self._home, pose, goal)
        turn = self._rotation.T @ _matrix(pose[3:]) if place.turns else turned
        if self._fresh:
            dynamics.prescribe(self.proxy, np.zeros(6), goal, pin.Quaternion(turn).coeffs())
            return
        moved = np.concatenate([goal - place_now, pin.log3(turn @ turned.T)])
        dynamics.prescribe(self.proxy, moved / self.period)

    def _goal(self, pose: np.ndarray, fresh: bool) -> tuple[np.ndarray, np.ndarray, float]:
        """The target (3,), its rotation (3, 3), and the share of the force that is felt, on the way to the tool."""
        place = self.place
        position = np.empty(3)
        _place(self._rotation, place.frame.position, place.scale, place.axes, self._home, pose, position)
        turn = self._rotation.T @ _matrix(pose[3:]) if place.turns else self._turn
        if not self._joined:
            self._away = self.target - position
            self._turned = pin.log3(self._turn @ turn.T) if place.turns else np.zeros(3)
            self._left = self._approach
        if not self._left:
            return position, turn, 1.0
        self._left -= not fresh
        share = smooth_step(1.0 - self._left / self._approach)
        if place.turns:
            turn = pin.exp3((1.0 - share) * self._turned) @ turn
        return position + (1.0 - share) * self._away, turn, share

    def _pull(self, goal: np.ndarray, turn: np.ndarray) -> None:
        """Steps with the target on its way; the means of force and torque."""
        coupling, n, start, begin = self.coupling, self._substeps, self.target, self._turn
        assert coupling is not None
        self.target, self._turn = goal, turn
        spin = pin.log3(turn @ begin.T) if self.place.turns else None
        self.force[:] = self.torque[:] = 0.0
        for i in range(1, n + 1):
            coupling.lead(start, goal, i, n, self.period)
            if spin is not None:
                at = turn if i == n else pin.exp3(i / n * spin) @ begin
                coupling.turn(pin.Quaternion(at).coeffs(), spin / self.period)
            self.simulator.step()
            self.force += coupling.force
            self.torque += coupling.torque
        if n > 1:
            self.force /= n
            self.torque /= n

    def _felt(self, share: float) -> np.ndarray:
        """A share of the wrench on the tool, within its bounds."""
        place, numbers, wrench = self.place, self.numbers, np.empty(6)
        force_scale, torque_scale = -place.scale, -1.0 if place.turns else 0.0
        _turn_back(self._rotation, force_scale, place.axes, self.force, share, numbers.max_force, wrench[:3])
        _turn_back(self._rotation, torque_scale, _ALL, self.torque, share, numbers.max_torque, wrench[3:])
        return wrench


#: all three axes
_ALL = np.ones(3, dtype=np.bool_)


@njit(cache=True, nogil=True, error_model="numpy")
def _place(
    rotation: np.ndarray,
    origin: np.ndarray,
    scale: float,
    axes: np.ndarray,
    home: np.ndarray,
    pose: np.ndarray,
    out: np.ndarray,
) -> None:
    """scale R^T (x - p) along the axes that the tool drives, and the proxy's own place along the others."""
    for i in range(3):
        along = 0.0
        for k in range(3):
            along += rotation[k, i] * (pose[k] - origin[k])
        out[i] = scale * along if axes[i] else home[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _turn_back(
    rotation: np.ndarray,
    scale: float,
    axes: np.ndarray,
    vector: np.ndarray,
    share: float,
    largest: float,
    out: np.ndarray,
) -> None:
    """scale R x along the axes that the tool drives, shortened to a largest length; of that a share."""
    size = 0.0
    for i in range(3):
        out[i] = 0.0
        for k in range(3):
            if axes[k]:
                out[i] += scale * rotation[i, k] * vector[k]
        size += out[i] * out[i]
    size = math.sqrt(size)
    factor = share * largest / size if size > largest else share
    for i in range(3):
        out[i] *= factor


def make_rendering(
    p: Mapping[str, Any], entries: Mapping[str, Any], folder: Path | None = None, *, compiled: bool = True
) -> ContactRendering:
    """The rendering that the parameters of contact_node.yaml describe.

    Args:
        p: The parameters.
        entries: What `world_parameters` says.
        folder: Of the worlds that are known by name.
        compiled: The code is compiled and the first step tried; False: parameters are only checked.

    Raises:
        ValueError: One is refused.
        ConvergenceError: The world's first step cannot be solved.
    """
    world = open_world(p["world"], entries, folder)
    try:
        made = ContactRendering(
            world,
            period=p["period"],
            substeps=p["substeps"],
            proxy=p["proxy"],
            place=ToolPlace.of(p),
            numbers=CouplingNumbers.of(p),
            approach_time=p["approach_time"],
            touch_radius=p["touch_radius"],
            touch_reach=p["touch_reach"],
            normal_law=HertzLaw() if p["normal_law"] == "hertz" else None,
            tangential_stiffness=p["tangential_stiffness"] or None,
            **{name: p[name] for name in _SIMULATOR},
        )
    except WorldError as error:
        known = ", ".join(body.name for body in world.bodies if body.kind != "fixed")
        hint = f"; the bodies that can move are: {known}" if p["proxy"] and "no such body" in str(error) else ""
        raise WorldError(f"world {p['world']}: {error}{hint}") from None
    if compiled:
        made.warm_up()
    return made


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion (x, y, z, w) of about unit length."""
    x, y, z, w = quaternion
    turn = pin.Quaternion(w, x, y, z)
    turn.normalize()
    return np.asarray(turn.matrix())
