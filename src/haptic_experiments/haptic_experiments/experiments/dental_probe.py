"""Report of the probe on a tooth: contact, wall and friction node on the TAU device.

Beside the run stands the same physics in one process (`OneProcess`): the geometry is read from the library, and wall
and friction are one compiled step, or, as the nodes do, one after the other; what then is left is the messages' doing.
A third one slides with the same hand on a flat wall that stands still: what turning planes add is seen against it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.haptics.rendering import make_rendering
from convex_contact.haptics.tool_planes import Planes
from convex_contact.node import worlds_folder
from convex_contact.scenes.tooth import APART_X, APART_Y, groove_height
from haptic_bags.bags import Bag
from haptic_core.parameters import parse_entries
from haptic_devices import factories
from haptic_devices.motions.wall import GROOVE
from haptic_experiments.kit import tau
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.tau import shade
from haptic_experiments.report import Claim, Report
from haptic_friction.factory import make_law
from haptic_friction.renderer import FrictionRenderer, Surfaces
from haptic_launch.experiments import load_experiment
from tau_wall_control import MovingPlanes, TauDevice, WallRenderer
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.walls.factory import make_controller, make_device

#: cusps of the tooth, and which of them lie on the side of +y
CUSPS, LEFT = 4, np.array([False, False, True, True])
#: the tool has settled in the groove this long after a phase has begun [s]
SETTLED = 0.2
#: how far the tip may be from the groove's line while it slides there: sideways, and in depth [m]
SIDEWAYS, DEEP = 1.0e-4, 1.0e-4
#: torques from tick to tick, and lines of the push at rest, may be so many times those of a flat wall
JERK = 2.0
#: share of the ticks in which both flanks are in contact while the tip rests in the groove
BOTH = 0.95
#: energy that may have been given to the tool at any time [J]: a thousandth of what the hand puts in
GIVEN = 1e-5
#: friction may vary so from tick to tick at rest: counts of the encoders through its damping [N]
CHATTER = 0.1
#: the hand's tremor ends here [Hz]
TREMOR = 15.0
#: how far the tool may be from that of one implicit step, in the groove [m]
APART = 2.0e-4


@dataclass(frozen=True)
class Probing(PhasedRun):
    """What a run, or one process, did; rows are ticks.

    Attributes:
        period, time, phases: as in `PhasedRun`.
        position, velocity: true tool (n, 3) [m], [m/s].
        push: of each cusp (n, 4) [N].
        contact: which cusps are in contact (n, 4).
        friction: on the tool (n, 3) [N].
        effort: commanded in all (n, 6) [N m].
        force: of wall and friction on the tool, within the motors' limits (n, 3) [N].
        power: of both on the tool (n,) [W].
        dissipated: by the friction in all [J].
        step_time: median time of a tick's planes, and of its rendering [s]; empty if not measured.
    """

    period: float
    time: np.ndarray
    phases: list[dict[str, Any]]
    position: np.ndarray
    velocity: np.ndarray
    push: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    effort: np.ndarray
    force: np.ndarray
    power: np.ndarray
    dissipated: float
    step_time: dict[str, float]

    def at(self, ticks: np.ndarray) -> Probing:
        """The same at some of its ticks."""
        names = ("time", "position", "velocity", "push", "contact", "friction", "effort", "force", "power")
        return replace(self, **{name: getattr(self, name)[ticks] for name in names})

    def span(self, name: str, after: float = 0.0) -> slice:
        """Samples of the phase of a name, from some time after its beginning on; empty if it is not there."""
        for phase in self.phases:
            if phase["name"] == name:
                return self.part(phase["start"] + after, phase["end"])
        return slice(0, 0)


def of_bag(bag: Bag) -> Probing:
    """What the nodes did."""
    topics = {name: bag.topics[f"/tau/{name}"] for name in
              ("device_state", "simulation_state", "contact/planes", "wall/state", "friction/state")}  # fmt: skip
    ticks = topics["device_state"]["tick"]
    for topic in topics.values():
        ticks = np.intersect1d(ticks, topic["tick"])
    at = {name: np.searchsorted(topic["tick"], ticks) for name, topic in topics.items()}
    device, truth, wall = topics["device_state"], topics["simulation_state"], topics["wall/state"]
    friction = topics["friction/state"]
    push, contact = np.zeros((len(ticks), CUSPS)), np.zeros((len(ticks), CUSPS), dtype=bool)
    for row, (i, j) in enumerate(zip(at["wall/state"], at["contact/planes"], strict=True)):
        keys = np.asarray(topics["contact/planes"]["key"][j], dtype=int)
        pushes = np.asarray(wall["push"][i])
        if len(keys) == len(pushes):
            push[row, keys], contact[row, keys] = pushes, wall["in_contact"][i]
    force = -np.asarray(friction["force"])[at["friction/state"]]
    mechanism = make_device(bag.parameters("wall"))
    poses, rates = device["tool_pose"][at["device_state"]], device["joint_velocity"][at["device_state"]]
    effort = np.array([wall["effort"][i] for i in at["wall/state"]])
    return Probing(
        float(device["period"][0]),
        ticks * float(device["period"][0]),
        bag.started("device").get("phases", []),
        truth["tool_pose"][at["simulation_state"], :3],
        truth["tool_twist"][at["simulation_state"], :3],
        push,
        contact,
        force,
        *_beyond_weight(mechanism, poses, rates, effort, force),
        float(friction["dissipated_energy"][-1]),
        {},
    )


def _beyond_weight(
    device: TauDevice, poses: np.ndarray, rates: np.ndarray, effort: np.ndarray, friction: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Efforts of wall and friction (n, 6), and force (n, 3) and power (n,) of what they do beyond the weight."""
    total, force, power = np.empty_like(effort), np.empty((len(effort), 3)), np.empty(len(effort))
    for k, (pose, rate, one) in enumerate(zip(poses, rates, effort, strict=True)):
        G, weight = _maps(device, pose[:3], rotation_from_quaternion(pose[3:]))
        total[k] = one + np.linalg.solve(G.T, np.concatenate([friction[k], np.zeros(3)]))
        force[k], power[k] = _beyond(device, G, weight, total[k], rate)
    return total, force, power


