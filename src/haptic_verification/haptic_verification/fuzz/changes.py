"""Effect of a change of one parameter on the force at the device; nodes run in this process, in lockstep, without DDS.

Each of the `SITUATIONS` is a node under load. It is run twice with the same states of the device, with and without a
change of one parameter after `SETTLED` ticks. The steps of the command from tick to tick are compared,

    extra = max over k of |(u_k - u_(k-1)) - (u0_k - u0_(k-1))|

for forces, torques or joint efforts, or the velocities of a motion. A third run w, of a node whose `change_time` is 0,
shows the change without the ramp and gives the bound

    allowed = 1.5 T/tau max |w_k - u_(K-1)| + max |w_k - w_(k-1)| + max |u0_k - u0_(k-1)|     (from the second tick on).

Its terms are the fraction of the whole change that the ramp makes in a tick, and the steps of the new and of the old
values. For a motion with positions, 4 T/tau + 6 (T/tau)^2 replaces 1.5 T/tau, and 6 T/tau^2 times the jump of the
position is added (`haptic_core.change_ramp`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.context import Context
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation

from haptic_core.commands import EFFORT, MODE_NAMES, MOTION, POSITION, WRENCH
from haptic_core.errors import HapticError
from haptic_core.messages import pose_array, set_pose, twist_array, wrench_array
from haptic_core.parameters import ParameterSpec, limits_in
from haptic_devices.node.device_node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState
from haptic_verification.fuzz.captured_topics import CapturedTopics
from haptic_verification.fuzz.situations import AFTER, FACTORS, ROUNDING, SETTLED, SITUATIONS, Situation
from haptic_verification.fuzz.subjects import PERIOD, started_node

# ---- runs -----------------------------------------------------------------------------------------

#: rotation from the commanded orientation to that of a tool that follows
_BEHIND = Rotation.from_rotvec((0.0, 0.0, -1e-3))
#: numbers in the row of a command
COLUMNS = 9
#: compared slices of the row of a command, by mode and unit
PARTS: dict[int, dict[str, slice]] = {
    EFFORT: {"N m": slice(0, 6)},
    WRENCH: {"N": slice(0, 3), "N m": slice(3, 6)},
    MOTION: {"m/s": slice(0, 3), "rad/s": slice(3, 6)},
}


class Stage:
    """A rendering node that is run repeatedly, each time after a restart.

    Args:
        situation: conditions of the change.
        context: context of rclpy; nothing is published.
        change_time: parameter of the node [s]; None: its default.
    """

    def __init__(self, situation: Situation, context: Context, change_time: float | None = None) -> None:
        self.situation = situation
        ramp = {} if change_time is None else {"change_time": change_time}
        self.topics = CapturedTopics(self._take, subscribed=False)
        self.node = node = started_node(situation.node, context, {**situation.parameters, **ramp}, self.topics)
        self.mode = MODE_NAMES.index(node.command_mode)
        self.time = max(PERIOD, node.parameters["change_time"])
        self._commands: list[np.ndarray] = []
        self._receivers = {entry: (make, self.topics.input_of(node, entry)) for entry, make in situation.inputs.items()}

    def _take(self, topic: str, message: Any) -> None:
        if not topic.endswith("device_command"):
            return
        row = np.zeros(COLUMNS)
        if message.mode == EFFORT:
            row[:6] = message.joint_effort
        elif message.mode == WRENCH:
            row[:6] = wrench_array(message.tool_wrench)
        elif message.mode == MOTION:
            row[:6] = twist_array(message.tool_twist)
            if message.motion_fields & POSITION:
                row[6:] = pose_array(message.tool_pose)[:3]
        self._commands.append(row)

    def changeable(self) -> list[ParameterSpec]:
        """Returns the specifications of the parameters that may be changed in this situation."""
        only = self.situation.only
        specs = [spec for spec in self.node.specs.values() if not (spec.read_only or spec.file)]
        return [spec for spec in specs if not only or spec.name in only]

    def set(self, **values: Any) -> str:
        """Sets parameters; returns the reason if they are refused, else an empty text."""
        made = [Parameter(name, value=value) for name, value in values.items()]
        result = self.node.set_parameters_atomically(made)
        return "" if result.successful else str(result.reason)

    def play(self, ticks: int, name: str = "", value: Any = None) -> np.ndarray | str:
        """Runs the node from a restart on, with a change of the parameter `name` after `SETTLED` ticks.

        Returns:
            Commands, shape (ticks, 9): six numbers of their mode, and the position of a motion [m]. If the change is
            refused, the reason.
        """
        node = self.node
        node.restart()
        self._commands.clear()
        refused = ""
        before = node.parameters[name] if name else None
        for k in range(ticks):
            if name and k == SETTLED:
                refused = self.set(**{name: value})
                if refused:
                    return refused
            self._run_tick(k)
        if name:
            self.set(**{name: before})
        if len(self._commands) != ticks:
            problem = f"{len(self._commands)} answers in {ticks} ticks: {dict(node.rejections.counts)}"
            raise HapticError(f"{type(node).__name__}: {problem}")
        return np.array(self._commands)

    def _run_tick(self, k: int) -> None:
        """Runs one tick: sends the inputs, then the device's state."""
        node, situation = self.node, self.situation
        tick = node.next_tick
        for entry, (make, receive) in self._receivers.items():
            delayed = entry in node.parameters["delayed_inputs"]
            if tick or not delayed:
                message = make(k)
                message.tick = tick - delayed
                receive(message)
        state = situation.state(k)
        state.tick = tick
        if situation.follows and k:
            self._follow(state)
        self.topics.callbacks["device_state"](state)

    def _follow(self, state: DeviceState) -> None:
        commanded = self.node.state.pose if hasattr(self.node.state, "pose") else self.node.command.tool_pose
        pose = pose_array(commanded) - np.array((1e-4, 0, 0, 0, 0, 0, 0))
        pose[3:] = (_BEHIND * Rotation.from_quat(pose[3:])).as_quat()
        set_pose(state.tool_pose, pose)

    def close(self) -> None:
        """Destroys the node."""
        self.node.destroy_node()


