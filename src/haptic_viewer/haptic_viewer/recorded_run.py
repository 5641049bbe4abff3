"""Access to a recorded run for the page: the messages of a moment, and each signal over the whole run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from haptic_bags.bags import find_bag
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, TICK_EVENT, Recording, ReplayError
from haptic_core.errors import HapticError
from haptic_core.messages import pose_array, set_wrench, wrench_array
from haptic_devices.device import Device
from haptic_devices.factories import find_device
from haptic_msgs.msg import DeviceCommand, Scene
from haptic_viewer.plots import SIGNALS, Signal
from haptic_viewer.taps import message_class

#: number of cached messages, so that the topics of a moment are deserialised once
_CACHED = 64


class RecordedRun:
    """Bag of a run, in memory.

    Args:
        path: path of a bag, or of a run with one bag.

    Attributes:
        name: name of the run's folder, followed by a slash and the bag's name unless that is "bag".
        prefix: namespace of the experiment, with a slash at its end.
        about: event detail of the device when it became active.
        period: control period of the device [s].
        start, end: times of the first and of the last tick [s].
        kinds: type of each topic that the page shows, by its absolute name.
        scene: bodies of the world; None without a world.
        device: simulated device of the run, for its robot description; None if it cannot be created.

    Raises:
        BagError: the path is not a readable bag of a run, or a run has several bags.
    """

    def __init__(self, path: Path) -> None:
        bag = find_bag(path)
        recording = self._recording = Recording.read(bag, {*SIGNALS, TICK_EVENT, DEVICE_COMMAND, _SCENE})
        folder = bag.resolve()
        self.name = folder.parent.name if folder.name == "bag" else f"{folder.parent.name}/{folder.name}"
        self.prefix = recording.clock.removesuffix("device_state")
        self.about = recording.started(recording.device)
        first = recording.first_state()
        self.period = float(first.period)
        if not self.period > 0.0:
            raise ReplayError(f"{bag}: first device state: expected a period above 0, got {self.period}", _HINT)
        self._base_frame = str(self.about.get("base_frame", first.header.frame_id))
        ticks = recording.ticks
        self.start, self.end = self.period * ticks[0], self.period * ticks[-1]
        kinds = {topic: kind for topic, kind in recording.types.items() if kind in SIGNALS}
        self.kinds = {topic: kinds[topic] for topic in sorted(kinds, key=lambda topic: topic != recording.clock)}
        self._ticks = {
            topic: sorted({tick for tick, _ in recording.messages.get(topic, {})})
            for topic in (*self.kinds, recording.command_topic)
        }
        scenes = [data for topic, data in recording.latched.items() if recording.types[topic] == _SCENE]
        self.scene: Scene | None = deserialize_message(scenes[-1], Scene) if scenes else None
        self._message = lru_cache(_CACHED)(self._read)
        self.device = self._make_device()

    @property
    def base_frame(self) -> str:
        """Frame of the tool's poses."""
        return self._base_frame

    def parameters(self) -> dict[str, dict[str, Any]]:
        """Returns the parameters with which each rendering node became active, by its name."""
        return {source: self._recording.parameters(source) for source in self._recording.sources}

    def _make_device(self) -> Device | None:
        """Creates the simulated device of the run, which is never activated; None if the page cannot draw it."""
        parameters = self.about.get("parameters", {})
        if not self.about.get("simulated", True):  # older bags lack the entry; drivers need their hardware
            return None
        try:
            device = find_device(str(parameters["device"]))(parameters)
            return device if device.robot_description() else None
        except (HapticError, KeyError, OSError, TypeError, ValueError):  # a file of the recorded run is gone
            return None

    def _read(self, topic: str, tick: int) -> Any:
        return deserialize_message(
            self._recording.messages[topic][tick, ""], message_class(self._recording.types[topic])
        )

    def message(self, topic: str, time: float) -> Any:
        """Returns the newest message of a topic at a time [s]; None: there is none yet."""
        tick = self._tick(topic, time)
        return None if tick is None else self._message(topic, tick)

    def _tick(self, topic: str, time: float) -> int | None:
        ticks = self._ticks[topic]
        count = bisect_right(ticks, round(time / self.period))
        return ticks[count - 1] if count else None

    def at(self, time: float) -> dict[str, Any]:
        """Returns the newest messages at a time [s] by topic, as the device and its nodes published them.

        Joint states and wrenches are computed from the device's state and the commands; the rendered wrench is the sum
        of the commanded wrenches.
        """
        found = {topic: message for topic in self.kinds if (message := self.message(topic, time)) is not None}
        state = found.get(f"{self.prefix}device_state")
        if state is None:
            return {}
        made: dict[str, Any] = {f"{self.prefix}device_state": state}
        if self.device is not None:
            made[f"{self.prefix}joint_states"] = self._joint_state(self.device, state)
        made |= found
        if state.has_force_sensor:
            made[f"{self.prefix}measured_wrench"] = self._wrench(wrench_array(state.tool_wrench))
        rendered = self._rendered(time)
        if rendered is not None:
            made[f"{self.prefix}rendered_wrench"] = self._wrench(rendered)
        return made

    @staticmethod
    def _joint_state(device: Device, state: Any) -> JointState:
        """Computes the positions of all joints of the robot description, including those without an encoder."""
        measured = np.asarray(state.joint_position)
        passive = device.passive_positions(measured, pose_array(state.tool_pose))
        names = [*(joint.name for joint in device.joints), *device.passive_joints]
        return JointState(name=names, position=[*measured.tolist(), *passive.tolist()])

    def _rendered(self, time: float) -> np.ndarray | None:
        """Sums the wrenches (6,) that were commanded at a time [s]; None without a wrench."""
        topic = self._recording.command_topic
        tick = self._tick(topic, time)
        if tick is None:
            return None
        by_source = self._recording.messages[topic]
        read = (
            deserialize_message(by_source[tick, source], DeviceCommand)
            for source in self._recording.sources
            if (tick, source) in by_source
        )
        wrenches = [wrench_array(one.tool_wrench) for one in read if one.mode == DeviceCommand.MODE_WRENCH]
        return np.sum(wrenches, axis=0) if wrenches else None

    def _wrench(self, values: np.ndarray) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = self._base_frame
        set_wrench(message.wrench, values)
        return message

    def signal(self, topic: str, signal: Signal, times: np.ndarray) -> np.ndarray:
        """Returns a signal at times (n,) [s], shape (n, k), NaN outside the run.

        A message whose number of values differs from that of the first one has no values.
        """
        rows: list[Mapping[int, float] | Any] = []
        for time in times:
            inside = self.start <= time <= self.end + 0.5 * self.period
            message = self.message(topic, float(time)) if inside else None
            rows.append(signal.values(message) if message is not None else ())
        width = next((len(row) for row in rows if len(row)), 0)
        table = np.full((len(times), width), np.nan)
        for index, row in enumerate(rows):
            if len(row) == width:
                table[index] = row
        return table

    def path(self, times: np.ndarray) -> np.ndarray:
        """Returns the positions of the tool at times (n,) [s] within the run, shape (m, 3) [m]."""
        (tool,) = SIGNALS[DEVICE_STATE]
        table = 1e-3 * self.signal(f"{self.prefix}device_state", tool, times)
        return table[np.isfinite(table).all(axis=1)]


_SCENE = "haptic_msgs/msg/Scene"
_HINT = "runs/<time>-<name>/bag of ./haptics run can be shown"
