"""Nodes that a publisher has matched: they receive all messages that it publishes afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.publisher import Publisher

from haptic_core.suite_node import SuiteNode
from haptic_files.moved_modules import renamed

#: name under which the suite's recorder appears in the graph
RECORDER = "recorder"

__getattr__ = renamed(__name__, {"PATIENCE": "haptic_core.start.waiting:PATIENCE"})


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
