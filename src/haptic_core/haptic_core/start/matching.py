"""Nodes that a publisher has matched: they receive all messages that it publishes afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rclpy.publisher import Publisher

from haptic_core.errors import HapticError
from haptic_core.suite_node import SuiteNode

#: name under which the suite's recorder appears in the graph
RECORDER = "recorder"

_POLL = 0.01

#: after this time a wait is logged [s]
PATIENCE = 10.0


def subscribers(node: SuiteNode, publisher: Publisher) -> set[str]:
    """Returns the names of the nodes whose subscriptions the publisher has matched, according to the ROS graph."""
    if not publisher.get_subscription_count():
        return set()
    return {info.node_name for info in node.get_subscriptions_info_by_topic(publisher.topic_name)}


def unmatched(node: SuiteNode, publisher: Publisher, names: Sequence[str]) -> list[str]:
    """Returns the named nodes that do not yet receive the publisher's messages."""
    others = set(names) - set(node.transport.local_subscribers(publisher.topic_name))
    missing = sorted(others - subscribers(node, publisher)) if others else []
    if not missing and publisher.get_subscription_count() < len(others):
        return sorted(others)  # the graph has them, the writer does not yet
    return missing


def unrecorded(node: SuiteNode, publishers: Sequence[Publisher]) -> list[str]:
    """Returns "recorder of <topic>" for each tick publisher that the recorder, or its bundle, has not yet matched."""
    through = node.transport.recorded_publishers(publishers)
    return [f"{RECORDER} of {one.topic_name}" for one in through if unmatched(node, one, [RECORDER])]


def wait_for(
    condition: Callable[[], str],
    timeout: float,
    what: str,
    alive: Callable[[], bool] = lambda: True,
    tell: Callable[[str], object] = lambda line: None,
) -> None:
    """Waits until nothing is missing, in programs without an executor (nodes use `haptic_core.start.waiting.Wait`).

    Args:
        condition: function that returns the missing items; empty if there is none.
        timeout: longest wait [s], on a steady clock.
        what: subject of the wait, for the error.
        alive: function that returns false to end the wait early, without error.
        tell: function to call once, after `PATIENCE`, with a line that names the missing items.

    Raises:
        HapticError: the time is up; the message names the missing items.
    """
    start = time.monotonic()
    reported = False
    while alive():
        missing = condition()
        if not missing:
            return
        waited = time.monotonic() - start
        if waited > timeout:
            raise HapticError(f"waited {timeout:g} s for {what}; still missing: {missing}")
        if waited > PATIENCE and not reported:
            reported = True
            tell(f"waiting for {what}; still missing: {missing} (the first time code is compiled)")
        time.sleep(_POLL)
