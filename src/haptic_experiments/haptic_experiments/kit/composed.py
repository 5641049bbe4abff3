"""Reports of several rendering nodes on one device: latencies, step times and the graph of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_experiments.kit.figures import Panel
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.results import Claims, Report
from haptic_launch.experiments import load_experiment

if TYPE_CHECKING:
    from haptic_bags.bags import Bag


_T = TypeVar("_T")
_Numbers = TypeVar("_Numbers", bound="ComposedNumbers")


@dataclass(frozen=True)
class SplitAndImplicit(Generic[_T]):
    """A number of the nodes, which step in turn, and of one implicit step; in the unit that its field documents."""

    split: _T
    implicit: _T


@dataclass(frozen=True)
class RunAndImplicit(Generic[_T]):
    """A number of a run, and of one implicit step; in the unit that its field documents."""

    run: _T
    implicit: _T


@dataclass(frozen=True)
class ComposedNumbers:
    """Numbers of every run of several rendering nodes."""

    #: median and 99th percentile of the time from publishing to receiving, by edge [s]
    latency_p50_p99: dict[str, tuple[float, float]]
    step_time: SplitAndImplicit[Any]  #: median time of a tick in the single-process reference [s]


def latency_metrics(bag: Bag) -> dict[str, tuple[float, float]]:
    """Computes median and 99th percentile of the time from publishing to receiving [s], by "source -> target"."""
    return {f"{source} -> {target}": seconds for (source, target), seconds in latencies(bag).items()}


def variation(signal: np.ndarray, part: np.ndarray | slice = slice(None)) -> float:
    """Computes the standard deviation of a signal's (n, k) change from tick to tick, of the worst component.

    Args:
        signal: signal in any unit, which is that of the result.
        part: ticks that count; the result is 0 for fewer than three.
    """
    chosen = signal[part]
    return float(np.diff(chosen, axis=0).std(axis=0).max()) if len(chosen) > 2 else 0.0


def composed_report(
    bags: Mapping[str, Bag],
    measure: Callable[[Bag], tuple[_Numbers, _T]],
    claim: Callable[[Claims, str, _Numbers, _T, Bag], None],
    figure: Callable[[dict[str, _T], Bag], Figure],
    caption: str,
    sources: Sequence[str],
) -> Report:
    """Makes the report of runs of several rendering nodes.

    Args:
        bags: bags of the runs, by name.
        measure: measures a run; returns its numbers and its signals.
        claim: adds the claims on a run of a name, with its numbers and signals.
        figure: draws the signals of all runs by name, and the nodes of the first run.
        caption: caption of the figure.
        sources: names of the nodes whose parameters are shown.
    """
    numbers: dict[str, _Numbers] = {}
    signals: dict[str, _T] = {}
    claims = Claims()
    for name, bag in bags.items():
        numbers[name], signals[name] = measure(bag)
        claim(claims, name, numbers[name], signals[name], bag)
    first = next(iter(bags.values()))
    parameters = {source: first.parameters(source) for source in sources}
    return Report({"runs": numbers}, claims, lambda: figure(signals, first), caption, parameters)


@dataclass(frozen=True)
class GraphPanel(Panel):
    """Nodes of an experiment with the measured latencies between them."""

    bag: Bag | None = None  #: bag of the run

    @classmethod
    def of(cls, bag: Bag) -> GraphPanel:
        """Makes the panel of a run."""
        return cls("", (), bag=bag)

    def draw(self, axes: Axes) -> None:
        assert self.bag is not None
        draw(axes, load_experiment(self.bag.custom["experiment"]).graph, latencies(self.bag))
