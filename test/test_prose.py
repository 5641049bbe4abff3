"""The check of the suite's prose finds what it is about."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", Path(__file__).parents[1] / "tools" / "prose.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("what is simulated, see docs/contact.md", 1),
        ("likewise [m]", 1),
        ("Whether the limit falls", 1),
        ("world that is simulated", 0),
        ("whatever it is", 0),
    ],
)
def test_a_description_in_yaml_has_a_subject(prose: ModuleType, tmp_path: Path, text: str, findings: int) -> None:
    path = tmp_path / "a.launch.yaml"
    path.write_text(f'launch:\n- arg: {{name: a, default: b, description: "{text}"}}\n- arg: {{title: "what"}}\n')
    found = [finding for part in prose.texts(path) for finding in prose.findings_of_description(part)]
    assert [line for line, _ in found] == [2] * findings


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class A:\n    way: float\n", "way"),
        ("class A:\n    first, told = 1, 2\n", "told"),
        ("MAX_TRAVEL = 1\n", "MAX_TRAVEL"),
        ('def f(told):\n    """Returns."""\n', "told"),
        ('def f(*, told=1):\n    """Returns."""\n', "told"),
        ("a.told = 1\n", "told"),
        ('def bear():\n    """Returns."""\n', "bear"),
        ("class A:\n    way = RenamedMember('path')\n", None),
        ("class A:\n    travel: float\n", None),
        ("_told = 1\n", None),
        ("print(a.told)\n", None),
    ],
)
def test_names_of_classes_functions_fields_and_arguments_are_standard(
    prose: ModuleType, source: str, name: str | None
) -> None:
    found = [text for _, text in prose.findings_of_code(source) if text.startswith("private word in the name")]
    assert [text.split()[5].rstrip(":") for text in found] == ([name] if name else [])


def test_comment_of_a_constant_has_a_subject(prose: ModuleType) -> None:
    """Also after another comment, and as the last line of a module."""
    source = "# Why.\n\n#: what is allowed\nLIMIT = 1\n#: how far\n"
    assert [line for line, _ in prose.findings_of_code(source)] == [3, 5]
    assert not list(prose.findings_of_code("#: largest value\nLIMIT = 1  # what is allowed\n"))
