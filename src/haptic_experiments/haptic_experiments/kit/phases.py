"""Runs with a simulated hand: the parts of a run that the hand's plan names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks


@dataclass(frozen=True)
class PhasedRun:
    """A run whose rows are ticks and whose hand followed a plan."""

    period: float  #: T [s]
    time: np.ndarray  #: times of the ticks (n,) [s]
    phases: list[dict[str, Any]]  #: phases of the hand's plan, each with name, kind, start and end [s]

    def part(self, start: float, end: float) -> slice:
        """Returns the samples between two times [s]."""
        first, last = np.searchsorted(self.time, np.array((start, end)) - 0.5 * self.period)
        return slice(int(first), int(last))

    def reached(self) -> list[dict[str, Any]]:
        """Returns the phases that begin within the run."""
        return [phase for phase in self.phases if phase["start"] < self.time[-1]]

    def settled_rests(self, settling: float, shortest: float) -> list[tuple[dict[str, Any], slice]]:
        """Returns the rests of the hand, and their samples without the beginning.

        Args:
            settling: length of the beginning [s].
            shortest: shortest remaining length [s].
        """
        found = []
        for phase in self.phases:
            start, end = phase["start"] + settling, min(phase["end"], self.time[-1])
            if phase["kind"] == "rest" and end - start >= shortest:
                found.append((phase, self.part(start, end)))
        return found

    def during(self, kind: str) -> np.ndarray:
        """Marks the samples (n,) in phases of a kind."""
        return self._within([phase for phase in self.phases if phase["kind"] == kind])

    def named(self, *beginnings: str) -> np.ndarray:
        """Marks the samples (n,) in phases whose names begin with one of the given texts."""
        return self._within([phase for phase in self.phases if phase["name"].startswith(beginnings)])

    def completed(self, *beginnings: str) -> np.ndarray | None:
        """Marks the samples as `named` does; returns None if there are none or the run ends in such a phase."""
        flags = self.named(*beginnings)
        return flags if flags.any() and not flags[-1] else None

    def _within(self, phases: list[dict[str, Any]]) -> np.ndarray:
        flags = np.zeros(len(self.time), dtype=bool)
        for phase in phases:
            flags[self.part(phase["start"], phase["end"])] = True
        return flags


def phased(ticks: Ticks, bag: Bag) -> dict[str, Any]:
    """Returns the fields of `PhasedRun` by name, from common ticks and the phases that the device reported."""
    return {"period": ticks.period, "time": ticks.time, "phases": bag.started("device").get("phases", [])}
