"""One status for an experiment, from the diagnostics of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from haptic_core.qos import display_qos, status_qos
from haptic_core.start.matching import RECORDER

#: summaries during which a node may be silent; all nodes report at the same rate
PATIENCE = 3

_LEVELS = (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE)
#: begin of the keys with numbers of rejected inputs
_REJECTED = "rejected: "


class ExperimentStatus:
    """The newest diagnostics of the nodes of one experiment.

    Args:
        name: name of the experiment: the device's namespace.
        device: fully qualified name of the device's node, without the leading slash.
        others: fully qualified names of the other expected nodes.
    """

    def __init__(self, name: str, device: str, others: Sequence[str]) -> None:
        self._name, self._device = name, device
        self._newest: dict[str, DiagnosticStatus] = {}
        self._silent = dict.fromkeys((device, *others), 0)

    def take(self, status: DiagnosticStatus) -> None:
        """Stores the diagnostics of a node; those of unexpected nodes, and malformed ones, are ignored."""
        if status.name in self._silent and _is_well_formed(status):
            self._newest[status.name] = status
            self._silent[status.name] = 0

    def ended(self, why: str) -> DiagnosticStatus:
        """Makes the status of an experiment that has ended, with the reason as its message."""
        return DiagnosticStatus(level=DiagnosticStatus.STALE, name=self._name, hardware_id=self._name, message=why)

    def summary(self) -> DiagnosticStatus:
        """Makes a status with the worst level and the messages of all nodes that are not OK, worst first.

        Its values are `missed ticks` and `safe state` of the device, `rejections` of all nodes, and the message of each
        node.
        """
        found: list[tuple[int, str]] = []
        lines: dict[str, str] = {}
        for name in self._silent:
            status, self._silent[name] = self._newest.get(name), self._silent[name] + 1
            level, text = (status.level[0], status.message) if status is not None else (0, "not heard of yet")
            if self._silent[name] > PATIENCE:
                level, text = max(level, 2), "silent: it does not report any more"
            short = name.rpartition("/")[2]
            lines[short] = text
            if level:
                found.append((level, f"{short}: {text}"))
        found.sort(key=lambda one: -one[0])
        device = _values(self._newest.get(self._device))
        rejections = sum(
            int(value)
            for status in self._newest.values()
            for key, value in _values(status).items()
            if key.startswith(_REJECTED)
        )
        values = {
            "missed ticks": device.get("missed ticks", "0"),
            "rejections": str(rejections),
            "safe state": device.get("safe state", ""),
            **lines,
        }
        return DiagnosticStatus(
            level=_LEVELS[found[0][0] if found else 0],
            name=self._name,
            hardware_id=self._name,
            message="; ".join(text for _, text in found) or "ok",
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )


class StatusTopic:
    """The topic `status` in a node's namespace: one status of an experiment, from the diagnostics of its nodes.

    Args:
        node: node that publishes the topic, whenever the device reports.
        device: name of the device's node; if it is `node` itself, `node` calls `report`.
        sources: names of the nodes that must answer the device.
        recorded: whether there is a recorder, which reports, too.
    """

    def __init__(self, node: Node, device: str, sources: Sequence[str], *, recorded: bool) -> None:
        namespace = node.get_namespace().strip("/")
        names = [f"{namespace}/{name}".lstrip("/") for name in (device, *sources)]
        self._node = node
        self._device = names[0]
        self._own = node.get_name() == device
        self._status = ExperimentStatus(namespace, names[0], [*names[1:], *([RECORDER] if recorded else [])])
        self._publisher = node.create_publisher(DiagnosticStatus, "status", status_qos())
        self._nodes = node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, display_qos())

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._device and not self._own:
                self.report(status)
            else:
                self._status.take(status)

    def report(self, status: DiagnosticStatus) -> None:
        """Stores the diagnostics of the device, and publishes the status of the experiment."""
        self._status.take(status)
        self._publisher.publish(self._status.summary())

    def end(self, why: str) -> None:
        """Publishes that the experiment has ended."""
        self._publisher.publish(self._status.ended(why))

    def destroy(self) -> None:
        """Destroys publisher and subscription."""
        self._node.destroy_subscription(self._nodes)
        self._node.destroy_publisher(self._publisher)


def _is_well_formed(status: DiagnosticStatus) -> bool:
    """Returns whether the level is a known one, and every number of rejected inputs a number of at most 64 bits."""
    counts = [entry.value for entry in status.values if entry.key.startswith(_REJECTED)]
    return status.level in _LEVELS and all(count.isdecimal() and len(count) <= 20 for count in counts)


def _values(status: DiagnosticStatus | None) -> dict[str, str]:
    return {entry.key: entry.value for entry in status.values} if status is not None else {}
