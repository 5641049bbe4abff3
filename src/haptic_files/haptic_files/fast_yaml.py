"""YAML by libyaml, which is ten times as fast as PyYAML's own parser, with that parser's limits and error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

__all__ = ["load_yaml"]

#: largest nesting of a text for libyaml, whose recursion ends the process at some ten thousand levels
_MAX_DEPTH = 5000


def load_yaml(
    text: str,
    fast: Any = yaml.CSafeLoader,
    exact: Any = yaml.SafeLoader,
    read: Callable[[str, Any], Any] = yaml.load,
) -> Any:
    """Reads one document by libyaml; a text that libyaml refuses is read by PyYAML, whose errors quote the line.

    Args:
        text: text of the document.
        fast: loader class on libyaml.
        exact: loader class with the same constructors on PyYAML's own parser.
        read: reads the text with a loader class.

    Raises:
        yaml.YAMLError: the text is not YAML.
        ValueError: a value cannot be constructed, such as the date 2020-13-45.
        RecursionError: the text nests too deep.
    """
    if _bound_of_depth(text) < _MAX_DEPTH:
        try:
            return read(text, fast)
        except Exception:  # PyYAML raises AttributeError and others for malformed scalars; `exact` gives the reason
            pass
    return read(text, exact)


def _bound_of_depth(text: str) -> int:
    """Computes an upper bound of the nesting: flow collections have brackets, block collections are indented.

    Sequences may start in the column of their mapping, hence the factor of two.
    """
    longest = max(map(len, text.splitlines()), default=0)
    return text.count("[") + text.count("{") + 2 * longest
