"""Report of the probe on a tooth: contact, wall and friction node on the TAU device.

The run is compared with three single-process references (`kit.wall_friction`). In one, wall and friction are one
compiled step. Another is the in-process graph of the nodes; its difference from the run is the effect of the messages.
The third slides with the same hand on a flat wall that stands still; it shows the effect of turning planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.scenes.tooth import APART_X, APART_Y, CuspTap, InGroove, groove_height
from haptic_bags.bags import Bag
from haptic_experiments.experiments.dental_probe.probing import (
    Difference,
    Probing,
    difference,
    distances,
    flat_graph,
    groove,
    jerk,
    of_bag,
    of_graph,
    ringing_of,
    spectrum,
    taps,
    until_rest,
)
from haptic_experiments.kit.composed import (
    ComposedNumbers,
    GraphPanel,
    SplitAndImplicit,
    composed_report,
    latency_metrics,
)
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_friction import WallFriction, stability_claim

#: largest distance of the sliding tip from the groove's line: sideways, and in depth [m]
SIDEWAYS, DEEP = 1.0e-4, 1.0e-4
#: largest ratio to a flat wall, of torque changes from tick to tick and of lines of the normal force at rest
JERK = 2.0
BOTH = 0.95  #: fraction of the ticks in which both flanks are in contact while the tip rests in the groove
GIVEN = 1e-5  #: largest energy that the tool may have got at any time [J], a thousandth of the hand's
APART = 2.0e-4  #: largest distance of the tool from that of one implicit step, in the groove [m]
RESTS = ("rest in the groove", "rest in the pit")  #: phases in which the tip rests
Signals = tuple[Probing, np.ndarray]  #: a run, and the distance of its tip from the tooth (n,) [m]


@dataclass(frozen=True)
class Beside:
    """A number on the tooth, and on a flat wall."""

    tooth: float
    flat_wall: float


@dataclass(frozen=True)
class Energy:
    """Energy that wall and friction have given to the tool: at any time, in the end, and by the friction alone [J]."""

    given_at_the_most: float
    net: float
    friction: float


@dataclass(frozen=True)
class Numbers(ComposedNumbers):
    """Numbers of one run."""

    mode: str  #: mode of the loop
    delay: int  #: delay of the commands [ticks]
    ticks: int  #: number of ticks
    missed_ticks: int  #: number of ticks that some node did not answer
    taps: list[CuspTap]
    groove: dict[str, InGroove]  #: the tip in the groove, by phase
    jerk: Beside  #: largest change of a torque from tick to tick while the tip slides along the groove [N m]
    ringing: dict[str, Beside]  #: largest line of the push above the tremor at rest, by phase [N]
    energy: Energy  #: energy given to the tool
    against_split: Difference  #: difference from the graph of the nodes
    against_implicit: Difference  #: difference from one implicit step
    stable_stiffness: SplitAndImplicit[float]  #: largest stable stiffness of the friction [N/m]


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""

    def claim(claims: Claims, name: str, n: Numbers, signals: Signals, bag: Bag) -> None:
        _claims(claims, name, n, bag.parameters("friction")["stiffness"])

    return composed_report(bags, measure, claim, _figure, _CAPTION, ("contact", "wall", "friction"))


def measure(bag: Bag) -> tuple[Numbers, Signals]:
    """Measures one run beside its references; returns the numbers, the run, and the tip's distance from the tooth."""
    run, scene = of_bag(bag), kept(WallFriction, bag, "contact")
    ticks = np.rint(run.time / run.period).astype(np.int64)  # in realtime a node may have missed some
    implicit = kept(of_graph, scene.implicit, ticks, run.phases, "wall/friction")
    split = kept(of_graph, scene.split, ticks, run.phases)
    flat = kept(of_graph, kept(flat_graph, bag, scene), ticks, run.phases)
    distance = kept(distances, scene.split.steps["contact"].renderer.rendering, run.position)
    energy = run.period * np.cumsum(run.power)
    resting = until_rest(run)
    numbers = Numbers(
        mode=bag.custom.get("mode", "lockstep"),
        delay=int(bag.parameters("device")["command_delay_ticks"]),
        ticks=len(ticks),
        missed_ticks=len(bag.topics["/tau/device_state"]["tick"]) - len(ticks),
        taps=taps(run, distance),
        groove=groove(run, distance, bag.parameters("contact")["touch_radius"]),
        jerk=Beside(jerk(run), jerk(flat)),
        ringing={name: Beside(ringing_of(run, name), ringing_of(flat, name)) for name in RESTS},
        energy=Energy(float(energy.max(initial=0.0)), float(energy[-1]), -run.dissipated),
        against_split=difference(run, split),
        against_implicit=difference(run, implicit),
        stable_stiffness=SplitAndImplicit(
            *(kept(scene.stable_stiffness, resting, implicit=whole) for whole in (False, True))
        ),
        latency_p50_p99=latency_metrics(bag),
        step_time=SplitAndImplicit(split.step_time, implicit.step_time),
    )
    return numbers, (run, distance)


