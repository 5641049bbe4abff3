"""A control period of the display in one compiled call: driver, servo and hand, sensors.

Each call of a compiled function takes 1 us and more until it begins, 5 us where other code has run in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from haptic_devices.cobotic.driver import aim
from haptic_devices.cobotic.simulation import integrate, observe
from haptic_devices.components import encoder


@njit(cache=True)
def pass_period(
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    gain: float,
    driver: tuple[Any, ...],
    servo: tuple[Any, ...],
    sensors: tuple[Any, ...],
    hand: tuple[np.ndarray, ...],
    powered: bool,
    noise: np.ndarray,
    number: int,
    period: float,
    truth: np.ndarray,
    reading: np.ndarray,
    jacobian: np.ndarray,
) -> None:
    """Follows a commanded motion for control period `number`.

    Args:
        fields, motion, by_joints: commanded motion, see `aim`.
        gain: gain of the outer loop [1/s].
        driver: limits, speeds, target, unclipped and command, see `aim`.
        servo: rate, integral, followed, commands, latency, drive and bandwidth, see `integrate`.
        sensors: constants of the encoders (2, 3), of `encoder.sample`, for translations and for rotations; cell,
            expected, body, kind, filter of the cell, filter of the driver and sensor, see `integrate` and `observe`.
        hand: table, tremor, impedance and inertia, see `integrate`.
        powered: whether the servo acts.
        noise: (6,) standard normal numbers.
        number: number of the period.
        period: control period T [s].
        truth, reading: values of `Truth` and `Reading`.
        jacobian: (6, 6) Jacobian at the measured position; result.
    """
    limits, speeds, target, unclipped, command = driver
    rate, integral, followed, commands, latency, drive, bandwidth = servo
    encoders, cell, expected, body, kind, cell_filter, driver_filter, sensor = sensors
    table, tremor, impedance, inertia = hand
    aim(fields, motion, by_joints, reading[0:6], limits, speeds, gain, period, target, unclipped, command)
    commands[number % commands.shape[0]] = command
    integrate(
        *(truth, rate, integral, followed, cell, commands, latency, drive, bandwidth, powered, body, cell_filter),
        *(table, tremor, impedance, inertia, number, period),
    )
    if table.shape[0] > 0:
        truth[37:44] = table[min(number + 1, table.shape[0] - 1), 0:7]
    for i in range(2):
        part = slice(3 * i, 3 * i + 3)
        encoder.sample(truth[0:6][part], encoders[i], reading[0:6][part], reading[6:12][part])
    observe(truth, followed, cell, expected, body, kind, driver_filter, sensor, noise, False, reading, jacobian)
