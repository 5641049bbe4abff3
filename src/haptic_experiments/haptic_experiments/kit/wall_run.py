"""Arrays of a run with walls on the TAU device, and its pushes, taps and releases.

Rows are ticks. Positions, forces and walls are in the device's base frame. Distances are those of the true tool (the
encoders count 11 µm at the tool at the most); forces of the walls are those that the commanded efforts beyond the
weight exert on the tool, G^T (tau - tau_g), by the model that the controller has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_core.commands import NONE
from haptic_core.errors import HapticError
from haptic_devices.loop import OK
from haptic_experiments.kit.phases import PhasedRun, phased
from tau_wall_control import TauDevice, TauError
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.simulation.limits import tap_bound
from tau_wall_control.walls.factory import make_device

NAMESPACE = "/tau"
#: allowed depth of a tap over its energy bound
TAP_MARGIN = 1.2


@dataclass(frozen=True)
class WallRun(PhasedRun):
    """The signals of one bag on common ticks, up to a change of the walls."""

    position: np.ndarray  #: position of the true tool, shape (n, 3) [m]
    velocity: np.ndarray  #: velocity of the true tool, shape (n, 3) [m/s]
    measured: np.ndarray  #: pose of the tool by the encoders, shape (n, 7)
    hand: np.ndarray  #: force of the hand on the tool, shape (n, 3) [N]
    effort: np.ndarray  #: commanded efforts, shape (n, 6) [N m]
    saturation: np.ndarray  #: efforts as fractions of the motors' limits, shape (n, 6)
    points: np.ndarray  #: points of the walls, shape (w, 3) [m]
    normals: np.ndarray  #: normals of the walls, shape (w, 3)
    in_contact: np.ndarray  #: flags of the walls in contact, shape (n, w)
    operating_point: np.ndarray  #: operating point of the controller, shape (n,)
    device: TauDevice  #: device as the controller knows it
    parameters: dict[str, Any]  #: parameters of the wall node
    delay: int = 0  #: parameter command_delay_ticks of the device
    stopped: int = 0  #: number of ticks at which the device's status was not OK
    refused: int = 0  #: number of ticks that the node has answered without effort
    changed: bool = False  #: the walls were changed during the run; later ticks are left out
    #: 50 and 99 % of the node's control steps, and of their processor time [s]; empty without
    timing: dict[str, float] = field(default_factory=dict)
    mode: str = "lockstep"  #: mode of the loop

    @classmethod
    def from_bag(cls, bag: Bag) -> WallRun:
        """Reads a bag; the ticks are those that all topics have, since in realtime the node may have missed some.

        Raises:
            HapticError: There are fewer than two such ticks, or the mechanism cannot be made here.
        """
        states = bag.topics[f"{NAMESPACE}/wall/state"]
        same = np.logical_and.accumulate([_same(states, i) for i in range(len(states["tick"]))])
        topics = ("device_state", "simulation_state", "wall/state")
        ticks = bag.ticks(NAMESPACE, *topics, keep={"wall/state": same})
        device, truth, wall = (ticks[topic] for topic in topics)
        node, start, whole = bag.parameters("wall"), bag.started("device"), bag.topics
        timing = [event.detail for event in bag.events if event.source == "wall" and event.kind == "timing"]
        try:
            mechanism = make_device(node)
        except TauError as error:
            raise HapticError(f"the run's mechanism cannot be made for the report: {error}") from None
        return cls(
            **phased(ticks, bag),
            position=truth["tool_pose"][:, :3],
            velocity=truth["tool_twist"][:, :3],
            measured=device["tool_pose"],
            hand=truth["operator_wrench"][:, :3],
            effort=np.array(wall["effort"]),
            saturation=np.array(wall["saturation"]),
            points=np.reshape(wall["point"][0], (-1, 3)),
            normals=np.reshape(wall["normal"][0], (-1, 3)),
            in_contact=np.array(wall["in_contact"], dtype=bool),
            operating_point=np.asarray(wall["operating_point"]),
            device=mechanism,
            parameters=node,
            delay=int(start["parameters"]["command_delay_ticks"]),
            stopped=int(np.sum(whole[f"{NAMESPACE}/device_state"]["status"] != OK)),
            refused=int(np.sum(whole[f"{NAMESPACE}/device_command"]["mode"] == NONE)),
            changed=not same.all(),
            timing={name: 1e-6 * value for name, value in timing[-1].items() if name != "unit"} if timing else {},
            mode=bag.custom.get("mode", "lockstep"),
        )

    @cached_property
    def depth(self) -> np.ndarray:
        """Depth of the true tool behind each wall, (n, w), negative outside [m]."""
        return np.asarray(((self.points[None] - self.position[:, None]) * self.normals).sum(axis=2))

    @cached_property
    def speed_in(self) -> np.ndarray:
        """Speed of the true tool into each wall, (n, w) [m/s]."""
        return -self.velocity @ self.normals.T

    @cached_property
    def wrench(self) -> np.ndarray:
        """Force of the walls on the tool as commanded (n, 3) [N]."""
        result = np.zeros((len(self.time), 3))
        for k, (pose, effort) in enumerate(zip(self.measured, self.effort, strict=True)):
            if effort.any():
                d = self.device.dynamics(pose[:3], rotation_from_quaternion(pose[3:]))
                result[k] = (d.actuated_map.T @ effort - d.gravity_force)[:3]
        return result

    @cached_property
    def force(self) -> np.ndarray:
        """Force along the normal of each wall, (n, w), for walls at right angles [N]."""
        return self.wrench @ self.normals.T

    @cached_property
    def saturated(self) -> np.ndarray:
        """Flags of the ticks (n,) with a motor at its limit."""
        return np.asarray((self.saturation >= 1.0 - 1e-9).any(axis=1))

    @property
    def name(self) -> str:
        """Label of the run in legends."""
        scheme = "from a file" if self.parameters["controller_file"] else self.parameters["scheme"]
        if self.mode == "realtime":
            return f"{scheme}, realtime"
        return f"{scheme}, " + ("no delay" if not self.delay else f"{self.delay} tick{'s'[: self.delay - 1]} of delay")

    @property
    def left_out(self) -> str:
        """Sentence for the figure's caption; empty if all was used."""
        return " What came after the walls were changed is left out." if self.changed else ""

    def parts(self, kind: str) -> list[tuple[dict[str, Any], slice]]:
        """Returns the phases of a kind that the run has reached to their end, with their samples."""
        end = self.time[-1] + 2.0 * self.period
        reached = [phase for phase in self.phases if phase["kind"] == kind and phase["end"] <= end]
        found = [(phase, self.part(phase["start"], phase["end"])) for phase in reached]
        return [(phase, part) for phase, part in found if part.stop - part.start > 10]


