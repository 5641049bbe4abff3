"""The energy at the ports of a run, from its PassivityState messages: numbers, a line, a table, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.results import ResultTable

CAPTION = (
    "Energy that each port absorbed since the start, and the damping that controllers added. A port whose energy falls "
    "below zero gave more than it took; see docs/passivity.md."
)


@dataclass(frozen=True)
class Balance:
    """What a report says about passivity.

    Attributes:
        metrics: by bag and port.
        line: the most active port in words.
        table: of all ports.
        figure, caption: energy and damping over time.
    """

    metrics: dict[str, dict[str, Any]]
    line: str
    table: ResultTable
    figure: Figure
    caption: str


def balance(bags: Mapping[str, Bag]) -> Balance | None:
    """The energy balance of a run's bags; None if no node observed it."""
    ports = {
        (name, content["port"][0]): content
        for name, bag in bags.items()
        for topic, content in bag.topics.items()
        if topic.endswith("/passivity")
    }
    if not ports:
        return None
    metrics: dict[str, dict[str, Any]] = {}
    for (name, port), content in ports.items():
        energy, damping = np.asarray(content["energy"]), np.asarray(content["injected_damping"])
        metrics.setdefault(name, {})[port] = {
            "final_energy_J": float(energy[-1]),
            "lowest_energy_J": float(energy.min()),
            "largest_power_given_W": float(max(0.0, -np.min(content["power"]))),
            "dissipated_by_controller_J": float(content["dissipated_energy"][-1]),
            "largest_injected_damping": float(damping.max()),
            "ticks_with_damping": int(np.count_nonzero(damping)),
        }
    rows = [
        (
            name,
            port,
            *(
                f"{1e3 * numbers[key]:.4g}"
                for key in ("final_energy_J", "lowest_energy_J", "dissipated_by_controller_J")
            ),
            f"{numbers['largest_power_given_W']:.3g}",
            f"{numbers['largest_injected_damping']:.3g}",
        )
        for name, its in metrics.items()
        for port, numbers in its.items()
    ]
    header = ("bag", "port", "energy [mJ]", "lowest [mJ]", "by the controller [mJ]", "power given [W]", "damping")
    table = ResultTable("Energy at the ports", header, rows)
    name, port = min(ports, key=lambda key: metrics[key[0]][key[1]]["lowest_energy_J"])
    lowest = metrics[name][port]["lowest_energy_J"]
    line = f"passivity: {len(ports)} ports observed; lowest energy {1e3 * lowest:.4g} mJ, at {port} of {name}"
    return Balance(metrics, line, table, _figure(ports), CAPTION)


def _figure(ports: Mapping[tuple[str, str], Mapping[str, Any]]) -> Figure:
    """Energies over time, a column for each bag, and below them the dampings, if there are any."""
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
        column[-1].set_xlabel("t [s]")
    axes[0, 0].set_ylabel("absorbed energy [mJ]")
    if damped:
        axes[1, 0].set_ylabel("injected damping\n[N s/m] or [N m s/rad]")
    return figure
