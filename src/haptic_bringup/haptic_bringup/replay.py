"""Replays a bag, then writes the report that compares the two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from haptic_bags.replay import play
from haptic_files.moved_modules import names_of_moved_module

__getattr__ = names_of_moved_module(__name__, "haptic_bags.replay")


def run_replay(path: Path, into: str | None, words: Sequence[str], console: Console) -> int:
    """Replays a bag into its own experiment or another one and compares the two runs.

    Args:
        path: bag, or a run with one bag.
        into: experiment whose rendering nodes answer; None: the recorded one.
        words: arguments name:=value for that experiment's launch file.
        console: terminal for progress and the comparison.

    Returns:
        0 with any result of the comparison; 1 if a node failed or the bag lacks ticks; 130 after Ctrl-C.

    Raises:
        HapticError: the bag cannot be replayed with these arguments.
    """
    code, directory = play(path, into, words, console)
    if code == 0:
        from haptic_experiments.replay_report import write_replay_report  # matplotlib loads only when it is needed

        write_replay_report(directory, console)
    return code
