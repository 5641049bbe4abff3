"""YAML by libyaml, which is ten times as fast as PyYAML's own parser, with that parser's limits and error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

__all__ = ["load_yaml"]

#: levels that a text may nest for libyaml, whose recursion ends the process at some ten thousand
_MAX_DEPTH = 5000


def load_yaml(
    text: str,
    fast: Any = yaml.CSafeLoader,
    exact: Any = yaml.SafeLoader,
    read: Callable[[str, Any], Any] = yaml.load,
) -> Any:
    """Reads one document. What libyaml refuses is read again by PyYAML, whose errors quote the line.

    Args:
        text: the document.
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
        except Exception:  # PyYAML raises AttributeError and others for malformed scalars; the exact one says why
            pass
    return read(text, exact)


def _bound_of_depth(text: str) -> int:
    """Bounds the nesting from above: flow collections have brackets, block collections start right of their parent.

    Sequences may start in the column of the mapping that holds them, hence the factor of two.
    """
    longest = max(map(len, text.splitlines()), default=0)
    return text.count("[") + text.count("{") + 2 * longest
