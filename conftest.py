"""Order and grouping of the tests for the two workers of `./haptics test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_RUNS = Path(__file__).parent / "test"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs of whole experiments, which take longest, begin."""
    items.sort(key=lambda item: _RUNS not in item.path.parents)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a package share a worker, and its ROS domain; so do the runs of whole experiments."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.partition("::")[0].rpartition("/")[0]

    return ByFolder(config, log)
