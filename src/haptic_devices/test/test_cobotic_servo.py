"""Servo of the six-degree-of-freedom display: latency, bandwidth, stiffness, feedforward, saturation, stability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cobotic_cases import (
    DEFAULT,
    IDEAL,
    LIMP,
    NO_BODY,
    NO_FRICTION,
    NO_NOISE,
    PERIOD,
    POLE,
    ROUNDING,
    bias_of,
    display,
    hand,
    jacobian_of,
    motion,
    of_joints,
    plan_of,
    pushing,
    run,
)
from scipy.optimize import brentq

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY
from haptic_devices.cobotic import SUBSTEPS, CoboticHandController

#: no outer loop, no saturation (a step of 0.1 m/s asks for 276 N)
FOLLOW = {**IDEAL, "position_gain": 0.0, "force_limit": 1e4, "torque_limit": 1e3}


@pytest.mark.parametrize("steps", [0, 1, 7, 10, 13, 20, 29])
def test_a_velocity_step_arrives_after_the_latency_to_the_substep_and_is_that_of_two_equal_poles(steps):
    dt = PERIOD / SUBSTEPS
    device = display(**{**FOLLOW, "servo_latency": steps * dt})
    wanted = np.array([0.1, -0.2, 0.3, 1.0, -0.5, 2.0])
    rows = run(device, [of_joints(qd=wanted)] * 40)
    # the error of the sampled loop with the double pole L = 1 - h: L^n (1 - n h / L)
    n, h = SUBSTEPS * np.arange(1, 41) - steps, POLE * dt
    share = np.where(n > 0, 1.0 - (1.0 - h) ** np.maximum(n - 1, 0) * (1.0 - h - n * h), 0.0)
    assert rows["true_velocity"] == pytest.approx(share[:, None] * wanted, abs=1000 * ROUNDING)  # 400 steps
    before = rows["true_velocity"][n <= 0]
    assert (before == 0.0).all() and len(before) == steps // SUBSTEPS


def test_the_sampled_servo_is_the_continuous_one_for_short_steps():
    period = 1e-4
    rows = run(display(period=period, **FOLLOW), [of_joints(qd=[0.1] * 6)] * 300)
    time = period * np.arange(1, 301) - DEFAULT.servo_latency
    expected = np.where(time > 0.0, 1.0 - np.exp(-POLE * time) * (1.0 - POLE * time), 0.0)
    # the step of 1e-5 s: half of POLE dt = 6e-4
    assert rows["true_velocity"][:, 0] == pytest.approx(0.1 * expected, abs=0.1 * 1e-3)


@pytest.mark.covering(1)
@pytest.mark.parametrize("bandwidth", [20.0, 40.0])
def test_the_servo_follows_to_minus_3_decibels_at_its_closed_form_s_frequency(bandwidth):
    # |G|^2 = w^2 (s^2 + w^2/16)/(s^2 + w^2/4)^2 = 1/2 at s^2 = w^2 (3/2 + sqrt(5/2))/2
    w, period = 2 * np.pi * bandwidth, 1e-4
    s = w * math.sqrt((1.5 + math.sqrt(2.5)) / 2.0)
    assert s / (2 * np.pi) == pytest.approx(1.2412 * bandwidth, rel=1e-4)
    time = period * np.arange(round(20 * 2 * np.pi / s / period))
    device = display(period=period, **{**FOLLOW, "servo_bandwidth": bandwidth})
    wave = 0.05 * np.sin(s * (time + period / 2))  # the middle of each held command
    rows = run(device, [of_joints(qd=[0, v, 0, 0, 0, 0]) for v in wave])
    late = len(time) // 2
    phase = np.exp(-1j * s * (time[late:] + period))
    response = 2j * np.mean(rows["true_velocity"][late:, 1] * phase) / 0.05
    latency = np.exp(-1j * s * DEFAULT.servo_latency)
    expected = w * (1j * s + w / 4) / (1j * s + w / 2) ** 2 * latency
    # ten periods of the wave in the mean, to a row; the integration's step shifts by half of 1e-5 s
    assert abs(response) == pytest.approx(math.sqrt(0.5), rel=0.01)
    assert response == pytest.approx(expected, abs=0.01)


def test_a_force_that_rises_displaces_as_mass_and_two_poles_say():
    period, slope = 1e-4, 40.0
    force = np.zeros((2500, 6))
    force[:, 1] = slope * period * (np.arange(2500) + 0.5)
    device = display(hand(plan_of(force, period=period), **LIMP), period=period, **FOLLOW)
    moved = run(device, [None] * 2500)["true_position"][:, 1]
    t, a = period * np.arange(1, 2501), POLE
    expected = slope / 11.0 * (t / a**2 - 2 / a**3 + np.exp(-a * t) * (t / a**2 + 2 / a**3))
    # the step of 1e-5 s: POLE dt = 1e-3 of the lag 2/a, which is a fifteenth of the 0.25 s
    assert moved == pytest.approx(expected, abs=2e-4 * expected[-1])
    # the pull of 20 N that the paper's users give: a tenth of a millimetre before the outer loop acts
    assert pytest.approx(1.15e-4, rel=0.01) == 20.0 / (11.0 * POLE**2)


def test_the_outer_loop_takes_the_displacement_back():
    device = display(pushing((0, 20.0, 0, 0, 0, 0)), **IDEAL)
    moved = run(device, [None] * 1000)["true_position"][:, 1]
    assert 0.5e-4 < moved.max() < 1.15e-4
    # the loop's slowest pole is about its gain of 30/s: e^-30 after 1 s
    assert abs(moved[-1]) < 1e-9


def test_the_effort_holds_the_hand_s_force_and_the_momentum_balance_is_closed():
    force = np.random.default_rng(1).uniform(-30.0, 30.0, (300, 6)) * [1, 1, 1, 0.05, 0.05, 0.05]
    device = display(hand(plan_of(force), **LIMP), **{**NO_NOISE, **NO_FRICTION, **NO_BODY})
    rows = run(device, [of_joints(q=[0.02] * 3 + [0] * 3)] * 300)
    momentum = 11.0 * np.diff(rows["true_velocity"][:, :3], axis=0, prepend=np.zeros((1, 3)))
    balance = PERIOD * (rows["true_effort"] + rows["true_tool_wrench"])[:, :3]
    assert momentum == pytest.approx(balance, abs=1000 * ROUNDING)  # of 1 N s, ten steps each
    assert np.abs(rows["true_effort"]).max() > 20.0
    assert (rows["effort"] == rows["true_effort"]).all()


def test_an_acceleration_is_fed_forward_through_the_kinematics():
    q = np.array([0.0, 0.0, 0.0, 0.7, 0.9, -0.4])
    twist, rate = np.array([0.1, 0.2, -0.1, 1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5, 3.0, 2.0, -4.0])
    device = display(hand(plan_of(q=q), **LIMP), **{**FOLLOW, "servo_latency": 0.0})
    for fields, factor in ((VELOCITY, 0.0), (VELOCITY | ACCELERATION, 1.0), (ACCELERATION, 0.0)):
        device.activate()
        device.follow(motion(twist=twist, acceleration=rate, fields=fields))
        qd, qdd = device.command
        if fields & VELOCITY:
            assert jacobian_of(q) @ qd == pytest.approx(twist, abs=100 * ROUNDING)
        if factor:
            # the target moves on by one period before it is held: 2 rad/s T = 2e-3 of the rates of 5 rad/s^2
            assert jacobian_of(q) @ qdd + bias_of(q, qd) == pytest.approx(rate, abs=100 * ROUNDING)
        else:
            assert (qdd == 0.0).all()


def test_with_the_acceleration_the_servo_follows_without_a_response_of_its_own():
    # at its -3 dB frequency of 50 Hz, and beyond
    period, duration = 1e-4, 0.4
    for frequency in (50.0, 100.0):
        s, device = 2 * np.pi * frequency, display(period=period, **FOLLOW)
        time = period * np.arange(round(duration / period))
        phase = s * (time + period / 2)  # the middle of each held command
        speed, rate = 0.02 * np.sin(phase), 0.02 * s * np.cos(phase)
        wanted = [
            motion(twist=(0, 0, v, 0, 0, 0), acceleration=(0, 0, a, 0, 0, 0), fields=VELOCITY | ACCELERATION)
            for v, a in zip(speed, rate, strict=True)
        ]
        late = len(time) // 2
        moved = run(device, wanted)["true_velocity"][late:, 2]
        response = 2j * np.mean(moved * np.exp(-1j * s * (time[late:] + period))) / 0.02
        # only the latency is left; half a step of 1e-5 s, and 0.0015 of the held command's (s T)^2/24
        assert response == pytest.approx(np.exp(-1j * s * DEFAULT.servo_latency), abs=0.01)


def test_the_effort_saturates_and_the_integral_does_not_wind_up():
    device = display(**{**IDEAL, "force_limit": 15.0})
    rows = run(device, [motion((0.1, 0, 0, 0, 0, 0, 1), fields=POSITION)] * 3000)
    moved, effort = rows["true_position"][:, 0], rows["true_effort"][:, 0]
    assert np.abs(effort).max() == pytest.approx(15.0, abs=ROUNDING * 100) and (np.abs(effort) > 14.99).sum() > 100
    # 15 N brake 11 kg from the commanded 3 m/s only over a long way; an integral that ran on would not come back
    assert abs(moved[-1] - 0.1) < 1e-6


@pytest.mark.parametrize(("factor", "grows"), [(0.97, False), (1.03, True)])
def test_the_outer_loop_is_refused_where_it_oscillates(monkeypatch, factor, grows):
    device = display(**IDEAL)

    def excess(gain: float) -> float:
        device.parameters = device.parameters.model_copy(update={"position_gain": gain})
        return device._servo_radius(PERIOD, 20) - 1.0

    gain = factor * brentq(excess, 60.0, 500.0)
    if grows:
        with pytest.raises(ValueError, match=rf"^position_gain: expected less than {gain:g} 1/s, with which the loop "):
            display(**{**IDEAL, "position_gain": gain})
    monkeypatch.setattr(CoboticHandController, "_servo_radius", lambda *_: 0.0)  # accepts every gain
    device = display(**{**IDEAL, "position_gain": gain})
    moved = run(device, [of_joints(q=[1e-5] * 6)] * 1500)["true_position"][:, 0] - 1e-5
    early, late = np.abs(moved[200:400]).max(), np.abs(moved[-200:]).max()
    assert late > 3.0 * early if grows else late < early / 3.0
