"""The six-degree-of-freedom display: kinematics, drives, servo, targets, load cell, limits, repeatability."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from admittance_constraints import EndEffector
from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_devices.cobotic import (
    DEFAULT_FILE,
    GRAVITY,
    SUBSTEPS,
    CoboticHandController,
    CoboticHandControllerParameters,
    bias,
    forward,
    inverse,
    joint_rates,
    own_wrench,
    rotation,
    tool_jacobian,
)
from haptic_devices.components import force_sensor
from haptic_devices.device import load_parameters
from haptic_devices.hands import spatial_hand
from haptic_devices.hands.spatial_hand import SpatialHand, SpatialHandParameters
from haptic_devices.motions.spatial import (
    GRIP,
    QUATERNION,
    TWIST,
    WRENCH,
    SpatialPlan,
    make_spatial_plan,
    push_and_release_plan,
)
from haptic_devices.motions.spatial import (
    POSITION as PLACE,
)

PERIOD = 1e-3
DEFAULT = load_parameters(CoboticHandControllerParameters, DEFAULT_FILE)
HAND = load_parameters(SpatialHandParameters, Path(spatial_hand.__file__).with_name("spatial_hand.yaml"))
#: products and sums of a few numbers of size 1 (size 10 for rates): some roundings of 1.1e-16 each
ROUNDING = 1e-14
REACH = np.array([DEFAULT.range_translation] * 3 + [DEFAULT.range_yaw, DEFAULT.range_tilt, DEFAULT.range_roll])
#: changes of the numbers that leave one effect to be seen
NO_NOISE = {"force_noise": 0.0, "torque_noise": 0.0, "force_resolution": 0.0, "torque_resolution": 0.0}
NO_COUNTS = {"position_resolution": 0.0, "angle_resolution": 0.0}
NO_FRICTION = {"friction_translation": 0.0, "friction_rotation": 0.0}
NO_BODY = {f"end_effector_{name}": 0.0 for name in ("mass", "inertia_x", "inertia_y", "inertia_z")}
IDEAL = {**NO_NOISE, **NO_COUNTS, **NO_FRICTION, **NO_BODY}
#: a hand that does nothing but what its plan says
LIMP = {name: 0.0 for name in SpatialHandParameters.model_fields if not name.startswith("tremor_")}
LIMP |= {"tremor_force": 0.0, "tremor_torque": 0.0}

places = st.tuples(*[st.floats(-end, end) for end in REACH.tolist()]).map(np.array)
rates = st.tuples(*[st.floats(-5.0, 5.0)] * 6).map(np.array)


def display(
    hand: SpatialHand | None = None, seed: int = 0, period: float = PERIOD, **changes: Any
) -> CoboticHandController:
    device = CoboticHandController(CoboticHandControllerParameters(**{**DEFAULT.model_dump(), **changes}), hand, seed)
    device.configure(period)
    device.activate()
    return device


def hand(plan: SpatialPlan | None = None, seed: int = 0, **changes: float) -> SpatialHand:
    parameters = SpatialHandParameters(**{**HAND.model_dump(), **changes})
    return SpatialHand(parameters, plan or make_spatial_plan("parallel_parking", PERIOD), seed)


def plan_of(wrench: Any = (0.0,) * 6, q: Any = (0.0,) * 6, period: float = PERIOD, periods: int = 1) -> SpatialPlan:
    """A hand that is at joint positions q and exerts a wrench, constant (6,) or of each period (n, 6)."""
    wrench = np.atleast_2d(np.array(wrench, dtype=float))
    table = np.zeros((max(periods, len(wrench)), 20))
    pose = forward_of(np.array(q, dtype=float))[0]
    table[:, PLACE], table[:, QUATERNION], table[:, WRENCH], table[:, GRIP] = pose[:3], pose[3:], wrench, 1.0
    return SpatialPlan(period, table, ())


def pushing(wrench: Any, q: Any = (0.0,) * 6, period: float = PERIOD, **changes: float) -> SpatialHand:
    return hand(plan_of(wrench, q, period), **{**LIMP, **changes})


def forward_of(q: np.ndarray, qd: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    pose, twist = np.zeros(7), np.zeros(6)
    forward(q, np.zeros(6) if qd is None else qd, pose, twist)
    return pose, twist


def jacobian_of(q: np.ndarray) -> np.ndarray:
    jacobian = np.full((6, 6), np.nan)
    tool_jacobian(q, jacobian)
    return jacobian


def bias_of(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    angular = np.zeros(3)
    bias(q, qd, angular)
    return np.concatenate((np.zeros(3), angular))


def motion(
    pose: Any = (0, 0, 0, 0, 0, 0, 1), twist: Any = (0,) * 6, acceleration: Any = (0,) * 6,
    fields: int = POSITION | VELOCITY, **joints: Any,
) -> Motion:  # fmt: skip
    arrays = [np.array(value, dtype=float) for value in (pose, twist, acceleration)]
    return Motion(fields, *arrays, **{name: np.array(value, dtype=float) for name, value in joints.items()})


def of_joints(q: Any = None, qd: Any = None, fields: int | None = None) -> Motion:
    given = {name: value for name, value in (("joint_position", q), ("joint_velocity", qd)) if value is not None}
    own = (POSITION if q is not None else 0) | (VELOCITY if qd is not None else 0)
    return motion(fields=own if fields is None else fields, **given)


def run(device: CoboticHandController, motions: Any) -> dict[str, np.ndarray]:
    """What device and truth say after each period."""
    rows: dict[str, list[np.ndarray]] = {}
    for wanted in motions:
        device.follow(wanted)
        for name, source in (("", device.read()), ("true_", device.truth())):
            for kind in ("position", "velocity", "effort", "tool_pose", "tool_twist", "tool_wrench"):
                rows.setdefault(name + kind, []).append(getattr(source, kind).copy())
    return {name: np.array(values) for name, values in rows.items()}


# ---- kinematics -----------------------------------------------------------------------------------


@given(places)
def test_the_tool_is_at_the_slides_turned_by_yaw_tilt_and_roll(q):
    pose, matrix = forward_of(q)[0], np.zeros((3, 3))
    rotation(q, matrix)
    expected = Rotation.from_euler("ZXY", q[3:])
    assert (pose[:3] == q[:3]).all()
    assert matrix == pytest.approx(expected.as_matrix(), abs=ROUNDING)
    assert Rotation.from_quat(pose[3:]).as_matrix() == pytest.approx(matrix, abs=ROUNDING)
    assert np.linalg.norm(pose[3:]) == pytest.approx(1.0, abs=ROUNDING)


def test_at_home_the_tool_s_axes_are_those_of_the_base():
    assert forward_of(np.zeros(6))[0].tolist() == [0, 0, 0, 0, 0, 0, 1]


@given(places, rates)
def test_the_twist_is_the_jacobian_times_the_joint_rates_and_back(q, qd):
    twist, back = forward_of(q, qd)[1], np.zeros(6)
    assert twist == pytest.approx(jacobian_of(q) @ qd, abs=10 * ROUNDING)
    joint_rates(q, twist, back)
    assert back == pytest.approx(qd, abs=100 * ROUNDING)  # 1/cos(1.3) = 3.7


@given(places)
def test_the_jacobian_s_columns_agree_with_finite_differences(q):
    jacobian, h = jacobian_of(q), 1e-5
    for joint, step in enumerate(h * np.eye(6)):
        ahead, behind = (forward_of(q + sign * step)[0] for sign in (1, -1))
        # central difference: truncation h^2/6 = 2e-11, rounding 1e-16/h = 1e-11
        assert jacobian[:3, joint] == pytest.approx((ahead[:3] - behind[:3]) / (2 * h), abs=1e-10)
        turned = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        assert jacobian[3:, joint] == pytest.approx(turned.as_rotvec() / (2 * h), abs=1e-10)


@given(places, rates)
def test_the_bias_is_the_twist_s_rate_at_constant_joint_rates(q, qd):
    h = 1e-5
    ahead, behind = (forward_of(q + sign * h * qd, qd)[1] for sign in (1, -1))
    # central difference: h^2/6 of the third derivative, 5^4, is 1e-8; rounding 1e-15/h = 1e-10
    assert bias_of(q, qd) == pytest.approx((ahead - behind) / (2 * h), abs=2e-8)


@given(places, st.floats(-np.pi, np.pi), st.floats(-np.pi, np.pi))
def test_the_inverse_kinematics_find_the_joints_again_on_their_turn(q, yaw, roll):
    near, found = q + np.array([0, 0, 0, 0.99 * yaw, 0, 0.99 * roll]), np.zeros(6)
    pose = forward_of(q)[0]
    for factor in (1.0, -1.0, 3.0):  # both quaternions, and one that is not of length one
        inverse(np.concatenate((pose[:3], factor * pose[3:])), near, found)
        assert found == pytest.approx(q, abs=10 * ROUNDING)  # 1/cos(1.3) = 3.7


def test_a_roll_over_several_turns_is_counted():
    q, near = np.zeros(6), np.zeros(6)
    for roll in np.linspace(0.0, 14.0, 29):
        inverse(forward_of(np.array([0, 0, 0, 0.1, 0.2, roll]))[0], near, q)
        near[:] = q
        assert q[3:] == pytest.approx([0.1, 0.2, roll], abs=10 * ROUNDING)


@pytest.mark.parametrize("tilt", [np.pi / 2, -np.pi / 2])
def test_at_90_degrees_of_tilt_the_yaw_stays_and_the_pose_is_met(tilt):
    pose, near, q = forward_of(np.array([0, 0, 0, 0.7, tilt, 0.4]))[0], np.zeros(6), np.zeros(6)
    near[3] = 0.3
    inverse(pose, near, q)
    assert q[3] == 0.3 and q[4] == pytest.approx(tilt, abs=1e-7)  # the arctangent's root of a rounding
    assert abs(forward_of(q)[0][3:] @ pose[3:]) == pytest.approx(1.0, abs=1e-12)


def test_a_pose_without_orientation_keeps_the_angles():
    q, near = np.zeros(6), np.array([0, 0, 0, 1.0, 0.5, 4.0])
    inverse(np.array([0.1, 0.2, 0.3, 0, 0, 0, 0]), near, q)
    assert q.tolist() == [0.1, 0.2, 0.3, 1.0, 0.5, 4.0]


def test_the_workspace_keeps_away_from_the_singularity():
    smallest = np.inf
    for q in np.random.default_rng(0).uniform(-REACH, REACH, (2000, 6)):
        values = np.linalg.svd(jacobian_of(q)[3:, 3:], compute_uv=False)
        sine = abs(math.sin(q[4]))
        assert values == pytest.approx(np.sqrt([1 + sine, 1.0, 1 - sine]), abs=ROUNDING)
        smallest = min(smallest, values[2])
    limit = math.sqrt(1.0 - math.sin(DEFAULT.range_tilt))
    assert 0.19 < limit <= smallest < 1.05 * limit


# ---- end effector ---------------------------------------------------------------------------------


@given(places, rates, rates)
def test_the_end_effector_s_wrench_is_that_of_the_library(q, twist, rate):
    mass, center, inertia = 0.7, [0.02, -0.03, 0.05], [4e-3, 3e-3, 2e-3]
    matrix, wrench = np.zeros((3, 3)), np.full(6, np.nan)
    rotation(q, matrix)
    own_wrench(matrix, np.array([mass, *center, *inertia]), twist[3:], rate, GRAVITY, wrench)
    body = EndEffector(mass=mass, center=center, inertia=inertia, gravity=(0.0, 0.0, -GRAVITY))
    expected = body.own_wrench(forward_of(q)[0][3:], twist, rate)
    assert wrench == pytest.approx(expected, abs=10 * ROUNDING)  # of 10 N


def test_a_free_display_moves_as_newton_and_euler_say():
    """Without servo and friction: M q'' = J^T w of an end effector with all its numbers, solved by another method."""
    period, q0 = 1e-4, np.array([0.01, 0.02, 0.03, 0.4, -0.5, 0.6])
    push = np.array([3.0, -2.0, 25.0, 0.04, 0.06, -0.05])
    numbers = {"end_effector_mass": 1.5, "end_effector_center_x": 0.02, "end_effector_center_y": -0.03}
    numbers |= {"end_effector_center_z": 0.04, "end_effector_inertia_x": 4e-3, "end_effector_inertia_y": 3e-3}
    device = display(pushing(push, q0, period), period=period, **{**IDEAL, **numbers, "end_effector_inertia_z": 2e-3})
    device.deactivate()
    body = EndEffector(mass=1.5, center=[0.02, -0.03, 0.04], inertia=[4e-3, 3e-3, 2e-3], gravity=(0, 0, -GRAVITY))
    drives = np.repeat([DEFAULT.inertia_translation, DEFAULT.inertia_rotation], 3)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        q, qd = state[:6], state[6:]
        pose, twist = forward_of(q, qd)
        jacobian, offset = jacobian_of(q), bias_of(q, qd)
        zero = body.own_wrench(pose[3:], twist, offset) + push
        # the wrench is affine in the joint accelerations
        wrenches = [body.own_wrench(pose[3:], twist, offset + column) + push - zero for column in jacobian.T]
        inertia = np.diag(drives) - jacobian.T @ np.column_stack(wrenches)
        return np.concatenate((qd, np.linalg.solve(inertia, jacobian.T @ zero)))

    duration = 0.3
    expected = solve_ivp(slope, (0, duration), [*q0, *np.zeros(6)], rtol=1e-10, atol=1e-12).y[:, -1]
    run(device, [None] * round(duration / period))
    moved = np.concatenate((device.truth().position, device.truth().velocity)) - [*q0, *np.zeros(6)]
    expected -= [*q0, *np.zeros(6)]
    # the step of 1e-5 s, and the acceleration of the step before: some 1e-5 s / 0.3 s
    assert moved == pytest.approx(expected, rel=1e-3, abs=1e-4 * np.abs(expected).max())
    assert np.abs(expected[:6]).min() > 1e-3


# ---- without power --------------------------------------------------------------------------------


def unpowered(holder: SpatialHand | None, **changes: Any) -> CoboticHandController:
    device = display(holder, **changes)
    device.deactivate()
    return device


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("push", [10.0, -25.0])
def test_a_push_meets_11_kg_and_the_friction(axis, push):
    wrench = np.zeros(6)
    wrench[axis] = push
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 300)
    acceleration = math.copysign((abs(push) - 7.2) / 11.0, push)
    # implicit Euler of a constant force: the velocity is exact, the place half a step ahead
    time = PERIOD * np.arange(1, 301)
    assert rows["true_velocity"][:, axis] == pytest.approx(acceleration * time, abs=100 * ROUNDING)
    step = PERIOD / SUBSTEPS
    assert rows["true_position"][:, axis] == pytest.approx(acceleration * time * (time + step) / 2, abs=100 * ROUNDING)
    assert (rows["true_effort"] == 0.0).all()
    assert rows["true_tool_wrench"][:, axis] == pytest.approx(push, abs=ROUNDING * 100)


@pytest.mark.parametrize("wrench", [(7.0, -7.0, 7.19, 0, 0, 0), (0, 0, 0, 0.7, 0.0, 0.7), (0, 0, 0, -0.1, 0.6, 0)])
def test_a_push_below_the_friction_moves_nothing_at_all(wrench):
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 300)
    assert (rows["true_position"] == 0.0).all() and (rows["true_velocity"] == 0.0).all()


@pytest.mark.parametrize(("axis", "joint"), [(0, 4), (1, 5), (2, 3)])
def test_a_moment_meets_the_rotational_inertia_and_friction(axis, joint):
    wrench = np.zeros(6)
    wrench[3 + axis] = 1.0
    rows = run(unpowered(pushing(wrench), **NO_BODY), [None] * 10)
    expected = (1.0 - 0.72) / 0.11 * PERIOD * np.arange(1, 11)
    # the other joints stick, so the axes stay (tilt and roll turn by 1e-4 rad, and meet 1e-4 of the moment)
    assert rows["true_velocity"][:, joint] == pytest.approx(expected, rel=1e-6)


def test_it_coasts_to_a_dead_stop():
    device = unpowered(None, **NO_BODY)
    device.truth().velocity[0] = 0.2
    rows = run(device, [None] * 400)
    time = PERIOD * np.arange(1, 401)
    speed = rows["true_velocity"][:, 0]
    assert speed == pytest.approx(np.maximum(0.2 - 7.2 / 11.0 * time, 0.0), abs=100 * ROUNDING)
    assert (speed[306:] == 0.0).all()  # 0.2 m/s over 7.2 N / 11 kg: 305.6 ms


def test_hand_and_end_effector_move_with_the_drive():
    holder = pushing((20.0, 0, 0, 0, 0, 0), mass=1.2)
    device = unpowered(holder, **{**NO_BODY, "end_effector_mass": 0.8, "end_effector_center_z": 0.0})
    rows = run(device, [None] * 100)
    speed = rows["true_velocity"][:, 0]
    # the acceleration of the step before settles in some steps: (2/11)^n, 1e-7 in the first period
    expected = (20.0 - 7.2) / (11.0 + 2.0)
    assert np.diff(speed)[1:] / PERIOD == pytest.approx(expected, rel=1e-9)
    # the tool feels the push less what the hand's mass takes
    assert rows["true_tool_wrench"][2:, 0] == pytest.approx(20.0 - 1.2 * expected, rel=1e-9)


def test_the_end_effector_s_weight_is_borne_by_the_friction_and_falls_without_it():
    assert (run(unpowered(None), [None] * 100)["true_position"] == 0.0).all()
    rows = run(unpowered(None, **NO_FRICTION, end_effector_center_z=0.0), [None] * 100)
    mass = DEFAULT.end_effector_mass
    expected = -mass * GRAVITY / (11.0 + mass)
    assert np.diff(rows["true_velocity"][:, 2])[1:] / PERIOD == pytest.approx(expected, rel=1e-9)


# ---- servo ----------------------------------------------------------------------------------------

POLE = math.pi * DEFAULT.servo_bandwidth
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
        qd, qdd = device.command[:6], device.command[6:]
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
def test_the_outer_loop_is_refused_where_it_oscillates(factor, grows):
    device = display(**IDEAL)

    def excess(gain: float) -> float:
        device.parameters = device.parameters.model_copy(update={"position_gain": gain})
        return device._servo_radius(PERIOD, 20) - 1.0

    gain = factor * brentq(excess, 60.0, 500.0)
    if grows:
        with pytest.raises(ValueError, match=rf"^position_gain: expected less than {gain:g} 1/s, with which the loop "):
            display(**{**IDEAL, "position_gain": gain})
    device = display(**{**IDEAL, "position_gain": gain if not grows else 30.0})
    device.parameters = device.parameters.model_copy(update={"position_gain": gain})
    moved = run(device, [of_joints(q=[1e-5] * 6)] * 1500)["true_position"][:, 0] - 1e-5
    early, late = np.abs(moved[200:400]).max(), np.abs(moved[-200:]).max()
    assert late > 3.0 * early if grows else late < early / 3.0


# ---- targets --------------------------------------------------------------------------------------


def test_a_new_display_holds_its_place():
    rows = run(display(), [None] * 500)
    # friction and servo bear the end effector's weight; within a count
    assert np.abs(rows["true_position"]).max() < DEFAULT.position_resolution


def test_a_pose_is_reached_and_kept():
    q = np.array([0.05, -0.04, 0.03, 1.0, -0.6, 2.5])
    device = display(**NO_NOISE)
    run(device, [motion(forward_of(q * min(k / 800, 1.0))[0], fields=POSITION) for k in range(2500)])
    assert device.target_position == pytest.approx(q, abs=100 * ROUNDING)
    # friction holds the last count until the integral part has grown
    counts = np.repeat([DEFAULT.position_resolution, DEFAULT.angle_resolution], 3)
    assert (np.abs(device.truth().position - q) < 2 * counts).all()


def test_at_a_constant_velocity_there_is_no_lag():
    way, rate = np.linspace(0.0, 1.0, 1001)[1:], np.array([0.1, -0.05, 0.02, 0.5, 0.0, 2.0])
    # without tilt, yaw and roll rates are constant in the base frame's twist, too
    motions = [motion(forward_of(rate * t)[0], forward_of(rate * t, rate)[1]) for t in way]
    rows = run(display(**{**IDEAL}), motions)
    # the place wanted at the end of a period is there then; e^-30 of the start's error is left
    assert rows["true_position"][-1] == pytest.approx(rate, abs=1e-8)


def test_joint_values_stand_instead_of_pose_and_twist():
    device = display()
    q, qd = np.array([0.01, 0.02, 0.03, 0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    device.follow(motion((1, 1, 1, 0, 0, 0, 1), (1,) * 6, joint_position=q, joint_velocity=qd))
    assert device.target_position.tolist() == q.tolist() and device.target_velocity.tolist() == qd.tolist()


def test_a_velocity_alone_is_followed_wherever_it_leads_and_a_hold_ends_there():
    force = pushing((30.0, 0, 0, 0, 0, 0))
    device = display(force, **IDEAL)
    rows = run(device, [motion(twist=(0.05, *[0] * 5), fields=VELOCITY)] * 500)
    # nothing pulls back to the line that the velocity alone would have drawn: the force's displacement stays
    there = rows["true_position"][-1, 0]
    lag, step = 0.05 * DEFAULT.servo_latency, 0.05 * PERIOD / SUBSTEPS
    assert there - (0.05 * 0.5 - lag) == pytest.approx(30.0 / (11.0 * POLE**2), abs=1.01 * step)
    rows = run(device, [None] * 1000)
    # where it was measured last, and the way of one period
    assert rows["true_position"][-1, 0] == pytest.approx(there + 0.05 * PERIOD, abs=1e-4)
    assert not device.target_velocity.any()


def test_a_position_without_velocity_and_a_hold_have_no_velocity():
    device = display()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5)))
    assert device.target_velocity.any()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5), fields=POSITION))
    assert not device.target_velocity.any()
    device.follow(motion((0.001, 0, 0, 0, 0, 0, 1), (0.05, *[0] * 5)))
    before = device.target_position.copy()
    device.follow(None)
    assert not device.target_velocity.any() and (device.target_position == before).all()


def test_an_acceleration_alone_holds():
    device = display()
    device.follow(motion((0.1, 0, 0, 0, 0, 0, 1), (1,) * 6, (2,) * 6, fields=ACCELERATION))
    assert not device.target_position.any() and not device.command.any()


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_target_out_of_reach_ends_at_the_stop_without_velocity(joint, side):
    device, q, qd = display(**IDEAL), np.zeros(6), np.zeros(6)
    q[joint], qd[joint] = side * 1.1 * REACH[joint], side
    device.follow(of_joints(q=q, qd=qd))
    assert device.target_position[joint] == side * REACH[joint] and not device.target_velocity.any()
    device.follow(of_joints(q=q, qd=-qd))  # the way back is free
    assert device.target_velocity[joint] == -side
    device.truth().position[joint] = device.read().position[joint] = side * REACH[joint]
    device.follow(of_joints(qd=qd))
    assert not device.target_velocity.any() and not device.command.any()


def test_a_roll_beyond_the_stop_comes_back_by_the_way_it_went():
    device = display(range_roll=2.0)
    turned = [*np.linspace(0.0, 6.0, 61), *np.linspace(6.0, 1.0, 51)]
    for roll in turned:
        device.follow(motion(forward_of(np.array([0, 0, 0, 0, 0, roll]))[0]))
        assert device.target_position[5] == pytest.approx(min(roll, 2.0), abs=10 * ROUNDING)


@pytest.mark.parametrize("by_joints", [False, True])
def test_after_a_velocity_the_turn_is_that_of_the_measured_roll(by_joints):
    device, rate = display(**IDEAL), np.array([0, 0, 0, 0, 0, 6.0])
    run(
        device,
        [of_joints(qd=rate) if by_joints else motion(twist=forward_of(0 * rate, rate)[1], fields=VELOCITY)] * 750,
    )
    assert device.truth().position[5] > 4.0  # half a turn and more
    device.follow(motion(forward_of(np.array([0, 0, 0, 0, 0, 4.6]))[0]))
    assert device.target_position[5] == pytest.approx(4.6, abs=10 * ROUNDING)


def test_the_stops_hold_without_rebound():
    q = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    device = unpowered(pushing((200.0, 0, 0, 0, 0, 5.0), q))
    rows = run(device, [None] * 1500)
    for joint in (0, 3):
        assert rows["true_position"][:, joint].max() == REACH[joint]
        assert rows["true_position"][-1, joint] == REACH[joint] and rows["true_velocity"][-1, joint] == 0.0
        assert rows["true_velocity"][:, joint].min() == 0.0


def test_safe_stop_holds_the_measured_place_whatever_is_commanded_until_activation():
    device = display()
    run(device, [motion((1e-4 * k, 0, 0, 0, 0, 0, 1), (0.1, *[0] * 5)) for k in range(300)])
    place = device.read().position.copy()
    device.safe_stop()
    device.safe_stop()
    rows = run(device, [motion((0.15, 0.1, 0, 0, 0, 0, 1), (0.3, *[0] * 5))] * 1000)
    assert (device.target_position == place).all()
    # braking from 0.1 m/s takes the latency and the servo's time, some 5 ms; then back within the last counts
    assert np.abs(rows["true_position"] - place)[:, 0].max() < 0.1 * 0.01
    assert np.abs(rows["true_position"][-1] - place).max() < 2 * DEFAULT.angle_resolution
    device.activate()
    device.follow(motion((0.01, 0, 0, 0, 0, 0, 1)))
    assert device.target_position[0] == 0.01


def test_activation_gives_power_again():
    device = display()
    device.deactivate()
    assert (run(device, [motion((0.1, 0, 0, 0, 0, 0, 1))] * 20)["true_effort"] == 0.0).all()
    device.activate()
    assert run(device, [motion((0.1, 0, 0, 0, 0, 0, 1))] * 20)["true_effort"][-1, 0] > 10.0


# ---- measurement of the motion --------------------------------------------------------------------


def test_the_joints_are_reported_in_their_nearest_counts():
    rate = np.array([0.02, 0.03, 0.04, 0.5, 0.3, 0.7])
    rows = run(display(), [of_joints(q=rate * PERIOD * k, qd=rate) for k in range(1, 200)])
    for joints, resolution in ((slice(0, 3), 1e-5), (slice(3, 6), 1e-4)):
        truth, seen = rows["true_position"][:, joints], rows["position"][:, joints]
        assert (seen == np.round(truth / resolution) * resolution).all()
        assert np.ptp(truth, axis=0).min() > 100 * resolution


def test_the_reported_velocity_is_the_filtered_difference_of_counts():
    rate = np.array([0.02, 0.03, 0.04, 0.5, 0.3, 0.7])
    rows = run(display(), [of_joints(q=rate * PERIOD * k, qd=rate) for k in range(1, 200)])
    share, velocity = 1.0 - math.exp(-2 * math.pi * DEFAULT.velocity_cutoff * PERIOD), np.zeros(6)
    for k, difference in enumerate(np.diff(rows["position"], axis=0, prepend=np.zeros((1, 6))) / PERIOD):
        velocity += share * (difference - velocity)
        assert rows["velocity"][k] == pytest.approx(velocity, abs=100 * ROUNDING)


def test_the_reading_s_jacobian_pose_and_twist_are_those_of_the_measured_joints():
    rate = np.array([0.02, 0.03, 0.04, 0.5, 0.3, 0.7])
    device = display()
    run(device, [of_joints(q=rate * PERIOD * k, qd=rate) for k in range(1, 200)])
    for source in (device.read(), device.truth()):
        pose, twist = forward_of(source.position, source.velocity)
        assert (source.tool_pose == pose).all() and (source.tool_twist == twist).all()
    assert (device.jacobian() == jacobian_of(device.read().position)).all()


# ---- load cell ------------------------------------------------------------------------------------

TILTED = (0.01, -0.02, 0.03, 0.8, -0.6, 2.1)
PULL = np.array([3.0, -2.0, 1.0, 0.05, -0.1, 0.08])


@pytest.mark.parametrize("compensation", ["full", "weight"])
def test_at_rest_the_reading_is_the_user_s_wrench_in_the_base_frame(compensation):
    device = display(pushing(PULL, TILTED), **NO_NOISE, compensation=compensation)
    run(device, [None] * 1500)
    reading, truth = device.read().tool_wrench, device.truth().tool_wrench
    assert truth == pytest.approx(PULL, abs=100 * ROUNDING)
    # the orientation is known to half a count of 1e-4 rad, the forces are some 4 N
    assert reading == pytest.approx(PULL, abs=4.0 * 2e-4)


def test_without_compensation_the_end_effector_s_weight_is_seen():
    changes = {"end_effector_center_x": 0.02, "end_effector_center_y": -0.01, "end_effector_center_z": 0.03}
    device = display(pushing(PULL, TILTED), **NO_NOISE, **changes, compensation="none")
    run(device, [None] * 1500)
    weight = np.array([0.0, 0.0, -DEFAULT.end_effector_mass * GRAVITY])
    lever = Rotation.from_euler("ZXY", TILTED[3:]).apply([0.02, -0.01, 0.03])
    expected = PULL + np.concatenate((weight, np.cross(lever, weight)))
    assert device.read().tool_wrench == pytest.approx(expected, abs=4.0 * 2e-4)  # as above


def tour(device: CoboticHandController, fields: int = 7) -> dict[str, np.ndarray]:
    """The sphere's tour at twice its speed, as a command."""
    table = make_spatial_plan("sphere_tour", PERIOD).table[:12000:2]
    twist = 2.0 * table[:, TWIST]
    rate = np.gradient(twist, PERIOD, axis=0)
    return run(device, [motion(row[:7], v, a, fields) for row, v, a in zip(table, twist, rate, strict=True)])


