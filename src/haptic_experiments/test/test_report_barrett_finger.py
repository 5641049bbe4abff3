"""The report of the finger with a clutch, on signals that are known in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from convex_contact.scenes.barrett_finger import Finger
from convex_contact.scenes.gear_spectrum import harmonic_bins
from haptic_experiments.experiments import barrett_finger
from haptic_experiments.experiments.barrett_finger import LINK_RATIO, WORM_RATIO, FingerRun, measure, meshing
from haptic_experiments.kit.results import Claim

PERIOD, SPEED = 5e-4, 190.0
#: times at which the link is blocked and the clutch is free, s
BLOCKED, FREE = 0.27, 0.29


def made(gear: Any = np.cos) -> FingerRun:
    """A run that drives evenly, is blocked, breaks away and holds; the pinion's torque as given."""
    t = PERIOD * np.arange(721)
    scene = Finger()
    after = np.maximum(t - scene.loading_time, 0.0)
    motor = SPEED * after
    link = np.minimum(motor, SPEED * (BLOCKED - scene.loading_time)) / LINK_RATIO
    loaded, broken = t <= scene.loading_time + 1e-9, t >= FREE
    press = scene.clutch_force(0.015)
    peak = np.interp(t, [BLOCKED, FREE - 1e-3, FREE], [0.0, scene.breakaway_torque(press), 0.0])
    wheel = np.where(loaded, -0.015, np.where(t < BLOCKED, 1e-3, peak))
    run = SimpleNamespace(
        time=t, tick=np.arange(721), period=PERIOD, step=PERIOD, approximation="lagged",
        contact_count=np.full(721, 900), iterations=np.full(721, 5),
    )  # fmt: skip
    return FingerRun(
        run=run,  # type: ignore[arg-type]
        scene=scene, motor=motor, worm=-link * LINK_RATIO / WORM_RATIO, link=link,
        distal=np.maximum(t - FREE, 0.0) * 2.0, wheel=wheel, clutch=-wheel, gear=gear(t),
        press=np.where(broken, 0.0, press), obstacle=np.where(t >= BLOCKED - 1e-9, 7.0, 0.0),
    )  # fmt: skip


def test_phases_ratios_and_torques_are_found() -> None:
    numbers = measure(made())
    scene = Finger()
    assert numbers.blocked == pytest.approx(BLOCKED) and numbers.disengaged == pytest.approx(FREE)
    assert numbers.driving.ratio_worm == pytest.approx(2.5) and numbers.driving.ratio_link == pytest.approx(125.0)
    assert numbers.driving.motor_speed == pytest.approx(SPEED)
    assert numbers.loading_torque == numbers.held_torque == pytest.approx(0.015)
    assert numbers.breakaway_torque == pytest.approx(scene.breakaway_torque(numbers.press))
    assert numbers.afterwards.drift == pytest.approx(0.0, abs=1e-12) and numbers.afterwards.held_force == pytest.approx(
        7.0
    )


def test_harmonics_of_the_teeth_are_distinguished_from_noise() -> None:
    mesh = SPEED / math.tau * 8
    assert meshing(made())["pinion"] == pytest.approx(mesh)
    assert meshing(made())["worm"] == pytest.approx(mesh / 20)
    # the fifth harmonic is above half the sampling rate, and folded back
    tones = made(lambda t: sum(np.sin(2.0 * math.pi * k * mesh * t + k) for k in (1, 2, 5)))
    assert measure(tones).driving.ripple_at_meshing > 0.98
    random = np.random.default_rng(1)
    noise = made(lambda t: random.standard_normal(len(t)))
    counted = harmonic_bins(len(noise.gear[noise.driving]))
    assert measure(noise).driving.ripple_at_meshing == pytest.approx(counted, abs=0.1)


def test_driving_counts_from_0_03_s_after_the_reversal_on() -> None:
    """A wheel whose torque is 9 mN m at first, then 3 mN m for 0.03 s, then 1 mN m until the link is blocked."""
    run = made()
    since = run.time - run.scene.loading_time
    torque = np.where(since < 0.03 - 1e-9, 9e-3, np.where(since < 0.06 - 1e-9, 3e-3, 1e-3))
    found = measure(replace(run, wheel=torque)).driving
    assert found.torque == pytest.approx((0.03 * 3e-3 + 0.16 * 1e-3) / 0.19)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def tones(t: np.ndarray) -> np.ndarray:
    """A torque that hammers as teeth meet."""
    return np.asarray(np.sin(SPEED * 8 * t))


