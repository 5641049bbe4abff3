"""Every QoS profile of the suite, in one place."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

#: modes of the loop
MODES = ("lockstep", "realtime")

# haptic_hardware/qos.hpp has the same depths for C++; a test compares the two.
#: history of readers of tick topics in realtime, and of displays: older messages are dropped [messages]
DEPTH = 10

#: ticks that a realtime publisher keeps for readers that have not yet taken them
KEPT_TICKS = 5000

#: events (haptic_msgs/TickEvent): latched, deep enough for a session of parameter changes
EVENT_DEPTH = 1000

#: periods without a message after which a realtime publisher has missed its deadline, half of the default watchdog. The
#: suite's own readers request none: a requested deadline or liveliness costs a reader 30 to 45 us a message
DEADLINE_PERIODS = 10

#: end of the name of a node that only displays tick topics. Nodes in one process send it the newest message of a topic,
#: up to 60 times a second, instead of one in each tick, while no other process reads the topic
PICTURE_READER = "_pictures"

#: lease after which a silent device counts as gone; the default of DDS is 20 s
STATUS_LEASE = Duration(seconds=2)


def tick_qos(mode: str) -> QoSProfile:
    """Makes the profile of tick topics: in lockstep no message is lost, in realtime no queue builds up."""
    if mode == "lockstep":
        return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_ALL)
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=DEPTH)


def tick_publisher_qos(mode: str, period: float | None = None) -> QoSProfile:
    """Makes `tick_qos` for a publisher; in realtime it keeps `KEPT_TICKS` messages for a recorder that is delayed.

    Args:
        mode: mode of the loop.
        period: control period [s]; in realtime the deadline is `DEADLINE_PERIODS` periods. None: no deadline.
    """
    qos = tick_qos(mode)
    if mode != "lockstep":
        qos.depth = KEPT_TICKS
        if period is not None:
            qos.deadline = Duration(nanoseconds=round(DEADLINE_PERIODS * period * 1e9))
    return qos


def recorder_qos() -> QoSProfile:
    """Makes the profile of the recorder's subscriptions to tick topics, in both modes."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_ALL)


def latched_qos(depth: int = 1) -> QoSProfile:
    """Makes the profile of descriptions and events: a late subscriber gets the last `depth` messages."""
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )


#: longest time that a node waits at its end for readers to acknowledge all messages [s]
ACKNOWLEDGEMENT_TIMEOUT = 5.0


def status_qos() -> QoSProfile:
    """Makes the profile of an experiment's status: latched, with a lease that expires when the device is gone."""
    qos = latched_qos()
    qos.liveliness = LivelinessPolicy.AUTOMATIC
    qos.liveliness_lease_duration = STATUS_LEASE
    return qos


def clock_qos() -> QoSProfile:
    """Makes the profile of /clock: the newest time, as subscribers of ROS's clock request it."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=1)


def display_qos() -> QoSProfile:
    """Makes the profile of topics for displays: diagnostics, joint states, wrenches, markers."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=DEPTH)