@pytest.mark.slow
def test_in_motion_full_compensation_leaves_little_and_weight_leaves_the_inertia():
    # an end effector that can be felt
    changes = {"end_effector_mass": 1.0, "end_effector_center_z": 0.05, **NO_NOISE, **NO_FRICTION}
    left = {kind: tour(display(**changes, compensation=kind))["tool_wrench"] for kind in ("full", "weight", "none")}
    rms = {kind: np.sqrt((rows**2).mean(axis=0)) for kind, rows in left.items()}
    # 0.9 m/s^2 at 0.05 m above the tool point that goes up to 0.15 m/s
    assert rms["weight"][:3].max() > 0.15
    assert np.linalg.norm(rms["full"][:3]) < 0.1 * np.linalg.norm(rms["weight"][:3])
    assert np.linalg.norm(rms["full"][3:]) < 0.15 * np.linalg.norm(rms["weight"][3:])
    assert left["none"][:, 2].mean() == pytest.approx(-GRAVITY, rel=0.01)


def test_the_weight_that_turns_in_the_cell_s_axes_is_expected_behind_a_filter_like_the_cell_s():
    speed, mass = 2.0, 1.0
    device = display(**{**IDEAL, "end_effector_mass": mass, "end_effector_center_z": 0.0}, compensation="weight")
    turn = [of_joints(q=[0, 0, 0, 0, 0, speed * PERIOD * k], qd=[0, 0, 0, 0, 0, speed]) for k in range(1, 1500)]
    left = np.abs(run(device, turn)["tool_wrench"][-500:, :3]).max()
    # the driver's filter holds the orientation of the period's end, half a period ahead; without the filter it would
    # be ahead by the filter's lag sqrt(2)/(2 pi 125 Hz) = 1.8 ms, too
    assert left == pytest.approx(mass * GRAVITY * speed * PERIOD / 2, rel=0.2)


