"""Node that records the topics of an experiment into a bag, and reports all ticks that are missing."""

from __future__ import annotations

import struct
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rclpy.executors import Executor
from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.serde import SerdeError

from haptic_bags.bag_writer import BagWriter
from haptic_bags.bags import parse_event, typestore
from haptic_core import process
from haptic_core.cdr import decode_bundle
from haptic_core.errors import HapticError, InputError
from haptic_core.process import SPIN_TIMEOUT, stop_requested
from haptic_core.qos import EVENT_DEPTH, latched_qos, recorder_qos
from haptic_core.suite_node import SuiteNode
from haptic_launch.experiments import Experiment, load_experiment
from haptic_msgs.msg import PassivityState, TickBundle

#: longest wait at the end for publishers that do not stop [s]; ROS 2's launch kills 10 s after SIGINT
_DRAIN_TIMEOUT = 7.0

#: silence after which the publishers are taken for dead [s]; DDS lists a killed process for another 20 s
_SILENCE = 3.0

#: silence after which the subscriptions are empty once no publisher is left [s]: while ticks that the device has
#: counted are missing, and otherwise
_LATE, _QUIET = 1.0, 2.0 * SPIN_TIMEOUT

_TICK_EVENT, PASSIVITY = "haptic_msgs/msg/TickEvent", "haptic_msgs/msg/PassivityState"
_TRUTH = "haptic_msgs/msg/SimulationState"


def stamp_of(data: bytes) -> int:
    """Returns the stamp [ns] of a serialised message that starts with a std_msgs/Header."""
    seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def tick_offset(data: bytes) -> int:
    """Returns the byte at which the field `tick` (uint64 after the header) of a serialised message begins."""
    (length,) = struct.unpack_from("<I", data, 12)  # of the frame_id, behind which the tick is aligned to 8 bytes
    return 4 + ((int(length) + 12 + 7) & ~7)


def tick_of(data: bytes) -> int:
    """Returns the field `tick` of a serialised message."""
    return int(struct.unpack_from("<Q", data, tick_offset(data))[0])


@dataclass
class TickLog:
    """Ticks of one topic that were received. A tick counts once the messages of all its writers have arrived.

    Attributes:
        last: last tick; -1 before the first.
        gaps: ranges of missing ticks before `last`, first and last tick of each.
        repeated: number of ticks that were received again.
        writers: number of nodes that publish a message in each tick.
    """

    last: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)
    repeated: int = 0
    writers: int = 1
    _begun: Counter[int] = field(default_factory=Counter)

    def add(self, tick: int) -> None:
        """Adds the tick of a message."""
        if self.writers > 1 and tick > self.last:
            self._begun[tick] += 1
            if self._begun[tick] < self.writers:
                return
            del self._begun[tick]
        if tick > self.last + 1:
            self.gaps.append((self.last + 1, tick - 1))
        elif tick <= self.last:
            self.repeated += 1
        self.last = max(self.last, tick)

    def missing_until(self, end: int) -> list[tuple[int, int]]:
        """Returns the ranges of missing ticks up to and including `end`."""
        return self.gaps + ([(self.last + 1, end)] if self.last < end else [])


def ranges_text(ranges: list[tuple[int, int]]) -> str:
    """Formats ranges of ticks as text: the first five, and the number of the others."""
    text = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[:5])
    return text + (f" and {len(ranges) - 5} more ranges" if len(ranges) > 5 else "")


def pushed_namespace(namespace: str, topic: str) -> str:
    """Returns the namespace that a launch file has pushed around an experiment: all its topics begin with it, too.

    Args:
        namespace: of the recorder; its end may be the start of the topic's own namespace.
        topic: of the experiment.
    """
    parts = namespace.strip("/").split("/")
    for index in range(len(parts)):
        if topic.startswith("/".join(["", *parts[index:], ""])):
            return "/".join(["", *parts[:index]]) if index else ""
    return namespace.rstrip("/")