def _same(wall: Mapping[str, Any], i: int) -> bool:
    return all(np.array_equal(wall[name][i], wall[name][0]) for name in ("point", "normal"))


# ---- pushes, taps, releases -------------------------------------------------------------------------


@dataclass(frozen=True)
class Push:
    """A push of the hand; NaN where a number does not apply, as those of rest under a ramp."""

    name: str  #: name of the phase
    force: float  #: force of the hand along the wall's normal, mean of the last quarter but for its end [N]
    penetration: float  #: largest depth of all walls from the push on [m]
    stiffness: float  #: force over penetration of the wall where that is the most [N/m]
    static: float  #: depth that is left in the last quarter [m]
    rmse: float  #: RMS depth of the walls in contact [m]
    restless: float  #: standard deviation of the walls' force in the second half, the largest of all walls [N]
    contact: float  #: fraction of the ticks in contact
    saturated: float  #: fraction of the ticks with a motor at its limit
    sideways: float  #: largest displacement of the tool across all normals [m]


@dataclass(frozen=True)
class Tap:
    """A tap: the fingers open before the wall, and the motors alone stop the tool."""

    name: str  #: name of the phase
    speed: float  #: speed at the impact [m/s]
    penetration: float  #: largest depth [m]
    energy_bound: float  #: m v^2/(2 F_max) at the position and speed of the impact (`limits.tap_bound`) [m]
    static: float  #: depth that the strongest push leaves [m]
    allowed: float  #: `TAP_MARGIN` times the bound plus that [m]
    late: float  #: distance that the tool goes on during the ticks of delay, which the bound does not contain [m]
    rebound: float  #: speed out of the wall [m/s]
    saturated: float  #: time with a motor at its limit [s]


@dataclass(frozen=True)
class Release:
    """The hand lets go of a pushed tool."""

    name: str  #: name of the phase
    contact_ends: float  #: time until contact ends [s]
    pull: float  #: largest pull towards the wall [N]
    speed: float  #: speed out of the wall at the end [m/s]


@dataclass(frozen=True)
class WallNumbers:
    """Numbers of every report of walls."""

    scheme: str  #: control scheme
    mode: str  #: mode of the loop
    delay: int  #: delay of the commands [ticks]
    ticks: int  #: number of ticks
    stopped_ticks: int  #: number of ticks at which the device's status was not OK
    refused_ticks: int  #: number of ticks that the node has answered without effort
    control_step: dict[str, float] | None  #: times of the node's control steps [s]; None if it published none
    contact: float  #: fraction of the ticks in contact
    saturated: float  #: fraction of the ticks with a motor at its limit
    largest_penetration: float  #: largest depth [m]
    largest_force: float  #: largest force of a wall [N]
    pushes: list[Push]
    taps: list[Tap]
    releases: list[Release]


