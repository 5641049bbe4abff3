"""Writes docs/results/ from the recorded metrics of every experiment; with --check it only compares.

    ./haptics exec python docs/write_results.py --record [NAME ...]   runs experiments and studies (default: all) first
    ./haptics exec python docs/write_results.py                       the pages again
    ./haptics exec python docs/write_results.py --check

``docs/results/metrics/<experiment>.json`` is the metrics.json of the recorded run. One page per family has for each of
its experiments a summary, its figure (docs/images/<experiment>.png), the claims with measurement and verdict, and the
arguments of its launch file. A study of a paper has a section with its findings on the page of its family.
Tables in other pages, and numbers in README.md, are those of ``derived_parts.py``.

``docs/results/fails_with.json`` has for each claim an alteration of the run with which it is no longer shown
(`./haptics study claims`). ``docs/results/fails_with.yaml``, written by hand, has the claims that fail with no altered
recording.
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

import derived_parts
import yaml
from scene_tables import table

from haptic_experiments.study import load_study
from haptic_launch.experiments import Experiment, experiment_names, load_experiment
from haptic_launch.launch_file import LaunchDescription, load_launch_file
from haptic_launch.launch_nodes import launched_nodes

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
METRICS = RESULTS / "metrics"
IMAGES = ROOT / "docs" / "images"
#: page and title of a family by the package of its rendering node
FAMILIES = {
    "haptic_friction": ("friction", "Friction"),
    "admittance_constraints": ("constraints", "Constrained mechanisms"),
    "convex_contact": ("contact", "Contact"),
    "tau_wall_control": ("walls", "Stiff walls on the TAU device"),
}
#: studies by name: their page, arguments, and figures, which are kept in docs/images
STUDIES = {
    "tau-wall": (
        "walls",
        ("parts:=paper,devices",),
        ("paper_fig3_points", "paper_fig4_stiffness", "paper_fig5_mopc", "paper_fig6_deviation"),
    )
}
#: alterations with which each claim fails, by experiment: found, and by hand
FOUND, BY_HAND = RESULTS / "fails_with.json", RESULTS / "fails_with.yaml"
#: alterations, mild ones first, of experiments whose report simulates the run again, where all alterations take hours
ALTERATIONS = {
    "cobot_guided_tool": (
        "pose of cobotic_hand_controller/constraints/state 1 % larger",
        "force of cobotic_hand_controller/friction/state 1 % larger",
        "pose of cobotic_hand_controller/constraints/state with noise of 10 % of its range",
        "force of cobotic_hand_controller/friction/state with noise of 10 % of its range",
        "mass of constraints half as large",
        "constraint_residual of cobotic_hand_controller/constraints/state with a step by its range",
        "frame_position of contact ten times as large",
    ),
    "dental_probe": (
        "push of tau/wall/state 1 % larger",
        "in_contact of tau/wall/state inverted",
        "tool_pose of tau/simulation_state 10 messages late",
        "effort of tau/wall/state 10 messages late",
        "tool_pose of tau/simulation_state with noise of 10 % of its range",
        "effort of tau/wall/state with noise of 10 % of its range",
        "push of tau/wall/state ten times as large",
        "stiffness of friction ten times as large",
    ),
    "tau_rough_wall": (
        "force of tau/friction/state 1 % larger",
        "tool_pose of tau/simulation_state 1 % larger",
        "tool_pose of tau/simulation_state 10 messages late",
        "force of tau/friction/state with noise of 10 % of its range",
        "force of tau/friction/state half as large",
        "stiffness of friction ten times as large",
    ),
    "tau_touch_world": (
        "tool_pose of tau/simulation_state 1 % larger",
        "velocity of tau/contact/state 1 % larger",
        "position of tau/contact/state 1 % larger",
        "tool_pose of tau/simulation_state 10 messages late",
        "tool_pose of tau/simulation_state with noise of 10 % of its range",
        "force of tau/friction/state with noise of 10 % of its range",
        "velocity of tau/contact/state half as large",
        "touch_radius of contact half as large",
    ),
}
#: words of claims that do not depend on the recording
_UNRECORDED = "takes less than"
COMPOSED = ("composed", "Several rendering nodes on one device")
HEADING = "<!-- Written by docs/write_results.py from docs/results/metrics. -->"
VERDICTS = {True: "shown", False: "not shown", None: "not reached"}


def record(names: Sequence[str]) -> None:
    """Runs experiments with their default arguments, and studies; keeps their metrics and the figures of the pages."""
    METRICS.mkdir(parents=True, exist_ok=True)
    for name in names:
        _, arguments, figures = STUDIES.get(name, ("", (), ()))
        command = "study" if name in STUDIES else "run"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "haptics", command, name, *arguments], cwd=folder, check=True)
            (metrics,) = Path(folder).glob("runs/*/metrics.json")
            if name not in STUDIES:
                record_failures(name, metrics.parent)
            shutil.copyfile(metrics, METRICS / f"{name}.json")
            if (IMAGES / f"{name}.png").exists():
                shutil.copyfile(metrics.with_name("figure.png"), IMAGES / f"{name}.png")
            for figure in figures:
                shutil.copyfile(metrics.with_name(f"{figure}.png"), IMAGES / f"{name}_{figure}.png")


def record_failures(name: str, run: Path) -> None:
    """Keeps what fails the claims of a run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [ROOT / "haptics", "study", "claims", f"runs:={run}", f"without:={_UNRECORDED}"]
        if name in ALTERATIONS:
            command.append(f"only:={','.join(ALTERATIONS[name])}")
        subprocess.run(command, cwd=folder, check=True)
        (metrics,) = Path(folder).glob("runs/*/metrics.json")
        (found,) = json.loads(metrics.read_text())["failed_by"].values()
    known = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    known[name] = {claim["claim"]: claim["failed_by"] for claim in found if claim["failed_by"]}
    FOUND.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n")


