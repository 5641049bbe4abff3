"""What a report is made of: claims with verdicts, tables, numbers and a figure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what this run measured.

    Attributes:
        text: the paper's claim.
        measured: the measured numbers in words.
        shown: True or False; None where the run does not reach it.
    """

    text: str
    measured: str
    shown: bool | None

    @property
    def verdict(self) -> str:
        """The answer in words."""
        return {True: "shown", False: "NOT shown", None: "not reached in this run"}[self.shown]


@dataclass
class Report:
    """What an experiment's report module returns.

    Attributes:
        metrics: numbers of the runs, for metrics.json.
        claims: with verdicts.
        draw: draws the figure; only called when the figure is needed, since that takes longer than the numbers.
        caption: of the figure.
        parameters: by node, for the page.
    """

    metrics: dict[str, Any]
    claims: list[Claim]
    draw: Callable[[], Figure]
    caption: str
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)

    @functools.cached_property
    def figure(self) -> Figure:
        """The figure of the run."""
        return self.draw()


@dataclass
class ResultTable:
    """A table of a report."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
