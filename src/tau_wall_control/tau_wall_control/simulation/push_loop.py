"""The loop of a push against a held pose, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign
from tau_wall_control.control import laws
from tau_wall_control.control.controller import joint_state
from tau_wall_control.device import kernels


class PushLaw(NamedTuple):
    """Control law of a push, see `laws.control`, and what it holds.

    Attributes:
        mode: flags.
        delay: known delay of a command [samples].
        period: Ts [s].
        peak: torque limit of each joint [N m].
        row: gains.
        weight: weight of torque sharing (6, 6).
        reference: joint angles r (6,) [rad].
    """

    mode: int
    delay: int
    period: float
    peak: float
    row: np.ndarray
    weight: np.ndarray
    reference: np.ndarray


class PushLoop(NamedTuple):
    """Delay and sensors between the device and its control law.

    Attributes:
        delay: of the torques [samples].
        resolution: of the measured joint angles [rad]; 0: they are exact, as are the rates.
        smoothing: factor of the filter of the rates' differences in each sample.
        resting: torques before the first command arrives (6,) [N m].
    """

    delay: int
    resolution: float
    smoothing: float
    resting: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def run_push(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    state: np.ndarray,
    law: PushLaw,
    loop: PushLoop,
    force: np.ndarray,
    direction: np.ndarray,
    positions: np.ndarray,
    torques: np.ndarray,
) -> int:
    """Simulates one run; returns a code of `kernels`.

    Args:
        chains, base, platform: of the device, see `kernels`.
        state: of the platform at the start; updated.
        law: control law.
        loop: delay and sensors.
        force: force of the push (n,) [N].
        direction: of the force, unit vector (3,).
        positions: of the TCP (n, 3) [m]; result.
        torques: that act (n, 6) [N m]; result.
    """
    delay, resolution, smoothing, resting = loop
    work, memory = np.zeros((20, 6, 6)), np.zeros(laws.MEMORY)
    q, H, R = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3))
    theta, rate, seen, wrench = np.empty(6), np.empty(6), np.empty(6), np.zeros(6)
    before, smooth = np.empty(6), np.zeros(6)
    line = np.empty((delay + 1, 6))
    for k in range(delay + 1):
        line[k] = resting
    for k in range(force.shape[0]):
        code = joint_state(chains, base, state, R, q, H, theta, rate)
        if code != kernels.OK:
            return code
        for j in range(3):
            positions[k, j] = state[j]
            wrench[j] = force[k] * direction[j]
        if resolution > 0.0:
            for j in range(6):
                seen[j] = round(theta[j] / resolution) * resolution
                if k == 0:
                    before[j] = seen[j]
                smooth[j] = smoothing * smooth[j] + (1.0 - smoothing) * (seen[j] - before[j]) / law.period
                before[j] = seen[j]
            assign(theta, seen)
            assign(rate, smooth)
        laws.control(
            law.mode, law.delay, law.period, law.peak, law.row, law.weight, memory, law.reference, theta, rate,
            line[delay],
        )  # fmt: skip
        torques[k] = line[0]
        code = kernels.integrate(chains, base, platform, state, line[0], wrench, law.period, work)
        if code != kernels.OK:
            return code
        for m in range(delay):
            line[m] = line[m + 1]
    return kernels.OK
