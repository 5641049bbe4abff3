"""Hooks of the documentation site (mkdocs.yml): what it shows beside the pages of this directory.

README.md becomes the first page. Its section "Results" becomes one page per family, with a section per experiment:
the metadata of config/<experiment>, the figure docs/images/<experiment>.png where there is one, README's rows for it,
and the arguments of the launch file. A paragraph that is a link to a file of examples/ is followed by the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
_EXAMPLE = re.compile(r"^\[[^\]]+\]\((examples/[^)]+)\)$", re.MULTILINE)
_FIGURE = re.compile(r"^!\[([^\]]*)\]\(images/(\w+)\.png\)$", re.MULTILINE)


def section(text: str, heading: str) -> tuple[str, str, str]:
    """What stands before a heading, below it (up to the next of its level), and after that."""
    level = heading.split(" ")[0]
    before, _, rest = text.partition(f"\n{heading}\n")
    below, mark, after = rest.partition(f"\n{level} ")
    return before, below, mark + after


def here(text: str) -> str:
    """A text of the checkout with the links that its page in docs/ has."""
    text = re.sub(r"\]\((\.\./)*docs/", "](", text)
    text = re.sub(r"\]\((\.\./)*config/(\w+)/page\.md", r"](scene_\2.md", text)
    return re.sub(r"\]\((CONTRIBUTING|CHANGELOG)\.md", lambda found: f"]({found[1].lower()}.md", text)


def rows_by_experiment(table: list[str]) -> dict[str, tuple[list[str], list[str]]]:
    """Of README's table (experiment, claim, measured): remarks and rows, without the first cell, of each experiment."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    current: list[str] = []
    for line in table[2:]:
        first, rest = line.removeprefix("|").split("|", 1)
        if first.startswith(" `"):
            current = re.findall(r"`(\w+)`", first)
            first = re.sub(r"`\w+`,? ?", "", first)
        for name in current:
            remarks, rows = found.setdefault(name, ([], []))
            remarks += [first.strip()] if first.strip() else []
            rows.append(f"|{rest}")
    return found


def experiment_section(name: str, remarks: list[str], rows: list[str]) -> str:
    """Everything about one experiment."""
    about = yaml.safe_load((ROOT / "config" / name / "experiment.yaml").read_text())
    launch = yaml.safe_load((ROOT / "launch" / f"{name}.launch.yaml").read_text())["launch"]
    parts = [f"## {name}", f"**{about['title']}.** {about['summary'].strip()}", f"Counterpart of: {about['paper']}."]
    if remarks:
        parts.append(f"In short: {'; '.join(remark.strip('()') for remark in remarks)}.")
    parts.append(f"```\n./haptics run {name}\n```")
    if (ROOT / "docs" / "images" / f"{name}.png").exists():
        parts.append(f"![{about['title']}](images/{name}.png)")
    parts.append("\n".join(["| claim | measured |", "| --- | --- |", *rows]))
    arguments = ["| argument | default | what it is |", "| --- | --- | --- |"]
    for argument in (entry["arg"] for entry in launch if "arg" in entry):
        choices = ", ".join(str(choice["value"]) for choice in argument.get("choice", []))
        text = argument.get("description", "") + (f" ({choices})" if choices else "")
        text = text.replace("<", "&lt;")  # runs/<time> is no element
        default = f"`{argument['default']}`" if str(argument.get("default", "")) else ""
        arguments.append(f"| `{argument['name']}` | {default} | {text} |".replace("\n", " "))
    return "\n\n".join([*parts, "### Arguments", "\n".join(arguments)])


def pages() -> dict[str, str]:
    """Name and text of every page that is written here."""
    before, results, after = section(here((ROOT / "README.md").read_text()), "## Results")
    names = {path.parent.name for path in (ROOT / "config").glob("*/experiment.yaml")}
    found: dict[str, str] = {}
    links: list[str] = []
    shown: set[str] = set()
    intro, *families = re.split(r"^### ", results, flags=re.MULTILINE)
    for family in families:
        title, _, text = family.partition("\n")
        table = [line for line in text.splitlines() if line.startswith("|")]
        around = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
        around = _FIGURE.sub(lambda figure: "" if figure[2] in names else figure[0], around)
        experiments = rows_by_experiment(table)
        shown |= experiments.keys()
        unknown = experiments.keys() - names
        if unknown:
            raise PluginError(f"README.md, {title}: there is no experiment {sorted(unknown)[0]}")
        parts = [experiment_section(name, *rows) for name, rows in experiments.items()]
        page = f"results_{title.lower().replace(' ', '_')}.md"
        found[page] = "\n\n".join([f"# {title}", around.strip(), *parts]) + "\n"
        links.append(f"- [{title}]({page}): {', '.join(f'`{name}`' for name in experiments)}")
    if names - shown:
        raise PluginError(f"README.md, Results: no row for the experiment {sorted(names - shown)[0]}")
    found["index.md"] = "\n".join([before, "", "## Results", intro, *links, after])
    for path in (ROOT / "config").glob("*/page.md"):
        found[f"scene_{path.parent.name}.md"] = here(path.read_text())
    for name in ("CONTRIBUTING", "CHANGELOG"):
        found[f"{name.lower()}.md"] = here((ROOT / f"{name}.md").read_text())
    return found


def on_files(files: Files, *, config: Any) -> Files:
    """Adds the pages."""
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Adds the sources of the examples below their links; leads links to the checkout's root to its pages here."""
    markdown = here(markdown)
    for name, page in (("README", "index"), ("CONTRIBUTING", "contributing"), ("CHANGELOG", "changelog")):
        markdown = markdown.replace(f"](../{name}.md", f"]({page}.md")

    def with_source(link: re.Match[str]) -> str:
        path = ROOT / "docs" / link[1]
        language = {".py": "python", ".sh": "bash", ".yaml": "yaml"}.get(path.suffix, "")
        return f"{link[0]}\n\n```{language}\n{path.read_text()}```"

    return _EXAMPLE.sub(with_source, markdown)
