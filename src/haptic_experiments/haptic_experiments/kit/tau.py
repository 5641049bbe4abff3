"""What the reports of walls on the TAU device share: one bag as arrays, and its pushes, taps and releases.

Rows are ticks. Positions, forces and walls are in the device's base frame. Distances are those of the true tool (the
encoders count 11 µm at the tool at the most); forces of the walls are those that the commanded efforts beyond the
weight exert on the tool, G^T (tau - tau_g), by the model that the controller has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from haptic_bags.bags import Bag
from haptic_core.commands import NONE
from haptic_core.errors import HapticError
from haptic_devices.device import DeviceError
from haptic_devices.loop import OK
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.report import Claim
from tau_wall_control import TauDevice, TauError
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.simulation.limits import tap_bound
from tau_wall_control.walls.factory import make_device

NAMESPACE = "/tau"
#: a control step may take so long [s]
STEP_LIMIT = 150e-6
#: a push has come to rest when the wall's force varies by less than this in its second half, standard deviation [N]
RESTLESS = 1.0
#: a released tool has left the wall after this time [s]
LEAVING = 0.05
#: share of the energy bound of a tap that is allowed
TAP_MARGIN = 1.2


@dataclass(frozen=True)
class WallRun(PhasedRun):
    """The signals of one bag on common ticks, up to a change of the walls.

    Attributes:
        period: T [s].
        time: (n,) [s].
        position: true tool (n, 3) [m].
        velocity: true tool (n, 3) [m/s].
        measured: pose of the tool by the encoders (n, 7).
        hand: force of the hand on the tool (n, 3) [N].
        effort: commanded (n, 6) [N m].
        saturation: (n, 6) share of the motors' limit.
        points, normals: of the walls, (w, 3).
        in_contact: (n, w).
        operating_point: (n,).
        device: as the controller knows it.
        phases: of the hand's plan.
        parameters: of the wall node.
        delay: command_delay_ticks of the device.
        stopped: ticks at which the device's status was not OK.
        refused: ticks that the node has answered without effort.
        changed: the walls were changed during the run; what came later is left out.
        timing: 50 and 99 % of the node's control steps, and of their processor time [s]; empty if it has not told.
        mode: of the loop.
    """

    period: float
    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    measured: np.ndarray
    hand: np.ndarray
    effort: np.ndarray
    saturation: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    in_contact: np.ndarray
    operating_point: np.ndarray
    device: TauDevice
    phases: list[dict[str, Any]]
    parameters: dict[str, Any]
    delay: int = 0
    stopped: int = 0
    refused: int = 0
    changed: bool = False
    timing: dict[str, float] = field(default_factory=dict)
    mode: str = "lockstep"

    @classmethod
    def from_bag(cls, bag: Bag) -> WallRun:
        """Takes the ticks that all topics have; in realtime the node may have missed some.

        Raises:
            HapticError: fewer than two such ticks, or a mechanism that cannot be made here.
        """
        names = ("device_state", "simulation_state", "device_command", "wall/state")
        device, truth, command, wall = (bag.topics[f"{NAMESPACE}/{name}"] for name in names)
        ticks = reduce(np.intersect1d, [topic["tick"].astype(np.int64) for topic in (device, truth, wall)])
        same = [_same(wall, i) for i in np.searchsorted(wall["tick"], ticks)]
        kept = ticks[: same.index(False)] if False in same else ticks
        if len(kept) < 2:
            raise HapticError(f"{bag.path}: too short for a report ({len(kept)} ticks that all topics have)")
        here, actual, answer = (np.searchsorted(topic["tick"], kept) for topic in (device, truth, wall))
        node, start = bag.parameters("wall"), bag.started("device")
        timing = [event.detail for event in bag.events if event.source == "wall" and event.kind == "timing"]
        try:
            mechanism = make_device(node)
        except TauError as error:
            raise HapticError(f"the run's mechanism cannot be made for the report: {error}") from None
        return cls(
            period=float(device["period"][0]),
            time=kept * float(device["period"][0]),
            position=truth["tool_pose"][actual, :3],
            velocity=truth["tool_twist"][actual, :3],
            measured=device["tool_pose"][here],
            hand=truth["operator_wrench"][actual, :3],
            effort=np.array([wall["effort"][i] for i in answer]),
            saturation=np.array([wall["saturation"][i] for i in answer]),
            points=np.reshape(wall["point"][answer[0]], (-1, 3)),
            normals=np.reshape(wall["normal"][answer[0]], (-1, 3)),
            in_contact=np.array([wall["in_contact"][i] for i in answer], dtype=bool),
            operating_point=np.asarray(wall["operating_point"])[answer],
            device=mechanism,
            phases=start.get("phases", []),
            parameters=node,
            delay=int(start["parameters"]["command_delay_ticks"]),
            stopped=int(np.sum(device["status"] != OK)),
            refused=int(np.sum(command["mode"] == NONE)),
            changed=len(kept) < len(ticks),
            timing={name: 1e-6 * value for name, value in timing[-1].items() if name != "unit"} if timing else {},
            mode=bag.custom.get("mode", "lockstep"),
        )

    @cached_property
    def depth(self) -> np.ndarray:
        """Of the true tool behind each wall, (n, w), negative outside [m]."""
        return np.asarray(((self.points[None] - self.position[:, None]) * self.normals).sum(axis=2))

    @cached_property
    def speed_in(self) -> np.ndarray:
        """Of the true tool into each wall, (n, w) [m/s]."""
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
        """The same along the normal of each wall, (n, w), for walls at right angles [N]."""
        return self.wrench @ self.normals.T

    @property
    def name(self) -> str:
        """What a legend calls the run."""
        scheme = "from a file" if self.parameters["controller_file"] else self.parameters["scheme"]
        if self.mode == "realtime":
            return f"{scheme}, realtime"
        return f"{scheme}, " + ("no delay" if not self.delay else f"{self.delay} tick{'s'[: self.delay - 1]} of delay")

    @property
    def left_out(self) -> str:
        """What the figure's caption has to say."""
        return " What came after the walls were changed is left out." if self.changed else ""

    def parts(self, kind: str) -> list[tuple[dict[str, Any], slice]]:
        """Phases of a kind that the run has reached to their end, with their samples."""
        found = [(phase, self.part(phase["start"], phase["end"])) for phase in self.phases if phase["kind"] == kind]
        return [
            (phase, part)
            for phase, part in found
            if part.stop <= len(self.time)
            and part.stop - part.start > 10
            and phase["end"] <= self.time[-1] + 2.0 * self.period
        ]


