"""YAML by libyaml, which is ten times as fast as PyYAML's own parser, with that parser's limits and error messages.

Every document of the suite is read here. A document is refused before its values are constructed if an alias stands
within its own value, if it has too many values or levels with its aliases expanded, or if a mapping has a key twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

__all__ = ["DocumentError", "load_yaml", "root_and_value"]

#: largest nesting of a text for libyaml, whose recursion ends the process at some ten thousand levels
_MAX_DEPTH = 5000
#: largest number of values, and of levels, of a document whose aliases are expanded
_MAX_VALUES, _MAX_LEVELS = 1_000_000, 100


class DocumentError(yaml.MarkedYAMLError):
    """A document is YAML, but is refused; `problem` is the reason, without the text of the document."""

    def __init__(self, problem: str, node: yaml.Node) -> None:
        super().__init__(problem=problem, problem_mark=node.start_mark)


def root_and_value(text: str, loader_type: Any) -> tuple[yaml.Node | None, Any]:
    """Reads the root node and the value of a document; both are None if it is empty.

    Raises:
        DocumentError: the document is refused.
    """
    loader = loader_type(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, None
        if not isinstance(root, yaml.ScalarNode):
            _measure(root, 1, {})
        return root, loader.construct_document(root)
    finally:
        loader.dispose()


def _measure(node: yaml.Node, level: int, measured: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Returns the number of values and of levels of a node, with its aliases expanded; refuses what is too large.

    Args:
        node: list or mapping of the document; an alias is the node that it stands for.
        level: level of the node in the document.
        measured: result by the identity of a node; None while its own values are measured.
    """
    if id(node) not in measured:
        if level > _MAX_LEVELS:
            raise DocumentError(f"expected at most {_MAX_LEVELS} levels", node)
        measured[id(node)] = None
        values, levels = 1, 1
        for part in _pairs(node) if isinstance(node, yaml.MappingNode) else node.value:
            if isinstance(part, yaml.ScalarNode):
                values += 1
            else:
                inner = _measure(part, level + 1, measured)
                values, levels = values + inner[0], max(levels, 1 + inner[1])
        if values > _MAX_VALUES:
            raise DocumentError(f"expected at most {_MAX_VALUES} values, with the aliases expanded", node)
        measured[id(node)] = values, levels
    found = measured[id(node)]
    if found is None:
        raise DocumentError("expected no alias within the value that it stands for", node)
    if level + found[1] - 1 > _MAX_LEVELS:
        raise DocumentError(f"expected at most {_MAX_LEVELS} levels, with the aliases expanded", node)
    return found


def _pairs(node: yaml.MappingNode) -> list[yaml.Node]:
    """Returns the keys and values of a mapping; refuses a key that it has twice."""
    found: set[tuple[str, str]] = set()
    parts: list[yaml.Node] = []
    for pair in node.value:
        key = pair[0]
        if isinstance(key, yaml.ScalarNode):
            if (name := (key.tag, key.value)) in found:
                raise DocumentError("expected each key of a mapping once", key)
            found.add(name)
        parts += pair
    return parts


def _value(text: str, loader_type: Any) -> Any:
    return root_and_value(text, loader_type)[1]


def load_yaml(
    text: str,
    fast: Any = yaml.CSafeLoader,
    exact: Any = yaml.SafeLoader,
    read: Callable[[str, Any], Any] = _value,
) -> Any:
    """Reads one document by libyaml; a text that libyaml refuses is read by PyYAML, whose errors quote the line.

    Args:
        text: text of the document.
        fast: loader class on libyaml.
        exact: loader class with the same constructors on PyYAML's own parser.
        read: reads the text with a loader class.

    Raises:
        yaml.YAMLError: the text is not YAML, or it is refused (`DocumentError`).
        ValueError: a value cannot be constructed, such as the date 2020-13-45.
        RecursionError: the text nests too deep.
    """
    if _bound_of_depth(text) < _MAX_DEPTH:
        try:
            return read(text, fast)
        except DocumentError:
            raise
        except Exception:  # PyYAML raises AttributeError and others for malformed scalars; `exact` gives the reason
            pass
    return read(text, exact)


def _bound_of_depth(text: str) -> int:
    """Computes an upper bound of the nesting: flow collections have brackets, block collections are indented.

    Sequences may start in the column of their mapping, hence the factor of two.
    """
    longest = max(map(len, text.splitlines()), default=0)
    return text.count("[") + text.count("{") + 2 * longest
