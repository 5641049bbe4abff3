"""Checks of a run's nodes before a process starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_launch.launch_nodes import LaunchedNode
from haptic_launch.node_checks import RECORDER, check_outputs
from haptic_launch.runner import UsageError


def recorder(output: Path) -> LaunchedNode:
    return LaunchedNode("recorder", "", RECORDER, {"output": str(output)})


def test_output_that_can_be_made_is_not_left_behind(tmp_path: Path) -> None:
    check_outputs([recorder(tmp_path / "new" / "run" / "bag")])
    assert list(tmp_path.iterdir()) == []


def test_refused_output_leaves_no_parent(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^node /recorder: parameter output: .*cannot be made: File name too long$"):
        check_outputs([recorder(tmp_path / "new" / ("a" * 300))])
    assert list(tmp_path.iterdir()) == []
