"""Admittance controllers and displays for tests: ideal, slow, late or disturbed ones, with rotations of SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    AdmittanceController,
    Mechanism,
    PIDFeedback,
    ReferenceGenerator,
    RollingDisk,
    ToolMotion,
)

PERIOD = 1e-3
#: the node's defaults: with an ideal servo and no filter the error's poles are all at 25 rad/s
GAINS: dict[str, Any] = {"proportional": 1875.0, "integral": 15625.0, "derivative": 75.0}
QUIET = np.zeros(6)
#: has no state, and takes time to derive
DISK = RollingDisk()


def pose(position: Any, turn: Rotation | None = None) -> np.ndarray:
    """A pose (7,); without a turn the upright disk's, heading along -x: Rx(90 degrees)."""
    turn = Rotation.from_euler("x", 90, degrees=True) if turn is None else turn
    return np.concatenate([position, turn.as_quat()])


def made(
    mechanism: Mechanism | None = None,
    *,
    period: float = PERIOD,
    gains: dict[str, Any] | None = None,
    generator: dict[str, Any] | None = None,
    **options: Any,
) -> AdmittanceController:
    """A controller; with gains it commands velocities, without it commands poses."""
    g = ReferenceGenerator(mechanism or DISK, period=period, compiled=False, **(generator or {}))
    feedback = None if gains is None else PIDFeedback(period=period, **gains)
    return AdmittanceController(g, feedback=feedback, **options)


def same(one: ToolMotion, other: ToolMotion) -> None:
    """To the last bit."""
    for name in ("pose", "twist", "acceleration"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def hand(k: int) -> np.ndarray:
    """A wrench of the user [N; N m] that pushes and turns."""
    return np.sin(0.011 * k * np.arange(1, 7) + np.arange(6)) * [2.0, 2.0, 2.0, 0.02, 0.02, 0.02]


class Servo:
    """A display whose velocity follows the command with a time constant [s] and a delay [ticks].

    A disturbance [m/s] adds to its velocity along x.
    """

    def __init__(self, start: np.ndarray, *, lag: float = 0.0, delay: int = 0, period: float = PERIOD) -> None:
        self.pose, self.velocity, self.period = start.copy(), np.zeros(6), period
        self.lag = np.exp(-period / lag) if lag else 0.0
        self.mean = lag * (1.0 - self.lag) / period  # share of the old velocity in the mean over a period
        self.queue = [np.zeros(6) for _ in range(delay)]

    def follow(self, motion: ToolMotion, disturbance: float = 0.0) -> None:
        self.queue.append(motion.twist.copy())
        command = self.queue.pop(0)
        command[0] += disturbance
        way = self.period * (self.mean * self.velocity + (1.0 - self.mean) * command)
        self.velocity = self.lag * self.velocity + (1.0 - self.lag) * command
        self.pose[:3] += way[:3]
        self.pose[3:] = (Rotation.from_rotvec(way[3:]) * Rotation.from_quat(self.pose[3:])).as_quat()


#: the upright disk on its plane, heading along -x
GOAL = pose([0.0, 0.0, 0.03])


def off(position: float, angle: float) -> np.ndarray:
    """The goal, moved along x and turned about z."""
    turn = Rotation.from_rotvec([0, 0, angle]) * Rotation.from_quat(GOAL[3:])
    return np.concatenate([GOAL[:3] + np.array([position, 0.0, 0.0]), turn.as_quat()])


def settled(display: Servo, **options: Any) -> AdmittanceController:
    """A controller whose reference rests at the goal."""
    controller = made(gains=options.pop("gains", GAINS), period=display.period, **options)
    controller.step(GOAL, QUIET)
    return controller
