"""Builds a run's report from its bags: metrics.json, figure.png, report.html."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from haptic_bringup.bags import Bag
from haptic_bringup.experiments import Experiment, load_experiment
from haptic_core.errors import HapticError

matplotlib.use("Agg")


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
    """What an experiment's report module returns."""

    metrics: dict[str, Any]
    claims: list[Claim]
    figure: Figure
    caption: str
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)


def bags_of(directory: Path) -> dict[str, Path]:
    """The bags of a run: the first one under the name "bag", others by their variant."""
    if (directory / "metadata.yaml").exists():
        return {directory.name: directory}
    found = [path.parent for path in sorted(directory.glob("bag*/metadata.yaml"))]
    if not found:
        raise HapticError(f"{directory}: no run and no bag (no bag*/metadata.yaml in it)")
    return {path.name: path for path in found}


def write_report(directory: Path, console: Console) -> Report:
    """Analyses the bags of a run and writes the three files beside them.

    Args:
        directory: of the run, or of a single bag; the files then go to the bag's parent.
        console: where the table of claims is printed.

    Raises:
        HapticError: no readable bag, or a bag of no known experiment.
    """
    bags = {name: Bag(path) for name, path in bags_of(directory).items()}
    first = next(iter(bags.values()))
    experiment = load_experiment(first.custom.get("experiment", "unknown"))
    for bag in bags.values():
        missing = [topic for topic in experiment.recorded.every_tick if topic not in bag.topics]
        if missing:
            raise HapticError(f"{bag.path}: nothing recorded on {', '.join(missing)}")
    module = import_module(f"haptic_bringup.reports.{experiment.report}")
    report: Report = module.analyse(bags)
    target = first.path.parent
    claims = [{"claim": c.text, "measured": c.measured, "shown": c.shown} for c in report.claims]
    document = {"experiment": experiment.name, "claims": claims, **report.metrics}
    (target / "metrics.json").write_text(json.dumps(document, indent=2) + "\n")
    report.figure.savefig(target / "figure.png", dpi=150)
    (target / "report.html").write_text(_page(experiment, report, target / "figure.png"))
    _print(report, target, console)
    return report


def _page(experiment: Experiment, report: Report, figure: Path) -> str:
    return render_page(experiment, report.claims, [(figure, report.caption)], report.parameters, report.metrics)


def render_page(
    about: Any,
    claims: Sequence[Claim],
    figures: Sequence[tuple[Path, str]],
    parameters: Mapping[str, Mapping[str, Any]],
    metrics: Mapping[str, Any],
    tables: Sequence[Any] = (),
) -> str:
    """The report as one HTML page.

    Args:
        about: has a title, a paper and a summary.
        claims: with verdicts.
        figures: PNG files and their captions.
        parameters: by node.
        metrics: as in metrics.json.
        tables: each with a title, a header and rows.
    """
    template = jinja2.Template(Path(__file__).with_name("reports").joinpath("report.html").read_text(), autoescape=True)
    return template.render(
        about=about,
        claims=claims,
        figures=[(base64.b64encode(path.read_bytes()).decode(), caption) for path, caption in figures],
        parameters=parameters,
        metrics=json.dumps(metrics, indent=2),
        tables=tables,
    )


def _print(report: Report, target: Path, console: Console) -> None:
    table = Table("claim of the paper", "measured", "verdict")
    for claim in report.claims:
        style = {True: "green", False: "red", None: "yellow"}[claim.shown]
        table.add_row(claim.text, claim.measured, f"[{style}]{claim.verdict}[/{style}]")
    console.print(table)
    console.print(f"report: {target / 'report.html'}", highlight=False, soft_wrap=True)