class DeviceStage(Stage):
    """A device node that is run repeatedly; the rows are the efforts that act."""

    def __init__(self, situation: Situation, context: Context, change_time: float | None = None) -> None:
        self.situation, self.mode, self.time = situation, EFFORT, math.inf
        self._commands = []
        self.topics = CapturedTopics(self._take, subscribed=False)
        self.node = started_node(situation.node, context, situation.parameters, self.topics)
        self.node.begin()

    def _take(self, topic: str, message: Any) -> None:
        if isinstance(message, DeviceState):
            self._commands.append(np.resize(message.joint_effort, COLUMNS))

    def _run_tick(self, k: int) -> None:
        node = self.node
        self.topics.callbacks["device_command"](
            DeviceCommand(tick=node.tick, source="one", mode=EFFORT, joint_effort=[0.05, -0.02])
        )
        node.advance_if_due()
        if len(self._commands) <= k:  # the clock waits for its pace, which `end_tick` skips
            node.end_tick()


def make_stage(name: str, context: Context, change_time: float | None = None) -> Stage:
    """Starts the node of a situation; `change_time` as in `Stage`."""
    situation = SITUATIONS[name]
    return (DeviceStage if situation.node is DeviceNode else Stage)(situation, context, change_time)


def others(spec: ParameterSpec, value: Any, situation: Situation) -> list[Any]:
    """Returns admissible values to which a parameter is changed: slightly smaller and larger ones, and its bounds."""
    if spec.name in situation.values:
        return list(situation.values[spec.name])
    if spec.type == "bool":
        return [not value]
    low, high, choices = limits_in(spec.constraints)
    if choices:
        return [choice for choice in choices if choice != value]
    if spec.type not in ("double", "int"):
        return []
    found = [factor * value for factor in FACTORS] if value else [0.001 * high, 0.1 * high]
    found += [bound for bound in (low, high) if math.isfinite(bound)]
    kind = float if spec.type == "double" else round
    inside = [kind(min(max(x, low), high)) for x in found]
    return [x for x in dict.fromkeys(inside) if x != value]


@dataclass(frozen=True)
class Change:
    """Effect of one change of a parameter.

    Attributes:
        situation, parameter, value: conditions, changed parameter, new value.
        refused: reason of a refusal; the following attributes are empty then.
        at_once: largest extra step without the ramp, by unit.
        extra: largest extra step with the ramp, by unit.
        allowed: bound of `extra`, by unit.
    """

    situation: str
    parameter: str
    value: str
    refused: str = ""
    at_once: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)
    allowed: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_bumpless(self) -> bool:
        """True if no extra step exceeds its bound."""
        return all(extra <= self.allowed[unit] + ROUNDING for unit, extra in self.extra.items())


def largest(rows: np.ndarray, parts: Mapping[str, slice]) -> dict[str, float]:
    """Computes the largest norm over the rows (n, 9) of each part."""
    return {unit: float(np.linalg.norm(rows[:, part], axis=1).max()) for unit, part in parts.items()}


def changes(name: str, context: Context, quick: bool = False) -> Iterator[Change]:
    """Yields the effects of changing every parameter of a situation; `quick`: only to the last two of its values."""
    situation = SITUATIONS[name]
    ramped, at_once = make_stage(name, context), make_stage(name, context, 0.0)
    ticks = SETTLED + AFTER
    reference = ramped.play(ticks)
    assert not isinstance(reference, str)
    parts = PARTS[ramped.mode]
    steps0 = np.diff(reference, axis=0)
    for spec in ramped.changeable():
        values = others(spec, ramped.node.parameters[spec.name], situation)
        for value in values[-2:] if quick else values:
            got, direct = (stage.play(ticks, spec.name, value) for stage in (ramped, at_once))
            if isinstance(got, str) or isinstance(direct, str):
                yield Change(name, spec.name, str(value), refused=str(got))
                continue
            extra, jump = (np.diff(run, axis=0) - steps0 for run in (got, direct))
            whole = largest(direct[SETTLED:] - reference[SETTLED - 1], parts)
            later = largest(np.diff(direct[SETTLED:], axis=0), parts)
            own = largest(steps0[SETTLED - 1 :], parts)
            ratio = PERIOD / ramped.time  # at the first tick a position is at most T |o'| from the one before
            fraction = 4.0 * ratio + 6.0 * ratio**2 if reference[-1, 6:].any() else 1.5 * ratio
            allowed = {unit: fraction * whole[unit] + later[unit] + own[unit] for unit in parts}
            if "m/s" in allowed:
                jump_to = direct[SETTLED, 6:] - direct[SETTLED - 1, 6:] - PERIOD * reference[SETTLED - 1, :3]
                allowed["m/s"] += 6.0 * PERIOD / ramped.time**2 * float(np.linalg.norm(jump_to))
            yield Change(name, spec.name, str(value), "", largest(jump, parts), largest(extra, parts), allowed)
    for stage in (ramped, at_once):
        stage.close()
