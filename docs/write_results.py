"""Writes docs/results/ from the recorded metrics of every experiment; with --check it only compares.

    ./haptics exec python docs/write_results.py --record [EXPERIMENT ...]   runs the experiments (all by default) first
    ./haptics exec python docs/write_results.py                             the pages again
    ./haptics exec python docs/write_results.py --check

``docs/results/metrics/<experiment>.json`` is the metrics.json of the recorded run. One page per family shows its
experiments: what each is, its figure (docs/images/<experiment>.png), the claims with measurement and verdict, and the
arguments of its launch file.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from haptic_launch.experiments import Experiment, experiment_names, load_experiment
from haptic_launch.launch_file import LaunchDescription, load_launch_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
METRICS = RESULTS / "metrics"
#: page and title of a family by the package of its rendering node
FAMILIES = {
    "haptic_friction": ("friction", "Friction"),
    "admittance_constraints": ("constraints", "Constrained mechanisms"),
    "convex_contact": ("contact", "Contact"),
    "tau_wall_control": ("walls", "Stiff walls on the TAU device"),
}
COMPOSED = ("composed", "Several rendering nodes on one device")
HEADING = "<!-- Written by docs/write_results.py from docs/results/metrics. -->"
VERDICTS = {True: "shown", False: "not shown", None: "not reached"}


def record(names: Sequence[str]) -> None:
    """Runs experiments with their default arguments and keeps their metrics."""
    METRICS.mkdir(parents=True, exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "haptics", "run", name], cwd=folder, check=True)
            (metrics,) = Path(folder).glob("runs/*/metrics.json")
            shutil.copyfile(metrics, METRICS / f"{name}.json")


def family(description: LaunchDescription) -> tuple[str, str]:
    """Page and title of the family to which an experiment belongs."""
    specs = description.evaluate(find_executable=lambda package, executable: f"/{package}/{executable}")
    packages = [Path(spec.command[0]).parent.name for spec in specs]
    rendering = [package for package in packages if package in FAMILIES]
    return FAMILIES[rendering[0]] if len(rendering) == 1 else COMPOSED


def cell(text: Any) -> str:
    """A text as the cell of a table."""
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def section(experiment: Experiment, description: LaunchDescription, claims: Sequence[dict[str, Any]]) -> str:
    """The section of one experiment."""
    name = experiment.name
    parts = [
        f"## {name}",
        f"**{experiment.title}.** {experiment.summary.strip()}",
        f"Counterpart: {experiment.paper.rstrip('.')}.",
    ]
    parts.append(f"```\n./haptics run {name}\n```")
    if (ROOT / "docs" / "images" / f"{name}.png").exists():
        parts.append(f"![{experiment.title}](../images/{name}.png)")
    if (ROOT / "config" / name / "page.md").exists():
        parts.append(f"How it is made: [page of {name}](../../config/{name}/page.md).")
    rows = [f"| {cell(c['claim'])} | {cell(c['measured'])} | {VERDICTS[c['shown']]} |" for c in claims]
    parts.append("\n".join(["| claim | measured | verdict |", "| --- | --- | --- |", *rows]))
    rows = []
    for argument in description.arguments:
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        default = f"`{cell(argument.default)}`" if argument.default else ""
        rows.append(f"| `{argument.name}` | {default} | {cell(argument.description or '')}{cell(choices)} |")
    table = "\n".join(["| argument | default | meaning |", "| --- | --- | --- |", *rows])
    return "\n\n".join([*parts, f"### Arguments of {name}", table])


def pages() -> dict[str, str]:
    """Name and text of every page."""
    sections: dict[tuple[str, str], dict[str, tuple[str, int, int]]] = {}
    for name in experiment_names():
        experiment = load_experiment(name)
        description = load_launch_file(experiment.launch_file)
        claims = json.loads((METRICS / f"{name}.json").read_text())["claims"]
        shown = sum(claim["shown"] is True for claim in claims)
        text = section(experiment, description, claims)
        sections.setdefault(family(description), {})[name] = (text, shown, len(claims))
    found = {}
    index = [HEADING, "# Results", "One recorded run of every experiment, with its default arguments."]
    for page, title in [*FAMILIES.values(), COMPOSED]:
        members = sections[page, title]
        found[f"{page}.md"] = "\n\n".join([HEADING, f"# {title}", *(text for text, _, _ in members.values())]) + "\n"
        rows = [f"| [{name}]({page}.md#{name}) | {shown} of {total} |" for name, (_, shown, total) in members.items()]
        index.append("\n".join([f"## {title}\n", "| experiment | claims shown |", "| --- | --- |", *rows]))
    found["README.md"] = "\n\n".join(index) + "\n"
    return found


def main(arguments: Sequence[str]) -> int:
    """Records, writes or checks."""
    if "--record" in arguments:
        record([word for word in arguments if word != "--record"] or experiment_names())
    old = [name for name, text in pages().items() if not _is(RESULTS / name, text)]
    if "--check" in arguments:
        for name in old:
            print(f"docs/results/{name} is not what docs/write_results.py writes")
        return bool(old)
    for name, text in pages().items():
        (RESULTS / name).write_text(text)
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
