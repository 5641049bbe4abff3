"""The verdicts on joystick_stick_slip: each fails just beyond its limit, and with recordings that are altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from haptic_experiments.experiments.joystick_stick_slip import (
    Difference,
    RunNumbers,
    Signals,
    Transitions,
    _claim_margins,
    _claim_run,
    difference,
    transitions,
)
from haptic_experiments.experiments.joystick_stick_slip.slabs import Margins, Scene, energy
from haptic_experiments.kit.composed import RunAndImplicit, SplitAndImplicit
from haptic_experiments.kit.results import Claims
from haptic_experiments.kit.signals import rms
from haptic_friction import Body, ContactNetwork
from haptic_friction.reference import slab_chain
from haptic_friction.reference.networks import EnergyBalance
from haptic_friction.reference.slab_chain import LIGHTEST, Lightest, SlabMotion, SplitMass, lightest

T = 1e-3
SAME = Difference(*[0.0] * 7)
LIGHT = Lightest(SplitMass(0.318, 0.318), SplitMass(0.675, 0.675), LIGHTEST)
NUMBERS = RunNumbers(
    latency_p50_p99={},
    step_time=SplitAndImplicit(0.0, 0.0),
    mode="lockstep",
    ticks=1000,
    missed=0.0,
    stopped=0,
    command_delay_ticks=0,
    against_library=SAME,
    against_split=SAME,
    against_implicit=SAME,
    split_against_implicit=SAME,
    rms=Signals(1.0, 1.0, 1.0),
    transitions={
        name: [Transitions(5, 40), Transitions(5, 4)]
        for name in ("run", "implicit", "fine", "split_without_counts", "fine_without_counts")
    },
    stick_share=[0.7, 0.7],
    rest_change=RunAndImplicit([0.0, 0.0], [0.0, 0.0]),
    energy=EnergyBalance(2.0, 0.1, 1.8, 0.1, 0.0, 0.0, 0.0),
    energy_implicit=EnergyBalance(2.0, 0.1, 1.8, 0.1, 0.0, 0.0, 0.0),
)
MARGINS = Margins(
    run=LIGHT,
    paper=LIGHT,
    stiffest_lower_no_delay=SplitAndImplicit(6e5, 6e6),
    stiffest_lower_one_tick_delay=SplitAndImplicit(1.9e5, 2.6e5),
    tried=6e6,
)
LIBRARY, STICKS, CHATTER, IMPLICIT, PASSIVE = (
    "The network of nodes is the library's",
    "Both contacts stick and slip",
    "They do so without chatter",
    "Bodies and contacts in one implicit step",
    "The network is passive",
)


def failed(numbers: RunNumbers = NUMBERS, margins: Margins = MARGINS) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = Claims()
    _claim_run(claims, "bag", numbers)
    _claim_margins(claims, margins)
    assert len(claims) == 8 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        (LIBRARY, ["against_library", "position"], 1e-12, 1.01e-12),
        (LIBRARY, ["against_library", "force"], 1e-8, 1.01e-8),
        (STICKS, ["stick_share", 0], 0.11, 0.09),
        (STICKS, ["stick_share", 1], 0.94, 0.96),
        (STICKS, ["transitions", "run", 0, "phases"], 5, 4),
        (STICKS, ["transitions", "run", 1, "phases"], 5, 4),
        (CHATTER, ["transitions", "run", 0, "changes"], 50, 51),
        (CHATTER, ["transitions", "run", 1, "changes"], 8, 9),
        (CHATTER, ["transitions", "split_without_counts", 1, "changes"], 6, 7),
        (IMPLICIT, ["against_implicit", "tool_rms"], 0.049, 0.051),
        (IMPLICIT, ["against_implicit", "position_rms"], 0.049, 0.051),
        (IMPLICIT, ["against_implicit", "force_rms"], 0.049, 0.051),
        (PASSIVE, ["energy", "open"], 0.039, 0.041),
        (PASSIVE, ["energy", "open"], -0.039, -0.041),
        (PASSIVE, ["energy", "least_loss"], -5.9e-5, -6.1e-5),
    ],
)
def test_a_claim_on_the_run_fails_just_beyond_its_limit(
    words: str, path: Sequence[Any], inside: float, outside: float
) -> None:
    assert failed(altered(NUMBERS, path, inside)) == []
    (text,) = failed(altered(NUMBERS, path, outside))
    assert text.startswith(words)


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        ("With the run's contacts", ["run", "one_tick", "simulated"], 0.333, 0.335),
        ("With the run's contacts", ["run", "two_ticks", "simulated"], 0.642, 0.640),
        ("With the run's contacts", ["run", "implicit"], LIGHTEST, 1.02 * LIGHTEST),
        ("With the paper's contacts", ["paper", "one_tick", "simulated"], 0.333, 0.335),
        ("With the paper's contacts", ["paper", "two_ticks", "stuck_map"], 0.708, 0.712),
        ("With the paper's contacts", ["paper", "implicit"], LIGHTEST, 1.02 * LIGHTEST),
        ("At the joystick", ["stiffest_lower_no_delay", "implicit"], 6.1e5, 6e5),
        ("At the joystick", ["stiffest_lower_one_tick_delay", "split"], 2.5e5, 2.6e5),
    ],
)
def test_a_claim_on_the_margins_fails_just_beyond_its_limit(
    words: str, path: Sequence[Any], inside: float, outside: float
) -> None:
    assert failed(margins=altered(MARGINS, path, inside)) == []
    (text,) = failed(margins=altered(MARGINS, path, outside))
    assert text.startswith(words)


# ---- altered recordings -----------------------------------------------------------------------------------


def scene() -> Scene:
    """The launch file's."""
    bodies = [Body(1.0, 100.0), Body(1.0, 200.0)]
    return Scene(T, bodies, [(6000.0, 10.0), (3e4, 300.0)], np.array([5.0, 2.5]))


