"""Builds a run's report from its bags: metrics.json, figure.png, report.html."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import jinja2
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from haptic_bags.bag_writer import UNFINISHED
from haptic_bags.bags import Bag, BagError, bag_folders, damage, repair_hint, with_name
from haptic_core.errors import HapticError
from haptic_core.flight_recorder import longest_tick
from haptic_core.safety import LIMIT_NAMES
from haptic_core.stop_records import find_records
from haptic_experiments.kit import device_run, passivity
from haptic_experiments.kit.results import Claim, Report, ResultTable
from haptic_files import FileError, naming_file, read_yaml, write_text
from haptic_launch.experiments import Experiment, load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.runner import effective_arguments

matplotlib.use("Agg")

__all__ = ["Claim", "Report", "ResultTable", "bags_of", "print_claims", "render_page", "safety_of", "write_report"]


def bags_of(directory: Path) -> dict[str, Path]:
    """Finds the bags of a run: the first one under the name "bag", others by their variant."""
    directory = with_name(directory)
    if (directory / "metadata.yaml").exists():
        return {directory.name: directory}
    found = bag_folders(directory)
    for bag in (*found, directory):
        if (bag / UNFINISHED).exists() or (bag in found and not (bag / "metadata.yaml").exists()):
            raise BagError(f"{bag}: the bag was not closed", repair_hint(bag))
    if not found:
        raise HapticError(f"{directory}: no run and no bag (no bag*/metadata.yaml in it)")
    return {path.name: path for path in found}


def safety_of(bags: Mapping[str, Bag]) -> dict[str, dict[str, Any]]:
    """Counts the interventions of the safety layer, by bag: ticks of each limit, ticks in the safe state and why."""
    found = {}
    for name, bag in bags.items():
        here: dict[str, Any] = {}
        for topic, columns in bag.topics.items():
            if not topic.endswith("/device_state"):
                continue
            limited = np.asarray(columns.get("limited", 0))  # an older bag has none
            counts = {f"limited_{limit}": int(np.count_nonzero(limited & bit)) for bit, limit in LIMIT_NAMES.items()}
            counts["stopped"] = int(np.count_nonzero(columns.get("status", 0)))
            here = {key.replace(" ", "_"): count for key, count in counts.items() if count}
        if reasons := [str(e.detail["reason"]) for e in bag.events if e.kind == "error" and "status" in e.detail]:
            here["reasons"] = reasons
        if here:
            found[name] = here
    return found


def flight_records(directory: Path) -> ResultTable | None:
    """Lists the flight records of a run: node, tick of the stop, longest of the ticks before it, file; None if none."""
    rows = []
    for node, tick, file in find_records(directory):
        try:
            longest = str(longest_tick(np.load(file, allow_pickle=False)))
        except (OSError, ValueError, LookupError) as error:
            longest = f"cannot be read: {damage(error)}"
        rows.append((node, str(tick), longest, str(file.relative_to(directory))))
    if not rows:
        return None
    return ResultTable("Last ticks before stops", ("node", "stop at tick", "longest tick", "file"), rows)


def write_report(directory: Path, console: Console) -> Report:
    """Analyses the bags of a run and writes the three files beside them.

    Args:
        directory: directory of the run, or of a single bag; the files then go to the bag's parent, see `file_prefix`.
        console: prints the table of claims.

    Raises:
        HapticError: no readable bag, or a bag of no known experiment.
    """
    bags = {name: Bag(path) for name, path in bags_of(directory).items()}
    first = next(iter(bags.values()))
    experiment = load_experiment(first.custom.get("experiment", "unknown"))
    real = device_run.is_real(first)
    for bag in bags.values():
        missing = [topic for topic in experiment.recorded.every_tick if topic not in bag.topics]
        missing = [topic for topic in missing if not (real and topic.endswith("/simulation_state"))]
        if missing:
            raise HapticError(f"{bag.path}: nothing recorded on {', '.join(missing)}")
    module = device_run if real else import_module(experiment.report)
    try:
        report: Report = module.analyse(bags)
        if not isinstance(report, Report):
            got = type(report).__name__
            raise HapticError(f"{directory}: {module.__name__}.analyse: expected a Report to be returned, got {got}")
        figure = report.figure
    except HapticError:
        raise
    except Exception as error:  # a bag that is not what the experiment records can fail anywhere
        raise HapticError(
            f"{directory}: the report of {experiment.name} cannot use what was recorded: {damage(error)}"
            f"{_location(error, module)}"
        ) from error
    if safety := safety_of(bags):
        report.metrics["safety"] = safety
    target = first.path.parent
    balance = passivity.balance(bags)
    claims = [{"claim": c.text, "measured": c.measured, "shown": c.shown, "verdict": c.verdict} for c in report.claims]
    if balance is not None:
        report.metrics["passivity"] = balance.metrics
    document = {"experiment": experiment.name, "claims": claims, **report.metrics}
    prefix = file_prefix(bags)
    write_text(target / f"{prefix}metrics.json", json.dumps(document, indent=2) + "\n")
    figures, tables = [(target / f"{prefix}figure.png", report.caption)], []
    save_figure(figure, figures[0][0])
    if balance is not None:
        figures.append((target / f"{prefix}passivity.png", balance.caption))
        save_figure(balance.figure, figures[1][0])
        tables.append(balance.table)
        console.print(balance.line, highlight=False, soft_wrap=True)
    if (records := flight_records(target)) is not None:
        tables.append(records)
        for node, tick, longest, file in records.rows:
            line = f"stop of {node} at tick {tick}: {target / file}: longest of the last ticks: {longest}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    changed = changed_arguments(target, experiment)
    page = render_page(experiment, report.claims, figures, report.parameters, report.metrics, tables, changed)
    page_file = target / f"{prefix}report.html"
    write_text(page_file, page)
    _print(report, page_file, console)
    return report


def file_prefix(bags: Mapping[str, Bag]) -> str:
    """Returns the start of the names of a report's files: the bag's name if it is one of several in its folder.

    The report of a bag thus replaces neither that of another bag nor that of a run with all its bags.
    """
    (first, *others) = (bag.path for bag in bags.values())
    beside = [metadata.parent for metadata in first.parent.glob("*/metadata.yaml")]
    return f"{first.name}_" if not others and any(path.name != first.name for path in beside) else ""


def save_figure(figure: Figure, file: Path) -> None:
    """Writes a figure as PNG; an OSError names the file."""
    with naming_file(file):
        figure.savefig(file, dpi=150)


def _location(error: Exception, module: ModuleType) -> str:
    """Names the last line of a report's module, or package, that an error has passed."""
    file = Path(str(module.__file__))
    package = file.name == "__init__.py"
    for frame in reversed(extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path == file or (package and path.parent == file.parent):
            return f" ({f'{path.parent.name}/' if package else ''}{path.name}, line {frame.lineno})"
    return ""


def run_file_of(directory: Path) -> dict[str, Any]:
    """Returns the content of run.yaml; empty if the file is missing or damaged."""
    try:
        found = read_yaml(directory / "run.yaml").value
    except FileError:
        return {}
    return found if isinstance(found, dict) else {}


def changed_arguments(directory: Path, experiment: Experiment) -> dict[str, str]:
    """Returns the arguments of a run, from run.yaml, that are not the experiment's defaults."""
    recorded = run_file_of(directory).get("arguments", {})
    defaults = effective_arguments(load_launch_file(experiment.launch_file), {})
    return {name: value for name, value in recorded.items() if defaults.get(name, value) != value}


def render_page(
    about: Any,
    claims: Sequence[Claim],
    figures: Sequence[tuple[Path, str]],
    parameters: Mapping[str, Mapping[str, Any]],
    metrics: Mapping[str, Any],
    tables: Sequence[Any] = (),
    changed: Mapping[str, str] | None = None,
) -> str:
    """Renders the report as one HTML page.

    Args:
        about: object with a title, a paper and a summary.
        claims: claims with verdicts.
        figures: PNG files and their captions.
        parameters: parameters by node.
        metrics: metrics as in metrics.json.
        tables: tables with a title, a header and rows each.
        changed: arguments that are not the defaults, of which the summary speaks.
    """
    template = jinja2.Template(Path(__file__).with_name("report.html").read_text(), autoescape=True)
    return template.render(
        about=about,
        claims=claims,
        figures=[(base64.b64encode(path.read_bytes()).decode(), caption) for path, caption in figures],
        parameters=parameters,
        metrics=json.dumps(metrics, indent=2),
        tables=tables,
        changed=changed or {},
    )


def print_claims(claims: Sequence[Claim], title: str, console: Console) -> None:
    """Prints a table of claims; `title` is that of the first column."""
    table = Table(title, "measured", "verdict")
    for claim in claims:
        style = {True: "green", False: "red", None: "yellow"}[claim.shown]
        table.add_row(escape(claim.text), escape(claim.measured), f"[{style}]{claim.verdict}[/{style}]")
    console.print(table)


def _print(report: Report, file: Path, console: Console) -> None:
    print_claims(report.claims, "claim", console)
    for name, said in report.metrics.get("safety", {}).items():
        counts = ", ".join(f"{key} {value}" for key, value in said.items())
        console.print(f"safety, ticks of {name}: {counts}", highlight=False, soft_wrap=True)
    console.print(f"report: {file}", highlight=False, soft_wrap=True)
