"""Runs an experiment: its launch file once, or once for each of its variants, then the report."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from haptic_bringup.complete_setup import complete_setup
from haptic_core.environment import check_environment
from haptic_core.errors import HapticError
from haptic_experiments.configuration_checks import check_configuration
from haptic_files.moved_modules import names_of_moved_module
from haptic_launch.compile_ahead import compiling_ahead
from haptic_launch.experiments import Experiment, load_experiment
from haptic_launch.file_parameters import PARAMS_FILE, with_parameter_file
from haptic_launch.launch_file import LaunchDescription, load_launch_file
from haptic_launch.node_checks import (
    check_duration,
    check_graph,
    check_outputs,
    check_programs,
    check_recorders,
    checked_nodes,
)
from haptic_launch.runner import (
    IN_VIEW,
    UsageError,
    bag_directory,
    bag_parameters,
    check_hardware,
    check_layout,
    check_rviz,
    chosen_variants,
    compiled_mark,
    effective_arguments,
    launch,
    new_run_directory,
    parse_arguments,
    write_run_file,
)

if TYPE_CHECKING:  # a refused run prints no table
    from rich.console import Console

#: ROS package whose launch files hold texts that the tests have checked
_SUITE = "haptic_bringup"

__getattr__ = names_of_moved_module(__name__, "haptic_launch.runner")


def check_viewer(arguments: Mapping[str, str]) -> None:
    """Refuses `rviz:=true` if RViz cannot be found, and `view:=true` if no page can be opened.

    Raises:
        MissingProgramError: packages are missing; the message names them.
        UsageError: the port is not valid.
        PageError: see `haptic_viewer.page.check_page`.
    """
    if arguments.get("view") == "true":
        from haptic_viewer.page import check_view  # viser loads only when it is needed

        check_view(arguments)
    check_rviz(arguments)


def check_report(experiment: Experiment) -> None:
    """Refuses an experiment without a report.

    Raises:
        HapticError: the module is missing; the message names it.
    """
    try:
        found = find_spec(experiment.report)
    except ModuleNotFoundError:  # not even its package
        found = None
    if found is None:
        raise HapticError(
            f"experiment {experiment.name}: the module {experiment.report} of its report is not installed"
        )


class PreparedRun(NamedTuple):
    """A checked run that can start.

    Attributes:
        experiment: metadata.
        description: parsed launch file.
        given: arguments of the user, with the defaults for a run that is watched.
        arguments: values of all arguments of the launch file.
        variants: argument sets that run in turn, by name.
        records: whether the run has a directory with a bag.
        announcement: line about the arguments that a real device changes; empty: none.
        packages: ROS packages whose programs the run starts.
    """

    experiment: Experiment
    description: LaunchDescription
    given: dict[str, str]
    arguments: dict[str, str]
    variants: Mapping[str, Mapping[str, str]]
    records: bool
    announcement: str
    packages: frozenset[str]


def prepare_run(name: str, words: Sequence[str]) -> PreparedRun:
    """Checks an experiment with arguments name:=value before any process starts.

    Raises:
        HapticError: the experiment cannot be run.
        LaunchFileError: its launch file cannot be evaluated.
    """
    check_environment(os.environ)
    experiment = load_experiment(name)
    description = load_launch_file(experiment.launch_file)
    given = parse_arguments(words)
    if PARAMS_FILE in given:
        given[PARAMS_FILE] = str(Path(given[PARAMS_FILE]).absolute())
    if given.get("view") == "true":
        given = {**IN_VIEW, **given}
    asked, names_device = given, not given.keys().isdisjoint({"device", "input_device"})
    if names_device:
        from haptic_bringup.real_devices import announced, check_connected, with_input, with_real_device

        given = with_input(name, description, with_real_device(name, description, given))
    arguments = effective_arguments(description, given)
    variants = chosen_variants(experiment, arguments, given)
    if "output" in given and arguments.get("record") == "false":
        raise UsageError(
            f"argument output: {given['output']} is not written with record:=false", "leave one of them out"
        )
    records = arguments.get("record") == "true" and not arguments.get("output")
    own = {"output": "given below"} if records else {}
    arguments_of_variants = [{**given, **chosen, **own} for chosen in variants.values()]
    nodes_of_variants = [checked_nodes(description, chosen) for chosen in arguments_of_variants]
    nodes = [node for found in nodes_of_variants for node in found]
    packages = frozenset(node.executable.partition("/")[0] for node in nodes)
    complete_setup(packages, experiment.report)
    if records:
        check_recorders(nodes, name)
        check_duration(nodes)
        check_report(experiment)
    else:
        check_outputs(nodes)
    check_viewer(arguments)
    check_hardware(arguments)
    check_layout(nodes, arguments)
    for found in nodes_of_variants:
        check_graph(found, name)
    choices = [argument.name for argument in description.arguments if argument.choices]
    check_configuration(nodes, choices, literals=experiment.home.package != _SUITE)
    check_programs(description, arguments_of_variants)
    line = ""
    if names_device:
        check_connected(nodes)
        line = announced(asked, given)
    return PreparedRun(experiment, description, given, arguments, variants, records, line, packages)


def run_experiment(name: str, words: Sequence[str], console: Console) -> int:
    """Runs an experiment with arguments name:=value.

    Returns:
        0; 1 if a node failed or the bag lacks ticks; 130 after Ctrl-C.

    Raises:
        HapticError: the experiment cannot be run.
        LaunchFileError: its launch file cannot be evaluated.
    """
    return execute_run(prepare_run(name, words), console)


def execute_run(run: PreparedRun, console: Console) -> int:
    """Runs a checked run; returns the exit code, see `run_experiment`."""
    name = run.experiment.name
    if run.announcement:
        console.print(run.announcement, highlight=False)
    directory = new_run_directory(name) if run.records else None
    compiled = compiled_mark(name)
    if compiled is None or compiled.exists():
        code = _launch_variants(run, directory, console)
    else:
        notice = "the first run compiles this experiment's kernels, some for minutes; the next ones start at once"
        console.print(notice, highlight=False, soft_wrap=True)
        with compiling_ahead(run.packages):
            code = _launch_variants(run, directory, console)
        if code == 0:
            with contextlib.suppress(OSError):  # without the mark, the next run prints the notice again
                compiled.parent.mkdir(parents=True, exist_ok=True)
                compiled.touch()
    if directory is not None:
        write_run_file(directory, run.experiment, run.arguments, run.variants, code)
        if code == 0:
            from haptic_experiments.report import write_report  # matplotlib loads only when it is needed

            console.print("writing the report", highlight=False)
            write_report(directory, console)
    return code


def _launch_variants(run: PreparedRun, directory: Path | None, console: Console) -> int:
    """Launches the variants in turn, with bags in the directory; returns the first exit code that is not 0, or 0."""
    for index, (variant, settings) in enumerate(run.variants.items()):
        if len(run.variants) > 1:
            position = f"variant {index + 1} of {len(run.variants)}"
            console.print(f"{position}: {variant} {settings}", highlight=False)
        values = {**run.given, **settings}
        if directory is not None:
            values["output"] = str(bag_directory(directory, index, variant).absolute())
        with tempfile.TemporaryDirectory(prefix="haptic_parameters_") as folder:
            bag = Path(values["output"]) if directory is not None else Path(folder, "bag")
            values = with_parameter_file(run.description, values, bag_parameters(bag))
            code = launch(run.experiment.launch_file, values, directory)
        if code:
            return code
    return 0
