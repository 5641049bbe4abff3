"""Friction laws and random arguments for them, for the tests of the laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from haptic_friction import CoulombLaw, FrictionLaw, FunctionLaw, StribeckLaw, TableLaw, ViscousCoulombLaw
from haptic_friction.laws import projection

EPS = np.finfo(float).eps

properties = settings(derandomize=True, database=None, deadline=None, max_examples=100)
# single precision keeps the squares of the components far from underflow
vectors = st.integers(1, 3).flatmap(lambda n: st.lists(st.floats(-10, 10, width=32), min_size=n, max_size=n))
impedances = st.floats(1e-6, 1e2)
forces = st.floats(0, 100, width=32)
viscosities = st.floats(0, 100, width=32)
#: share of the largest Z for which Phi_Z exists
shares = st.floats(1e-3, 0.999)


def tustin(s: float) -> float:
    """3 + 2/(1 + (s/0.05)^2) + 0.5 s: falls, then rises."""
    return 3.0 + 2.0 / (1.0 + (s / 0.05) ** 2) + 0.5 * s


def tustin_slope(s: float) -> float:
    return 0.5 - 4.0 * s / 0.05**2 / (1.0 + (s / 0.05) ** 2) ** 2


ISOTROPIC: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(4.0),
    "viscous": ViscousCoulombLaw(4.0, viscosity=3.0),
    "stribeck": StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.05, viscosity=2.0),
    "table": TableLaw([0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0]),
    "function": FunctionLaw(tustin, tustin_slope),
}
MONOTONE = [ISOTROPIC[name] for name in ("coulomb", "viscous")]


def g_of(name: str, s: float) -> float:
    """The isotropic laws above, written out once more."""
    return {
        "coulomb": 4.0,
        "viscous": 4.0 + 3.0 * s,
        "stribeck": 3.0 + 2.0 * math.exp(-((s / 0.05) ** 2)) + 2.0 * s,
        "table": float(np.interp(s, [0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0])),
        "function": tustin(s),
    }[name]


def solve(law: FrictionLaw, x: Any, Z: float) -> tuple[np.ndarray, bool]:
    """Phi_Z(x) and whether it is in the static branch."""
    x = np.asarray(x, dtype=float)
    y, static = np.empty((1, 1, len(x))), np.empty(1, dtype=bool)
    projection.project_all(law.code, law.coefficients[None], x[None, None], Z, y, static, (0.0,) * len(x))
    np.testing.assert_array_equal(y[0, 0], law.projected(x, Z))
    return y[0, 0], bool(static[0])


def longest(law: FrictionLaw) -> float:
    """Up to this Z [m/(N s)] Phi_Z exists; 10 where it always does."""
    return -1.0 / law.slope_range[0] if law.slope_range[0] < 0.0 else 10.0
