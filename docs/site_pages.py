"""Hooks of the documentation site (mkdocs.yml), which add pages to those of this directory.

README.md becomes the first page, config/<experiment>/page.md the page of an experiment; the programs of examples/ are
on one page, its notebooks on one each; each library has a reference page. A paragraph that is a link to a file of
docs/examples/ is followed by the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import notebook_pages
import reference_pages
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
_EXAMPLE = re.compile(r"^\[[^\]]+\]\((examples/[^)]+)\)$", re.MULTILINE)


def here(text: str, up: str = "") -> str:
    """Replaces the links of a text of the checkout by those of its page in docs/.

    Args:
        text: text in Markdown.
        up: path from the folder of the page to docs/.
    """
    text = re.sub(r"\]\((\.\./)*docs/", f"]({up}", text)
    text = re.sub(r"\]\((\.\./)*config/(\w+)/page\.md", rf"]({up}scene_\2.md", text)
    text = re.sub(r"\]\(CITATION\.cff\)", "]", text).replace("[CITATION.cff]", "CITATION.cff")
    text = re.sub(r"\]\((\.\./)*examples/README\.md", f"]({up}examples.md", text)
    text = re.sub(r"\]\((\.\./)*examples/(\w+)\.ipynb", rf"]({up}\2.md", text)
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py", rf"]({up}examples.md#\1", text)
    return re.sub(r"\]\((CONTRIBUTING|CHANGELOG)\.md", lambda found: f"]({up}{found[1].lower()}.md", text)


def programs() -> str:
    """Makes the page of examples/: the list, a gallery, then each program with its figure."""
    folder = ROOT / "examples"
    listed = re.sub(r"\]\((\w+)\.py\)", r"](#\1)", (folder / "README.md").read_text())
    listed = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", listed)
    programs = sorted(folder.glob("*.py"))
    picture = {path: f"![figure of {path.stem}](images/examples/{path.stem}.png)" for path in programs}
    gallery = ["## Gallery\n", *(f"[{shown}](#{path.stem})" for path, shown in picture.items()), ""]
    sources = [f"## {path.stem}\n\n{picture[path]}\n\n```python\n{path.read_text()}```\n" for path in programs]
    return "\n".join([listed, *gallery, *sources])


def pages() -> dict[str, str]:
    """Makes the generated pages, text by name."""
    found = {"index.md": here((ROOT / "README.md").read_text())}
    for path in (ROOT / "config").glob("*/page.md"):
        found[f"scene_{path.parent.name}.md"] = here(path.read_text())
    found["examples.md"] = programs()
    for package in reference_pages.PACKAGES:
        found[f"reference_{package}.md"] = reference_pages.page(package)
    for name in ("CONTRIBUTING", "CHANGELOG"):
        found[f"{name.lower()}.md"] = here((ROOT / f"{name}.md").read_text())
    return found


def on_config(config: Any) -> Any:
    """Adds the pages of the experiments to the navigation, with their headings as titles."""
    (experiments,) = (entry["Experiments"] for entry in config.nav if "Experiments" in entry)
    for name, text in sorted(pages().items()):
        if name.startswith("scene_"):
            experiments.append({text.partition("\n")[0].removeprefix("# "): name})
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Adds the generated pages and those of the notebooks."""
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        text, pictures = notebook_pages.page(path, path.stat().st_mtime)
        files.append(File.generated(config, f"{path.stem}.md", content=here(text)))
        for picture, data in pictures.items():
            files.append(File.generated(config, picture, content=data))
    return files


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Adds the sources of the examples below their links; links to the checkout's root lead to its pages."""
    markdown = here(markdown, "../" * (page.file.src_uri.count("/") if page else 0))
    for name, page in (("README", "index"), ("CONTRIBUTING", "contributing"), ("CHANGELOG", "changelog")):
        markdown = markdown.replace(f"](../{name}.md", f"]({page}.md")

    def with_source(link: re.Match[str]) -> str:
        path = ROOT / "docs" / link[1]
        language = {".py": "python", ".sh": "bash", ".yaml": "yaml"}.get(path.suffix, "")
        return f"{link[0]}\n\n```{language}\n{path.read_text()}```"

    return _EXAMPLE.sub(with_source, markdown)
