"""Report of the TAU's tip among bodies: three nodes, a single-process reference and an implicit step.

`references` computes the references. Rows are ticks; forces act from a row's time on for one period.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments import graph
from haptic_experiments.experiments.tau_touch_world.margins import MASSES, Margins, lightest
from haptic_experiments.experiments.tau_touch_world.measures import LASTING, Limits, Numbers, Pushed, measure
from haptic_experiments.experiments.tau_touch_world.references import Touch, TouchScene
from haptic_experiments.experiments.tau_touch_world.run import VIBRATION, TouchRun
from haptic_experiments.kit.composed import GraphPanel, composed_report
from haptic_experiments.kit.figures import DASHED, Curve, Panel, panels
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report
from haptic_math.spectra import spectrum_without_trend

SHARE = 0.05  #: largest relative difference of displacement and dissipation from the reference
CHATTER = 0.1  #: largest variation of the friction from tick to tick at a pressed tool, by the encoders' counts [N]
MOVED = 1e-3  #: least path of a body that has been pushed [m]
MISSED = 0.01  #: largest fraction of missed ticks in realtime
#: largest energy of bodies that the tool does not give, and least energy that friction takes in a slide [J]
UNACCOUNTED, SLID = 1e-6, 1e-3
#: largest momentum unaccounted for: the solver's 1e-5 of the momentum that 1 kg gets by its weight in a tick [N s]
MOMENTUM = 1e-7
Signals = tuple[TouchRun, Touch, Numbers]  #: a run, the implicit step, and the numbers of both


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""

    def claim(claims: Claims, name: str, n: Numbers, signals: Signals, bag: Bag) -> None:
        run, delayed = signals[0], bool(bag.parameters("device")["command_delay_ticks"])
        _claims(claims, name, run, n, compares=run.mode == "lockstep" and not delayed)

    return composed_report(bags, _measure, claim, _figure, _CAPTION, ("contact", "wall", "friction"))


def _measure(bag: Bag) -> tuple[Numbers, Signals]:
    """Measures one run beside its references; returns the numbers and the signals."""
    run, scene = TouchRun.from_bag(bag), kept(TouchScene, graph.nodes_of(bag))
    split, implicit = kept(scene.split, len(run.time)), kept(scene.implicit, len(run.time))
    numbers = measure(bag, run, scene, split, implicit)
    return numbers, (run, implicit, numbers)


def _claims(claims: Claims, name: str, run: TouchRun, n: Numbers, *, compares: bool) -> None:
    implicit, limits, changes = n.against_implicit, n.limits, n.transitions
    if compares:
        split = n.against_split
        same = {"tool [m]": split.motion, "bodies [m]": split.bodies}
        same |= {"push [N]": split.push, "friction [N]": split.friction}
        claims.identical(f"The nodes are identical to the single-process reference ({name}).", same)
    claims.below(
        f"Bodies get what the tool gets: every change of momentum is that of the forces of the tick ({name}).",
        max((body.momentum for body in n.bodies.values()), default=0.0),
        MOMENTUM,
        "N s",
        about="momentum unaccounted for:",
        unless="" if run.mode == "lockstep" else "not in lockstep",
    )
    _claim_bodies(claims, name, n.bodies, limits)
    claims.below(
        f"At fixed bodies and by the box's side the tool moves as in one implicit step ({name}).",
        1e3 * implicit.held.motion,
        1e3 * limits.tool,
        "mm",
        about=f"let go {1e3 * implicit.let_go:.2f} mm apart, the wall throws it; else at most",
    )
    _claim_rest(claims, name, n)
    claims.say(
        f"Sticking and sliding change no more often than in one implicit step ({name}).",
        f"{changes.run} changes that last {1e3 * LASTING:g} ms while leaning and dragging, implicit "
        f"{changes.implicit} (limit: one more); friction varies by {n.chatter:.3f} N from tick to tick "
        f"(limit {CHATTER:g} N)",
        changes.run <= changes.implicit + 1 and n.chatter < CHATTER if changes.implicit else None,
    )
    one, other = n.energy.run, n.energy.implicit
    apart = {
        "bodies beyond what the tool gives [J]": (sum(body.energy for body in n.bodies.values()), UNACCOUNTED),
        "friction's energy [J]": (abs(one.dissipated - other.dissipated), SHARE * other.dissipated),
    }
    claims.all_below(
        f"The delayed edges generate no energy, and friction dissipates as much as in one implicit step ({name}).",
        apart,
        about=f"pushes {1e3 * one.push_work:+.2f} mJ, implicit {1e3 * other.push_work:+.2f} mJ; differences "
        f"(the first limit {AFTER_DATA}):",
        unless="" if other.dissipated > SLID else "the tool did not slide",
    )
    _claim_margins(claims, name, n.margins)
    if run.mode == "realtime":
        text = f"In realtime at most {100 * MISSED:g} % of the ticks are missed ({name})."
        claims.say(text, f"{100 * n.missed:.2f} %", n.missed <= MISSED)


def _claim_bodies(claims: Claims, name: str, bodies: dict[str, Pushed], limits: Limits) -> None:
    if box := bodies.get("box"):
        claims.below(
            f"A pushed box moves as in one implicit step ({name}).",
            1e3 * box.apart,
            1e3 * limits.normal,
            "mm",
            about=f"on {1e3 * box.path_length:.1f} mm apart by at most",
            unless="" if box.path_length > MOVED else "it was not pushed",
        )
    if ball := bodies.get("ball"):
        claims.near(
            f"A knocked ball becomes as fast as in one implicit step ({name}).",
            1e3 * ball.fastest,
            1e3 * ball.fastest_implicit,
            "mm/s",
            relative=SHARE,
            about=f"after the rim {1e3 * ball.apart:.1f} mm apart on {1e3 * ball.path_length:.1f} mm; speed",
            unless="" if ball.path_length > MOVED else "it was not knocked",
        )


def _claim_rest(claims: Claims, name: str, n: Numbers) -> None:
    rest, plain = n.rest, n.plain_wall
    if rest is None or plain is None:
        return
    line, push, count, depth = rest.position, rest.push, rest.count, rest.depth
    claims.below(
        f"The resting tool does not vibrate ({name}).",
        1e6 * line.amplitude,
        1e6 * count,
        "µm",
        about=f"at the plain wall {1e6 * plain.position.amplitude:.1f} µm; push {push.amplitude:.3f} N at "
        f"{push.frequency:.0f} Hz; highest line above {VIBRATION:g} Hz, at {line.frequency:.0f} Hz:",
    )
    claims.say(
        f"At rest it is no deeper in the block, or in the top of the box, than in the plain wall ({name}).",
        f"on average {1e6 * depth.block:.1f} µm, {1e6 * depth.box:.1f} µm, plain wall "
        f"{1e6 * depth.plain:.1f} µm (limit: one count more)",
        max(depth.block, depth.box) <= depth.plain + count,
    )
    block, box = (n.penetration.get(body) for body in ("block", "box"))
    wall = f"plain wall {1e3 * plain.penetration:.3f} mm (limit: one count more)"
    for text, found in (
        ("While it is pushed in it is no deeper in the block than in the plain wall under the same push", block),
        ("Nor is it then deeper in the top of the box, which stands on the table", box),
    ):
        shown = None if found is None else found <= plain.penetration + count
        claims.say(f"{text} ({name}).", f"{1e3 * (found or 0.0):.3f} mm, {wall}", shown)


def _claim_margins(claims: Claims, name: str, found: Margins) -> None:
    light = {kind: lightest(values) for kind, values in found.pushed.items()}
    words = {kind: f"{1e3 * mass:g} g" if np.isfinite(mass) else "no mass" for kind, mass in light.items()}
    made = found.pushed["bodies taken for fixed"][f"{MASSES[-1]:g}"]
    claims.say(
        "A wall that treats bodies as fixed loses light ones that it pushes; a wall with their inertia does not "
        f"({name}).",
        f"contact kept down to {words['nodes']}, implicit {words['implicit']}; bodies taken for fixed "
        f"{words['bodies taken for fixed']}, and with reactions one tick later {words['and one tick later']}"
        + (f"; at {1e3 * MASSES[-1]:g} g the pushes then make {1e3 * made.push_work:.2f} mJ" if made else ""),
        light["nodes"] == light["implicit"] == MASSES[-1] and light["bodies taken for fixed"] > MASSES[-1],
    )


_CAPTION = (
    "Top: edges of the graph of nodes; dashed edges are of the tick before. Then tool and bodies of the run (solid) "
    "and of one implicit step (dotted), push and friction, how far both are apart, and below the spectra of the tool "
    "that rests on the block, and how deep the tool gets that presses on a lighter box. Shaded: pushes (red), slides "
    "(blue), fingers open (green)."
)
_BLACK = {"color": "black", "linestyle": ":"}


def _figure(runs: dict[str, Signals], bag: Bag) -> Figure:
    first = next(iter(runs.values()))[0]
    curves: dict[str, list[Curve]] = {key: [] for key in ("tool", "bodies", "push", "friction", "apart", "rest")}
    depths = []
    for name, (run, implicit, numbers) in runs.items():
        _curves(curves, name, run, implicit)
        if rest := numbers.rest:
            curves["rest"].append(Curve.level(np.array([1.0, 500.0]), 1e6 * rest.count, "one count", **DASHED))
        for kind, values in numbers.margins.pressed.items():
            known = {1e3 * float(mass): 1e3 * found.depth for mass, found in values.items() if found}
            depths.append(Curve(np.array(list(known)), np.array(list(known.values())), kind, {"marker": "o"}))
    small = {"loc": "upper left", "fontsize": 7}
    rows: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("tool", "tool (mm)", {}),
        ("bodies", "displacement of bodies (mm)", {}),
        ("push", "push (N)", {"ylim": (0.0, 9.0)}),
        ("friction", "friction (N)", {"ylim": (0.0, 2.5)}),
        ("apart", "to one step (mm)", {"yscale": "log", "ylim": (1e-3, 1e1)}),
    )
    spectrum: dict[str, Any] = {"xscale": "log", "yscale": "log", "ylim": (1e-4, 1e2)}
    figure = panels(
        GraphPanel.of(bag),
        *(Panel(words, curves[key], "time (s)", settings, first, small) for key, words, settings in rows),
        [
            Panel("tool at rest (µm)", curves["rest"], "frequency (Hz)", spectrum),
            Panel("depth in its top (mm)", depths, "mass of the box (g)", {"xscale": "log"}),
        ],
        size=(13, 19),
        height_ratios=(3, 3, 2, 2, 2, 2, 3),
    )
    figure.axes[-1].set_xticks([1e3 * mass for mass in MASSES], [f"{1e3 * mass:g}" for mass in MASSES])
    figure.axes[-1].minorticks_off()
    for phase in first.phases:
        if phase["kind"] != "move" and phase["start"] < first.time[-1]:
            figure.axes[1].text(phase["start"], 26.0, phase["name"], rotation=60, fontsize=6)
    return figure


def _curves(curves: dict[str, list[Curve]], name: str, run: TouchRun, implicit: Touch) -> None:
    """Adds the curves of a run and of the implicit step beside it."""
    n = min(len(run.time), len(implicit.position))
    t, touch = run.time[:n], run.touch
    for i, colour in enumerate(("tab:red", "tab:green", "tab:blue")):
        curves["tool"].append(Curve(t, 1e3 * touch.position[:n, i], f"{'xyz'[i]}, {name}", {"color": colour}))
        curves["tool"].append(Curve(t, 1e3 * implicit.position[:n, i], style=_BLACK))
    parts = [(body, touch.pose[:n, j, :3], implicit.pose[:n, j, :3]) for j, body in enumerate(run.names)]
    for body, one, other in parts:
        for position, label, style in ((one, f"{body}, {name}", {}), (other, "", _BLACK)):
            curves["bodies"].append(Curve(t, 1e3 * np.linalg.norm(position - one[0], axis=1), label, style))
    for force, one, other in (
        ("push", touch.load, implicit.load),
        ("friction", *(np.linalg.norm(x.friction, axis=1) for x in (touch, implicit))),
    ):
        curves[force].append(Curve(t, one[:n], name, {"linewidth": 0.6}))
        curves[force].append(Curve(t, other[:n], "one implicit step", _BLACK))
    for part, one, other in (("tool", touch.position[:n], implicit.position[:n]), *parts):
        curves["apart"].append(Curve(t, 1e3 * np.linalg.norm(one - other, axis=1), f"{part}, {name}"))
    rest = run.named("rest")
    if rest.sum() > 100:
        for signal, label in ((touch.position, name), (implicit.position, "one implicit step")):
            frequency, amplitude = spectrum_without_trend(signal[: len(run.time)][rest[: len(signal)]], run.period)
            curves["rest"].append(Curve(frequency[1:], 1e6 * amplitude[1:], label))
