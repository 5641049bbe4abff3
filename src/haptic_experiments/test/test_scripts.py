"""The installed scripts of the papers' figures: a launch file finds them, and each is the figure's input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_devices.scripted import load_script
from haptic_launch.launch_substitutions import Context, evaluate, parse_template

PERIOD = 1e-3
F = 6.0


def drift(t: np.ndarray) -> np.ndarray:
    loaded = 0.5 * F * t / 60 + 0.3 * F * np.sin(2 * np.pi * 30 * t)
    return np.where(t <= 60.0, loaded, np.where(t <= 60.5, 0.5 * F * (60.5 - t) / 0.5, 0.0))


#: turning points [m], the times at which the tool is there [s], and so its speeds in between
LOOPS = np.array([0, 1, -1, 1, 2, -2, 2, 4, -4, 4, 7, -7, 7, 10, -10, 10, -10, 3, -2, 3, 10, -10, 10, -10, 10]) * 1e-4
SPEEDS = np.array([2e-3] * 20 + [8e-3] * 2 + [5e-4] * 2)
TIMES = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(LOOPS)) / SPEEDS)))


def hysteresis(t: np.ndarray) -> np.ndarray:
    way = np.clip(np.searchsorted(TIMES, t + 1e-9, side="right") - 1, 0, len(SPEEDS) - 1)
    return SPEEDS[way] * np.sign(np.diff(LOOPS))[way]


#: length [s], channel, and its value over time
EXPECTED = {
    "friction_zero_reaching_stop": (0.2, "force", lambda t: np.full_like(t, -1.0)),
    "friction_zero_reaching_reversal": (0.2, "force", lambda t: np.full_like(t, -10.0)),
    "friction_two_contacts": (10.0, "velocity", lambda t: 0.5 * np.sin(5 * t)),
    "friction_model_b": (0.2, "velocity", lambda t: 0.1 * t),
    "friction_model_d": (0.3, "force", np.zeros_like),
    "friction_drift": (62.0, "force", drift),
    "friction_hysteresis": (16.3, "velocity", hysteresis),
    "friction_stop": (2.0, "force", lambda t: np.full_like(t, -1.0)),
}


def scripts() -> Path:
    return Path(evaluate(parse_template("$(find-pkg-share haptic_bringup)/config/scripts"), Context()))


def test_every_installed_script_is_checked_here():
    assert {path.stem for path in scripts().glob("friction_*")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_script_is_the_input_of_its_figure_along_x(name):
    length, channel, expected = EXPECTED[name]
    script = load_script(scripts() / f"{name}.yaml")
    assert script.end == length
    t = np.arange(round(length / PERIOD) + 1) * PERIOD
    values = script.at(t)
    # sin(3600 pi) is 1e-12 off in doubles: the drift's line starts from the exact value at 60 s
    assert np.abs(values[channel][:, 0] - expected(t)).max() < 1e-11
    values[channel][:, 0] = 0.0
    assert not any(table.any() for table in values.values())
