"""Report of two frictional contacts as a network of nodes on the joystick (Fig. 10 of Kikuuwe et al.).

The run is compared with computations without nodes (`slabs`); the cost of the tick of delay is measured with lighter
slabs and with stiffer contacts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.experiments.joystick_stick_slip.slabs import (
    NAMES,
    PAPER,
    Margins,
    Scene,
    energy,
    margins,
    of_bag,
    true_velocity,
)
from haptic_experiments.kit import composed
from haptic_experiments.kit.composed import ComposedNumbers, GraphPanel, RunAndImplicit, SplitAndImplicit
from haptic_experiments.kit.figures import Curve, Panel, make_room, mark, panels, shade_true
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.signals import largest, phases, rms
from haptic_friction import ContactNetwork, ImplicitNetwork
from haptic_friction.reference.networks import EnergyBalance, stuck_radius
from haptic_friction.reference.slab_chain import LIGHTEST, SlabMotion

#: largest effect of rounding between the nodes and the library over a run [m], [N]: the same sums in another order
SAME_MOTION, SAME_FORCE = 1e-12, 1e-8
SHORTEST = 5e-3  #: shortest sticking that counts as a phase [s]
APART = 0.05  #: RMS difference of tool, slabs and forces from the implicit step that is allowed, over the RMS of each
MISSED = 0.01  #: fraction of the ticks that may be missed in realtime
OPEN = 0.02  #: fraction of the tool's work that the balance of energy may leave open
REST = 0.7  #: the hand's last phase is rest; it begins so long before the end [s]
#: difference of the simulated limit from that of the map: steps of the bisection are 2 %, and just beyond it the
#: instability has to grow
MAP = 0.05
COUNT_WORK = 6e-5  #: work of one count of the encoders against the friction force [J]: 12 um times 5 N
#: words of the margins, by delay [ticks]
LATE, DELAYED = ("one tick late", "two ticks late"), ("no delay", "one tick of delay")
_SIGNALS = ("tool", "position", "force")


@dataclass(frozen=True)
class Signals:
    """A number of the tool's position [m], the slabs' positions [m] and the contacts' forces [N]."""

    tool: float
    position: float
    force: float


@dataclass(frozen=True)
class Difference(Signals):
    """Difference of two computations: the largest, as in `Signals`, its RMS, and that of the dissipated energy."""

    tool_rms: float  #: RMS of the tool's difference [m]
    position_rms: float  #: RMS of the slabs' difference [m]
    force_rms: float  #: RMS of the forces' difference [N]
    dissipated: float  #: difference of the dissipated energies [J]


@dataclass(frozen=True)
class Transitions:
    """Number of phases of sticking of at least `SHORTEST`, and of changes between sticking and sliding in all."""

    phases: int
    changes: int


@dataclass(frozen=True)
class RunNumbers(ComposedNumbers):
    """Numbers of one run."""

    mode: str  #: mode of the loop
    ticks: int  #: number of ticks
    missed: float  #: fraction of the ticks that went on without an answer of all nodes
    stopped: int  #: number of ticks in the safe state
    command_delay_ticks: int  #: ticks between a command and the period in which it acts
    against_library: Difference | None  #: difference from the library's network; None if ticks were missed
    against_split: Difference  #: difference from the graph of the nodes
    against_implicit: Difference  #: difference from one implicit step
    split_against_implicit: Difference  #: difference of that graph from one implicit step
    rms: Signals  #: RMS of the run's signals
    transitions: dict[str, list[Transitions]]  #: transitions of each contact, by computation
    stick_share: list[float]  #: fraction of the time that each contact sticks
    rest_change: RunAndImplicit[list[float]]  #: RMS of each contact force's change from tick to tick at rest [N]
    energy: EnergyBalance  #: balance of the energy [J]
    energy_implicit: EnergyBalance  #: balance of the energy in one implicit step [J]


def missed(bag: Bag) -> float:
    """Returns the fraction of the device's ticks that went on without an answer of all nodes."""
    counts = [event.detail for event in bag.events if event.source == "device" and "missed" in event.detail]
    return float(counts[-1]["missed"] / counts[-1]["ticks"]) if counts else float("nan")


