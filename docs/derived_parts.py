"""Parts of written pages that follow from launch files, motions and recorded metrics; used by write_results.py.

A table between `<!-- NAME: written by docs/write_results.py -->` and `<!-- end of NAME -->` is made by the function of
`TABLES`. A number of `NUMBERS` stands in the text of its page, which is compared with the recorded metrics.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scene_tables import SCENE_TABLES, table

from haptic_devices.motions import spatial, wall
from haptic_files.entries import node_and_kind
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: kinds of rendering nodes by package
KINDS = {
    "admittance_constraints": "constraints",
    "convex_contact": "contact",
    "haptic_friction": "friction",
    "tau_wall_control": "wall",
}
#: devices for which a driver can stand, and those that the table names
REPLACED = {"joystick": "yes: `inverse3`, `force_dimension`, `touch`, or your own"}
DEVICES = ("joystick", "five_bar", "cobotic_hand_controller", "tau")


def _nodes(name: str) -> list[LaunchedNode]:
    return launched_nodes(load_launch_file(load_experiment(name).launch_file))


def experiments_of_devices() -> str:
    """Makes the table of the simulated devices with their experiments."""
    found: dict[str, list[str]] = {device: [] for device in DEVICES}
    for name in experiment_names("haptic_bringup"):
        (device,) = {node.parameters["device"] for node in _nodes(name) if "device" in node.parameters}
        found.setdefault(device, []).append(name)
    rows = [
        (f"`{device}`", ", ".join(f"`{name}`" for name in found[device]), REPLACED.get(device, "no"))
        for device in DEVICES
    ]
    if unknown := found.keys() - {*DEVICES, "scripted"}:
        raise ValueError(f"device: expected one of {', '.join(DEVICES)}, scripted, got {min(unknown)}")
    head = ("simulated device", "experiments", "replaced by a driver (`device:=`)")
    return table(head, *rows, ("none: a script or world alone", "all others", "no"))


def delayed_edges() -> str:
    """Makes the table of the experiments with several rendering nodes, and of their delayed edges."""
    rows = []
    for name in experiment_names("haptic_bringup"):
        kinds, nodes = {}, _nodes(name)
        for node in nodes:
            if kind := KINDS.get(node.executable.partition("/")[0]):
                kinds[node.name] = kind
        if len(kinds) < 2:
            continue
        delayed: dict[str, set[str]] = {}
        for node in nodes:
            for entry in filter(None, node.parameters.get("delayed_inputs", ())):
                delayed.setdefault(kinds[node.name], set()).add(kinds[node_and_kind(entry)[0]])
        cut = ", ".join(f"{' and '.join(sorted(sources))} to {kind}" for kind, sources in delayed.items())
        words = [kind if n == 1 else f"{n} of {kind}" for kind, n in Counter(kinds.values()).items()]
        page = f"[page](../config/{name}/page.md)" if (ROOT / "config" / name / "page.md").exists() else ""
        rows.append((f"`{name}`", ", ".join(words), cut or "none", page or "[experiments.md](experiments.md)"))
    return table(("experiment", "nodes", "the delayed edges", "its page"), *rows)


def _motions(document: str, make: Callable[[str, float], Any]) -> str:
    """Makes the table of the motions that the docstring of a module lists, with the lengths of their plans."""
    rows = []
    for name, text in re.findall(r"^- `(\w+)`: (.*?)(?=^- |^$|\Z)", document, re.MULTILINE | re.DOTALL):
        rows.append((f"`{name}`", f"{make(name, 1e-3).duration:.1f} s", " ".join(text.split()).replace("|", "\\|")))
    return table(("`motion`", "length", "motion of the hand"), *rows)


TABLES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "experiments of devices": ("docs/devices.md", experiments_of_devices),
    "motions in space": ("docs/devices.md", lambda: _motions(spatial.__doc__ or "", spatial.make_spatial_plan)),
    "motions at walls": ("docs/devices.md", lambda: _motions(wall.__doc__ or "", wall.make_wall_plan)),
    "delayed edges": ("docs/composition.md", delayed_edges),
    **{name: (f"config/{experiment}/page.md", make) for name, (experiment, make) in SCENE_TABLES.items()},
}


class Number(NamedTuple):
    """A number in the text of a page.

    Attributes:
        page: path of the page.
        text: text with "{}" in place of the number.
        value: function that computes the number, as it is written, from the recorded metrics by experiment.
    """

    page: str
    text: str
    value: Callable[[Callable[[str], Any]], str]


def _drift(metrics: Callable[[str], Any]) -> str:
    runs = metrics("friction_impedance")["runs"].values()
    return f"{1e6 * max(rest['drift'] for run in runs for rest in run['rests']):.1f}"


def _penetration(metrics: Callable[[str], Any]) -> str:
    pushes = metrics("tau_wall")["runs"]["bag_one_tick_delay"]["pushes"]
    return f"{1e3 * max(push['penetration'] for push in pushes if push['stiffness'] is not None):.2f}"


def _toss_error(_: Callable[[str], Any]) -> str:
    # measured by `./haptics bench cube_toss`, whose table this page has
    row = re.search(r"ours, Similar \(chosen\) \|[^|]*\| ([\d.]+) %", (DOCS / "benchmarks_contact.md").read_text())
    return f"{float(row[1]):.1f}" if row else "no number"


NUMBERS = (
    Number("README.md", "the joystick has no lasting drift ({} µm", _drift),
    Number("README.md", "predicted within {} % of its width", _toss_error),
    Number("README.md", "the wall gives way by {} mm, with one tick of delay", _penetration),
)


def pages() -> dict[Path, str]:
    """Makes the pages with their tables.

    Raises:
        ValueError: a page lacks the place of a table.
    """
    found: dict[Path, str] = {}
    for name, (page, make) in TABLES.items():
        path = ROOT / page
        first, last = f"<!-- {name}: written by docs/write_results.py -->", f"<!-- end of {name} -->"
        before, start, rest = found.get(path, path.read_text()).partition(first)
        _, end, after = rest.partition(last)
        if not start or not end:
            raise ValueError(f"{page}: expected the lines {first} and {last}")
        found[path] = f"{before}{first}\n{make()}\n{last}{after}"
    return found


def wrong_numbers(metrics: Path) -> list[str]:
    """Compares numbers in pages with the recorded metrics.

    Args:
        metrics: folder with <experiment>.json.
    """
    wrong = []
    for page, text, value in NUMBERS:
        expected = text.format(value(lambda name: json.loads((metrics / f"{name}.json").read_text())))
        if expected not in " ".join((ROOT / page).read_text().split()):
            wrong.append(f"{page}: expected {expected!r}")
    return wrong
