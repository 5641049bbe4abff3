"""Compiled access to the values of `Reading` and `Truth` by name."""

from __future__ import annotations

import numpy as np
from numba import njit

from haptic_devices import device
from haptic_devices.device import DeviceValues
from haptic_math.borrowed_arrays import borrowed

_views = njit(cache=True)(device.views)


@njit(cache=True)
def views_of(values: np.ndarray, joints: int) -> DeviceValues:
    """Returns `device.views` of the values, for a kernel that has them as an argument; see `borrowed`."""
    return _views(borrowed(values), joints)
