"""The joystick as a device: kinematics, encoders, limits, repeatability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from haptic_core.errors import ParameterError
from haptic_devices.components import encoder
from haptic_devices.device import load_parameters
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.joystick import DEFAULT_FILE, Joystick, JoystickParameters, tip_jacobian, tip_state
from haptic_devices.motions.planar import MotionPlan, stroke_plan, to_and_fro_plan

LENGTH = 0.15
PERIOD = 1e-3
#: products and sums of a few numbers of size 1 (size 10 for rates): some roundings of 1.1e-16 each
ROUNDING = 1e-14

angles = st.tuples(*[st.floats(-1.5, 1.5)] * 2).map(np.array)
rates = st.tuples(*[st.floats(-20.0, 20.0)] * 2).map(np.array)


def tip(q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    pose, twist = np.zeros(7), np.zeros(6)
    tip_state(LENGTH, q, qd, pose, twist)
    return pose, twist


def rotation(q: np.ndarray) -> Rotation:
    return Rotation.from_euler("y", q[0]) * Rotation.from_euler("x", -q[1])


def joystick(hand: SimulatedHand | None = None, **changes: Any) -> Joystick:
    parameters = load_parameters(JoystickParameters, DEFAULT_FILE).model_dump()
    device = Joystick(JoystickParameters(**{**parameters, **changes}), hand)
    device.configure(PERIOD)
    device.activate()
    return device


def hand(seed: int = 0) -> SimulatedHand:
    parameters = HandParameters(
        mass=0.2, stiffness=500, damping=15, expected_resistance=4, tremor_force=0.25, tremor_low=8, tremor_high=12
    )
    return SimulatedHand(parameters, stroke_plan(PERIOD, [0]), seed)


def run(device: Joystick, efforts: Any) -> np.ndarray:
    rows = []
    for effort in efforts:
        device.write(np.asarray(effort, dtype=float))
        rows.append(np.concatenate((device.read().values, device.truth().values)))
    return np.array(rows)


# ---- kinematics -----------------------------------------------------------------------------------


@given(angles)
def test_the_tip_is_the_stick_s_end_turned_by_the_gimbal(q):
    pose, _ = tip(q, np.zeros(2))
    assert pose[:3] == pytest.approx(rotation(q).apply([0.0, 0.0, LENGTH]), abs=ROUNDING)


@given(angles)
def test_the_quaternion_is_that_of_ry_q1_rx_minus_q2_in_order_x_y_z_w(q):
    pose, _ = tip(q, np.zeros(2))
    assert pose[3:] == pytest.approx(rotation(q).as_quat(canonical=False), abs=ROUNDING)


@given(angles, rates)
def test_the_twist_is_the_jacobian_times_the_joint_rates(q, qd):
    jacobian = np.zeros((6, 2))
    tip_jacobian(LENGTH, q, jacobian)
    assert tip(q, qd)[1] == pytest.approx(jacobian @ qd, abs=10 * ROUNDING)


@given(angles)
def test_the_jacobian_s_linear_rows_agree_with_finite_differences_of_the_tip(q):
    jacobian, h = np.zeros((6, 2)), 1e-6
    tip_jacobian(LENGTH, q, jacobian)
    for joint, step in enumerate(h * np.eye(2)):
        difference = (tip(q + step, np.zeros(2))[0][:3] - tip(q - step, np.zeros(2))[0][:3]) / (2 * h)
        # central difference: L h^2/6 = 2.5e-14 of truncation, rounding 1e-17/h = 1e-11
        assert jacobian[:3, joint] == pytest.approx(difference, abs=1e-10)


@given(angles, rates)
def test_the_angular_velocity_agrees_with_finite_differences_of_the_rotation(q, qd):
    h = 1e-6
    turned = rotation(q + h * qd) * rotation(q - h * qd).inv()
    # rounding of the rotation matrices 2e-16/(2 h) = 1e-10, truncation |qd|^3 h^2 = 2e-8 at the largest rate
    assert tip(q, qd)[1][3:] == pytest.approx(turned.as_rotvec() / (2 * h), abs=1e-7)


def test_the_reading_s_jacobian_and_pose_are_those_of_the_measured_angles():
    device = joystick()
    run(device, [[0.5, -0.3]] * 50)
    reading, jacobian = device.read(), np.zeros((6, 2))
    tip_jacobian(LENGTH, reading.position, jacobian)
    pose, twist = tip(reading.position, reading.velocity)
    assert (device.jacobian() == jacobian).all()
    assert (reading.tool_pose == pose).all() and (reading.tool_twist == twist).all()
    assert (reading.position != device.truth().position).all()  # the encoders' numbers, not the truth


# ---- encoders -------------------------------------------------------------------------------------


@given(st.floats(-2.0, 2.0), st.sampled_from([7.854e-5, 1e-3, 0.1]))
def test_a_quantised_position_is_the_nearest_count(position, resolution):
    counts = encoder.quantise(position, resolution) / resolution
    assert counts == pytest.approx(round(counts), abs=1e-10)  # 2.5e4 counts times a rounding
    assert abs(counts - position / resolution) <= 0.5 + 1e-10


def test_resolution_zero_measures_exactly():
    assert encoder.quantise(0.123456789, 0.0) == 0.123456789


@pytest.mark.parametrize("cutoff", [30.0, 100.0, 400.0])
def test_the_velocity_filter_s_step_response_is_first_order_with_its_corner_frequency(cutoff):
    speed, steps = 0.7, 40
    constants = encoder.constants(resolution=0.0, cutoff=cutoff, period=PERIOD)
    position, velocity = np.zeros(1), np.zeros(1)
    response = []
    for k in range(1, steps + 1):
        encoder.sample(np.array([speed * k * PERIOD]), constants, position, velocity)
        response.append(velocity[0])
    time = np.arange(1, steps + 1) * PERIOD
    expected = speed * (1.0 - np.exp(-2 * math.pi * cutoff * time))
    assert response == pytest.approx(expected, abs=1e-12)  # roundings of the position, divided by T


@pytest.mark.parametrize("cutoff", [30.0, 400.0])
def test_measured_velocity_of_a_uniform_acceleration_is_late_by_the_delay(cutoff):
    acceleration, steps = 2.0, 400  # 75 time constants of the slower filter
    constants = encoder.constants(resolution=0.0, cutoff=cutoff, period=PERIOD)
    position, velocity = np.zeros(1), np.zeros(1)
    for k in range(1, steps + 1):
        encoder.sample(np.array([0.5 * acceleration * (k * PERIOD) ** 2]), constants, position, velocity)
    late = steps * PERIOD - velocity[0] / acceleration
    # roundings of a position of 0.16, divided by T
    assert encoder.velocity_delay(cutoff, PERIOD) == pytest.approx(late, abs=1e-12)


def test_velocity_without_a_filter_is_late_by_half_a_period():
    # and that of a slow filter, beyond its time constant 1/(2 pi f), by T^2 2 pi f/12
    assert encoder.velocity_delay(1e5, PERIOD) == pytest.approx(0.5 * PERIOD)
    assert encoder.velocity_delay(1.0, PERIOD) == pytest.approx(1.0 / (2.0 * math.pi), abs=PERIOD**2)


def test_the_device_reports_the_nearest_counts_of_the_true_angles():
    device = joystick()
    resolution = device.parameters.encoder_resolution
    rows = run(device, [[0.5, -0.3]] * 50)
    truth = rows[:, 25:27]
    assert (rows[:, 0:2] == np.round(truth / resolution) * resolution).all()
    assert np.abs(truth).max() > 100 * resolution


# ---- limits ---------------------------------------------------------------------------------------


def test_the_effort_saturates_at_the_limit():
    device = joystick()
    beyond = run(device, [[10.0, -10.0]] * 20)
    limit = device.parameters.effort_limit
    assert device.truth().effort.tolist() == device.read().effort.tolist() == [limit, -limit]
    device.activate()
    assert (run(device, [[limit, -limit]] * 20) == beyond).all()


def test_the_mechanical_stop_holds_without_rebound():
    device = joystick(range=0.3)
    positions = run(device, [[3.0, -3.0]] * 200)[:, 25:27]
    assert np.abs(positions).max() == 0.3
    assert device.truth().position.tolist() == [0.3, -0.3]
    assert device.truth().velocity.tolist() == [0.0, 0.0]


def test_safe_stop_means_zero_effort_until_activation():
    device = joystick()
    device.safe_stop()
    assert (run(device, [[1.0, 1.0]] * 20)[:, 4:6] == 0.0).all()
    assert device.truth().position.tolist() == [0.0, 0.0]
    device.activate()
    device.write(np.array([1.0, 1.0]))
    assert device.read().effort.tolist() == [1.0, 1.0]


# ---- repeatability --------------------------------------------------------------------------------

EFFORTS = 0.2 * np.random.default_rng(1).standard_normal((400, 2))


def test_two_runs_with_one_seed_are_identical_to_the_last_bit():
    assert run(joystick(hand(3)), EFFORTS).tobytes() == run(joystick(hand(3)), EFFORTS).tobytes()


def test_activation_starts_the_same_run_again():
    device = joystick(hand(3))
    first = run(device, EFFORTS)
    device.activate()
    assert run(device, EFFORTS).tobytes() == first.tobytes()


def test_another_seed_gives_another_run():
    assert (run(joystick(hand(3)), EFFORTS) != run(joystick(hand(4)), EFFORTS)).any()


def test_a_held_stick_starts_where_the_plan_starts():
    holder = hand()
    device = joystick(holder)
    # asin and sin in a row, at 0.15 m
    assert device.truth().tool_pose[:2] == pytest.approx(holder.table[0, :2], abs=ROUNDING)
    assert (device.truth().operator_target[:2] == holder.table[0, :2]).all()


def test_a_plan_of_another_period_is_refused_with_both_periods():
    device = Joystick.from_file(None, hand())
    with pytest.raises(ValueError, match=r"period: the hand's plan has 0\.001 s, got 0\.002 s"):
        device.configure(2e-3)


@pytest.mark.parametrize("start", [(0.2, 0.0), (0.0, -0.16), (0.14, 0.14), (0.1125, 0.0), (0.0, -0.1125)])
def test_a_plan_that_starts_out_of_reach_is_refused(start):
    """A start beyond the stop of 0.8 rad, 0.1076 m, jumped to the stop; others were a math domain error."""
    plan = MotionPlan(PERIOD, np.array([[*start, 0.0, 0.0, 0.0, 0.0, 1.0]]), ())
    with pytest.raises(ValueError, match=f"the hand's plan starts out of reach, at x = {start[0]:.3g} m"):
        joystick(SimulatedHand(hand().parameters, plan, 0))


def test_a_period_too_long_for_the_hand_s_impedance_is_refused():
    """At 0.1 s the hand shook the joystick at 30 rad/s."""
    stiff = HandParameters(**{**hand().parameters.model_dump(), "damping": 200.0})
    device = Joystick(load_parameters(JoystickParameters, DEFAULT_FILE), SimulatedHand(stiff, to_and_fro_plan(0.1), 0))
    with pytest.raises(
        ValueError, match=r"period: expected 0.0\d+ s or less, so that 10 steps follow the hand, got 0.1 s"
    ):
        device.configure(0.1)
    longest = 0.999 * device._longest_period()
    device = Joystick(device.parameters, SimulatedHand(stiff, to_and_fro_plan(longest), 0))
    device.configure(longest)
    for _ in range(200):
        device.write(np.zeros(2))
    assert np.abs(device.truth().velocity).max() < 1.0
    free = Joystick(device.parameters)
    free.configure(0.1)


@pytest.mark.parametrize("value", ["true", "no"])
def test_a_truth_value_is_no_number(value):
    with pytest.raises(ParameterError, match=r"friction_coulomb=.*no truth value"):
        load_parameters(JoystickParameters, DEFAULT_FILE, [f"friction_coulomb={value}"])