SOUND = measure(made(tones))
#: torque at which the clutch breaks away [N m], and limits by rounding of the ratios
BREAKS = Finger().breakaway_torque(SOUND.press)
PLAY = 2.0 * Finger().backlash / (0.5e-3 * 8 / 2) / abs(np.ptp(made().motor[made().driving]))
LOADING, DRIVING, HAMMERS, BREAKAWAY, AFTER, LOCKS = (
    "Loading",
    "Driving",
    "The torques hammer",
    "Breakaway",
    "Then no net torque",
    "With Similar",
)


def judged(monkeypatch: pytest.MonkeyPatch, numbers: dict[str, Any], run: FingerRun) -> list[Claim]:
    """The claims of a report with the given numbers of each approximation."""
    runs = {name: replace(run, run=SimpleNamespace(**{**vars(run.run), "approximation": name})) for name in numbers}
    by_run = {id(runs[name]): found for name, found in numbers.items()}
    for one in runs.values():
        one.run.parameters = {}  # type: ignore[misc]
    monkeypatch.setattr(barrett_finger, "runs_by_variant", lambda bags: runs)
    monkeypatch.setattr(barrett_finger.FingerRun, "of", lambda run: run)
    monkeypatch.setattr(barrett_finger, "measure", lambda run: by_run[id(run)])
    return list(barrett_finger.analyse({}).claims)


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        (LOADING, ["held_torque"], 0.015 * 1.019, 0.015 * 1.021),
        (LOADING, ["held_torque"], 0.015 * 0.981, 0.015 * 0.979),
        (LOADING, ["loading_torque"], 0.015 * 1.049, 0.015 * 1.06),
        (DRIVING, ["driving", "ratio_worm"], WORM_RATIO * (1.0 + 0.99 * PLAY), WORM_RATIO * (1.0 + 1.01 * PLAY)),
        (DRIVING, ["driving", "ratio_link"], LINK_RATIO * (1.0 - 1.98 * PLAY), LINK_RATIO * (1.0 - 2.02 * PLAY)),
        (BREAKAWAY, ["breakaway_torque"], 1.049 * BREAKS, 1.051 * BREAKS),
        (BREAKAWAY, ["breakaway_torque"], 0.951 * BREAKS, 0.949 * BREAKS),
        (AFTER, ["afterwards", "residual_torque"], 0.049 * BREAKS, 0.051 * BREAKS),
        (AFTER, ["afterwards", "drift"], -0.99e-3, -1.01e-3),
        (AFTER, ["afterwards", "held_force"], 1e-6, 0.0),
        (AFTER, ["afterwards", "distal_turned"], 1.01e-3, 0.99e-3),
    ],
)
def test_a_claim_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, path: Sequence[Any], inside: float, outside: float
) -> None:
    slow = altered(SOUND, ["driving", "motor_speed"], 0.899 * SPEED)
    for value, expected in ((inside, []), (outside, [words])):
        numbers = {"lagged": altered(SOUND, path, value), "similar": slow}
        claims = judged(monkeypatch, numbers, made(tones))
        assert [claim.text[: len(words)] for claim in claims if claim.shown is False] == expected
        assert [claim.shown for claim in claims].count(None) == 1


def test_noise_and_a_motor_that_turns_fail_the_claims_on_hammering_and_on_locked_teeth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = made(tones)
    noise = harmonic_bins(len(run.gear[run.driving]))
    for hammers, speed, expected in (
        (2.01 * noise, 0.899, []),
        (1.99 * noise, 0.899, [HAMMERS]),
        (2.01 * noise, 0.901, [LOCKS]),
    ):
        numbers = {
            "lagged": altered(SOUND, ["driving", "ripple_at_meshing"], hammers),
            "similar": altered(SOUND, ["driving", "motor_speed"], speed * SPEED),
        }
        texts = [claim.text for claim in judged(monkeypatch, numbers, run) if claim.shown is False]
        assert len(texts) == len(expected) and all(map(str.startswith, texts, expected))


def test_a_run_that_ends_before_the_reversal_leaves_the_loading_unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(tones)
    short = replace(run, run=SimpleNamespace(**{**vars(run.run), "time": run.time[: int(0.04 / PERIOD)]}))
    assert judged(monkeypatch, {"lagged": SOUND}, run)[0].shown is True
    monkeypatch.setattr(barrett_finger, "_claim_driving", lambda *arguments: None)
    assert judged(monkeypatch, {"lagged": SOUND}, short)[0].shown is None
