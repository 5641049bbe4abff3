"""Simulated pushes, statistics of many pushes, and limits of any controller. See the README of the package."""

from tau_wall_control.simulation.push import (
    RAMP,
    TAP,
    VELOCITY_POLE,
    PushResult,
    PushSimulation,
    push_signal,
    simulate_push,
    stiffest_push,
)
from tau_wall_control.simulation.push_loop import run_push

__all__ = [
    "RAMP",
    "TAP",
    "VELOCITY_POLE",
    "PushResult",
    "PushSimulation",
    "push_signal",
    "run_push",
    "simulate_push",
    "stiffest_push",
]
