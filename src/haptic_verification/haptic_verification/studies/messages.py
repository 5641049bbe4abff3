"""The study of bad messages at the inputs of every node (`haptic_verification.fuzz.messages`)."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task


class MessagesSettings(BaseModel):
    """Number and seed of the messages, and the nodes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    messages: int = Field(default=100_000, ge=100, le=10**8, description="messages to each node [-]")
    seed: int = Field(default=0, ge=0, description="of the messages [-]")
    nodes: tuple[str, ...] = Field(default=(), description="parts of names of nodes; none: all of them")


@dataclass(frozen=True)
class Messages:
    """The messages to one node."""

    node: str
    messages: int
    seed: int

    def run(self) -> dict[str, np.ndarray]:
        """Returns the counts by port, kind and outcome; `found` describes the first requirement that is not met."""
        import rclpy  # a worker that computes something else needs no ROS

        from haptic_verification.fuzz.messages import Barrage, FoundError
        from haptic_verification.fuzz.subjects import make_subject

        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"  # no message leaves the process
        np.seterr(all="ignore")
        context = rclpy.Context()
        rclpy.init(context=context)
        found, start = "", time.monotonic()
        try:
            subject = make_subject(self.node, context)
            barrage = Barrage(subject)
            try:
                barrage.run(self.messages, self.seed)
            except FoundError as error:
                found = str(error)
            subject.close()
        finally:
            rclpy.shutdown(context=context)
        rows = [
            (port, kind, outcome, count)
            for (port, kind), counts in sorted(barrage.counts.items())
            for outcome, count in sorted(counts.items())
        ]
        return {
            "words": np.array([row[:3] for row in rows]),
            "counts": np.array([row[3] for row in rows]),
            "sent": np.array(barrage.sent),
            "rejected": np.array(sorted(f"{name}: {count}" for name, count in subject.rejections.items())),
            "found": np.array(found),
            "seconds": np.array(time.monotonic() - start),
        }


def tasks(settings: MessagesSettings) -> Mapping[str, Task]:
    """Creates a task for each node."""
    from haptic_verification.fuzz.subjects import SUBJECTS

    names = [name for name in SUBJECTS if not settings.nodes or any(part in name for part in settings.nodes)]
    if not names:
        raise ValueError(f"argument nodes: expected parts of {'; '.join(SUBJECTS)}, got {', '.join(settings.nodes)}")
    return {
        name.replace(", ", "-").replace(" ", "_"): Messages(name, settings.messages, settings.seed) for name in names
    }


def report(settings: MessagesSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the counts by node, and by kind of message."""
    by_node, by_kind, metrics, found = [], [], {}, []
    for name, result in results.items():
        kinds: dict[str, Counter[str]] = {}
        for (_, kind, outcome), count in zip(result["words"].tolist(), result["counts"].tolist(), strict=True):
            kinds.setdefault(kind, Counter())[outcome] += count
        rejected = dict(entry.rsplit(": ", 1) for entry in result["rejected"].tolist())
        total, sent = sum(map(int, rejected.values())), int(result["sent"])
        reasons = ", ".join(f"{kind} {count}" for kind, count in rejected.items())
        by_node.append((name, str(sent), str(total), "0" if not str(result["found"]) else "1", reasons))
        for kind, outcomes in sorted(kinds.items()):
            refused = {what.removeprefix("refused: "): n for what, n in outcomes.items() if what.startswith("refused")}
            words = ", ".join(f"{what} {n}" for what, n in sorted(refused.items()))
            by_kind.append((name, kind, str(outcomes["sent"]), str(outcomes["answered"]), words))
        metrics[name] = {
            "sent": sent,
            "rejected": {k: int(v) for k, v in rejected.items()},
            "found": str(result["found"]),
        }
        if str(result["found"]):
            found.append(str(result["found"]))
    sent = sum(int(result["sent"]) for result in results.values())
    claims = [
        Claim(
            "no message ends a node, nothing that it publishes is not finite, and it answers the good ones",
            f"{sent} messages to {len(results)} nodes; " + ("; ".join(found) or "nothing found"),
            not found,
        )
    ]
    tables = [
        ResultTable("By node", ("node", "messages", "refused", "found", "refused for"), by_node),
        ResultTable("By what was done to them", ("node", "kind", "messages", "answers", "refused for"), by_kind),
    ]
    timings = {name: round(float(result["seconds"]), 1) for name, result in results.items()}
    return StudyReport({"nodes": metrics}, claims, {}, tables, timings)


STUDY = Study(
    title="Bad messages at every node",
    paper="none: what the suite promises of its inputs",
    summary="Malformed, late, twice, reordered, far ahead, not finite, too large, of wrong length or value: to all "
    "inputs of every node in its own process, without DDS. Good messages in between must be answered.",
    settings=MessagesSettings,
    tasks=tasks,
    report=report,
)