def test_without_a_commanded_acceleration_only_the_inertia_of_the_rotation_is_known():
    changes = {"end_effector_mass": 1.0, "end_effector_center_z": 0.05, **NO_NOISE, **NO_FRICTION}
    full, partly = (np.sqrt((tour(display(**changes), fields)["tool_wrench"] ** 2).mean()) for fields in (7, 3))
    assert partly > 5.0 * full


def test_the_cell_is_filtered_like_a_butterworth_filter():
    push = np.zeros((200, 6))
    push[50:] = PULL
    device = display(hand(plan_of(push), **LIMP), **{**IDEAL, "friction_translation": 100.0, "friction_rotation": 10.0})
    rows = run(device, [None] * 200)["tool_wrench"]
    constants, state, expected = force_sensor.filter_constants(DEFAULT.sensor_cutoff, PERIOD), np.zeros(2), []
    for value in push[:, 0]:
        force_sensor.low_pass(constants, value, state)
        expected.append(state[0])
    # friction holds the drives, so the force is a step
    assert rows == pytest.approx(np.outer(expected, PULL / PULL[0]), abs=1000 * ROUNDING)


def test_the_noise_has_its_rms_in_every_axis_and_is_white():
    device = display(force_resolution=0.0, torque_resolution=0.0)
    noise = run(device, [None] * 4000)["tool_wrench"]
    # 4000 samples: the RMS is known to 1/sqrt(8000) = 1.1 %, a correlation to 1.6 %; four deviations
    assert noise.std(axis=0) == pytest.approx([DEFAULT.force_noise] * 3 + [DEFAULT.torque_noise] * 3, rel=0.045)
    for axis in noise.T:
        assert abs(np.corrcoef(axis[1:], axis[:-1])[0, 1]) < 0.064


