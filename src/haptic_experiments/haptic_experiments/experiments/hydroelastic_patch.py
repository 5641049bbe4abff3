"""Report of bodies that meet in contact surfaces: rest, sliding and spinning beside closed forms.

Elandt et al. 2019 (the pressure field), Masterjohn et al. 2022 (one contact per face). The closed forms take the
numbers of the world that was simulated; bodies are called as in its world's file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact import World
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from convex_contact.scenes.closed_forms import pressure_gap_of_sphere
from convex_contact.scenes.contact_surfaces import ClosedForms, closed_forms_of, compliant_geometry, touching_heights
from haptic_bags.bags import Bag
from haptic_core.parameters import entry_values
from haptic_experiments.kit.contact import STYLES, ContactRun, curves, runs_of
from haptic_experiments.kit.figures import DASHED, Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report

#: time after which loads have settled [s], and fraction of the run after which bodies are at rest
_SETTLED, _LAST = 0.06, 0.9
#: relative differences: friction on the lid's inclined rim carries some of its weight; the disk's faces have their
#: friction in their middles
_REST, _FRICTION = 5e-3, 0.02
#: unit of a number and its factor, and largest difference from the closed form as a fraction of it; 0: that of the
#: sphere's polyhedron
_LIMITS = {
    "ball_depth": ("mm", 1e3, 0.0),
    "lid_depth": ("mm", 1e3, _REST),
    "sliding": ("m/s²", 1.0, _FRICTION),
    "spinning": ("rad/s²", 1.0, _FRICTION),
}
_TEXTS = {
    "ball_depth": "The ball rests where the pressure over its patch balances the weight; its polyhedron lies a little "
    "below the sphere.",
    "lid_depth": "A compliant lid on a compliant pad rests where their gradients in series balance its weight.",
    "sliding": "A sliding block is slowed by mu g.",
    "spinning": "A spinning disk is slowed by the torsional friction of an even pressure, 4 mu g/(3 R); not with "
    "Similar, which is stiffer where it slides faster, k (1 + mu d |v_t|), and loads the rim.",
}


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one run."""

    ball_depth: float  #: depth of the ball at rest [m]
    lid_depth: float  #: depth of the lid at rest [m]
    sliding: float | None  #: deceleration of the block [m/s^2]; None if the run is too short
    spinning: float | None  #: deceleration of the disk [rad/s^2]; None if the run is too short
    faces: float  #: mean number of contacts


def world_of(run: ContactRun) -> World:
    """Opens the world that a run simulated."""
    entries = entry_values(run.parameters["world_parameters"])
    return open_world(run.parameters["world"], entries, worlds_folder())


def _deceleration(time: np.ndarray, speed: np.ndarray) -> float | None:
    """Fits the deceleration of a speed (n,), from settled loads until a quarter of it is left; None: too short."""
    during = np.flatnonzero((time > _SETTLED) & (speed > 0.25 * speed[0]))
    if len(during) < 5:
        return None
    return -float(np.polyfit(time[during], speed[during], 1)[0])


