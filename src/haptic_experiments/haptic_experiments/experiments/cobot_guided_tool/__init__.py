"""Report of the guided tool: constraint, contact and friction node on an admittance display.

The run is compared with a single-process reference of the same physics: the same display and hand, the tool and the
bodies that it pushes in one convex problem (`reference`), without delay. It is also compared with the in-process
graph of the three nodes; the difference of that graph from the run is the effect of the messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.experiments.cobot_guided_tool import pushing
from haptic_experiments.experiments.cobot_guided_tool.pushing import (
    FIRST_PUSH,
    Difference,
    Energies,
    GuidedRun,
    Pushing,
    Tool,
)
from haptic_experiments.experiments.cobot_guided_tool.split_limit import BODY_MASS, NEAR, SplitLimit, limits
from haptic_experiments.kit.composed import ComposedNumbers, GraphPanel, SplitAndImplicit, latency_metrics, variation
from haptic_experiments.kit.display import mechanism_of
from haptic_experiments.kit.figures import Curve, Panel, shade
from haptic_experiments.kit.kept import kept
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report, key
from haptic_experiments.kit.signals import largest, path_length

#: fraction by which friction over the guide's force may differ from the coefficient where it slides: rounding
COEFFICIENT = 1e-9
#: largest distance of the reference from that of one implicit step: a tick at the fastest push of 0.15 m/s [m]
APART = 1.5e-4
#: largest distance of a body from its position by one implicit step in the end: this fraction of its path, or this [m]
BODY_SHARE, BODY = 0.02, 2e-4
MADE = 0.02  #: largest energy that the delay makes, as a fraction of the energy that contacts and friction took
#: largest variation of contact and friction from tick to tick at rest: sensor noise of 0.02 N through the tool [N]
CHATTER = 0.05
RESIDUAL = 1e-12  #: residual of the guide [m]
HAMMERS = 2.0  #: variation of the contact with a lighter tool that counts as hammering, over that in one implicit step
LIGHTEST = 0.5  #: mass of the lightest tool that pushes quietly, over the run's


@dataclass(frozen=True)
class RunNumbers(ComposedNumbers):
    """Numbers of one run."""

    ticks: int  #: number of ticks
    missed_ticks: int  #: number of ticks that some node did not answer
    residual: float  #: largest residual of the guide [m]
    surface: tuple[float, float]  #: smallest and largest force of the guide [N]
    largest_contact: float  #: largest force of the bodies [N]
    coefficient: dict[str, float]  #: friction over the guide's force in each pressed slide
    path_length: dict[str, float] = field(metadata=key("way"))  #: length of the path of each body [m]
    energy: Energies  #: work of the run
    energy_implicit: Energies  #: work of one implicit step
    kinetic_energy: float  #: largest kinetic energy of the tool [J]
    chatter: float  #: variation of the forces from tick to tick at rest [N]
    chatter_implicit: float  #: the same in one implicit step [N]
    against_split: Difference  #: difference from the graph of the nodes
    against_implicit: Difference  #: difference from one implicit step


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    numbers: dict[str, RunNumbers] = {}
    claims = Claims()
    runs: dict[str, tuple[GuidedRun, Pushing]] = {}
    first = next(iter(bags.values()))
    period = first.parameters("device")["period"]
    study = kept(limits, period)
    for name, bag in bags.items():
        run = GuidedRun.from_bag(bag)
        one_step, nodes = kept(pushing.implicit, bag, len(run.time)), kept(pushing.split, bag, len(run.time))
        pressing, did = pushing.rest(run), run.did
        numbers[name] = RunNumbers(
            ticks=len(run.time),
            missed_ticks=run.missed,
            residual=largest(run.residual),
            surface=(float(did.surface.min()), float(did.surface.max())),
            largest_contact=float(np.linalg.norm(did.contact, axis=1).max()),
            coefficient=pushing.coefficients(run),
            path_length=dict(zip(run.names, path_length(did.bodies).tolist(), strict=True)),
            energy=pushing.energies(did, late=1),
            energy_implicit=pushing.energies(one_step, late=0),
            kinetic_energy=float(run.kinetic_energy.max()),
            chatter=pushing.chatter(did, pressing),
            chatter_implicit=pushing.chatter(one_step, pressing),
            against_split=pushing.difference(did, nodes),
            against_implicit=pushing.difference(did, one_step),
            latency_p50_p99=latency_metrics(bag),
            step_time=SplitAndImplicit(nodes.step_time, one_step.step_time),
        )
        runs[name] = (run, one_step)
        _claims(claims, name, run, numbers[name], bag)
    run, one_step = next(iter(runs.values()))
    ticks = min(round(FIRST_PUSH / period), len(run.time))
    mass = mechanism_of(first.parameters("constraints")).parameters["mass"]
    own = Tool(mass, variation(run.did.contact[:ticks]), variation(one_step.contact[:ticks]))
    tools = [own, *kept(pushing.lighter, first, ticks)]
    _study_claims(claims, study, tools)
    parameters = {source: first.parameters(source) for source in ("constraints", "contact", "friction")}
    found = {"runs": numbers, "limits": study, "lighter": tools}
    return Report(found, claims, lambda: _figure(runs, first), _CAPTION, parameters)


def _claims(claims: Claims, name: str, run: GuidedRun, n: RunNumbers, bag: Bag) -> None:
    split, one_step, energy = n.against_split, n.against_implicit, n.energy
    mu = bag.parameters("friction")["friction_coefficient"]
    if run.mode == "lockstep" and not bag.parameters("device")["command_delay_ticks"]:
        same = {"reference [m]": split.motion, "contact [N]": split.contact, "friction [N]": split.friction}
        same["bodies [m]"] = max(split.bodies)
        reference = "the single-process reference that takes contact and friction of the previous tick"
        claims.identical(f"The nodes are identical to {reference} ({name}).", same)
    claims.below(
        f"The tool stays on its guide while it is pressed and pushes ({name}).",
        n.residual,
        RESIDUAL,
        "m",
        about=f"the guide bears {n.surface[0]:.1f} to {n.surface[1]:.1f} N, the bodies up to "
        f"{n.largest_contact:.1f} N; residual at most",
    )
    text = f"Sliding friction is {mu:g} times the guide's force ({name})."
    claims.all_near(text, n.coefficient, mu, relative=COEFFICIENT)
    claims.below(
        f"The tool that rests pressed does not chatter ({name}).",
        n.chatter,
        CHATTER,
        "N",
        about=f"they vary from tick to tick in one implicit step by {n.chatter_implicit:.4f} N, here by",
        unless="" if pushing.rest(run).any() else "the tool did not rest",
    )
    apart = {"reference [µm]": (1e6 * one_step.motion, 1e6 * APART)}
    for body, end in zip(run.names, one_step.bodies_end, strict=True):
        apart[f"{body} in the end [mm]"] = (1e3 * end, 1e3 * max(BODY, BODY_SHARE * n.path_length[body]))
    claims.all_below(
        f"One implicit step of the whole system moves tool and bodies along the same paths ({name}).",
        apart,
        about=f"contact {one_step.contact:.2f} N apart (where it strikes), friction {one_step.friction:.2f} N;",
    )
    took = abs(energy.contact) + abs(energy.friction)
    made = energy.contact_made + energy.friction_made
    claims.say(
        f"The delayed edges generate no significant energy ({name}).",
        f"contacts took {-1e3 * energy.contact:.1f} mJ and friction {-1e3 * energy.friction:.1f} mJ; the "
        f"tick of delay added {1e3 * energy.contact_made:+.2f} and {1e3 * energy.friction_made:+.2f} mJ, "
        f"{100.0 * made / took if took else 0.0:+.2f} % (limit {100 * MADE:g} %)",
        abs(made) < MADE * took if took else None,
    )


def _study_claims(claims: Claims, study: list[SplitLimit], tools: list[Tool]) -> None:
    lightest = {f"{1e3 * row.closed_form:.3g} g by the closed form": row.split / row.closed_form - 1.0 for row in study}
    numbers = {f"deviation from {words}": (abs(off), 2.0 * NEAR) for words, off in lightest.items()}
    numbers["variation of a hundredth of that in one step"] = (max(row.implicit_varies for row in study), 1e-3)
    numbers["the heaviest over the run's tool"] = (max(row.split for row in study) / tools[0].mass, LIGHTEST)
    claims.all_below(
        f"The lightest tool that pushes a body of {BODY_MASS:g} kg is that of (k T² + 2 d T)(1/m - 1/M) = 4, less "
        "than half of the run's; in one implicit step there is none.",
        numbers,
        about=f"(the last limit {AFTER_DATA})",
    )

    def words(value: float | None) -> str:
        return "lost" if value is None else f"{value:.2f}"

    rows = [f"{tool.mass:g} kg: {words(tool.split)} and {words(tool.implicit)} N" for tool in tools]
    nodes, one_step = tools[1].split, tools[1].implicit
    claims.say(
        "A lighter tool hammers on the body that it pushes with delayed edges, and much less in one implicit step.",
        f"contact varies from tick to tick in the first push, split and implicit: {'; '.join(rows)} "
        f"(limit {HAMMERS:g} times, at {tools[1].mass:g} kg)",
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
    GraphPanel.of(bag).draw(figure.add_subplot(grid[0, :]))
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
    moved = path_length(run.did.bodies) > 0.0
    for i, name in enumerate(run.names):
        if not moved[i] or np.abs(run.did.bodies[:, i, :2] + origin[:2] - run.did.position[:, :2]).max() < 1e-3:
            continue
        path, due = (1e3 * (did.bodies[:, i, :2] + origin[:2]) for did in (run.did, implicit))
        (line,) = axes.plot(*path.T, linewidth=1.0, label=name)
        axes.plot(*due.T, ":", color=line.get_color(), linewidth=1.5)
        axes.plot(*path[0], marker="s", markersize=9, markerfacecolor="none", color=line.get_color())
        axes.plot(*path[-1], marker="s", markersize=9, color=line.get_color())
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="seen from above")
    axes.set_aspect("equal")
    axes.legend(fontsize=8)
