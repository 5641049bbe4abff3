"""Arrays of runs of scripted experiments: the signals of `comparison_node` or `network_node`.

Their devices play a script in the namespace `script`. A column is a model of the comparison, or a contact of the
network, in the order of the node's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.results import HIDDEN, MERGED, Claims, Report

NAMESPACE = "/script"
HUGE = 1e100  #: bound of the signals of a model that diverges

#: lines for the lowest, middle and highest stiffness in Figs. 13 and 14
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "0.65", "linestyle": "-", "linewidth": 2.5},
    {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.2},
    {"color": "black", "linestyle": "-", "linewidth": 1.0},
)


@dataclass(frozen=True)
class Element:
    """Parameters of one column."""

    model: str = field(metadata=HIDDEN)  #: name of the model
    period: float  #: T [s]
    stiffness: float  #: K [N/m]
    damping: float  #: B [N s/m]
    mass: float  #: M [kg]

    @property
    def ratio(self) -> float:
        """T^2 K/M."""
        return self.period * self.period * self.stiffness / self.mass

    @property
    def words(self) -> str:
        """Stiffness and period in words."""
        return f"K = {power_of_ten(self.stiffness)} N/m, T = {1e3 * self.period:g} ms"


@dataclass(frozen=True)
class Case:
    """Numbers of a column for claims."""

    element: Element = field(metadata=HIDDEN)  #: parameters


@dataclass(frozen=True)
class ColumnNumbers:
    """Numbers of a column."""

    element: Element = field(metadata=MERGED)  #: parameters
    case: Any = field(metadata=MERGED)  #: numbers for claims; None if the column has none


_Case = TypeVar("_Case", bound=Case)


@dataclass(frozen=True)
class ScriptedRun:
    """The signals of one bag on common ticks, along the node's axis."""

    period: float  #: T [s]
    tick: np.ndarray  #: numbers of the ticks (n,); a run that missed none has 0 to n - 1
    input_velocity: np.ndarray  #: velocity of the tool, from the script (n,) [m/s]
    input_force: np.ndarray  #: force on the tool, from the script (n,) [N]
    models: list[str]  #: name of each column's model
    #: velocities (n, columns) [m/s], of an element of the network the relative one; bounded by HUGE, as the next two
    velocity: np.ndarray
    #: forces (n, columns) [N]; of a compliance with mass (B, A in an impedance) the force h of the spring
    force: np.ndarray
    displacement: np.ndarray  #: elastic displacement e (n, columns) [m]
    sticking: np.ndarray  #: flags (n, columns)
    parameters: dict[str, Any]  #: parameters of the node
    device: dict[str, Any]  #: parameters of the device

    @classmethod
    def from_bag(cls, bag: Bag, node: str = "comparison") -> ScriptedRun:
        """Reads a bag; the ticks are those that both topics have, since in realtime the node may have missed some.

        Args:
            bag: bag of a run with a scripted device.
            node: name of the node, also the first part of its state's topic.

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
        counts = [self.models[: i + 1].count(model) for i, model in enumerate(self.models)]
        return [model if n == 1 else f"{model}_{n}" for model, n in zip(self.models, counts, strict=True)]

    def column(self, model: str) -> int | None:
        """Finds the first column of a model; returns None without the model."""
        return self.models.index(model) if model in self.models else None

    def number(self, name: str, column: int = 0) -> float:
        """Returns a parameter of one column; the parameter has one number for all columns or one for each."""
        values = self.parameters[name]
        if not isinstance(values, (list, tuple)):
            return float(values)
        return float(values[column if len(values) > 1 else 0])

    def element(self, column: int) -> Element:
        """Returns the parameters of one column."""
        values = (self.number(name, column) for name in ("stiffness", "damping", "mass"))
        return Element(self.models[column], self.period, *values)


def alternative_report(
    bags: Mapping[str, Bag],
    models: tuple[str, str],
    measure: Callable[[ScriptedRun, int], ColumnNumbers],
    claim: Callable[[Claims, list[Any], list[Any]], None],
    draw: Callable[[Axes, ScriptedRun, list[int]], None],
    caption: str,
    **figure: Any,
) -> Report:
    """Makes the report of a model beside its alternative, runs of the shortest period first.

    Args:
        bags: bags of a comparison.
        models: names of the model and of its alternative's model.
        measure: measures a column of a run.
        claim: adds the claims, by the cases of the model and of the alternative.
        draw: draws some columns of a run.
        caption: caption of the figure.
        **figure: other arguments of `figure_beside_alternative`.
    """
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    runs = dict(sorted(runs.items(), key=lambda item: item[1].period))
    numbers = {name: {label: measure(run, i) for i, label in enumerate(run.labels)} for name, run in runs.items()}
    cases = [column.case for of_run in numbers.values() for column in of_run.values() if column.case is not None]
    claims = Claims()
    claim(claims, *([case for case in cases if case.element.model == model] for model in models))
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report(
        {"runs": numbers}, claims, lambda: figure_beside_alternative(runs, *models, draw, **figure), caption, parameters
    )


def eigenvalue_claim(
    claims: Claims, text: str, factors: Sequence[tuple[Case, float, float]], agreement: float, missing: str
) -> None:
    """Adds the claim that velocities change from step to step by the factors of a linear map.

    Args:
        claims: claims to which it is added.
        text: the claim.
        factors: cases with the measured factor and the eigenvalue of the map.
        agreement: largest relative difference of the two.
        missing: reason why no run shows it, if there are no factors.
    """
    parts = [f"{c.element.words}: {factor:.4f} per step (eigenvalue {due:.4f})" for c, factor, due in factors]
    met = all(abs(factor / due - 1.0) < agreement for _, factor, due in factors)
    claims.say(text, f"{'; '.join(parts)}; limit {100 * agreement:g} %", met, unless="" if factors else missing)


def _bounded(values: np.ndarray) -> np.ndarray:
    """Bounds values by plus and minus HUGE; NaN becomes HUGE."""
    return np.clip(np.nan_to_num(values, nan=HUGE), -HUGE, HUGE)


def stiffness_style(place: int) -> dict[str, Any]:
    """Returns the line of a stiffness by its place in rising order: grey, dashed, black as in the paper, colours."""
    style = STYLES[place] if place < len(STYLES) else {"color": f"C{place - len(STYLES)}", "linewidth": 2.5}
    return {**style, "zorder": 3.0 - 0.1 * place}


def power_of_ten(value: float) -> str:
    """Writes a large number as in the paper, 8.3 × 10⁴."""
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(mantissa):g} × 10{digits}"


def at_shortest_period(cases: Sequence[_Case]) -> list[_Case]:
    """Selects the cases of the shortest period."""
    shortest = min((case.element.period for case in cases), default=0.0)
    return [case for case in cases if case.element.period == shortest]


def pairs_of_periods(
    cases: Sequence[_Case], short: Callable[[_Case], bool], long: Callable[[_Case], bool]
) -> list[tuple[_Case, _Case]]:
    """Finds pairs of cases of one stiffness of which the first meets one condition and the second another."""
    return [(a, b) for a in cases for b in cases if a.element.stiffness == b.element.stiffness and short(a) and long(b)]


def figure_beside_alternative(
    runs: dict[str, ScriptedRun],
    original: str,
    alternative: str,
    draw: Callable[[Axes, ScriptedRun, list[int]], None],
    *,
    figure_part: str,
    height: float,
) -> Figure:
    """Makes a figure with a row for each run: left the columns of a model, right those of its alternative.

    Args:
        runs: runs of a comparison.
        original: name of the model.
        alternative: name of the alternative's model.
        draw: draws some columns of a run.
        figure_part: letter of the alternative in Fig. 12 of the paper.
        height: height of a row [inch].
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
