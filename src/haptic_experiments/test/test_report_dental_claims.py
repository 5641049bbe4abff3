"""The verdicts on dental_probe: each fails just beyond its limit, and with signals that are altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from convex_contact.scenes.tooth import CuspTap, InGroove
from haptic_experiments.experiments.dental_probe import Beside, Energy, Numbers, _claims
from haptic_experiments.experiments.dental_probe.probing import Difference, Probing, groove, jerk, ringing_of, taps
from haptic_experiments.kit.composed import SplitAndImplicit
from haptic_experiments.kit.results import Claims

T = 1e-3
SAME = Difference(*[0.0] * 5)
REST = InGroove(sideways=2e-5, depth=5e-5, height=5e-5, both_flanks=0.99, both_push=0.9, planes=4, length=1e-4)
NUMBERS = Numbers(
    latency_p50_p99={},
    step_time=SplitAndImplicit(0.0, 0.0),
    mode="lockstep",
    delay=0,
    ticks=1000,
    missed_ticks=0,
    taps=[CuspTap("tap", speed=0.1, peak_force=1.0, penetration=1e-4, stiffness=1e4, rebound=0.03)],
    groove={"rest in the groove": REST, "along the groove": replace(REST, both_flanks=0.5), "rest in the pit": REST},
    jerk=Beside(0.1, 0.07),
    ringing={"rest in the groove": Beside(0.076, 0.076), "rest in the pit": Beside(0.074, 0.074)},
    energy=Energy(0.0, -0.02, -0.005),
    against_split=SAME,
    against_implicit=SAME,
    stable_stiffness=SplitAndImplicit(7.5e4, 7.5e4),
)
NODES, TAPPED, LINE, FLANKS, JERK, QUIET, ENERGY, IMPLICIT, STABLE = (
    "The nodes are identical to the single-process reference",
    "A tapped cusp stops the probe",
    "The tip stays on the groove's line",
    "Resting in the groove the probe feels both flanks",
    "Planes that rotate and change cause no jerk",
    "At rest it is as quiet as on a flat wall",
    "Wall and friction give the tool no energy",
    "Wall and friction in one implicit step",
    "Splitting costs no stability",
)


def failed(numbers: Numbers) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    _claims(claims, "bag", numbers, stiffness=2e3)
    assert len(claims) == 9 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        (NODES, ["against_split", "motion"], 0.0, 1e-18),
        (NODES, ["against_split", "push"], 0.0, 1e-18),
        (NODES, ["against_split", "friction"], 0.0, 1e-18),
        (TAPPED, ["taps", 0, "rebound"], 0.099, 0.1),
        (TAPPED, ["taps", 0, "rebound"], 0.001, 0.0),
        (LINE, ["groove", "rest in the groove", "sideways"], 0.99e-4, 1.01e-4),
        (LINE, ["groove", "along the groove", "depth"], 0.99e-4, 1.01e-4),
        (FLANKS, ["groove", "rest in the groove", "both_flanks"], 0.951, 0.949),
        (JERK, ["jerk", "tooth"], 0.139, 0.141),
        (QUIET, ["ringing", "rest in the groove", "tooth"], 0.151, 0.153),
        (QUIET, ["ringing", "rest in the pit", "tooth"], 0.147, 0.149),
        (ENERGY, ["energy", "given_at_the_most"], 0.99e-5, 1.01e-5),
        (IMPLICIT, ["against_implicit", "motion_in_the_groove"], 1.99e-4, 2.01e-4),
        (STABLE, ["stable_stiffness", "split"], 6.1e4, 5.9e4),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(words: str, path: Sequence[Any], inside: float, outside: float) -> None:
    assert failed(altered(NUMBERS, path, inside)) == []
    (text,) = failed(altered(NUMBERS, path, outside))
    assert text.startswith(words)


# ---- altered signals --------------------------------------------------------------------------------------

PHASES = [
    {"name": "tap a cusp, down", "kind": "move", "start": 0.0, "end": 0.1},
    {"name": "tap a cusp, let go", "kind": "release", "start": 0.1, "end": 0.3},
    {"name": "rest in the groove", "kind": "rest", "start": 0.3, "end": 1.3},
    {"name": "along the groove", "kind": "slide", "start": 1.3, "end": 2.3},
]


def probing() -> tuple[Probing, np.ndarray]:
    """A probe that taps and leaves at a third of its speed, rests in the groove and goes along it; distances."""
    time = T * np.arange(2300)
    n, taps_, rests = len(time), time < 0.3, (time >= 0.3) & (time < 1.3)
    velocity, position, distance = np.zeros((n, 3)), np.zeros((n, 3)), np.full(n, 1e-3)
    velocity[time < 0.15, 2], velocity[(time >= 0.15) & taps_, 2] = -0.1, 0.03
    distance[(time >= 0.14) & (time < 0.17)] = -1e-4
    distance[time >= 0.3] = -5e-5
    position[time >= 1.3, 0] = 2e-3 * (time[time >= 1.3] - 1.3)
    contact = np.ones((n, 4), dtype=bool)
    push = np.where(rests, 0.5 + 0.05 * np.sin(2.0 * np.pi * 30.0 * time), 0.5)[:, None] * np.ones(4)
    effort = np.zeros((n, 6))
    effort[:, 0] = 0.05 * (np.arange(n) % 2)
    force = np.column_stack([np.zeros((n, 2)), np.full(n, 3.0)])
    run = Probing(
        T, time, PHASES, position, velocity, push, contact, np.zeros((n, 3)), 0.005, effort, force,
        power=np.full(n, -1e-3),
    )  # fmt: skip
    return run, distance


def numbers_of(run: Probing, distance: np.ndarray, flat: Probing) -> Numbers:
    energy = run.period * np.cumsum(run.power)
    return replace(
        NUMBERS,
        taps=taps(run, distance),
        groove=groove(run, distance, 1e-4),
        jerk=Beside(jerk(run), jerk(flat)),
        ringing={"rest in the groove": Beside(*(ringing_of(one, "rest in the groove") for one in (run, flat)))},
        energy=Energy(float(energy.max(initial=0.0)), float(energy[-1]), -run.dissipated),
    )


@pytest.mark.parametrize(
    ("signal", "change", "words"),
    [
        ("velocity", lambda v: v, []),
        ("velocity", lambda v: -v, [TAPPED]),
        ("velocity", lambda v: np.where(v > 0.0, 4.0 * v, v), [TAPPED]),
        ("velocity", lambda v: np.minimum(v, -0.01), [TAPPED]),
        ("contact", lambda c: c & [True, True, False, False], [FLANKS]),
        ("contact", lambda c: ~c, [FLANKS]),
        ("position", lambda p: p + np.array([0.0, 1.1e-4, 0.0]), [LINE]),
        ("effort", lambda e: 2.1 * e, [JERK]),
        ("push", lambda f: 0.5 + 2.1 * (f - 0.5), [QUIET]),
        ("power", lambda p: -p, [ENERGY]),
    ],
)
def test_a_claim_fails_with_an_altered_signal(signal: str, change: Any, words: list[str]) -> None:
    run, distance = probing()
    found = failed(numbers_of(replace(run, **{signal: change(getattr(run, signal))}), distance, run))
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))


def test_a_tip_that_sinks_deeper_leaves_the_line() -> None:
    run, distance = probing()
    (text,) = failed(numbers_of(run, distance - 6e-5, run))
    assert text.startswith(LINE)
