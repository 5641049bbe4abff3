"""Description of a process of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: programs that only display a run; no run depends on them
VIEWERS = ("rviz2", "state_publisher", "viewer")


@dataclass(frozen=True)
class ProcessSpec:
    """One process to run.

    Attributes:
        name: short and unique name, printed before each line of output.
        command: program and arguments.
        environment: complete environment of the process.
        on_exit_shutdown: whether the end of the process ends the run.
        source: origin, such as file, line and element.
        fully_qualified_name: name of the ROS node with its namespace; None if unknown or not a node.
        respawn_delay: time from a failure to the restart [s]; None: a failure ends the run.
        given_parameters: argument of the user that determines a parameter of the node, by the parameter's name.
        required: whether an end with exit code 0 before that of the run is a failure, too.
    """

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    on_exit_shutdown: bool = False
    source: str = ""
    fully_qualified_name: str | None = None
    respawn_delay: float | None = None
    given_parameters: Mapping[str, str] = field(default_factory=dict)
    required: bool = False

    @property
    def only_shows(self) -> bool:
        """True for a program that only displays: its failure is reported, but neither ends nor fails the run."""
        return Path(self.command[0]).name in VIEWERS


def signal_of(code: int) -> int:
    """Returns the number of the signal that ended a process, which a shell reports as 128 + number; else 0 or less."""
    return -code if code < 0 else code - 128


def describe_end(code: int) -> str:
    """Returns a description of the end of a process, by the exit code of `subprocess.Popen`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
