"""Plans with six degrees of freedom: continuous, inside the workspace, and exactly on their constraints."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from haptic_core.errors import ParameterError
from haptic_devices.cobotic import CoboticHandController, inverse
from haptic_devices.motions import planar as motion_module
from haptic_devices.motions.spatial import (
    CIRCLE_RADIUS,
    CIRCLE_SPEED,
    COLUMN_COUNT,
    DISK_RADIUS,
    GRIP,
    GUIDE_CURVATURE,
    POSITION,
    PUSH,
    QUATERNION,
    SPATIAL_MOTIONS,
    SPHERE_RADIUS,
    TWIST,
    WRENCH,
    SpatialPlan,
    make_spatial_plan,
    push_and_release_plan,
)
from haptic_devices.motions.wall import WALL_MOTIONS

PERIOD = 1e-3
#: sums of a few products of numbers of size 1: some roundings of 1.1e-16 each
ROUNDING = 1e-14

PLANS = {name: make_spatial_plan(name, PERIOD) for name in SPATIAL_MOTIONS}
PLANS |= {f"{name} at 2 ms": make_spatial_plan(name, 2e-3) for name in ("steering", "sphere_tour")}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
disk_plans = pytest.mark.parametrize("plan", [PLANS[name] for name in ("parallel_parking", "steering")])


def columns(plan: SpatialPlan) -> tuple[np.ndarray, Rotation, np.ndarray, np.ndarray]:
    """Positions, orientations, velocities and angular velocities."""
    table = plan.table
    return table[:, POSITION], Rotation.from_quat(table[:, QUATERNION]), table[:, 7:10], table[:, 10:13]


def part(plan: SpatialPlan, name: str) -> slice:
    phase = next(phase for phase in plan.phases if phase.name == name)
    return slice(round(phase.start / plan.period), round(phase.end / plan.period))


# ---- all plans ------------------------------------------------------------------------------------


@every_plan
def test_the_twist_is_the_derivative_of_the_pose(plan):
    position, orientation, velocity, omega = columns(plan)
    # trapezoidal rule: T^2/12 of the third derivative, below 200 m/s^3 and 3000 rad/s^3 (as finite differences say)
    mean = (velocity[1:] + velocity[:-1]) / 2
    assert np.abs(np.diff(position, axis=0) / plan.period - mean).max() < plan.period**2 / 12 * 200
    turn = (orientation[1:] * orientation[:-1].inv()).as_rotvec() / plan.period
    assert np.abs(turn - (omega[1:] + omega[:-1]) / 2).max() < plan.period**2 / 12 * 3000


@every_plan
def test_the_twist_does_not_jump(plan):
    acceleration = np.abs(np.diff(plan.table[:, TWIST], axis=0)) / plan.period
    # of a quick hand [m/s^2], [rad/s^2]; jumps of 0.01 m/s and 0.1 rad/s would give 5 and 50 or more
    assert acceleration[:, :3].max() < 2.0 and acceleration[:, 3:].max() < 30.0


@every_plan
def test_a_plan_starts_and_ends_at_rest_with_its_first_row_held(plan):
    table = plan.table
    assert (table[0, TWIST] == 0.0).all() and (table[-1, TWIST] == 0.0).all()
    start = part(plan, "start")
    assert (table[start] == table[0]).all() and start.stop == round(0.3 / plan.period)
    assert (table[:, WRENCH][[0, -1]] == 0.0).all() and table[0, GRIP] == 1.0


@every_plan
def test_quaternions_have_length_one_and_do_not_change_sides(plan):
    quaternion = plan.table[:, QUATERNION]
    assert np.abs(np.linalg.norm(quaternion, axis=1) - 1.0).max() < ROUNDING
    assert (quaternion[1:] * quaternion[:-1]).sum(axis=1).min() > 0.99


@every_plan
def test_phases_follow_each_other_without_gaps_and_fill_the_plan(plan):
    times = [time for phase in plan.phases for time in (phase.start, phase.end)]
    assert times[0] == 0.0 and times[-1] == plan.duration == len(plan.table) * plan.period
    assert all(before.end == after.start for before, after in pairwise(plan.phases))
    assert len({phase.name for phase in plan.phases}) == len(plan.phases)
    assert {phase.kind for phase in plan.phases} <= {"slide", "push", "rest", "release"}


@every_plan
def test_only_in_push_phases_the_hand_pushes_with_20_newtons_that_come_and_go_smoothly(plan):
    force, moment = plan.table[:, 13:16], plan.table[:, 16:19]
    size = np.linalg.norm(force, axis=1)
    for phase in plan.phases:
        here = size[part(plan, phase.name)]
        if phase.kind == "push":
            # the plateau is exact; a quintic over 0.4 s rises by at most 1.875/0.4 of its height per second
            assert here.max() == pytest.approx(PUSH, rel=ROUNDING)
            assert (np.abs(np.diff(here)) < 1.01 * 1.875 / 0.4 * PUSH * plan.period).all()
            assert max(here[0], here[-1]) < 1e-3
            assert np.mean(here > 0.999 * PUSH) > 0.4
        else:
            assert (here == 0.0).all()
    assert (moment == 0.0).all()


@every_plan
def test_every_target_lies_inside_the_joints_limits(plan):
    device, q, near = CoboticHandController.from_file(), np.zeros(6), np.zeros(6)
    most = np.zeros(6)
    for row in plan.table[::5]:
        inverse(row[:7], near, q)
        near[:] = q
        most = np.maximum(most, np.abs(q))
    # a share is left for the hand's errors: 5 mm of the disk's 0.15 m of roll are 0.17 rad
    assert (most < 0.95 * np.array([joint.upper for joint in device.joints])).all()


@pytest.mark.parametrize(("name", "duration"), list(zip(SPATIAL_MOTIONS, (15.3, 10.2, 13.7, 15.3, 10.8), strict=True)))
def test_the_plans_have_their_length(name, duration):
    assert PLANS[name].duration == pytest.approx(duration, abs=1e-9)


def test_the_page_of_the_devices_names_every_motion():
    page = (Path(__file__).parents[3] / "docs" / "devices.md").read_text()
    for name in (*motion_module.PLANAR_MOTIONS, *SPATIAL_MOTIONS, *WALL_MOTIONS):
        assert f"`{name}`" in page, name


# ---- the disk that rolls --------------------------------------------------------------------------


@disk_plans
def test_the_disk_stays_upright_on_its_plane(plan):
    position, orientation, velocity, omega = columns(plan)
    axis = orientation.apply([0.0, -1.0, 0.0])
    assert (position[:, 2] == 0.0).all() and (velocity[:, 2] == 0.0).all()
    assert np.abs(axis[:, 2]).max() < ROUNDING
    # and keeps doing so: the axis moves with omega x axis
    assert np.abs(np.cross(omega, axis)[:, 2]).max() < 10 * ROUNDING  # of 4 rad/s


@disk_plans
def test_the_point_of_contact_is_at_rest(plan):
    _, orientation, velocity, omega = columns(plan)
    contact = velocity + np.cross(omega, [0.0, 0.0, -DISK_RADIUS])
    assert np.abs(contact).max() < ROUNDING
    # no side slip, stated without the angular velocity
    assert np.abs((velocity * orientation.apply([0.0, -1.0, 0.0])).sum(axis=1)).max() < ROUNDING
    assert np.linalg.norm(velocity, axis=1).max() > 0.05


@disk_plans
def test_the_places_are_where_rolling_leads(plan):
    position, orientation, _, omega = columns(plan)
    time = plan.period * np.arange(len(position))
    axis = orientation.apply([0.0, 1.0, 0.0])
    forward = np.column_stack((axis[:, 1], -axis[:, 0]))
    speed = DISK_RADIUS * (omega * axis).sum(axis=1)
    way = CubicSpline(time, speed[:, None] * forward).antiderivative()(time)
    # a spline's integral: T^4/720 of the fifth derivative within a phase, T^3/12 of the jumps of 8 m/s^3 between them
    assert np.abs(position[:, :2] - position[0, :2] - way).max() < 1e-9


def test_parking_shifts_the_disk_sideways_and_not_forward():
    plan = PLANS["parallel_parking"]
    position, _, _, _ = columns(plan)
    for cycle in (1, 2, 3):
        x, y, _ = position[part(plan, f"back {cycle}").stop - 1]
        assert abs(x) < ROUNDING
        assert y == pytest.approx(cycle * position[part(plan, "back 1").stop - 1, 1], rel=1e-12)
        assert np.ptp(position[part(plan, f"forward {cycle}"), 0]) > 0.04
    assert y == pytest.approx(0.06, abs=0.005)


def test_the_disk_turns_on_the_spot_by_a_quarter():
    plan = PLANS["parallel_parking"]
    rows = part(plan, "steering: turn")
    position, orientation, velocity, omega = columns(plan)
    assert (position[rows] == position[rows.start]).all() and (velocity[rows] == 0.0).all()
    turn = (orientation[rows.stop - 1] * orientation[rows.start - 1].inv()).as_rotvec()
    assert turn == pytest.approx([0.0, 0.0, -np.pi / 2], abs=ROUNDING)
    assert (omega[rows][:, :2] == 0.0).all()


def test_the_hand_pushes_across_the_wheel_plane_while_the_disk_stands():
    plan = PLANS["parallel_parking"]
    rows = part(plan, "push sideways")
    _, orientation, velocity, _ = columns(plan)
    force = plan.table[rows, 13:16]
    axis = orientation[rows].apply([0.0, 1.0, 0.0])
    assert np.abs(np.cross(force, axis)).max() < PUSH * ROUNDING
    assert (velocity[rows] == 0.0).all()


def test_steering_goes_through_a_slalom_and_along_circles():
    plan = PLANS["steering"]
    _, _, velocity, omega = columns(plan)
    rate = omega[part(plan, "slalom"), 2]
    assert np.sum(np.diff(np.sign(rate[np.abs(rate) > 0.01])) != 0) == 4  # left, right, left, right, left
    for name, radius in (("arc 1", 0.09 / 2.4), ("arc 2", 0.06 / 2.4), ("arc 3", 0.08 / 1.2)):
        speed = np.linalg.norm(velocity[part(plan, name)], axis=1)
        assert radius * np.abs(omega[part(plan, name), 2]) == pytest.approx(speed, abs=ROUNDING)


# ---- the disk on the sphere -----------------------------------------------------------------------

CENTRE = np.array([0.0, 0.0, -SPHERE_RADIUS])


def test_the_disk_is_tangent_to_the_sphere_in_pose_and_twist():
    for plan in (PLANS["sphere_tour"], PLANS["sphere_tour at 2 ms"]):
        position, orientation, velocity, omega = columns(plan)
        normal = orientation.apply([0.0, 0.0, 1.0])
        assert np.abs(position - CENTRE - SPHERE_RADIUS * normal).max() < ROUNDING
        assert np.abs(velocity - np.cross(omega, SPHERE_RADIUS * normal)).max() < ROUNDING
        assert np.abs((velocity * normal).sum(axis=1)).max() < ROUNDING


def test_the_tour_starts_at_the_pole_passes_it_again_and_leans_by_60_degrees():
    plan = PLANS["sphere_tour"]
    position, orientation, velocity, _ = columns(plan)
    lean = np.arccos(np.clip(orientation.apply([0.0, 0.0, 1.0])[:, 2], -1.0, 1.0))
    assert position[0] == pytest.approx([0, 0, 0], abs=ROUNDING) and orientation[0].magnitude() < ROUNDING
    assert np.degrees(lean.max()) == pytest.approx(60.0, abs=1e-9)
    across = part(plan, "across the pole")
    closest = across.start + lean[across].argmin()
    # it passes between two rows, one degree per period at most, and in full motion
    assert lean[closest] < np.radians(0.1) and np.linalg.norm(velocity[closest]) > 0.05


def test_the_disk_spins_about_the_normal():
    _, orientation, _, omega = columns(PLANS["sphere_tour"])
    spin = (omega * orientation.apply([0.0, 0.0, 1.0])).sum(axis=1)
    assert spin.max() > 0.5 and spin.min() < -0.5


def test_the_hand_presses_inwards_in_motion_and_at_rest_and_pulls_outwards_once():
    plan = PLANS["sphere_tour"]
    _, orientation, velocity, _ = columns(plan)
    normal, force = orientation.apply([0.0, 0.0, 1.0]), plan.table[:, 13:16]
    assert np.abs(np.cross(force, normal)).max() < PUSH * ROUNDING
    seen = {}
    for phase in plan.phases:
        if phase.kind == "push":
            rows = part(plan, phase.name)
            outwards = (force * normal)[rows].sum(axis=1)
            moving = bool(np.linalg.norm(velocity[rows], axis=1).max() > 0.01)
            seen[phase.name] = (round(float(outwards[len(outwards) // 2])), moving)
    assert seen == {
        "round, pressed": (-20, True), "press": (-20, False), "pull": (20, False), "back, pressed": (-20, True),
    }  # fmt: skip


# ---- the end point of a linkage -------------------------------------------------------------------


def test_the_end_point_goes_round_its_circle_at_a_constant_speed():
    plan = PLANS["push_and_release"]
    position, orientation, velocity, omega = columns(plan)
    assert position[0].tolist() == [CIRCLE_RADIUS, 0.0, 0.0]
    assert orientation.magnitude().max() == 0.0 and (omega == 0.0).all()
    assert np.abs(np.linalg.norm(position, axis=1) - CIRCLE_RADIUS).max() < ROUNDING
    assert np.abs((position * velocity).sum(axis=1)).max() < ROUNDING
    steady = slice(round((0.3 + 0.6) / PERIOD), round((4.8 + 0.05) / PERIOD) - 1)
    assert np.linalg.norm(velocity[steady], axis=1) == pytest.approx(CIRCLE_SPEED, abs=ROUNDING)
    assert np.cross(position, velocity)[:, 2].min() > -ROUNDING  # to the left all the way


def test_the_hand_lets_go_within_50_ms_and_stays_away():
    plan = PLANS["push_and_release"]
    grip = plan.table[:, GRIP]
    rows = part(plan, "released")
    assert rows.start == 4800 and rows.stop == len(grip) == 10800
    assert (grip[: rows.start] == 1.0).all() and (grip[rows.start + 49 :] == 0.0).all()
    falling = grip[rows.start - 1 : rows.start + 50]
    # a quintic of 50 rows falls by at most 1.875/50 per row
    assert (np.diff(falling) <= 0.0).all() and np.abs(np.diff(falling)).max() < 1.01 * 1.875 / 50


def test_the_times_of_the_push_can_be_chosen():
    plan = push_and_release_plan(PERIOD, start_up=0.2, hold=0.5, free=0.3)
    assert plan.duration == pytest.approx(1.1) and plan.table[800, GRIP] < 1.0 and plan.table[849, GRIP] == 0.0


# ---- a tool on a guiding surface ------------------------------------------------------------------


def test_the_guided_tool_stays_on_the_trough_and_goes_straight_as_seen_from_above():
    plan = PLANS["guided_push"]
    position, orientation, velocity, _ = columns(plan)
    np.testing.assert_allclose(position[:, 2], GUIDE_CURVATURE * position[:, 1] ** 2 / 2, atol=ROUNDING)
    np.testing.assert_allclose(velocity[:, 2], GUIDE_CURVATURE * position[:, 1] * velocity[:, 1], atol=ROUNDING)
    assert orientation.magnitude().max() == 0.0
    for phase in plan.phases:
        way = position[part(plan, phase.name), :2]
        side = np.array([[0.0, 1.0], [-1.0, 0.0]]) @ (way[-1] - way[0])
        assert np.abs((way - way[0]) @ side).max() < ROUNDING


def test_the_guided_tool_is_pressed_downwards_on_its_ways_and_at_rest():
    plan = PLANS["guided_push"]
    force = plan.table[:, WRENCH][:, :3]
    assert (force[:, :2] == 0.0).all() and force[:, 2].max() <= 0.0
    pressed = [phase.name for phase in plan.phases if phase.kind == "push"]
    assert pressed == ["along, pressed", "press", "across, pressed", "back, pressed"]
    assert (plan.table[part(plan, "press"), TWIST] == 0.0).all()


@pytest.mark.parametrize("length", [0.0, 0.9, 2.0])
def test_a_quaternion_of_another_length_is_refused(length):
    table = np.eye(3, COLUMN_COUNT)
    table[:, QUATERNION] = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, length], [0.0, 0.0, 0.0, 1.0]]
    with pytest.raises(ParameterError, match=rf"expected length 1, got {length} at \[1\]"):
        SpatialPlan(1e-3, table, ())
    with pytest.raises(ParameterError, match=r"table: expected shape \(3, 20\), got \(3, 7\)"):
        SpatialPlan(1e-3, table[:, :7], ())
