"""Report of the probe on a tooth: contact, wall and friction node on the TAU device.

Beside the run stands the same physics in one process (`kit.wall_friction`): wall and friction as one compiled step,
and the in-process graph of the nodes, whose difference from the run is the effect of the messages. A third graph slides
with the same hand on a flat wall that stands still: the effect of turning planes is seen against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.scenes.tooth import APART_X, APART_Y, groove_height
from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks
from haptic_devices.motions.wall import GROOVE
from haptic_experiments import graph
from haptic_experiments.graph import Graph
from haptic_experiments.graph_steps import Inputs, WallStep
from haptic_experiments.kit.composed import GraphPanel, latency_metrics
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_friction import WallFriction, dissipated
from tau_wall_control import MovingPlanes, TauDevice
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.rotations import rotation_from_quaternion
from tau_wall_control.walls.factory import make_device

#: cusps of the tooth, and which of them lie on the side of +y
CUSPS, LEFT = 4, np.array([False, False, True, True])
#: the tool has settled in the groove this long after a phase has begun [s]
SETTLED = 0.2
#: how far the tip may be from the groove's line while it slides there: sideways, and in depth [m]
SIDEWAYS, DEEP = 1.0e-4, 1.0e-4
#: torques from tick to tick, and lines of the push at rest, may be so many times those of a flat wall
JERK = 2.0
#: fraction of the ticks in which both flanks are in contact while the tip rests in the groove
BOTH = 0.95
#: energy that may have been given to the tool at any time [J]: a thousandth of what the hand puts in
GIVEN = 1e-5
#: the hand's tremor ends here [Hz]
TREMOR = 15.0
#: how far the tool may be from that of one implicit step, in the groove [m]
APART = 2.0e-4
#: stable stiffness of the run over that of the implicit step
STIFFNESS = 0.8
#: topics that make a `Probing`
TOPICS = ("device_state", "simulation_state", "contact/planes", "wall/state", "friction/state")


@dataclass(frozen=True)
class Probing(PhasedRun):
    """Motion and forces of a run; rows are ticks.

    Attributes:
        period, time, phases: As in `PhasedRun`.
        position, velocity: True tool (n, 3) [m], [m/s].
        push: Of each cusp (n, 4) [N].
        contact: Contact with each cusp (n, 4).
        friction: On the tool (n, 3) [N].
        dissipated: By the friction in all [J].
        effort: Commanded in all (n, 6) [N m].
        force: Of wall and friction on the tool, within the motors' limits (n, 3) [N]; empty in a graph.
        power: Of both on the tool (n,) [W]; empty in a graph.
        step_time: Median time of a tick's planes, and of its rendering [s]; empty if not measured.
    """

    period: float
    time: np.ndarray
    phases: list[dict[str, Any]]
    position: np.ndarray
    velocity: np.ndarray
    push: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    dissipated: float
    effort: np.ndarray = field(default_factory=lambda: np.zeros((0, 6)))
    force: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    power: np.ndarray = field(default_factory=lambda: np.zeros(0))
    step_time: dict[str, float] = field(default_factory=dict)

    def at(self, ticks: np.ndarray) -> Probing:
        """The same at some of its ticks."""
        names = ("time", "position", "velocity", "push", "contact", "friction", "effort")
        return replace(self, **{name: getattr(self, name)[ticks] for name in names if len(getattr(self, name))})

    def span(self, name: str, after: float = 0.0) -> slice:
        """Samples of the phase of a name, from some time after its beginning on; empty if it is not there."""
        for phase in self.phases:
            if phase["name"] == name:
                return self.part(phase["start"] + after, phase["end"])
        return slice(0, 0)


def _probing(ticks: Ticks, phases: list[dict[str, Any]], friction: str = "friction/state") -> Probing:
    """Signals of a bag or of a graph without efforts; `friction` is the topic that has the friction.

    Without the topic of the planes there is one, which counts as the first cusp.
    """
    truth, wall, n = ticks["simulation_state"], ticks["wall/state"], len(ticks.tick)
    keys = ticks["contact/planes"]["key"] if "contact/planes" in ticks else [[0]] * n
    push, contact = np.zeros((n, CUSPS)), np.zeros((n, CUSPS), dtype=bool)
    for row, (key, pressing, touching) in enumerate(zip(keys, wall["push"], wall["in_contact"], strict=True)):
        if len(key) == len(pressing):
            key = np.asarray(key, dtype=int)
            push[row, key], contact[row, key] = pressing, touching
    if "dissipated_energy" in ticks[friction]:
        energy = float(ticks[friction]["dissipated_energy"][-1])
    else:
        energy = dissipated(ticks[friction]["force"], ticks["device_state"]["tool_twist"][:, :3], ticks.period)
    return Probing(
        period=ticks.period,
        time=ticks.time,
        phases=phases,
        position=truth["tool_pose"][:, :3],
        velocity=truth["tool_twist"][:, :3],
        push=push,
        contact=contact,
        friction=-np.asarray(ticks[friction]["force"]),
        dissipated=energy,
    )


def of_bag(bag: Bag) -> Probing:
    """Signals of a recorded run."""
    ticks = bag.ticks("/tau", *TOPICS)
    run, device = _probing(ticks, bag.started("device").get("phases", [])), ticks["device_state"]
    effort, force, power = _beyond_weight(
        make_device(bag.parameters("wall")),
        device["tool_pose"],
        device["joint_velocity"],
        np.array(ticks["wall/state"]["effort"]),
        run.friction,
    )
    energy = float(bag.topics["/tau/friction/state"]["dissipated_energy"][-1])
    return replace(run, effort=effort, force=force, power=power, dissipated=energy)


def of_graph(made: Graph, ticks: np.ndarray, phases: list[dict[str, Any]], friction: str = "friction/state") -> Probing:
    """Signals at some ticks of a run in one process; see `_probing` for the others.

    The efforts are all that the steps command.
    """
    planes = ("contact/planes",) if "contact" in made.steps else ()
    topics = ("device_state", "simulation_state", *planes, "wall/state", friction)
    efforts: list[np.ndarray] = []

    def observe(graph: Graph) -> None:
        efforts.append(graph.loop.collector.effort(graph.loop.device.jacobian()).copy())

    done = made.run(int(ticks[-1]) + 1, topics=topics, observe=observe)
    rendering = [name for name in made.steps if name != "contact"]
    spent = {"planes": done.step_time("contact") if planes else 0.0, "rendering": done.step_time(*rendering)}
    run = _probing(done.ticks(*topics), phases, friction)
    return replace(run, effort=np.array(efforts), step_time=spent).at(ticks)


def _beyond_weight(
    device: TauDevice, poses: np.ndarray, rates: np.ndarray, effort: np.ndarray, friction: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Efforts of wall and friction (n, 6) [N m], and their force (n, 3) [N] and power (n,) [W] beyond the weight."""
    total, force, power = np.empty_like(effort), np.empty((len(effort), 3)), np.empty(len(effort))
    for k, (pose, rate, one) in enumerate(zip(poses, rates, effort, strict=True)):
        d = device.dynamics(pose[:3], rotation_from_quaternion(pose[3:]))
        G = d.actuated_map
        total[k] = one + np.linalg.solve(G.T, np.concatenate([friction[k], np.zeros(3)]))
        wrench = G.T @ device.saturated(total[k]) - d.gravity_force
        force[k], power[k] = wrench[:3], float(wrench @ np.linalg.solve(G, rate))
    return total, force, power


