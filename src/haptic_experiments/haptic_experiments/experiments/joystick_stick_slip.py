"""Report of two frictional contacts as a network of nodes on the joystick (Fig. 10 of Kikuuwe et al.).

The run is compared with computations without nodes (`haptic_experiments.kit.stick_slip`); the cost of the tick of delay
is measured with lighter slabs and with stiffer contacts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.figures import shade_stretches
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.signals import largest, phases, rms
from haptic_experiments.kit.stick_slip import (
    LIGHTEST,
    LIGHTEST_KEYS,
    NAMES,
    PAPER,
    STIFFEST_KEYS,
    Scene,
    StickSlip,
    energy,
    margins,
    true_velocity,
)
from haptic_friction import ContactNetwork, ImplicitNetwork
from haptic_friction.reference.networks import stuck_radius
from haptic_launch.experiments import load_experiment

#: largest effect of rounding between the nodes and the library over a run [m], [N]: the same sums in another order
SAME_MOTION, SAME_FORCE = 1e-12, 1e-8
#: shorter stretches of sticking are not counted as phases [s]
SHORTEST = 5e-3
#: RMS by which the implicit step may move the tool and the slabs, and the forces, otherwise, over the RMS of each
APART = 0.05
#: fraction of the ticks that may be missed in realtime
MISSED = 0.01
#: fraction of the tool's work that the balance of energy may leave open
OPEN = 0.02
#: the hand's last phase is rest; it begins so long before the end [s]
REST = 0.7
#: difference of the simulated limit from that of the map: steps of the bisection are 2 %, and just beyond it the
#: instability has to grow
MAP = 0.05
#: work of one count of the encoders against the friction force [J]: 12 um times 5 N
COUNT_WORK = 6e-5
#: words of the margins, by delay [ticks]
LATE, DELAYED = ("one tick late", "two ticks late"), ("no delay", "one tick of delay")


def missed(bag: Bag) -> float:
    """Fraction of the device's ticks that went on without an answer of all nodes."""
    counts = [event.detail for event in bag.events if event.source == "device" and "missed" in event.detail]
    return float(counts[-1]["missed"] / counts[-1]["ticks"]) if counts else float("nan")


def difference(one: StickSlip, other: StickSlip) -> dict[str, float]:
    """Largest and RMS difference of tool, slabs and forces [m], [N], and of the dissipated energy [J]."""
    n = min(len(one.tool), len(other.tool))
    apart = {name: getattr(one, name)[:n] - getattr(other, name)[:n] for name in ("tool", "position", "force")}
    return {
        **{name: largest(values) for name, values in apart.items()},
        **{f"{name}_rms": rms(values) for name, values in apart.items()},
        "dissipated": float(one.dissipated.sum() - other.dissipated.sum()),
    }


def transitions(run: StickSlip, period: float) -> list[dict[str, int]]:
    """Of each contact: phases of sticking of at least `SHORTEST`, and changes between sticking and sliding in all."""
    shortest = max(1, round(SHORTEST / period))
    return [
        {"phases": len(phases(flags, shortest)), "changes": int(np.count_nonzero(np.diff(flags)))}
        for flags in run.sticking.T.astype(int)
    ]


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    numbers: dict[str, Any] = {}
    claims = Claims()
    runs: dict[str, tuple[Scene, StickSlip, StickSlip]] = {}
    for name, bag in bags.items():
        scene, home = Scene.of(bag)
        run = StickSlip.of_bag(bag, home)
        implicit = scene.together(ImplicitNetwork, len(run.tool), delay=scene.delay)
        numbers[name] = measure(bag, scene, run, implicit)
        runs[name] = (scene, run, implicit)
        _claim_run(claims, name, numbers[name])
    first = next(iter(bags.values()))
    margin = margins(first, next(iter(runs.values()))[0])
    _claim_margins(claims, margin)
    parameters = {source: first.parameters(source) for source in ("contact", *NAMES)}
    metrics = {"runs": numbers, "margins": margin}
    return Report(metrics, claims, lambda: _figure(runs, first, margin), _CAPTION, parameters)


def measure(bag: Bag, scene: Scene, run: StickSlip, implicit: StickSlip) -> dict[str, Any]:
    """Numbers of one run."""
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
    return {
        "mode": bag.custom["mode"],
        "ticks": len(run.tool),
        "missed": missed(bag),
        "stopped": int(np.count_nonzero(device["status"])),
        "command_delay_ticks": scene.delay,
        "against_library": difference(run, scene.played(run.base, run.tool)) if complete else None,
        "against_split": difference(run, split),
        "against_implicit": difference(run, implicit),
        "split_against_implicit": difference(split, implicit),
        "rms": {field: rms(getattr(run, field)) for field in ("tool", "position", "force")},
        "transitions": {name: transitions(one, T) for name, one in counted.items()},
        "stick_share": run.sticking.mean(axis=0).tolist(),
        "rest_change": {
            name: [rms(change) for change in np.diff(one.force[-rest:], axis=0).T]
            for name, one in (("run", run), ("implicit", implicit))
        },
        "energy": energy(run, scene)._asdict(),
        "energy_implicit": energy(implicit, scene)._asdict(),
        "latency_p50_p99": {f"{a} -> {b}": seconds for (a, b), seconds in latencies(bag).items()},
        "step_time": {"split": split.step_time, "implicit": implicit.step_time},
    }


