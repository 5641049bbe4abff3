"""The report of the finger with a clutch, on signals that are known in closed form."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from convex_contact.scenes.barrett_finger import Finger
from convex_contact.scenes.gear_spectrum import harmonic_bins
from haptic_experiments.experiments.barrett_finger import LINK_RATIO, WORM_RATIO, FingerRun, measure, meshing

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


def test_harmonics_of_the_teeth_are_told_from_noise() -> None:
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