def test_counts_are_those_of_the_cell_s_own_axes():
    device = display(pushing(PULL, TILTED), force_resolution=0.1, torque_resolution=0.01, compensation="none")
    run(device, [None] * 200)
    turn = Rotation.from_euler("ZXY", device.read().position[3:])
    wrench = device.read().tool_wrench.reshape(2, 3)
    counts = turn.inv().apply(wrench) / [[0.1], [0.01]]
    assert counts == pytest.approx(np.round(counts), abs=1e-9)  # hundreds of counts, some roundings
    assert np.abs(wrench / [[0.1], [0.01]] - np.round(wrench / [[0.1], [0.01]])).max() > 0.05


def test_a_wrench_beyond_the_range_reads_as_the_range():
    push = (30.0, -30.0, 5.0, 0.0, 2.0, -2.0)
    device = display(pushing(push), **NO_NOISE, **NO_BODY, force_range=20.0, torque_range=1.0)
    run(device, [None] * 500)
    assert device.read().tool_wrench == pytest.approx([20.0, -20.0, 5.0, 0.0, 1.0, -1.0], abs=0.01)
    assert device.truth().tool_wrench == pytest.approx(push, abs=100 * ROUNDING)


def test_the_user_s_wrench_is_what_the_hand_s_inertia_leaves():
    time = PERIOD * np.arange(1, 601)
    q, v = 0.02 * (1 - np.cos(10 * time)), 0.2 * np.sin(10 * time)
    device = display(hand(plan_of(), **{**LIMP, "mass": 0.5, "rotational_inertia": 2e-3}), **IDEAL)
    shape = np.array([1, 0, 1, 5, 0, 0])
    rows = run(device, [of_joints(q=x * shape, qd=u * shape) for x, u in zip(q, v, strict=True)])
    twist, wrench, reading = rows["true_tool_twist"], rows["true_tool_wrench"], rows["tool_wrench"]
    impulse = PERIOD * np.cumsum(wrench, axis=0)
    expected = -np.array([0.5, 0.5, 0.5, 2e-3, 2e-3, 2e-3]) * twist
    # the acceleration of the step before: 1e-4 s behind, at most 2 m/s^2 and 10 rad/s^2
    tolerance = np.array([0.5 * 2.0] * 3 + [2e-3 * 10.0] * 3) * 1.5e-4
    assert (np.abs(impulse - expected) < tolerance).all()
    # and the cell reads the same, 1.8 ms later
    assert (np.abs(PERIOD * np.cumsum(reading, axis=0) - expected) < 20 * tolerance).all()
    assert np.abs(impulse[:, 0]).max() > 0.05