def _same(wall: dict[str, Any], i: int) -> bool:
    return all(np.array_equal(wall[name][i], wall[name][0]) for name in ("point", "normal"))


# ---- pushes, taps, releases -------------------------------------------------------------------------


def pushes(run: WallRun) -> list[dict[str, Any]]:
    """Each push of the hand: what it was, how far the tool went, and whether it came to rest.

    `force` is the hand's along the walls' normals, mean of the last quarter but for its end [N]; `penetration` the
    largest of all walls from the push on [m]; `stiffness` force over penetration of the wall where that is the most
    [N/m]; `static` the depth that is left in the last quarter [m]; `restless` the standard deviation of the walls'
    force in the second half, the largest of all walls [N]; `rmse` of the depth of the walls in contact [m].
    """
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
            {
                "name": phase["name"],
                "force": float(pushed[wall]) if steady else None,
                "penetration": penetration,
                "stiffness": float(pushed[wall]) / penetration if steady and penetration > 0.0 else None,
                "static": float(run.depth[late][:, wall].mean()) if steady else None,
                "rmse": float(np.sqrt(np.mean(depth[:, touched] ** 2))) if touched.any() else None,
                "restless": float(run.force[part.stop - n // 2 : part.stop - 2].std(axis=0).max()) if steady else None,
                "contact": float(run.in_contact[part][:, touched].mean()) if touched.any() else 0.0,
                "saturated": float((run.saturation[part] >= 1.0 - 1e-9).any(axis=1).mean()),
                "sideways": _sideways(run, part),
            }
        )
    return result


def _sideways(run: WallRun, part: slice) -> float:
    """Largest way of the tool across all normals [m]."""
    basis = np.linalg.svd(run.normals)[2][np.linalg.matrix_rank(run.normals) :]
    moved = (run.position[part] - run.position[part.start]) @ basis.T
    return float(np.linalg.norm(moved, axis=1).max()) if len(basis) else 0.0


def taps(run: WallRun) -> list[dict[str, Any]]:
    """Each tap: the fingers open before the wall, the motors alone stop the tool.

    `energy_bound` is m v^2/(2 F_max) at the place and speed of the impact (`limits.tap_bound`), `static` the depth that
    the strongest push leaves, `allowed` 1.2 times the bound plus that [m]; `late` is what the tool goes on during the
    ticks of delay, which the bound knows nothing of.
    """
    static = max((push["static"] for push in pushes(run) if push["static"] is not None), default=0.0)
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
            {
                "name": phase["name"].split(",")[0],
                "speed": speed,
                "penetration": float(run.depth[first, wall].max()),
                "energy_bound": float(bound),
                "static": max(0.0, float(static)),
                "allowed": TAP_MARGIN * float(bound) + max(0.0, float(static)),
                "late": ticks * run.period * speed,
                "rebound": float(-run.speed_in[first, wall].min()),
                "saturated": float((run.saturation[first] >= 1.0 - 1e-9).any(axis=1).sum()) * run.period,
            }
        )
    return result