def pushes(run: WallRun) -> list[Push]:
    """Measures each push of the hand."""
    result = []
    for phase, part in run.parts("push"):
        n = part.stop - part.start
        late = slice(part.stop - n // 4, part.stop - 2)
        depth, pushed = run.depth[part], -run.hand[late].mean(axis=0) @ run.normals.T
        touched = run.in_contact[part].any(axis=0)
        wall = int(np.argmax(np.where(touched, depth.max(axis=0), -np.inf)))
        penetration = max(float(depth[:, wall].max()), 0.0)
        steady = "ramp" not in phase["name"]
        result.append(
            Push(
                name=phase["name"],
                force=float(pushed[wall]) if steady else math.nan,
                penetration=penetration,
                stiffness=float(pushed[wall]) / penetration if steady and penetration > 0.0 else math.nan,
                static=float(run.depth[late][:, wall].mean()) if steady else math.nan,
                rmse=float(np.sqrt(np.mean(depth[:, touched] ** 2))) if touched.any() else math.nan,
                restless=float(run.force[part.stop - n // 2 : part.stop - 2].std(axis=0).max()) if steady else math.nan,
                contact=float(run.in_contact[part][:, touched].mean()) if touched.any() else 0.0,
                saturated=float(run.saturated[part].mean()),
                sideways=_sideways(run, part),
            )
        )
    return result


def _sideways(run: WallRun, part: slice) -> float:
    """Measures the largest displacement of the tool across all normals [m]."""
    basis = np.linalg.svd(run.normals)[2][np.linalg.matrix_rank(run.normals) :]
    moved = (run.position[part] - run.position[part.start]) @ basis.T
    return float(np.linalg.norm(moved, axis=1).max()) if len(basis) else 0.0


def taps(run: WallRun) -> list[Tap]:
    """Measures each tap."""
    static = max((0.0, *(push.static for push in pushes(run) if not math.isnan(push.static))))
    ticks = run.delay + (1 if run.mode == "realtime" else 0)
    result = []
    for phase, part in run.parts("release"):
        if "tap" not in phase["name"]:
            continue
        first = slice(part.start - 10, part.stop)  # the fingers may open a little late
        inside = np.flatnonzero(run.depth[first].max(axis=1) > 0.0)
        if not len(inside) or not inside[0]:
            continue
        k = first.start + int(inside[0])
        wall = int(np.argmax(run.depth[k]))
        speed = float(run.speed_in[k - 1, wall])
        bound = tap_bound(run.device, run.position[k], speed, normal=run.normals[wall])
        result.append(
            Tap(
                name=phase["name"].split(",")[0],
                speed=speed,
                penetration=float(run.depth[first, wall].max()),
                energy_bound=float(bound),
                static=static,
                allowed=TAP_MARGIN * float(bound) + static,
                late=ticks * run.period * speed,
                rebound=float(-run.speed_in[first, wall].min()),
                saturated=float(run.saturated[first].sum()) * run.period,
            )
        )
    return result


def releases(run: WallRun) -> list[Release]:
    """Measures each release of a pushed tool."""
    result = []
    for phase, part in run.parts("release"):
        if "tap" in phase["name"]:
            continue
        contact = run.in_contact[part].any(axis=1)
        touching = np.flatnonzero(contact)
        result.append(
            Release(
                name=phase["name"],
                contact_ends=(int(touching[-1]) + 1) * run.period if len(touching) else 0.0,
                pull=float(max(0.0, -run.force[part].min())),
                speed=float(-run.speed_in[part.stop - 1].min()),
            )
        )
    return result


def wall_numbers(run: WallRun) -> WallNumbers:
    """Measures the numbers of every report of walls."""
    return WallNumbers(
        scheme=run.parameters["scheme"],
        mode=run.mode,
        delay=run.delay,
        ticks=len(run.time),
        stopped_ticks=run.stopped,
        refused_ticks=run.refused,
        control_step=run.timing or None,
        contact=float(run.in_contact.any(axis=1).mean()),
        saturated=float(run.saturated.mean()),
        largest_penetration=float(max(0.0, run.depth.max())),
        largest_force=float(run.force.max()),
        pushes=pushes(run),
        taps=taps(run),
        releases=releases(run),
    )
