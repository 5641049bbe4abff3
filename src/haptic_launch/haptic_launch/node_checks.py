"""Checks the parameters of the nodes of a run before a process starts, by the declarations that the nodes use.

The error about a value that an argument of the user determines names the argument, any other error names the node.
`haptic_experiments.configuration_checks` then checks combinations of parameters.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from haptic_core.errors import HapticError, ParameterError, shortened
from haptic_core.parameter_files import PARAMS_FILE
from haptic_core.parameters import check_name
from haptic_core.tick_inputs import TickInputs
from haptic_files.entries import node_and_kind
from haptic_launch.experiment_graph import INPUT_KINDS, graph_of
from haptic_launch.file_parameters import declared_parameters, nodes_of_run
from haptic_launch.launch_file import LaunchDescription, LaunchFileError
from haptic_launch.launch_nodes import LaunchedNode
from haptic_launch.runner import UsageError

RECORDER = "haptic_bags/recorder"
_CONTACT = "convex_contact/contact_node"
_PARAMETERS = "docs/parameters.md has the parameters of the nodes"


def checked_nodes(
    description: LaunchDescription, arguments: Mapping[str, str], given: Collection[str] | None = None
) -> list[LaunchedNode]:
    """Returns the nodes of a run, as `nodes_of_run` does, after a check of their parameters.

    Raises:
        UsageError: a parameter is unknown or refused, or its file cannot be read.
        LaunchFileError: see `LaunchDescription.evaluate`.
    """
    nodes = nodes_of_run(description, arguments, given)
    check_parameters(nodes)
    return nodes


def check_parameters(nodes: Sequence[LaunchedNode]) -> None:
    """Checks the parameters of nodes, except those of nodes without declarations, such as nodes of other packages.

    Raises:
        UsageError: a parameter is refused; the message names the argument of the user, or node and parameter.
    """
    for node in nodes:
        specs = declared_parameters(node.executable)
        if specs is None:
            continue
        for name, value in node.parameters.items():
            argument, subject = node.given.get(name), f"node {node.full_name}: "
            if name in node.changed:
                subject = f"argument {PARAMS_FILE}: {subject}"
            try:
                check_name(specs, name)
            except ParameterError as error:
                raise UsageError(f"{subject}{error}", _PARAMETERS) from None
            try:
                specs[name].check_file(specs[name].check(value))
            except ParameterError as error:
                if argument is None:
                    raise UsageError(f"{subject}{error}", _PARAMETERS) from None
                raise UsageError(f"argument {argument}: {str(error).removeprefix(f'parameter {name}: ')}") from None


def check_recorders(nodes: Sequence[LaunchedNode], experiment: str) -> None:
    """Refuses a recorder of another experiment: the run would have the topics and the report of that experiment.

    Raises:
        HapticError: there is such a recorder; the message names it and both experiments.
    """
    for node in nodes:
        specs = declared_parameters(node.executable) if node.executable == RECORDER else None
        recorded = node.parameters.get("experiment", specs["experiment"].default) if specs else experiment
        if recorded != experiment:
            raise HapticError(
                f"experiment {experiment}: its launch file has a recorder of the experiment {recorded}; the "
                f"parameter experiment of node {node.full_name} must be {experiment}"
            )


def check_graph(nodes: Sequence[LaunchedNode], experiment: str) -> None:
    """Refuses nodes that would wait in vain for each other (see `haptic_launch.experiment_graph.graph_of`).

    Args:
        nodes: nodes of one variant of a run.
        experiment: name of the experiment, for errors about its launch file.

    Raises:
        UsageError: an argument or the parameter file names a source that is not in the run, or an input that its node
            cannot use.
        HapticError: the launch file does so, has two nodes of one name, or does not have exactly one device.
    """
    own = [node.full_name for node in nodes if declared_parameters(node.executable) is not None]
    try:
        for name in own:
            if own.count(name) > 1:
                raise HapticError(f"expected one node {name}, got {own.count(name)}")
        for node in nodes:
            _check_inputs(node, nodes)
        graph_of(nodes)
    except HapticError as error:
        names = ("sources", "inputs", "delayed_inputs")
        arguments = {node.given[name] for node in nodes for name in names if name in node.given}
        if any(not node.changed.isdisjoint(names) for node in nodes):
            arguments.add(PARAMS_FILE)
        if arguments:
            raise UsageError(f"argument {', '.join(sorted(arguments))}: {error}", _PARAMETERS) from None
        raise HapticError(f"experiment {experiment}: its launch file: {error}") from None


def _check_inputs(node: LaunchedNode, nodes: Sequence[LaunchedNode]) -> None:
    """Raises ParameterError if an input of a rendering node is of an unknown kind, or no node of the run has it."""
    kinds, subject = INPUT_KINDS.get(node.executable), f"node {node.full_name}: parameter "
    if kinds is None:
        return
    names = [other.name for other in nodes if other.namespace == node.namespace and other is not node]
    entries = [entry for entry in node.parameters.get("inputs", ()) if entry]
    for entry in entries:
        source, kind = node_and_kind(entry)
        if kind not in kinds:
            known = ", ".join(kinds) or "none"
            raise ParameterError(f"{subject}inputs: expected kinds of {known}, as node:kind, got {shortened(entry)}")
        if source not in names:
            raise ParameterError(f"{subject}inputs: expected nodes of {', '.join(names)}, got {shortened(entry)}")
    TickInputs(entries, [entry for entry in node.parameters.get("delayed_inputs", ()) if entry])


def check_duration(nodes: Sequence[LaunchedNode]) -> None:
    """Refuses a duration of fewer ticks than a report needs (`haptic_bags.ticks.Ticks.align`).

    Raises:
        UsageError: the duration is too short; the message names the shortest one.
    """
    least = 3 if any(node.executable == _CONTACT for node in nodes) else 2
    for node in nodes:
        duration, period = (node.parameters.get(name, 0.0) for name in ("duration", "period"))
        if "sources" in node.parameters and duration and period and round(duration / period) < least:
            argument = PARAMS_FILE if "duration" in node.changed else node.given.get("duration")
            subject = f"argument {argument}" if argument else f"node {node.full_name}: parameter duration"
            raise UsageError(
                f"{subject}: expected 0 or at least {least * period:g} s, {least} ticks for a report, got {duration:g}",
                "record:=false runs without a report",
            )


def check_outputs(nodes: Sequence[LaunchedNode]) -> None:
    """Refuses a recorder whose bag exists already or cannot be made.

    Raises:
        UsageError: the recorder of a node would refuse the path; the message names the path and the reason.
    """
    for node in nodes:
        path = node.parameters.get("output") if node.executable == RECORDER else None
        if not path:
            continue
        argument = node.given.get("output")
        subject = f"argument {argument}" if argument else f"node {node.full_name}: parameter output"
        if os.path.lexists(path):
            raise UsageError(f"{subject}: {path} exists already", "expected the path of a new directory")
        try:
            _try_directory(Path(path))
        except OSError as error:
            raise UsageError(f"{subject}: {shortened(path)}: cannot be made: {error.strerror}") from None


def _try_directory(path: Path) -> None:
    """Makes a directory with its parents, and removes what it made; raises OSError if that is refused."""
    made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    try:
        path.mkdir(parents=True)
    finally:
        for folder in made:
            with suppress(OSError):  # it was not made, or another process uses it
                folder.rmdir()


def check_programs(description: LaunchDescription, variants: Sequence[Mapping[str, str]]) -> None:
    """Refuses a launch file whose programs are not installed.

    Args:
        description: parsed launch file.
        variants: arguments of each variant of a run.

    Raises:
        LaunchFileError: a package, its executable or the command of an `executable` cannot be found.
    """
    for arguments in variants:
        with tempfile.TemporaryDirectory(prefix="haptic_launch_") as folder:
            specs = description.evaluate(arguments, parameter_directory=Path(folder))
        for spec in specs:
            program = spec.command[0]
            if shutil.which(program, path=spec.environment.get("PATH", os.defpath)) is None:
                raise LaunchFileError(f"expected an installed program, got {shortened(program)}", spec.source)
