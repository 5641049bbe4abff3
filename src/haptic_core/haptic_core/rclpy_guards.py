"""Guards of the services and the subscription that rclpy gives a node: what rclpy raises an error for is refused.

Without them one message or request ends the process: an error in a callback ends the executor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from haptic_core.rclpy_parts import RCLError

Answer = Callable[[Any, Any], Any]

_KNOWN_TYPES = frozenset(kind.value for kind in Parameter.Type)


class ClockGuard(Node):
    """A node that ignores times before 0 on /clock."""

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, *arguments: Any, **options: Any) -> Any:
        """Creates a subscription; rclpy calls this for /clock, too, whenever use_sim_time becomes true."""
        if msg_type is Clock:
            callback = _guard_clock(callback)
        return super().create_subscription(msg_type, topic, callback, *arguments, **options)


def _guard_clock(take: Callable[[Any], None]) -> Callable[[Any], None]:
    def taken(message: Any) -> None:
        if message.clock.sec >= 0:
            take(message)

    return taken


def guard_services(node: Node) -> None:
    """Lets a node refuse transitions that its state does not have, and parameters of an unknown type.

    Args:
        node: node with the services; those that are created later are not guarded.
    """
    for service in node.services:
        guard = _GUARDS.get(service.srv_type)
        if guard is not None:
            service.callback = guard(service.callback)


def _guard_transition(change: Answer) -> Answer:
    def answer(request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except RCLError:  # rcl has logged that the state has no such transition
            response.success = False
            return response

    return answer


def _refusals(parameters: list[Any]) -> list[SetParametersResult]:
    """Returns a refusal of each parameter if one of them has an unknown type; empty if none has."""
    unknown = [one for one in parameters if one.value.type not in _KNOWN_TYPES]
    if not unknown:
        return []
    reason = f"parameter {unknown[0].name[:50]}: unknown type {unknown[0].value.type}"
    return [SetParametersResult(successful=False, reason=reason) for _ in parameters]


def _guard_parameters(set_parameters: Answer) -> Answer:
    def answer(request: Any, response: Any) -> Any:
        refusals = _refusals(request.parameters)
        if not refusals:
            return set_parameters(request, response)
        response.results = refusals
        return response

    return answer


def _guard_atomic_parameters(set_parameters: Answer) -> Answer:
    def answer(request: Any, response: Any) -> Any:
        refusals = _refusals(request.parameters)
        if not refusals:
            return set_parameters(request, response)
        response.result = refusals[0]
        return response

    return answer


_GUARDS: dict[type, Callable[[Answer], Answer]] = {
    ChangeState: _guard_transition,
    SetParameters: _guard_parameters,
    SetParametersAtomically: _guard_atomic_parameters,
}