# ---- the hand -------------------------------------------------------------------------------------


def test_a_released_hand_exerts_exactly_nothing():
    plan = push_and_release_plan(PERIOD, start_up=0.3, hold=0.5, free=0.4)
    device = display(hand(plan))
    table = plan.table
    rows = run(device, [motion(row[:7], row[TWIST]) for row in table])["true_tool_wrench"]
    free = table[:, GRIP] == 0.0
    assert free.sum() == 351 and (rows[free] == 0.0).all()
    assert np.abs(rows[~free]).max() > 0.1
    # the inertia goes with the grip: no jump when the hand has gone
    assert np.abs(rows[np.argmax(free) - 1]).max() < 0.01


def test_the_hand_pulls_the_tool_along_when_the_power_is_off():
    plan = make_spatial_plan("steering", PERIOD)
    device = unpowered(hand(plan, stiffness=2000.0, damping=100.0))
    rows = run(device, [None] * 2500)
    away = rows["true_tool_pose"][:, :3] - plan.table[1:2501, PLACE]
    # 7.2 N of friction and 11 kg at 0.5 m/s^2 on 2000 N/m
    assert np.abs(away).max() < 7e-3
    assert rows["true_tool_wrench"][1500:, 0].mean() == pytest.approx(7.2, rel=0.2)


