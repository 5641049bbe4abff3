"""What the reports of scripted experiments share: the signals of `comparison_node` or `network_node` as arrays.

Their devices play a script in the namespace `script`. A column is a model of the comparison, or a contact of the
network, in the order of the node's parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag

NAMESPACE = "/script"
#: a model that diverges is followed up to here
HUGE = 1e100

#: lines for the lowest, middle and highest stiffness in Figs. 13 and 14
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "0.65", "linestyle": "-", "linewidth": 2.5},
    {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.2},
    {"color": "black", "linestyle": "-", "linewidth": 1.0},
)


@dataclass(frozen=True)
class ScriptedRun:
    """The signals of one bag on common ticks, along the node's axis.

    Attributes:
        period: T [s].
        tick: Numbers of the ticks (n,); a run that missed none has 0 to n - 1.
        input_velocity: Velocity of the tool, from the script (n,) [m/s].
        input_force: Force on the tool, from the script (n,) [N].
        models: Name of each column's model.
        velocity: Velocities (n, columns) [m/s], of an element of the network the relative one; bounded by HUGE, as the
            next two.
        force: Forces (n, columns) [N]; of a compliance with mass (B, A in an impedance) the force h of the spring.
        displacement: Elastic displacement e (n, columns) [m].
        sticking: Flags (n, columns).
        parameters: Parameters of the node.
        device: Parameters of the device.
    """

    period: float
    tick: np.ndarray
    input_velocity: np.ndarray
    input_force: np.ndarray
    models: list[str]
    velocity: np.ndarray
    force: np.ndarray
    displacement: np.ndarray
    sticking: np.ndarray
    parameters: dict[str, Any]
    device: dict[str, Any]

    @classmethod
    def from_bag(cls, bag: Bag, node: str = "comparison") -> ScriptedRun:
        """Takes the ticks that both topics have; in realtime the node may have missed some.

        Args:
            bag: Bag of a run with a scripted device.
            node: Name of the node, also the first part of its state's topic.

        Raises:
            HapticError: Fewer than two common ticks.
        """
        ticks = bag.ticks(NAMESPACE, "device_state", f"{node}/state")
        device, state, parameters = ticks["device_state"], ticks[f"{node}/state"], bag.parameters(node)
        axis, force = "xyz".index(parameters["axis"]), _bounded(state["force"])
        return cls(
            period=ticks.period,
            tick=ticks.tick,
            input_velocity=device["tool_twist"][:, axis],
            input_force=device["tool_wrench"][:, axis],
            models=list(parameters.get("models", [parameters.get("model")] * force.shape[1])),
            velocity=_bounded(state["velocity"]),
            force=force,
            displacement=_bounded(state["elastic_displacement"]),
            sticking=state["sticking"].astype(bool),
            parameters=parameters,
            device=bag.parameters("device"),
        )

    @property
    def time(self) -> np.ndarray:
        """Tick times [s], (n,): the input of tick k is the script's value at k T."""
        return self.tick * self.period

    @property
    def is_complete(self) -> bool:
        """No tick was missed."""
        return bool((self.tick == np.arange(len(self.tick))).all())

    @property
    def labels(self) -> list[str]:
        """Each column's model, with a number from the second of the same on: keys of the metrics."""
        counts = [self.models[: place + 1].count(model) for place, model in enumerate(self.models)]
        return [model if n == 1 else f"{model}_{n}" for model, n in zip(self.models, counts, strict=True)]

    def column(self, model: str) -> int | None:
        """The first column of a model; None if the run does not have it."""
        return self.models.index(model) if model in self.models else None

    def number(self, name: str, column: int = 0) -> float:
        """A parameter of one column, which has one number for all columns or one for each."""
        values = self.parameters[name]
        if not isinstance(values, (list, tuple)):
            return float(values)
        return float(values[column if len(values) > 1 else 0])

    def element(self, column: int) -> dict[str, float]:
        """Period [s], stiffness [N/m], damping [N s/m] and mass [kg] of one column."""
        return {"period": self.period} | {name: self.number(name, column) for name in ("stiffness", "damping", "mass")}


def measured_by_period(
    bags: dict[str, Bag], measure: Callable[[ScriptedRun, int], dict[str, Any]]
) -> tuple[dict[str, ScriptedRun], dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Runs, shortest period first, and what `measure` says of each of their columns.

    Args:
        bags: Bags of a comparison.
        measure: Makes the numbers of one column of a run.

    Returns:
        Runs by the name of their bag, the numbers by bag and label, and the same as one list with the model's name.
    """
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    runs = dict(sorted(runs.items(), key=lambda item: item[1].period))
    metrics = {name: {label: measure(run, i) for i, label in enumerate(run.labels)} for name, run in runs.items()}
    entries = [
        {**numbers, "model": model}
        for run, of_run in zip(runs.values(), metrics.values(), strict=True)
        for model, numbers in zip(run.models, of_run.values(), strict=True)
    ]
    return runs, metrics, entries


def _bounded(values: np.ndarray) -> np.ndarray:
    """The values within plus and minus HUGE; what is not a number counts as HUGE."""
    return np.clip(np.nan_to_num(values, nan=HUGE), -HUGE, HUGE)


def stiffness_style(place: int) -> dict[str, Any]:
    """Line of the stiffness at a place in rising order: grey, dashed and black as in the paper, then colours below."""
    style = STYLES[place] if place < len(STYLES) else {"color": f"C{place - len(STYLES)}", "linewidth": 2.5}
    return {**style, "zorder": 3.0 - 0.1 * place}


def power_of_ten(value: float) -> str:
    """A large number the way the paper writes it, 8.3 × 10⁴."""
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(mantissa):g} × 10{digits}"


def named(entry: dict[str, Any]) -> str:
    """Which of a comparison's cases an entry is, in words."""
    return f"K = {power_of_ten(entry['stiffness'])} N/m, T = {1e3 * entry['period']:g} ms"


def pairs_of_periods(
    entries: list[dict[str, Any]], short: Callable[[dict[str, Any]], bool], long: Callable[[dict[str, Any]], bool]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Cases of one stiffness of which the first meets one condition and the second another."""
    return [(a, b) for a in entries for b in entries if a["stiffness"] == b["stiffness"] and short(a) and long(b)]


def figure_beside_alternative(
    runs: dict[str, ScriptedRun],
    original: str,
    alternative: str,
    draw: Callable[[Axes, ScriptedRun, list[int]], None],
    *,
    figure_part: str,
    height: float,
) -> Figure:
    """A figure with a row for each run: left the columns of a model, right those of its alternative.

    Args:
        runs: Runs of a comparison.
        original: Name of the model.
        alternative: Name of the alternative's model.
        draw: Draws some columns of a run.
        figure_part: Letter of the alternative in Fig. 12 of the paper.
        height: Height of a row [inch].
    """
    figure = Figure(figsize=(11, height * len(runs)), layout="constrained")
    for row, run in zip(figure.subplots(len(runs), 2, squeeze=False), runs.values(), strict=True):
        left, right = ([i for i, model in enumerate(run.models) if (model == original) is own] for own in (True, False))
        is_paper = {run.models[i] for i in right} <= {alternative}
        other = f"alternative, Fig. 12({figure_part})" if is_paper else "other models"
        for axes, columns, name in ((row[0], left, f"model {original}"), (row[1], right, other)):
            draw(axes, run, columns)
            axes.set_title(f"{name}; T = {1e3 * run.period:g} ms")
            if not columns:
                axes.text(0.5, 0.5, "not in this run", ha="center", transform=axes.transAxes)
    return figure
