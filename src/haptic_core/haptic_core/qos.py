"""Every QoS profile of the suite, in one place."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

#: closed set of the loop's modes
MODES = ("lockstep", "realtime")

# haptic_hardware/qos.hpp has the same depths for C++; a test compares the two.
#: messages that readers of tick topics in realtime, and displays, take at most before older ones are dropped
DEPTH = 10

#: ticks that a realtime publisher keeps for readers that have not yet taken them
KEPT_TICKS = 5000

#: events (haptic_msgs/TickEvent): latched, deep enough for a session of parameter changes
EVENT_DEPTH = 1000

#: periods without a message after which a realtime publisher has missed its deadline, half of the default watchdog. The
#: suite's own readers ask for none: a deadline or liveliness that a reader asks for costs it 30 to 45 us a message
DEADLINE_PERIODS = 10

#: end of the name of a node that only makes pictures of tick topics. Nodes in one process send it the newest message
#: of a topic, some ten times a second, instead of one in each tick, while no other process reads the topic
PICTURE_READER = "_pictures"

#: after this time without a sign of life the device is taken for dead; DDS by itself takes 20 s
STATUS_LEASE = Duration(seconds=2)


def tick_qos(mode: str) -> QoSProfile:
    """For topics with one message a tick: nothing may be lost in lockstep, nothing may pile up in realtime."""
    if mode == "lockstep":
        return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_ALL)
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=DEPTH)


def tick_publisher_qos(mode: str, period: float | None = None) -> QoSProfile:
    """As `tick_qos`; in realtime the last `KEPT_TICKS` stay for the recorder, should it be held up for a while.

    Args:
        mode: of the loop.
        period: in realtime a deadline of `DEADLINE_PERIODS` of it is offered [s]; None: no deadline.
    """
    qos = tick_qos(mode)
    if mode != "lockstep":
        qos.depth = KEPT_TICKS
        if period is not None:
            qos.deadline = Duration(nanoseconds=round(DEADLINE_PERIODS * period * 1e9))
    return qos


def recorder_qos() -> QoSProfile:
    """For the recorder's subscriptions of tick topics, in both modes."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_ALL)


def latched_qos(depth: int = 1) -> QoSProfile:
    """For descriptions and events: a late subscriber gets the last `depth` messages."""
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )


#: longest wait at the end of a node until its readers have all messages [s]
ACKNOWLEDGEMENT_TIMEOUT = 5.0


def status_qos() -> QoSProfile:
    """For the status of an experiment: latched, with a lease that tells subscribers when the device is gone."""
    qos = latched_qos()
    qos.liveliness = LivelinessPolicy.AUTOMATIC
    qos.liveliness_lease_duration = STATUS_LEASE
    return qos


def clock_qos() -> QoSProfile:
    """For /clock: the newest time, as subscribers of ROS's clock ask for it."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=1)


def display_qos() -> QoSProfile:
    """For displays: diagnostics, joint states, wrenches, markers."""
    return QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=DEPTH)
