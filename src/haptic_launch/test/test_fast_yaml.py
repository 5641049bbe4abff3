"""YAML by libyaml: the documents and the errors are those of PyYAML's own parser, and no text ends the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from haptic_files import load_yaml
from haptic_launch.experiments import share
from haptic_launch.launch_elements import _ExactLoader, _Mapping, load_elements


def read(text: str) -> Any:
    """The document, or the error."""
    try:
        return yaml.load(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return error


def lined(tree: Any) -> Any:
    """A document with the lines of its mappings."""
    if isinstance(tree, _Mapping):
        return (tree.line, {key: lined(value) for key, value in tree.items()})
    return [lined(entry) for entry in tree] if isinstance(tree, list) else tree


def test_a_launch_file_has_the_lines_that_the_exact_parser_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    path = share() / "launch" / "tau_touch_world.launch.yaml"
    trees: list[Any] = []

    def kept(text: str, fast: Any, exact: Any) -> Any:
        trees.extend((load_yaml(text, fast, exact), yaml.load(text, exact)))
        return trees[0]

    monkeypatch.setattr("haptic_launch.launch_elements.load_yaml", kept)
    load_elements.__wrapped__(path)
    fast, exact = map(lined, trees)
    assert fast == exact and fast[0] > 1
    assert lined(yaml.load("a: {b: 1}", _ExactLoader)) == (1, {"a": (1, {"b": 1})})


@pytest.mark.parametrize("path", ["tau_touch_world/experiment", "worlds/tau_touch_world", "scripts/friction_drift"])
def test_a_document_is_the_one_of_the_exact_parser(path: str) -> None:
    text = (share() / "config" / f"{path}.yaml").read_text()
    assert load_yaml(text) == read(text)


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "a: 2020-13-45", "\t- a", "a: *b", "[" * 600, "a: \0", "- !x 1"])
def test_an_error_is_the_one_of_the_exact_parser(text: str) -> None:
    expected = read(text)
    with pytest.raises(type(expected)) as caught:
        load_yaml(text)
    assert str(caught.value) == str(expected)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["[", "{a: ", "- ", "? "])
def test_a_text_that_nests_too_deep_is_refused(level: str) -> None:
    with pytest.raises(RecursionError):
        load_yaml(level * 20_000)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.launch.yaml"
    path.write_text("launch: []\n")
    assert load_elements(path) == () and load_elements(path) is load_elements(path)
    path.write_text("launch:\n- let: {name: a, value: b}\n")
    assert len(load_elements(path)) == 1
