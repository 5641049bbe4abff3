"""Tables and numbers of pages follow from launch files, motions and recorded metrics."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import derived_parts
import scene_tables

METRICS = derived_parts.DOCS / "results" / "metrics"


def test_the_numbers_of_the_readme_are_those_of_the_recorded_metrics() -> None:
    assert derived_parts.wrong_numbers(METRICS) == []


def test_a_number_of_the_readme_that_was_not_measured_is_found(tmp_path: Path) -> None:
    for path in METRICS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    changed = json.loads((METRICS / "friction_impedance.json").read_text())
    changed["runs"]["bag"]["rests"][0]["drift"] = 2.04e-6
    (tmp_path / "friction_impedance.json").write_text(json.dumps(changed))
    assert derived_parts.wrong_numbers(tmp_path) == ["README.md: expected 'the joystick has no lasting drift (2.0 µm'"]


def test_a_page_without_the_place_of_its_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("# Page\n")
    monkeypatch.setattr(derived_parts, "TABLES", {"list": ("page.md", lambda: "| a |")})
    monkeypatch.setattr(derived_parts, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="expected the lines <!-- list: written by"):
        derived_parts.pages()
    first, last = "<!-- list: written by docs/write_results.py -->", "<!-- end of list -->"
    (tmp_path / "page.md").write_text(f"# Page\n{first}\n{last}\nrest\n")
    expected = f"# Page\n{first}\n| a |\n{last}\nrest\n"
    assert derived_parts.pages() == {tmp_path / "page.md": expected}
    (tmp_path / "page.md").write_text(derived_parts.pages()[tmp_path / "page.md"])
    assert derived_parts.pages() == {tmp_path / "page.md": expected}


def test_every_experiment_has_one_device_in_the_table() -> None:
    table = derived_parts.experiments_of_devices()
    assert "| `five_bar` | `friction_admittance` | no |" in table
    assert "`clutter`" not in table and table.count("`touch_clutter`") == 1


def test_the_tables_of_a_page_follow_the_recorded_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = json.loads((METRICS / "cobot_guided_tool.json").read_text())
    recorded["lighter"][0]["split"] = 0.774
    (tmp_path / "cobot_guided_tool.json").write_text(json.dumps(recorded))
    monkeypatch.setattr(scene_tables, "METRICS", tmp_path)
    assert "nodes [N] | 0.77 |" in scene_tables.cobot_tools()
