"""Synthetic bags with known answers, for the tests of the reports and of replays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replay_bags import a_run, write_bag
from scipy.spatial.transform import Rotation

from haptic_bags.bags import Bag, Event
from haptic_bags.recording import Recording
from haptic_core.commands import MOTION, NONE
from haptic_experiments.experiments.friction_impedance.joystick import Run

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
        return Run(T, time, PHASES, position, position, velocity, force, ~slides, force / K)

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
            element_velocity: velocity at the friction element (n, 2); the true velocity if not given (m/s).
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


#: coordinates x (n, 6) of a virtual tool, position [m] and angles [rad], and their rates
Coordinates = tuple[np.ndarray, np.ndarray]
#: parameters of constraint_node, its defaults
PLACE = {"frame_position": [0.0, 0.0, 0.0], "frame_orientation": [0.0, 0.0, 0.0, 1.0]}
PLACE |= {"tool_orientation": [0.0, 0.0, 0.0, 1.0]}


def in_base(motion: Coordinates, node: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Poses (n, 7) and twists (n, 6) of the display's tool in its base frame, R = Rz(x4) Rx(x6) Rz(x5)."""
    x, xdot = motion
    turn = Rotation.from_euler("ZXZ", x[:, [3, 5, 4]])
    line, flat, rates = np.array([0.0, 0.0, 1.0]), np.zeros_like(x[:, :3]), xdot[:, 3:]
    flat[:, 0], flat[:, 1] = np.cos(x[:, 3]), np.sin(x[:, 3])
    omega = rates[:, :1] * line + rates[:, 1:2] * turn.apply(line) + rates[:, 2:] * flat
    frame, tool = (Rotation.from_quat(node[name]) for name in ("frame_orientation", "tool_orientation"))
    pose = np.hstack((frame.apply(x[:, :3]) + node["frame_position"], (frame * turn * tool.inv()).as_quat()))
    return pose, np.hstack((frame.apply(xdot[:, :3]), frame.apply(omega)))


# Longer than others: what a bag of such a run has, topic by topic.
@pytest.fixture
def display_bag() -> Callable[..., Bag]:
    """Makes the bag of a constrained mechanism on the admittance display from the motion of its virtual tool."""

    def make(
        mechanism: str,
        measured: Coordinates,
        *,
        reference: Coordinates | None = None,
        true: Coordinates | None = None,
        wrench: np.ndarray | None = None,
        numbers: dict[str, np.ndarray] | None = None,
        phases: list[dict[str, Any]] | None = None,
        touched: np.ndarray | None = None,
        led: int = 0,
        refused: int = 0,
        stopped: slice = slice(0),
        missed: tuple[int, ...] = (),
        delay: int = 0,
        mode: str = "lockstep",
        **node: Any,
    ) -> Bag:
        """A bag whose tick k has row k of the signals, the reference of row k being what was due then.

        Args:
            mechanism: its name.
            measured: motion that the display measures.
            reference: due motion; the measured motion if not given.
            true: motion without noise; the measured motion if not given.
            wrench: measured, (n, 6), in the mechanism's frame [N; N m].
            numbers: fields of ConstrainedReference at the tick when they are due; x and its rate for q if not given.
            phases: of the hand; None: the device tells none.
            touched: (n,) whether the hand acts; always if not given.
            led: so many ticks at the beginning lead the tool to the mechanism, which has not started.
            refused: so many commands are NONE.
            stopped: ticks in the safe state.
            missed: ticks without an answer of the node.
            delay: command_delay_ticks.
            mode: lockstep or realtime.
            node: parameters of the node that are not the defaults.
        """
        bag = Bag.__new__(Bag)
        bag.path, bag.custom = Path("runs/x/bag"), {"mode": mode}
        known = {"mechanism": mechanism, "mechanism_parameters": [""], "feedback": "node", "orientation": "euler"}
        known = {**PLACE, **known, **node}
        reference = reference or measured
        n = len(measured[0])
        ticks = np.arange(n, dtype=np.uint64)  # the message's type
        state = {"q": reference[0], "q_velocity": reference[1], "kinetic_energy": np.zeros(n), **(numbers or {})}
        placed: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # most bags have one motion under three names

        def place(motion: Coordinates) -> tuple[np.ndarray, np.ndarray]:
            if id(motion) not in placed:
                placed[id(motion)] = in_base(motion, known)
            pose, twist = placed[id(motion)]
            return pose.copy(), twist.copy()

        state["pose"], state["twist"] = place(reference)
        nothing = {"z": state["q"], "multipliers": np.zeros((n, 2)), "constraint_residual": np.zeros(n)}
        state = {**nothing, **state}
        ahead = 1 + (delay if known["feedback"] == "device" else 0)
        state = {name: values[np.minimum(np.arange(n) + ahead, n - 1)].copy() for name, values in state.items()}
        for name in ("z", "q", "q_velocity", "multipliers"):
            state[name][:led] = 0.0
        state["pose"][:led, 0] += 1.0
        state["twist"][:led, 0] += 1.0
        state["tick"] = ticks
        kept = np.setdiff1d(np.arange(n), missed)
        force = np.zeros((n, 6)) if wrench is None else wrench
        turn = Rotation.from_quat(known["frame_orientation"])
        force = np.hstack((turn.apply(force[:, :3]), turn.apply(force[:, 3:])))
        hand = np.ones(n, dtype=bool) if touched is None else touched
        pose, twist = place(measured)
        true_pose, true_twist = place(true or measured)
        status = np.zeros(n, dtype=np.uint8)
        status[stopped] = 1
        mode_of_command = np.where(np.arange(n) < refused, NONE, MOTION)
        topics = {
            "device_state": {
                "period": np.full(n, T),
                "tool_pose": pose,
                "tool_twist": twist,
                "tool_wrench": force,
                "status": status,
            },
            "simulation_state": {
                "tool_pose": true_pose,
                "tool_twist": true_twist,
                "operator_wrench": np.where(hand[:, None], force + 1.0, 0.0),
            },
            "device_command": {"mode": mode_of_command},
        }
        bag.topics = {
            f"/cobotic_hand_controller/{name}": {"tick": ticks, **columns} for name, columns in topics.items()
        }
        bag.topics["/cobotic_hand_controller/constraints/state"] = {name: v[kept] for name, v in state.items()}
        device: dict[str, Any] = {
            "parameters": {"command_delay_ticks": delay, "mode": mode},
            "device": {"position_resolution": 1e-5, "angle_resolution": 1e-4},
        }
        if phases is not None:
            device["phases"] = phases
        bag.events = [
            Event(0, "device", "state", {"state": "active", **device}),
            Event(0, "constraints", "state", {"state": "active", "parameters": known}),
        ]
        return bag

    return make


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A short recording, for tests that only read it."""
    path = tmp_path_factory.mktemp("recorded") / "bag"
    return Recording.read(write_bag(path, a_run(), experiment="friction_impedance", mode="lockstep"))


@pytest.fixture
def damaged(recording: Recording, tmp_path: Path) -> Path:
    """A copy of the bag, to be damaged."""
    return Path(shutil.copytree(recording.path, tmp_path / "bag"))
