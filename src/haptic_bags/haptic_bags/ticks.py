"""Alignment of the topics of a bag at common ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core.errors import HapticError


class Rows(Mapping[str, Any]):
    """The columns of one topic at chosen ticks: arrays (n, ...), or lists of n where the length varies."""

    def __init__(self, columns: Mapping[str, Any], rows: np.ndarray) -> None:
        self._columns, self._rows = columns, rows
        self._chosen: dict[str, Any] = {}

    @classmethod
    def held(cls, columns: Mapping[str, Any], ticks: np.ndarray) -> Rows:
        """Takes the last message at or before each tick (n,); before the first message that message."""
        rows = np.searchsorted(np.asarray(columns["tick"]).astype(np.int64), ticks, side="right") - 1
        return cls(columns, np.maximum(rows, 0))

    def __getitem__(self, name: str) -> Any:
        if name not in self._chosen:
            values = self._columns[name]
            chosen = values[self._rows] if isinstance(values, np.ndarray) else [values[i] for i in self._rows]
            self._chosen[name] = chosen
        return self._chosen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Ticks(Mapping[str, Rows]):
    """Topics at their n common ticks: ``ticks["device_state"]["tool_pose"]`` has the shape (n, 7).

    In realtime a node may miss a tick, so the ticks need not be contiguous.

    Attributes:
        tick: numbers of the ticks, ascending, shape (n,).
    """

    def __init__(self, tick: np.ndarray, topics: Mapping[str, Rows]) -> None:
        self.tick, self._topics = tick, topics

    @classmethod
    def align(
        cls,
        path: Path,
        topics: Mapping[str, Mapping[str, Any]],
        *,
        least: int = 2,
        shift: Mapping[str, int] | None = None,
        keep: Mapping[str, np.ndarray] | None = None,
    ) -> Ticks:
        """Finds the common ticks; the arguments are those of `haptic_bags.bags.Bag.ticks`.

        Args:
            path: path of the bag, for errors.
            topics: columns by name of the topic.
            least: smallest accepted number of common ticks.
            shift: number of ticks by topic that is added to its ticks.
            keep: mask (bool) by topic of the messages that count.

        Raises:
            HapticError: There are too few common ticks.
        """
        own = {name: np.asarray(t["tick"]).astype(np.int64) + (shift or {}).get(name, 0) for name, t in topics.items()}
        tick = reduce(np.intersect1d, [own[name][(keep or {}).get(name, slice(None))] for name in own])
        if len(tick) < least:
            raise HapticError(f"{path}: too short for a report ({len(tick)} ticks that all topics have)")
        return cls(tick, {name: Rows(topics[name], np.searchsorted(own[name], tick)) for name in topics})

    @property
    def period(self) -> float:
        """Control period T [s], from the device's state."""
        return float(self["device_state"]["period"][0])

    @property
    def time(self) -> np.ndarray:
        """Tick times k T [s], shape (n,)."""
        return np.asarray(self.tick * self.period)

    def __getitem__(self, name: str) -> Rows:
        return self._topics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)