def releases(run: WallRun) -> list[dict[str, Any]]:
    """Each time the hand let go of a pushed tool: when contact ended, and the greatest pull towards the wall [N]."""
    result = []
    for phase, part in run.parts("release"):
        if "tap" in phase["name"]:
            continue
        contact = run.in_contact[part].any(axis=1)
        touching = np.flatnonzero(contact)
        result.append(
            {
                "name": phase["name"],
                "contact_ends": (int(touching[-1]) + 1) * run.period if len(touching) else 0.0,
                "pull": float(max(0.0, -run.force[part].min())),
                "speed": float(-run.speed_in[part.stop - 1].min()),
            }
        )
    return result


def common_metrics(run: WallRun) -> dict[str, Any]:
    """What every report of walls tells."""
    touched = run.in_contact.any(axis=1)
    return {
        "scheme": run.parameters["scheme"],
        "mode": run.mode,
        "delay": run.delay,
        "ticks": len(run.time),
        "stopped_ticks": run.stopped,
        "refused_ticks": run.refused,
        "control_step": run.timing or None,
        "contact": float(touched.mean()),
        "saturated": float((run.saturation >= 1.0 - 1e-9).any(axis=1).mean()),
        "largest_penetration": float(max(0.0, run.depth.max())),
        "largest_force": float(run.force.max()),
        "pushes": pushes(run),
        "taps": taps(run),
        "releases": releases(run),
    }


# ---- claims -----------------------------------------------------------------------------------------


def rest_claim(run: WallRun, n: dict[str, Any]) -> Claim:
    """No push makes the walls bounce, and none leaves a depth."""
    text = f"The walls come to rest under every push, and hold it without depth in the end ({run.name})."
    steady = [push for push in n["pushes"] if push["restless"] is not None]
    if not steady:
        return Claim(text, "no push", None)
    worst = max(steady, key=lambda push: push["restless"])
    deepest = max(abs(push["static"]) for push in steady)
    return Claim(
        text,
        f"{len(steady)} pushes; force varies by {worst['restless']:.2f} N at the most, at '{worst['name']}' (limit "
        f"{RESTLESS:g} N); depth left {1e6 * deepest:.0f} µm at the most (limit {1e6 * STATIC:g} µm)",
        worst["restless"] < RESTLESS and deepest < STATIC,
    )


#: depth that may be left under a push: five counts of 11 µm [m]
STATIC = 5.5e-5


def stiffness_claim(run: WallRun, n: dict[str, Any], wanted: float) -> Claim:
    """The strongest push meets more than a stiffness [N/m]."""
    text = f"A step of the hand's force meets more than {1e-3 * wanted:g} kN/m ({run.name})."
    steady = [push for push in n["pushes"] if push["stiffness"] is not None]
    if not steady:
        return Claim(text, "no push", None)
    worst = min(steady, key=lambda push: push["stiffness"])
    numbers = ", ".join(
        f"{p['force']:.1f} N: {1e3 * p['penetration']:.3f} mm, {1e-3 * p['stiffness']:.1f} kN/m" for p in steady
    )
    return Claim(text, numbers, worst["stiffness"] > wanted)


def tap_claim(run: WallRun, n: dict[str, Any]) -> Claim:
    """Taps stay within the motors' energy bound."""
    text = (
        f"A tap passes the wall by no more than {TAP_MARGIN:g} m v²/(2 F_max), the motors' energy bound, plus the "
        f"static penetration ({run.name})."
    )
    if not n["taps"]:
        return Claim(text, "no tap", None)
    words = [
        f"{tap['speed']:.2f} m/s: {1e3 * tap['penetration']:.2f} mm (allowed {1e3 * tap['allowed']:.2f} mm"
        + (f", and {1e3 * tap['late']:.2f} mm in the ticks of delay)" if tap["late"] else ")")
        for tap in n["taps"]
    ]
    return Claim(text, "; ".join(words), all(tap["penetration"] <= tap["allowed"] for tap in n["taps"]))


