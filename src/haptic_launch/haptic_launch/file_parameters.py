"""Launch argument `params_file`: a ROS parameter file that replaces parameters of an experiment's nodes.

The file is checked against the nodes of the launch file before any process starts. An argument of the user takes
precedence over the file, the file over the defaults of the launch file.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from haptic_core.errors import ParameterError
from haptic_core.parameter_files import PARAMS_FILE, matches, read_parameter_file, values_for
from haptic_core.parameters import ParameterSpec, fold_nested, load_parameter_specs, nested_spec
from haptic_files import nearest, write_text
from haptic_launch.launch_file import LaunchDescription
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes
from haptic_launch.launch_parameters import dump_parameters
from haptic_launch.runner import UsageError

#: parameters that all nodes of a run share, and the launch arguments that set them
_SHARED_PARAMETERS = {"mode": "mode", "recorded": "record", "period": "period"}
#: executables with the parameters of the device node
_DEVICES = ("control_node", "mock_control_node")


@functools.cache
def declared_parameters(executable: str) -> Mapping[str, ParameterSpec] | None:
    """Reads the declarations of a node's parameters from its package; None if the package has no file for it.

    Args:
        executable: "package/executable".
    """
    package, _, name = executable.partition("/")
    own = parameter_file(package, "device_node" if name in _DEVICES else name)
    if own is None:
        return None
    specs = load_parameter_specs(own)
    if "mode" in specs or not name.endswith("_node"):
        return specs
    shared = parameter_file("haptic_core", "rendering_node")
    return {**(load_parameter_specs(shared) if shared else {}), **specs}


def parameter_file(package: str, name: str) -> Path | None:
    """Returns the path of a node's YAML file in its Python package; None if there is none."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found else None
    return next(Path(folders[0]).rglob(f"{name}.yaml"), None) if folders else None


def nodes_of_run(
    description: LaunchDescription, arguments: Mapping[str, str], given: Collection[str] | None = None
) -> list[LaunchedNode]:
    """Returns the nodes of a launch file, with the values of the parameter file if the arguments name one.

    Args:
        description: parsed launch file.
        arguments: arguments of the launch file, by name.
        given: names of the arguments that take precedence over the file; None: all.

    Raises:
        UsageError: the file is refused; the message names file, node and parameter.
        LaunchFileError: see `LaunchDescription.evaluate`.
    """
    path = arguments.get(PARAMS_FILE)
    if not path:
        return launched_nodes(description, arguments)
    nodes = launched_nodes(description, {**arguments, PARAMS_FILE: ""}, given)
    try:
        _check_names(path, nodes)
        values = [_values(path, node) for node in nodes]
    except ParameterError as error:
        raise UsageError(f"argument {PARAMS_FILE}: {error}", "see docs/parameters.md, A parameter file") from None
    return [
        replace(node, parameters={**node.parameters, **changed}, changed=frozenset(changed))
        for node, changed in zip(nodes, values, strict=True)
    ]


def with_parameter_file(
    description: LaunchDescription, arguments: Mapping[str, str], path: Path, given: Collection[str] | None = None
) -> dict[str, str]:
    """Replaces the parameter file among the arguments by a new one that has only the changed parameters, by full names.

    Args:
        description: parsed launch file.
        arguments: arguments of the launch file; without a parameter file they are returned unchanged.
        path: path of the new file.
        given: names of the arguments that take precedence over the file; None: all.

    Raises:
        UsageError: see `nodes_of_run`.
    """
    if not arguments.get(PARAMS_FILE):
        return dict(arguments)
    nodes = [node for node in nodes_of_run(description, arguments, given) if node.changed]
    values = {node.full_name: {name: node.parameters[name] for name in sorted(node.changed)} for node in nodes}
    write_text(path, dump_parameters(values))
    return {**arguments, PARAMS_FILE: str(path.absolute())}


def _values(path: str, node: LaunchedNode) -> dict[str, Any]:
    """Returns the parameters of a node whose values the file changes."""
    specs = declared_parameters(node.executable)
    if specs is None:  # a program of another package
        sections = read_parameter_file(path)
        values = {
            name: value for key in sections if matches(key, node.full_name) for name, value in sections[key].items()
        }
    else:
        values = fold_nested(specs, values_for(path, node.full_name, specs), node.parameters)
    now = {name: spec.default for name, spec in (specs or {}).items()} | dict(node.parameters)
    values = {name: value for name, value in values.items() if name not in node.given and value != now.get(name)}
    for name in values:
        argument = _SHARED_PARAMETERS.get(name)
        if argument is not None or node.executable == "haptic_bags/recorder":
            rest = f"; give the argument {argument}:=" if argument else ""
            raise ParameterError(
                f"{path}: node {node.full_name}: parameter {name}: is {now.get(name)!r} for all nodes of this run, "
                f"got {values[name]!r}{rest}"
            )
    return values


def _check_names(path: str, nodes: Sequence[LaunchedNode]) -> None:
    """Refuses a key that no node matches, and a parameter that no node matched by a pattern has."""
    names = [node.full_name for node in nodes]
    for key, parameters in read_parameter_file(path).items():
        matched = [node for node in nodes if matches(key, node.full_name)]
        if not matched:
            like = nearest(key, names) or next((f"; did you mean {name}?" for name in names if name.endswith(key)), "")
            raise ParameterError(f"{path}: node {key}: not in this run{like} (nodes: {', '.join(names)})")
        known = [declared_parameters(node.executable) for node in matched]
        for name in () if None in known else parameters:
            every = {entry: spec for specs in known for entry, spec in (specs or {}).items()}
            if name not in every and nested_spec(every, name) is None:
                raise ParameterError(f"{path}: node {key}: parameter {name}: unknown{nearest(name, every)}")
