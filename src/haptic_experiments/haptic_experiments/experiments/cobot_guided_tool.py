"""Report of the guided tool: constraint, contact and friction node on an admittance display.

Beside the run stands the same physics in one process: the same display and hand, the tool and the bodies that it pushes
in one convex problem (`kit.guided_world`), without delay. The in-process graph of the three nodes stands beside it,
too, so that its difference from the run is the effect of the messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks
from haptic_devices.device import DeviceError
from haptic_experiments import graph
from haptic_experiments.kit.composed import latency_metrics, variation
from haptic_experiments.kit.display import mechanism_of
from haptic_experiments.kit.figures import Curve, Panel, shade
from haptic_experiments.kit.guided_world import GuidedStep, RunAwayError
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.split_limit import BODY_MASS, NEAR, limits
from haptic_launch.experiments import load_experiment

NAMESPACE = "/cobotic_hand_controller"
#: topics that make a `Pushing`
TOPICS = ("device_state", "constraints/state", "contact/state", "contact/contacts", "friction/state")
#: fraction by which friction over the guide's force may differ from the coefficient where it slides: rounding
COEFFICIENT = 1e-9
#: how far the reference may be from that of one implicit step: a tick at the fastest push of 0.15 m/s [m]
APART = 1.5e-4
#: how far a body may be from that one's in the end: this fraction of its path, or this [m]
BODY_SHARE, BODY = 0.02, 2e-4
#: energy that the delay may make, as a fraction of what contacts and friction took
MADE = 0.02
#: resting pressed, contact and friction may vary so from tick to tick: sensor noise of 0.02 N through the tool [N]
CHATTER = 0.05
#: residual of the guide [m]
RESIDUAL = 1e-12
#: the resting tool has settled in this time [s], and is let go so long before the end of the press
SETTLED, RAMP = 0.6, 0.4
#: lighter tools that are tried [kg], and for how long: the first push of the hand's plan [s]
LIGHTER, FIRST_PUSH = (0.2, 0.1, 0.05), 2.7
#: contact may vary with a lighter tool by so many times what it does in one implicit step
HAMMERS = 2.0


@dataclass(frozen=True)
class Pushing:
    """Motion and forces of a run; rows are ticks, base frame.

    Attributes:
        position, velocity: Of the reference (n, 3) [m], [m/s].
        surface: Force of the guide on the tool along its normal (n,) [N].
        contact, friction: On the tool, found in that tick (n, 3) [N].
        bodies: Positions, world frame (n, b, 3) [m].
        slides: The friction does not stick (n,).
        step_time: Of a tick's rendering, median [s]; nan if not measured.
    """

    position: np.ndarray
    velocity: np.ndarray
    surface: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    bodies: np.ndarray
    slides: np.ndarray
    step_time: float = math.nan

    def shortened(self, n: int) -> Pushing:
        """The first n ticks."""
        names = ("position", "velocity", "surface", "contact", "friction", "bodies", "slides")
        return replace(self, **{name: getattr(self, name)[:n] for name in names})

    @classmethod
    def of_ticks(cls, ticks: Ticks, body: int) -> Pushing:
        """Takes the rows of `TOPICS`, of a bag or of a graph; `body` is the number of the tool in the world."""
        reference, contacts, friction = (ticks[name] for name in ("constraints/state", *TOPICS[3:]))
        n = len(ticks.tick)
        return cls(
            position=reference["pose"][:, :3],
            velocity=reference["twist"][:, :3],
            surface=reference["multipliers"][:, 0],
            contact=np.array([_force_on(contacts, k, body) for k in range(n)]),
            friction=-np.asarray(friction["force"]),
            bodies=np.asarray(ticks["contact/state"]["position"]).reshape(n, -1, 3),
            slides=~np.asarray(friction["sticking"], dtype=bool)[:, 0],
        )


@dataclass(frozen=True)
class GuidedRun(PhasedRun):
    """Signals of a bag.

    Attributes:
        period, time, phases: As in `PhasedRun`.
        names: Of the bodies.
        did: Motion and forces.
        residual: Of the guide's constraint (n,) [m].
        kinetic_energy: Of the tool (n,) [J].
        missed: Number of ticks that some node did not answer.
        mode: Of the loop.
    """

    period: float
    time: np.ndarray
    phases: list[dict[str, Any]]
    names: list[str]
    did: Pushing
    residual: np.ndarray
    kinetic_energy: np.ndarray
    missed: int
    mode: str

    @classmethod
    def from_bag(cls, bag: Bag) -> GuidedRun:
        """Takes the ticks that all topics have.

        Raises:
            HapticError: There are fewer than two.
        """
        ticks = bag.ticks(NAMESPACE, *TOPICS)
        reference = ticks["constraints/state"]
        return cls(
            period=ticks.period,
            time=ticks.time,
            phases=bag.started("device").get("phases", []),
            names=[str(name) for name in bag.topics[f"{NAMESPACE}/scene"]["names"][0]],
            did=Pushing.of_ticks(ticks, bag.parameters("constraints")["contact_body"]),
            residual=reference["constraint_residual"],
            kinetic_energy=reference["kinetic_energy"],
            missed=len(bag.topics[f"{NAMESPACE}/device_state"]["tick"]) - len(ticks.tick),
            mode=bag.custom["mode"],
        )


def _force_on(contacts: Mapping[str, Any], k: int, body: int) -> np.ndarray:
    """Force of all contacts of a row on a body (3,) [N]."""
    a, b = (np.asarray(contacts[name][k]) for name in ("body_a", "body_b"))
    sign = (b == body).astype(float) - (a == body)
    if not sign.any():
        return np.zeros(3)
    normal, tangential = (np.asarray(contacts[n][k]).reshape(-1, 3) for n in ("normal", "tangential_impulse"))
    impulse = np.asarray(contacts["normal_impulse"][k])[:, None] * normal + tangential
    return np.asarray(sign @ impulse / contacts["period"][k])


def split(bag: Bag, ticks: int, mass: float | None = None) -> Pushing:
    """Runs the graph of the nodes.

    Args:
        bag: Of the run.
        ticks: Number of ticks.
        mass: Of the tool [kg]; None: that of the run.

    Raises:
        DeviceError: The display has stopped, with a mass of its own.
    """
    made = graph.of_bag(bag, changes={"constraints": _constraints(bag, mass)})
    done = made.run(ticks, topics=TOPICS, raise_on_stop=mass is not None)
    did = Pushing.of_ticks(done.ticks(*TOPICS), bag.parameters("constraints")["contact_body"])
    return replace(did, step_time=done.step_time())


def implicit(bag: Bag, ticks: int, mass: float | None = None) -> Pushing:
    """Runs with the tool as a free body of the world, on its guide and with its friction, in one step.

    Args:
        bag, ticks, mass: See `split`.

    Raises:
        RunAwayError: The display does not follow the reference.
        DeviceError: The display has stopped, with a mass of its own.
    """
    step = partial(GuidedStep, contact=bag.parameters("contact"), friction=bag.parameters("friction"))
    changes = {"constraints": _constraints(bag, mass), "device": {"command_delay_ticks": 0}}
    made = graph.of_bag(bag, only=("constraints",), changes=changes, steps={"constraints": step})
    done = made.run(ticks, topics=("constraints/state",), raise_on_stop=mass is not None)
    return Pushing(**done.columns["constraints"], step_time=done.step_time())  # type: ignore[arg-type]


def _constraints(bag: Bag, mass: float | None) -> dict[str, Any]:
    """Parameters of the constraint node that a mass of the tool changes."""
    entries = bag.parameters("constraints")["mechanism_parameters"]
    return {} if mass is None else {"mechanism_parameters": graph.with_entries(entries, {"mass": mass})}


def difference(one: Pushing, other: Pushing) -> dict[str, Any]:
    """Largest distance of references [m], contact and friction [N], and of bodies, at any time and in the end [m]."""
    n = min(len(one.position), len(other.position))
    a, b = one.shortened(n), other.shortened(n)
    return {
        "motion": float(np.linalg.norm(a.position - b.position, axis=1).max()),
        "contact": float(np.linalg.norm(a.contact - b.contact, axis=1).max()),
        "friction": float(np.linalg.norm(a.friction - b.friction, axis=1).max()),
        "bodies": np.linalg.norm(a.bodies - b.bodies, axis=2).max(axis=0).tolist(),
        "bodies_end": np.linalg.norm(a.bodies[-1] - b.bodies[-1], axis=1).tolist(),
    }


def energies(run: Pushing, *, late: int) -> dict[str, float]:
    """Work of contacts and friction on the tool [J], and what the delayed edges add to it.

    A force acts on the tool `late` steps after the step in which it is found. World and friction themselves do work
    over the tool's displacement in the step in which it is found; the delay makes, or takes, the difference.
    """
    way = np.diff(run.position, axis=0)
    found: dict[str, float] = {}
    for name, force in (("contact", run.contact[1:]), ("friction", run.friction[1:])):
        given = float(np.sum(force * way))
        taken = float(np.sum(force[: len(force) - late] * way[late:]))
        found |= {name: taken, f"{name}_made": taken - given}
    return found


def lighter(bag: Bag, ticks: int) -> list[dict[str, float | None]]:
    """Standard deviation of the contact force from tick to tick in the first push [N], with lighter tools.

    None where the reference runs away from the display.
    """
    rows = []
    for mass in LIGHTER:
        row: dict[str, float | None] = {"mass": mass}
        for name, play in (("split", split), ("implicit", implicit)):
            try:
                row[name] = variation(play(bag, ticks, mass).contact)
            except (RunAwayError, DeviceError):
                row[name] = None
        rows.append(row)
    return rows


# --- report -------------------------------------------------------------------------------------------------------


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims = Claims()
    runs: dict[str, tuple[GuidedRun, Pushing]] = {}
    first = next(iter(bags.values()))
    period = first.parameters("device")["period"]
    study = limits(period)
    for name, bag in bags.items():
        run = GuidedRun.from_bag(bag)
        one_step, nodes = implicit(bag, len(run.time)), split(bag, len(run.time))
        pressing = rest(run)
        numbers = metrics[name] = {
            "ticks": len(run.time),
            "missed_ticks": run.missed,
            "residual": float(np.abs(run.residual).max()),
            "surface": [float(run.did.surface.min()), float(run.did.surface.max())],
            "largest_contact": float(np.linalg.norm(run.did.contact, axis=1).max()),
            "coefficient": coefficients(run),
            "way": dict(zip(run.names, ways(run.did).tolist(), strict=True)),
            "energy": energies(run.did, late=1),
            "energy_implicit": energies(one_step, late=0),
            "kinetic_energy": float(run.kinetic_energy.max()),
            "chatter": chatter(run.did, pressing),
            "chatter_implicit": chatter(one_step, pressing),
            "against_split": difference(run.did, nodes),
            "against_implicit": difference(run.did, one_step),
            "latency_p50_p99": latency_metrics(bag),
            "step_time": {"implicit": one_step.step_time, "split": nodes.step_time},
        }
        runs[name] = (run, one_step)
        _claims(claims, name, run, numbers, bag)
    run, one_step = next(iter(runs.values()))
    ticks = min(round(FIRST_PUSH / period), len(run.time))
    tools: list[dict[str, float | None]] = [
        {
            "mass": mechanism_of(first.parameters("constraints")).parameters["mass"],
            "split": variation(run.did.contact[:ticks]),
            "implicit": variation(one_step.contact[:ticks]),
        },
        *lighter(first, ticks),
    ]
    _study_claims(claims, study, tools)
    parameters = {source: first.parameters(source) for source in ("constraints", "contact", "friction")}
    return Report(
        {"runs": metrics, "limits": study, "lighter": tools}, claims, lambda: _figure(runs, first), _CAPTION, parameters
    )


def rest(run: GuidedRun) -> np.ndarray:
    """Ticks (n,) at which the tool rests pressed, settled."""
    parts = [phase for phase in run.phases if phase["name"] == "press"]
    flags = np.zeros(len(run.time), dtype=bool)
    for phase in parts:
        flags[run.part(phase["start"] + SETTLED, phase["end"] - RAMP)] = True
    return flags


def chatter(did: Pushing, part: np.ndarray) -> float:
    """Standard deviation of contact and friction from tick to tick [N], of the worst component."""
    return max(variation(did.contact, part), variation(did.friction, part))


def ways(did: Pushing) -> np.ndarray:
    """Length of the path of each body (b,) [m]."""
    return np.asarray(np.linalg.norm(np.diff(did.bodies, axis=0), axis=2).sum(axis=0))


def coefficients(run: GuidedRun) -> dict[str, float]:
    """Friction over the guide's force in each pressed slide, where it is farthest from its median."""
    found, did = {}, run.did
    for phase in run.phases:
        part = run.part(phase["start"], phase["end"])
        middle = np.arange(part.start, part.stop)[did.slides[part] & (np.abs(did.surface[part]) > 1.0)]
        if phase["kind"] == "push" and len(middle) > 20:
            share = np.linalg.norm(did.friction[middle], axis=1) / np.abs(did.surface[middle])
            found[phase["name"]] = float(share[np.abs(share - np.median(share)).argmax()])
    return found


