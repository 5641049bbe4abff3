"""Sensors of the five-bar: encoders and force sensor."""

from __future__ import annotations

import numpy as np
import pytest
from five_bar_cases import DEFAULT, GEOMETRY, NO_NOISE, PERIOD, ROUNDING, five_bar, hand, motion, run, still, tool

from haptic_devices.five_bar import tool_jacobian


def test_the_device_reports_the_nearest_counts_of_the_motors_angles():
    rows = run(five_bar(), [motion(5e-5 * k, 0.0, (0.05, 0.0)) for k in range(200)])
    resolution, truth = DEFAULT.encoder_resolution, rows[:, 25:27]
    assert (rows[:, 0:2] == np.round(truth / resolution) * resolution).all()
    assert np.ptp(truth, axis=0).min() > 100 * resolution


def test_the_reading_s_jacobian_pose_and_twist_are_those_of_the_measured_angles():
    device = five_bar()
    run(device, [motion(5e-5 * k, 0.0, (0.05, 0.0)) for k in range(200)])
    reading, jacobian = device.read(), np.zeros((6, 2))
    tool_jacobian(GEOMETRY, reading.position, jacobian)
    pose, twist = tool(reading.position, reading.velocity)
    assert (device.jacobian() == jacobian).all()
    assert (reading.tool_pose == pose).all() and (reading.tool_twist == twist).all()


def test_the_true_tool_is_where_the_links_are_behind_the_gears():
    device = five_bar(hand(plan=still(fx=20.0), tremor_force=0.0))
    run(device, [None] * 2000)
    truth, jacobian = device.truth(), np.zeros((6, 2))
    assert (truth.tool_pose == tool(device.links[:2], device.links[2:])[0]).all()
    tool_jacobian(GEOMETRY, device.links[:2], jacobian)
    # at rest each gear bears its share of the hand's force; the servo's last corrections are slow ones
    expected = jacobian.T @ truth.tool_wrench / DEFAULT.gear_stiffness
    assert device.links[:2] - truth.position == pytest.approx(expected, rel=1e-4)
    assert np.abs(expected).max() > 1e-4


def test_the_force_reading_is_what_the_hand_exerts_positive_as_it_acts_on_the_tool():
    device = five_bar(hand(plan=still(fx=3.0, fy=-2.0), tremor_force=0.0), **NO_NOISE)
    run(device, [None] * 1000)
    reading, truth = device.read().tool_wrench, device.truth()
    away = truth.tool_pose[:2]
    expected = [3.0 - 500.0 * away[0], -2.0 - 500.0 * away[1]]
    # at rest for 1 s; the servo's last corrections are below a micrometre, 500 N/m times that
    assert truth.tool_wrench[:2] == pytest.approx(expected, abs=1e-3)
    assert reading[:2] == pytest.approx(expected, abs=1e-3)
    assert (reading[2:] == 0.0).all()


def test_the_sensor_feels_the_inertia_of_grip_and_hand_the_hand_s_wrench_only_that_of_the_hand():
    time = PERIOD * np.arange(600)
    x, v = 0.02 * (1 - np.cos(10 * time)), 0.2 * np.sin(10 * time)
    idle = hand(plan=still(periods=1), stiffness=0.0, damping=0.0, tremor_force=0.0, mass=0.5)
    device = five_bar(idle, **NO_NOISE, sensor_cutoff=2000.0)
    rows = run(device, [motion(a, 0.0, (b, 0.0)) for a, b in zip(x, v, strict=True)])
    speed, wrench, reading = rows[:, 25 + 13], rows[:, 25 + 19], rows[:, 19]
    # nothing but inertia: the mean of a period is that of its change of momentum
    assert wrench[1:] == pytest.approx(-0.5 * np.diff(speed) / PERIOD, abs=1e-9)
    beyond = 0.5 + DEFAULT.mass_grip
    # the impulse of the readings, behind by the filter's 0.1 ms and half a period; the speed swings by 0.4 m/s
    impulse = PERIOD * (np.cumsum(reading) - reading[0])
    assert impulse == pytest.approx(-beyond * (speed - speed[0]), abs=0.01 * beyond * np.ptp(speed))


def test_an_unheld_grip_still_loads_the_sensor():
    device = five_bar(**NO_NOISE)
    rows = run(device, [motion(2.0 * (PERIOD * k) ** 2 / 2, 0.0, (2.0 * PERIOD * k, 0.0)) for k in range(200)])
    # 2 m/s^2 on 0.3 kg, with the gears' oscillation on it
    assert rows[100:, 19].mean() == pytest.approx(-0.6, rel=0.05)
    assert (device.truth().tool_wrench == 0.0).all()


def test_the_noise_has_its_rms_in_every_axis_and_is_white():
    device = five_bar(force_resolution=0.0, torque_resolution=0.0)
    noise = run(device, [None] * 4000)[:, 19:25]
    # 4000 samples: the RMS is known to 1/sqrt(8000) = 1.1 %, a correlation to 1.6 %; four deviations
    assert noise.std(axis=0) == pytest.approx([DEFAULT.force_noise] * 3 + [DEFAULT.torque_noise] * 3, rel=0.045)
    for axis in noise.T:
        assert abs(np.corrcoef(axis[1:], axis[:-1])[0, 1]) < 0.064


def test_the_wrench_is_reported_in_counts():
    device = five_bar(hand(), force_resolution=0.1, torque_resolution=0.01)
    wrench = run(device, [None] * 200)[:, 19:25] / ([0.1] * 3 + [0.01] * 3)
    assert wrench == pytest.approx(np.round(wrench), abs=1e-9)  # hundreds of counts, one rounding each
    assert np.ptp(wrench[:, 0]) >= 3


def test_a_force_beyond_the_range_reads_as_the_range():
    device = five_bar(hand(plan=still(fx=50.0), tremor_force=0.0), force_range=20.0)
    run(device, [None] * 200)
    assert device.read().tool_wrench[0] == pytest.approx(20.0, abs=ROUNDING)
    assert device.truth().tool_wrench[0] > 40.0
