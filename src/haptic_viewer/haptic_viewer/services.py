"""Calls of the experiment's services: sent once the server is known, answered in the thread of the viewer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from haptic_viewer.parameters import ParameterPanel

#: longest wait for the server of a service [s]
_PATIENCE = 5.0


class Services:
    """Clients of services, by name.

    Args:
        node: node of the clients.
        say: function that shows a line.
    """

    def __init__(self, node: Node, say: Callable[[str], None]) -> None:
        self._node, self._say = node, say
        self._clients: dict[str, Any] = {}
        self._calls: list[tuple[float, Any, Any, Callable[[Any], None]]] = []

    def call(self, kind: Any, name: str, request: Any, done: Callable[[Any], None]) -> None:
        """Calls a service, relative to the namespace; `done` gets the answer, or None if there is no server."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self._node.create_client(kind, name)
        self._calls.append((time.monotonic() + _PATIENCE, client, request, done))
        self.send()

    def send(self) -> None:
        """Sends the queued calls whose servers are known; drops those that have waited too long."""
        waiting, self._calls = self._calls, []
        for end, client, request, done in waiting:
            if client.service_is_ready():
                client.call_async(request).add_done_callback(lambda future, done=done: done(future.result()))
            elif time.monotonic() < end:
                self._calls.append((end, client, request, done))
            else:
                self._say(f"{client.srv_name} is not there")
                done(None)

    def call_in_turn(self, calls: Sequence[tuple[Any, str, Any]]) -> None:
        """Calls services one after the other; a refusal is shown."""
        if not calls:
            return
        (kind, name, request), *rest = calls

        def done(answer: Any) -> None:
            if answer is not None:
                self._say("" if answer.success else answer.message)
            self.call_in_turn(rest)

        self.call(kind, name, request, done)

    def ask_parameters(self, source: str, show: Callable[[Sequence[Any], dict[str, Any]], None]) -> None:
        """Asks a node for its parameters; `show` gets their descriptors, and their values by name."""
        names: list[str] = []

        def listed(answer: Any) -> None:
            if answer is None:
                return
            names.extend(name for name in answer.result.names if not name.startswith(("qos_", "use_sim", "start_type")))
            request = DescribeParameters.Request(names=names)
            self.call(DescribeParameters, f"{source}/describe_parameters", request, described)

        def described(answer: Any) -> None:
            if answer is not None:
                request = GetParameters.Request(names=names)
                self.call(GetParameters, f"{source}/get_parameters", request, partial(got, answer.descriptors))

        def got(descriptors: Sequence[Any], answer: Any) -> None:
            if answer is not None:
                given = [parameter_value_to_python(value) for value in answer.values]
                values = [list(v) if hasattr(v, "tolist") else v for v in given]
                show(descriptors, dict(zip(names, values, strict=True)))

        self.call(ListParameters, f"{source}/list_parameters", ListParameters.Request(), listed)


class QueuedValues:
    """Queue of the parameter values that users have set.

    Args:
        services: services that set the values.
        panels: panels by node, which show refusals.
        say: function that shows the refusal of a node without a panel.
    """

    def __init__(self, services: Services, panels: Mapping[str, ParameterPanel], say: Callable[[str], None]) -> None:
        self._services, self._panels, self._say = services, panels, say
        self._queued: dict[tuple[str, str], Any] = {}
        self._pending: set[tuple[str, str]] = set()

    def queue(self, source: str, name: str, value: Any) -> None:
        """Queues a value; it replaces an earlier one that has not been sent yet."""
        self._queued[source, name] = value

    def send(self) -> None:
        """Sends the values of the parameters without a pending request."""
        for key in [key for key in self._queued if key not in self._pending]:
            (source, name), given = key, self._queued.pop(key)
            panel = self._panels.get(source)
            try:
                value = panel.value_of(name, given) if panel else given
                request = SetParametersAtomically.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
            except (ValueError, TypeError) as error:
                if panel:
                    panel.refuse(name, str(error))
                continue
            except (OverflowError, AssertionError):  # the second is rclpy's, of an integer
                if panel:
                    panel.refuse(name, f"parameter {name}: a number is too large for 64 bits")
                continue
            self._pending.add(key)
            self._services.call(
                SetParametersAtomically,
                f"{source}/set_parameters_atomically",
                request,
                partial(self._answered, key, value),
            )

    def _answered(self, key: tuple[str, str], value: Any, answer: Any) -> None:
        self._pending.discard(key)
        source, name = key
        panel = self._panels.get(source)
        reason = "no answer" if answer is None else "" if answer.result.successful else answer.result.reason
        if panel is None:
            self._say(reason)
        elif key in self._queued:
            return  # the user has set a newer value
        elif reason:
            panel.refuse(name, reason)
        else:
            panel.take(name, value)