class FlatWallStep(WallStep):
    """`wall_node` with one plane that stands still at the groove's height."""

    def __init__(self, values: Mapping[str, Any], *, controller: WallController) -> None:
        super().__init__({**values, "inputs": ["contact:planes"]}, controller=controller)
        self.values = values

    def planes(self, reading: Any, inputs: Inputs) -> MovingPlanes:
        return MovingPlanes([0], [GROOVE], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]], [0.0], [0])


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
    """Fraction of the rows in which a cusp of either side of the groove is among the flags (n, 4)."""
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


def _above(run: Probing, name: str) -> float:
    """Largest line of the push above the hand's tremor [N]."""
    frequency, amplitude = spectrum(run, name)
    return float(amplitude[frequency > TREMOR].max(initial=0.0))


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims = Claims()
    runs: dict[str, tuple[Probing, np.ndarray]] = {}
    for name, bag in bags.items():
        run, scene = of_bag(bag), WallFriction(bag, "contact")
        ticks = np.rint(run.time / run.period).astype(np.int64)  # in realtime a node may have missed some
        implicit = of_graph(scene.implicit, ticks, run.phases, "wall/friction")
        split = of_graph(scene.split, ticks, run.phases)
        flat = of_graph(_flat(bag, scene), ticks, run.phases)
        geometry = scene.split.steps["contact"].renderer.rendering
        distance = np.array([geometry.planes(p).signed_distance.min(initial=np.inf) for p in run.position])
        energy = run.period * np.cumsum(run.power)
        resting = _until_rest(run)
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
                "split": scene.stable_stiffness(resting, implicit=False),
                "implicit": scene.stable_stiffness(resting, implicit=True),
            },
            "latency_p50_p99": latency_metrics(bag),
            "step_time": {"implicit": implicit.step_time, "split": split.step_time},
        }
        runs[name] = (run, distance)
        _claims(claims, name, numbers)
    first = next(iter(bags.values()))
    parameters = {source: first.parameters(source) for source in ("contact", "wall", "friction")}
    return Report({"runs": metrics}, claims, lambda: _figure(runs, first), _CAPTION, parameters)


