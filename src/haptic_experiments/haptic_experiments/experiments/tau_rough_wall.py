"""Report of the rough wall on the TAU device: the wall node along the normal, the friction node along the wall.

The run is compared with two single-process references that have the same device and hand. In one, wall and friction
are one compiled step without delay (`kit.wall_friction`). The other is the in-process graph of the two nodes; its
difference from the run is the effect of the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_bags.ticks import Rows
from haptic_experiments.graph import Graph
from haptic_experiments.kit.composed import (
    ComposedNumbers,
    GraphPanel,
    SplitAndImplicit,
    composed_report,
    latency_metrics,
    variation,
)
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import MERGED, Claims, Report
from haptic_experiments.kit.wall_friction import CHATTER, WallFriction, dissipated, stability_claim
from haptic_experiments.kit.wall_run import WallNumbers, WallRun, wall_numbers
from haptic_files.moved_modules import renamed

#: relative error of friction over normal force: rounding, or, with a normal force of the tick before, its change from
#: tick to tick by the encoders' counts
COEFFICIENT, COEFFICIENT_LATE = 1e-9, 0.05
SETTLED = 0.1  #: rise time of the normal force [s]
LEFT = 7.5e-5  #: displacement that may be left after a lean, a tenth of the elastic one at the edge of the cone [m]
APART = 1.5e-4  #: largest distance of the tool from that of one implicit step, a fifth of the same displacement [m]
DISSIPATION = 0.05  #: largest relative difference of the dissipations of run and implicit step


@dataclass(frozen=True)
class Difference:
    """Difference of two runs."""

    motion: float  #: largest difference of a coordinate of the tools [m]
    friction: float  #: largest difference of a component of the frictions [N]
    dissipated: float  #: difference of the dissipated energies [J]

    @classmethod
    def of(cls, one: WallFrictionRun, other: WallFrictionRun) -> Difference:
        """Compares two runs at the same ticks."""
        return cls(
            float(np.abs(one.position - other.position).max()),
            float(np.abs(one.friction - other.friction).max()),
            one.dissipated - other.dissipated,
        )


@dataclass(frozen=True)
class Lean:
    """Displacement of the tool by the leaning hand."""

    given: float  #: displacement [m]
    left: float  #: displacement that is left afterwards [m]
    share: float  #: largest friction over the normal force


@dataclass(frozen=True)
class Numbers(ComposedNumbers):
    """Numbers of one run; None where it does not rest, or does not lean."""

    walls: WallNumbers = field(metadata=MERGED)  #: numbers of every report of walls
    dissipated: float  #: energy that the friction dissipated [J]
    delayed_inputs: list[str]  #: sources whose message of the tick before the friction node takes
    coefficient: dict[str, float]  #: median of friction over normal force in each slide, by name
    lean: Lean | None  #: effect of the leaning hand
    against_split: Difference  #: difference from the graph of the nodes
    against_implicit: Difference  #: difference from one implicit step
    chatter: float | None  #: variation of the friction from tick to tick at rest [N]
    stable_stiffness: float | None  #: largest stable stiffness of the friction [N/m]
    stable_stiffness_implicit: float | None  #: the same in one implicit step [N/m]


@dataclass(frozen=True)
class WallFrictionRun:
    """Motion and forces of a run at its ticks."""

    position: np.ndarray  #: true tool (n, 3) [m]
    push: np.ndarray  #: normal force of the wall (n,) [N]
    friction: np.ndarray  #: friction on the tool (n, 3) [N]
    dissipated: float  #: energy that the friction dissipated [J]
    sliding: np.ndarray  #: flags of the ticks (n,) in which the contact did not stick
    step_time: float = float("nan")  #: median time of a tick's rendering [s]; NaN if not measured

    def at(self, ticks: np.ndarray) -> WallFrictionRun:
        """Selects some of the ticks."""
        names = ("position", "push", "friction", "sliding")
        return replace(self, **{name: getattr(self, name)[ticks] for name in names})


#: walls and motion of a run, and the motion in one implicit step
Signals = tuple[WallRun, WallFrictionRun, WallFrictionRun]


def _signals(
    truth: Mapping[str, Any], wall: Mapping[str, Any], friction: Mapping[str, Any], energy: float
) -> WallFrictionRun:
    """Reads the signals of three topics at common ticks."""
    return WallFrictionRun(
        position=truth["tool_pose"][:, :3],
        push=np.array([sum(push) for push in wall["push"]]),
        friction=-np.asarray(friction["force"]),
        dissipated=energy,
        sliding=~np.asarray(friction["sticking"], dtype=bool)[:, 0],
    )


def of_bag(bag: Bag, ticks: np.ndarray) -> WallFrictionRun:
    """Reads a run at some ticks; a friction node that missed one, in realtime, still has its last force."""
    topics = [bag.topics[f"/tau/{name}"] for name in ("simulation_state", "wall/state", "friction/state")]
    truth, wall, friction = (Rows.held(topic, ticks) for topic in topics)
    return _signals(truth, wall, friction, float(topics[-1]["dissipated_energy"][-1]))


def of_graph(made: Graph, ticks: int, friction: str = "friction/state") -> WallFrictionRun:
    """Runs the single-process reference; `friction` is the topic with the friction.

    The dissipation of one implicit step takes the velocity at the end of each period.
    """
    topics = ("simulation_state", "wall/state", friction, "device_state")
    done = made.run(ticks + 1, topics=topics)
    truth, wall, acted, device = (done.ticks(*topics)[name] for name in topics)
    if "dissipated_energy" in acted:
        energy = float(acted["dissipated_energy"][ticks - 1])
    else:
        energy = dissipated(acted["force"][:-1], device["tool_twist"][1:, :3], made.period)
    return replace(_signals(truth, wall, acted, energy), step_time=done.step_time()).at(np.arange(ticks))


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""

    def claim(claims: Claims, name: str, n: Numbers, signals: Signals, bag: Bag) -> None:
        _claims(claims, name, signals[0], n, bag.parameters("friction"))

    return composed_report(bags, measure, claim, _figure, _CAPTION, ("wall", "friction"))


def measure(bag: Bag) -> tuple[Numbers, Signals]:
    """Measures one run beside its references; returns the numbers and the signals."""
    walls, scene = WallRun.from_bag(bag), kept(WallFriction, bag)
    ticks = np.rint(walls.time / walls.period).astype(np.int64)
    run, n = of_bag(bag, ticks), int(ticks[-1]) + 1
    implicit = kept(of_graph, scene.implicit, n, "wall/friction").at(ticks)
    split = kept(of_graph, scene.split, n).at(ticks)
    resting = walls.named("rest", "lean back")
    rested = bool(resting.any())
    numbers = Numbers(
        walls=wall_numbers(walls),
        dissipated=run.dissipated,
        delayed_inputs=[source for source in bag.parameters("friction")["delayed_inputs"] if source],
        coefficient=_coefficients(walls, run),
        lean=_lean(walls, run),
        against_split=Difference.of(run, split),
        against_implicit=Difference.of(run, implicit),
        chatter=variation(run.friction, resting) if rested else None,
        stable_stiffness=kept(scene.stable_stiffness, resting, implicit=False) if rested else None,
        stable_stiffness_implicit=kept(scene.stable_stiffness, resting, implicit=True) if rested else None,
        latency_p50_p99=latency_metrics(bag),
        step_time=SplitAndImplicit(split.step_time, implicit.step_time),
    )
    return numbers, (walls, run, implicit)


def _coefficients(walls: WallRun, run: WallFrictionRun) -> dict[str, float]:
    """Computes the median of friction over normal force in each slide, while it slides under more than 1 N."""
    found = {}
    for phase, part in walls.parts("slide"):
        if phase["name"].startswith("lean"):
            continue
        middle = np.arange(part.start, part.stop)[run.sliding[part] & (run.push[part] > 1.0)]
        if len(middle):
            found[phase["name"]] = float(np.median(np.linalg.norm(run.friction[middle], axis=1) / run.push[middle]))
    return found


def _lean(walls: WallRun, run: WallFrictionRun) -> Lean | None:
    """Measures the effect of the leaning hand; None if the run ended before."""
    leans = [part for phase, part in walls.parts("slide") if "lean" in phase["name"]]
    if len(leans) < 2:
        return None
    part, back = leans
    settled = slice(part.start + round(SETTLED / walls.period), part.stop)
    origin = run.position[settled.start, :2]
    return Lean(
        given=float(np.linalg.norm(run.position[part.stop - 1, :2] - origin)),
        left=float(np.linalg.norm(run.position[back.stop - 1, :2] - origin)),
        share=float((np.linalg.norm(run.friction[settled], axis=1) / run.push[settled]).max()),
    )


def _claims(claims: Claims, name: str, walls: WallRun, n: Numbers, friction: Mapping[str, Any]) -> None:
    """Adds the claims on one run; `friction` holds the parameters of the friction node."""
    mu = friction["friction_coefficient"]
    split, implicit, late = n.against_split, n.against_implicit, bool(n.delayed_inputs)
    allowed = COEFFICIENT_LATE if late else COEFFICIENT
    when = "of the previous tick" if late else "of the same tick"
    if walls.mode == "lockstep" and not walls.delay:
        claims.identical(
            f"The nodes are identical to the single-process reference that takes the normal force {when} ({name}).",
            {"tool [m]": split.motion, "friction [N]": split.friction},
        )
    sliding, lean, chatter = n.coefficient, n.lean, n.chatter
    text = f"Sliding friction is {mu:g} times the normal force{' but for the tick of delay' if late else ''} ({name})."
    other_law = "" if friction["law"] == "coulomb" else f"the {friction['law']} law depends on the velocity"
    claims.all_near(text, sliding, mu, relative=allowed, unless=other_law)
    claims.say(
        f"Within the friction cone the tool gives way elastically and comes back ({name}).",
        f"{1e6 * lean.given:.0f} µm given, {1e6 * lean.left:.1f} µm left (limit for both {1e6 * LEFT:g} µm); friction "
        f"over push {lean.share:.4f} (below {mu:g})"
        if lean
        else "",
        lean is not None and lean.given > LEFT > lean.left and lean.share < mu,
        unless="" if lean else "the hand did not lean",
    )
    unrested = "" if chatter is not None else "the tool did not rest"
    about = "friction varies from tick to tick by"
    claims.below(f"The resting tool does not chatter ({name}).", chatter, CHATTER, "N", about=about, unless=unrested)
    apart = {
        "tool [mm]": (1e3 * implicit.motion, 1e3 * APART),
        "dissipation [mJ]": (1e3 * abs(implicit.dissipated), 1e3 * DISSIPATION * n.dissipated),
    }
    claims.all_below(
        f"Wall and friction in one implicit step move the tool along the same path ({name}).",
        apart,
        about=f"friction differs by {implicit.friction:.2f} N (where it turns);",
        unless="" if sliding else "no slide",
    )
    if n.stable_stiffness is None or n.stable_stiffness_implicit is None:
        claims.say(f"Splitting costs no stability ({name}).", unrested)
    else:
        stability_claim(claims, name, n.stable_stiffness, n.stable_stiffness_implicit, friction["stiffness"])


_CAPTION = (
    "Top: edges of the graph of nodes, with the time from publishing to receiving. Then the true tool along the wall, "
    "the friction beside the cone of the push, and the distance of the run from the same physics in one implicit step. "
    "The rest of that distance: the wall's filter knows the friction in the one step, and takes it for the hand's in "
    "the other."
)


def _figure(runs: dict[str, Signals], bag: Bag) -> Figure:
    mu = bag.parameters("friction")["friction_coefficient"]
    position, force, apart = list[Curve](), list[Curve](), list[Curve]()
    for name, (walls, run, implicit) in runs.items():
        time = walls.time
        for axis, style in enumerate(("-", "--")):
            position.append(Curve(time, 1e3 * run.position[:, axis], f"{'xy'[axis]}, {name}", {"linestyle": style}))
        force.append(Curve(time, np.linalg.norm(run.friction, axis=1), f"friction, {name}"))
        force.append(Curve(time, mu * run.push, f"cone, {name}", {"linestyle": ":"}))
        apart.append(Curve(time, 1e6 * np.linalg.norm(run.position - implicit.position, axis=1), name))
    first, legend = next(iter(runs.values()))[0], {"loc": "upper right", "fontsize": 8}

    def panel(words: str, curves: list[Curve], **settings: Any) -> Panel:
        return Panel(words, curves, "time (s)", settings, first, legend)

    return panels(
        GraphPanel.of(bag),
        panel("tool (mm)", position),
        panel("force (N)", force, ylim=(-0.1, 4.0)),
        panel("to one step (µm)", apart),
        size=(12, 13),
        height_ratios=(3, 3, 3, 2),
    )


__getattr__ = renamed(__name__, {"Rubbing": "WallFrictionRun"})
