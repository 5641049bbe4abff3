"""Computations beside a recording whose results are kept while altered recordings are analysed.

A report of several nodes simulates the run in one process, for up to two minutes. The parameters of the nodes decide
the result, so that a recording with an altered column needs no second simulation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from haptic_bags.bags import Bag
from haptic_experiments import graph

_T = TypeVar("_T")
_MOST = 64  #: results that are kept, those that were used last
#: result of each computation, with what its key refers to by identity; None: nothing is kept
_results: OrderedDict[Any, tuple[Any, Any]] | None = None


@contextmanager
def keeping() -> Iterator[None]:
    """Keeps the results of `kept` until the end of the context."""
    global _results
    outer, _results = _results, OrderedDict() if _results is None else _results
    try:
        yield
    finally:
        _results = outer


def kept(compute: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """Computes a result, or returns that of the same computation before, in the context of `keeping`.

    Args:
        compute: function or method whose arguments alone decide the result.
        *arguments: arguments of the function. A bag counts by the parameters of its nodes, numbers, texts, lists and
            arrays by value, all else by identity.
        **options: further arguments.
    """
    if _results is None:
        return compute(*arguments, **options)
    bound = getattr(compute, "__self__", None)
    key = (getattr(compute, "__func__", compute), id(bound), *map(_key, (*arguments, *sorted(options.items()))))
    if key not in _results:
        _results[key] = compute(*arguments, **options), (bound, arguments, options)
    _results.move_to_end(key)
    if len(_results) > _MOST:
        _results.popitem(last=False)
    result: _T = _results[key][0]
    return result


def _key(argument: Any) -> Any:
    if isinstance(argument, Bag):
        return repr(graph.nodes_of(argument))
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.tobytes()
    return repr(argument) if isinstance(argument, list | tuple | str | int | float) else id(argument)
