"""Fixtures of the integration tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from setup_checkout import Checkout
from started_runs import Run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts runs in folders of their own and leaves none behind."""
    runs: list[Run] = []

    def make(*arguments: str) -> Run:
        folder = tmp_path / f"run{len(runs)}"
        folder.mkdir()
        runs.append(Run(folder, *arguments))
        return runs[-1]

    yield make
    for run in runs:
        run.end()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A copy of the script with a small workspace."""
    return Checkout(tmp_path)