def _flat(bag: Bag, scene: WallFriction) -> Graph:
    """The graph of a run whose wall is flat."""

    wall = partial(FlatWallStep, controller=scene.controller)
    return graph.of_bag(bag, only=("wall", "friction"), steps={"wall": wall})


def _until_rest(run: Probing) -> np.ndarray:
    """Flags of the ticks up to the end of the first rest in the groove, True where the tool has settled there."""
    for phase in run.phases:
        if phase["name"] == "rest in the groove":
            first, end = (round(time / run.period) for time in (phase["start"] + SETTLED, phase["end"]))
            return np.arange(end) >= first
    return np.zeros(1, dtype=bool)


def _claims(claims: Claims, name: str, n: dict[str, Any]) -> None:
    split, lines, slides = n["against_split"], n["ringing"], n["groove"]
    if n["mode"] == "lockstep" and not n["delay"]:
        units = {"motion": "tool [m]", "push": "push [N]", "friction": "friction [N]"}
        same = {unit: split[key] for key, unit in units.items()}
        claims.identical(f"The nodes do what one process does, bit for bit ({name}).", same)
    rebounds = {f"rebound from {tap['speed']:.2f} m/s [m/s]": (tap["rebound"], tap["speed"]) for tap in n["taps"]}
    claims.all_below(f"A tapped cusp stops the probe, which leaves slower than it came ({name}).", rebounds)
    farthest = {
        f"{words} [µm]": (1e6 * max(found[key] for found in slides.values()), 1e6 * limit)
        for words, key, limit in (("sideways", "sideways", SIDEWAYS), ("deep", "depth", DEEP))
        if slides
    }
    text = f"The tip stays on the groove's line, at rest and sliding, through the pit and out of it ({name})."
    claims.all_below(text, farthest)
    flanks = {phase: found["both_flanks"] for phase, found in slides.items()}
    resting = min((part for phase, part in flanks.items() if phase.startswith("rest")), default=0.0)
    claims.say(
        f"Resting in the groove the probe feels both flanks at once ({name}).",
        f"both in contact in {100 * resting:.1f} % of the ticks (limit {100 * BOTH:g} %); sliding "
        f"{100 * min(flanks.values(), default=0.0):.1f} %",
        resting > BOTH,
        unless="" if slides else "the tip was not in the groove",
    )
    claims.below(
        f"Planes that turn and change make no jerk ({name}).",
        1e3 * n["jerk"]["tooth"],
        JERK * 1e3 * n["jerk"]["flat_wall"],
        "mN m",
        about=f"torques change from tick to tick on a flat wall by {1e3 * n['jerk']['flat_wall']:.0f} mN m, here by",
    )
    noise = {f"{rest} [mN]": (1e3 * both["tooth"], JERK * 1e3 * both["flat_wall"]) for rest, both in lines.items()}
    claims.all_below(f"At rest it is as quiet as on a flat wall ({name}).", noise, about="above the tremor, in the")
    energy, implicit, stable = n["energy"], n["against_implicit"], n["stable_stiffness"]
    claims.below(
        f"Wall and friction give the tool no energy ({name}).",
        1e6 * energy["given_at_the_most"],
        1e6 * GIVEN,
        "µJ",
        about=f"{1e3 * energy['net']:.1f} mJ in the end, {1e3 * energy['friction']:.1f} mJ by friction; at most",
    )
    claims.below(
        f"Wall and friction in one implicit step move the tool the same way ({name}).",
        1e3 * implicit["motion_in_the_groove"],
        1e3 * APART,
        "mm",
        about=f"{1e3 * implicit['motion']:.3f} mm apart in all; friction differs by {implicit['friction']:.2f} N, "
        f"{1e3 * implicit['dissipated']:+.2f} mJ; in the groove apart by at most",
    )
    claims.say(
        f"Splitting costs no stability ({name}).",
        f"at rest in the groove quiet up to a friction stiffness of {1e-3 * stable['split']:.0f} kN/m; in one "
        f"implicit step up to {1e-3 * stable['implicit']:.0f} kN/m (limit {STIFFNESS:g} times that)",
        stable["split"] > STIFFNESS * stable["implicit"],
    )