def _claims(claims: Claims, name: str, n: Numbers, stiffness: float) -> None:
    """Adds the claims on one run; stiffness is that of its friction [N/m]."""
    split, slides = n.against_split, n.groove
    if n.mode == "lockstep" and not n.delay:
        same = {"tool [m]": split.motion, "push [N]": split.push, "friction [N]": split.friction}
        claims.identical(f"The nodes are identical to the single-process reference ({name}).", same)
    rebounds = [
        (f"it comes with {t.speed:.4f} m/s and leaves with {t.rebound:.4f} m/s", 0.0 < t.rebound < t.speed)
        for t in n.taps
    ]
    claims.each(f"A tapped cusp stops the probe, which leaves slower than it came ({name}).", rebounds, unless="no tap")
    farthest = {}
    if slides:
        farthest["sideways [µm]"] = (1e6 * max(found.sideways for found in slides.values()), 1e6 * SIDEWAYS)
        farthest["deep [µm]"] = (1e6 * max(found.depth for found in slides.values()), 1e6 * DEEP)
    text = f"The tip stays on the groove's line, at rest and sliding, through the pit and out of it ({name})."
    claims.all_below(text, farthest)
    unreached = "" if slides else "the tip was not in the groove"
    flanks = {phase: found.both_flanks for phase, found in slides.items()}
    resting = min((part for phase, part in flanks.items() if phase.startswith("rest")), default=0.0)
    claims.say(
        f"Resting in the groove the probe feels both flanks at once ({name}).",
        f"both in contact in {100 * resting:.1f} % of the ticks (limit {100 * BOTH:g} %); sliding "
        f"{100 * min(flanks.values(), default=0.0):.1f} %",
        resting > BOTH,
        unless=unreached,
    )
    claims.below(
        f"Planes that rotate and change cause no jerk ({name}).",
        1e3 * n.jerk.tooth,
        JERK * 1e3 * n.jerk.flat_wall,
        "mN m",
        about=f"torques change from tick to tick on a flat wall by {1e3 * n.jerk.flat_wall:.0f} mN m, here by",
        unless=unreached,
    )
    noise = {
        f"{rest} [mN]": (1e3 * both.tooth, JERK * 1e3 * both.flat_wall)
        for rest, both in n.ringing.items()
        if rest in slides
    }
    claims.all_below(f"At rest it is as quiet as on a flat wall ({name}).", noise, about="above the tremor, in the")
    energy, implicit, stable = n.energy, n.against_implicit, n.stable_stiffness
    claims.below(
        f"Wall and friction give the tool no energy ({name}).",
        1e6 * energy.given_at_the_most,
        1e6 * GIVEN,
        "µJ",
        about=f"{1e3 * energy.net:.1f} mJ in the end, {1e3 * energy.friction:.1f} mJ by friction; at most",
    )
    claims.below(
        f"Wall and friction in one implicit step move the tool along the same path ({name}).",
        1e3 * implicit.motion_in_the_groove,
        1e3 * APART,
        "mm",
        about=f"{1e3 * implicit.motion:.3f} mm apart in all; friction differs by {implicit.friction:.2f} N, "
        f"{1e3 * implicit.dissipated:+.2f} mJ; in the groove apart by at most",
    )
    stability_claim(claims, name, stable.split, stable.implicit, stiffness, "at rest in the groove ")


_CAPTION = (
    "Top: edges of the graph of nodes, with the time from publishing to receiving. The tip's true path beside the "
    "line of the groove, from the side and from above, with the apexes. Then the push of each cusp, the friction, how "
    "deep the tip is, the spectrum of the push at rest in the groove, and the energy that wall and friction have given "
    "to the tool."
)


def _figure(runs: dict[str, Signals], bag: Bag) -> Figure:
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

    def panel(
        up: str, curves: list[Curve], across: str = "time (s)", legend: str = "upper right", shaded: bool = False,
        **settings: Any,
    ) -> Panel:  # fmt: skip
        return Panel(up, curves, across, settings, run if shaded else None, {"loc": legend, "fontsize": 7})

    return panels(
        GraphPanel.of(bag),
        [
            panel("z (mm)", side, "x (mm)", "upper center"),
            panel("y (mm)", top, "x (mm)", "upper left", aspect="equal"),
        ],
        panel("force (N)", force, shaded=True),
        panel("depth (µm)", depth, shaded=True, ylim=(-50.0, 600.0)),
        [panel("push (mN)", lines, "frequency (Hz)", yscale="log"), panel("energy (mJ)", work)],
        size=(12, 16),
        height_ratios=(3, 3, 3, 2, 3),
    )