def test_the_operator_s_target_is_the_plan_s_pose():
    holder = hand()
    device = display(holder)
    assert (device.truth().operator_target == holder.table[0, :7]).all()
    run(device, [None] * 700)
    assert (device.truth().operator_target == holder.table[700, :7]).all()


@pytest.mark.parametrize("name", ["parallel_parking", "sphere_tour", "push_and_release"])
def test_the_tool_starts_where_the_plan_starts(name):
    holder = hand(make_spatial_plan(name, PERIOD))
    assert display(holder).truth().tool_pose == pytest.approx(holder.table[0, :7], abs=ROUNDING)


# ---- repeatability and refusals -------------------------------------------------------------------

PATH = [motion((0.01 * math.sin(0.02 * k), *[0] * 5, 1), (0.2 * math.cos(0.02 * k), *[0] * 5)) for k in range(300)]


def bits(device: CoboticHandController) -> bytes:
    return np.concatenate([values.ravel() for values in run(device, PATH).values()]).tobytes()


def test_two_runs_with_one_seed_are_identical_to_the_last_bit_and_activation_starts_again():
    devices = [display(hand(seed=3), 3) for _ in range(2)]
    first = bits(devices[0])
    assert bits(devices[1]) == first
    devices[0].safe_stop()
    devices[0].deactivate()
    devices[0].activate()
    assert bits(devices[0]) == first


