"""A world in the loop of a device: the tool drives a body of it, and feels what holds that body up.

Tick k brings the tool's pose at t_k = k T. The world then moves from t_(k-1) to t_k in a whole number of steps, and the
answer is the force at t_k; at the first tick nothing moves yet. The body that the tool drives, the proxy, is

* a free body or a link of a tree: a virtual coupling (`coupling`) pulls it to the tool. Within the tick the coupling's
  target goes straight from the last pose to the new one, and the mean F of the coupling's forces on the proxy over the
  steps is what the tool feels, with the other sign;
* a prescribed body: it takes the tool's twist, and the tool feels nothing.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact import checks
from convex_contact.coupling import Coupling
from convex_contact.normal_laws import HertzLaw
from convex_contact.simulator import Simulator
from convex_contact.world import Placement, World, WorldError
from convex_contact.world_source import open_world

#: the simulator's arguments that are parameters of the same name
_SIMULATOR = (
    *("approximation", "stiction_tolerance", "sigma", "near_rigid", "tangential_damping", "relative_tolerance"),
    *("max_iterations", "threshold", "speculative", "linear_rotation"),
)


@dataclass(frozen=True)
class ToolPlace:
    """How the device's space lies in the world's.

    Attributes:
        frame: Pose of the world's frame in the device's base, m.
        scale: s, metres of the world per metre of the device.
        axes: Which axes x, y, z of the world the tool drives (3,).
        turns: The proxy turns with the tool, else it keeps its orientation.
    """

    frame: Placement
    scale: float
    axes: np.ndarray
    turns: bool

    @staticmethod
    def of(p: Mapping[str, Any]) -> ToolPlace:
        """From the parameters frame_position, frame_orientation, scale, held_axes and coupled_rotation.

        Raises:
            ValueError: One is wrong.
        """
        orientation = checks.array("frame_orientation", p["frame_orientation"], (4,))
        if not abs(np.linalg.norm(orientation) - 1.0) < 0.01:
            raise ValueError(f"frame_orientation: expected a quaternion of length 1, got {p['frame_orientation']!r}")
        frame = Placement.of(checks.array("frame_position", p["frame_position"], (3,)), orientation, "frame")
        axes = np.array([axis not in p["held_axes"] for axis in "xyz"])
        return ToolPlace(frame, checks.number("scale", p["scale"], above=0.0), axes, bool(p["coupled_rotation"]))


@dataclass(frozen=True)
class CouplingNumbers:
    """What the user feels.

    Attributes:
        stiffness: k of the coupling, N/m in the world; rotational_stiffness, N m/rad.
        damping: b, N s/m in the world; rotational_damping, N m s/rad.
        max_force: The force on the tool is shortened to it, N; max_torque likewise, N m.
        device_damping: Of the device and whoever holds it, at the tool, N s/m; 0: unknown.
    """

    stiffness: float
    damping: float
    rotational_stiffness: float
    rotational_damping: float
    max_force: float
    max_torque: float
    device_damping: float

    @staticmethod
    def of(p: Mapping[str, Any]) -> CouplingNumbers:
        """From the parameters of these names, those of the coupling with `coupling_` in front."""
        coupling = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
        rest = ("max_force", "max_torque", "device_damping")
        return CouplingNumbers(*(p[f"coupling_{name}"] for name in coupling), *(p[name] for name in rest))


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
        **simulator: Any,
    ) -> None:
        self.period, self.place = checks.number("period", period, above=0.0), place
        self._substeps = int(checks.number("substeps", substeps, minimum=1.0))
        self.simulator = Simulator(world, period=self.period / self._substeps, **simulator)
        self._approach = round(checks.number("approach_time", approach_time, minimum=0.0) / self.period)
        self._rotation, self._origin = place.frame.rotation, place.frame.position
        self.proxy = world.number(proxy) if proxy else -1
        kind = world.bodies[self.proxy].kind if proxy else ""
        if kind == "fixed":
            raise WorldError(f"{proxy}: expected a body that can move, got a fixed one")
        self._prescribed = kind == "prescribed"
        self.coupling: Coupling | None = None
        self.bodies = BodyTable(self.simulator)
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
        """Makes a step and takes it back, so that the compiled code is there when the first tick comes.

        Raises:
            ConvergenceError: The world's first step cannot be solved.
        """
        self.simulator.step()
        self.bodies.read()
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

    def step(self, pose: np.ndarray, twist: np.ndarray, *, follows: bool = True) -> np.ndarray:
        """One tick.

        Args:
            pose: Of the tool (7,), m and quaternion x, y, z, w, in the device's base.
            twist: Of the tool (6,), m/s and rad/s, likewise; only a prescribed proxy takes it.
            follows: False while the device does not obey: the target stays where it is, and nothing is felt.

        Returns:
            The wrench on the tool (6,), N and N m, in the device's base, at the tool.

        Raises:
            ConvergenceError: A step could not be solved.
        """
        if self._prescribed:
            linear, angular = twist[:3] @ self._rotation, twist[3:] @ self._rotation
            moved = np.concatenate([self.place.scale * self.place.axes * linear, angular * self.place.turns])
            self.simulator.dynamics.prescribe(self.proxy, moved)
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
        return share * self._felt()

    # --- parts -----------------------------------------------------------------------------------------------

    def _goal(self, pose: np.ndarray, fresh: bool) -> tuple[np.ndarray, np.ndarray, float]:
        """The target (3,), its rotation (3, 3), and the share of the force that is felt, on the way to the tool."""
        place = self.place
        position = np.where(place.axes, place.scale * ((pose[:3] - self._origin) @ self._rotation), self._home)
        turn = self._rotation.T @ _matrix(pose[3:]) if place.turns else self._turn
        if not self._joined:
            self._away = self.target - position
            self._turned = pin.log3(self._turn @ turn.T) if place.turns else np.zeros(3)
            self._left = self._approach
        if not self._left:
            return position, turn, 1.0
        self._left -= not fresh
        share = _smooth(1.0 - self._left / self._approach)
        if place.turns:
            turn = pin.exp3((1.0 - share) * self._turned) @ turn
        return position + (1.0 - share) * self._away, turn, share

    def _pull(self, goal: np.ndarray, turn: np.ndarray) -> None:
        """Steps with the target on its way; the means of force and torque."""
        coupling, n = self.coupling, self._substeps
        assert coupling is not None
        step, start = (goal - self.target) / n, self.target
        velocity = (goal - start) / self.period
        spin = pin.log3(turn @ self._turn.T) if self.place.turns else np.zeros(3)
        begin, self.target, self._turn = self._turn, goal, turn
        force, torque = np.zeros(3), np.zeros(3)
        for i in range(1, n + 1):
            at = turn if i == n or not self.place.turns else pin.exp3(i / n * spin) @ begin
            coupling.target(
                goal if i == n else start + i * step, pin.Quaternion(at).coeffs(), velocity, spin / self.period
            )
            self.simulator.step()
            force += coupling.force
            torque += coupling.torque
        self.force, self.torque = force / n, torque / n

    def _felt(self) -> np.ndarray:
        """The wrench on the tool, within its bounds."""
        scale, numbers = self.place.scale, self.numbers
        force = -scale * (self._rotation @ (self.force * self.place.axes))
        torque = -(self._rotation @ self.torque) if self.place.turns else np.zeros(3)
        return np.concatenate([_shortened(force, numbers.max_force), _shortened(torque, numbers.max_torque)])


class BodyTable:
    """Positions, orientations and velocities of all bodies, in the order of the world, read at once.

    Args:
        simulator: Whose.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator, a = simulator, simulator.dynamics.arrays
        world = simulator.world
        n = len(world.bodies)
        self.position, self.orientation = np.zeros((n, 3)), np.zeros((n, 4))
        self.velocity, self.angular_velocity = np.zeros((n, 3)), np.zeros((n, 3))
        free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
        self._free = np.array(free, dtype=np.int64)
        self._others = [i for i, body in enumerate(world.bodies) if body.kind in ("link", "prescribed")]
        trees = a.body_tree[self._free]
        self._q = (a.tree_q[trees][:, None] + np.arange(7)).astype(np.int64)
        self._v = (a.tree_v[trees][:, None] + np.arange(6)).astype(np.int64)
        centers = np.array([world.bodies[i].center for i in free]).reshape(-1, 3)
        self._centers = centers if centers.any() else None
        for i, body in enumerate(world.bodies):
            if body.kind == "fixed":
                self._write(i)

    def _write(self, number: int) -> None:
        state = self._simulator.state(number)
        self.position[number], self.orientation[number] = state.position, state.orientation
        self.velocity[number], self.angular_velocity[number] = state.velocity, state.angular_velocity

    def read(self) -> BodyTable:
        """Takes the present state."""
        a = self._simulator.dynamics.arrays
        q, v = a.q[self._q], a.v[self._v]
        turn = q[:, 3:] / np.sqrt(np.einsum("ij,ij->i", q[:, 3:], q[:, 3:]))[:, None]
        position, velocity, spin = q[:, :3], v[:, :3], v[:, 3:]
        if self._centers is not None:
            u, w = turn[:, :3], turn[:, 3:]
            lever = self._centers + 2.0 * np.cross(u, np.cross(u, self._centers) + w * self._centers)
            position, velocity = position - lever, velocity - np.cross(spin, lever)
        self.position[self._free], self.orientation[self._free] = position, turn
        self.velocity[self._free], self.angular_velocity[self._free] = velocity, spin
        for number in self._others:
            self._write(number)
        return self