def _maps(device: TauDevice, position: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G with joint rates G V, and the weight's wrench (6,) [N, N m]."""
    d = device.dynamics(position, rotation)
    return d.actuated_map, d.gravity_force


def _beyond(
    device: TauDevice, G: np.ndarray, weight: np.ndarray, effort: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, float]:
    """Force (3,) on the tool of efforts within the limits less the weight, and the power of both."""
    wrench = G.T @ device.saturated(effort) - weight
    return wrench[:3], float(wrench @ np.linalg.solve(G, rate))


class OneProcess:
    """Device, hand, tooth, wall and friction of a run without nodes.

    Args:
        bag: whose parameters to take.
    """

    def __init__(self, bag: Bag) -> None:
        device, self._contact, self._wall = (bag.parameters(name) for name in ("device", "contact", "wall"))
        self._friction = bag.parameters("friction")
        self._device = factories.tau(device)
        self._device.configure(device["period"])
        self._controller = make_controller(self._wall, make_device(self._wall))
        self._delay = device["command_delay_ticks"]
        self._phases = bag.started("device").get("phases", [])
        entries = {name: value for name, (value, _) in parse_entries(self._contact["world_parameters"]).items()}
        self._geometry = make_rendering(self._contact, entries, worlds_folder())

    def _scaled(self, p: dict[str, Any]) -> dict[str, Any]:
        """The friction's parameters with a law per newton of push."""
        share = p["friction_coefficient"] / p["friction_force"]
        return {**p, **{name: share * p[name] for name in ("friction_force", "static_force", "viscosity")}}

    def _readings(self, ticks: int) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        self._device.activate()
        for _ in range(ticks):
            truth = self._device.truth()
            yield self._device.read(), np.array(truth.tool_pose[:3]), np.array(truth.tool_twist[:3])

    def _planes(self, place: np.ndarray, flat: bool) -> MovingPlanes:
        if flat:
            return MovingPlanes([0], [GROOVE], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]], [0.0], [0])
        found: Planes = self._geometry.planes(place)
        return MovingPlanes.at_distances(
            place,
            key=found.key,
            signed_distance=found.signed_distance,
            normal=found.normal,
            velocity=found.velocity,
            inverse_mass=found.inverse_mass,
            body=found.body,
        )

    def run(self, ticks: int, *, implicit: bool = False, flat: bool = False, stiffness: float | None = None) -> Probing:
        """What it does in some ticks.

        Args:
            ticks: how many.
            implicit: wall and friction in one step; else the wall's step, then the friction's with its push, as the
                nodes do.
            flat: on a wall that stands still at the groove's height instead of the tooth.
            stiffness: of the friction [N/m]; that of the run if not given.
        """
        p = {**self._friction, "stiffness": stiffness or self._friction["stiffness"]}
        q = self._scaled(p)
        law = {"friction": make_law(q), "friction_stiffness": q["stiffness"], "friction_damping": q["damping"]}
        walls = WallRenderer(self._controller, None, release_gap=self._wall["release_gap"], **(law if implicit else {}))
        renderer = FrictionRenderer.from_parameters(p)
        rows: list[tuple[np.ndarray, ...]] = []
        known = self._controller.device
        energy, times, line = 0.0, [], [np.zeros(6)] * self._delay
        for k, (reading, position, velocity) in enumerate(self._readings(ticks)):
            if k == 0:
                walls.reset(reading.position)
            start = time.perf_counter()
            planes = self._planes(np.array(reading.tool_pose[:3]), flat)
            found = time.perf_counter()
            state = walls.step(reading.position, reading.velocity, planes)
            friction = state.friction
            if not implicit:
                surfaces = Surfaces(np.asarray(planes.normal), state.push, np.asarray(planes.velocity))
                friction = renderer.step(velocity=reading.tool_twist[:3], surfaces=[surfaces]).force
            times.append((found - start, time.perf_counter() - found))
            torque = state.torque
            if not implicit:
                torque = torque + self._device.jacobian().T @ np.concatenate([friction, np.zeros(3)])
            energy -= p["period"] * float(friction @ reading.tool_twist[:3])
            line.append(torque)
            self._device.write(line.pop(0))
            push, contact, keys = np.zeros(CUSPS), np.zeros(CUSPS, dtype=bool), np.asarray(planes.key, dtype=int)
            push[keys], contact[keys] = state.push, state.in_contact
            maps = _maps(known, state.position, state.rotation)
            force, power = _beyond(known, *maps, torque, reading.velocity)
            rows.append((position, velocity, push, contact, friction.copy(), torque, force, np.array(power)))
        names = ("position", "velocity", "push", "contact", "friction", "effort", "force", "power")
        columns: dict[str, Any] = dict(zip(names, (np.array(row) for row in zip(*rows, strict=True)), strict=True))
        energy = energy if implicit else renderer.state.dissipated_energy
        spent = dict(zip(("planes", "rendering"), np.median(times, axis=0).tolist(), strict=True))
        passed = p["period"] * np.arange(ticks)
        return Probing(p["period"], passed, self._phases, dissipated=energy, step_time=spent, **columns)

    def end_of(self, name: str) -> int:
        """Tick at which a phase of the hand ends; 0 without it."""
        return next((round(p["end"] / self._wall["period"]) for p in self._phases if p["name"] == name), 0)

    def distances(self, positions: np.ndarray) -> np.ndarray:
        """Smallest signed distance between the tip and the tooth at places (n, 3) [m]."""
        return np.array([self._geometry.planes(p).signed_distance.min(initial=np.inf) for p in positions])


