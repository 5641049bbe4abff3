"""A synthetic run of friction_impedance with known answers, for the tests of the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bringup.bags import Bag, Event
from haptic_bringup.reports.friction_impedance import Run

#: period (s), friction force (N), stiffness (N/m), damping (N s/m)
T, F, K, B = 1e-3, 4.0, 6000.0, 10.0
PHASES = [
    {"name": "slide", "kind": "slide", "start": 0.0, "end": 1.0},
    {"name": "b", "kind": "rest", "start": 1.0, "end": 4.0},
]


@pytest.fixture
def signals() -> Callable[..., Run]:
    """Makes the signals of a run."""

    def make(duration: float = 4.0, drift: float = 0.0) -> Run:
        """One second of sliding along x at 0.1 m/s, then a rest under 2 N with a tremor of 10 Hz and 0.5 N.

        Args:
            duration: cuts the signals (s).
            drift: speed at which the point of contact creeps along y in the rest (m/s).
        """
        time = T * np.arange(round(duration / T))
        slides = time < 1.0
        force = np.zeros((len(time), 2))
        force[slides, 0] = F
        force[~slides] = np.outer(2.0 + 0.5 * np.sin(2 * np.pi * 10.0 * time[~slides]), [0.6, 0.8])
        velocity = np.where(slides[:, None], [0.1, 0.0], 0.0)
        contact = np.cumsum(T * velocity, axis=0) + np.outer(np.where(slides, 0.0, drift * (time - 1.0)), [0.0, 1.0])
        position = contact + force / K
        return Run(T, time, position, position, velocity, force, force / K, ~slides, PHASES)

    return make


@pytest.fixture
def bag_of() -> Callable[..., Bag]:
    """Makes the bag of a run's signals."""

    def make(
        run: Run,
        missed: tuple[int, ...] = (),
        mode: str = "lockstep",
        delay: int = 0,
        element_velocity: np.ndarray | None = None,
        **friction_parameters: Any,
    ) -> Bag:
        """A bag with these signals, in which the friction node missed some ticks.

        Args:
            run: the signals.
            missed: ticks without an answer of the friction node.
            mode: lockstep or realtime.
            delay: command_delay_ticks.
            element_velocity: what the friction element saw (n, 2); the true velocity if not given (m/s).
            friction_parameters: parameters of the friction node that are not those of the signals.
        """
        bag = Bag.__new__(Bag)
        bag.path, bag.custom = Path("runs/x/bag"), {"experiment": "friction_impedance", "mode": mode}
        ticks = np.arange(len(run.time))
        pad = np.zeros((len(ticks), 5))
        pose, true_pose, twist = (np.hstack((part, pad)) for part in (run.measured, run.position, run.velocity))
        friction = {
            "tick": ticks,
            "velocity": run.velocity if element_velocity is None else element_velocity,
            "force": run.force,
            "elastic_displacement": run.displacement,
            "sticking": run.sticking[:, None],
        }
        kept = np.setdiff1d(ticks, missed)
        bag.topics = {
            "/joystick/device_state": {"tick": ticks, "period": np.full(len(ticks), T), "tool_pose": pose},
            "/joystick/simulation_state": {"tick": ticks, "tool_pose": true_pose, "tool_twist": twist[:, :6]},
            "/joystick/friction/state": {name: column[kept] for name, column in friction.items()},
            "/joystick/device_command": {"tick": ticks},
        }
        device = {
            "parameters": {"command_delay_ticks": delay, "mode": mode},
            "device": {"encoder_resolution": 7.854e-5, "length": 0.15, "velocity_cutoff": 400.0},
            "phases": run.phases,
        }
        parameters = {"friction_force": F, "stiffness": K, "damping": B, "period": T, "axes": ["x", "y"]}
        parameters |= {"model": "C", "law": "coulomb", "viscosity": 0.0, "loading_force": [0.5 * F, F]}
        parameters |= friction_parameters
        bag.events = [
            Event(0, "device", "state", {"state": "active", **device}),
            Event(0, "friction", "state", {"state": "active", "parameters": parameters}),
        ]
        return bag

    return make


@pytest.fixture
def scripted_bag() -> Callable[..., Bag]:
    """Makes the bag of a scripted experiment from what its node would say."""

    def make(
        columns: dict[str, np.ndarray],
        parameters: dict[str, Any],
        node: str = "comparison",
        missed: tuple[int, ...] = (),
        **inputs: np.ndarray,
    ) -> Bag:
        """A bag of the topics in `/script`.

        Args:
            columns: velocity (m/s), force (N), elastic_displacement (m) and sticking, (n, models) each; what is not
                given is zero.
            parameters: of the node; with `period`.
            node: comparison or network.
            missed: ticks without an answer of the node.
            inputs: of the tool along x, `velocity` (m/s) or `force` (N), (n,); zero if not given.
        """
        bag = Bag.__new__(Bag)
        bag.path, bag.custom = Path("runs/x/bag"), {"mode": "lockstep"}
        first = next(iter(columns.values()))
        ticks = np.arange(len(first))
        kept = np.setdiff1d(ticks, missed)
        twist, wrench = np.zeros((len(ticks), 6)), np.zeros((len(ticks), 6))
        twist[:, 0], wrench[:, 0] = inputs.get("velocity", 0.0), inputs.get("force", 0.0)
        state = {name: np.zeros(first.shape) for name in ("velocity", "force", "elastic_displacement", "sticking")}
        state = {name: column[kept] for name, column in (state | columns).items()}
        bag.topics = {
            "/script/device_state": {
                "tick": ticks,
                "period": np.full(len(ticks), parameters["period"]),
                "tool_twist": twist,
                "tool_wrench": wrench,
            },
            f"/script/{node}/state": {"tick": kept, **state},
        }
        known = {"axis": "x", "law": "coulomb", "initial_velocity": 0.0} | parameters
        bag.events = [
            Event(0, node, "state", {"state": "active", "parameters": known}),
            Event(0, "device", "state", {"state": "active", "parameters": {"mode": "lockstep"}}),
        ]
        return bag

    return make
