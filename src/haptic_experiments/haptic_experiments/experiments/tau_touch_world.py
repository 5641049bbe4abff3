"""Report of the TAU's tip among bodies: contact, wall and friction node beside one process, and an implicit step.

`kit.touch_process` computes what stands beside the run. Rows are ticks, forces act from a row's time on for one period.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.problem.errors import ConvergenceError
from haptic_bags.bags import Bag
from haptic_devices.device import DeviceError
from haptic_experiments import graph
from haptic_experiments.kit.composed import GraphPanel, latency_metrics
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.touch_process import REFERENCE_STIFFNESS, Touch, TouchScene
from haptic_experiments.kit.touch_run import VIBRATION, TouchRun, chatter, difference, spectrum, transitions, vibration
from haptic_launch.launch_nodes import LaunchedNode
from tau_wall_control import TauError
from tau_wall_control.control.controller import WallController

#: fraction by which displacement and dissipation may differ from the reference's
SHARE = 0.05
#: a state of sticking or sliding counts when it lasts as long, half a period of 20 Hz [s]
LASTING = 0.025
#: friction may vary so from tick to tick while the tool is pressed: counts of the encoders through its damping [N]
CHATTER = 0.1
#: a body has been pushed when it has gone so far [m]
MOVED = 1e-3
#: of the ticks of a realtime run may be missed
MISSED = 0.01
#: masses of the box that are tried [kg]; contact is kept if it is there in this fraction of the ticks
MASSES, KEPT = (0.5, 0.1, 0.03), 0.95
#: phases in which the tool presses on the box
ON_THE_BOX = ("press the box", "lean", "drag", "stay")
#: energy that is rounding, and that friction takes where the tool has slid at all [J]
ROUNDING, SLID = 1e-12, 1e-3
#: momentum that may be unaccounted for: the solver's 1e-5 of what 1 kg gets by its weight in a tick [N s]
MOMENTUM = 1e-7
#: position of the box below the tool [m]
BELOW = [0.017, -0.013, 0.011]


# ---- what is measured -----------------------------------------------------------------------------------


def energies(touch: Touch) -> dict[str, float]:
    """Work of a process's pushes, of its friction, and of what action and reaction differ by [J]."""
    return {
        "push_work": float(touch.normal_work[-1]),
        "most_push_work": float(touch.normal_work.max()),
        "dissipated": -float(touch.friction_work[-1]),
        "cut_work": float(np.abs(touch.cut_work).max()),
    }


def margins(nodes: list[LaunchedNode], controller: WallController | None) -> dict[str, Any]:
    """A lighter box: contact of the tool that pushes it from the side, and its depth when it presses from above."""
    pushed: dict[str, Any] = {}
    pressed: dict[str, Any] = {}
    for mass in MASSES:
        entry: dict[str, Any] = {"bodies.box.mass": mass}
        side = TouchScene(nodes, first="push the box", last="push the box", entries=entry, controller=controller)
        entry |= {"bodies.box.position": BELOW}
        top = TouchScene(nodes, first="on the box", last="press the box", entries=entry, controller=controller)
        late = slice(round(0.3 * side.ticks), side.ticks)
        for found, scene, part in ((pushed, side, late), (pressed, top, slice(None))):
            split = partial(scene.split, raise_on_stop=True)
            plays = {"nodes": split, "bodies taken for fixed": partial(split, yielding=False)}
            if scene is side:
                plays["and one tick later"] = partial(split, yielding=False, late=1)
            for name, play in (plays | {"implicit": scene.implicit}).items():
                found.setdefault(name, {})[f"{mass:g}"] = _played(play, part)
    return {"pushed": pushed, "pressed": pressed}


def _played(play: Callable[[], Touch], part: slice) -> dict[str, float] | None:
    """Fraction of the ticks with contact, depth [m], work of the coupling [J]; None: out of the workspace."""
    try:
        touch = play()
    except (TauError, DeviceError, ConvergenceError):
        return None
    return {
        "contact": float((touch.load[part] > 0.0).mean()),
        "depth": float(touch.depth.max()),
        "push_work": float(touch.normal_work[-1]),
        "cut_work": float(touch.cut_work[-1]),
    }


