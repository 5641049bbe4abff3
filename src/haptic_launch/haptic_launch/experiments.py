"""Experiments of all installed packages, read from `config/<name>/experiment.yaml` and the launch files.

An entry point of group `haptic_experiments`, named after a ROS package, names the Python package that has one report
module per experiment. The launch files and metadata are in the share directory of the ROS package.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from haptic_core.errors import HapticError, shortened
from haptic_files import FileError, kind_of, listed, read_yaml
from haptic_files.plugins import installed_plugins
from haptic_files.schema import describe_refusal
from haptic_launch.experiment_graph import CLOCK, Edge, ExperimentGraph, Recorded, graph_of
from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_launch.launch_nodes import launched_nodes

#: entry points of packages with experiments
ENTRY_POINTS = "haptic_experiments"
#: package with the suite's own experiments
_SUITE = "haptic_bringup"


class UnknownExperimentError(HapticError):
    """No installed package has an experiment of this name."""

    hint = "see ./haptics list"


class Home(NamedTuple):
    """A package with experiments, its share directory with launch files and metadata, and its package of reports."""

    package: str
    share: Path
    reports: str


class Experiment(BaseModel):
    """An experiment: its metadata, and the graph of its launch file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    home: Home
    title: str
    paper: str = Field(description="counterpart in the paper: figure or section")
    summary: str
    also_recorded: Recorded = Field(default=Recorded(), description="topics of nodes that the suite does not know")
    variants: dict[str, dict[str, str]] = Field(
        default={}, description="argument sets that are run in turn, one bag each, in lockstep"
    )
    to_try: tuple[str, ...] = Field(default=(), description="suggestions to a user of the live page")
    first_parameters: tuple[str, ...] = Field(
        default=(), description="parameters that the live page shows first, as node.parameter"
    )

    @property
    def launch_file(self) -> Path:
        """Path of the launch file."""
        return self.home.share / "launch" / f"{self.name}.launch.yaml"

    @property
    def report(self) -> str:
        """Full name of the module with the report."""
        return f"{self.home.reports}.{self.name}"

    @functools.cached_property
    def _graph(self) -> ExperimentGraph:
        """Graph of the launch file with the defaults of its arguments."""
        try:
            return graph_of(launched_nodes(load_launch_file(self.launch_file)))
        except (HapticError, LaunchFileError) as error:
            raise HapticError(f"experiment {self.name}: {error}") from None

    @property
    def clock(self) -> str:
        """Topic of the device whose ticks the others answer."""
        return self._graph.clock

    @property
    def graph(self) -> tuple[Edge, ...]:
        """Messages that the nodes exchange each tick."""
        return self._graph.edges

    @property
    def recorded(self) -> Recorded:
        """Topics of the bag and their types."""
        own, more = self._graph.recorded, self.also_recorded
        return Recorded(every_tick=own.every_tick | more.every_tick, events=own.events | more.events)

    def writers(self, message: str) -> int:
        """Counts the nodes that publish each tick on a topic of this type: all sources of the device answer on one."""
        return max(1, sum(edge.target == CLOCK and edge.message == message for edge in self.graph))

    @property
    def passivity_topics(self) -> list[str]:
        """Topics on which device and nodes publish PassivityState each tick, if their observer is on."""
        nodes = [topic.removesuffix("/state") for topic in self.recorded.every_tick if topic.endswith("/state")]
        return [f"{node}/passivity" for node in (self.clock.removesuffix("_state"), *nodes)]

    @property
    def topics(self) -> dict[str, str]:
        """All recorded topics and their types."""
        return {**self.recorded.every_tick, **self.recorded.events}


def share(package: str = _SUITE) -> Path:
    """Returns the share directory of an installed package, with launch/ and config/; by default the suite's own."""
    try:
        return Path(get_package_share_directory(package))
    except PackageNotFoundError:
        raise HapticError("the workspace is not built or not sourced; run ./haptics setup") from None


@functools.cache
def _report_packages() -> dict[str, str]:
    """Returns the Python package of reports of each ROS package with experiments, the suite's own first."""
    found = {name: point.value for name, point in installed_plugins(ENTRY_POINTS).items()}
    return dict(sorted(found.items(), key=lambda item: item[0] != _SUITE))


def _folders() -> dict[str, Home]:
    """Finds the package of each experiment, by the experiment's name."""
    found: dict[str, Home] = {}
    for package, reports in _report_packages().items():
        try:
            home = Home(package, share(package), reports)
        except HapticError:
            if package == _SUITE:
                raise
            continue  # the Python modules are installed, the workspace is not sourced
        for path in (home.share / "config").glob("*/experiment.yaml"):
            other = found.setdefault(path.parent.name, home)
            if other != home:
                raise HapticError(f"experiment {path.parent.name!r} is in two packages: {other.package}, {package}")
    return found


def experiment_names(package: str = "") -> list[str]:
    """Returns the names of all experiments, or of those of one ROS package, sorted."""
    return sorted(name for name, home in _folders().items() if package in ("", home.package))


def load_experiment(name: str) -> Experiment:
    """Reads an experiment's metadata.

    Raises:
        UnknownExperimentError: there is no such experiment.
        HapticError: its file is not valid.
    """
    homes = _folders()
    if name not in homes:
        message = f"experiment {shortened(name, 60)} is unknown, expected one of: {listed(sorted(homes), name)}"
        empty = ", ".join(sorted(_report_packages().keys() - {home.package for home in homes.values()}))
        if empty:  # see docs/experiments.md, Add one
            message += f"; no config/*/experiment.yaml is installed in the share directory of {empty}"
        raise UnknownExperimentError(message)
    home = homes[name]
    return read_experiment(home.share / "config" / name / "experiment.yaml", home)


def checked_names(names: Sequence[str]) -> Sequence[str]:
    """Returns the names if each is that of an experiment; otherwise raises as `load_experiment`."""
    for name in names:
        load_experiment(name)
    return names


def read_experiment(path: Path, home: Home | None = None) -> Experiment:
    """Reads a metadata file; raises HapticError with file and field if it is not valid.

    Args:
        path: path of the file, in a folder named after the experiment.
        home: package of the experiment; by default that of the suite.
    """
    try:
        document = read_yaml(path)
    except FileError as error:
        raise HapticError(str(error)) from None
    given = document.value
    if not isinstance(given, dict) or {"name", "home"} & given.keys() or not all(isinstance(key, str) for key in given):
        raise HapticError(f"{path}: expected a mapping of fields, without name, got {kind_of(given)}")
    home = home or Home(_SUITE, share(), "haptic_experiments.experiments")
    try:
        return Experiment(name=path.parent.name, home=home, **given)
    except ValidationError as error:
        raise HapticError(describe_refusal(error, Experiment, document)) from None