def measure(run: ContactRun, world: World) -> RunNumbers:
    """Measures one run."""
    height = {name: run.position[:, run.body(name), 2] for name in ("ball", "lid")}
    level = touching_heights(world)
    rest = {name: level[name] - float(z[int(_LAST * len(z)) :].mean()) for name, z in height.items()}
    slide, spin = run.velocity[:, run.body("block"), 0], run.angular_velocity[:, run.body("disk"), 2]
    return RunNumbers(
        ball_depth=rest["ball"],
        lid_depth=rest["lid"],
        sliding=_deceleration(run.time, slide),
        spinning=_deceleration(run.time, spin),
        faces=float(run.contact_count[1:].mean()),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = runs_of(bags)
    first = next(iter(runs.values()))
    world = world_of(first)
    model = closed_forms_of(world)
    numbers = {name: measure(run, world_of(run)) for name, run in runs.items()}
    claims = Claims()
    for key in _TEXTS:
        _claim_closed_form(claims, key, numbers, model)
    metrics, parameters = {"runs": numbers, "expected": model}, {"contact": first.parameters}
    return Report(metrics, claims, lambda: _figure(runs, world, model), _CAPTION, parameters)


def _claim_closed_form(claims: Claims, key: str, numbers: Mapping[str, RunNumbers], model: ClosedForms) -> None:
    unit, scale, fraction = _LIMITS[key]
    value = getattr(model, key)
    low, high = (-fraction * value, fraction * value) if fraction else (0.0, model.polyhedron)
    seen = {name: getattr(n, key) for name, n in numbers.items()}
    words = ", ".join(f"{name} {'none' if x is None else f'{scale * x:.4g}'}" for name, x in seen.items())
    even = [x for name, x in seen.items() if not (key == "spinning" and name.startswith("similar"))]
    missing = not even or any(x is None for x in even)
    limits = f"difference from {scale * low:.2g} to {scale * high:.2g} {unit}"
    claims.say(
        _TEXTS[key],
        f"{words}; closed form {scale * value:.4g} {unit}, {limits}",
        all(x is not None and low <= x - value <= high for x in even),
        unless=f"{words} {unit}; no run long enough" if missing else "",
    )


_CAPTION = (
    "Depth of the ball and of the lid, speed of the block and spin of the disk with their closed forms (black). Last: "
    "gap p/g of the ball's faces at the end over their distance from its middle, beside that of p = E (1 - r/R)."
)


def _figure(runs: Mapping[str, ContactRun], world: World, model: ClosedForms) -> Figure:
    level, time = touching_heights(world), next(iter(runs.values())).time

    def depth(body: str, expected: float, title: str, named: bool) -> Panel:
        lines = curves(runs, lambda r: 1e3 * (level[body] - r.position[:, r.body(body), 2]))
        return Panel(
            "depth (mm)",
            [*lines, Curve.level(time, 1e3 * expected, **DASHED)],
            title=title,
            legend={} if named else None,
        )

    def slowed(title: str, quantity: str, lines: list[Curve], start: float, slope: float) -> Panel:
        closed = Curve(time, np.maximum(start - slope * time, 0.0), style=DASHED)
        return Panel(quantity, [*lines, closed], title=title, legend=None)

    block, disk = (world.bodies[world.number(name)] for name in ("block", "disk"))
    slide = curves(runs, lambda r: r.velocity[:, r.body("block"), 0])
    spin = curves(runs, lambda r: r.angular_velocity[:, r.body("disk"), 2])
    return panels(
        [
            depth("ball", model.ball_depth, "ball at rest", True),
            depth("lid", model.lid_depth, "lid on the pad", False),
            slowed("sliding block", "speed (m/s)", slide, block.velocity[0], model.sliding),
        ],
        [
            slowed("spinning disk", "spin (rad/s)", spin, disk.angular_velocity[2], model.spinning),
            Panel("p/g (mm)", _pressures(runs, float(compliant_geometry(world, "ball")[0].shape.parameters[0]), model),
                  "distance from the middle (mm)", title="the ball's contact surface"),
            Panel("", [], "", extra=Axes.set_axis_off),
        ],
        size=(13, 8),
    )  # fmt: skip


def _pressures(runs: Mapping[str, ContactRun], radius: float, model: ClosedForms) -> list[Curve]:
    """Draws the pressure of the ball's faces at the end, as a gap, over their distance from the middle."""
    lines = []
    for name, run in runs.items():
        contacts, chosen, _ = run.pairs(run.body("floor"), run.body("ball"))[-1]
        middle = run.position[-1, run.body("ball"), :2]
        away = np.linalg.norm(contacts.position[chosen][:, :2] - middle, axis=1)
        points = {"color": STYLES[run.approximation]["color"], "linestyle": "", "marker": ".", "markersize": 3}
        lines.append(Curve(1e3 * away, -1e3 * contacts.signed_distance[chosen], name, points))
    h = radius - model.ball_depth
    s = np.linspace(0.0, math.sqrt(radius**2 - h**2), 50)
    closed = pressure_gap_of_sphere(s, radius, model.ball_depth)
    return [*lines, Curve(1e3 * s, 1e3 * closed, "closed form", DASHED)]