_CAPTION = (
    "Top: edges of the graph of nodes, with the time from publishing to receiving. The tip's true path beside the "
    "line of the groove, from the side and from above, with the apexes. Then the push of each cusp, the friction, how "
    "deep the tip is, the spectrum of the push at rest in the groove, and the energy that wall and friction have given "
    "to the tool."
)


def _figure(runs: dict[str, tuple[Probing, np.ndarray]], bag: Bag) -> Figure:
    x = np.linspace(-3.5e-3, 3.5e-3, 200)
    line = 1e3 * groove_height(x, bag.parameters("contact")["touch_radius"])
    side, depth, lines, work = [Curve(1e3 * x, line, "groove", {"linestyle": ":", "color": "k"})], [], [], []
    apexes = 1e3 * np.array([[a * APART_X, b * APART_Y] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    marks = {"linestyle": "", "marker": "^", "color": "k", "markersize": 5}
    top = [Curve(apexes[:, 0], apexes[:, 1], style=marks)]
    thin = {"linewidth": 0.6}
    for name, (run, distance) in runs.items():
        p = 1e3 * run.position
        near = np.where((distance < 1e-4)[:, None], p, np.nan)
        sliding = run.named("rest", "along", "back", "to the pit", "out of")
        side.append(Curve(p[sliding, 0], p[sliding, 2], name))
        top.append(Curve(near[:, 0], near[:, 1], name))
        depth.append(Curve(run.time, -1e6 * distance, name, thin))
        frequency, amplitude = spectrum(run, "rest in the groove")
        lines.append(Curve(frequency, 1e3 * amplitude, name))
        work.append(Curve(run.time, 1e3 * run.period * np.cumsum(run.power), name))
    run = next(iter(runs.values()))[0]
    cusps = ("-x -y", "+x -y", "-x +y", "+x +y")
    force = [Curve(run.time, run.push[:, i], f"cusp {cusp}", thin) for i, cusp in enumerate(cusps)]
    force.append(Curve(run.time, np.linalg.norm(run.friction, axis=1), "friction", {"color": "k"}))
    legend = {"loc": "upper right", "fontsize": 7}

    def panel(up: str, curves: list[Curve], across: str = "time [s]", shaded: bool = False, **settings: Any) -> Panel:
        return Panel(up, curves, across, settings, run if shaded else None, legend)

    return panels(
        GraphPanel.of(bag),
        [panel("z [mm]", side, "x [mm]"), panel("y [mm]", top, "x [mm]", aspect="equal")],
        panel("force [N]", force, shaded=True),
        panel("depth [µm]", depth, shaded=True, ylim=(-50.0, 600.0)),
        [panel("push [mN]", lines, "frequency [Hz]", yscale="log"), panel("energy [mJ]", work)],
        size=(12, 16),
        height_ratios=(3, 3, 3, 2, 3),
    )
