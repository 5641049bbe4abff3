"""Report of the rough wall on the TAU device: the wall node along the normal, the friction node along the wall.

Beside the run stands the same physics in one process: the same device and hand, the wall and its friction in one
compiled step (`tau_wall_control.WallRenderer`), nothing late. A second one process does what the two nodes do, so that
what is left between it and the run is the messages' doing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_devices import factories
from haptic_experiments.kit import tau
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.tau import WallRun
from haptic_experiments.report import Claim, Report
from haptic_friction.factory import make_law
from haptic_friction.renderer import FrictionRenderer, Surfaces
from haptic_launch.experiments import load_experiment
from tau_wall_control import WallRenderer
from tau_wall_control.walls.factory import make_controller, make_device
from tau_wall_control.walls.planes import planes_from_lists

#: motion and force of the nodes may differ so from those of one process [m], [N]: not at all
SAME_MOTION, SAME_FORCE = 0.0, 0.0
#: share by which friction over push may differ from the coefficient: by rounding, or with a push that is a tick late
#: by what the encoders' counts change the push by from tick to tick
COEFFICIENT, COEFFICIENT_LATE = 1e-9, 0.05
#: the push has come up in this time [s]
SETTLED = 0.1
#: what may be left after a lean: a tenth of what friction gives at the edge of the cone [m]
LEFT = 7.5e-5
#: friction may vary so from tick to tick at rest: counts of the encoders through its damping [N]
CHATTER = 0.1
#: how far the tool may be from that of one implicit step: a fifth of what friction gives at the edge of the cone [m]
APART = 1.5e-4


@dataclass(frozen=True)
class Rubbing:
    """What a run, or one process, did.

    Attributes:
        position: true tool (n, 3) [m].
        push: of the wall (n,) [N].
        friction: on the tool (n, 3) [N].
        dissipated: by the friction in all [J].
        sliding: the contact did not stick (n,); empty if not known.
        step_time: time of a tick's rendering, median [s]; nan if not measured.
    """

    position: np.ndarray
    push: np.ndarray
    friction: np.ndarray
    dissipated: float
    sliding: np.ndarray
    step_time: float = float("nan")

    def at(self, ticks: np.ndarray) -> Rubbing:
        """The same at some of its ticks."""
        return replace(self, position=self.position[ticks], push=self.push[ticks], friction=self.friction[ticks])


def of_bag(bag: Bag, ticks: np.ndarray) -> Rubbing:
    """What the nodes did at these ticks; a friction that missed one, in realtime, still has its last force."""
    truth, wall, friction = (
        bag.topics[f"/tau/{name}"] for name in ("simulation_state", "wall/state", "friction/state")
    )
    actual, pushed = (np.searchsorted(topic["tick"], ticks) for topic in (truth, wall))
    rubbed = np.maximum(np.searchsorted(friction["tick"].astype(np.int64), ticks, side="right") - 1, 0)
    return Rubbing(
        position=truth["tool_pose"][actual, :3],
        push=np.array([sum(wall["push"][i]) for i in pushed]),
        friction=-np.asarray(friction["force"])[rubbed],
        dissipated=float(friction["dissipated_energy"][-1]),
        sliding=~np.asarray(friction["sticking"], dtype=bool)[rubbed, 0],
    )


class OneProcess:
    """Device, hand, wall and friction of a run without nodes.

    Args:
        bag: whose parameters to take.
        stiffness: of the friction [N/m]; that of the run if not given.
    """

    def __init__(self, bag: Bag, stiffness: float | None = None) -> None:
        device, self._wall = bag.parameters("device"), bag.parameters("wall")
        self._friction = {**bag.parameters("friction")}
        self._friction["stiffness"] = stiffness or self._friction["stiffness"]
        self._device = factories.tau(device)
        self._device.configure(device["period"])
        self._controller = make_controller(self._wall, make_device(self._wall))
        self._late = "wall" in self._friction["delayed_inputs"]

    def _readings(self, ticks: int) -> Iterator[tuple[Any, np.ndarray]]:
        self._device.activate()
        for _ in range(ticks):
            yield self._device.read(), np.array(self._device.truth().tool_pose[:3])

    def _scaled(self) -> dict[str, Any]:
        """The friction's parameters with a law per newton of push."""
        p = self._friction
        share = p["friction_coefficient"] / p["friction_force"]
        return {**p, **{name: share * p[name] for name in ("friction_force", "static_force", "viscosity")}}

    def implicit(self, ticks: int) -> Rubbing:
        """The wall and its friction in one step."""
        p = self._scaled()
        walls = WallRenderer(
            self._controller,
            planes_from_lists(self._wall["wall_points"], self._wall["wall_normals"]),
            friction=make_law(p),
            friction_stiffness=p["stiffness"],
            friction_damping=p["damping"],
            release_gap=self._wall["release_gap"],
        )
        rows, energy, times = [], 0.0, []
        for reading, position in self._readings(ticks):
            start = time.perf_counter()
            state = walls.step(reading.position, reading.velocity)
            times.append(time.perf_counter() - start)
            self._device.write(state.torque)
            energy -= self._wall["period"] * float(state.friction @ reading.tool_twist[:3])
            rows.append((position, float(state.push.sum()), state.friction.copy()))
        return _rubbing(rows, energy, times)

    def split(self, ticks: int) -> Rubbing:
        """The wall's step, then the friction's with its push, or with that of the step before, as the nodes do."""
        p = self._friction
        planes = planes_from_lists(self._wall["wall_points"], self._wall["wall_normals"])
        walls = WallRenderer(self._controller, planes, release_gap=self._wall["release_gap"])
        renderer = FrictionRenderer.from_parameters(p)
        normals = np.array([plane.normal for plane in planes])
        pushes, rows, times = np.zeros(len(planes)), [], []
        for reading, position in self._readings(ticks):
            start = time.perf_counter()
            state = walls.step(reading.position, reading.velocity)
            known = pushes if self._late else state.push
            friction = renderer.step(velocity=reading.tool_twist[:3], surfaces=[Surfaces(normals, known)]).force
            torque = state.torque + self._device.jacobian().T @ np.concatenate([friction, np.zeros(3)])
            pushes = state.push
            times.append(time.perf_counter() - start)
            self._device.write(torque)
            rows.append((position, float(state.push.sum()), friction))
        return _rubbing(rows, renderer.state.dissipated_energy, times)