def test_another_seed_gives_another_noise_and_another_tremor():
    noise = [run(display(seed=seed), [None] * 5)["tool_wrench"] for seed in (3, 4)]
    tremor = [run(display(hand(seed=seed)), [None] * 5)["true_tool_wrench"] for seed in (3, 4)]
    assert (noise[0] != noise[1]).any() and (tremor[0] != tremor[1]).any()


def test_the_values_stay_finite_and_within_the_stops_whatever_is_commanded():
    random, device = np.random.default_rng(0), display(hand())
    for fields in random.integers(1, 8, 500):
        values = random.normal(0.0, 100.0, 31)
        joints = {"joint_position": values[19:25]} if values[30] > 0 else {}
        device.follow(motion(values[:7], values[7:13], values[13:19], int(fields), **joints))
        assert np.isfinite(device.read().values).all() and np.isfinite(device.truth().values).all()
        assert (np.abs(device.truth().position) <= REACH).all()


def test_a_plan_of_another_period_is_refused_with_both_periods():
    with pytest.raises(ValueError, match=r"period: the hand's plan has 0\.001 s, got 0\.002 s"):
        CoboticHandController.from_file(None, hand()).configure(2e-3)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ((0.2, 0, 0, 0, 0, 0), r"the hand's plan starts out of reach: joint x at 0\.2 m, expected 0\.15 m or less"),
        ((0, 0, 0, 0, -1.4, 0), r"the hand's plan starts out of reach: joint tilt at -1\.4 rad, expected 1\.3 rad"),
    ],
)
def test_a_plan_that_starts_out_of_reach_is_refused_by_joint(q, message):
    with pytest.raises(ValueError, match=message):
        CoboticHandController.from_file(None, hand(plan_of(q=q))).configure(PERIOD)