def failures(name: str) -> dict[str, str]:
    """Returns the failures by claim of an experiment or study: the recorded run itself, an alteration, or by hand."""
    recorded = {claim["claim"]: "the recording itself" for claim in claims_of(name) if claim["shown"] is False}
    found, by_hand = json.loads(FOUND.read_text()), yaml.safe_load(BY_HAND.read_text())
    return recorded | found.get(name, {}) | (by_hand.get(name) or {})


def wrong_failures(names: Sequence[str] = ()) -> list[str]:
    """Compares the files of failures with the recorded claims.

    Args:
        names: names of experiments and studies; default: all. Each shown claim needs a line.
    """
    found, by_hand = json.loads(FOUND.read_text()), yaml.safe_load(BY_HAND.read_text())
    known = [*experiment_names("haptic_bringup"), *STUDIES]
    wrong = [f"{name}: no such experiment or study" for name in (found.keys() | by_hand.keys()) - set(known)]
    for name in names or known:
        shown = {claim["claim"] for claim in claims_of(name) if claim["shown"]}
        texts, hand = {claim["claim"] for claim in claims_of(name)}, set(by_hand.get(name) or {})
        altered = found.get(name, {}).keys()
        wrong += [f"{name}: no such claim: {text}" for text in (altered | hand) - texts]
        wrong += [f"{name}: said by hand, and found: {text}" for text in altered & hand]
        wrong += [f"{name}: nothing is said to fail: {text}" for text in shown - altered - hand]
    return sorted(wrong)


def family(description: LaunchDescription) -> tuple[str, str]:
    """Returns page and title of the family to which an experiment belongs."""
    packages = [node.executable.partition("/")[0] for node in launched_nodes(description)]
    rendering = [package for package in packages if package in FAMILIES]
    return FAMILIES[rendering[0]] if len(rendering) == 1 else COMPOSED


def cell(text: Any) -> str:
    """Escapes a text for a cell of a table."""
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def claims_of(name: str) -> list[dict[str, Any]]:
    """Reads the claims of the recorded run of an experiment or study."""
    return json.loads((METRICS / f"{name}.json").read_text())["claims"]  # type: ignore[no-any-return]


def shown_claims(name: str) -> str:
    """Formats the number of shown claims, and of all claims, of an experiment or study."""
    claims = claims_of(name)
    return f"{sum(claim['shown'] is True for claim in claims)} of {len(claims)}"


