"""Numbers of a run of `tau_touch_world`, compared with the graph of its nodes and with one implicit step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_experiments import graph
from haptic_experiments.kit.composed import ComposedNumbers, RunAndImplicit, SplitAndImplicit, latency_metrics
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import HIDDEN, MERGED, key
from haptic_experiments.kit.signals import path_length
from haptic_experiments.kit.touch_margins import Margins, margins
from haptic_experiments.kit.touch_process import REFERENCE_STIFFNESS, Touch, TouchScene
from haptic_experiments.kit.touch_run import (
    Difference,
    TouchRun,
    Vibration,
    chatter,
    difference,
    transitions,
    vibration,
)

#: shortest state of sticking or sliding that counts, half a period of 20 Hz [s]
LASTING = 0.025
#: phases in which the tool presses on the box
ON_THE_BOX = ("press the box", "lean", "drag", "stay")


@dataclass(frozen=True)
class Energies:
    """Work of a process [J].

    Attributes:
        push_work, most_push_work: Work of the pushes, in the end and at any time.
        dissipated: Energy that the friction took.
    """

    push_work: float
    most_push_work: float
    dissipated: float

    @classmethod
    def of(cls, touch: Touch) -> Energies:
        """Reads the works of a process."""
        push, friction = touch.normal_work, touch.friction_work
        return cls(float(push[-1]), float(push.max()), -float(friction[-1]))


@dataclass(frozen=True)
class AgainstImplicit:
    """Largest difference from one implicit step.

    Attributes:
        held: Difference while the hand holds the tool, but not on the box.
        on_the_box, let_go: Distance of the tools on the box, and after the hand let go [m].
    """

    held: Difference = field(metadata=MERGED)
    on_the_box: float
    let_go: float


@dataclass(frozen=True)
class Pushed:
    """Motion of a body.

    Attributes:
        apart: Largest distance from that in one implicit step [m].
        path_length: Length of its path in one implicit step [m].
        fastest, fastest_implicit: Largest speed, and that in one implicit step [m/s].
        momentum: Largest momentum that is unaccounted for in a tick [N s].
        energy: Energy that these momenta give it at the most [J].
    """

    apart: float
    path_length: float = field(metadata=key("way"))
    fastest: float
    fastest_implicit: float
    momentum: float
    energy: float


@dataclass(frozen=True)
class Limits:
    """Largest distances of run and reference, by which wall, reference and friction yield.

    Attributes:
        load: Push of 99 % of the ticks [N].
        normal, along, tool: Distance along the normal, along the surface, and their sum [m].
    """

    load: float
    normal: float
    along: float
    tool: float


@dataclass(frozen=True)
class PlainWall:
    """A plain wall where the tool rests, under the same pushes.

    Attributes:
        penetration: Deepest penetration [m].
        position: Vibration of the resting tool [m].
        depth: Mean depth at rest [m].
    """

    penetration: float
    position: Vibration = field(metadata=HIDDEN)
    depth: float = field(metadata=HIDDEN)


@dataclass(frozen=True)
class Depths:
    """Mean depth of the resting tool in the block, in the top of the box, and in a plain wall [m]."""

    block: float
    box: float
    plain: float


@dataclass(frozen=True)
class Rest:
    """The resting tool.

    Attributes:
        position, position_plain, implicit: Vibration of the tool, at a plain wall, and in one implicit step [m].
        push: Vibration of the push [N].
        depth: Mean depths.
        count: Displacement of the tool by one count of the encoders [m].
    """

    position: Vibration
    push: Vibration
    position_plain: Vibration | None
    implicit: Vibration
    depth: Depths
    count: float


@dataclass(frozen=True)
class Transitions:
    """Changes between sticking and sliding: lasting ones of run and implicit step, and all of the run."""

    run: int
    implicit: int
    all: int


@dataclass(frozen=True)
class Numbers(ComposedNumbers):
    """Numbers of one run.

    Attributes:
        ticks: Number of ticks.
        mode: Mode of the loop.
        missed: Fraction of the ticks that some node did not answer.
        against_split, against_implicit: Difference from the graph of the nodes, and from one implicit step.
        bodies: Motion of each body.
        limits: Largest distances of run and reference.
        penetration: Largest depth in the block and in the box [m].
        plain_wall: Plain wall under the same pushes; None if the tool does not rest.
        rest: The resting tool; None if it does not rest.
        transitions: Changes between sticking and sliding.
        chatter: Variation of the friction from tick to tick [N].
        energy: Works.
        margins: A lighter box.
    """

    ticks: int
    mode: str
    missed: float
    against_split: Difference
    against_implicit: AgainstImplicit
    bodies: dict[str, Pushed]
    limits: Limits
    penetration: dict[str, float]
    plain_wall: PlainWall | None
    rest: Rest | None
    transitions: Transitions
    chatter: float
    energy: RunAndImplicit[Energies]
    margins: Margins


def measure(bag: Bag, run: TouchRun, scene: TouchScene, split: Touch, implicit: Touch) -> Numbers:
    """Measures one run and the two runs beside it."""
    rest, held, above = run.named("rest"), ~run.named("let go", "taken"), run.named(*ON_THE_BOX)
    pressed = {name: run.named(*phases) for name, phases in (("block", ("step", "rest")), ("box", ON_THE_BOX))}
    pressed = {name: part for name, part in pressed.items() if run.touch.depth[part].any()}
    plain = _plain(run, scene)
    lasting = round(LASTING / run.period)
    sliding = run.during("slide") & run.named("lean", "drag")

    def changes(touch: Touch, shortest: int) -> int:
        return transitions(touch.sticking[sliding], touch.load[sliding], shortest)

    return Numbers(
        ticks=len(run.time),
        mode=run.mode,
        missed=run.missed,
        against_split=difference(run.touch, split),
        against_implicit=AgainstImplicit(
            held=difference(run.touch, implicit, held & ~above),
            on_the_box=difference(run.touch, implicit, above).motion,
            let_go=difference(run.touch, implicit, ~held).motion,
        ),
        bodies=pushed_bodies(run, implicit),
        limits=_limits(run, plain, bag.parameters("friction")),
        penetration={name: float(run.touch.depth[part].max()) for name, part in pressed.items()},
        plain_wall=plain,
        rest=_rest(run, implicit, plain, scene.count) if rest.sum() > 100 else None,
        transitions=Transitions(changes(run.touch, lasting), changes(implicit, lasting), changes(run.touch, 1)),
        chatter=chatter(run.touch, run.touch.load > 0.0),
        energy=RunAndImplicit(Energies.of(split), Energies.of(implicit)),
        step_time=SplitAndImplicit(split.step_time, implicit.step_time),
        margins=kept(margins, graph.nodes_of(bag), scene.controller),
        latency_p50_p99=latency_metrics(bag),
    )


def pushed_bodies(run: TouchRun, implicit: Touch) -> dict[str, Pushed]:
    """Measures the motion of each body."""
    lengths = path_length(implicit.pose[:, :, :3])
    speed, speed_implicit = (np.linalg.norm(touch.twist[:, :, :3], axis=2) for touch in (run.touch, implicit))
    return {
        name: Pushed(
            apart=float(np.linalg.norm(run.touch.pose[:, j, :3] - implicit.pose[:, j, :3], axis=1).max()),
            path_length=float(lengths[j]),
            fastest=float(speed[:, j].max()),
            fastest_implicit=float(speed_implicit[:, j].max()),
            momentum=float(run.momentum[:, j].max()),
            energy=float(run.momentum[:, j] @ speed[:, j]),
        )
        for j, name in enumerate(run.names)
    }


def _rest(run: TouchRun, implicit: Touch, plain: PlainWall | None, count: float) -> Rest:
    rest = run.named("rest")
    return Rest(
        position=vibration(run.touch.position[rest], run.period),
        push=vibration(run.touch.push[rest], run.period),
        position_plain=plain.position if plain else None,
        implicit=vibration(implicit.position[rest], run.period),
        depth=Depths(
            block=float(run.touch.depth[rest].mean()),
            box=float(run.touch.depth[run.named("stay")].mean()),
            plain=plain.depth if plain else 0.0,
        ),
        count=count,
    )


def _plain(run: TouchRun, scene: TouchScene) -> PlainWall | None:
    rest = np.flatnonzero(run.named("rest") & ~np.isnan(run.plane[:, 0]))
    if len(rest) < 100:
        return None
    plane = run.plane[rest[len(rest) // 2]]
    part = run.named("step", "rest")
    position = kept(scene.plain, plane[:3], plane[3:], int(np.flatnonzero(part)[-1]) + 1)
    depth = (plane[:3] - position) @ plane[3:]
    return PlainWall(
        penetration=float(depth[part[: len(depth)]].max()),
        position=vibration(position[run.named("rest")[: len(depth)]], run.period),
        depth=float(np.maximum(depth[run.named("rest")[: len(depth)]], 0.0).mean()),
    )


def _limits(run: TouchRun, plain: PlainWall | None, p: dict[str, Any]) -> Limits:
    """Computes the distances; p holds the parameters of the friction node."""
    load = float(np.percentile(run.touch.load[run.touch.load > 0.0], 99)) if run.touch.load.any() else 0.0
    normal = (plain.penetration if plain else 0.0) + load / REFERENCE_STIFFNESS
    along = p["friction_coefficient"] * load / p["stiffness"]
    return Limits(load, normal, along, normal + along)
