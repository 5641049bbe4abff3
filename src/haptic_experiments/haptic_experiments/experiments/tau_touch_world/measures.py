"""Numbers of a run of `tau_touch_world`, compared with the graph of its nodes and with one implicit step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_experiments import graph
from haptic_experiments.experiments.tau_touch_world.margins import Margins, margins
from haptic_experiments.experiments.tau_touch_world.references import REFERENCE_STIFFNESS, Touch, TouchScene
from haptic_experiments.experiments.tau_touch_world.run import (
    Difference,
    TouchRun,
    Vibration,
    chatter,
    difference,
    transitions,
    vibration,
)
from haptic_experiments.kit.composed import ComposedNumbers, RunAndImplicit, SplitAndImplicit, latency_metrics
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import HIDDEN, MERGED, key
from haptic_experiments.kit.signals import path_length

LASTING = 0.025  #: shortest state of sticking or sliding that counts, half a period of 20 Hz [s]
ON_THE_BOX = ("press the box", "lean", "drag", "stay")  #: phases in which the tool presses on the box


@dataclass(frozen=True)
class Energies:
    """Work of a process [J]."""

    push_work: float  #: work of the pushes in the end
    most_push_work: float  #: largest work of the pushes at any time
    dissipated: float  #: energy that the friction took

    @classmethod
    def of(cls, touch: Touch) -> Energies:
        """Reads the works of a process."""
        push, friction = touch.normal_work, touch.friction_work
        return cls(float(push[-1]), float(push.max()), -float(friction[-1]))


@dataclass(frozen=True)
class AgainstImplicit:
    """Largest difference from one implicit step."""

    held: Difference = field(metadata=MERGED)  #: difference while the hand holds the tool, but not on the box
    on_the_box: float  #: distance of the tools on the box [m]
    let_go: float  #: distance of the tools after the hand let go [m]


@dataclass(frozen=True)
class Pushed:
    """Motion of a body."""

    apart: float  #: largest distance from that in one implicit step [m]
    path_length: float = field(metadata=key("way"))  #: length of its path in one implicit step [m]
    fastest: float  #: largest speed [m/s]
    fastest_implicit: float  #: largest speed in one implicit step [m/s]
    momentum: float  #: largest momentum that is unaccounted for in a tick [N s]
    energy: float  #: energy that these momenta give it at the most [J]


@dataclass(frozen=True)
class Limits:
    """Largest distances of run and reference, by which wall, reference and friction yield."""

    load: float  #: push of 99 % of the ticks [N]
    normal: float  #: distance along the normal [m]
    along: float  #: distance along the surface [m]
    tool: float  #: sum of the two [m]


@dataclass(frozen=True)
class PlainWall:
    """A plain wall where the tool rests, under the same pushes."""

    penetration: float  #: deepest penetration [m]
    position: Vibration = field(metadata=HIDDEN)  #: vibration of the resting tool [m]
    depth: float = field(metadata=HIDDEN)  #: mean depth at rest [m]


@dataclass(frozen=True)
class Depths:
    """Mean depth of the resting tool in the block, in the top of the box, and in a plain wall [m]."""

    block: float
    box: float
    plain: float


@dataclass(frozen=True)
class Rest:
    """The resting tool."""

    position: Vibration  #: vibration of the tool [m]
    push: Vibration  #: vibration of the push [N]
    position_plain: Vibration | None  #: vibration of the tool at a plain wall [m]
    implicit: Vibration  #: vibration of the tool in one implicit step [m]
    depth: Depths  #: mean depths
    count: float  #: displacement of the tool by one count of the encoders [m]


@dataclass(frozen=True)
class Transitions:
    """Changes between sticking and sliding: lasting ones of run and implicit step, and all of the run."""

    run: int
    implicit: int
    all: int


@dataclass(frozen=True)
class Numbers(ComposedNumbers):
    """Numbers of one run."""

    ticks: int  #: number of ticks
    mode: str  #: mode of the loop
    missed: float  #: fraction of the ticks that some node did not answer
    against_split: Difference  #: difference from the graph of the nodes
    against_implicit: AgainstImplicit  #: difference from one implicit step
    bodies: dict[str, Pushed]  #: motion of each body
    limits: Limits  #: largest distances of run and reference
    penetration: dict[str, float]  #: largest depth in the block and in the box [m]
    plain_wall: PlainWall | None  #: plain wall under the same pushes; None if the tool does not rest
    rest: Rest | None  #: the resting tool; None if it does not rest
    transitions: Transitions  #: changes between sticking and sliding
    chatter: float  #: variation of the friction from tick to tick [N]
    energy: RunAndImplicit[Energies]  #: works
    margins: Margins  #: a lighter box


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
