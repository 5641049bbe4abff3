"""Start of a loop: tick 0 is published when all sources are active, and they and the recorder are matched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from haptic_core.commands import check_modes, state_of
from haptic_core.errors import HapticError, InputError
from haptic_core.qos import EVENT_DEPTH, latched_qos
from haptic_core.start.matching import RECORDER, unmatched, unrecorded
from haptic_core.start.waiting import Wait
from haptic_core.suite_node import SuiteNode
from haptic_msgs.msg import TickEvent


class StartHandshake:
    """Decides when the clock of a loop, a device or a player, may publish its first tick.

    The node's parameters `sources` and `recorded` name the nodes that it waits for, `activation_timeout` the longest
    wait. Another run in the same ROS domain has sources of the same names. Therefore events count only while their
    publisher exists: when one has ended, the handshake subscribes anew and receives the latched events of the others.

    Args:
        node: node of the clock.
        announced: function to call with the name of a source that has become active.

    Attributes:
        states: parsed last event of kind "state" of each source that has announced itself.
    """

    _events: Subscription

    def __init__(self, node: SuiteNode, announced: Callable[[str], object] = lambda _: None) -> None:
        self._node, self._announced = node, announced
        self.states: dict[str, dict[str, Any]] = {}
        self._wait: Wait | None = None
        self._error = ""
        self._subscribe()

    def _subscribe(self) -> None:
        """Subscribes to the events, of which the latched ones of all present publishers come."""
        self.states.clear()
        self._publishers: set[bytes] = set()
        self._events = self._node.create_subscription(
            TickEvent, "tick_event", self.take_event, latched_qos(EVENT_DEPTH)
        )

    def _subscribe_anew(self) -> None:
        self._node.destroy_subscription(self._events)
        self._subscribe()

    def _forget_ended_publishers(self) -> None:
        node, topic = self._node, self._events.topic_name
        inactive = any(state.get("state") == "inactive" for state in self.states.values())
        if not inactive and node.count_publishers(topic) == len(self._publishers):
            return  # the next call takes up to 1 ms
        found = node.get_publishers_info_by_topic(topic)
        present = {bytes(info.endpoint_gid) for info in found}
        if self._publishers - present:
            self._subscribe_anew()
        self._publishers = present

    def take_event(self, event: TickEvent) -> None:
        """Receives an event; a source announces itself by an event of kind "state"."""
        if event.kind == TickEvent.KIND_STATE and event.source in self._node.parameters["sources"]:
            try:
                state = self.states[event.source] = state_of(event)
            except InputError as error:
                self._node.reject(error.kind, str(error))
                return
            if state.get("state") == "active":
                self._announced(event.source)

    def begin(
        self,
        publishers: Sequence[Publisher],
        *,
        before: Callable[[], str] = lambda: "",
        also: Callable[[], Iterable[str]] = lambda: (),
    ) -> None:
        """Begins to wait, when the node is activated.

        Args:
            publishers: publishers of the clock's tick topics; all sources subscribe to the first one.
            before: function that returns a condition to wait for before the sources are looked at; empty: none. It may
                raise HapticError, which `is_complete` raises then.
            also: function that returns further missing items once sources and recorder are matched.
        """
        self.cancel()
        self._error = ""
        self._subscribe_anew()

        def missing() -> str:
            self._forget_ended_publishers()
            return before() or ", ".join(dict.fromkeys(self._missing(publishers) or also()))

        timeout = self._node.parameters["activation_timeout"]
        self._wait = Wait(self._node, missing, timeout=timeout, subject="all sources", expired=self._set_error)

    def _set_error(self, line: str) -> None:
        self._error = line

    def _missing(self, publishers: Sequence[Publisher]) -> list[str]:
        node, sources = self._node, self._node.parameters["sources"]
        names = [f"source {name}" for name in sources if self.states.get(name, {}).get("state") != "active"]
        if names:
            return names
        if not node.parameters["recorded"]:
            return unmatched(node, publishers[0], sources)
        through = node.transport.recorded_publishers(publishers)
        subscribers = [*sources, RECORDER] if publishers[0] in through else sources
        unmatched_sources = [name for name in unmatched(node, publishers[0], subscribers) if name != RECORDER]
        return [*unmatched_sources, *unrecorded(node, publishers)]

    def is_complete(self) -> bool:
        """Returns whether all conditions of the start have been met.

        Raises:
            HapticError: the time is up, and the message names what is missing, or `before` has raised it.
        """
        if self._error:
            raise HapticError(self._error)
        return self._wait is not None and self._wait.done

    def check_modes(self, kind: str) -> None:
        """Raises CommandConflictError if a device of this kind cannot combine the modes of the sources."""
        check_modes({name: state["mode"] for name, state in self.states.items() if "mode" in state}, kind)

    def cancel(self) -> None:
        """Ends the wait, when the node is deactivated."""
        if self._wait is not None:
            self._wait.cancel()
        self._wait = None

    def destroy(self) -> None:
        """Ends the subscription, when the node is cleaned up."""
        self.cancel()
        self._node.destroy_subscription(self._events)
