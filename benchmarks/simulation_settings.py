"""Families of scenes of the simulation benchmark, and the settings with which each engine simulates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simulation_measures as measures
import simulation_scenes as scenes
from scipy.optimize import brentq

#: coefficient of restitution of the first impact in `restitution`
FIRST = 0.8


@dataclass(frozen=True)
class Setting:
    """Settings with which an engine simulates a family.

    Attributes:
        words: its name in the tables.
        period: length of all steps, s; None: steps choose their lengths.
        accuracy: of steps that choose their lengths, in the engine's own meaning.
        options: of the engine.
        damping_ratio: of contacts that have a linear damper instead of Hunt and Crossley's law, -.
    """

    words: str
    period: float | None = None
    accuracy: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    damping_ratio: float = 0.0


@dataclass(frozen=True)
class Family:
    """Scenes of one kind.

    Attributes:
        title: over the table.
        size: name of what the sizes count.
        build: makes a scene of a size.
        errors: makes the columns of errors from a motion and the damping ratio of the setting.
        sizes: that a run has if no others are given; the first of them in a quick run.
        seconds: length of a run, s.
        sample: time between observations, a multiple of all periods, s.
        settings: of each engine.
        quick: share of the length that a quick run has.
        grows: the time grows with a power of the size.
    """

    title: str
    size: str
    build: Callable[[int], scenes.Scene]
    errors: Callable[[measures.Motion, float], measures.Errors]
    sizes: tuple[int, ...]
    seconds: float
    sample: float
    settings: Mapping[str, tuple[Setting, ...]]
    quick: float = 1.0
    grows: bool = True


# --- settings of the engines -----------------------------------------------------------------------------------


def fixed(period: float, *approximations: str) -> tuple[Setting, ...]:
    """This suite with steps of constant length."""
    return tuple(Setting(name, period, options={"approximation": name}) for name in approximations)


def controlled(*accuracies: float) -> tuple[Setting, ...]:
    """This suite with steps of second order that an accuracy (m) chooses."""
    return tuple(Setting(f"second order, {a:.0e} m", accuracy=a, options={"second_order": True}) for a in accuracies)


def mujoco(words: str, period: float, stiff: bool = True, **option: str) -> Setting:
    """MuJoCo with its stiffest contact (time constant 2 T, impedance 0.9999), or with its own.

    Args:
        words: name of the setting.
        period: dt, s.
        stiff: the stiffest contact.
        **option: attributes of <option>.
    """
    contact = {"solref": f"{2.0 * period!r} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"} if stiff else {}
    return Setting(words, period, options={"contact": contact, "option": option})


def mujoco_direct(period: float, integrator: str, damping_ratio: float = 0.0) -> Setting:
    """MuJoCo's contact as the scene's spring with a linear damper (negative solref).

    With an impedance near zero the contact's acceleration adds to that of gravity, as a spring's does.
    """
    words = f"direct, {integrator}, {1e3 * period:g} ms"
    return Setting(words, period, None, {"direct": True, "option": {"integrator": integrator}}, damping_ratio)


def drake_discrete(period: float, *approximations: str) -> tuple[Setting, ...]:
    """Drake with steps of constant length."""
    return tuple(Setting(name, period, options={"approximation": name}) for name in approximations)


def drake_continuous(scheme: str, *accuracies: float) -> tuple[Setting, ...]:
    """Drake with an integrator that an accuracy controls."""
    return tuple(Setting(f"{scheme}, {a:.0e}", accuracy=a, options={"scheme": scheme}) for a in accuracies)


def rigid(period: float, *approximations: str, exact: bool = False) -> Mapping[str, tuple[Setting, ...]]:
    """Settings of scenes whose contacts are stiff and dissipate.

    Args:
        period: dt, s.
        *approximations: of this suite.
        exact: a further row of this suite has a solver's tolerance of 1e-8 instead of 1e-5.
    """
    tolerance = Setting("lagged, tolerance 1e-8", period, options={"relative_tolerance": 1e-8})
    return {
        "ours": (*fixed(period, *approximations), *[tolerance] * exact),
        "mujoco": (
            mujoco("stiff", period),
            mujoco("stiff, Euler", period, integrator="Euler"),
            mujoco("default", period, stiff=False),
            mujoco("default, impratio 100", period, stiff=False, impratio="100"),
        ),
        "drake": drake_discrete(period, "lagged", "sap"),
    }


def elastic(ours: tuple[float, ...], cenic: tuple[float, ...], ratio: float = 0.0) -> Mapping[str, tuple[Setting, ...]]:
    """Settings of scenes whose contacts give energy back.

    Args:
        ours: accuracies of this suite, m.
        cenic: of Drake's CENIC.
        ratio: damping ratio of MuJoCo's contacts.
    """
    return {
        "ours": (*controlled(*ours), Setting("lagged, 1 ms", 1e-3)),
        "mujoco": tuple(
            mujoco_direct(period, integrator, ratio)
            for integrator, period in (("Euler", 1e-3), ("Euler", 1e-4), ("RK4", 1e-3), ("RK4", 1e-4))
        ),
        "drake": (*drake_continuous("cenic", *cenic), Setting("lagged, 1 ms", 1e-3, None, {"approximation": "lagged"})),
    }


def dissipation_of(ratio: float, speed: float) -> float:
    """d (s/m) of Hunt and Crossley's law that gives a coefficient of restitution at a speed (m/s), without gravity.

    With e = v+/v-, ln((1 + d v-)/(1 - d e v-)) = d v- (1 + e).
    """
    return float(
        brentq(lambda x: math.log((1.0 + x) / (1.0 - ratio * x)) - x * (1.0 + ratio), 1e-3, 0.999 / ratio) / speed
    )


def damping_ratio_of(ratio: float) -> float:
    """Damping ratio of a linear damper that gives a coefficient of restitution, where the force does not pull."""

    def error(zeta: float) -> float:
        root = math.sqrt(1.0 - zeta**2)
        angle = math.pi - math.atan2(2.0 * zeta * root, 1.0 - 2.0 * zeta**2)
        return math.exp(-zeta / root * angle) - ratio

    return float(brentq(error, 1e-6, 0.7))


_SPEED = math.sqrt(2.0 * 9.81 * scenes.FALL)

FAMILIES: dict[str, Family] = {
    "rolling": Family(
        "rolling: a box that slides, pulled, and balls that roll on it; errors of velocity", "balls",
        scenes.rolling, measures.rolling_errors, (25,), 2.0, 1e-2, rigid(1e-3, "lagged", "sap", exact=True), 0.25,
    ),
    "pulled": Family(
        "pulled: balls pulled on a plane, half of them roll and half slide; errors of velocity", "balls",
        scenes.pulled, measures.pulled_errors, (10,), 1.0, 1e-2, rigid(1e-3, "lagged", "sap", exact=True), 0.5,
    ),
    "bouncing": Family(
        "bouncing: elastic balls; errors of the coefficient of restitution and of the energy", "balls",
        scenes.bouncing, measures.bouncing_errors, (9,), 3.0, 1e-2,
        elastic((1e-4, 1e-5, 1e-6), (1e-3, 1e-5, 1e-7)), 0.4,
    ),
    "restitution": Family(
        f"restitution: balls that return with {FIRST} of the speed of the first impact", "balls",
        partial(scenes.bouncing, dissipation=dissipation_of(FIRST, _SPEED)), measures.bouncing_errors, (9,), 2.0, 1e-2,
        elastic((1e-4, 1e-5, 1e-6), (1e-3, 1e-5, 1e-7), damping_ratio_of(FIRST)), 0.6,
    ),
    "666": Family(
        "666: balls in a grid that fall", "balls",
        partial(scenes.grid, elastic=False), measures.grid_errors, (27, 216), 0.6, 1e-2, rigid(1e-3, "lagged", "sap"),
    ),
    "elastic666": Family(
        "elastic 666: the same without dissipation; relative error of the energy", "balls",
        partial(scenes.grid, elastic=True), measures.elastic_errors, (27, 216), 0.5, 1e-2,
        elastic((1e-4, 1e-5, 1e-6), (1e-4, 1e-5, 1e-6)), 0.4,
    ),
    "quadrupeds": Family(
        "quadrupeds that stand, 12 joints each", "robots",
        scenes.standing, measures.standing_errors, (1, 4, 9, 16), 1.0, 1e-2,
        rigid(5e-3, "lagged", "lagged_elastoplastic", "sap"),
    ),
    "chains": Family(
        "chains that fall on a floor; errors of angular momentum in flight, rise of energy", "joints",
        scenes.falling_chain, measures.falling_errors, (10, 20, 40), 1.0, 1e-2, rigid(2e-3, "lagged", "sap"),
    ),
    "trees": Family(
        "binary trees that fall on a floor; errors of angular momentum in flight, rise of energy", "joints",
        scenes.falling_tree, measures.falling_errors, (31, 63, 127), 0.6, 1e-2, rigid(2e-3, "lagged", "sap"),
    ),
    "towers": Family(
        "towers of ten boxes at rest, of 1 kg and of so many in turn", "kg",
        scenes.tower, measures.tower_errors, (1, 1000), 1.0, 1e-2, rigid(2e-3, "lagged", "sap"), grows=False,
    ),
    "hulls": Family(
        "hulls: random convex hulls that fall in a box", "hulls",
        scenes.hulls, measures.hull_errors, (10, 50), 1.0, 1e-2, rigid(2e-3, "lagged", "sap"),
    ),
}  # fmt: skip
