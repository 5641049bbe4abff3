"""The five-bar as a device: friction and its compensation, repeatability, refusals, description."""

from __future__ import annotations

import math

import numpy as np
import pytest
from five_bar_cases import DEFAULT, HOME, PERIOD, ROUNDING, five_bar, hand, motion, run, still

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices.cobotic import CoboticHandController
from haptic_devices.components import joint_friction
from haptic_devices.five_bar import FiveBar, FiveBarParameters

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


@pytest.mark.slow
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


@pytest.mark.parametrize("kind", [FiveBar, CoboticHandController])
def test_a_device_that_was_never_switched_on_can_be_stopped(kind):
    device = kind.from_file()
    device.safe_stop()
    device.configure(1e-3)
    device.activate()
    assert not device._stopped


def test_the_compensation_of_recorded_motions_leaves_the_device_at_its_start():
    device, fresh = five_bar(compensation="parallel"), five_bar(compensation="parallel")
    device.compensation_history(there_and_back()[:300])
    for each in (device, fresh):
        each.follow(None)
    assert (device.truth().values == fresh.truth().values).all()
