"""Computations beside a recording: none is repeated while altered recordings are analysed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_experiments import graph
from haptic_experiments.kit import kept as module
from haptic_experiments.kit.kept import keeping, kept


class Counted:
    """Sums and counts how often it did."""

    def __init__(self) -> None:
        self.calls = 0

    def total(self, values: Any, scale: float = 1.0) -> float:
        self.calls += 1
        return scale * float(np.sum(values))


def test_the_same_arguments_are_computed_once() -> None:
    counted = Counted()
    with keeping():
        assert [kept(counted.total, np.ones(3)) for _ in range(3)] == [3.0, 3.0, 3.0]
        assert counted.calls == 1


def test_other_arguments_and_other_objects_are_computed_anew() -> None:
    counted, other = Counted(), Counted()
    with keeping():
        found = [kept(counted.total, np.ones(3)), kept(counted.total, np.ones(4)), kept(counted.total, [1.0, 2.5])]
        found += [kept(counted.total, np.ones(3), scale=2.0), kept(other.total, np.ones(3))]
    assert found == [3.0, 4.0, 3.5, 6.0, 3.0] and (counted.calls, other.calls) == (4, 1)


def test_nothing_is_kept_outside() -> None:
    counted = Counted()
    with keeping():
        kept(counted.total, [1.0])
    assert [kept(counted.total, [1.0]) for _ in range(2)] == [1.0, 1.0] and counted.calls == 3
    with keeping():
        kept(counted.total, [1.0])
    assert counted.calls == 4


def test_a_bag_counts_by_the_parameters_of_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "nodes_of", lambda bag: [bag.custom])
    bags = [Bag.__new__(Bag) for _ in range(3)]
    for bag, stiffness in zip(bags, (1.0, 1.0, 2.0), strict=True):
        bag.custom = {"stiffness": stiffness}
    calls: list[Bag] = []
    with keeping():
        for bag in bags:
            kept(calls.append, bag)
    assert calls == [bags[0], bags[2]]


def test_the_results_that_were_used_last_are_kept() -> None:
    counted = Counted()
    with keeping():
        for value in range(module._MOST + 1):
            kept(counted.total, [0.0])
            kept(counted.total, [float(value + 1)])
        calls = counted.calls
        kept(counted.total, [0.0])
        assert counted.calls == calls
        kept(counted.total, [1.0])
        assert counted.calls == calls + 1
