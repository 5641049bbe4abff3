"""The examples: each runs, its own check holds, and it leaves the figure of its name."""

from __future__ import annotations

import ast
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import write_gallery  # noqa: E402

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_example_runs_and_leaves_its_figure(path: Path, folder: Path) -> None:
    runpy.run_path(str(path), run_name="__main__")
    figure = np.asarray(write_gallery.small(folder / f"{path.stem}.png").convert("L"), dtype=float)
    assert figure.std() > 5.0  # not an empty page
    with Image.open(write_gallery.PICTURES / f"{path.stem}.png") as shown:
        kept = np.asarray(shown.convert("L"), dtype=float)
    assert kept.shape == figure.shape
    # the gallery's picture is that of this program; digits of labels and curves may differ between machines
    assert np.corrcoef(kept.ravel(), figure.ravel())[0, 1] > 0.7


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_example_has_a_check_and_fits_on_a_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    checks = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    assert checks or "np.testing." in text
    assert 20 <= len(text.splitlines()) <= 75


def test_the_list_names_each_example_with_its_first_line() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        first = str(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))).splitlines()[0]
        assert f"[{path.stem}]({path.name}) | {first} |" in listed
    for path in NOTEBOOKS:
        assert f"[{path.stem}]({path.name}) | " in listed
    assert listed.count("](") == len(EXAMPLES) + len(NOTEBOOKS)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("package", sorted(path.parent.name for path in (ROOT / "src").glob("*/README.md")))
def test_code_in_the_readme_of_a_package_runs(package: str) -> None:
    Path("device.yaml").write_text("mass: 1.0\n")  # the file that haptic_files reads
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "src" / package / "README.md").read_text(), re.DOTALL):
        exec(code, {})
