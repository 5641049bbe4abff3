"""Which parser reads a text: libyaml unless the text may nest so deep that libyaml ends the process."""

from __future__ import annotations

import pytest

from haptic_files.fast_yaml import load_yaml


@pytest.mark.parametrize(
    ("text", "parser"),
    [
        ("a: 1", "libyaml"),
        ("[\n" * 2500 + "{\n" * 2497, "libyaml"),
        ("[\n" * 2500 + "{\n" * 2498, "PyYAML"),
        (" " * 2498 + "a", "libyaml"),
        (" " * 2499 + "a", "PyYAML"),
        ("[\n" * 4000 + " " * 600 + "a", "PyYAML"),
    ],
)
def test_brackets_and_twice_the_longest_line_bound_the_depth_for_libyaml(text: str, parser: str) -> None:
    assert load_yaml(text, fast="libyaml", exact="PyYAML", read=lambda text, loader: loader) == parser


def test_text_that_libyaml_refuses_is_read_by_the_other_parser() -> None:
    def read(text: str, loader: str) -> str:
        if loader == "libyaml":
            raise AttributeError
        return loader

    assert load_yaml("a: 1", fast="libyaml", exact="PyYAML", read=read) == "PyYAML"
