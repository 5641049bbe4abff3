"""The energy at the ports of a run, from its PassivityState messages: numbers, a line, a table, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.results import ResultTable, key, plain

CAPTION = (
    "Energy that each port absorbed since the start, and the damping that controllers added. A port whose energy falls "
    "below zero gave more than it took; see docs/passivity.md."
)


@dataclass(frozen=True)
class PortNumbers:
    """Energy at a port."""

    final: float = field(metadata=key("final_energy_J"))  #: energy that the port absorbed until the end [J]
    lowest: float = field(metadata=key("lowest_energy_J"))  #: least energy that the port had absorbed at any time [J]
    power: float = field(metadata=key("largest_power_given_W"))  #: largest power that it gave [W]
    dissipated: float = field(metadata=key("dissipated_by_controller_J"))  #: energy that the controller dissipated [J]
    largest_injected_damping: float  #: largest damping that the controller added [N s/m] or [N m s/rad]
    ticks_with_damping: int  #: number of ticks with such a damping


@dataclass(frozen=True)
class Balance:
    """Passivity in a report: numbers, a line, a table and a figure."""

    numbers: dict[str, dict[str, PortNumbers]]  #: numbers by bag and port
    line: str  #: the most active port in words
    table: ResultTable  #: table of all ports
    figure: Figure  #: energy and damping over time
    caption: str  #: text below the figure

    @property
    def metrics(self) -> dict[str, Any]:
        """The numbers as metrics.json has them."""
        return dict(plain(self.numbers))


def balance(bags: Mapping[str, Bag]) -> Balance | None:
    """Computes the energy balance of a run's bags; returns None if no node observed it."""
    ports = {
        (name, content["port"][0]): content
        for name, bag in bags.items()
        for topic, content in bag.topics.items()
        if topic.endswith("/passivity")
    }
    if not ports:
        return None
    numbers: dict[str, dict[str, PortNumbers]] = {}
    for (name, port), content in ports.items():
        energy, damping = np.asarray(content["energy"]), np.asarray(content["injected_damping"])
        numbers.setdefault(name, {})[port] = PortNumbers(
            final=float(energy[-1]),
            lowest=float(energy.min()),
            power=float(max(0.0, -np.min(content["power"]))),
            dissipated=float(content["dissipated_energy"][-1]),
            largest_injected_damping=float(damping.max()),
            ticks_with_damping=int(np.count_nonzero(damping)),
        )
    rows = [
        (
            name,
            port,
            *(f"{1e3 * energy:.4g}" for energy in (n.final, n.lowest, n.dissipated)),
            f"{n.power:.3g}",
            f"{n.largest_injected_damping:.3g}",
        )
        for name, its in numbers.items()
        for port, n in its.items()
    ]
    header = ("bag", "port", "energy [mJ]", "lowest [mJ]", "by the controller [mJ]", "power given [W]", "damping")
    table = ResultTable("Energy at the ports", header, rows)
    name, port = min(ports, key=lambda at: numbers[at[0]][at[1]].lowest)
    lowest = numbers[name][port].lowest
    line = f"passivity: {len(ports)} ports observed; lowest energy {1e3 * lowest:.4g} mJ, at {port} of {name}"
    return Balance(numbers, line, table, _figure(ports), CAPTION)


def _figure(ports: Mapping[tuple[str, str], Mapping[str, Any]]) -> Figure:
    """Draws energies over time, a column for each bag, and below them the dampings, if there are any."""
    bags = list(dict.fromkeys(name for name, _ in ports))
    damped = any(np.any(content["injected_damping"]) for content in ports.values())
    rows = 2 if damped else 1
    figure = Figure(figsize=(max(8.0, 5.0 * len(bags)), 2.0 + 2.0 * rows), layout="constrained")
    axes = figure.subplots(rows, len(bags), squeeze=False, sharex="col", sharey="row")
    for (name, port), content in ports.items():
        column = axes[:, bags.index(name)]
        time = np.asarray(content["stamp"]) - content["stamp"][0]
        (curve,) = column[0].plot(time, 1e3 * np.asarray(content["energy"]), lw=0.9, label=port)
        if damped:
            column[1].plot(time, content["injected_damping"], lw=0.7, color=curve.get_color())
    for name, column in zip(bags, axes.T, strict=True):
        column[0].set_title(name, fontsize=10)
        column[0].axhline(0.0, color="black", lw=0.6)
        column[0].legend(fontsize=8)
        column[-1].set_xlabel("t (s)")
    axes[0, 0].set_ylabel("absorbed energy (mJ)")
    if damped:
        axes[1, 0].set_ylabel("injected damping\n[N s/m] or [N m s/rad]")
    return figure