def _by_contact(values: list[Any]) -> str:
    return ", ".join(f"{contact} {value}" for contact, value in zip(NAMES, values, strict=True))


def _claim_run(claims: Claims, name: str, n: dict[str, Any]) -> None:
    apart, size, counted = n["against_implicit"], n["rms"], n["transitions"]
    library = n["against_library"] or {"position": np.nan, "force": np.nan}
    # the network leaves a stopped device alone, and missed ticks are no stick-slip
    sound, lockstep = not n["stopped"] and not n["missed"] > MISSED, n["mode"] == "lockstep"
    claims.say(
        f"The network of nodes is the library's network, eq. (60), but for rounding ({name}).",
        f"motion differs by {library['position']:.1e} m, forces by {library['force']:.1e} N at the most (limits "
        f"{SAME_MOTION:g} m, {SAME_FORCE:g} N)",
        library["position"] <= SAME_MOTION and library["force"] <= SAME_FORCE,
        unless="" if n["against_library"] else "ticks were missed",
    )
    sticks = all(0.1 < share < 0.95 for share in n["stick_share"]) and all(c["phases"] > 4 for c in counted["run"])
    claims.say(
        f"Both contacts stick and slip ({name}).",
        f"{_by_contact([c['phases'] for c in counted['run']])} stick phases of at least {1e3 * SHORTEST:g} ms (limit 5)"
        f", {_by_contact([f'{100 * share:.0f} %' for share in n['stick_share']])} of the time (limits 10 and 95 %)",
        sticks if sound else None,
    )
    words = {kind: _by_contact([of["changes"] for of in contacts]) for kind, contacts in counted.items()}
    changes = {kind: np.array([of["changes"] for of in contacts]) for kind, contacts in counted.items()}
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
        f"Bodies and contacts in one implicit step move the tool and the slabs the same way ({name}).",
        f"tool {1e3 * apart['tool']:.3f} mm, slabs {1e3 * apart['position']:.3f} mm, forces {apart['force']:.2f} N "
        f"apart at the most; RMS {1e3 * apart['tool_rms']:.3f} mm, {1e3 * apart['position_rms']:.3f} mm, "
        f"{apart['force_rms']:.3f} N (limit {100 * APART:g} % of each RMS)",
        all(apart[f"{field}_rms"] < APART * size[field] for field in size) if lockstep else None,
    )
    mj = {key: 1e3 * value for key, value in n["energy"].items()}
    claims.say(
        f"The network is passive at the tool, and its energy is accounted for ({name}).",
        f"work {mj['work']:.1f} mJ, stored {mj['stored']:.1f} mJ, rubbed {mj['rubbed']:.1f} mJ, damped "
        f"{mj['damped']:.1f} mJ, open {mj['open']:.1f} mJ (limit {100 * OPEN:g} % of the work; implicit: "
        f"{1e3 * n['energy_implicit']['open']:.1f} mJ); work less stored at least {mj['least_loss']:.4f} mJ (limit "
        f"{-1e3 * COUNT_WORK:g} mJ)",
        n["energy"]["least_loss"] > -COUNT_WORK and abs(mj["open"]) < OPEN * mj["work"] if sound else None,
    )
    if not lockstep:
        claims.say(
            f"At 1 kHz at most 1 % of the ticks are missed, and none is spent in the safe state ({name}).",
            f"{100 * n['missed']:.2f} %; {n['stopped']} ticks in the safe state",
            n["missed"] <= MISSED and not n["stopped"],
        )


