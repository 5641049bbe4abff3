"""Nodes that a launch file starts, with their parameters, in separate or shared processes."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from haptic_core.errors import ParameterError, shortened
from haptic_core.parameter_files import matches, read_parameter_file
from haptic_files import load_yaml
from haptic_launch.launch_file import LaunchDescription, LaunchFileError
from haptic_launch.process_spec import ProcessSpec

#: executable that runs several nodes in one process
_COMPOSED = "composed_nodes"


@dataclass(frozen=True)
class LaunchedNode:
    """A node that a launch file starts.

    Attributes:
        name: name without namespace.
        namespace: namespace with a leading slash; empty for the root.
        executable: "package/executable".
        parameters: values by name, with dots in nested names.
        given: argument of the user that determines a parameter, by the parameter's name.
        changed: names of the parameters whose values a parameter file replaced.
    """

    name: str
    namespace: str
    executable: str
    parameters: Mapping[str, Any]
    given: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    @property
    def full_name(self) -> str:
        """Name with namespace."""
        return f"{self.namespace}/{self.name}"


def launched_nodes(
    description: LaunchDescription, arguments: Mapping[str, str] | None = None, given: Collection[str] | None = None
) -> list[LaunchedNode]:
    """Returns the nodes in the order of the file; their executables need not be installed.

    Args:
        description: parsed launch file.
        arguments: arguments of the launch file, by name.
        given: names of the arguments that the user gave; None: all of them.

    Raises:
        LaunchFileError: see `LaunchDescription.evaluate`.
    """
    with tempfile.TemporaryDirectory(prefix="haptic_launch_") as folder:
        specs = description.evaluate(
            arguments,
            find_executable=lambda package, executable: f"{package}/{executable}",
            parameter_directory=Path(folder),
            given=given,
        )
        return [node for spec in specs if "--ros-args" in spec.command for node in _nodes(spec)]


def parameters_of(spec: ProcessSpec) -> dict[str, Any]:
    """Reads the parameters that a process gets from its parameter files, and from `-p name:=value` in its arguments.

    Values of later files replace earlier ones, and those under the node's full name replace those under a pattern.

    Raises:
        LaunchFileError: a file that the launch file names is not a parameter file, or `-p` has no value.
    """
    name = spec.fully_qualified_name or f"/{spec.name}"
    found: list[tuple[bool, dict[str, Any]]] = []
    for option, path in zip(spec.command, spec.command[1:], strict=False):
        if option == "--params-file":
            try:
                sections = read_parameter_file(path)
            except ParameterError as error:
                raise LaunchFileError(str(error), spec.source) from None
            found += [(key == name, values) for key, values in sections.items() if matches(key, name)]
        elif option in ("-p", "--param"):
            found += _assigned(path, name, spec)
    parameters: dict[str, Any] = {}
    for _, values in sorted(found, key=lambda entry: entry[0]):
        parameters |= values
    return parameters


def is_required(spec: ProcessSpec) -> bool:
    """Returns whether a process is a node for which the clock of the loop waits: the recorder or a source."""
    parameters = parameters_of(spec) if "--ros-args" in spec.command else {}
    return "mode" in parameters and "sources" not in parameters


def with_required(specs: Iterable[ProcessSpec]) -> list[ProcessSpec]:
    """Marks the processes that a run requires (see `is_required`)."""
    return [replace(spec, required=is_required(spec)) for spec in specs]


def _assigned(word: str, name: str, spec: ProcessSpec) -> list[tuple[bool, dict[str, Any]]]:
    """Returns the parameter of the rule `[node:]name:=value` if it is one of this node."""
    left, separator, text = word.partition(":=")
    node, _, parameter = left.rpartition(":")
    try:
        value = load_yaml(text)
    except yaml.YAMLError:
        value = None
    if not separator or not parameter or value is None:
        raise LaunchFileError(f"argument -p: expected name:=value, got {shortened(word)}", spec.source)
    return [(bool(node), {parameter: value})] if not node or node in (name, name.rpartition("/")[2]) else []


def _nodes(spec: ProcessSpec) -> list[LaunchedNode]:
    parameters = parameters_of(spec)
    namespace = ""
    for option, word in zip(spec.command, spec.command[1:], strict=False):
        if option == "-r" and word.startswith("__ns:="):
            namespace = word.removeprefix("__ns:=").rstrip("/")
    executable = spec.command[0]
    if not executable.endswith(f"/{_COMPOSED}"):
        name = (spec.fully_qualified_name or spec.name).rpartition("/")[2]
        return [LaunchedNode(name, namespace, executable, parameters, spec.given_parameters)]
    found = []
    for entry in parameters.get("nodes", ()):
        name, _, executable = entry.partition("=")
        own = {key[len(name) + 1 :]: value for key, value in parameters.items() if key.startswith(f"{name}.")}
        given = {key[len(name) + 1 :]: by for key, by in spec.given_parameters.items() if key.startswith(f"{name}.")}
        found.append(LaunchedNode(name, namespace, executable, own, given))
    return found