def lightest(found: dict[str, Any]) -> float:
    """The lightest mass down to which contact is kept in all [kg]; infinite if not even the heaviest's is."""
    kept = float("inf")
    for mass in MASSES:
        numbers = found[f"{mass:g}"]
        if numbers is None or numbers["contact"] < KEPT:
            break
        kept = mass
    return kept


# ---- the report -----------------------------------------------------------------------------------------


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims = Claims()
    drawn: dict[str, tuple[TouchRun, Touch]] = {}
    for name, bag in bags.items():
        run, nodes = TouchRun.from_bag(bag), graph.nodes_of(bag)
        scene = TouchScene(nodes)
        split, implicit = scene.split(len(run.time)), scene.implicit(len(run.time))
        numbers = metrics[name] = measure(run, scene, split, implicit, bag.parameters("friction"))
        numbers["margins"] = margins(nodes, scene.controller)
        numbers["latency_p50_p99"] = latency_metrics(bag)
        drawn[name] = (run, implicit)
        delayed = bool(bag.parameters("device")["command_delay_ticks"])
        _claims(claims, name, run, numbers, compares=run.mode == "lockstep" and not delayed)
    first = next(iter(bags.values()))
    parameters = {source: first.parameters(source) for source in ("contact", "wall", "friction")}
    return Report({"runs": metrics}, claims, lambda: _figure(drawn, first, metrics), _CAPTION, parameters)


def measure(
    run: TouchRun, scene: TouchScene, split: Touch, implicit: Touch, friction: dict[str, Any]
) -> dict[str, Any]:
    """Numbers of one run and of the two runs beside it; `friction` has the parameters of the friction node."""
    rest, held, above = run.named("rest"), ~run.named("let go", "taken"), run.named(*ON_THE_BOX)
    pressed = {name: run.named(*phases) for name, phases in (("block", ("step", "rest")), ("box", ON_THE_BOX))}
    pressed = {name: part for name, part in pressed.items() if run.touch.depth[part].any()}
    plain = _plain(run, scene)
    ways = np.linalg.norm(np.diff(implicit.pose[:, :, :3], axis=0), axis=2).sum(axis=0)
    lasting = round(LASTING / run.period)
    sliding = run.during("slide") & run.named("lean", "drag")
    return {
        "ticks": len(run.time),
        "mode": run.mode,
        "missed": run.missed,
        "against_split": difference(run.touch, split),
        "against_implicit": {
            **difference(run.touch, implicit, held & ~above),
            "on_the_box": difference(run.touch, implicit, above)["motion"],
            "let_go": difference(run.touch, implicit, ~held)["motion"],
        },
        "bodies": {
            name: {
                "apart": float(np.linalg.norm(run.touch.pose[:, j, :3] - implicit.pose[:, j, :3], axis=1).max()),
                "way": float(ways[j]),
                "fastest": float(np.linalg.norm(run.touch.twist[:, j, :3], axis=1).max()),
                "fastest_implicit": float(np.linalg.norm(implicit.twist[:, j, :3], axis=1).max()),
                "momentum": float(run.momentum[:, j].max()),
            }
            for j, name in enumerate(run.names)
        },
        "limits": _limits(run, plain, friction),
        "penetration": {name: float(run.touch.depth[part].max()) for name, part in pressed.items()},
        "plain_wall": plain,
        "rest": {
            "position": vibration(run.touch.position[rest], run.period),
            "push": vibration(run.touch.push[rest], run.period),
            "position_plain": plain.pop("position", None),
            "implicit": vibration(implicit.position[rest], run.period),
            "depth": {
                "block": float(run.touch.depth[rest].mean()),
                "box": float(run.touch.depth[run.named("stay")].mean()),
                "plain": plain.pop("depth", 0.0),
            },
            "count": scene.count,
        }
        if rest.sum() > 100
        else {},
        "transitions": {
            "run": transitions(run.touch.sticking[sliding], run.touch.load[sliding], lasting),
            "implicit": transitions(implicit.sticking[sliding], implicit.load[sliding], lasting),
            "all": transitions(run.touch.sticking[sliding], run.touch.load[sliding], 1),
        },
        "chatter": chatter(run.touch, run.touch.load > 0.0),
        "energy": {"run": energies(split), "implicit": energies(implicit)},
        "step_time": {"split": split.step_time, "implicit": implicit.step_time},
    }


