"""The documentation site: it builds without a warning, needs no other host, and says what the checkout's files say."""

from __future__ import annotations

import html
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import machine
import markdown
import nbformat
import pytest
import yaml
from markdown_it import MarkdownIt
from nbclient.exceptions import CellExecutionError

from haptic_bringup import doctor

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

sys.path.insert(0, str(DOCS))
import notebook_pages  # noqa: E402
import reference_pages  # noqa: E402
import site_pages  # noqa: E402
import write_results  # noqa: E402

PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))} | site_pages.pages()
RESULTS = {path.name: path.read_text() for path in sorted((DOCS / "results").glob("*.md"))}
ELEMENTS = {"ul", "ol", "li", "table", "thead", "tbody", "tr", "td", "th", "pre", "code", "h1", "h2", "h3", "h4"}
ELEMENTS |= {"strong", "em", "a", "img", "p"}
EXPERIMENTS = sorted(path.parent.name for path in (ROOT / "config").glob("*/experiment.yaml"))


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `./haptics docs` does: any warning, and a check of a notebook that fails, is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.mark.slow
def test_every_page_is_built(site: Path) -> None:
    for name in PAGES:
        assert (site / name).with_suffix(".html").exists(), name


@pytest.mark.slow
def test_the_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for page in [*site.glob("**/*.html"), *site.glob("**/*.css")]:
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*?src=\"([^\"]*)\"", text)
        loaded += re.findall(r"<link[^>]*?href=\"([^\"]*)\"", text) + re.findall(r"url\([\"']?([^\"')]*)", text)
        for address in loaded:
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"


@pytest.mark.slow
def test_every_link_inside_the_site_leads_to_a_file(site: Path) -> None:
    for page in site.glob("**/*.html"):
        for address in re.findall(r"(?:href|src)=\"([^\"#?]+)", page.read_text()):
            if not re.match(r"https?:|data:|/", address):
                assert (page.parent / html.unescape(address)).exists(), f"{page.name}: {address}"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_shown_with_its_equations_and_figures(path: Path, site: Path) -> None:
    page = (site / f"{path.stem}.html").read_text()
    source = path.read_text()
    assert page.count("<math ") == len(notebook_pages.EQUATION.findall(_markdown_of(path))) > 0
    assert len(re.findall(rf'<img[^>]*src="{path.stem}_', page)) == source.count("plt.show()") > 0


