"""The six-degree-of-freedom display, hands that hold it and motions for it, for the tests of the display."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices.cobotic import (
    DEFAULT_FILE,
    CoboticHandController,
    CoboticHandControllerParameters,
    bias,
    forward,
    tool_jacobian,
)
from haptic_devices.device import load_parameters
from haptic_devices.hands import spatial_hand
from haptic_devices.hands.spatial_hand import SpatialHand, SpatialHandParameters
from haptic_devices.motions.spatial import GRIP, QUATERNION, WRENCH, SpatialPlan, make_spatial_plan
from haptic_devices.motions.spatial import POSITION as PLACE

PERIOD = 1e-3
DEFAULT = load_parameters(CoboticHandControllerParameters, DEFAULT_FILE)
HAND = load_parameters(SpatialHandParameters, Path(spatial_hand.__file__).with_name("spatial_hand.yaml"))
#: products and sums of a few numbers of size 1 (size 10 for rates): some roundings of 1.1e-16 each
ROUNDING = 1e-14
REACH = np.array([DEFAULT.range_translation] * 3 + [DEFAULT.range_yaw, DEFAULT.range_tilt, DEFAULT.range_roll])
#: changes of the numbers that leave one effect to be seen
NO_NOISE = {"force_noise": 0.0, "torque_noise": 0.0, "force_resolution": 0.0, "torque_resolution": 0.0}
NO_COUNTS = {"position_resolution": 0.0, "angle_resolution": 0.0}
NO_FRICTION = {"friction_translation": 0.0, "friction_rotation": 0.0}
NO_BODY = {f"end_effector_{name}": 0.0 for name in ("mass", "inertia_x", "inertia_y", "inertia_z")}
IDEAL = {**NO_NOISE, **NO_COUNTS, **NO_FRICTION, **NO_BODY}
#: a hand that does nothing but what its plan says
LIMP = {name: 0.0 for name in SpatialHandParameters.model_fields if not name.startswith("tremor_")}
LIMP |= {"tremor_force": 0.0, "tremor_torque": 0.0}

places = st.tuples(*[st.floats(-end, end) for end in REACH.tolist()]).map(np.array)
rates = st.tuples(*[st.floats(-5.0, 5.0)] * 6).map(np.array)


def display(
    hand: SpatialHand | None = None, seed: int = 0, period: float = PERIOD, **changes: Any
) -> CoboticHandController:
    device = CoboticHandController(CoboticHandControllerParameters(**{**DEFAULT.model_dump(), **changes}), hand, seed)
    device.configure(period)
    device.activate()
    return device


def hand(plan: SpatialPlan | None = None, seed: int = 0, **changes: float) -> SpatialHand:
    parameters = SpatialHandParameters(**{**HAND.model_dump(), **changes})
    return SpatialHand(parameters, plan or make_spatial_plan("parallel_parking", PERIOD), seed)


def plan_of(wrench: Any = (0.0,) * 6, q: Any = (0.0,) * 6, period: float = PERIOD, periods: int = 1) -> SpatialPlan:
    """A hand that is at joint positions q and exerts a wrench, constant (6,) or of each period (n, 6)."""
    wrench = np.atleast_2d(np.array(wrench, dtype=float))
    table = np.zeros((max(periods, len(wrench)), 20))
    pose = forward_of(np.array(q, dtype=float))[0]
    table[:, PLACE], table[:, QUATERNION], table[:, WRENCH], table[:, GRIP] = pose[:3], pose[3:], wrench, 1.0
    return SpatialPlan(period, table, ())


def pushing(wrench: Any, q: Any = (0.0,) * 6, period: float = PERIOD, **changes: float) -> SpatialHand:
    return hand(plan_of(wrench, q, period), **{**LIMP, **changes})


def forward_of(q: np.ndarray, qd: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    pose, twist = np.zeros(7), np.zeros(6)
    forward(q, np.zeros(6) if qd is None else qd, pose, twist)
    return pose, twist


def jacobian_of(q: np.ndarray) -> np.ndarray:
    jacobian = np.full((6, 6), np.nan)
    tool_jacobian(q, jacobian)
    return jacobian


def bias_of(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    angular = np.zeros(3)
    bias(q, qd, angular)
    return np.concatenate((np.zeros(3), angular))


def motion(
    pose: Any = (0, 0, 0, 0, 0, 0, 1), twist: Any = (0,) * 6, acceleration: Any = (0,) * 6,
    fields: int = POSITION | VELOCITY, **joints: Any,
) -> Motion:  # fmt: skip
    arrays = [np.array(value, dtype=float) for value in (pose, twist, acceleration)]
    return Motion(fields, *arrays, **{name: np.array(value, dtype=float) for name, value in joints.items()})


def of_joints(q: Any = None, qd: Any = None, fields: int | None = None) -> Motion:
    given = {name: value for name, value in (("joint_position", q), ("joint_velocity", qd)) if value is not None}
    own = (POSITION if q is not None else 0) | (VELOCITY if qd is not None else 0)
    return motion(fields=own if fields is None else fields, **given)


def run(device: CoboticHandController, motions: Any) -> dict[str, np.ndarray]:
    """What device and truth say after each period."""
    rows: dict[str, list[np.ndarray]] = {}
    for wanted in motions:
        device.follow(wanted)
        for name, source in (("", device.read()), ("true_", device.truth())):
            for kind in ("position", "velocity", "effort", "tool_pose", "tool_twist", "tool_wrench"):
                rows.setdefault(name + kind, []).append(getattr(source, kind).copy())
    return {name: np.array(values) for name, values in rows.items()}


def unpowered(holder: SpatialHand | None, **changes: Any) -> CoboticHandController:
    device = display(holder, **changes)
    device.deactivate()
    return device


POLE = math.pi * DEFAULT.servo_bandwidth