def difference(one: SlabMotion, other: SlabMotion) -> Difference:
    """Compares two computations on their common ticks."""
    n = min(len(one.tool), len(other.tool))
    signals = [getattr(one, name)[:n] - getattr(other, name)[:n] for name in _SIGNALS]
    dissipated = float(one.dissipated.sum() - other.dissipated.sum())
    return Difference(*[*map(largest, signals), *map(rms, signals), dissipated])


def transitions(run: SlabMotion, period: float) -> list[Transitions]:
    """Counts the transitions of each contact."""
    shortest = max(1, round(SHORTEST / period))
    return [
        Transitions(len(phases(flags, shortest)), int(np.count_nonzero(np.diff(flags))))
        for flags in run.sticking.T.astype(int)
    ]


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    numbers: dict[str, RunNumbers] = {}
    claims = Claims()
    runs: dict[str, tuple[Scene, SlabMotion, SlabMotion]] = {}
    for name, bag in bags.items():
        scene, home = Scene.of(bag)
        run = of_bag(bag, home)
        implicit = scene.together(ImplicitNetwork, len(run.tool), delay=scene.delay)
        numbers[name] = measure(bag, scene, run, implicit)
        runs[name] = (scene, run, implicit)
        _claim_run(claims, name, numbers[name])
    first = next(iter(bags.values()))
    margin = margins(first, next(iter(runs.values()))[0])
    _claim_margins(claims, margin)
    parameters = {source: first.parameters(source) for source in ("contact", *NAMES)}
    found = {"runs": numbers, "margins": margin}
    return Report(found, claims, lambda: _figure(runs, first, margin), _CAPTION, parameters)


def measure(bag: Bag, scene: Scene, run: SlabMotion, implicit: SlabMotion) -> RunNumbers:
    """Measures one run."""
    T, device = scene.period, bag.topics["/joystick/device_state"]
    complete = len(run.tool) == len(device["tick"])
    split = scene.together(ContactNetwork, len(run.tool), delay=scene.delay)
    true = true_velocity(bag)[: len(run.tool)]
    rest = round(REST / T)
    counted = {
        "run": run,
        "implicit": implicit,
        "fine": scene.fine(run.base, run.tool),
        "split_without_counts": scene.played(true, run.tool),
        "fine_without_counts": scene.fine(true, run.tool),
    }
    changes = [[rms(change) for change in np.diff(one.force[-rest:], axis=0).T] for one in (run, implicit)]
    return RunNumbers(
        mode=bag.custom["mode"],
        ticks=len(run.tool),
        missed=missed(bag),
        stopped=int(np.count_nonzero(device["status"])),
        command_delay_ticks=scene.delay,
        against_library=difference(run, scene.played(run.base, run.tool)) if complete else None,
        against_split=difference(run, split),
        against_implicit=difference(run, implicit),
        split_against_implicit=difference(split, implicit),
        rms=Signals(*(rms(getattr(run, name)) for name in _SIGNALS)),
        transitions={name: transitions(one, T) for name, one in counted.items()},
        stick_share=run.sticking.mean(axis=0).tolist(),
        rest_change=RunAndImplicit(*changes),
        energy=energy(run, scene),
        energy_implicit=energy(implicit, scene),
        latency_p50_p99=composed.latency_metrics(bag),
        step_time=SplitAndImplicit(split.step_time, implicit.step_time),
    )


def _by_contact(values: Iterable[Any]) -> str:
    return ", ".join(f"{contact} {value}" for contact, value in zip(NAMES, values, strict=True))