def claims_table(name: str) -> str:
    """Makes the table of claims of an experiment or study: claim, measurement, verdict, failing alteration."""
    fails = failures(name)
    rows = [
        (cell(c["claim"]), cell(c["measured"]), VERDICTS[c["shown"]], cell(fails.get(c["claim"], "")))
        for c in claims_of(name)
    ]
    return table(("claim", "measured", "verdict", "fails with"), *rows)


def study_section(name: str) -> str:
    """Makes the section of a study: command, figures, findings."""
    _, arguments, figures = STUDIES[name]
    about = load_study(name)
    return "\n\n".join(
        [
            f"## Study {name}",
            f"**{about.title}.** {about.summary}",
            f"Counterpart: {about.paper}.",
            f"```\n./haptics study {name} {' '.join(arguments)}\n```",
            *(f"![{name}: {figure}](../images/{name}_{figure}.png)" for figure in figures),
            claims_table(name),
        ]
    )


def section(experiment: Experiment, description: LaunchDescription) -> str:
    """Makes the section of one experiment."""
    name = experiment.name
    parts = [
        f"## {name}",
        f"**{experiment.title}.** {experiment.summary.strip()}",
        f"Counterpart: {experiment.paper.rstrip('.')}.",
    ]
    parts.append(f"```\n./haptics run {name}\n```")
    if (IMAGES / f"{name}.png").exists():
        parts.append(f"![{experiment.title}](../images/{name}.png)")
    if (ROOT / "config" / name / "page.md").exists():
        parts.append(f"How it is made: [page of {name}](../../config/{name}/page.md).")
    parts.append(claims_table(name))
    rows = []
    for argument in description.arguments:
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        default = f"`{cell(argument.default)}`" if argument.default else ""
        rows.append((f"`{argument.name}`", default, cell(argument.description or "") + cell(choices)))
    return "\n\n".join([*parts, f"### Arguments of {name}", table(("argument", "default", "meaning"), *rows)])


def pages() -> dict[str, str]:
    """Makes all pages, text by name."""
    sections: dict[tuple[str, str], dict[str, str]] = {}
    for name in experiment_names("haptic_bringup"):
        experiment = load_experiment(name)
        description = load_launch_file(experiment.launch_file)
        sections.setdefault(family(description), {})[name] = section(experiment, description)
    found = {}
    index = [
        HEADING,
        "# Results",
        "One recorded run of every experiment, with its default arguments. The last column of a table of claims says "
        "with which alteration of the recorded run, or of the numbers that the report computes, a claim was seen to "
        "fail. It is empty where the run does not judge the claim.",
    ]
    for page, title in [*FAMILIES.values(), COMPOSED]:
        members = sections[page, title]
        studies = [name for name, (own, _, _) in STUDIES.items() if own == page]
        texts = [*members.values(), *map(study_section, studies)]
        found[f"{page}.md"] = "\n\n".join([HEADING, f"# {title}", *texts]) + "\n"
        rows = [(f"[{name}]({page}.md#{name})", shown_claims(name)) for name in members]
        rows += [(f"[study {name}]({page}.md#study-{name})", shown_claims(name)) for name in studies]
        index.append(f"## {title}\n\n{table(('experiment', 'claims shown'), *rows)}")
    found["README.md"] = "\n\n".join(index) + "\n"
    return found


def main(arguments: Sequence[str]) -> int:
    """Records metrics, and writes or checks the pages."""
    if "--record" in arguments:
        record([word for word in arguments if word != "--record"] or [*experiment_names("haptic_bringup"), *STUDIES])
    old = [name for name, text in pages().items() if not _is(RESULTS / name, text)]
    if "--check" in arguments:
        wrong = [f"docs/results: {name} is not what docs/write_results.py writes" for name in old]
        wrong += [f"docs/results: {text}" for text in wrong_failures()]
        for path, text in derived_parts.pages().items():
            if not _is(path, text):
                wrong.append(f"{path.relative_to(ROOT)} is not what docs/write_results.py writes")
        wrong += derived_parts.wrong_numbers(METRICS)
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return bool(wrong)
    for name, text in pages().items():
        (RESULTS / name).write_text(text)
    for path, text in derived_parts.pages().items():
        path.write_text(text)
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
