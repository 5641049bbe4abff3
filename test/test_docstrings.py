"""Examples in the docstrings of the libraries' public names: each runs and gives what it shows."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from typing import Any

import pytest
from library_examples import LIBRARIES

#: public classes and functions that have no example yet; a new name does not belong here
LEFT: dict[str, set[str]] = {
    "haptic_friction": set(),
    "admittance_constraints": set(),
    "convex_contact": set(),
    "tau_wall_control": set(),
}


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


@pytest.mark.parametrize(("library", "name"), [pair for pair in NAMES if pair[1] not in LEFT[pair[0]]])
def test_example_gives_what_it_shows(library: str, name: str) -> None:
    value = documented(library)[name]
    (test,) = doctest.DocTestFinder(recurse=False).find(value, f"{library}.{name}", globs={})
    assert test.examples, "the docstring has no example"
    lines = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=lines.append)
    assert not lines, "".join(lines)


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_without_an_example_are_listed(library: str) -> None:
    without = {name for name, value in documented(library).items() if ">>>" not in (value.__doc__ or "")}
    assert without == LEFT[library]