def _claim_run(claims: Claims, name: str, n: RunNumbers) -> None:
    apart, size, counted = n.against_implicit, n.rms, n.transitions
    off, force = (n.against_library.position, n.against_library.force) if n.against_library else (np.nan, np.nan)
    # the network leaves a stopped device alone, and missed ticks are no stick-slip
    sound, lockstep = not n.stopped and not n.missed > MISSED, n.mode == "lockstep"
    claims.say(
        f"The network of nodes is the library's network, eq. (60), but for rounding ({name}).",
        f"motion differs by {off:.1e} m, forces by {force:.1e} N at the most (limits "
        f"{SAME_MOTION:g} m, {SAME_FORCE:g} N)",
        off <= SAME_MOTION and force <= SAME_FORCE,
        unless="" if n.against_library else "ticks were missed",
    )
    sticks = all(0.1 < share < 0.95 for share in n.stick_share) and all(c.phases > 4 for c in counted["run"])
    claims.say(
        f"Both contacts stick and slip ({name}).",
        f"{_by_contact([c.phases for c in counted['run']])} stick phases of at least {1e3 * SHORTEST:g} ms (limit 5)"
        f", {_by_contact([f'{100 * share:.0f} %' for share in n.stick_share])} of the time (limits 10 and 95 %)",
        sticks if sound else None,
    )
    changes = {kind: np.array([of.changes for of in contacts]) for kind, contacts in counted.items()}
    words = {kind: _by_contact(counts) for kind, counts in changes.items()}
    more = changes["run"] - changes["implicit"] <= np.maximum(4, 0.25 * changes["implicit"])
    same = np.abs(changes["split_without_counts"] - changes["fine_without_counts"]) <= 2
    claims.say(
        f"They do so without chatter ({name}).",
        f"changes between sticking and sliding: {words['run']}; in one implicit step {words['implicit']} (limit a "
        f"quarter or 4 more); led by the true velocity {words['split_without_counts']}, with a sixteenth of the "
        f"period besides {words['fine_without_counts']} (limit 2 apart)",
        bool(more.all() and same.all()) if sound else None,
    )
    claims.say(
        f"Bodies and contacts in one implicit step move the tool and the slabs along the same paths ({name}).",
        f"tool {1e3 * apart.tool:.3f} mm, slabs {1e3 * apart.position:.3f} mm, forces {apart.force:.2f} N "
        f"apart at the most; RMS {1e3 * apart.tool_rms:.3f} mm, {1e3 * apart.position_rms:.3f} mm, "
        f"{apart.force_rms:.3f} N (limit {100 * APART:g} % of each RMS)",
        (
            apart.tool_rms < APART * size.tool
            and apart.position_rms < APART * size.position
            and apart.force_rms < APART * size.force
        )
        if lockstep
        else None,
    )
    mj = EnergyBalance(*(1e3 * value for value in n.energy))
    claims.say(
        f"The network is passive at the tool, and its energy is accounted for ({name}).",
        f"work {mj.work:.1f} mJ, stored {mj.stored:.1f} mJ, rubbed {mj.rubbed:.1f} mJ, damped "
        f"{mj.damped:.1f} mJ, open {mj.open:.1f} mJ (limit {100 * OPEN:g} % of the work; implicit: "
        f"{1e3 * n.energy_implicit.open:.1f} mJ); work less stored at least {mj.least_loss:.4f} mJ (limit "
        f"{-1e3 * COUNT_WORK:g} mJ)",
        n.energy.least_loss > -COUNT_WORK and abs(mj.open) < OPEN * mj.work if sound else None,
    )
    if not lockstep:
        claims.say(
            f"At 1 kHz at most 1 % of the ticks are missed, and none is spent in the safe state ({name}).",
            f"{100 * n.missed:.2f} %; {n.stopped} ticks in the safe state",
            n.missed <= MISSED and not n.stopped,
        )


def _claim_margins(claims: Claims, n: Margins) -> None:
    for slabs, words in ((n.run, "the run's contacts"), (n.paper, "the paper's contacts")):
        parts = [
            f"{late}: {one.simulated:.3f} of the mass, by the map {one.stuck_map:.3f}"
            for one, late in zip(slabs.split, LATE, strict=True)
        ]
        claims.say(
            f"With {words} the split network is unstable below the mass that its linear map tells, the implicit one at "
            "none.",
            f"{'; '.join(parts)} (limit {100 * MAP:g} % apart); implicit quiet down to {slabs.implicit:g} (limit "
            f"{LIGHTEST:g})",
            all(abs(one.simulated / one.stuck_map - 1.0) < MAP for one in slabs.split) and slabs.implicit == LIGHTEST,
        )
    parts = [
        f"{words}: split {1e-3 * one.split:.0f} kN/m, implicit {1e-3 * one.implicit:.0f} kN/m"
        for one, words in zip(n.stiffest, DELAYED, strict=True)
    ]
    claims.say(
        "At the joystick the implicit step is stable with a stiffer contact than the split one.",
        f"{'; '.join(parts)} ({1e-3 * n.tried:.0f} kN/m at the most)",
        all(one.split < one.implicit for one in n.stiffest),
    )


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving; dashed edges are of the tick "
    "before. Then tool and slabs along x, and the forces of both contacts; shaded: it sticks. Below: how far the run "
    "is from bodies and contacts in one implicit step, and the largest eigenvalue of a period in which both contacts "
    "stick, over the slabs' mass; crosses: where the simulated network became restless."
)