def release_claim(run: WallRun, n: dict[str, Any]) -> Claim:
    """A tool that is let go leaves the walls."""
    text = f"A released tool does not stick: contact ends, and no wall pulls ({run.name})."
    if not n["releases"]:
        return Claim(text, "the hand did not let go", None)
    words = [
        f"after {1e3 * r['contact_ends']:.0f} ms (limit {1e3 * LEAVING:g} ms), with {1e3 * r['speed']:.0f} mm/s; "
        f"pull {r['pull']:.2g} N (limit {PULL:g} N)"
        for r in n["releases"]
    ]
    return Claim(text, "; ".join(words), all(r["contact_ends"] < LEAVING and r["pull"] < PULL for r in n["releases"]))


#: pull towards a wall that passes for the rounding of the measured pose, whose weight differs from the true one's [N]
PULL = 0.05


def time_claim(runs: dict[str, WallRun]) -> Claim:
    """What the node told about its control steps."""
    text = f"The node's control step takes less than {1e6 * STEP_LIMIT:g} µs in 99 % of the ticks."
    known = {run.name: run.timing for run in runs.values() if run.timing}
    if not known:
        return Claim(text, "the node has not told", None)
    words = "; ".join(
        f"{name}: {1e6 * t['control_step_p99']:.0f} µs, 50 % {1e6 * t['control_step_p50']:.0f} µs, processor time 99 % "
        f"{1e6 * t['processor_time_p99']:.0f} µs"
        for name, t in known.items()
    )
    return Claim(text, words, all(t["control_step_p99"] < STEP_LIMIT for t in known.values()))


# ---- figures ----------------------------------------------------------------------------------------

_COLOURS = {"push": "tab:red", "slide": "tab:blue", "release": "tab:green", "tap": "tab:orange"}


def shade(axes: Axes, run: PhasedRun) -> None:
    """Marks pushes, slides, releases and taps."""
    for phase in run.phases:
        if phase["kind"] in _COLOURS and phase["start"] < run.time[-1]:
            end = min(phase["end"], run.time[-1])
            axes.axvspan(phase["start"], end, color=_COLOURS[phase["kind"]], alpha=0.10, linewidth=0)


def draw_depth(axes: Axes, runs: dict[str, WallRun], wall: int = 0, limit: float = 0.5) -> None:
    """Distance of the tool from a wall over time, outside upwards; |limit| [mm] either way."""
    for run in runs.values():
        axes.plot(run.time, -1e3 * run.depth[:, wall], linewidth=0.8, label=run.name)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set(ylim=(-limit, limit), xlabel="time (s)", ylabel="distance (mm)")
    shade(axes, next(iter(runs.values())))
    axes.legend(loc="upper right", fontsize="small")


def draw_force(axes: Axes, runs: dict[str, WallRun], wall: int = 0) -> None:
    """Force of a wall and of the hand along its normal."""
    for run in runs.values():
        axes.plot(run.time, run.force[:, wall], linewidth=0.6, label=run.name)
    first = next(iter(runs.values()))
    axes.plot(first.time, -first.hand @ first.normals[wall], color="black", linewidth=0.8, label="hand")
    axes.set(xlabel="time (s)", ylabel="force (N)")
    shade(axes, first)
    axes.legend(loc="upper right", fontsize="small")


def draw_saturation(axes: Axes, runs: dict[str, WallRun]) -> None:
    """Share of the motors' limit that the most loaded motor uses."""
    for run in runs.values():
        axes.plot(run.time, 100.0 * run.saturation.max(axis=1), linewidth=0.6, label=run.name)
    axes.set(xlabel="time (s)", ylabel="largest effort (% of limit)", ylim=(0.0, 105.0))
    shade(axes, next(iter(runs.values())))


def draw_zoom(axes: Axes, runs: dict[str, WallRun], name: str, before: float, length: float, wall: int = 0) -> None:
    """Distance from a wall around the beginning of a phase, time from there."""
    for run in runs.values():
        starts = [phase["start"] for phase in run.phases if phase["name"] == name]
        if not starts or starts[0] >= run.time[-1]:
            continue
        part = run.part(starts[0] - before, starts[0] + length)
        axes.plot(1e3 * (run.time[part] - starts[0]), -1e3 * run.depth[part, wall], linewidth=1.0, label=run.name)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set(title=name, xlabel="time from its beginning (ms)", ylabel="distance (mm)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")


def stiffest(is_quiet: Callable[[float], bool], steps: int) -> float:
    """The stiffest friction that stays quiet [N/m], by bisection between 1 and 1000 kN/m."""
    low, high = 3.0, 6.0
    for _ in range(steps):
        middle = 0.5 * (low + high)
        try:
            quiet = is_quiet(10.0**middle)
        except (TauError, DeviceError):  # thrown out of the workspace
            quiet = False
        low, high = (middle, high) if quiet else (low, middle)
    return float(10.0**low)
