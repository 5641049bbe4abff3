"""Numbers of a report with one of them altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any


def altered(numbers: Any, path: Sequence[Any], value: Any) -> Any:
    """A copy of nested numbers in which one is another value.

    Args:
        numbers: dataclasses, named tuples, mappings and sequences in each other.
        path: names of fields, keys and indices that lead to the number.
        value: the other value.
    """
    if not path:
        return value
    first, *rest = path
    if is_dataclass(numbers) and not isinstance(numbers, type):
        return replace(numbers, **{first: altered(getattr(numbers, first), rest, value)})
    if hasattr(numbers, "_replace"):
        return numbers._replace(**{first: altered(getattr(numbers, first), rest, value)})
    if isinstance(numbers, list | tuple):
        return type(numbers)(altered(one, rest, value) if k == first else one for k, one in enumerate(numbers))
    assert first in numbers, f"{first} is none of {list(numbers)}"
    return {**numbers, first: altered(numbers[first], rest, value)}
