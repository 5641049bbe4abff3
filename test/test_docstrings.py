"""Examples in the docstrings of the libraries' public names: each runs and gives what it shows."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from typing import Any

import pytest
from library_examples import LIBRARIES


def documented(library: str) -> dict[str, Any]:
    """Public classes and functions by name; errors, warnings, type aliases and constants need no example."""
    package = import_module(library)
    found = {name: getattr(package, name) for name in package.__all__}
    return {
        name: value
        for name, value in found.items()
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
    }


NAMES = [(library, name) for library in LIBRARIES for name in documented(library)]


@pytest.mark.parametrize(("library", "name"), NAMES)
def test_example_gives_what_it_shows(library: str, name: str) -> None:
    value = documented(library)[name]
    (test,) = doctest.DocTestFinder(recurse=False).find(value, f"{library}.{name}", globs={})
    assert test.examples, "the docstring has no example"
    assert "Examples:\n" in test.docstring, "the reference pages show a section Examples as code, and no other"
    lines = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=lines.append)
    assert not lines, "".join(lines)
