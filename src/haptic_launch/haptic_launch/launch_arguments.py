"""Arguments of a launch file: unknown and missing ones."""

from __future__ import annotations

import difflib
from collections.abc import Container, Mapping, Sequence

from .launch_elements import Argument, ArgumentElement, Element, GroupElement
from .launch_substitutions import LaunchFileError


def check_known(given: Mapping[str, str], known: Mapping[str, Argument]) -> None:
    """Refuses an argument that no file declares."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            names = ", ".join(sorted(known)) or "none"
            raise LaunchFileError(f"unknown argument '{name}'{hint} (known arguments: {names})")


def missing_argument(elements: Sequence[Element], given: Container[str]) -> Argument | None:
    """Returns the first required argument, declared unconditionally in this very file, that is not given."""
    for element in elements:
        missing = None
        if element.condition is None and isinstance(element, GroupElement):
            missing = missing_argument(element.children, given)
        elif element.condition is None and isinstance(element, ArgumentElement):
            required = element.argument.default is None and element.argument.name not in given
            missing = element.argument if required else None
        if missing is not None:
            return missing
    return None


def describe_missing(argument: Argument) -> str:
    """Returns the error text for a required argument that is not given."""
    about = f" ({argument.description})" if argument.description else ""
    choices = f", one of: {', '.join(argument.choices)}" if argument.choices is not None else ""
    return f"argument '{argument.name}'{about} is required: give {argument.name}:=VALUE{choices}"
