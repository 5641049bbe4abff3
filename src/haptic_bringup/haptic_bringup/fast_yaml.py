"""YAML by libyaml, which is ten times as fast as PyYAML's own parser, with that parser's limits and error messages."""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["load_yaml"]

#: levels that a text may nest for libyaml, whose recursion ends the process at some ten thousand
_MAX_DEPTH = 5000


def load_yaml(text: str, fast: Any = yaml.CSafeLoader, exact: Any = yaml.SafeLoader) -> Any:
    """Reads one document. What libyaml refuses is read again by PyYAML, whose errors quote the line.

    Args:
        text: the document.
        fast: loader class on libyaml.
        exact: loader class with the same constructors on PyYAML's own parser.

    Raises:
        yaml.YAMLError: the text is not YAML.
        ValueError: a value cannot be constructed, such as the date 2020-13-45.
        RecursionError: the text nests too deep.
    """
    if _bound_of_depth(text) < _MAX_DEPTH:
        try:
            return yaml.load(text, fast)
        except (yaml.YAMLError, ValueError, RecursionError):
            pass
    return yaml.load(text, exact)


def _bound_of_depth(text: str) -> int:
    """Bounds the nesting from above: flow collections have brackets, block collections start right of their parent.

    Sequences may start in the column of the mapping that holds them, hence the factor of two.
    """
    longest = max(map(len, text.splitlines()), default=0)
    return text.count("[") + text.count("{") + 2 * longest
