"""Arrays of a run with walls on the TAU device, and its pushes, taps and releases; see `recorded_contacts`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_core.commands import NONE
from haptic_core.errors import HapticError
from haptic_devices.loop import OK
from haptic_experiments.kit.phases import PhasedRun, phased
from haptic_files.moved_modules import renamed
from tau_wall_control import TauError
from tau_wall_control.simulation.recorded_contacts import (
    Push,
    Release,
    Tap,
    WallMotion,
    measure_push,
    measure_release,
    measure_tap,
)
from tau_wall_control.walls.factory import make_device

NAMESPACE = "/tau"
__getattr__ = renamed(__name__, {"TAP_MARGIN": "tau_wall_control.simulation.recorded_contacts:TAP_MARGIN"})


@dataclass(frozen=True)
class WallRun(WallMotion, PhasedRun):
    """The signals of one bag on common ticks, up to a change of the walls."""

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
        walls = [(states["point"][i], states["normal"][i]) for i in range(len(states["tick"]))]
        same = np.logical_and.accumulate([all(map(np.array_equal, wall, walls[0])) for wall in walls])
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
    return [measure_push(run, part, phase["name"]) for phase, part in run.parts("push")]


def taps(run: WallRun) -> list[Tap]:
    """Measures each tap."""
    static = max((0.0, *(push.static for push in pushes(run) if not math.isnan(push.static))))
    ticks = run.delay + (1 if run.mode == "realtime" else 0)
    own = [(phase["name"].split(",")[0], part) for phase, part in run.parts("release") if "tap" in phase["name"]]
    found = [measure_tap(run, part, name, static=static, period=run.period, ticks=ticks) for name, part in own]
    return [tap for tap in found if tap is not None]


def releases(run: WallRun) -> list[Release]:
    """Measures each release of a tool that a wall bears in the tick before it, or later."""
    parts = [(phase["name"], part) for phase, part in run.parts("release") if "tap" not in phase["name"]]
    borne = [(name, part) for name, part in parts if run.in_contact[max(part.start - 1, 0) : part.stop].any()]
    return [measure_release(run, part, name, run.period) for name, part in borne]


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