def _claims(claims: Claims, name: str, run: GuidedRun, n: dict[str, Any], bag: Bag) -> None:
    split, one_step, energy = n["against_split"], n["against_implicit"], n["energy"]
    mu = bag.parameters("friction")["friction_coefficient"]
    if run.mode == "lockstep" and not bag.parameters("device")["command_delay_ticks"]:
        same = {"reference [m]": split["motion"], "contact [N]": split["contact"], "friction [N]": split["friction"]}
        same["bodies [m]"] = max(split["bodies"])
        text = f"The nodes do what one process does that takes contact and friction of the tick before ({name})."
        claims.identical(text, same)
    claims.below(
        f"The tool stays on its guide while it is pressed and pushes ({name}).",
        n["residual"],
        RESIDUAL,
        "m",
        about=f"the guide bears {n['surface'][0]:.1f} to {n['surface'][1]:.1f} N, the bodies up to "
        f"{n['largest_contact']:.1f} N; residual at most",
    )
    text = f"Sliding friction is {mu:g} times the guide's force ({name})."
    claims.all_near(text, n["coefficient"], mu, relative=COEFFICIENT)
    claims.below(
        f"The tool that rests pressed does not chatter ({name}).",
        n["chatter"],
        CHATTER,
        "N",
        about=f"they vary from tick to tick in one implicit step by {n['chatter_implicit']:.4f} N, here by",
        unless="" if rest(run).any() else "the tool did not rest",
    )
    apart = {"reference [µm]": (1e6 * one_step["motion"], 1e6 * APART)}
    for body, end in zip(run.names, one_step["bodies_end"], strict=True):
        apart[f"{body} in the end [mm]"] = (1e3 * end, 1e3 * max(BODY, BODY_SHARE * n["way"][body]))
    claims.all_below(
        f"All in one implicit step moves tool and things the same way ({name}).",
        apart,
        about=f"contact {one_step['contact']:.2f} N apart (where it strikes), friction {one_step['friction']:.2f} N;",
    )
    took = abs(energy["contact"]) + abs(energy["friction"])
    made = energy["contact_made"] + energy["friction_made"]
    claims.say(
        f"The cut makes no energy to speak of ({name}).",
        f"contacts took {-1e3 * energy['contact']:.1f} mJ and friction {-1e3 * energy['friction']:.1f} mJ; the "
        f"tick of delay added {1e3 * energy['contact_made']:+.2f} and {1e3 * energy['friction_made']:+.2f} mJ, "
        f"{100.0 * made / took if took else 0.0:+.2f} % (limit {100 * MADE:g} %)",
        abs(made) < MADE * took if took else None,
    )


