"""The five-bar as a device: kinematics, encoders, force sensor, targets, limits, repeatability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_devices.components import joint_friction
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import (
    DEFAULT_FILE,
    FiveBar,
    FiveBarParameters,
    forward,
    inverse,
    joint_rates,
    servo,
    tool_jacobian,
)
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.motions.planar import MotionPlan, paper_admittance_plan, paper_plan, stroke_plan

PERIOD = 1e-3
DEFAULT = load_parameters(FiveBarParameters, DEFAULT_FILE)
HOME = np.array([DEFAULT.home_upper_arm, DEFAULT.home_forearm])
#: products and sums of a few numbers of size 1 (size 10 for rates): some roundings of 1.1e-16 each
ROUNDING = 1e-14
NO_NOISE = {"force_noise": 0.0, "torque_noise": 0.0, "force_resolution": 0.0, "torque_resolution": 0.0}

ways = st.tuples(*[st.floats(-DEFAULT.range, DEFAULT.range)] * 2).map(np.array)
rates = st.tuples(*[st.floats(-5.0, 5.0)] * 2).map(np.array)


def five_bar(hand: SimulatedHand | None = None, seed: int = 0, **changes: Any) -> FiveBar:
    device = FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **changes}), hand, seed)
    device.configure(PERIOD)
    device.activate()
    return device


GEOMETRY = five_bar().geometry


def hand(seed: int = 0, plan: MotionPlan | None = None, **changes: float) -> SimulatedHand:
    numbers = {"mass": 0.2, "stiffness": 500, "damping": 15, "expected_resistance": 0, "tremor_force": 0.25}
    parameters = HandParameters(**{**numbers, "tremor_low": 8, "tremor_high": 12, **changes})
    return SimulatedHand(parameters, plan or stroke_plan(PERIOD, [0]), seed)


def still(*, x: float = 0.0, y: float = 0.0, fx: float = 0.0, fy: float = 0.0, periods: int = 10) -> MotionPlan:
    """A hand that wants to be at x, y and pulls with fx, fy."""
    return MotionPlan(PERIOD, np.tile([x, y, 0.0, 0.0, fx, fy, 1.0], (periods, 1)), ())


def motion(
    x: float = 0.0, y: float = 0.0, v: Any = (0, 0), a: Any = (0, 0), fields: int = POSITION | VELOCITY, **joints: Any
) -> Motion:
    pose, twist, acceleration = np.zeros(7), np.zeros(6), np.zeros(6)
    pose[:2], twist[:2], acceleration[:2] = (x, y), v, a
    return Motion(fields, pose, twist, acceleration, **{name: np.array(value) for name, value in joints.items()})


def run(device: FiveBar, motions: Any) -> np.ndarray:
    rows = []
    for wanted in motions:
        device.follow(wanted)
        rows.append(np.concatenate((device.read().values, device.truth().values, device.friction_torque)))
    return np.array(rows)


def tool(q: np.ndarray, qd: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    pose, twist = np.zeros(7), np.zeros(6)
    forward(GEOMETRY, q, np.zeros(2) if qd is None else qd, pose, twist)
    return pose, twist


# ---- kinematics -----------------------------------------------------------------------------------


def test_at_home_the_tool_is_in_the_origin_in_front_of_the_motors():
    pose, _ = tool(HOME)
    assert pose[:3] == pytest.approx([0, 0, 0], abs=ROUNDING)
    assert GEOMETRY[2:4] == pytest.approx([0.0, -0.3 * math.sqrt(2.0)], abs=ROUNDING)


@given(ways)
def test_the_tool_is_at_the_end_of_the_two_arms_turned_with_the_forearm(way):
    q = HOME + way
    pose, _ = tool(q)
    arms = [Rotation.from_euler("z", angle).apply([0.3, 0, 0]) for angle in q]
    assert pose[:3] == pytest.approx([*GEOMETRY[2:4], 0.0] + arms[0] + arms[1], abs=ROUNDING)
    assert pose[3:] == pytest.approx(Rotation.from_euler("z", q[1]).as_quat(canonical=False), abs=ROUNDING)


@given(ways, rates)
def test_the_twist_is_the_jacobian_times_the_joint_rates(way, qd):
    jacobian = np.zeros((6, 2))
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    assert tool(HOME + way, qd)[1] == pytest.approx(jacobian @ qd, abs=ROUNDING)


@given(ways)
def test_the_jacobian_s_rows_agree_with_finite_differences(way):
    jacobian, h = np.zeros((6, 2)), 1e-6
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    for joint, step in enumerate(h * np.eye(2)):
        ahead, behind = (tool(HOME + way + sign * step)[0] for sign in (1, -1))
        # central difference: truncation h^2/6 = 1e-13, rounding 1e-16/h = 1e-10
        assert jacobian[:3, joint] == pytest.approx((ahead[:3] - behind[:3]) / (2 * h), abs=1e-9)
        turned = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        assert jacobian[3:, joint] == pytest.approx(turned.as_rotvec() / (2 * h), abs=1e-9)


@given(ways)
def test_the_inverse_kinematics_find_the_angles_again(way):
    q = np.zeros(2)
    inverse(GEOMETRY, *tool(HOME + way)[0][:2], q)
    # near the stops sin(elbow) is 0.54: the arc cosine enlarges the roundings a little
    assert q == pytest.approx(HOME + way, abs=10 * ROUNDING)


@given(ways, rates)
def test_the_joint_rates_are_the_inverse_jacobian_times_the_tool_s_velocity(way, velocity):
    found, jacobian = np.zeros(2), np.zeros((6, 2))
    joint_rates(GEOMETRY, HOME + way, *velocity, found)
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    assert jacobian[:2] @ found == pytest.approx(velocity, abs=100 * ROUNDING)


@pytest.mark.parametrize("home", [(0.3, 1.9), (-0.3, -1.9), (3.0, -1.6), (-3.1, 1.5)])
def test_any_home_is_the_origin_and_keeps_its_elbow_s_side_across_the_turn_of_pi(home):
    device = five_bar(home_upper_arm=home[0], home_forearm=home[1], range=0.4)
    q = np.zeros(2)
    for x, y in ((0.0, 0.0), (0.03, 0.02), (-0.04, 0.01)):
        inverse(device.geometry, x, y, q)
        pose, twist = np.zeros(7), np.zeros(6)
        forward(device.geometry, q, np.zeros(2), pose, twist)
        assert pose[:2] == pytest.approx([x, y], abs=10 * ROUNDING)
        assert np.abs(q - home).max() < 0.4


@pytest.mark.parametrize(
    "plan", [paper_plan(PERIOD), paper_admittance_plan(PERIOD), stroke_plan(PERIOD, list(range(10)))]
)
def test_the_hand_s_plans_fit_into_the_workspace(plan):
    q = np.zeros(2)
    for x, y in plan.table[::20, :2]:
        inverse(GEOMETRY, x, y, q)
        assert np.abs(q - HOME).max() < 0.8 * DEFAULT.range


def test_the_workspace_is_0_37_m_wide_and_0_41_m_deep():
    q = np.zeros(2)
    for scale, inside in ((0.99, True), (1.01, False)):
        for x, y in ((0.183, 0.0), (-0.183, 0.0), (0.0, 0.151), (0.0, -0.255)):
            inverse(GEOMETRY, scale * x, scale * y, q)
            assert (np.abs(q - HOME).max() < DEFAULT.range) == inside


# ---- sensors --------------------------------------------------------------------------------------


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


# ---- targets --------------------------------------------------------------------------------------


def test_a_new_device_holds_its_place():
    device = five_bar()
    rows = run(device, [None] * 300)
    # the home angles are no whole counts: the servo sees up to half a count of error
    assert np.abs(rows[:, 25:27] - HOME).max() <= DEFAULT.encoder_resolution


def test_a_position_is_reached_and_kept():
    device = five_bar()
    run(device, [motion(0.0005 * min(k, 100), -0.0004 * min(k, 100)) for k in range(1500)])
    expected = np.zeros(2)
    inverse(device.geometry, 0.05, -0.04, expected)
    assert device.target_position == pytest.approx(expected, abs=ROUNDING)
    # the integral part takes the friction away until one count is left
    assert np.abs(device.truth().position - expected).max() < 2 * DEFAULT.encoder_resolution


def test_joint_values_stand_instead_of_the_tool_s():
    device = five_bar()
    wanted = HOME + np.array([0.01, -0.02])
    device.follow(motion(0.1, 0.1, (1.0, 1.0), joint_position=wanted, joint_velocity=[0.3, -0.2]))
    assert device.target_position.tolist() == wanted.tolist()
    assert device.target_velocity.tolist() == [0.3, -0.2]


def test_a_velocity_without_position_moves_the_target_on():
    device = five_bar()
    for _ in range(10):
        device.follow(motion(v=(0.05, 0.0), fields=VELOCITY))
    expected = np.zeros(2)
    inverse(device.geometry, 0.0005, 0.0, expected)
    # it started at the home angles' nearest counts; Euler's steps along a curved line are 100 times nearer
    assert device.target_position == pytest.approx(expected, abs=0.6 * DEFAULT.encoder_resolution)
    assert np.abs(device.target_velocity).max() > 0.1


def test_a_position_without_velocity_and_a_hold_have_no_velocity():
    device = five_bar()
    device.follow(motion(0.001, 0.0, (0.05, 0.0)))
    before = device.target_position.copy()
    assert device.target_velocity.any()
    device.follow(motion(0.001, 0.0, (0.05, 0.0), fields=POSITION))
    assert not device.target_velocity.any()
    device.follow(motion(0.001, 0.0, (0.05, 0.0)))
    device.follow(None)
    assert not device.target_velocity.any()
    assert (device.target_position == before).all()


def test_an_acceleration_alone_holds():
    device = five_bar()
    before = device.target_position.copy()
    device.follow(motion(0.1, 0.1, (1, 1), (2, 2), fields=ACCELERATION))
    assert (device.target_position == before).all() and not device.target_velocity.any()


@pytest.mark.parametrize(("x", "y"), [(1.0, 0.0), (0.0, 1.0), (0.0, -0.42), (-0.3, 0.3), (0.0, -1e6)])
def test_a_target_out_of_reach_ends_at_the_joints_stops_without_velocity(x, y):
    device = five_bar()
    device.follow(motion(x, y, (0.3, 0.2)))
    way = np.abs(device.target_position - HOME)
    assert way.max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert (device.target_velocity[way > DEFAULT.range - ROUNDING] == 0.0).all()
    assert np.isfinite(device.read().values).all()


def test_the_arm_s_own_inertia_is_fed_forward_where_the_acceleration_is_given():
    time = PERIOD * np.arange(1000)
    circle = 0.04 * np.column_stack((np.sin(8 * time), 1 - np.cos(8 * time)))
    velocity, acceleration = np.gradient(circle, PERIOD, axis=0), -64.0 * (circle - [0.0, 0.04])
    quiet = {"friction_coulomb": 0.0, "friction_static": 1e-9, "friction_viscous": 0.0, **NO_NOISE}
    errors = []
    for fields in (POSITION | VELOCITY, POSITION | VELOCITY | ACCELERATION):
        device = five_bar(**quiet, mass_grip=0.0)
        error = []
        for x, v, a in zip(circle, velocity, acceleration, strict=True):
            place = device.truth().position.copy()
            device.follow(motion(*x, v, a, fields))
            error.append(device.target_position - place)
        errors.append(np.abs(error[500:]).max())
    # what stays are the velocity filter's and the hold's lag and the gears' give
    assert errors[1] < 0.5 * errors[0]


# ---- servo ----------------------------------------------------------------------------------------


def torque(error: Any, rate: Any = (0, 0), limit: float = 100.0, integral: Any = (0, 0), added: Any = (0, 0)) -> Any:
    """One step of the servo with gains 100, 10 T, 5; returns the torques and the new integral part."""
    target, effort, part = np.array([*error, *rate, 0.5, -0.5]), np.zeros(2), np.array(integral, dtype=float)
    servo(target, np.zeros(4), np.array(added, dtype=float), np.array([100.0, 10.0, 5.0, limit]), part, effort)
    return effort.tolist(), part.tolist()


def test_the_servo_adds_proportional_integral_and_velocity_parts_and_the_feedforwards():
    effort, integral = torque((0.1, -0.2), (1.0, 2.0), integral=(3.0, 4.0), added=(0.25, 0.125))
    assert effort == pytest.approx([10 + 1 + 5 + 3 + 0.5 + 0.25, -20 - 2 + 10 + 4 - 0.5 + 0.125], abs=ROUNDING * 100)
    assert integral == pytest.approx([4.0, 2.0], abs=ROUNDING * 10)


def test_at_the_limit_the_integral_only_goes_back():
    assert torque((1.0, -1.0), limit=5.0, integral=(7.0, -7.0)) == ([5.0, -5.0], [7.0, -7.0])
    # an error towards the other side
    effort, integral = torque((-0.01, 0.01), limit=5.0, integral=(7.0, -7.0))
    assert effort == [5.0, -5.0]
    assert integral == pytest.approx([6.9, -6.9], abs=ROUNDING * 10)


def test_after_a_long_saturation_the_arm_does_not_overshoot_far():
    device = five_bar(effort_limit=14.0)  # barely more than the friction
    rows = run(device, [motion(0.1, 0.0)] * 3000)
    wanted = np.zeros(2)
    inverse(device.geometry, 0.1, 0.0, wanted)
    way = (rows[:, 25:27] - HOME) / (wanted - HOME)
    assert (np.abs(rows[:200, 29:31]) == 14.0).any()
    # with an integral that ran on during the 0.2 s of saturation it would be more than twice the way
    assert way.max() < 1.3
    assert way[-1] == pytest.approx([1.0, 1.0], abs=1e-3)


# ---- limits ---------------------------------------------------------------------------------------


def test_the_torque_saturates_at_the_limit():
    device = five_bar()
    device.follow(motion(0.15, 0.0))
    assert np.abs(device.truth().effort).tolist() == [DEFAULT.effort_limit] * 2
    assert (device.read().effort == device.truth().effort).all()


def test_the_mechanical_stops_hold_without_rebound():
    device = five_bar(hand(plan=still(fx=300.0), tremor_force=0.0, stiffness=0.0), position_gain=0.0, integral_gain=0.0)
    places = run(device, [None] * 6000)[:, 25:27] - HOME
    assert np.abs(places).max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert np.abs(device.truth().position - HOME).max() == pytest.approx(DEFAULT.range, abs=ROUNDING)
    assert np.abs(device.truth().velocity).max() < 1e-3


def test_safe_stop_holds_the_measured_place_whatever_is_commanded_until_activation():
    device = five_bar()
    run(device, [motion(1e-4 * k, 0.0, (0.1, 0.0)) for k in range(300)])
    device.follow(motion(0.15, 0.1))  # a target far away
    place = device.read().position.copy()
    device.safe_stop()
    device.safe_stop()
    rows = run(device, [motion(0.15, 0.1)] * 1000)
    assert (device.target_position == place).all()
    # braking from 0.1 m/s, and the kick of the far target, then back within the last counts
    assert np.abs(rows[:, 25:27] - place).max() < 0.01
    assert np.abs(rows[-1, 25:27] - place).max() < 2 * DEFAULT.encoder_resolution
    device.activate()
    device.follow(motion(0.01, 0.0))
    assert np.abs(device.target_position - HOME).max() > 0.01


def test_without_power_there_is_no_torque():
    device = five_bar(hand())
    device.deactivate()
    assert (run(device, [motion(0.1, 0.1)] * 50)[:, 29:31] == 0.0).all()


# ---- friction and its compensation ----------------------------------------------------------------


def there_and_back() -> list[Motion]:
    """Slow enough that the friction, not the arm's inertia, makes the servo's errors."""
    return [
        motion(0.04 * math.sin(2 * t), 0.02 * math.sin(3 * t), (0.08 * math.cos(2 * t), 0.06 * math.cos(3 * t)))
        for t in PERIOD * np.arange(4000)
    ]


def test_the_friction_of_recorded_true_angles_is_the_device_s():
    device = five_bar()
    start = device.truth().position.copy()
    rows = run(device, there_and_back())
    torque = joint_friction.history(device.friction, np.vstack((start, rows[:, 25:27])), PERIOD)[1:]
    error = torque - rows[:, -2:]
    # the joint turns unevenly within a period; seen where it reverses
    assert np.sqrt(np.mean(error**2)) < 0.02 * DEFAULT.friction_static


@pytest.mark.parametrize("kind", ["none", "model_c", "parallel"])
def test_the_compensation_acts_on_the_motors_and_follows_the_desired_velocity(kind):
    device = five_bar(compensation=kind)
    added, friction = [], []
    for wanted in there_and_back():
        device.follow(wanted)
        added.append(device.compensation_torque.copy())
        friction.append(device.friction_torque.copy())
    left = np.sqrt(np.mean((np.array(friction) - np.array(added))[200:] ** 2))
    if kind == "none":
        assert not np.any(added) and left > 7.0
    else:
        assert left < 1.5


def test_the_compensation_of_recorded_motions_is_the_device_s():
    motions = [
        None,
        *there_and_back()[:500],
        None,
        motion(0.01, 0.01, fields=POSITION),
        motion(v=(0.1, 0), fields=VELOCITY),
    ]
    device, added = five_bar(compensation="parallel"), []
    for wanted in motions:
        device.follow(wanted)
        added.append(device.compensation_torque.copy())
    assert (five_bar(compensation="parallel").compensation_history(motions) == added).all()
    assert np.abs(added).max() > DEFAULT.compensation_coulomb


def test_compensation_halves_the_servo_s_error_and_parallel_elements_make_it_smaller_still():
    errors = []
    for kind in ("none", "model_c", "parallel"):
        device = five_bar(compensation=kind)
        error = []
        for wanted in there_and_back():
            place = device.truth().position.copy()
            device.follow(wanted)
            error.append(device.target_position - place)
        errors.append(np.sqrt(np.mean(np.square(error[200:]))))
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.9 * errors[1]


# ---- repeatability and refusals -------------------------------------------------------------------

PATH = [motion(0.01 * math.sin(0.02 * k), 0.0, (0.2 * math.cos(0.02 * k), 0.0)) for k in range(300)]


@pytest.mark.parametrize("kind", ["none", "parallel"])
def test_two_runs_with_one_seed_are_identical_to_the_last_bit_and_activation_starts_again(kind):
    devices = [five_bar(hand(3), 3, compensation=kind) for _ in range(2)]
    first = run(devices[0], PATH).tobytes()
    assert run(devices[1], PATH).tobytes() == first
    devices[0].safe_stop()
    devices[0].activate()
    assert run(devices[0], PATH).tobytes() == first


def test_another_seed_gives_another_noise():
    readings = [run(five_bar(seed=seed), [None] * 5)[:, 19:25] for seed in (3, 4)]
    assert (readings[0] != readings[1]).any()


def test_a_held_grip_starts_where_the_plan_starts():
    holder = hand()
    device = five_bar(holder)
    assert device.truth().tool_pose[:2] == pytest.approx(holder.table[0, :2], abs=10 * ROUNDING)
    assert (device.truth().operator_target[:2] == holder.table[0, :2]).all()


def test_a_plan_of_another_period_is_refused_with_both_periods():
    device = FiveBar.from_file(None, hand())
    with pytest.raises(ValueError, match=r"period: the hand's plan has 0\.001 s, got 0\.002 s"):
        device.configure(2e-3)


@pytest.mark.parametrize(
    "changes",
    [{}, {"gear_stiffness": 1e6}, {"gear_damping": 100.0}, {"friction_displacement": 1e-5}, {"mass_crank": 0.1}],
)
def test_a_period_too_long_for_the_integration_is_refused_and_a_shorter_one_is_stable(changes):
    own = {"position_gain": 0.0, "integral_gain": 0.0, "velocity_gain": 0.0, **changes}
    device = FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **own}))
    with pytest.raises(
        ValueError, match=r"^period: expected [0-9.e-]+ s or less, so that 10 steps follow .*, got 0\.1 s$"
    ):
        device.configure(0.1)
    longest = device._longest_period()
    assert longest < 0.02
    device.configure(longest)
    device.links[:] += [1e-4, -1e-4, 0.1, 0.1]
    largest = [np.abs(run(device, [None] * 300)[:, 25:27] - HOME).max() for _ in range(2)]
    assert largest[1] <= largest[0] < 0.05  # it comes to rest


def test_a_plan_that_starts_out_of_reach_is_refused_with_its_place():
    device = FiveBar.from_file(None, hand(plan=still(x=0.5)))
    with pytest.raises(ValueError, match=r"the hand's plan starts out of reach, at x = 0\.5 m, y = 0 m"):
        device.configure(PERIOD)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"friction_static": 8.4}, r"friction_static: expected friction_coulomb, 8\.5 N m, or more, got 8\.4"),
        ({"range": 0.8}, r"range: expected below 0\.7854 rad, where the arm .* is stretched or folded, got 0\.8"),
        ({"home_forearm": 1.6}, r"range: expected below 0\.4073 rad, .* got 0\.5"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **changes}))


def test_the_description_has_what_a_report_needs():
    described = five_bar(hand()).description()
    assert described["device"]["compensation"] == "none" and described["hand"]["mass"] == 0.2
    assert described["phases"][0]["kind"] == "slide"
