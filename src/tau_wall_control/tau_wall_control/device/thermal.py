"""The heat of the motors: what they can give for good, and how long they can give more (I^2 t).

Copper losses grow with the square of the torque. With the continuous torque tau_c and the thermal time constant of the
windings t_w, each motor's thermal load obeys

    t_w d(load)/dt = (torque/tau_c)^2 - load,

so it is 1 in the long run under the continuous torque, and rises with time while the torque is above it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError

#: thermal load from which the torque limit falls from the peak towards the continuous torque, which it has at 1
KNEE = 0.8


class ThermalLimit:
    """The thermal loads of the six motors, and the torque limit that keeps them at 1 or below.

    Up to a load of `KNEE` the limit is the peak torque. From there to a load of 1 its square falls linearly to that of
    the continuous torque, so that the limit never jumps. The limit is that of the hottest motor, for all joints: the
    direction of a force does not change when one motor is hot.

    Args:
        device: its peak torque, continuous torque and thermal time constant.
        period: T [s].

    Attributes:
        load: thermal load of each motor (6,), 0 cold, 1 at the temperature of the continuous torque.
    """

    def __init__(self, device: TauDevice, period: float) -> None:
        if not period > 0.0:
            raise TauError(f"period: expected a number above 0, got {period}")
        self.peak, self.continuous = device.peak_torque, min(device.continuous_torque, device.peak_torque)
        self._gain = -math.expm1(-period / device.parameters.actuators.thermal_time_constant)
        self.load = np.zeros(6)

    @property
    def limit(self) -> float:
        """Largest torque of each joint at present [N m]."""
        share = min(max((1.0 - max(self.load.tolist())) / (1.0 - KNEE), 0.0), 1.0)
        if share == 1.0:
            return self.peak
        return math.sqrt(self.continuous**2 + share * (self.peak**2 - self.continuous**2))

    def advance(self, torque: ArrayLike) -> None:
        """Takes the torques (6,) [N m] of one period."""
        _advance(self.load, np.asarray(torque, dtype=float), self.continuous, self._gain)


@njit(cache=True, error_model="numpy")
def _advance(load: np.ndarray, torque: np.ndarray, continuous: float, gain: float) -> None:
    """Advances thermal loads (6,) by one period with torques (6,)."""
    for i in range(6):
        ratio = torque[i] / continuous
        load[i] += gain * (ratio * ratio - load[i])