def _study_claims(claims: Claims, study: list[dict[str, float]], tools: list[dict[str, float | None]]) -> None:
    lightest = {
        f"{1e3 * row['closed_form']:.3g} g by the closed form": row["split"] / row["closed_form"] - 1.0 for row in study
    }
    numbers = {f"deviation from {words}": (abs(off), 2.0 * NEAR) for words, off in lightest.items()}
    numbers["variation of a hundredth of that in one step"] = (max(row["implicit_varies"] for row in study), 1e-3)
    text = (
        f"The lightest tool that pushes a thing of {BODY_MASS:g} kg is that of (k T² + 2 d T)(1/m - 1/M) = 4; in one "
    )
    claims.all_below(text + "implicit step there is none.", numbers)

    def words(value: float | None) -> str:
        return "lost" if value is None else f"{value:.2f}"

    rows = [f"{row['mass']:g} kg: {words(row['split'])} and {words(row['implicit'])} N" for row in tools]
    nodes, one_step = tools[1]["split"], tools[1]["implicit"]
    claims.say(
        "A lighter tool hammers on what it pushes where the graph is cut, and much less in one implicit step.",
        f"contact varies from tick to tick in the first push, split and implicit: {'; '.join(rows)} "
        f"(limit {HAMMERS:g} times, at {tools[1]['mass']:g} kg)",
        nodes is not None and one_step is not None and nodes > HAMMERS * one_step,
    )