class Recorder(SuiteNode):
    """Subscribes to all topics of an experiment in serialised form and writes the messages in the order of arrival."""

    def __init__(self, **node_options: Any) -> None:
        self._writer: BagWriter | None = None
        super().__init__("recorder", (Path(__file__).with_name("recorder.yaml"),), **node_options)

    def build(self, parameters: dict[str, Any]) -> Experiment:
        return load_experiment(parameters["experiment"])

    def install(self, built: Experiment) -> None:
        self.experiment = built

    def reset(self) -> None:
        """Does nothing: recorded messages stay in the bag."""

    def configure(self) -> None:
        super().configure()
        self._lockstep = self.parameters["mode"] == "lockstep"
        self._prefix = pushed_namespace(self.get_namespace(), self.experiment.clock)  # the bag has topics without it
        self.path = Path(self.parameters["output"] or self._default_path())
        if self.path.exists():
            raise HapticError(f"output: {self.path} exists already")
        custom = {"experiment": self.experiment.name, "mode": self.parameters["mode"]}
        if self.parameters["replay_of"]:
            custom["replay_of"] = self.parameters["replay_of"]
        self._writer = BagWriter(self.path, custom)
        self._writer.open()
        self.logs = {
            topic: TickLog(writers=self.experiment.writers(kind))
            for topic, kind in self.experiment.recorded.every_tick.items()
        }
        self._messages, self._reported_ticks = 0, 0
        bundled = self.parameters["layout"] == "composed"
        self._topic_callbacks: dict[str, Callable[[bytes], None]] = {}
        self._topics: list[Any] = []
        self._broken = ""
        for topic, name in self.experiment.topics.items():
            self._subscribe(topic, name, bundled and topic in self.logs)
        for topic in self.experiment.passivity_topics:
            self._subscribe_to_passivity(topic, bundled)
        if bundled:
            topic = f"{self._prefix}{self.experiment.clock.rpartition('/')[0]}/tick_bundle"
            qos = recorder_qos()
            self._topics.append(self.create_subscription(TickBundle, topic, self._on_bundle, qos, raw=True))

    def cleanup(self) -> None:
        """Finishes the bag."""
        self._unsubscribe()
        self.close()

    def _unsubscribe(self) -> None:
        for subscription in self._topics:
            self.destroy_subscription(subscription)
        self._topics.clear()

    def _default_path(self) -> Path:
        return Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{self.experiment.name}" / "bag"

    def _subscribe(self, topic: str, name: str, bundled: bool) -> None:
        latched = topic in self.experiment.recorded.events
        connection = self._connection(topic, name, latched)
        qos = latched_qos(EVENT_DEPTH) if latched else recorder_qos()
        callback = partial(self._on_message, connection, self.logs.get(topic), name == _TICK_EVENT)
        self._topic_callbacks[self._prefix + topic] = callback
        if not bundled:
            kind = _message_class(name)
            self._topics.append(self.create_subscription(kind, self._prefix + topic, callback, qos, raw=True))

    def _on_bundle(self, data: bytes) -> None:
        try:
            samples = list(decode_bundle(data))
        except InputError as error:
            self.reject(error.kind, f"not recorded: {error}")
            return
        for topic, sample in samples:
            if topic in self._topic_callbacks:
                self._topic_callbacks[topic](sample)

    def _connection(self, topic: str, name: str, latched: bool) -> Connection:
        assert self._writer is not None
        return self._writer.add_connection(
            topic, name, typestore=typestore(), offered_qos_profiles=[_offered_qos(latched)]
        )

    def _subscribe_to_passivity(self, topic: str, bundled: bool) -> None:
        """Subscribes to a topic that may have no message: its first message, of tick 0, adds it to the bag."""
        connections: list[Connection] = []

        def on_message(data: bytes) -> None:
            if not connections and self._writer is not None:
                connections.append(self._connection(topic, PASSIVITY, False))
                self.logs[topic] = TickLog()
            if connections:
                self._on_message(connections[0], self.logs[topic], False, data)

        name, qos = self._prefix + topic, recorder_qos()
        self._topic_callbacks[name] = on_message
        if not bundled:
            self._topics.append(self.create_subscription(PassivityState, name, on_message, qos, raw=True))

    def _on_message(self, connection: Connection, log: TickLog | None, is_event: bool, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            stamp, tick = stamp_of(data), tick_of(data) if log is not None else 0
            event = parse_event(typestore().deserialize_cdr(bytes(data), _TICK_EVENT)) if is_event else None
            if event is not None and event.detail.get("simulated") is False:
                self._leave_out_truth()
            reported = event.detail.get("ticks", 0) if event is not None and event.kind == "state" else 0
            if stamp < 0 or not isinstance(reported, int):
                raise ValueError(f"stamp {stamp} ns, {reported!r} ticks")
        except (struct.error, SerdeError, ValueError) as error:
            self.reject("malformed", f"{connection.topic}: not recorded: {error}")
            return
        try:
            self._writer.write(connection, stamp, data)
        except OSError as error:
            self._abandon_bag(error)
            return
        self._messages += 1
        if log is not None:
            log.add(tick)
        self._reported_ticks = max(self._reported_ticks, reported)  # a device reports its number of ticks when it ends

    def _leave_out_truth(self) -> None:
        """Expects no SimulationState in any tick, since the device is not simulated."""
        kinds = self.experiment.topics
        self.logs = {topic: log for topic, log in self.logs.items() if kinds.get(topic) != _TRUTH}

    def spin(self, executor: Executor) -> None:
        """Records until a stop is requested, then until the publishers are gone or silent, and closes the bag."""
        while not stop_requested():
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            if self.configured:
                self._maintain_bag()
        received = time.monotonic()
        end = received + _DRAIN_TIMEOUT
        while self._writer is not None and time.monotonic() < min(end, received + _SILENCE):
            before = self._messages
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            if self._messages != before:
                received = time.monotonic()
                continue
            silence = time.monotonic() - received
            publishers = any(self.count_publishers(self._prefix + topic) for topic in self.logs)
            if silence >= self._end_silence() and not publishers:
                break
        else:
            if self._writer is not None and received + _SILENCE > end:
                waited = f"{_DRAIN_TIMEOUT:g} s after the end there was still more, which is missing"
                self.fail(f"bag {self.path}: {waited}")
        self.close()

    def _end_silence(self) -> float:
        """Returns the silence [s] that ends the recording once no publisher is left."""
        logs = self.logs.values() if self._lockstep else [self.logs[self.experiment.clock]]
        return _LATE if any(log.last < self._reported_ticks - 1 for log in logs) else _QUIET

    def _maintain_bag(self) -> None:
        """Flushes the bag and reports diagnostics; unsubscribes from all topics if the bag cannot be written to."""
        try:
            if self._writer is not None:
                self._writer.flush()
        except OSError as error:
            self._abandon_bag(error)
        if self._broken:
            self._unsubscribe()
        self.tick = self.logs[self.experiment.clock].last
        self.report_diagnostics()

    def diagnostic_values(self) -> dict[str, Any]:
        return {"messages": self._messages}

    def trouble(self) -> str:
        return self._broken

    def _abandon_bag(self, error: OSError) -> None:
        """Stops writing after an error and reports it. The run goes on, since the loop does not need the recorder."""
        assert self._writer is not None
        self._writer.abort()
        self._writer = None
        last = self.logs[self.experiment.clock].last
        self._broken = f"bag {self.path}: {error.strerror or error} at tick {last}"
        self.exit_code = 1
        self.get_logger().fatal(
            f"{self._broken}: nothing is recorded any more, the run goes on; later: ./haptics repair {self.path}"
        )

    def close(self) -> None:
        """Finishes the bag, if there is an open one, and checks that no tick is missing."""
        if self._writer is None:
            return
        try:
            self._writer.close()
        except OSError as error:
            self._abandon_bag(error)
        if self._broken:
            return
        self._writer = None
        clock = self.logs[self.experiment.clock]
        ticks = clock.last + 1 - sum(end - start + 1 for start, end in clock.gaps)
        self.get_logger().info(f"{self._messages} messages, {ticks} ticks in {self.path}")
        for line in self.missing():
            self.fail(f"bag {self.path}: {line}")

    def missing(self) -> list[str]:
        """Describes all topics that lack ticks, those with the same in one line, and each that has ticks twice.

        Ticks count up to the last one that was received or that the device reported. When a run is interrupted, the
        last tick may lack its answers. In realtime only the device's state must be complete: a source that misses a
        tick has nothing to record. In a replay, ranges of ticks that the device's state lacks are not reported.
        """
        clock = self.logs[self.experiment.clock]
        end = max(clock.last, self._reported_ticks - 1)
        left_out = clock.missing_until(end) if self.parameters["replay_of"] else []
        lacking, repeated = dict[str, list[str]](), list[str]()
        for topic, log in self.logs.items():
            if not self._lockstep and topic != self.experiment.clock:
                continue
            ranges = log.missing_until(end if topic == self.experiment.clock else end - 1)
            ranges = [one for one in ranges if one not in left_out]
            if ranges:
                lacking.setdefault(ranges_text(ranges), []).append(topic)
            if log.repeated:
                repeated.append(f"{topic} has {log.repeated} ticks twice")
        lines = []
        for ticks, topics in lacking.items():
            lines.append(f"{', '.join(topics)} {'lacks' if len(topics) == 1 else 'lack'} ticks {ticks}")
        return lines + repeated


def _message_class(name: str) -> type:
    package, _, message = name.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), message)  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        raise HapticError(f"message type {name} is not installed") from None


def _offered_qos(latched: bool) -> Qos:
    forever = QosTime(2147483647, 4294967295)
    return Qos(
        history=QosHistory.KEEP_LAST if latched else QosHistory.KEEP_ALL,
        depth=EVENT_DEPTH if latched else 0,
        reliability=QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        deadline=forever,
        lifespan=forever,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=forever,
        avoid_ros_namespace_conventions=False,
    )


def main() -> None:
    """Runs the executable recorder."""
    process.main(Recorder)
