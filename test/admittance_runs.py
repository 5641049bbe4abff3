"""Runs of friction_admittance with known answers, and their bags."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from haptic_bags.bags import Bag, Event
from haptic_devices import factories
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import FiveBar, inverse
from haptic_devices.hands.operator import HandParameters
from haptic_devices.motions.planar import paper_admittance_plan
from haptic_experiments.experiments.friction_admittance import manipulator
from haptic_experiments.experiments.friction_admittance.manipulator import Run

#: period (s), friction force (N), rendered mass (kg)
T, F, M = 1e-3, 6.0, 2.0
#: as the node starts with
FRICTION = {"model": "A", "law": "coulomb", "projection": "exact", "friction_force": F, "viscosity": 0.0, "mass": M}
FRICTION |= {"static_force": 7.5, "stribeck_velocity": 0.1, "stiffness": 6000.0, "damping": 10.0, "period": T}


@functools.cache
def five_bar() -> FiveBar:
    return FiveBar.from_file()


@functools.cache
def hand() -> HandParameters:
    return load_parameters(HandParameters, factories.HAND_FILE)


@functools.cache
def ideal_run(wobble: float = 0.0) -> Run:
    """The tool goes where the hand wants it, and the hand's force is h = F v/|v| + M a, at rest that of the plan.

    wobble: amplitude of a motion of 5 Hz that the tool adds along y while it goes along x, from a to b [m].
    """
    plan = paper_admittance_plan(T, rest_duration=2.4, rest_force=2.5)
    intention = plan.table[:, 0:2]
    position, velocity = intention.copy(), plan.table[:, 2:4].copy()
    phase = 2.0 * np.pi * 5.0 * T * np.arange(1000)
    position[:1000, 1] += wobble * (1.0 - np.cos(phase))
    velocity[:1000, 1] += wobble * 2.0 * np.pi * 5.0 * np.sin(phase)
    speed = np.linalg.norm(velocity, axis=1)[:, None]
    along = np.divide(velocity, speed, out=np.zeros_like(velocity), where=speed > 0.0)
    force = F * along + M * np.gradient(velocity, T, axis=0) + plan.table[:, 4:6]
    joints, q = np.zeros_like(position), np.zeros(2)
    for k, (x, y) in enumerate(position):
        inverse(five_bar().geometry, x, y, q)
        joints[k] = q
    return Run(
        period=T,
        time=T * np.arange(len(position)),
        measured=position,
        position=position,
        velocity=velocity,
        force=force,
        intention=intention,
        target=position.copy(),
        target_velocity=velocity,
        joints=joints,
        sticking=speed[:, 0] == 0.0,
        phases=[phase.__dict__ for phase in plan.phases],
    )


def coulomb() -> np.ndarray:
    """Friction force of the ideal run at each sample, (n,) [N]."""
    return np.full(len(ideal_run().time), F)


def bag_of(
    run: Run,
    *,
    delay: int = 0,
    mode: str = "lockstep",
    missed: tuple[int, ...] = (),
    compensation: str = "none",
    held: bool = True,
    device: dict[str, Any] | None = None,
    **friction: Any,
) -> Bag:
    """The bag of a run.

    Args:
        run: the signals; the commands are its targets, whatever the delay.
        delay: command_delay_ticks.
        mode: lockstep or realtime.
        missed: ticks without an answer of the friction node.
        compensation: of the servo.
        held: there is a hand.
        device: description of the device by its node; that of five_bar.yaml if not given.
        friction: parameters of the friction node that are not those of the signals.
    """
    bag = Bag.__new__(Bag)
    bag.path, bag.custom = Path("runs/x/bag"), {"experiment": "friction_admittance", "mode": mode}
    ticks = np.arange(len(run.time), dtype=np.uint64)  # the message's type
    kept = np.setdiff1d(np.arange(len(ticks)), missed)

    def padded(values: np.ndarray, columns: int) -> np.ndarray:
        return np.hstack((values, np.zeros((len(values), columns - 2))))

    measured = {"tool_pose": padded(run.measured, 7), "tool_wrench": padded(run.force, 6)}
    truth = {"tool_pose": padded(run.position, 7), "tool_twist": padded(run.velocity, 6)}
    truth |= {"operator_target": padded(run.intention, 7), "joint_position": run.joints}
    command = {"tool_pose": padded(run.target, 7), "tool_twist": padded(run.target_velocity, 6)}
    topics = {
        "device_state": {"tick": ticks, "period": np.full(len(ticks), T), **measured},
        "simulation_state": {"tick": ticks, **truth},
        "device_command": {"tick": ticks[kept], **{name: values[kept] for name, values in command.items()}},
        "friction/state": {"tick": ticks[kept], "sticking": run.sticking[kept, None]},
    }
    bag.topics = {f"/five_bar/{name}": columns for name, columns in topics.items()}
    described = {**five_bar().parameters.model_dump(), "compensation": compensation} if device is None else device
    node = {
        "parameters": {"command_delay_ticks": delay, "mode": mode},
        "device": described,
        "hand": hand().model_dump() if held else None,
        "phases": run.phases,
    }
    bag.events = [
        Event(0, "device", "state", {"state": "active", **node}),
        Event(0, "friction", "state", {"state": "active", "parameters": FRICTION | friction}),
    ]
    return bag


def turned(force: np.ndarray, angle: float) -> np.ndarray:
    cosine, sine = np.cos(angle), np.sin(angle)
    return force @ np.array([[cosine, sine], [-sine, cosine]])


def drifting(drift: float, compliance: float = 0.0) -> Run:
    """Creeps along y by a drift [m] in each counted part of a rest, on a spring of a compliance [m/N]."""
    position = ideal_run().position + compliance * ideal_run().force
    for phase in ideal_run().phases:
        if phase["kind"] == "rest":
            part = ideal_run().part(phase["start"], phase["end"])
            time = ideal_run().time[part]
            position[part, 1] += drift * (time - time[0]) / (time[-1] - time[0] - manipulator.SETTLING)
    return replace(ideal_run(), position=position)