# ---- numbers ------------------------------------------------------------------------------------------


def difference(one: Probing, other: Probing) -> dict[str, float]:
    """Largest distance of the tools [m] and of the frictions and pushes [N], and what else they dissipated [J]."""
    rest = one.named("rest", "along", "back", "to the pit", "out of")
    apart = np.linalg.norm(one.position - other.position, axis=1)
    return {
        "motion": float(apart.max(initial=0.0)),
        "motion_in_the_groove": float(apart[rest].max(initial=0.0)),
        "push": float(np.abs(one.push - other.push).max(initial=0.0)),
        "friction": float(np.abs(one.friction - other.friction).max(initial=0.0)),
        "dissipated": one.dissipated - other.dissipated,
    }


def taps(run: Probing, distance: np.ndarray) -> list[dict[str, Any]]:
    """Each tap: speed at the touch, greatest force, depth of the true tool, their quotient, speed when it leaves."""
    found = []
    for phase in run.phases:
        if not phase["name"].endswith("let go") or "tap" not in phase["name"]:
            continue
        part = run.part(phase["start"] - 0.01, phase["end"])
        inside = np.flatnonzero(distance[part] < 0.0)
        if not len(inside):
            continue
        touch = part.start + int(inside[0])
        speed = float(-run.velocity[touch - 1, 2])
        push, depth = float(np.linalg.norm(run.force[part], axis=1).max()), float(-distance[part].min())
        found.append(
            {
                "name": phase["name"].split(",")[0],
                "speed": speed,
                "peak_force": push,
                "penetration": depth,
                "stiffness": push / depth,
                "rebound": float(run.velocity[touch : part.stop, 2].max()),
            }
        )
    return found