def _claim_margins(claims: Claims, n: dict[str, Any]) -> None:
    for name, words in (("run", "the run's contacts"), ("paper", "the paper's contacts")):
        found = [(n[name][key], late) for key, late in zip(LIGHTEST_KEYS, LATE, strict=True)]
        parts = [
            f"{late}: {one['simulated']:.3f} of the mass, by the map {one['stuck_map']:.3f}" for one, late in found
        ]
        claims.say(
            f"With {words} the split network is unstable below the mass that its linear map tells, the implicit one at "
            "none.",
            f"{'; '.join(parts)} (limit {100 * MAP:g} % apart); implicit quiet down to {n[name]['implicit']:g} (limit "
            f"{LIGHTEST:g})",
            all(abs(one["simulated"] / one["stuck_map"] - 1.0) < MAP for one, _ in found)
            and n[name]["implicit"] == LIGHTEST,
        )
    bears = [(n[key], words) for key, words in zip(STIFFEST_KEYS, DELAYED, strict=True)]
    parts = [
        f"{words}: split {1e-3 * one['split']:.0f} kN/m, implicit {1e-3 * one['implicit']:.0f} kN/m"
        for one, words in bears
    ]
    claims.say(
        "At the joystick the implicit step bears a stiffer contact than the split one.",
        f"{'; '.join(parts)} ({1e-3 * n['tried']:.0f} kN/m at the most)",
        all(one["split"] < one["implicit"] for one, _ in bears),
    )


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving; dashed edges are of the tick "
    "before. Then tool and slabs along x, and the forces of both contacts; shaded: it sticks. Below: how far the run "
    "is from bodies and contacts in one implicit step, and the largest eigenvalue of a period in which both contacts "
    "stick, over the slabs' mass; crosses: where the simulated network became restless."
)


def _figure(runs: dict[str, tuple[Scene, StickSlip, StickSlip]], bag: Bag, margin: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(12, 15), layout="constrained")
    grid = figure.add_gridspec(5, 2, height_ratios=(4.2, 3, 2.2, 2.2, 3))
    place = figure.add_subplot(grid[1, :])
    forces = [figure.add_subplot(grid[row, :], sharex=place) for row in (2, 3)]
    apart = figure.add_subplot(grid[4, 0])
    draw(figure.add_subplot(grid[0, :]), load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    slabs = [(f"slab {i + 1}", f"C{i}") for i in range(2)]
    for style, (name, (scene, run, implicit)) in zip(("-", ":"), runs.items(), strict=False):
        t, n = scene.period * np.arange(len(run.tool)), min(len(run.tool), len(implicit.tool))
        place.plot(t, 1e3 * run.tool, style, color="0.6", label=f"tool, {name}")
        apart.plot(t[:n], 1e6 * (run.tool[:n] - implicit.tool[:n]), style, color="0.4", label=f"tool, {name}")
        for i, (label, color) in enumerate(slabs):
            place.plot(t, 1e3 * run.position[:, i], style, color=color, label=f"{label}, {name}")
            off = 1e6 * (run.position - implicit.position)[:n, i]
            apart.plot(t[:n], off, style, color=color, label=f"{label}, {name}")
            forces[i].plot(t, run.force[:, i], style, color=color, linewidth=0.8, label=f"{NAMES[i]}, {name}")
    scene, run, _ = next(iter(runs.values()))
    outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 7}
    for i, axes in enumerate(forces):
        shade_stretches(axes, scene.period * np.arange(len(run.tool)), run.sticking[:, i], SHORTEST, "0.9")
        axes.set_ylabel(f"{NAMES[i]} contact [N]")
        axes.legend(**outside)
    place.set_ylabel("along x [mm]")
    place.legend(**outside)
    forces[-1].set_xlabel("time [s]")
    apart.set(xlabel="time [s]", ylabel="to one implicit step [µm]")
    apart.legend(loc="upper left", fontsize=7, ncols=2)
    low, high = apart.get_ylim()
    apart.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
    _draw_map(figure.add_subplot(grid[4, 1]), scene, margin)
    return figure


def _draw_map(axes: Any, scene: Scene, margin: dict[str, Any]) -> None:
    """Largest eigenvalue over the slabs' mass, of the run's contacts and the paper's."""
    masses = np.geomspace(0.03, 3.0, 200)
    kinds: list[tuple[str, str, Any, dict[str, Any], str]] = [
        ("C3", LATE[0], ContactNetwork, {"delay": 0}, LIGHTEST_KEYS[0]),
        ("C4", LATE[1], ContactNetwork, {"delay": 1}, LIGHTEST_KEYS[1]),
        ("C2", "implicit", ImplicitNetwork, {}, ""),
    ]
    for style, (name, elements) in zip(("-", "--"), (("run", scene.elements), ("paper", [PAPER, PAPER])), strict=True):
        for color, words, kind, options, key in kinds:
            radius = [stuck_radius(scene.network(kind, elements=elements, lighter=m, **options)) for m in masses]
            axes.plot(masses, radius, style, color=color, label=f"{words}, contacts of the {name}")
            if key:
                axes.plot(margin[name][key]["simulated"], 1.0, "x", color=color)
    axes.axhline(1.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xscale="log", ylim=(0.8, 1.6), xlabel="mass of the slabs, over the run's", ylabel="largest eigenvalue")
    axes.legend(fontsize=7)
