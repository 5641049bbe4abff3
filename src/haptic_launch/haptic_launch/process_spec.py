"""A process of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: programs that only show what goes on; no run depends on them
VIEWERS = ("rviz2", "state_publisher", "viewer")


@dataclass(frozen=True)
class ProcessSpec:
    """One process to run.

    Attributes:
        name: short and unique; stands before each line of output.
        command: program and arguments.
        environment: all of its environment.
        on_exit_shutdown: whether its end ends the run.
        source: origin, such as file, line and element.
        fully_qualified_name: the ROS node's name with its namespace, if it is one and the name is known.
        respawn_delay: seconds from its failure until it is started again; None: its failure ends the run.
        given_parameters: by name of a parameter of the node, the argument of the user from which its value follows.
    """

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    on_exit_shutdown: bool = False
    source: str = ""
    fully_qualified_name: str | None = None
    respawn_delay: float | None = None
    given_parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def only_shows(self) -> bool:
        """Nothing depends on it: its failure is reported, but neither ends nor fails the run."""
        return Path(self.command[0]).name in VIEWERS