_CAPTION = (
    "Top: edges of the graph of nodes, with the time from publishing to receiving; delayed edges are dashed. Left "
    "below: the table from above, tool grey, bodies from the hollow to the full mark, dotted those of one implicit "
    "step. Right: force of the guide, of the bodies and of the friction on the tool, and the distances of tool and "
    "bodies from one implicit step. Shaded: the hand presses with 20 N."
)


def _figure(runs: dict[str, tuple[GuidedRun, Pushing]], bag: Bag) -> Figure:
    figure = Figure(figsize=(13, 13), layout="constrained")
    grid = figure.add_gridspec(4, 2, height_ratios=(4, 2, 2, 2), width_ratios=(1.0, 1.3))
    draw(figure.add_subplot(grid[0, :]), load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    first, one_step = next(iter(runs.values()))
    origin = np.array(bag.parameters("constraints")["world_position"])
    _draw_table(figure.add_subplot(grid[1:, 0]), first, one_step, origin)
    guide, force, apart = list[Curve](), list[Curve](), list[Curve]()
    for name, (run, one_step) in runs.items():
        did, n = run.did, min(len(run.time), len(one_step.position))
        guide.append(Curve(run.time, did.surface, f"guide, {name}"))
        force.append(Curve(run.time, np.linalg.norm(did.contact, axis=1), f"bodies, {name}", {"linewidth": 0.6}))
        force.append(Curve(run.time, np.linalg.norm(did.friction, axis=1), f"friction, {name}"))
        distance = np.linalg.norm((did.position[:n] - one_step.position[:n]), axis=1)
        apart.append(Curve(run.time[:n], 1e6 * distance, f"reference, {name}"))
        distance = np.linalg.norm(did.bodies[:n] - one_step.bodies[:n], axis=2).max(axis=1)
        apart.append(Curve(run.time[:n], 1e6 * distance, f"worst body, {name}"))
    log: dict[str, Any] = {"yscale": "log", "ylim": (0.1, None)}
    none: dict[str, Any] = {}
    rows = (("force (N)", guide, none), ("force (N)", force, none), ("to one step (µm)", apart, log))
    for i, (words, curves, settings) in enumerate(rows, start=1):
        axes = figure.add_subplot(grid[i, 1])
        legend = {"loc": "upper left", "fontsize": 8}
        Panel(words, curves, "time (s)" if i == 3 else "", settings, legend=legend).draw(axes)
        shade(axes, first, ("push",))
    return figure


def _draw_table(axes: Axes, run: GuidedRun, implicit: Pushing, origin: np.ndarray) -> None:
    axes.plot(*(1e3 * run.did.position[:, :2].T), color="0.75", linewidth=2.5, label="tool")
    axes.set_prop_cycle(color=[colormaps["tab10"](i) for i in range(10)])
    moved = ways(run.did) > 0.0
    for i, name in enumerate(run.names):
        if not moved[i] or np.abs(run.did.bodies[:, i, :2] + origin[:2] - run.did.position[:, :2]).max() < 1e-3:
            continue
        way, due = (1e3 * (did.bodies[:, i, :2] + origin[:2]) for did in (run.did, implicit))
        (line,) = axes.plot(*way.T, linewidth=1.0, label=name)
        axes.plot(*due.T, ":", color=line.get_color(), linewidth=1.5)
        axes.plot(*way[0], marker="s", markersize=9, markerfacecolor="none", color=line.get_color())
        axes.plot(*way[-1], marker="s", markersize=9, color=line.get_color())
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="seen from above")
    axes.set_aspect("equal")
    axes.legend(fontsize=8)
