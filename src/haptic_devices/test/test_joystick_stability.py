"""Model C on the free joystick comes to rest, and the table of minimal masses in joystick.yaml is right."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from haptic_core.commands import WRENCH
from haptic_devices.device import load_parameters
from haptic_devices.joystick import DEFAULT_FILE, Joystick, JoystickParameters
from haptic_devices.loop import TickLoop
from haptic_friction import CoulombLaw, ModelC
from haptic_msgs.msg import DeviceCommand

FORCE, STIFFNESS, DAMPING, PERIOD = 4.0, 6000.0, 10.0, 1e-3
DEFAULT = load_parameters(JoystickParameters, DEFAULT_FILE)


def release(start: np.ndarray, delay: int, periods: int = 2500, **changes: Any) -> np.ndarray:
    """True joint positions of the free stick under model C, from position and velocity (4,), shape (periods, 2)."""
    device = Joystick(JoystickParameters(**{**DEFAULT.model_dump(), **changes}))
    device.configure(PERIOD)
    device.activate()
    device.truth().position[:], device.truth().velocity[:] = start[:2], start[2:]
    loop = TickLoop(device, ["friction"], command_delay_ticks=delay)
    model = ModelC(CoulombLaw(FORCE), stiffness=STIFFNESS, damping=DAMPING, period=PERIOD, dimension=2)
    command = DeviceCommand(source="friction", mode=WRENCH)
    positions = []
    for tick in range(periods):
        force = -model.step(device.read().tool_twist[:2])
        command.tick = tick
        command.tool_wrench.force.x, command.tool_wrench.force.y = force.tolist()
        loop.offer(command)
        loop.advance()
        positions.append(device.truth().position.copy())
    return np.array(positions)


STARTS = np.random.default_rng(0).uniform(-1, 1, (8, 4)) * [0.5, 0.5, 5.0, 5.0]


@pytest.mark.covering
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("start", STARTS, ids=range(len(STARTS)))
def test_the_free_stick_comes_to_rest_under_model_c(start, delay):
    positions = release(start, delay)
    assert np.ptp(positions[:300], axis=0).max() > 0.005  # it did move: tens of millimetres at the tip
    # what is left in the last half second is less than the encoders can tell
    assert np.ptp(positions[-500:], axis=0).max() < DEFAULT.encoder_resolution


@pytest.mark.parametrize(("tip_mass", "delay", "grows"), [(0.1, 0, False), (0.1, 1, True), (0.4, 1, False)])
def test_without_bearing_friction_the_swing_of_the_sticking_model_grows_only_below_the_minimal_mass(
    tip_mass, delay, grows
):
    # not nearer to 0.24 kg: the integrator's half substep acts like 0.05 ms less delay and moves the limit
    inertia = tip_mass * DEFAULT.length**2 / 2
    ideal = {"friction_coulomb": 0.0, "friction_viscous": 0.0, "encoder_resolution": 0.0}
    ideal |= {"inertia_outer": inertia, "inertia_inner": inertia, "inertia_stick": inertia}
    positions = release(np.array([0.0, 0.0, 1e-3, 1e-3]), delay, **ideal)
    first, last = (np.ptp(part, axis=0).max() for part in (positions[:100], positions[-100:]))
    assert first * STIFFNESS * DEFAULT.length < 0.01 * FORCE  # so small that the model sticks
    assert last > 10 * first if grows else last < 0.5 * first


# ---- the linear loop ------------------------------------------------------------------------------


def loop_matrix(mass: float, cutoff: float, delay: int) -> np.ndarray:
    """One tick of mass, hold, velocity filter, sticking model C and delay, as a matrix.

    State: position x, velocity v, estimated velocity w, displacement e, delayed forces. The model is
    e <- e + T w, f = K e + B w (38); the mass feels -f over a zero-order hold; the filter's input is the
    difference of positions.
    """
    state = np.eye(4 + delay)
    x, v, w, e = state[:4]
    e_next = e + PERIOD * w
    force = STIFFNESS * e_next + DAMPING * w
    pipeline = [*state[4:], force]  # the force that acts comes first
    x_next = x + PERIOD * v - PERIOD**2 / (2 * mass) * pipeline[0]
    v_next = v - PERIOD / mass * pipeline[0]
    gain = 1.0 - math.exp(-2 * math.pi * cutoff * PERIOD)
    w_next = w + gain * ((x_next - x) / PERIOD - w)
    return np.array([x_next, v_next, w_next, e_next, *pipeline[1:]])


def is_stable(mass: float, cutoff: float, delay: int) -> bool:
    """All eigenvalues inside the unit circle but one: x and e may move together for ever."""
    sizes = np.sort(np.abs(np.linalg.eigvals(loop_matrix(mass, cutoff, delay))))
    assert sizes[-1] > 1.0 - 1e-9
    return bool(sizes[-2] < 1.0 - 1e-12 and sizes[-1] < 1.0 + 1e-9)


def documented() -> dict[tuple[str, int], str]:
    """The table in the comment of joystick.yaml: minimal mass by velocity filter and ticks of delay."""
    text = DEFAULT_FILE.read_text()

    def row(label: str) -> list[str]:
        return re.split(r"\s{2,}", re.search(rf"^#\s+{label}\s+(.*)$", text, re.MULTILINE)[1].strip())

    filters = row("velocity filter")
    rows = {0: row("no delay"), 1: row("one tick of delay")}
    return {(name, delay): mass for delay, row in rows.items() for name, mass in zip(filters, row, strict=True)}


TABLE = documented()


def test_the_table_has_four_filters_with_and_without_delay():
    assert len(TABLE) == 8 and sum(mass == "unstable at any" for mass in TABLE.values()) == 2


@pytest.mark.parametrize(("filter_", "delay"), TABLE)
def test_the_documented_minimal_mass_is_where_the_linear_loop_becomes_stable(filter_, delay):
    mass = TABLE[filter_, delay]
    cutoff = math.inf if filter_ == "none" else float(filter_.removesuffix(" Hz"))
    heavier = np.geomspace(1.0, 1e3, 31)
    if mass == "unstable at any":
        assert not any(is_stable(factor * 1e-3, cutoff, delay) for factor in np.geomspace(1.0, 1e6, 61))
        return
    number, unit = mass.split()
    kilograms = float(number) * {"g": 1e-3, "kg": 1.0}[unit]
    # the table is rounded to one or two digits
    assert not is_stable(0.9 * kilograms, cutoff, delay)
    assert all(is_stable(1.1 * kilograms * factor, cutoff, delay) for factor in heavier)


@pytest.mark.parametrize("delay", [0, 1])
def test_the_joystick_s_tip_mass_and_filter_are_stable(delay):
    for inertia in (DEFAULT.inertia_outer, DEFAULT.inertia_inner):
        tip_mass = (inertia + DEFAULT.inertia_stick) / DEFAULT.length**2
        assert tip_mass == pytest.approx(0.36, rel=0.06)  # "0.36 kg at the tip"
        assert is_stable(tip_mass, DEFAULT.velocity_cutoff, delay)