def groove(run: Probing, distance: np.ndarray, radius: float) -> dict[str, Any]:
    """The tip in the groove: how far from its line, and which flanks push; rests are phases of their own."""
    numbers: dict[str, Any] = {}
    for name in ("rest in the groove", "along the groove", "back", "to the pit", "rest in the pit", "out of the pit"):
        part = run.span(name, SETTLED)
        if part.stop - part.start < 10:
            continue
        p, touching, pushing = run.position[part], run.contact[part], run.push[part] > 0.0
        numbers[name] = {
            "sideways": float(np.abs(p[:, 1]).max()),
            "depth": float(-distance[part].min()),
            "height": float(np.abs(p[:, 2] - groove_height(p[:, 0], radius)).max()),
            "both_flanks": _both(touching),
            "both_push": _both(pushing),
            "planes": int(pushing.sum(axis=1).max()),
            "length": float(np.ptp(p[:, 0])),
        }
    return numbers


def _both(flags: np.ndarray) -> float:
    """Share of rows in which a cusp of either side of the groove is among the flags (n, 4)."""
    return float((flags[:, LEFT].any(axis=1) & flags[:, ~LEFT].any(axis=1)).mean())


def jerk(run: Probing) -> float:
    """Largest change of a torque from tick to tick while the tip slides along the groove, in contact [N m]."""
    largest = 0.0
    for name in ("along the groove", "back"):
        part = run.span(name, SETTLED)
        if part.stop - part.start > 2:
            largest = max(largest, float(np.abs(np.diff(run.effort[part], axis=0)).max()))
    return largest