def _plain(run: TouchRun, scene: TouchScene) -> dict[str, Any]:
    """A plain wall where the tool rests, under the same pushes: its deepest penetration, and what vibrates there."""
    rest = np.flatnonzero(run.named("rest") & ~np.isnan(run.plane[:, 0]))
    if len(rest) < 100:
        return {}
    plane = run.plane[rest[len(rest) // 2]]
    part = run.named("step", "rest")
    position = scene.plain(plane[:3], plane[3:], int(np.flatnonzero(part)[-1]) + 1)
    depth = (plane[:3] - position) @ plane[3:]
    return {
        "penetration": float(depth[part[: len(depth)]].max()),
        "position": vibration(position[run.named("rest")[: len(depth)]], run.period),
        "depth": float(np.maximum(depth[run.named("rest")[: len(depth)]], 0.0).mean()),
    }


def _limits(run: TouchRun, plain: dict[str, Any], p: dict[str, Any]) -> dict[str, float]:
    """Largest distances of run and reference [m], by which wall, reference and friction of parameters p yield."""
    load = float(np.percentile(run.touch.load[run.touch.load > 0.0], 99)) if run.touch.load.any() else 0.0
    normal = plain.get("penetration", 0.0) + load / REFERENCE_STIFFNESS
    along = p["friction_coefficient"] * load / p["stiffness"]
    return {"load": load, "normal": normal, "along": along, "tool": normal + along}


def _claims(claims: Claims, name: str, run: TouchRun, n: dict[str, Any], *, compares: bool) -> None:
    implicit, limits, changes = n["against_implicit"], n["limits"], n["transitions"]
    if compares:
        units = {"motion": "tool [m]", "bodies": "bodies [m]", "push": "push [N]", "friction": "friction [N]"}
        apart = {units[key]: value for key, value in n["against_split"].items()}
        claims.identical(f"The nodes do what one process does ({name}).", apart)
    claims.below(
        f"Bodies get what the tool gets: every change of momentum is that of the forces of the tick ({name}).",
        max((body["momentum"] for body in n["bodies"].values()), default=0.0),
        MOMENTUM,
        "N s",
        about="momentum unaccounted for:",
        unless="" if run.mode == "lockstep" else "not in lockstep",
    )
    _body_claims(claims, name, n["bodies"], limits)
    claims.below(
        f"At fixed bodies and by the box's side the tool moves as in one implicit step ({name}).",
        1e3 * implicit["motion"],
        1e3 * limits["tool"],
        "mm",
        about=f"let go {1e3 * implicit['let_go']:.2f} mm apart, the wall throws it; else at most",
    )
    _rest_claims(claims, name, n)
    claims.say(
        f"Sticking and sliding change no more often than in one implicit step ({name}).",
        f"{changes['run']} changes that last {1e3 * LASTING:g} ms while leaning and dragging, implicit "
        f"{changes['implicit']} (limit: one more); friction varies by {n['chatter']:.3f} N from tick to tick "
        f"(limit {CHATTER:g} N)",
        changes["run"] <= changes["implicit"] + 1 and n["chatter"] < CHATTER if changes["implicit"] else None,
    )
    one, other = n["energy"]["run"], n["energy"]["implicit"]
    apart = {
        "action and reaction [J]": (one["cut_work"], ROUNDING),
        "friction's energy [J]": (abs(one["dissipated"] - other["dissipated"]), SHARE * other["dissipated"]),
    }
    claims.all_below(
        f"The cut makes no energy, and friction takes what it takes in one implicit step ({name}).",
        apart,
        about=f"pushes {1e3 * one['push_work']:+.2f} mJ, implicit {1e3 * other['push_work']:+.2f} mJ; differences:",
        unless="" if other["dissipated"] > SLID else "the tool did not slide",
    )
    _margin_claim(claims, name, n["margins"])
    if run.mode == "realtime":
        text = f"In realtime at most {100 * MISSED:g} % of the ticks are missed ({name})."
        claims.say(text, f"{100 * n['missed']:.2f} %", n["missed"] <= MISSED)


def _body_claims(claims: Claims, name: str, bodies: dict[str, Any], limits: dict[str, float]) -> None:
    if box := bodies.get("box"):
        claims.below(
            f"A pushed box moves as in one implicit step ({name}).",
            1e3 * box["apart"],
            1e3 * limits["normal"],
            "mm",
            about=f"on {1e3 * box['way']:.1f} mm apart by at most",
            unless="" if box["way"] > MOVED else "it was not pushed",
        )
    if ball := bodies.get("ball"):
        claims.near(
            f"A knocked ball becomes as fast as in one implicit step ({name}).",
            1e3 * ball["fastest"],
            1e3 * ball["fastest_implicit"],
            "mm/s",
            relative=SHARE,
            about=f"after the rim {1e3 * ball['apart']:.1f} mm apart on {1e3 * ball['way']:.1f} mm; speed",
            unless="" if ball["way"] > MOVED else "it was not knocked",
        )


def _rest_claims(claims: Claims, name: str, n: dict[str, Any]) -> None:
    rest, plain = n["rest"], n["plain_wall"]
    if not rest or not plain:
        return
    line, there, count, depth = rest["position"], rest["position_plain"], rest["count"], rest["depth"]
    claims.below(
        f"The resting tool does not vibrate ({name}).",
        1e6 * line["amplitude"],
        1e6 * count,
        "µm",
        about=f"at the plain wall {1e6 * there['amplitude']:.1f} µm; push {rest['push']['amplitude']:.3f} N at "
        f"{rest['push']['frequency']:.0f} Hz; highest line above {VIBRATION:g} Hz, at {line['frequency']:.0f} Hz:",
    )
    claims.say(
        f"At rest it is no deeper in the block, or in the top of the box, than in the plain wall ({name}).",
        f"on average {1e6 * depth['block']:.1f} µm, {1e6 * depth['box']:.1f} µm, plain wall "
        f"{1e6 * depth['plain']:.1f} µm (limit: one count more)",
        max(depth["block"], depth["box"]) <= depth["plain"] + count,
    )
    block, box = (n["penetration"].get(body) for body in ("block", "box"))
    wall = f"plain wall {1e3 * plain['penetration']:.3f} mm (limit: one count more)"
    for text, found in (
        ("While it is pushed in it is no deeper in the block than in the plain wall under the same push", block),
        ("Nor is it then deeper in the top of the box, which the table bears", box),
    ):
        shown = None if found is None else found <= plain["penetration"] + count
        claims.say(f"{text} ({name}).", f"{1e3 * (found or 0.0):.3f} mm, {wall}", shown)


def _margin_claim(claims: Claims, name: str, found: dict[str, Any]) -> None:
    light = {kind: lightest(values) for kind, values in found["pushed"].items()}
    words = {kind: f"{1e3 * mass:g} g" if np.isfinite(mass) else "no mass" for kind, mass in light.items()}
    made = found["pushed"]["bodies taken for fixed"][f"{MASSES[-1]:g}"]
    claims.say(
        f"A wall that takes bodies for fixed loses light ones that it pushes; one that is told does not ({name}).",
        f"contact kept down to {words['nodes']}, implicit {words['implicit']}; bodies taken for fixed "
        f"{words['bodies taken for fixed']}, and with reactions one tick later {words['and one tick later']}"
        + (f"; at {1e3 * MASSES[-1]:g} g the pushes then make {1e3 * made['push_work']:.2f} mJ" if made else ""),
        light["nodes"] == light["implicit"] == MASSES[-1] and light["bodies taken for fixed"] > MASSES[-1],
    )


_CAPTION = (
    "Top: edges of the graph of nodes; dashed edges are of the tick before. Then tool and bodies of the run (solid) "
    "and of one implicit step (dotted), push and friction, how far both are apart, and below the spectra of the tool "
    "that rests on the block, and how deep the tool gets that presses on a lighter box. Shaded: pushes (red), slides "
    "(blue), fingers open (green)."
)
_BLACK = {"color": "black", "linestyle": ":"}


def _figure(runs: dict[str, tuple[TouchRun, Touch]], bag: Bag, metrics: dict[str, Any]) -> Figure:
    first = next(iter(runs.values()))[0]
    curves: dict[str, list[Curve]] = {key: [] for key in ("tool", "bodies", "push", "friction", "apart", "rest")}
    for name, (run, implicit) in runs.items():
        _curves(curves, name, run, implicit)
        if run.named("rest").sum() > 100:
            count = np.full(2, 1e6 * metrics[name]["rest"]["count"])
            ends = np.array([1.0, 500.0])
            curves["rest"].append(Curve(ends, count, "one count", {"color": "black", "linestyle": "--"}))
    depths = []
    for name in runs:
        for kind, values in metrics[name]["margins"]["pressed"].items():
            kept = {1e3 * float(mass): 1e3 * found["depth"] for mass, found in values.items() if found}
            depths.append(Curve(np.array(list(kept)), np.array(list(kept.values())), kind, {"marker": "o"}))
    small = {"loc": "upper left", "fontsize": 7}
    rows: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("tool", "tool [mm]", {}),
        ("bodies", "displacement of bodies [mm]", {}),
        ("push", "push [N]", {"ylim": (0.0, 9.0)}),
        ("friction", "friction [N]", {"ylim": (0.0, 2.5)}),
        ("apart", "to one step [mm]", {"yscale": "log", "ylim": (1e-3, 1e1)}),
    )
    log: dict[str, Any] = {"xscale": "log", "yscale": "log"}
    figure = panels(
        GraphPanel.of(bag),
        *(Panel(words, curves[key], "time [s]", settings, first, small) for key, words, settings in rows),
        [
            Panel("tool at rest [µm]", curves["rest"], "frequency [Hz]", {**log, "ylim": (1e-4, 1e2)}),
            Panel("depth in its top [mm]", depths, "mass of the box [g]", log),
        ],
        size=(13, 19),
        height_ratios=(3, 3, 2, 2, 2, 2, 3),
    )
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
    for j, body in enumerate(run.names):
        start, label = touch.pose[0, j, :3], f"{body}, {name}"
        for one, style, words in ((touch, {}, label), (implicit, _BLACK, "")):
            moved = np.linalg.norm(one.pose[:n, j, :3] - start, axis=1)
            curves["bodies"].append(Curve(t, 1e3 * moved, words, style))
    for key, one, other in (
        ("push", touch.load, implicit.load),
        ("friction", *(np.linalg.norm(x.friction, axis=1) for x in (touch, implicit))),
    ):
        curves[key].append(Curve(t, one[:n], name, {"linewidth": 0.6}))
        curves[key].append(Curve(t, other[:n], "one implicit step", _BLACK))
    distance = np.linalg.norm(touch.position[:n] - implicit.position[:n], axis=1)
    curves["apart"].append(Curve(t, 1e3 * distance, f"tool, {name}"))
    for j, body in enumerate(run.names):
        distance = np.linalg.norm(touch.pose[:n, j, :3] - implicit.pose[:n, j, :3], axis=1)
        curves["apart"].append(Curve(t, 1e3 * distance, f"{body}, {name}"))
    rest = run.named("rest")
    if rest.sum() > 100:
        for signal, label in ((touch.position, name), (implicit.position, "one implicit step")):
            frequency, amplitude = spectrum(signal[: len(run.time)][rest[: len(signal)]], run.period)
            curves["rest"].append(Curve(frequency[1:], 1e6 * amplitude[1:], label))