def _rubbing(rows: list[tuple[np.ndarray, float, np.ndarray]], energy: float, times: list[float]) -> Rubbing:
    position, push, friction = (np.array(column) for column in zip(*rows, strict=True))
    return Rubbing(position, push, friction, energy, np.zeros(0, dtype=bool), float(np.median(times)))


def difference(one: Rubbing, other: Rubbing) -> dict[str, float]:
    """Largest distance of the tools [m] and of the frictions [N], and the difference of what they dissipated [J]."""
    return {
        "motion": float(np.abs(one.position - other.position).max()),
        "friction": float(np.abs(one.friction - other.friction).max()),
        "dissipated": one.dissipated - other.dissipated,
    }


def chatter(run: Rubbing, part: np.ndarray) -> float:
    """Standard deviation of the friction from tick to tick while the tool rests pressed [N], of the worst component."""
    return float(np.diff(run.friction[part], axis=0).std(axis=0).max()) if part.sum() > 2 else 0.0


def stable_stiffness(bag: Bag, part: np.ndarray, *, implicit: bool, steps: int = 5) -> float:
    """The stiffest friction that stays quiet while the tool rests [N/m], by bisection between 1 and 1000 kN/m."""

    def is_quiet(stiffness: float) -> bool:
        process = OneProcess(bag, stiffness)
        done = process.implicit(len(part)) if implicit else process.split(len(part))
        return chatter(done, part) < CHATTER

    return tau.stiffest(is_quiet, steps)


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims: list[Claim] = []
    runs: dict[str, tuple[WallRun, Rubbing, Rubbing]] = {}
    for name, bag in bags.items():
        walls, process = WallRun.from_bag(bag), OneProcess(bag)
        ticks = np.rint(walls.time / walls.period).astype(np.int64)
        run, n = of_bag(bag, ticks), int(ticks[-1]) + 1
        implicit, split = process.implicit(n).at(ticks), process.split(n).at(ticks)
        resting = walls.named("rest", "lean back")
        rested = bool(resting.any())
        measured = latencies(bag)
        numbers = metrics[name] = {
            **tau.common_metrics(walls),
            "dissipated": run.dissipated,
            "delayed_inputs": [source for source in bag.parameters("friction")["delayed_inputs"] if source],
            "coefficient": _coefficients(walls, run),
            "lean": _lean(walls, run),
            "against_split": difference(run, split),
            "against_implicit": difference(run, implicit),
            "chatter": chatter(run, resting) if rested else None,
            "stable_stiffness": stable_stiffness(bag, resting, implicit=False) if rested else None,
            "stable_stiffness_implicit": stable_stiffness(bag, resting, implicit=True) if rested else None,
            "latency_p50_p99": {f"{a} -> {b}": seconds for (a, b), seconds in measured.items()},
            "step_time": {"implicit": implicit.step_time, "split": split.step_time},
        }
        runs[name] = (walls, run, implicit)
        claims += _claims(name, walls, numbers, bag.parameters("friction")["friction_coefficient"])
    first = next(iter(bags.values()))
    parameters = {source: first.parameters(source) for source in ("wall", "friction")}
    return Report({"runs": metrics}, claims, lambda: _figure(runs, first), _CAPTION, parameters)


def _coefficients(walls: WallRun, run: Rubbing) -> dict[str, float]:
    """Median of friction over push in each slide, while it slides under more than 1 N."""
    found = {}
    for phase, part in walls.parts("slide"):
        if phase["name"].startswith("lean"):
            continue
        middle = np.arange(part.start, part.stop)[run.sliding[part] & (run.push[part] > 1.0)]
        if len(middle):
            found[phase["name"]] = float(np.median(np.linalg.norm(run.friction[middle], axis=1) / run.push[middle]))
    return found