def spectrum(run: Probing, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes [N] of the push of all planes while the tip rests."""
    part = run.span(name, SETTLED)
    push = run.push[part].sum(axis=1)
    n = len(push)
    if n < 16:
        return np.zeros(0), np.zeros(0)
    window = np.hanning(n)
    amplitude = 2.0 * np.abs(np.fft.rfft((push - push.mean()) * window)) / window.sum()
    return np.fft.rfftfreq(n, run.period), amplitude


def stable_stiffness(process: OneProcess, *, implicit: bool = False, steps: int = 5) -> float:
    """The stiffest friction with which the tip rests in the groove [N/m], by bisection between 1 and 1000 kN/m."""

    def is_quiet(stiffness: float) -> bool:
        done = process.run(process.end_of("rest in the groove"), implicit=implicit, stiffness=stiffness)
        part = done.span("rest in the groove", SETTLED)
        return float(np.diff(done.friction[part], axis=0).std(axis=0).max(initial=0.0)) < CHATTER

    return tau.stiffest(is_quiet, steps)


# ---- the report -----------------------------------------------------------------------------------------


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims: list[Claim] = []
    runs: dict[str, tuple[Probing, np.ndarray, Probing]] = {}
    for name, bag in bags.items():
        run, process = of_bag(bag), OneProcess(bag)
        ticks = np.rint(run.time / run.period).astype(np.int64)  # in realtime a node may have missed some
        choices: tuple[dict[str, bool], ...] = ({"implicit": True}, {}, {"flat": True})
        implicit, split, flat = (process.run(int(ticks[-1]) + 1, **choice).at(ticks) for choice in choices)
        distance, energy = process.distances(run.position), run.period * np.cumsum(run.power)
        numbers = metrics[name] = {
            "mode": bag.custom.get("mode", "lockstep"),
            "delay": int(bag.parameters("device")["command_delay_ticks"]),
            "ticks": len(ticks),
            "missed_ticks": len(bag.topics["/tau/device_state"]["tick"]) - len(ticks),
            "taps": taps(run, distance),
            "groove": groove(run, distance, bag.parameters("contact")["touch_radius"]),
            "jerk": {"tooth": jerk(run), "flat_wall": jerk(flat)},
            "ringing": {
                rest: {"tooth": _above(run, rest), "flat_wall": _above(flat, rest)}
                for rest in ("rest in the groove", "rest in the pit")
            },
            "energy": {
                "given_at_the_most": float(energy.max(initial=0.0)),
                "net": float(energy[-1]),
                "friction": -run.dissipated,
            },
            "against_split": difference(run, split),
            "against_implicit": difference(run, implicit),
            "stable_stiffness": {
                "split": stable_stiffness(process),
                "implicit": stable_stiffness(process, implicit=True),
            },
            "latency_p50_p99": {f"{a} -> {b}": seconds for (a, b), seconds in latencies(bag).items()},
            "step_time": {"implicit": implicit.step_time, "split": split.step_time},
        }
        runs[name] = (run, distance, implicit)
        claims += _claims(name, numbers)
    first = next(iter(bags.values()))
    parameters = {source: first.parameters(source) for source in ("contact", "wall", "friction")}
    return Report({"runs": metrics}, claims, lambda: _figure(runs, first), _CAPTION, parameters)


def _above(run: Probing, name: str) -> float:
    """Largest line of the push above the hand's tremor [N]."""
    frequency, amplitude = spectrum(run, name)
    return float(amplitude[frequency > TREMOR].max(initial=0.0))


def _claims(name: str, n: dict[str, Any]) -> list[Claim]:
    split, implicit, lines, slides = n["against_split"], n["against_implicit"], n["ringing"], n["groove"]
    claims = []
    if n["mode"] == "lockstep" and not n["delay"]:
        same = {key: split[key] for key in ("motion", "push", "friction")}
        claims.append(
            Claim(
                f"The nodes do what one process does, bit for bit ({name}).",
                ", ".join(f"{key} differs by {value:g}" for key, value in same.items()),
                not any(same.values()),
            )
        )
    sideways = max((numbers["sideways"] for numbers in slides.values()), default=0.0)
    depth = max((numbers["depth"] for numbers in slides.values()), default=0.0)
    flanks = {name: numbers["both_flanks"] for name, numbers in slides.items()}
    resting = min((share for name, share in flanks.items() if name.startswith("rest")), default=0.0)
    stable = n["stable_stiffness"]
    claims += [
        Claim(
            f"A tapped cusp stops the probe, which leaves slower than it came ({name}).",
            "; ".join(
                f"{tap['speed']:.2f} m/s: {1e3 * tap['penetration']:.2f} mm, {tap['peak_force']:.1f} N, back with "
                f"{tap['rebound']:.3f} m/s"
                for tap in n["taps"]
            ),
            all(tap["rebound"] < tap["speed"] for tap in n["taps"]) if n["taps"] else None,
        ),
        Claim(
            f"The tip stays on the groove's line, at rest and sliding, through the pit and out of it ({name}).",
            f"{1e6 * sideways:.0f} µm sideways, {1e6 * depth:.0f} µm deep at the most",
            sideways < SIDEWAYS and depth < DEEP if slides else None,
        ),
        Claim(
            f"Resting in the groove the probe feels both flanks at once ({name}).",
            f"both in contact in {100 * resting:.1f} % of the ticks; sliding {100 * min(flanks.values()):.1f} %"
            if flanks
            else "no rest",
            resting > BOTH if flanks else None,
        ),
        Claim(
            f"Planes that turn and change make no jerk ({name}).",
            f"torques change by {1e3 * n['jerk']['tooth']:.0f} mN m from tick to tick at the most, on a flat wall by "
            f"{1e3 * n['jerk']['flat_wall']:.0f}",
            n["jerk"]["tooth"] < JERK * n["jerk"]["flat_wall"],
        ),
        Claim(
            f"At rest it is as quiet as on a flat wall ({name}).",
            "; ".join(
                f"{rest}: {1e3 * both['tooth']:.0f} mN above the tremor, flat {1e3 * both['flat_wall']:.0f}"
                for rest, both in lines.items()
            ),
            all(both["tooth"] < JERK * both["flat_wall"] for both in lines.values()),
        ),
        Claim(
            f"Wall and friction give the tool no energy ({name}).",
            f"{1e6 * n['energy']['given_at_the_most']:.1f} µJ at the most, {1e3 * n['energy']['net']:.1f} mJ in the "
            f"end, of which {1e3 * n['energy']['friction']:.1f} mJ by friction",
            n["energy"]["given_at_the_most"] < GIVEN,
        ),
        Claim(
            f"Wall and friction in one implicit step move the tool the same way ({name}).",
            f"{1e3 * implicit['motion_in_the_groove']:.3f} mm apart at the most in the groove, "
            f"{1e3 * implicit['motion']:.3f} in all; friction differs by {implicit['friction']:.2f} N, "
            f"{1e3 * implicit['dissipated']:+.2f} mJ",
            implicit["motion_in_the_groove"] < APART,
        ),
        Claim(
            f"Splitting costs no stability ({name}).",
            f"at rest in the groove quiet up to a friction stiffness of {1e-3 * stable['split']:.0f} kN/m; in one "
            f"implicit step up to {1e-3 * stable['implicit']:.0f} kN/m",
            stable["split"] > 0.8 * stable["implicit"],
        ),
    ]
    return claims


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving. The tip's true path beside the "
    "line of the groove, from the side and from above, with the apexes. Then the push of each cusp, the friction, how "
    "deep the tip is, the spectrum of the push at rest in the groove, and the energy that wall and friction have given "
    "to the tool."
)