def make_rendering(p: Mapping[str, Any], entries: Mapping[str, Any], folder: Path | None = None) -> ContactRendering:
    """The rendering that the parameters of contact_node.yaml describe, its code compiled.

    Args:
        p: The parameters.
        entries: What `world_parameters` says.
        folder: Of the worlds that are known by name.

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
            normal_law=HertzLaw() if p["normal_law"] == "hertz" else None,
            tangential_stiffness=p["tangential_stiffness"] or None,
            **{name: p[name] for name in _SIMULATOR},
        )
    except WorldError as error:
        known = ", ".join(body.name for body in world.bodies if body.kind != "fixed")
        hint = f"; the bodies that can move are: {known}" if p["proxy"] and "no such body" in str(error) else ""
        raise WorldError(f"world {p['world']}: {error}{hint}") from None
    made.warm_up()
    return made


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion (x, y, z, w) of about unit length."""
    x, y, z, w = quaternion
    turn = pin.Quaternion(w, x, y, z)
    turn.normalize()
    return np.asarray(turn.matrix())


def _smooth(s: float) -> float:
    """From 0 to 1 with zero first and second derivatives at both ends."""
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def _shortened(vector: np.ndarray, largest: float) -> np.ndarray:
    size = math.sqrt(float(vector @ vector))
    return vector * (largest / size) if size > largest else vector
