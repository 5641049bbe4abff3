"""The documentation site: it builds without a warning, needs no other host, and says what the checkout's files say."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import commands
import doctor
import environment
import machine
import markdown
import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

sys.path.insert(0, str(DOCS))
import site_pages  # noqa: E402

PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))} | site_pages.pages()
ELEMENTS = {"ul", "ol", "li", "table", "thead", "tbody", "tr", "td", "th", "pre", "code", "h1", "h2", "h3", "h4"}
ELEMENTS |= {"strong", "em", "a", "img", "p"}
EXPERIMENTS = sorted(path.stem for path in (ROOT / "config" / "experiments").glob("*.yaml"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `./haptics docs` does: any warning is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_every_page_is_built(site: Path) -> None:
    for name in PAGES:
        assert (site / name).with_suffix(".html").exists(), name


def test_the_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for page in [*site.glob("**/*.html"), *site.glob("**/*.css")]:
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*?src=\"([^\"]*)\"", text)
        loaded += re.findall(r"<link[^>]*?href=\"([^\"]*)\"", text) + re.findall(r"url\([\"']?([^\"')]*)", text)
        for address in loaded:
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"


def test_every_link_inside_the_site_leads_to_a_file(site: Path) -> None:
    for page in site.glob("*.html"):
        for address in re.findall(r"(?:href|src)=\"([^\"#?]+)", page.read_text()):
            if not re.match(r"https?:|data:|/", address):
                assert (page.parent / html.unescape(address)).exists(), f"{page.name}: {address}"


def visible(rendered: str) -> tuple[str, dict[str, int]]:
    """The text of a page without white space, and how often each element occurs."""
    elements = re.findall(r"<(\w+)", rendered)
    assert set(elements) <= ELEMENTS, "a placeholder such as <time> is no element: write &lt;time> outside of code"
    text = html.unescape(re.sub(r"<[^>]+>", "", rendered))
    return re.sub(r"\s+", "", text), {name: elements.count(name) for name in set(elements)}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_reads_the_same_in_the_site_and_where_the_file_is_shown_as_commonmark(page: str) -> None:
    site = markdown.markdown(PAGES[page], extensions=["tables", "fenced_code"])
    elsewhere = MarkdownIt("commonmark").enable("table").render(PAGES[page])
    assert visible(site) == visible(elsewhere)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_a_section_with_its_numbers_and_arguments(name: str) -> None:
    found = [page for page in PAGES.values() if f"\n## {name}\n" in page]
    assert len(found) == 1
    section = site_pages.section(found[0], f"## {name}")[1]
    assert f"./haptics run {name}\n" in section
    assert re.search(r"\| claim \| measured \|\n\| --- \| --- \|\n\| \S", section)
    assert "| `mode` | `lockstep` |" in section or "| `duration` |" in section
    assert (DOCS / "images" / f"{name}.png").exists() == (f"](images/{name}.png)" in section)


def test_every_row_of_the_readme_stands_in_the_site() -> None:
    results = site_pages.section(site_pages.here((ROOT / "README.md").read_text()), "## Results")[1]
    rows = re.findall(r"^\|[^|\n]*(\|.*\|)$", results, re.MULTILINE)
    rows = [row for row in rows if "---" not in row and row != "| claim | measured |"]
    assert len(rows) > len(EXPERIMENTS)
    pages = "".join(text for name, text in PAGES.items() if name.startswith("results_"))
    for row in rows:
        assert f"\n{row}\n" in pages, row


def test_a_link_to_an_example_is_followed_by_its_source() -> None:
    text = "The node:\n\n[docs/examples/spring_node.py](examples/spring_node.py)\n\nand [x](examples/spring_node.py) no"
    source = (DOCS / "examples" / "spring_node.py").read_text()
    shown = site_pages.on_page_markdown(text)
    assert shown.count(source) == 1 and f"```python\n{source}```" in shown


def test_every_example_is_shown_on_a_page() -> None:
    shown = "".join(map(site_pages.on_page_markdown, PAGES.values()))
    for path in (DOCS / "examples").glob("*.*"):
        assert path.read_text() in shown, path.name


# ---- troubleshooting follows doctor and setup -------------------------------------------------------------


def test_troubleshooting_has_a_section_for_each_check_of_doctor_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workspace = environment.Workspace(ROOT, tmp_path)
    rows = doctor.examine(workspace)  # without an environment: all but the optional ones
    everything_there: Callable[..., doctor.Row] = lambda _, check, *rest: doctor.Row(check, "ok")  # noqa: E731
    monkeypatch.setattr(doctor, "check_inside", everything_there)
    checks = [row.check for row in rows + doctor.check_optional(workspace)]
    headings = re.findall(r"^## (.*)$", PAGES["troubleshooting.md"], re.MULTILINE)
    assert headings == [*checks, "doctor --live", "Messages of a run"]


@pytest.mark.parametrize("hint", [hint for _, hint in commands._HINTS])
def test_troubleshooting_says_what_setup_says_of_a_failed_stage(hint: str) -> None:
    assert f"| {hint} |" in PAGES["troubleshooting.md"]


def test_troubleshooting_names_the_limits_that_setup_checks() -> None:
    page = PAGES["troubleshooting.md"]
    lowest, highest = (f"{major}.{minor}" for major, minor in machine.PYTHON_RANGE)
    assert f"Python {lowest} to {highest}" in page
    assert f"Setup needs {machine.DISK_NEEDED / 1e9:g} GB" in page
    assert f"runs need {doctor.DISK_FOR_RUNS / 1e9:g} GB" in page


def test_troubleshooting_quotes_messages_that_the_nodes_write() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").glob("haptic_*/haptic_*/**/*.py"))
    section = PAGES["troubleshooting.md"].partition("## Messages of a run")[2]
    quoted = re.findall(r"\*\*(.*?)\*\*", section)
    assert len(quoted) == 14  # none was missed by the pattern
    for message in quoted:
        for part in message.split("..."):
            assert part.strip() in source, message
