"""Report of bodies that meet in contact surfaces: rest, sliding and spinning beside closed forms.

Elandt et al. 2019 (the pressure field), Masterjohn et al. 2022 (one contact per face). The closed forms take the
numbers of the world that was simulated; bodies are called as in its world's file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

from convex_contact import Geometry, Hydroelastic, World
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.kit.contact import ContactRun, by_approximation, style
from haptic_experiments.report import Claim, Report

#: after this time loads have settled [s]; bodies are at rest in the last part of a run
_SETTLED, _LAST = 0.06, 0.9
#: friction that is held on the lid's inclined rim bears a little of it; the disk's faces bear friction in their middles
_REST, _FRICTION = 5e-3, 0.02


@dataclass(frozen=True)
class Expected:
    """Closed forms of a world.

    Attributes:
        ball_depth, lid_depth: at rest [m].
        polyhedron: by how much the ball's faces lie below the sphere at most [m].
        sliding, spinning: deceleration [m/s^2], [rad/s^2].
    """

    ball_depth: float
    lid_depth: float
    polyhedron: float
    sliding: float
    spinning: float


def force_of_sphere(modulus: float, radius: float, depth: float) -> float:
    """int p dA of p = E (1 - r/R) over the disk in which a plane cuts a sphere [N]."""
    h = radius - depth
    return 2.0 * math.pi * modulus * ((radius**2 - h**2) / 2.0 - (radius**3 - h**3) / (3.0 * radius))


def force_of_box(gradient: float, a: float, b: float, depth: float) -> float:
    """int p dA of p = g min(depth, distance from the rim) over a rectangle with half sides a, b [N]."""
    return gradient * (4.0 * a * b * depth - 2.0 * (a + b) * depth**2 + 4.0 / 3.0 * depth**3)


def _geometry(world: World, name: str) -> tuple[Geometry, Hydroelastic]:
    geometry = world.bodies[world.number(name)].geometries[0]
    if not isinstance(geometry.hydroelastic, Hydroelastic):
        raise HapticError(f"the report needs a body {name!r} with a modulus and a resolution")
    return geometry, geometry.hydroelastic


def expected(world: World) -> Expected:
    """The closed forms of a world with the bodies floor, ball, block, disk, pad and lid."""
    g = float(np.linalg.norm(world.gravity))
    weight = {name: g * world.bodies[world.number(name)].mass for name in ("ball", "lid")}
    ball, soft = _geometry(world, "ball")
    radius = float(ball.shape.parameters[0])
    depth = brentq(lambda d: force_of_sphere(soft.modulus, radius, d) - weight["ball"], 0.0, radius)
    gradients = {}
    for name in ("lid", "pad"):
        geometry, meets = _geometry(world, name)
        gradients[name] = meets.modulus / float(geometry.shape.extent.min())
    half = _geometry(world, "lid")[0].shape.extent
    # the depth is shared as the gradients are; p grows by that of the lid over its share
    share = gradients["pad"] / (gradients["lid"] + gradients["pad"])
    own = brentq(
        lambda d: force_of_box(gradients["lid"], half[0], half[1], d) - weight["lid"], 0.0, 0.5 * float(half.min())
    )
    mu = {}
    floor = world.bodies[world.number("floor")].geometries[0]
    for name in ("block", "disk"):
        mu[name] = world.law(floor, _geometry(world, name)[0], world.number("floor"), world.number(name)).friction
    disk = float(_geometry(world, "disk")[0].shape.parameters[0])
    return Expected(
        ball_depth=depth,
        lid_depth=own / share,
        polyhedron=soft.resolution**2 / (6.0 * radius),
        sliding=mu["block"] * g,
        # (2/3) mu m g R over m R^2/2
        spinning=4.0 * mu["disk"] * g / (3.0 * disk),
    )


def world_of(run: ContactRun) -> World:
    """The world that a run simulated."""
    entries = {name: value for name, (value, _) in parse_entries(run.parameters["world_parameters"]).items()}
    return open_world(run.parameters["world"], entries, worlds_folder())


def _deceleration(time: np.ndarray, speed: np.ndarray) -> float | None:
    """Slope of a speed (n,) from when loads have settled until a quarter of it is left; None: too short."""
    during = np.flatnonzero((time > _SETTLED) & (speed > 0.25 * speed[0]))
    if len(during) < 5:
        return None
    return -float(np.polyfit(time[during], speed[during], 1)[0])


def _levels(world: World) -> dict[str, float]:
    """Heights of ball and lid at which they begin to touch [m]."""
    pad = world.bodies[world.number("pad")]
    top = float(pad.placement.position[2] + pad.geometries[0].shape.extent[2])
    return {
        "ball": float(_geometry(world, "ball")[0].shape.parameters[0]),
        "lid": top + float(_geometry(world, "lid")[0].shape.extent[2]),
    }


def measure(run: ContactRun, world: World) -> dict[str, float | None]:
    """Depths at rest [m] and decelerations [m/s^2], [rad/s^2] of one run."""
    height = {name: run.position[:, run.body(name), 2] for name in ("ball", "lid")}
    level = _levels(world)
    rest = {name: level[name] - float(z[int(_LAST * len(z)) :].mean()) for name, z in height.items()}
    slide, spin = run.velocity[:, run.body("block"), 0], run.angular_velocity[:, run.body("disk"), 2]
    return {
        "ball_depth": rest["ball"],
        "lid_depth": rest["lid"],
        "sliding": _deceleration(run.time, slide),
        "spinning": _deceleration(run.time, spin),
        "faces": float(run.contact_count[1:].mean()),
    }


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = by_approximation({name: ContactRun.from_bag(bag) for name, bag in bags.items()})
    first = next(iter(runs.values()))
    world = world_of(first)
    model = expected(world)
    numbers = {name: measure(run, world_of(run)) for name, run in runs.items()}
    claims = [
        _claim(
            "The ball rests where the pressure over its patch bears the weight; its polyhedron lies a little below the "
            "sphere.", numbers, "ball_depth", model.ball_depth, 1e3, "mm", 0.0, model.polyhedron,
        ),
        _claim(
            "A compliant lid on a compliant pad rests where their gradients in series bear it.", numbers, "lid_depth",
            model.lid_depth, 1e3, "mm", -_REST * model.lid_depth, _REST * model.lid_depth,
        ),
        _claim(
            "A sliding block is slowed by mu g.", numbers, "sliding", model.sliding, 1.0, "m/s²",
            -_FRICTION * model.sliding, _FRICTION * model.sliding,
        ),
        _claim(
            "A spinning disk is slowed by the torsional friction of an even pressure, 4 mu g/(3 R); not with Similar, "
            "which is stiffer where it slides faster, k (1 + mu d |v_t|), and loads the rim.", numbers, "spinning",
            model.spinning, 1.0, "rad/s²", -_FRICTION * model.spinning, _FRICTION * model.spinning, uneven="similar",
        ),
    ]  # fmt: skip
    metrics = {"runs": numbers, "expected": vars(model)}
    return Report(metrics, claims, lambda: _figure(runs, world, model), _CAPTION, {"contact": first.parameters})


def _claim(
    text: str, numbers: dict[str, dict[str, float | None]], key: str, value: float, scale: float, unit: str,
    low: float, high: float, uneven: str = "none",
) -> Claim:  # fmt: skip
    """A claim that all runs have a value, up to a difference between low and high, but those whose load is uneven."""
    seen = {name: entry[key] for name, entry in numbers.items()}
    words = ", ".join(f"{name} {'none' if x is None else f'{scale * x:.4g}'}" for name, x in seen.items())
    judged = [x for name, x in seen.items() if not name.startswith(uneven)]
    met = all(x is not None and low <= x - value <= high for x in judged)
    if not judged or any(x is None for x in judged):
        return Claim(text, f"{words} {unit}; no run long enough", None)
    return Claim(text, f"{words}; closed form {scale * value:.4g} {unit}", met)


_CAPTION = (
    "Depth of the ball and of the lid, speed of the block and spin of the disk with their closed forms (black). Last: "
    "gap p/g of the ball's faces at the end over their distance from its middle, beside that of p = E (1 - r/R)."
)


def _figure(runs: dict[str, ContactRun], world: World, model: Expected) -> Figure:
    figure = Figure(figsize=(13, 8), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    ball = _geometry(world, "ball")[0]
    radius = float(ball.shape.parameters[0])
    level = _levels(world)
    for name, run in runs.items():
        line = {**style(run.approximation), "label": name.replace("_", " ")}
        axes[0].plot(run.time, 1e3 * (level["ball"] - run.position[:, run.body("ball"), 2]), **line)
        axes[1].plot(run.time, 1e3 * (level["lid"] - run.position[:, run.body("lid"), 2]), **line)
        axes[2].plot(run.time, run.velocity[:, run.body("block"), 0], **line)
        axes[3].plot(run.time, run.angular_velocity[:, run.body("disk"), 2], **line)
        contacts, chosen, _ = run.pairs(run.body("floor"), run.body("ball"))[-1]
        middle = run.position[-1, run.body("ball"), :2]
        away = np.linalg.norm(contacts.position[chosen][:, :2] - middle, axis=1)
        color = {"color": style(run.approximation).get("color")}
        axes[4].plot(1e3 * away, -1e3 * contacts.signed_distance[chosen], ".", markersize=3, label=name, **color)
    time = next(iter(runs.values())).time
    axes[0].axhline(1e3 * model.ball_depth, color="k", linestyle="--", linewidth=0.8)
    axes[1].axhline(1e3 * model.lid_depth, color="k", linestyle="--", linewidth=0.8)
    for each, name, slope, rate in (
        (axes[2], "block", model.sliding, world.bodies[world.number("block")].velocity[0]),
        (axes[3], "disk", model.spinning, world.bodies[world.number("disk")].angular_velocity[2]),
    ):
        each.plot(time, np.maximum(rate - slope * time, 0.0), "k--", linewidth=0.8, label=f"{name}, closed form")
    h = radius - model.ball_depth
    s = np.linspace(0.0, math.sqrt(radius**2 - h**2), 50)
    r = np.hypot(s, h)
    axes[4].plot(1e3 * s, 1e3 * (radius - r) * r / h, "k--", linewidth=0.8, label="closed form")
    titles = ("ball at rest", "lid on the pad", "sliding block", "spinning disk", "the ball's contact surface")
    names = ("depth (mm)", "depth (mm)", "speed (m/s)", "spin (rad/s)", "p/g (mm)")
    for each, title, quantity in zip(axes, titles, names, strict=False):
        each.set(title=title, ylabel=quantity, xlabel="time (s)")
    axes[4].set(xlabel="distance from the middle (mm)")
    axes[0].legend(fontsize=8)
    axes[4].legend(fontsize=7)
    axes[5].axis("off")
    return figure
