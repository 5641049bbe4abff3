"""The hand with six degrees of freedom: wrench in closed form, rotation error, grip, tremor, passivity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from haptic_devices.hands.spatial_hand import SpatialHand, SpatialHandParameters, muscle_wrench, rotation_error
from haptic_devices.motions.spatial import GRIP, POSITION, QUATERNION, TWIST, WRENCH, SpatialPlan

PERIOD = 1e-3
NUMBERS: dict[str, Any] = {
    "mass": 0.2, "rotational_inertia": 1e-3, "stiffness": 400.0, "damping": 12.0, "rotational_stiffness": 2.0,
    "rotational_damping": 0.06, "tremor_force": 0.15, "tremor_torque": 0.004, "tremor_low": 8.0, "tremor_high": 12.0,
}  # fmt: skip
STILL = {"tremor_force": 0.0, "tremor_torque": 0.0}

unit = st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array).filter(lambda v: np.linalg.norm(v) > 0.1)


def hand(seed: int = 0, **changes: float) -> SpatialHand:
    plan = SpatialPlan(PERIOD, np.eye(1, 20, 6), ())
    return SpatialHand(SpatialHandParameters(**{**NUMBERS, **changes}), plan, seed)


def row(
    position: Any = (0, 0, 0), turn: Any = (0, 0, 0), twist: Any = (0,) * 6, extra: Any = (0,) * 6, grip: float = 1.0
) -> np.ndarray:
    values = np.zeros(20)
    values[POSITION], values[QUATERNION] = position, Rotation.from_rotvec(turn).as_quat()
    values[TWIST], values[WRENCH], values[GRIP] = twist, extra, grip
    return values


def wrench(holder: SpatialHand, target: np.ndarray, pose: np.ndarray, twist: Any, time: float = 0.0) -> np.ndarray:
    result = np.full(6, np.nan)
    muscle_wrench(holder.arrays, target, time, pose, np.array(twist, dtype=float), result)
    return result


def pose_of(position: Any, turn: Rotation) -> np.ndarray:
    return np.concatenate((position, turn.as_quat()))


def error(wanted: Rotation, present: Rotation) -> np.ndarray:
    vector = np.full(3, np.nan)
    rotation_error(wanted.as_quat(), present.as_quat(), vector)
    return vector


# ---- rotation error -------------------------------------------------------------------------------


@given(unit, unit, st.floats(-3.1, 3.1))
def test_the_rotation_error_takes_one_orientation_to_the_other(start, axis, angle):
    present = Rotation.from_rotvec(start)
    turn = angle * axis / np.linalg.norm(axis)
    # in the base frame, from the left; the arctangent loses nothing, products leave some roundings of pi
    assert error(Rotation.from_rotvec(turn) * present, present) == pytest.approx(turn, abs=3e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-15, 1e-9, 1e-4, np.pi - 1e-4, np.pi - 1e-9])
def test_it_is_exact_near_zero_and_near_pi(angle):
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    vector = error(Rotation.from_quat([*np.sin(angle / 2) * axis, np.cos(angle / 2)]), Rotation.identity())
    # relative where it is small: a formula by the arc cosine would lose half of the digits here
    assert vector == pytest.approx(angle * axis, rel=1e-14, abs=1e-300)


def test_at_pi_it_is_one_of_the_two_rotations_by_pi_and_never_longer():
    for axis in np.eye(3):
        vector = error(Rotation.from_quat([*axis, 0.0]), Rotation.identity())
        assert np.abs(vector) == pytest.approx(np.pi * axis, abs=1e-15)
    beyond = error(Rotation.from_rotvec([0.0, 0.0, np.pi + 0.1]), Rotation.identity())
    assert beyond == pytest.approx([0.0, 0.0, 0.1 - np.pi], abs=1e-14)


def test_both_signs_of_a_quaternion_mean_the_same():
    wanted, present = Rotation.from_rotvec([0.3, 0.1, -0.4]).as_quat(), Rotation.from_rotvec([1.0, 2.0, 0.5]).as_quat()
    results = []
    for a, b in ((wanted, present), (-wanted, present), (wanted, -present)):
        vector = np.zeros(3)
        rotation_error(a, b, vector)
        results.append(vector)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


# ---- wrench ---------------------------------------------------------------------------------------

numbers = st.tuples(*[st.floats(-1.0, 1.0)] * 6).map(np.array)


@given(numbers, numbers, numbers, numbers, numbers, st.floats(0.0, 1.0))
def test_the_wrench_is_impedance_plus_plan_times_grip(place, wanted, twist, target_twist, extra, grip):
    holder, turn, target_turn = hand(**STILL), Rotation.from_rotvec(place[3:]), Rotation.from_rotvec(wanted[3:])
    target = row(wanted[:3], wanted[3:], target_twist, extra, grip)
    result = wrench(holder, target, pose_of(place[:3], turn), twist)
    phi = (target_turn * turn.inv()).as_rotvec()
    force = 400.0 * (wanted - place)[:3] + 12.0 * (target_twist - twist)[:3]
    moment = 2.0 * phi + 0.06 * (target_twist - twist)[3:]
    expected = grip * (np.concatenate((force, moment)) + extra)
    assert result == pytest.approx(expected, abs=1e-12)  # of 1000 N


def test_a_hand_that_is_pushed_aside_pulls_back():
    aside = pose_of([0.01, 0.0, 0.0], Rotation.from_rotvec([0.0, 0.2, 0.0]))
    result = wrench(hand(**STILL), row(), aside, np.zeros(6))
    assert result == pytest.approx([-4.0, 0, 0, 0, -0.4, 0], abs=1e-14)


def test_a_grip_that_has_let_go_is_exactly_zero_and_a_half_one_is_half():
    holder, aside = hand(), pose_of([0.1, 0.2, 0.3], Rotation.from_rotvec([0.1, 0.2, 0.3]))
    values = [wrench(holder, row(extra=np.ones(6), grip=grip), aside, np.ones(6), 0.37) for grip in (0.0, 0.5, 1.0)]
    assert (values[0] == 0.0).all() and not np.signbit(values[0]).any()
    assert (2.0 * values[1] == values[2]).all() and np.abs(values[2]).min() > 0.01


def test_the_inertia_that_moves_with_the_tool_is_mass_and_rotational_inertia():
    assert hand().arrays.inertia.tolist() == [0.2, 0.2, 0.2, 1e-3, 1e-3, 1e-3]


# ---- passivity ------------------------------------------------------------------------------------


def closed_path(count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """A closed path of poses, half a turn of it far from the target, and its twists; unit time."""
    time = np.arange(count) / count
    angle = 2 * np.pi * time
    place = 0.05 * np.column_stack((np.sin(angle), np.cos(2 * angle), np.sin(3 * angle)))
    rate = 0.05 * 2 * np.pi * np.column_stack((np.cos(angle), -2 * np.sin(2 * angle), 3 * np.cos(3 * angle)))
    turn = Rotation.from_euler("ZXY", np.column_stack((1.2 * np.sin(angle), 0.8 * np.cos(angle), np.sin(2 * angle))))
    ahead = Rotation.concatenate([turn[1:], turn[:1]])
    behind = Rotation.concatenate([turn[-1:], turn[:-1]])
    omega = (ahead * behind.inv()).as_rotvec() * count / 2
    return [pose_of(p, q) for p, q in zip(place, turn, strict=True)], np.column_stack((rate, omega))


@pytest.mark.parametrize("changes", [{"damping": 0.0, "rotational_damping": 0.0}, {}])
def test_hand_with_a_fixed_target_gives_no_energy_along_a_closed_path(changes):
    poses, twists = closed_path(2000)
    holder, target = hand(**STILL, **changes), row(turn=(0.1, -0.2, 0.3))
    power = np.array([wrench(holder, target, p, v) @ v for p, v in zip(poses, twists, strict=True)])
    lost = 12.0 * (twists[:, :3] ** 2).sum(axis=1) + 0.06 * (twists[:, 3:] ** 2).sum(axis=1)
    expected = -lost.mean() if not changes else 0.0
    # springs are conservative, also the rotational one; omega by central differences is off by (2 pi/2000)^2/6 of
    # 10 rad/s, and meets moments of 3 N m
    assert power.mean() == pytest.approx(expected, abs=1e-4)
    assert np.abs(power).mean() > 1.0 and lost.mean() > 1.0


# ---- tremor ---------------------------------------------------------------------------------------


def tremor(holder: SpatialHand, duration: float) -> np.ndarray:
    """Tremor over time, shape (n, 6): the muscles of a hand that is at its target."""
    at_rest = pose_of(np.zeros(3), Rotation.identity())
    return np.array([wrench(holder, row(), at_rest, np.zeros(6), time) for time in np.arange(0.0, duration, 0.01)])


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_tremor_s_rms_are_the_parameters(seed):
    values = tremor(hand(seed), 100.0)
    force, moment = (np.sqrt((values[:, axes] ** 2).sum(axis=1).mean()) for axes in (slice(0, 3), slice(3, 6)))
    # products of neighbouring sinusoids, 0.3 Hz apart on average, mean out like 1/(2 pi 0.3 Hz 100 s) = 0.5 % each;
    # two that fall within 10 mHz of each other still leave some per cent
    assert (force, moment) == pytest.approx((0.15, 0.004), rel=0.08)


def test_the_tremor_lies_in_its_band():
    values = tremor(hand(1, tremor_low=9.0, tremor_high=10.0), 100.0)
    frequency = np.fft.rfftfreq(len(values), 0.01)
    power = np.abs(np.fft.rfft(values * np.hanning(len(values))[:, None], axis=0)) ** 2
    inside = (frequency >= 8.98) & (frequency <= 10.02)  # two bins of the window's main lobe
    assert (power[inside].sum(axis=0) > 0.999 * power.sum(axis=0)).all()


def test_the_tremor_is_fixed_by_the_seed():
    assert (hand(3).arrays.tremor == hand(3).arrays.tremor).all()
    assert (hand(3).arrays.tremor != hand(4).arrays.tremor).any()


def test_an_upper_tremor_frequency_below_the_lower_one_is_refused_by_name():
    with pytest.raises(ValueError, match="tremor_high: expected 8 Hz or more, got 7"):
        hand(tremor_high=7.0)
