"""The verdicts on tau_rough_wall: each fails just beyond its limit, and with signals that are altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from haptic_experiments.experiments.tau_rough_wall import (
    Difference,
    Lean,
    Numbers,
    WallFrictionRun,
    _claims,
    _coefficients,
    _lean,
)
from haptic_experiments.kit.composed import SplitAndImplicit, variation
from haptic_experiments.kit.results import Claims
from haptic_experiments.kit.wall_friction import stiffest
from haptic_experiments.kit.wall_run import WallRun

T, MU = 1e-3, 0.3
FRICTION = {"law": "coulomb", "friction_coefficient": MU, "stiffness": 2e3}
SAME = Difference(0.0, 0.0, 0.0)
NUMBERS = Numbers(
    latency_p50_p99={},
    step_time=SplitAndImplicit(0.0, 0.0),
    walls=None,  # type: ignore[arg-type]
    dissipated=0.06,
    delayed_inputs=[],
    coefficient={"fast": 0.3, "slow": 0.3},
    lean=Lean(given=3.4e-4, left=5e-5, share=0.17),
    against_split=SAME,
    against_implicit=SAME,
    chatter=0.05,
    stable_stiffness=3.9e4,
    stable_stiffness_implicit=3.9e4,
)
LATE = replace(NUMBERS, delayed_inputs=["wall"])
NODES, SLIDES, LEANS, CHATTER, IMPLICIT, STABLE = (
    "The nodes are identical to the single-process reference",
    "Sliding friction is 0.3 times the normal force",
    "Within the friction cone",
    "The resting tool does not chatter",
    "Wall and friction in one implicit step",
    "Splitting costs no stability",
)


def failed(numbers: Numbers) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    _claims(claims, "bag", SimpleNamespace(mode="lockstep", delay=0), numbers, FRICTION)  # type: ignore[arg-type]
    assert len(claims) == 6 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


@pytest.mark.parametrize("numbers", [NUMBERS, LATE], ids=["same tick", "tick before"])
@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        (NODES, ["against_split", "motion"], 0.0, 1e-18),
        (NODES, ["against_split", "friction"], 0.0, 1e-18),
        (LEANS, ["lean", "given"], 7.6e-5, 7.4e-5),
        (LEANS, ["lean", "left"], 7.4e-5, 7.6e-5),
        (LEANS, ["lean", "share"], 0.299, 0.301),
        (CHATTER, ["chatter"], 0.099, 0.101),
        (IMPLICIT, ["against_implicit", "motion"], 1.49e-4, 1.51e-4),
        (IMPLICIT, ["against_implicit", "dissipated"], -2.9e-3, -3.1e-3),
        (STABLE, ["stable_stiffness"], 3.13e4, 3.11e4),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(
    numbers: Numbers, words: str, path: Sequence[Any], inside: float, outside: float
) -> None:
    assert failed(altered(numbers, path, inside)) == []
    (text,) = failed(altered(numbers, path, outside))
    assert text.startswith(words)


@pytest.mark.parametrize(("numbers", "allowed"), [(NUMBERS, 1e-9), (LATE, 0.05)], ids=["same tick", "tick before"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_sliding_friction_has_the_coefficient(numbers: Numbers, allowed: float, sign: float) -> None:
    assert failed(altered(numbers, ["coefficient", "slow"], MU * (1.0 + 0.99 * sign * allowed))) == []
    (text,) = failed(altered(numbers, ["coefficient", "slow"], MU * (1.0 + 1.01 * sign * allowed)))
    assert text.startswith(SLIDES)


def test_a_law_that_depends_on_the_velocity_has_no_coefficient() -> None:
    claims, walls = Claims(), SimpleNamespace(mode="lockstep", delay=0)
    _claims(claims, "bag", walls, NUMBERS, {**FRICTION, "law": "stribeck"})  # type: ignore[arg-type]
    (claim,) = (claim for claim in claims if claim.text.startswith(SLIDES))
    assert claim.shown is None and claim.measured == "the stribeck law depends on the velocity"


# ---- altered signals --------------------------------------------------------------------------------------

PHASES = [
    {"name": "fast", "kind": "slide", "start": 0.0, "end": 0.5},
    {"name": "lean", "kind": "slide", "start": 0.5, "end": 1.0},
    {"name": "lean back", "kind": "slide", "start": 1.0, "end": 1.5},
]


def rubbing() -> tuple[WallRun, WallFrictionRun]:
    """A tool that slides, then leans 0.34 mm to one side under a force within the cone, and comes back."""
    time = T * np.arange(1500)
    position, friction, push = np.zeros((1500, 3)), np.zeros((1500, 3)), np.full(1500, 5.0)
    fast, lean = time < 0.5, (time >= 0.6) & (time < 1.0)
    position[fast, 0], friction[fast, 0] = 0.1 * (time[fast] - 0.5), -MU * push[fast]
    position[lean, 1] = 3.4e-4 * np.linspace(0.0, 1.0, lean.sum())
    friction[lean, 1] = -0.17 * push[lean]
    nothing: Any = [np.zeros((0, 3))] * 10
    return WallRun(T, time, PHASES, *nothing, None, {}), WallFrictionRun(position, push, friction, 0.06, sliding=fast)


def numbers_of(walls: WallRun, run: WallFrictionRun, other: WallFrictionRun) -> Numbers:
    return replace(
        NUMBERS,
        coefficient=_coefficients(walls, run),
        lean=_lean(walls, run),
        against_split=Difference.of(run, other),
        against_implicit=Difference.of(run, other),
        chatter=variation(run.friction, walls.named("lean back")),
    )


def _without_friction(friction: np.ndarray) -> np.ndarray:
    return 0.0 * friction


def _noisy(friction: np.ndarray) -> np.ndarray:
    rests = np.zeros((len(friction), 1))
    rests[1000:] = 1.0
    return friction + 0.1 * rests * np.random.default_rng(1).standard_normal(friction.shape)


@pytest.mark.parametrize(
    ("signal", "change", "words"),
    [
        ("position", lambda p: p, []),
        ("position", lambda p: 1.01 * p, [NODES, IMPLICIT]),
        ("position", lambda p: 0.2 * p, [NODES, LEANS, IMPLICIT]),
        ("position", lambda p: np.maximum.accumulate(p), [NODES, LEANS, IMPLICIT]),
        ("friction", lambda f: f * (1.0 + 2e-9), [NODES, SLIDES]),
        ("friction", lambda f: 2.0 * f, [NODES, SLIDES, LEANS]),
        ("friction", _without_friction, [NODES, SLIDES]),
        ("friction", _noisy, [NODES, CHATTER]),
        ("dissipated", lambda energy: 0.94 * energy, [IMPLICIT]),
    ],
)
def test_a_claim_fails_with_an_altered_signal(signal: str, change: Any, words: list[str]) -> None:
    walls, run = rubbing()
    found = failed(numbers_of(walls, replace(run, **{signal: change(getattr(run, signal))}), run))
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))


def test_both_are_stable_at_ten_times_the_stiffness() -> None:
    assert failed(replace(NUMBERS, stable_stiffness=2.01e4, stable_stiffness_implicit=2.01e4)) == []
    (text,) = failed(replace(NUMBERS, stable_stiffness=1.99e4, stable_stiffness_implicit=1.99e4))
    assert text.startswith(STABLE)


def test_the_bisection_finds_a_stiffness_that_is_a_quarter_lower() -> None:
    whole, split = (stiffest(lambda k, most=most: k < most, 12) for most in (4e4, 3e4))
    assert failed(replace(NUMBERS, stable_stiffness=split, stable_stiffness_implicit=whole))[0].startswith(STABLE)
