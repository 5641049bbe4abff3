"""The six-degree-of-freedom display as a device: its hand, repeatability, refusals, description."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cobotic_cases import (
    DEFAULT,
    HAND,
    LIMP,
    NO_FRICTION,
    PERIOD,
    REACH,
    ROUNDING,
    display,
    hand,
    motion,
    plan_of,
    run,
    unpowered,
)

from haptic_devices.cobotic import CoboticHandController, CoboticHandControllerParameters
from haptic_devices.device import TRANSLATIONS
from haptic_devices.motions.spatial import GRIP, TWIST, make_spatial_plan, push_and_release_plan
from haptic_devices.motions.spatial import POSITION as PLACE

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
        (
            (0.2, 0, 0, 0, 0, 0),
            r"the hand's plan starts out of reach: joint translation_x at 0\.2 m, expected 0\.15 m",
        ),
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
    assert [joint.name for joint in device.joints] == [*TRANSLATIONS, "yaw", "tilt", "roll"]
    assert [joint.kind for joint in device.joints] == ["prismatic"] * 3 + ["revolute"] * 3
    assert [joint.upper for joint in device.joints] == REACH.tolist()
    assert (device.kind, device.has_force_sensor) == ("admittance", True)