def _figure(runs: dict[str, tuple[Scene, SlabMotion, SlabMotion]], bag: Bag, margin: Margins) -> Figure:
    position, apart = list[Curve](), list[Curve]()
    forces: list[list[Curve]] = [[], []]
    for linestyle, (name, (scene, run, implicit)) in zip(("-", ":"), runs.items(), strict=False):
        t, n = scene.period * np.arange(len(run.tool)), min(len(run.tool), len(implicit.tool))
        line = {"linestyle": linestyle, "linewidth": 1.5}
        position.append(Curve(t, 1e3 * run.tool, f"tool, {name}", {**line, "color": "0.6"}))
        off = 1e6 * (run.tool[:n] - implicit.tool[:n])
        apart.append(Curve(t[:n], off, f"tool, {name}", {**line, "color": "0.4"}))
        for i in range(2):
            line["color"] = f"C{i}"
            position.append(Curve(t, 1e3 * run.position[:, i], f"slab {i + 1}, {name}", {**line}))
            off = 1e6 * (run.position - implicit.position)[:n, i]
            apart.append(Curve(t[:n], off, f"slab {i + 1}, {name}", {**line}))
            forces[i].append(Curve(t, run.force[:, i], f"{NAMES[i]}, {name}", {**line, "linewidth": 0.8}))
    scene, run, _ = next(iter(runs.values()))
    t = scene.period * np.arange(len(run.tool))
    sticks = [partial(shade_true, time=t, flags=run.sticking[:, i], shortest=SHORTEST, color="0.9") for i in range(2)]
    outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 7}
    inside = {"loc": "upper left", "fontsize": 7, "ncols": 2}
    return panels(
        GraphPanel.of(bag),
        Panel("along x (mm)", position, "", legend=outside),
        Panel(f"{NAMES[0]} contact (N)", forces[0], "", legend=outside, extra=sticks[0]),
        Panel(f"{NAMES[1]} contact (N)", forces[1], "time (s)", legend=outside, extra=sticks[1]),
        [
            Panel(
                "to one implicit step (µm)", apart, "time (s)", legend=inside, extra=partial(make_room, fraction=0.35)
            ),
            _map_panel(scene, margin),
        ],
        size=(12, 15),
        height_ratios=(4.2, 3, 2.2, 2.2, 3),
    )


def _map_panel(scene: Scene, margin: Margins) -> Panel:
    """Makes the panel of the largest eigenvalue over the slabs' mass, of the run's contacts and the paper's."""
    masses, curves = np.geomspace(0.03, 3.0, 200), list[Curve]()
    kinds: list[tuple[str, str, Any, dict[str, Any]]] = [
        ("C3", LATE[0], ContactNetwork, {"delay": 0}),
        ("C4", LATE[1], ContactNetwork, {"delay": 1}),
        ("C2", "implicit", ImplicitNetwork, {}),
    ]
    contacts = (("-", "run", scene.elements, margin.run), ("--", "paper", [PAPER, PAPER], margin.paper))
    for style, name, elements, slabs in contacts:
        for color, words, kind, options in kinds:
            radius = [stuck_radius(scene.network(kind, elements=elements, lighter=m, **options)) for m in masses]
            line = {"linestyle": style, "color": color, "linewidth": 1.5}
            curves.append(Curve(masses, np.array(radius), f"{words}, contacts of the {name}", line))
            if kind is ContactNetwork:
                limit = np.array([slabs.split[options["delay"]].simulated])
                curves.append(Curve(limit, np.ones(1), style={"marker": "x", "color": color}))
    scales = {"xscale": "log", "ylim": (0.8, 1.6)}
    stable = partial(mark, y=(1.0,), color="0.7", linewidth=0.8, zorder=0)
    legend = {"fontsize": 7}
    return Panel("largest eigenvalue", curves, "mass of the slabs, over the run's", scales, legend=legend, extra=stable)
