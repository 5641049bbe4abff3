"""The verdicts on tau_touch_world: each fails just beyond its limit, and with forces that are altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from haptic_experiments.experiments.tau_touch_world import _claims
from haptic_experiments.experiments.tau_touch_world.margins import KEPT, MASSES, Margins, Played
from haptic_experiments.experiments.tau_touch_world.measures import (
    AgainstImplicit,
    Depths,
    Energies,
    Limits,
    Numbers,
    PlainWall,
    Pushed,
    Rest,
    Transitions,
    pushed_bodies,
)
from haptic_experiments.experiments.tau_touch_world.references import Touch
from haptic_experiments.experiments.tau_touch_world.run import Difference, Vibration, imbalance
from haptic_experiments.kit.composed import RunAndImplicit, SplitAndImplicit
from haptic_experiments.kit.results import Claims

SAME, STILL = Difference(0.0, 0.0, 0.0, 0.0), Vibration(30.0, 3e-7)
COUNT = 5e-6
WORK = Energies(push_work=1e-3, most_push_work=1e-3, dissipated=0.04)
KEEPS, LOSES = (Played(contact, depth=1e-4, push_work=0.0, cut_work=0.0) for contact in (KEPT, 0.5))
KEPT_ALWAYS = {f"{mass:g}": KEEPS for mass in MASSES}
LOST = {**KEPT_ALWAYS, f"{MASSES[-1]:g}": LOSES}
PUSHED = {
    "nodes": KEPT_ALWAYS,
    "implicit": KEPT_ALWAYS,
    "bodies taken for fixed": LOST,
    "and one tick later": LOST,
}
NUMBERS = Numbers(
    latency_p50_p99={},
    step_time=SplitAndImplicit(0.0, 0.0),
    ticks=1000,
    mode="lockstep",
    missed=0.0,
    against_split=SAME,
    against_implicit=AgainstImplicit(held=SAME, on_the_box=0.0, let_go=0.0),
    bodies={
        "box": Pushed(apart=1e-4, path_length=0.025, fastest=0.04, fastest_implicit=0.04, momentum=5e-8, energy=0.0),
        "ball": Pushed(apart=8e-3, path_length=0.057, fastest=0.1, fastest_implicit=0.1, momentum=1e-8, energy=0.0),
    },
    limits=Limits(load=5.0, normal=2e-4, along=8e-4, tool=1e-3),
    penetration={"block": 9e-5, "box": 9e-5},
    plain_wall=PlainWall(penetration=9e-5, position=STILL, depth=1.5e-6),
    rest=Rest(
        position=STILL,
        push=Vibration(200.0, 0.04),
        position_plain=STILL,
        implicit=STILL,
        depth=Depths(block=1.5e-6, box=3.4e-6, plain=1.5e-6),
        count=COUNT,
    ),
    transitions=Transitions(run=3, implicit=3, all=300),
    chatter=0.03,
    energy=RunAndImplicit(WORK, WORK),
    margins=Margins(pushed=PUSHED, pressed={}),
)
NODES, MOMENTUM, BOX, BALL, FIXED, VIBRATES, DEPTH, BLOCK, TOP, CHANGES, ENERGY, LIGHT = (
    "The nodes are identical to the single-process reference",
    "Bodies get what the tool gets",
    "A pushed box moves",
    "A knocked ball",
    "At fixed bodies",
    "The resting tool does not vibrate",
    "At rest it is no deeper",
    "While it is pushed in",
    "Nor is it then deeper",
    "Sticking and sliding",
    "The delayed edges generate no energy",
    "A wall that treats bodies as fixed",
)


def failed(numbers: Numbers) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    run: Any = SimpleNamespace(mode="lockstep")
    _claims(claims, "bag", run, numbers, compares=True)
    assert len(claims) == 12 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        *((NODES, ["against_split", name], 0.0, 1e-18) for name in ("motion", "bodies", "push", "friction")),
        (MOMENTUM, ["bodies", "box", "momentum"], 0.99e-7, 1.01e-7),
        (MOMENTUM, ["bodies", "ball", "momentum"], 0.99e-7, 1.01e-7),
        (BOX, ["bodies", "box", "apart"], 1.99e-4, 2.01e-4),
        (BALL, ["bodies", "ball", "fastest"], 0.1049, 0.1051),
        (BALL, ["bodies", "ball", "fastest"], 0.0951, 0.0949),
        (FIXED, ["against_implicit", "held", "motion"], 0.99e-3, 1.01e-3),
        (VIBRATES, ["rest", "position", "amplitude"], 4.9e-6, 5.1e-6),
        (DEPTH, ["rest", "depth", "block"], 6.4e-6, 6.6e-6),
        (DEPTH, ["rest", "depth", "box"], 6.4e-6, 6.6e-6),
        (BLOCK, ["penetration", "block"], 9.4e-5, 9.6e-5),
        (TOP, ["penetration", "box"], 9.4e-5, 9.6e-5),
        (CHANGES, ["transitions", "run"], 4, 5),
        (CHANGES, ["chatter"], 0.099, 0.101),
        (ENERGY, ["bodies", "box", "energy"], 0.99e-6, 1.01e-6),
        (ENERGY, ["energy", "run", "dissipated"], 0.0381, 0.0379),
        (ENERGY, ["energy", "run", "dissipated"], 0.0419, 0.0421),
        (LIGHT, ["margins", "pushed", "nodes"], KEPT_ALWAYS, LOST),
        (LIGHT, ["margins", "pushed", "implicit"], KEPT_ALWAYS, LOST),
        (LIGHT, ["margins", "pushed", "bodies taken for fixed"], LOST, KEPT_ALWAYS),
        (LIGHT, ["margins", "pushed", "nodes", "0.03"], KEEPS, replace(KEEPS, contact=0.94)),
        (LIGHT, ["margins", "pushed", "nodes", "0.03"], KEEPS, None),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(words: str, path: Sequence[Any], inside: Any, outside: Any) -> None:
    assert failed(altered(NUMBERS, path, inside)) == []
    (text,) = failed(altered(NUMBERS, path, outside))
    assert text.startswith(words)


# ---- altered forces ---------------------------------------------------------------------------------------

T, MASS, TICKS = 1e-3, 0.5, 400


class Rows(dict[str, Any]):
    """Topics at common ticks."""

    tick, period = np.arange(TICKS), T


def pushed(push: np.ndarray, felt: np.ndarray, friction: float) -> tuple[Rows, Touch]:
    """A box that lies on the table while the tool pushes it along x, and rubs along y.

    Args:
        push: of the box on the tool [N], shape (TICKS,).
        felt: push that the box feels in the same tick [N], shape (TICKS,).
        friction: of the box on the tool along y, as a fraction of the push.
    """
    twist = np.zeros((TICKS, 1, 6))
    twist[1:, 0, 0], twist[1:, 0, 1] = np.cumsum(T * felt[:-1]) / MASS, -friction * np.cumsum(T * felt[:-1]) / MASS
    weight = T * MASS * 9.81
    rows = Rows(
        {
            "wall/state": {"push": push[:, None]},
            "contact/planes": {"key": [[1]] * TICKS, "normal": [[-1.0, 0.0, 0.0]] * TICKS, "body": [[1]] * TICKS},
            "contact/contacts": {
                "normal": [[0.0, 0.0, 1.0]] * TICKS,
                "normal_impulse": [[weight]] * TICKS,
                "tangential_impulse": [[0.0, 0.0, 0.0]] * TICKS,
                "body_a": [[0]] * TICKS,
                "body_b": [[1]] * TICKS,
            },
        }
    )
    force = np.column_stack([-push, np.zeros(TICKS), np.zeros(TICKS)])
    rubs = np.column_stack([np.zeros(TICKS), friction * push, np.zeros(TICKS)])
    pose = np.zeros((TICKS, 1, 7))
    pose[:, 0, :3] = np.cumsum(T * twist[:, 0, :3], axis=0)
    n = np.zeros(TICKS)
    return rows, Touch(pose[:, 0, :3], twist[:, 0, :3], force, rubs, n > 0.0, pose, twist, n, n, n, n)


@pytest.mark.parametrize(
    ("late", "factor", "words"),
    [(0, 1.0, []), (1, 1.0, [MOMENTUM, ENERGY]), (0, 1.01, [MOMENTUM, ENERGY])],
)
def test_a_box_that_feels_another_push_than_the_tool_gets_energy(late: int, factor: float, words: list[str]) -> None:
    push = 2.0 + np.sin(2.0 * np.pi * 20.0 * T * np.arange(TICKS))
    rows, touch = pushed(push, factor * np.roll(push, late), 0.3)
    momentum = imbalance(rows, touch, np.array([0.0, MASS]), np.eye(3))  # type: ignore[arg-type]
    run: Any = SimpleNamespace(touch=touch, momentum=momentum, names=["box"])
    bodies = {**NUMBERS.bodies, **pushed_bodies(run, touch)}
    found = failed(replace(NUMBERS, bodies=bodies))
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))
