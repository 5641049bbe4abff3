"""Draws the graphs of experiments of several nodes: ./haptics exec python docs/plot_graphs.py RUN...

Nodes, messages and delayed edges are those of the launch file. The nodes of the run measure the times on the
edges, from publishing to receiving. Realtime runs on an otherwise idle machine are the most informative.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_launch.experiments import load_experiment

IMAGES = Path(__file__).with_name("images")


def main(runs: list[str]) -> None:
    """Draws one picture per run, named after its experiment."""
    for run in runs:
        bag = Bag(next(path for path in sorted(Path(run).glob("bag*")) if path.is_dir()))
        name = bag.custom["experiment"]
        figure = Figure(figsize=(10, 4), layout="constrained")
        axes = figure.subplots()
        draw(axes, load_experiment(name).graph, latencies(bag))
        period, mode = bag.parameters("device")["period"], bag.custom["mode"]
        axes.set_title(f"{name}: each message once per tick of {1e3 * period:g} ms; {mode}", fontsize=9)
        target = IMAGES / f"graph_{name}.png"
        figure.savefig(target, dpi=110)
        print(target)


main(sys.argv[1:])
