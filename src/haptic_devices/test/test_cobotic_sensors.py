"""Sensors of the six-degree-of-freedom display: encoders and load cell."""

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
    ROUNDING,
    display,
    forward_of,
    hand,
    jacobian_of,
    motion,
    of_joints,
    plan_of,
    pushing,
    run,
)
from scipy.spatial.transform import Rotation

from haptic_devices.cobotic import GRAVITY, CoboticHandController
from haptic_devices.components import force_sensor
from haptic_devices.motions.spatial import TWIST, make_spatial_plan

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


@pytest.mark.slow
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