@pytest.fixture(scope="module")
def strokes() -> SlabMotion:
    """Strokes of the tool in which both contacts stick and slip."""
    base = 0.2 * np.sin(4.0 * T * np.arange(8000))
    return scene().played(base, np.concatenate([[0.0], T * np.cumsum(base)[:-1]]))


def measured(run: SlabMotion, reference: SlabMotion) -> RunNumbers:
    """The numbers of the report of a run beside what it was before it was altered."""
    found, counted = difference(run, reference), transitions(run, T)
    others = transitions(reference, T)
    return replace(
        NUMBERS,
        against_library=found,
        against_implicit=found,
        rms=Signals(*(rms(getattr(run, name)) for name in ("tool", "position", "force"))),
        transitions={**dict.fromkeys(NUMBERS.transitions, others), "run": counted},
        stick_share=run.sticking.mean(axis=0).tolist(),
        energy=energy(run, scene()),
    )


def _held(values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(values[0], values.shape)


def _flickering(values: np.ndarray) -> np.ndarray:
    return np.where((np.arange(len(values)) % 100 == 50)[:, None], ~values, values)


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("tool", lambda tool: tool, []),
        ("sticking", _held, [STICKS]),
        ("sticking", lambda sticking: ~_held(sticking), [STICKS]),
        ("sticking", _flickering, [CHATTER]),
        ("position", lambda position: position + 1e-9, [LIBRARY]),
        ("position", lambda position: 1.06 * position, [LIBRARY, IMPLICIT, PASSIVE]),
        ("force", lambda force: 1.06 * force, [LIBRARY, IMPLICIT, PASSIVE]),
        ("dissipated", lambda energy: 0.9 * energy, [PASSIVE]),
    ],
)
def test_a_claim_fails_with_an_altered_column(strokes: SlabMotion, column: str, change: Any, words: list[str]) -> None:
    other = replace(strokes, **{column: change(getattr(strokes, column))})
    found = failed(measured(other, strokes))
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))


@pytest.mark.slow
def test_the_split_network_in_the_place_of_the_implicit_one_is_not_quiet_down_to_the_lightest_slabs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slab_chain, "ImplicitNetwork", ContactNetwork)
    found = lightest(scene(), 0.3 * np.sin(6.0 * T * np.arange(1500)), scene().elements)
    assert found.implicit == pytest.approx(found.one_tick.simulated)
    (text,) = failed(margins=replace(MARGINS, run=replace(LIGHT, implicit=found.implicit)))
    assert text.startswith("With the run's contacts")
