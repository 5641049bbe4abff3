"""Records of the display's compiled functions: driver, servo, end effector, compensation.

Functions `*_of` make a record of what its method `arguments` returns: fewer arrays, in a plain tuple, which Numba takes
from Python in less time. They are for kernels that have the tuple as an argument; see `borrowed`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from haptic_math.borrowed_arrays import borrowed


class Driver(NamedTuple):
    """Driver: it converts a commanded motion to the servo's command.

    Attributes:
        limits: stops of the joints, on both sides of home (6,) [m], [rad].
        speeds: largest speeds of the joints (6,) [m/s], [rad/s].
        gain: gain g of the outer loop [1/s].
        target: rows joint positions, velocities, accelerations (3, 6); updated.
        unclipped: joint positions before the limitation to the stops (6,); the inverse kinematics selects the
            revolution nearest to them; updated.
        command: rows velocities and accelerations for the servo (2, 6); result.
    """

    limits: np.ndarray
    speeds: np.ndarray
    gain: float
    target: np.ndarray
    unclipped: np.ndarray
    command: np.ndarray

    def arguments(self) -> tuple[Any, ...]:
        """Returns the record as a plain tuple."""
        return tuple(self)


@njit(cache=True)
def driver_of(arguments: tuple[Any, ...]) -> Driver:
    """Returns the record of `Driver.arguments`."""
    limits, speeds, gain, target, unclipped, command = arguments
    return Driver(borrowed(limits), borrowed(speeds), gain, borrowed(target), borrowed(unclipped), borrowed(command))


class Servo(NamedTuple):
    """Drives of the joints, and their velocity servo with its latency.

    Attributes:
        inertia: M (6,) [kg], [kg m^2].
        friction: F_c (6,) [N], [N m].
        effort_limit: largest efforts (6,) [N], [N m].
        stop: mechanical stops, on both sides of home (6,) [m], [rad].
        bandwidth: 2 pi f [rad/s].
        latency: latency [steps], at most SUBSTEPS (n - 1).
        commands: rows velocities and accelerations of the last n periods, period k in entry k modulo n, (n, 2, 6).
        integral: integral part divided by the inertia (6,) [m/s^2], [rad/s^2]; updated.
        followed: joint accelerations that the servo follows, mean over the period (6,) [m/s^2], [rad/s^2]; updated.
    """

    inertia: np.ndarray
    friction: np.ndarray
    effort_limit: np.ndarray
    stop: np.ndarray
    bandwidth: float
    latency: int
    commands: np.ndarray
    integral: np.ndarray
    followed: np.ndarray

    def arguments(self) -> tuple[Any, ...]:
        """Returns the record with the constants of the joints in one array."""
        return np.array(self[:4]), *self[4:]


@njit(cache=True)
def servo_of(arguments: tuple[Any, ...]) -> Servo:
    """Returns the record of `Servo.arguments`."""
    joints, bandwidth, latency, commands, integral, followed = arguments
    rows = borrowed(joints)
    state = borrowed(commands), borrowed(integral), borrowed(followed)
    return Servo(rows[0], rows[1], rows[2], rows[3], bandwidth, latency, *state)


class EndEffector(NamedTuple):
    """Body beyond the load cell, in the tool frame.

    Attributes:
        mass: mass [kg].
        center: centre of mass (3,) [m].
        moments: principal moments of inertia about it (3,) [kg m^2].
    """

    mass: float
    center: np.ndarray
    moments: np.ndarray

    def arguments(self) -> np.ndarray:
        """Returns the numbers as one array (7,)."""
        return np.array([self.mass, *self.center, *self.moments])


@njit(cache=True)
def end_effector_of(arguments: np.ndarray) -> EndEffector:
    """Returns the record of `EndEffector.arguments`."""
    numbers = borrowed(arguments)
    return EndEffector(numbers[0], numbers[1:4], numbers[4:7])


#: kinds of compensation by the parameter's value
COMPENSATIONS = {"none": 0, "weight": 1, "full": 2}
WEIGHT, FULL = COMPENSATIONS["weight"], COMPENSATIONS["full"]


class Compensation(NamedTuple):
    """The driver's expectation of the end effector's wrench, which it subtracts from that of the load cell.

    Attributes:
        kind: a value of `COMPENSATIONS`.
        filter: constants of `force_sensor.low_pass` for a step of one period (2, 3).
        expected: states of the filter of the expected wrench, tool frame (6, 2); updated.
    """

    kind: int
    filter: np.ndarray
    expected: np.ndarray

    def arguments(self) -> tuple[Any, ...]:
        """Returns the record as a plain tuple."""
        return tuple(self)


@njit(cache=True)
def compensation_of(arguments: tuple[Any, ...]) -> Compensation:
    """Returns the record of `Compensation.arguments`."""
    kind, constants, expected = arguments
    return Compensation(kind, borrowed(constants), borrowed(expected))