def _figure(runs: dict[str, tuple[Probing, np.ndarray, Probing]], bag: Bag) -> Figure:
    figure = Figure(figsize=(12, 16), layout="constrained")
    grid = figure.add_gridspec(5, 2, height_ratios=(3, 3, 3, 2, 3))
    graph = figure.add_subplot(grid[0, :])
    side, top = (figure.add_subplot(grid[1, i]) for i in (0, 1))
    force, depth = (figure.add_subplot(grid[i, :]) for i in (2, 3))
    lines, work = (figure.add_subplot(grid[4, i]) for i in (0, 1))
    draw(graph, load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    x = np.linspace(-3.5e-3, 3.5e-3, 200)
    side.plot(1e3 * x, 1e3 * groove_height(x, bag.parameters("contact")["touch_radius"]), "k:", label="groove")
    for a in (-1.0, 1.0):
        for b in (-1.0, 1.0):
            top.plot(1e3 * a * APART_X, 1e3 * b * APART_Y, "k^", ms=5)
    for name, (run, distance, _) in runs.items():
        p, near = 1e3 * run.position, distance < 1e-4
        sliding = run.named("rest", "along", "back", "to the pit", "out of")
        side.plot(p[sliding, 0], p[sliding, 2], lw=0.8, label=name)
        top.plot(np.where(near, p[:, 0], np.nan), np.where(near, p[:, 1], np.nan), lw=0.8, label=name)
        depth.plot(run.time, -1e6 * distance, lw=0.6, label=name)
        frequency, amplitude = spectrum(run, "rest in the groove")
        lines.semilogy(frequency, 1e3 * amplitude, lw=0.8, label=name)
        work.plot(run.time, 1e3 * run.period * np.cumsum(run.power), label=name)
    run = next(iter(runs.values()))[0]
    for cusp, place in enumerate(("-x -y", "+x -y", "-x +y", "+x +y")):
        force.plot(run.time, run.push[:, cusp], lw=0.6, label=f"cusp {place}")
    force.plot(run.time, np.linalg.norm(run.friction, axis=1), "k", lw=0.8, label="friction")
    for axes in (force, depth):
        shade(axes, run)
    depth.set_ylim(-50.0, 600.0)
    for axes, across, up in (
        (side, "x [mm]", "z [mm]"), (top, "x [mm]", "y [mm]"), (force, "time [s]", "force [N]"),
        (depth, "time [s]", "depth [µm]"), (lines, "frequency [Hz]", "push [mN]"), (work, "time [s]", "energy [mJ]"),
    ):  # fmt: skip
        axes.set(xlabel=across, ylabel=up)
        axes.legend(loc="upper right", fontsize=7)
    top.set_aspect("equal")
    return figure
