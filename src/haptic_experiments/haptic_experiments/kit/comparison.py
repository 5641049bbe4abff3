"""What the reports of scripted experiments share: the signals of `comparison_node` or `network_node` as arrays.

Their devices play a script in the namespace `script`. A column is a model of the comparison, or a contact of the
network, in the order of the node's parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError

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
        tick: (n,); a run that missed none has 0 to n - 1.
        input_velocity: of the tool, from the script (n,) [m/s].
        input_force: on the tool, from the script (n,) [N].
        models: name of each column's model.
        velocity: (n, columns) [m/s], of an element of the network the relative one; bounded by HUGE, as the next two.
        force: (n, columns) [N]; of a compliance with mass (B, A in an impedance) the force h of the spring.
        displacement: elastic displacement e (n, columns) [m].
        sticking: (n, columns).
        parameters: of the node.
        device: parameters of the device.
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
            bag: of a run with a scripted device.
            node: name of the node, also the first part of its state's topic.

        Raises:
            HapticError: fewer than two common ticks.
        """
        device, state = bag.topics[f"{NAMESPACE}/device_state"], bag.topics[f"{NAMESPACE}/{node}/state"]
        ticks = reduce(np.intersect1d, (device["tick"], state["tick"]))
        if len(ticks) < 2:
            raise HapticError(f"{bag.path}: too short for a report ({len(ticks)} ticks that all topics have)")
        parameters = bag.parameters(node)
        axis = "xyz".index(parameters["axis"])
        place, own = np.searchsorted(device["tick"], ticks), np.searchsorted(state["tick"], ticks)
        columns = state["force"].shape[1]
        return cls(
            period=float(device["period"][0]),
            tick=ticks.astype(int),
            input_velocity=device["tool_twist"][place, axis],
            input_force=device["tool_wrench"][place, axis],
            models=list(parameters["models"]) if "models" in parameters else [parameters["model"]] * columns,
            velocity=_bounded(state["velocity"][own]),
            force=_bounded(state["force"][own]),
            displacement=_bounded(state["elastic_displacement"][own]),
            sticking=state["sticking"][own].astype(bool),
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


def measured_by_period(
    bags: dict[str, Bag], measure: Callable[[ScriptedRun, int], dict[str, Any]]
) -> tuple[dict[str, ScriptedRun], dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Runs, shortest period first, and what `measure` says of each of their columns.

    Args:
        bags: of a comparison.
        measure: numbers of one column of a run.

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


def largest(values: np.ndarray) -> float:
    """Largest magnitude; 0 for nothing."""
    return float(np.abs(values).max(initial=0.0))


def roughness(values: np.ndarray) -> float:
    """RMS of the second differences (n,): zero for a straight line, four times the amplitude of a zigzag."""
    return float(np.sqrt(np.mean(np.diff(values, n=2) ** 2))) if len(values) > 2 else 0.0


def sign_changes(values: np.ndarray) -> int:
    """How often a signal (n,) passes from one sign to the other; exact zeros between do not count."""
    signs = np.sign(values[values != 0.0])
    return int(np.count_nonzero(np.diff(signs)))


def phases(flags: np.ndarray, shortest: int = 1) -> list[tuple[int, int]]:
    """First index and end (exclusive) of each unbroken stretch of true flags (n,) of at least `shortest` entries."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2) if b - a >= shortest]


def dominant_mode(values: np.ndarray) -> float | None:
    """Factor by which the strongest mode of a free linear second-order system changes in one step.

    Args:
        values: x (n,) with x_k = p x_(k-1) + q x_(k-2), which rounding limits only.

    Returns:
        Largest magnitude of the roots of z^2 = p z + q, fitted by least squares; None for fewer than 5 values, or
        for nothing but zeros.
    """
    scale = largest(values)
    if len(values) < 5 or not 0.0 < scale < np.inf:
        return None
    x = values / scale
    p, q = np.linalg.lstsq(np.column_stack((x[1:-1], x[:-2])), x[2:], rcond=None)[0]
    return float(np.abs(np.roots((1.0, -p, -q))).max())


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
