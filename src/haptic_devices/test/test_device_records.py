"""Records of the compiled functions: each number reaches the field of its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices.cobotic import records
from haptic_devices.components import commanded_motion, device_values
from haptic_devices.components.commanded_motion import MotionArrays
from haptic_devices.components.force_sensor import LoadCell, cell_of
from haptic_devices.components.joint_friction import JointFriction
from haptic_devices.device import Reading, Truth
from haptic_devices.five_bar import Arm, Linkage, LinkInertia
from haptic_devices.five_bar.kinematics import linkage_of
from haptic_devices.five_bar.simulation import arm_of
from haptic_devices.hands import operator, spatial_hand
from haptic_devices.hands.operator import HandArrays, hand_of, muscle_force, planned_row
from haptic_devices.hands.spatial_hand import muscle_wrench
from haptic_devices.motions import planar, spatial


def numbers(*shape: int) -> np.ndarray:
    """Numbers that no other array of the test has."""
    return np.random.default_rng(hash(shape) % 1000).uniform(1.0, 2.0, shape)


CELL = LoadCell(numbers(2, 3), numbers(6), 2 * numbers(6), 3 * numbers(6), numbers(6, 2))
DRIVER = records.Driver(numbers(6), 2 * numbers(6), 30.0, numbers(3, 6), 4 * numbers(6), numbers(2, 6))
SERVO = records.Servo(*(i * numbers(6) for i in range(1, 5)), 5.0, 6, numbers(3, 2, 6), 7 * numbers(6), 8 * numbers(6))
BODY = records.EndEffector(0.5, numbers(3), 2 * numbers(3))
COMPENSATION = records.Compensation(records.FULL, numbers(2, 3), numbers(6, 2))
LINKAGE = Linkage(1.0, 2.0, (3.0, 4.0), (5.0, 6.0), 7.0)
ARM = Arm(LinkInertia(1.0, 2.0, 3.0), 4.0, 5.0, 6.0, 7.0, JointFriction(8.0, 9.0, 10.0, 11.0, 12.0))
HAND = HandArrays(numbers(4, 20), numbers(12, 13), numbers(4), numbers(6))


def flat(record: Any) -> np.ndarray:
    return np.concatenate([flat(part) if isinstance(part, tuple) else np.ravel(part) for part in record])


@pytest.mark.parametrize(
    ("record", "arguments", "make"),
    [
        (CELL, CELL.arrays(), cell_of),
        (DRIVER, DRIVER.arguments(), records.driver_of),
        (SERVO, SERVO.arguments(), records.servo_of),
        (BODY, BODY.arguments(), records.end_effector_of),
        (COMPENSATION, COMPENSATION.arguments(), records.compensation_of),
        (LINKAGE, LINKAGE.numbers(), linkage_of),
        (ARM, ARM.numbers(), arm_of),
        (HAND, tuple(HAND), hand_of),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "_fields") else "",
)
def test_a_record_of_its_arguments_is_the_record(record, arguments, make):
    found = make(arguments)  # its arrays are views of `arguments`, which live longer
    assert type(found) is type(record)
    assert_array_equal(flat(found), flat(record))


@pytest.mark.parametrize("kind", [Reading, Truth])
@pytest.mark.parametrize("joints", [2, 3, 6])
def test_compiled_views_are_those_of_the_device_s_values(kind, joints):
    values = kind(joints)
    values.values[:] = numbers(len(values.values))
    for name, view in device_values.views_of(values.values, joints)._asdict().items():
        if name == "operator_target" and kind is Reading:
            assert not view.size
        else:
            assert_array_equal(view, getattr(values, name))
            assert np.shares_memory(view, getattr(values, name))
    assert sum(view.size for view in values.views) == len(values.values)


def test_a_commanded_motion_holds_the_numbers_of_the_motion():
    tool, joints = (numbers(7), numbers(6), 2 * numbers(6)), (numbers(2), 2 * numbers(2))
    arrays = MotionArrays(2)
    for given in ((False, False), (True, False), (False, True), (True, True)):
        motion = Motion(POSITION | VELOCITY, *tool, *(v if use else None for v, use in zip(joints, given, strict=True)))
        found = commanded_motion.commanded(arrays.hold(motion), arrays.values, arrays.by_joints, 2)
        assert found.fields == POSITION | VELOCITY and tuple(found.by_joints) == given
        for view, value in zip(found[1:4], tool, strict=True):
            assert_array_equal(view, value)
        for view, value, use in zip(found[4:6], joints, given, strict=True):
            assert not use or (view == value).all()
    assert arrays.hold(None) == 0


def test_the_columns_of_a_plan_are_each_named_once():
    count = len(planar.COLUMNS)
    parts = [planar.POSITION, planar.VELOCITY, planar.FORCE, slice(planar.GRIP, planar.GRIP + 1)]
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    grip = slice(spatial.GRIP, spatial.GRIP + 1)
    for parts in (
        (spatial.POSITION, spatial.QUATERNION, spatial.TWIST, spatial.WRENCH, grip),
        (spatial.POSE, spatial.VELOCITY, spatial.ANGULAR_VELOCITY, spatial.WRENCH, grip),
    ):
        assert [i for part in parts for i in range(spatial.COLUMN_COUNT)[part]] == list(range(spatial.COLUMN_COUNT))
    assert range(20)[spatial.WRENCH][:3] == range(20)[spatial.FORCE]
    assert range(20)[spatial.QUATERNION][-1] == spatial.QUATERNION_W


def test_a_released_spatial_hand_exerts_no_wrench_and_has_no_inertia():
    hand, wrench = spatial_hand.RELEASED, np.full(6, np.nan)
    target = planned_row(hand, 5)
    muscle_wrench(hand, target, 0.3, numbers(7), numbers(6), wrench)
    assert not wrench.any() and not hand.inertia.any()
    assert_array_equal(target[spatial.POSE], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def test_a_plan_stays_at_its_last_row():
    assert [planned_row(HAND, k)[0] for k in (0, 2, 3, 4, 1000)] == HAND.table[[0, 2, 3, 3, 3], 0].tolist()


def test_the_released_planar_hand_has_no_impedance_and_no_plan():
    hand, force = operator.RELEASED, np.full(2, np.nan)
    muscle_force(hand, np.zeros(len(planar.COLUMNS)), 0.3, numbers(7), numbers(6), force)
    assert not force.any() and not len(hand.table) and not hand.inertia.any()