def _markdown_of(path: Path) -> str:
    cells = json.loads(path.read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_kept_without_its_results_and_checks_itself(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert sum("assert" in line for cell in cells for line in cell["source"]) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("package", reference_pages.PACKAGES)
def test_a_reference_page_has_every_public_name(package: str, site: Path) -> None:
    page = (site / f"reference_{package}.html").read_text()
    shown = set(re.findall(rf'<h3 id="{package}\.(\w+)"', page))
    assert shown == set(importlib.import_module(package).__all__)


@pytest.mark.slow
def test_a_check_that_fails_stops_the_notebook(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 3")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "wrong.ipynb")
    with pytest.raises(CellExecutionError, match="assert 1 \\+ 1 == 3"):
        notebook_pages.page(tmp_path / "wrong.ipynb", 0.0)


def visible(rendered: str) -> tuple[str, dict[str, int]]:
    """The text of a page without white space, and how often each element occurs."""
    elements = re.findall(r"<(\w+)", rendered)
    assert set(elements) <= ELEMENTS, "a placeholder such as <time> is no element: write &lt;time> outside of code"
    text = html.unescape(re.sub(r"<[^>]+>", "", rendered))
    return re.sub(r"\s+", "", text), {name: elements.count(name) for name in set(elements)}


@pytest.mark.slow
@pytest.mark.parametrize("text", [*PAGES.values(), *RESULTS.values()], ids=[*PAGES, *(f"results/{n}" for n in RESULTS)])
def test_a_page_reads_the_same_in_the_site_and_where_the_file_is_shown_as_commonmark(text: str) -> None:
    site = markdown.markdown(text, extensions=["tables", "fenced_code"])
    elsewhere = MarkdownIt("commonmark").enable("table").render(text)
    assert visible(site) == visible(elsewhere)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_a_section_with_its_claims_and_arguments(name: str) -> None:
    found = [text for text in RESULTS.values() if f"\n## {name}\n" in text]
    assert len(found) == 1
    section = found[0].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert f"./haptics run {name}\n" in section
    claims = json.loads((DOCS / "results" / "metrics" / f"{name}.json").read_text())["claims"]
    head = "| claim | measured | verdict | fails with |\n| --- | --- | --- | --- |\n"
    table = section.partition(head)[2].partition("\n\n")[0]
    assert len(table.splitlines()) == len(claims) > 0
    assert "| `mode` | `lockstep` |" in section and "| `duration` |" in section
    assert (DOCS / "images" / f"{name}.png").exists() == (f"](../images/{name}.png)" in section)


def test_explanations_of_failed_claims_must_fit_the_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = json.loads(write_results.FOUND.read_text())["friction_model_b"]
    text, *others = known
    altered = {"friction_model_b": {**{other: known[other] for other in others}, "It flies.": "a stone"}}
    monkeypatch.setattr(write_results, "FOUND", tmp_path / "found.json")
    write_results.FOUND.write_text(json.dumps(altered))
    monkeypatch.setattr(write_results, "BY_HAND", tmp_path / "by_hand.yaml")
    write_results.BY_HAND.write_text(yaml.safe_dump({"friction_model_b": {others[0]: "a wish"}}))
    assert write_results.wrong_failures(["friction_model_b"]) == [
        "friction_model_b: no such claim: It flies.",
        f"friction_model_b: nothing is said to fail: {text}",
        f"friction_model_b: said by hand, and found: {others[0]}",
    ]


def test_each_shown_claim_of_each_experiment_and_study_was_seen_to_fail() -> None:
    assert write_results.wrong_failures() == []


@pytest.mark.parametrize("name", write_results.ALTERATIONS)
def test_each_chosen_alteration_fails_a_claim(name: str) -> None:
    """The alterations that a new recording repeats are those that the pages of results print."""
    known = json.loads(write_results.FOUND.read_text())[name]
    assert set(known.values()) == set(write_results.ALTERATIONS[name])


@pytest.mark.parametrize("name", [*EXPERIMENTS, *write_results.STUDIES])
def test_a_new_claim_without_what_fails_it_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = json.loads((write_results.METRICS / f"{name}.json").read_text())
    known["claims"].append({"claim": "It flies.", "measured": "", "shown": True})
    monkeypatch.setattr(write_results, "METRICS", tmp_path)
    (tmp_path / f"{name}.json").write_text(json.dumps(known))
    assert write_results.wrong_failures([name]) == [f"{name}: nothing is said to fail: It flies."]


def test_failures_of_an_experiment_that_is_no_more_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_results, "BY_HAND", tmp_path / "by_hand.yaml")
    write_results.BY_HAND.write_text(yaml.safe_dump({"flying_stone": {"It flies.": "a stone"}}))
    assert "flying_stone: no such experiment or study" in write_results.wrong_failures()


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


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


def test_troubleshooting_has_a_section_for_each_check_of_doctor_and_no_other(tmp_path: Path) -> None:
    machine_checks = [name for name, *_ in machine.checks("wheels", tmp_path, 0.0)]
    inside = [name for name, *_ in doctor.CHECKS + doctor.optional_rows()]
    headings = re.findall(r"^## (.*)$", PAGES["troubleshooting.md"], re.MULTILINE)
    assert headings == [
        *machine_checks,
        "ROS 2",
        *inside,
        "doctor --live",
        "Settings in the environment",
        "Messages of a run",
    ]


def test_troubleshooting_quotes_the_message_of_a_failed_part_of_setup() -> None:
    hints = re.findall(r'echo "(.*)" ;;', (ROOT / "tools" / "setup" / "environment.sh").read_text())
    assert len(hints) == 6
    for hint in hints:
        assert f"| {hint} |" in PAGES["troubleshooting.md"]


def test_troubleshooting_names_the_limits_that_setup_checks() -> None:
    page = PAGES["troubleshooting.md"]
    lowest, highest = (f"{major}.{minor}" for major, minor in machine.PYTHON_RANGE)
    assert f"Python {lowest} to {highest}" in page
    assert f"Setup needs {machine.DISK_FOR_SETUP / 1e9:g} GB" in page
    assert f"runs need {machine.DISK_FOR_RUNS / 1e9:g} GB" in page


def test_troubleshooting_quotes_messages_that_the_nodes_write() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").glob("haptic_*/haptic_*/**/*.py"))
    section = PAGES["troubleshooting.md"].partition("## Messages of a run")[2]
    quoted = re.findall(r"\*\*(.*?)\*\*", section)
    assert len(quoted) == 16  # none was missed by the pattern
    for message in quoted:
        for part in message.split("..."):
            assert part.strip() in source, message
