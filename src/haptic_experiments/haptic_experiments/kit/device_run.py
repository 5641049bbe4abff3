"""Report of a run on a real device: motion of the tool and rendered force.

An experiment's own report compares with the paper by the truth of the simulated device and the plan of its simulated
hand. A real device has neither, so its report has the measured signals only and no claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.results import Claims, Report

_OK = 0


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one bag."""

    device: str  #: name of the driver
    product: str  #: product that was connected
    ticks: int  #: number of ticks
    length: float  #: duration of the run [s]
    stopped_ticks: int  #: ticks in the safe state
    largest_force: np.ndarray  #: largest commanded force along each axis (n,) [N]
    largest_speed: float  #: largest speed of the tool [m/s]
    path_length: float  #: length of the tool's path [m]
    energy: float  #: energy that the device took from the hand, by the commanded force and the measured velocity [J]


def is_real(bag: Bag) -> bool:
    """Checks whether the run's device was a real one."""
    started = bag.started("device")
    return started.get("simulated") is False and "product" in started


def numbers_of(bag: Bag) -> RunNumbers:
    """Measures a bag with one topic `device_state`."""
    state, started = _state(bag), bag.started("device")
    period = float(state["period"][0])
    force, velocity = np.asarray(state["joint_effort"]), np.asarray(state["joint_velocity"])
    position = np.asarray(state["tool_pose"])[:, 0:3]
    return RunNumbers(
        device=str(started["parameters"]["device"]),
        product=str(started["product"]),
        ticks=len(position),
        length=len(position) * period,
        stopped_ticks=int(np.count_nonzero(np.asarray(state["status"]) != _OK)),
        largest_force=np.abs(force).max(axis=0),
        largest_speed=float(np.linalg.norm(np.asarray(state["tool_twist"])[:, 0:3], axis=1).max()),
        path_length=float(np.linalg.norm(np.diff(position, axis=0), axis=1).sum()),
        energy=float(0.0 - (force * velocity).sum() * period),
    )


def analyse(bags: Mapping[str, Bag]) -> Report:
    """Makes the report of a run on a real device."""
    bag = next(iter(bags.values()))
    numbers, state = numbers_of(bag), _state(bag)
    claims = Claims()
    largest = ", ".join(f"{axis} {force:.2f}" for axis, force in zip("xyz", numbers.largest_force, strict=False))
    claims.note(
        f"Forces on {numbers.product}", f"largest {largest} N; energy taken from the hand {numbers.energy:.3g} J"
    )
    path = f"{1e3 * numbers.path_length:.0f} mm in {numbers.length:.1f} s, at most {numbers.largest_speed:.2f} m/s"
    claims.note("Path of the tool", f"{path}; {numbers.stopped_ticks} ticks in the safe state")
    return Report(
        numbers={"device_run": numbers},
        claims=claims,
        draw=lambda: _figure(state, numbers),
        caption=f"Measured position and commanded force of {numbers.product}. Without the truth behind the sensors and "
        "without a plan of the hand, there is no comparison with the paper.",
        parameters={source: bag.parameters(source) for source in ("device", *bag.parameters("device")["sources"])},
    )


def _state(bag: Bag) -> Mapping[str, Any]:
    return next(columns for topic, columns in bag.topics.items() if topic.endswith("/device_state"))


def _figure(state: Mapping[str, Any], numbers: RunNumbers) -> Figure:
    position, force = np.asarray(state["tool_pose"])[:, 0:3], np.asarray(state["joint_effort"])
    time = np.arange(len(position)) * float(state["period"][0])
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for i, axis in enumerate("xyz"[: force.shape[1]]):
        top.plot(time, 1e3 * position[:, i], label=axis)
        bottom.plot(time, force[:, i], label=axis)
    top.set_ylabel("position (mm)")
    bottom.set_ylabel("commanded force (N)")
    bottom.set_xlabel("time (s)")
    top.set_title(numbers.product)
    for axes in (top, bottom):
        axes.grid(True, alpha=0.3)
        axes.legend(loc="upper right")
    return figure
