"""Report of a study: numbers, claims, figures and tables, as files and in the terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from haptic_experiments.kit.results import Claim, ResultTable, plain
from haptic_experiments.report import print_claims, render_page, save_figure
from haptic_files import write_text

WIDEST, LONGEST = 7, 15  #: columns and rows of tables that are also printed


@dataclass
class StudyReport:
    """Report of a study."""

    metrics: dict[str, Any]  #: numbers for metrics.json; the same for any number of workers
    claims: list[Claim] = field(default_factory=list)  #: claims with verdicts
    #: figures with captions, by file name without suffix
    figures: dict[str, tuple[Figure, str]] = field(default_factory=dict)
    tables: list[ResultTable] = field(default_factory=list)  #: tables for the report and the terminal
    timings: dict[str, float] = field(default_factory=dict)  #: times that depend on the machine, for run.yaml [s]


def write(made: StudyReport, about: Any, settings: BaseModel, name: str, directory: Path) -> None:
    """Writes metrics.json, the figures and report.html.

    Args:
        made: report of the study.
        about: the study, with a title, a paper and a summary.
        settings: arguments of the study.
        name: name of the study.
        directory: directory of the run.
    """
    claims = [{"claim": c.text, "measured": c.measured, "shown": c.shown} for c in made.claims]
    document = plain({"study": name, "claims": claims, **made.metrics})
    write_text(directory / "metrics.json", json.dumps(document, indent=2, allow_nan=False) + "\n")
    images = []
    for name, (figure, caption) in made.figures.items():
        path = directory / f"{name}.png"
        save_figure(figure, path)
        images.append((path, caption))
    parameters = {"study": settings.model_dump(mode="json")}
    if made.timings:
        parameters["timings [s]"] = made.timings
    page = render_page(about, made.claims, images, parameters, document, made.tables)
    write_text(directory / "report.html", page)


def show(made: StudyReport, directory: Path, console: Console) -> None:
    """Prints the tables that are not too large, and the claims."""
    for t in made.tables:
        if len(t.header) > WIDEST or len(t.rows) > LONGEST:
            console.print(f"{t.title}: in the report", highlight=False, markup=False)
            continue
        table = Table(*map(escape, t.header), title=escape(t.title), show_header=any(t.header))
        for row in t.rows:
            table.add_row(*map(escape, row))
        console.print(table)
    if made.claims:
        print_claims(made.claims, "claim", console)
    console.print(f"report: {directory / 'report.html'}", highlight=False, soft_wrap=True)
