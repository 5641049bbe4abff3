"""Experiment metadata: what `config/<name>/experiment.yaml` says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from haptic_core.errors import HapticError
from haptic_files import FileError, kind_of, read_yaml
from haptic_files.schema import describe_refusal
from haptic_launch.experiment_graph import CLOCK, Edge, evaluation_order


class Recorded(BaseModel):
    """Topics of the bag and their types."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every_tick: dict[str, str] = Field(description="topics with one message a tick, checked for gaps")
    events: dict[str, str] = Field(default={}, description="latched topics with a message now and then")


class Experiment(BaseModel):
    """Metadata of one experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    paper: str = Field(description="which figure or section it is the counterpart of")
    summary: str
    launch: str = Field(description="launch file below launch/")
    report: str = Field(description="module of haptic_experiments.experiments")
    clock: str = Field(description="topic of the device whose ticks the others answer")
    recorded: Recorded
    graph: tuple[Edge, ...] = Field(default=(), description="order of evaluation within a tick, of several nodes")
    variants: dict[str, dict[str, str]] = Field(
        default={}, description="argument sets that are run in turn, one bag each, in lockstep"
    )

    @field_validator("graph")
    @classmethod
    def _check_graph(cls, edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
        evaluation_order(edges)
        return edges

    @property
    def launch_file(self) -> Path:
        """Path of the launch file."""
        return share() / "launch" / self.launch

    def writers(self, message: str) -> int:
        """How many nodes publish each tick on a topic of this type: the device's sources all answer on one."""
        return max(1, sum(edge.target == CLOCK and edge.message == message for edge in self.graph))

    @property
    def passivity_topics(self) -> list[str]:
        """Where device and nodes publish the energy at their ports, if they are asked to: each tick, PassivityState."""
        nodes = [topic.removesuffix("/state") for topic in self.recorded.every_tick if topic.endswith("/state")]
        return [f"{node}/passivity" for node in (self.clock.removesuffix("_state"), *nodes)]

    @property
    def topics(self) -> dict[str, str]:
        """All recorded topics and their types."""
        return {**self.recorded.every_tick, **self.recorded.events}


def share() -> Path:
    """Share directory of the installed package, with launch/ and config/."""
    try:
        return Path(get_package_share_directory("haptic_bringup"))
    except PackageNotFoundError:
        raise HapticError("the workspace is not built or not sourced; run ./haptics setup") from None


def experiment_names() -> list[str]:
    """Names of all experiments."""
    return sorted(path.parent.name for path in (share() / "config").glob("*/experiment.yaml"))


def load_experiment(name: str) -> Experiment:
    """Reads an experiment's metadata.

    Raises:
        HapticError: there is no such experiment, or its file is not valid.
    """
    names = experiment_names()
    if name not in names:
        raise HapticError(f"experiment {name!r} is unknown, expected one of: {', '.join(names)}")
    return read_experiment(share() / "config" / name / "experiment.yaml")


def checked_names(names: Sequence[str]) -> Sequence[str]:
    """These names, if each is that of an experiment; otherwise raises as `load_experiment`."""
    for name in names:
        load_experiment(name)
    return names


def read_experiment(path: Path) -> Experiment:
    """Reads a metadata file; raises HapticError naming it, and the field."""
    try:
        document = read_yaml(path)
    except FileError as error:
        raise HapticError(str(error)) from None
    given = document.value
    if not isinstance(given, dict) or "name" in given or not all(isinstance(key, str) for key in given):
        raise HapticError(f"{path}: expected a mapping of fields, without name, got {kind_of(given)}")
    try:
        return Experiment(name=path.parent.name, **given)
    except ValidationError as error:
        raise HapticError(describe_refusal(error, Experiment, document)) from None
