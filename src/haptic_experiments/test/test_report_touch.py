"""The report of touch names the bodies of the deepest contact."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from haptic_experiments.experiments.touch import deepest_contact


def run_of(*gaps: list[float]) -> Any:
    """A run whose contacts have these gaps [m] by tick; contact i is between the bodies i and i + 1."""
    contacts = [
        SimpleNamespace(signed_distance=np.array(row), body=np.array([[i, i + 1] for i in range(len(row))]))
        for row in gaps
    ]
    return SimpleNamespace(names=["table", "base", "finger"], tick=np.arange(len(gaps)), period=1e-3, contacts=contacts)


def test_bodies_and_time_of_the_deepest_contact_are_named() -> None:
    runs = [run_of([], [-1e-4, 2e-3]), run_of([], [-1e-4], [-1e-4, -5e-3], [-2e-3])]
    assert deepest_contact(runs) == "deepest contact (of base and finger at 0.002 s)"


def test_a_run_without_contacts_names_none() -> None:
    assert deepest_contact([run_of([], [1e-3])]) == "deepest contact"