@pytest.mark.parametrize("held", [False, True])
def test_a_period_too_long_for_the_integration_is_refused_and_the_longest_is_stable(held):
    stiff = {"stiffness": 5000.0, "damping": 200.0, "rotational_stiffness": 50.0, "rotational_damping": 2.0}

    def device_for(period: float) -> CoboticHandController:
        holder = hand(plan_of(period=period), **stiff) if held else None
        return CoboticHandController.from_file(None, holder, overrides=("position_gain=1",))

    device = device_for(0.1)
    with pytest.raises(ValueError, match=r"^period: expected [0-9.e-]+ s or less, so that 10 .*, got 0\.1 s$"):
        device.configure(0.1)
    longest = device._longest_period()
    assert 0.01 < longest < 0.05
    device = device_for(longest)
    device.configure(longest)
    device.activate()
    device.truth().position[:] = [0.01, -0.01, 0.02, 0.3, 0.5, -0.3]
    rows = run(device, [None] * 400)
    assert np.abs(rows["true_velocity"][-50:]).max() < 1e-3  # it comes to rest


@pytest.mark.parametrize(
    ("changes", "holder", "message"),
    [
        (
            {"end_effector_inertia_x": 1e-4},
            {},
            r"end_effector_inertia_x: expected at most the sum of the other two, 5e-05 kg m\^2, got 0\.0001",
        ),
        (
            {"end_effector_mass": 5.0},
            {"mass": 0.6},
            r"end_effector_mass and the hand's mass: expected half of inertia_translation, 5\.5 kg, or less, got 5\.6",
        ),
        (
            {"end_effector_mass": 2.0, "end_effector_center_x": 0.1},
            {"rotational_inertia": 0.01},
            r"end_effector_inertia and the hand's rotational_inertia: expected .* 0\.028 kg m\^2, or less, got 0\.0302",
        ),
    ],
)
def test_numbers_that_do_not_go_together_are_refused_by_name(changes, holder, message):
    with pytest.raises(ValueError, match=message):
        CoboticHandController(CoboticHandControllerParameters(**{**DEFAULT.model_dump(), **changes}), hand(**holder))


def test_the_largest_load_that_is_accepted_is_stable():
    """The coupling by the step before has a gain below one at every place."""
    lever = 0.02
    most = DEFAULT.inertia_rotation / (2.0 * (1.0 + math.sin(DEFAULT.range_tilt)))
    heavy = {"end_effector_mass": 5.4, "end_effector_center_x": lever, "end_effector_center_z": 0.0}
    moments = {f"end_effector_inertia_{axis}": 0.99 * (most - 5.4 * lever**2) for axis in "xyz"}
    q = (0.0, 0.0, 0.0, 0.0, 1.29, 0.3)
    device = display(hand(plan_of(q=q), **LIMP), **{**heavy, **moments, **NO_FRICTION})
    device.truth().velocity[:] = [0.1, 0.1, 0.1, 1.0, -1.0, 1.0]
    rows = run(device, [None] * 1000)
    assert np.abs(rows["true_velocity"][-100:]).max() < 1e-3


def test_the_description_has_what_a_report_needs():
    device = display(hand())
    described = device.description()
    assert described["device"]["inertia_translation"] == 11.0 and described["hand"]["mass"] == HAND.mass
    assert described["phases"][1]["name"] == "forward 1"
    assert device.end_time == pytest.approx(15.3) and display().end_time == float("inf")
    assert [joint.name for joint in device.joints] == ["x", "y", "z", "yaw", "tilt", "roll"]
    assert [joint.kind for joint in device.joints] == ["prismatic"] * 3 + ["revolute"] * 3
    assert [joint.upper for joint in device.joints] == REACH.tolist()
    assert (device.kind, device.has_force_sensor) == ("admittance", True)
