"""The five-bar, hands that hold it and motions for it, for the tests of the five-bar."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import DEFAULT_FILE, FiveBar, FiveBarParameters, forward
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.motions.planar import MotionPlan, stroke_plan

PERIOD = 1e-3
DEFAULT = load_parameters(FiveBarParameters, DEFAULT_FILE)
HOME = np.array([DEFAULT.home_upper_arm, DEFAULT.home_forearm])
#: products and sums of a few numbers of size 1 (size 10 for rates): some roundings of 1.1e-16 each
ROUNDING = 1e-14
NO_NOISE = {"force_noise": 0.0, "torque_noise": 0.0, "force_resolution": 0.0, "torque_resolution": 0.0}

ways = st.tuples(*[st.floats(-DEFAULT.range, DEFAULT.range)] * 2).map(np.array)
rates = st.tuples(*[st.floats(-5.0, 5.0)] * 2).map(np.array)


def five_bar(hand: SimulatedHand | None = None, seed: int = 0, **changes: Any) -> FiveBar:
    device = FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **changes}), hand, seed)
    device.configure(PERIOD)
    device.activate()
    return device


GEOMETRY = five_bar().geometry


def hand(seed: int = 0, plan: MotionPlan | None = None, **changes: float) -> SimulatedHand:
    numbers = {"mass": 0.2, "stiffness": 500, "damping": 15, "expected_resistance": 0, "tremor_force": 0.25}
    parameters = HandParameters(**{**numbers, "tremor_low": 8, "tremor_high": 12, **changes})
    return SimulatedHand(parameters, plan or stroke_plan(PERIOD, [0]), seed)


def still(*, x: float = 0.0, y: float = 0.0, fx: float = 0.0, fy: float = 0.0, periods: int = 10) -> MotionPlan:
    """A hand that wants to be at x, y and pulls with fx, fy."""
    return MotionPlan(PERIOD, np.tile([x, y, 0.0, 0.0, fx, fy, 1.0], (periods, 1)), ())


def motion(
    x: float = 0.0, y: float = 0.0, v: Any = (0, 0), a: Any = (0, 0), fields: int = POSITION | VELOCITY, **joints: Any
) -> Motion:
    pose, twist, acceleration = np.zeros(7), np.zeros(6), np.zeros(6)
    pose[:2], twist[:2], acceleration[:2] = (x, y), v, a
    return Motion(fields, pose, twist, acceleration, **{name: np.array(value) for name, value in joints.items()})


def run(device: FiveBar, motions: Any) -> np.ndarray:
    rows = []
    for wanted in motions:
        device.follow(wanted)
        rows.append(np.concatenate((device.read().values, device.truth().values, device.friction_torque)))
    return np.array(rows)


def tool(q: np.ndarray, qd: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    pose, twist = np.zeros(7), np.zeros(6)
    forward(GEOMETRY, q, np.zeros(2) if qd is None else qd, pose, twist)
    return pose, twist