def _lean(walls: WallRun, run: Rubbing) -> dict[str, float] | None:
    """How far the tool gives way to the hand that leans on it, and what comes back; None if the run ended before."""
    leans = [part for phase, part in walls.parts("slide") if "lean" in phase["name"]]
    if len(leans) < 2:
        return None
    part, back = leans
    settled = slice(part.start + round(SETTLED / walls.period), part.stop)
    origin = run.position[settled.start, :2]
    return {
        "given": float(np.linalg.norm(run.position[part.stop - 1, :2] - origin)),
        "left": float(np.linalg.norm(run.position[back.stop - 1, :2] - origin)),
        "share": float((np.linalg.norm(run.friction[settled], axis=1) / run.push[settled]).max()),
    }


def _claims(name: str, walls: WallRun, n: dict[str, Any], mu: float) -> list[Claim]:
    split, implicit, late = n["against_split"], n["against_implicit"], bool(n["delayed_inputs"])
    allowed = COEFFICIENT_LATE if late else COEFFICIENT
    when = "of the tick before" if late else "of the same tick"
    claims = []
    if walls.mode == "lockstep" and not walls.delay:
        claims.append(
            Claim(
                f"The nodes do what one process does that takes the push {when} ({name}).",
                f"motion differs by {split['motion']:.1e} m, friction by {split['friction']:.1e} N at the most",
                split["motion"] <= SAME_MOTION and split["friction"] <= SAME_FORCE,
            )
        )
    sliding, lean, chatters = n["coefficient"], n["lean"], n["chatter"]
    claims += [
        Claim(
            f"Sliding friction is {mu:g} times the push{' but for the tick of delay' if late else ''} ({name}).",
            ", ".join(f"{phase}: {share:.4f}" for phase, share in sliding.items()) or "no slide",
            all(abs(share - mu) < allowed * mu for share in sliding.values()) if sliding else None,
        ),
        Claim(
            f"Within the friction cone the tool gives way elastically and comes back ({name}).",
            f"{lean['share']:.2f} of the cone: {1e3 * lean['given']:.2f} mm given, {1e6 * lean['left']:.0f} µm left"
            if lean
            else "the hand did not lean",
            lean["share"] < mu and lean["left"] < LEFT if lean else None,
        ),
        Claim(
            f"The resting tool does not chatter ({name}).",
            f"friction varies by {chatters:.3f} N from tick to tick (limit {CHATTER:g} N)"
            if chatters is not None
            else "it did not rest",
            chatters < CHATTER if chatters is not None else None,
        ),
        Claim(
            f"Wall and friction in one implicit step move the tool the same way ({name}).",
            f"{1e3 * implicit['motion']:.3f} mm apart at the most, friction {implicit['friction']:.2f} N (where it "
            f"turns), {1e3 * implicit['dissipated']:+.2f} mJ of {1e3 * n['dissipated']:.1f} mJ",
            implicit["motion"] < APART and abs(implicit["dissipated"]) < 0.05 * n["dissipated"] if sliding else None,
        ),
        Claim(
            f"Splitting costs no stability ({name}).",
            f"quiet up to a friction stiffness of {1e-3 * n['stable_stiffness']:.0f} kN/m; in one implicit step up to "
            f"{1e-3 * n['stable_stiffness_implicit']:.0f} kN/m"
            if chatters is not None
            else "the tool did not rest",
            n["stable_stiffness"] > 0.8 * n["stable_stiffness_implicit"] if chatters is not None else None,
        ),
    ]
    return claims


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving. Then the true tool along the wall, "
    "the friction beside the cone of the push, and how far the run is from the same physics in one implicit step. What "
    "is left there: the wall's filter knows the friction in the one step, and takes it for the hand's in the other."
)


def _figure(runs: dict[str, tuple[WallRun, Rubbing, Rubbing]], bag: Bag) -> Figure:
    figure = Figure(figsize=(12, 13), layout="constrained")
    graph, place, force, apart = figure.subplots(4, 1, height_ratios=(3, 3, 3, 2))
    draw(graph, load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    mu = bag.parameters("friction")["friction_coefficient"]
    for name, (walls, run, implicit) in runs.items():
        time = walls.time[: len(run.position)]
        for axis, style in zip(range(2), ("-", "--"), strict=True):
            place.plot(time, 1e3 * run.position[: len(time), axis], style, label=f"{'xy'[axis]}, {name}")
        force.plot(time, np.linalg.norm(run.friction, axis=1)[: len(time)], label=f"friction, {name}")
        force.plot(time, mu * run.push[: len(time)], ":", label=f"cone, {name}")
        distance = np.linalg.norm(run.position - implicit.position, axis=1)
        apart.plot(time, 1e6 * distance[: len(time)], label=name)
    for axes, words in ((place, "tool [mm]"), (force, "force [N]"), (apart, "to one step [µm]")):
        tau.shade(axes, next(iter(runs.values()))[0])
        axes.set_ylabel(words)
        axes.legend(loc="upper right", fontsize=8)
    force.set_ylim(-0.1, 4.0)
    apart.set_xlabel("time [s]")
    return figure
