"""A control period of the display in one compiled call: driver, servo and hand, sensors.

Each call of a compiled function takes 1 us and more until it begins, 5 us where other code has run in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from haptic_devices.cobotic.driver import aim
from haptic_devices.cobotic.records import compensation_of, driver_of, end_effector_of, servo_of
from haptic_devices.cobotic.simulation import integrate, observe
from haptic_devices.components import encoder
from haptic_devices.components.commanded_motion import commanded
from haptic_devices.components.device_values import views_of
from haptic_devices.components.force_sensor import cell_of
from haptic_devices.hands.operator import hand_of, planned_row
from haptic_devices.motions.spatial import POSE
from haptic_math.array_assignment import assign, assign_rows

#: joints of the slides and of the gimbal
TRANSLATION, ROTATION = slice(0, 3), slice(3, 6)


@njit(cache=True)
def pass_period(
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    driver_arguments: tuple[Any, ...],
    servo_arguments: tuple[Any, ...],
    rate: np.ndarray,
    sensors: tuple[Any, ...],
    hand_arrays: tuple[np.ndarray, ...],
    powered: bool,
    noise: np.ndarray,
    number: int,
    truth_values: np.ndarray,
    reading_values: np.ndarray,
    jacobian: np.ndarray,
) -> None:
    """Follows a commanded motion for control period `number`.

    Args:
        fields, motion, by_joints: fields of the motion and arrays of a `MotionArrays`.
        driver_arguments, servo_arguments: `Driver.arguments` and `Servo.arguments`.
        rate: see `integrate`.
        sensors: constants of the encoders of translations and rotations (2, 3), of `encoder.sample`;
            `EndEffector.arguments`, `LoadCell.arrays` and `Compensation.arguments`.
        hand_arrays: `HandArrays` as a plain tuple.
        powered: whether the servo acts.
        noise: (6,) standard normal numbers.
        number: number of the period.
        truth_values, reading_values: values of `Truth` and `Reading`; updated.
        jacobian: (6, 6) Jacobian at the measured position; result.
    """
    encoders, body_numbers, cell_arrays, compensation_arguments = sensors
    truth, reading, hand = views_of(truth_values, 6), views_of(reading_values, 6), hand_of(hand_arrays)
    driver, servo = driver_of(driver_arguments), servo_of(servo_arguments)
    body, cell = end_effector_of(body_numbers), cell_of(cell_arrays)
    compensation = compensation_of(compensation_arguments)
    period = encoders[0, encoder.PERIOD]
    aim(commanded(fields, motion, by_joints, 6), reading.position, driver, period)
    assign_rows(servo.commands[number % servo.commands.shape[0]], driver.command)
    integrate(truth, rate, servo, powered, body, cell, hand, number, period)
    assign(truth.operator_target, planned_row(hand, number + 1)[POSE])
    for kind, part in enumerate((TRANSLATION, ROTATION)):
        encoder.sample(truth.position[part], encoders[kind], reading.position[part], reading.velocity[part])
    settled = np.bool_(False)  # for a literal `observe` would be compiled once more
    observe(truth, reading, jacobian, servo.followed, body, cell, compensation, noise, settled)
