"""Several nodes of the suite in one process, on one executor: `composed_nodes`.

The parameter `nodes` lists them, `name=package/executable`, in the order in which they start; a parameter `name.p` of
this process is the parameter p of that node. Names, topics, services and lifecycle are the same as those of nodes in
separate processes; all nodes have the namespace of this process. The process has no other nodes after the start.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core import process
from haptic_core.errors import HapticError, ParameterError
from haptic_core.qos import tick_publisher_qos
from haptic_core.suite_node import SuiteNode, given_parameters
from haptic_core.transport.local_topics import LocalTopics
from haptic_msgs.msg import TickBundle


def node_class(executable: str) -> type[SuiteNode]:
    """Returns the node class of an installed executable: the only node class that its module defines.

    Args:
        executable: "package/executable".

    Raises:
        ParameterError: there is no such executable, or its node cannot share a process.
    """
    package, _, name = executable.partition("/")
    found = {
        entry.module
        for entry in entry_points(group="console_scripts", name=name)
        if entry.module.partition(".")[0] == package
    }
    if not found:
        raise ParameterError(f"parameter nodes: expected package/executable of an installed node, got {executable!r}")
    module = import_module(found.pop())
    classes = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, SuiteNode)
        and kind.__module__ == module.__name__
        and not inspect.isabstract(kind)
    ]
    if len(classes) != 1:
        raise ParameterError(f"parameter nodes: {executable} cannot share a process")
    return classes[0]


def split(given: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Splits the parameters of the process into executable and parameters of each node, by the node's name.

    Raises:
        ParameterError: `nodes` is missing or malformed, or a parameter belongs to none of these nodes.
    """
    entries = given.get("nodes")
    if not isinstance(entries, list) or not entries:
        raise ParameterError(f"parameter nodes: expected a list of name=package/executable, got {entries!r}")
    nodes: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in entries:
        name, separator, executable = str(entry).partition("=")
        if not separator or name in nodes:
            raise ParameterError(f"parameter nodes: expected name=package/executable, each name once, got {entry!r}")
        nodes[name] = (executable, {})
    for name, value in given.items():
        node, _, parameter = name.partition(".")
        if name == "nodes":
            continue
        if node not in nodes or not parameter:
            raise ParameterError(f"parameter {name}: expected the name of one of {', '.join(nodes)} before a dot")
        nodes[node][1][parameter] = value
    return nodes


def make_nodes() -> list[SuiteNode]:
    """Makes and configures the nodes that the parameters of this process list.

    All are configured before the first is activated, because activation waits for the others' subscriptions.
    """
    asked = Node("composed_nodes", automatically_declare_parameters_from_overrides=True, start_parameter_services=False)
    namespace, given = asked.get_namespace(), given_parameters(asked)
    asked.destroy_node()
    nodes, asked_for = [], split(given)
    modes = {values.get("mode", "lockstep") for _, values in asked_for.values()}
    topics = LocalTopics(asked_for, newest="realtime" in modes)
    for name, (executable, values) in asked_for.items():
        make: Any = node_class(executable)
        options = {
            "transport": topics,
            "use_global_arguments": False,
            "cli_args": ["--ros-args", "-r", f"__node:={name}", "-r", f"__ns:={namespace}"],
            "parameter_overrides": [Parameter(key, value=value) for key, value in values.items()],
        }
        try:
            nodes.append(make(**options))
        except (HapticError, ValueError) as error:
            raise HapticError(f"{name}: {error}") from None
    first = nodes[0]
    topics.bundle = first.create_publisher(TickBundle, "tick_bundle", tick_publisher_qos(first.parameters["mode"]))
    topics.names_of = lambda topic: [info.node_name for info in first.get_subscriptions_info_by_topic(topic)]
    for node in nodes:
        node.prepare()
    return nodes


def main() -> None:
    """Runs the executable composed_nodes."""
    process.main(make_nodes)
