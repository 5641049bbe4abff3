"""The nodes that a launch file starts, with their parameters, whether each has a process of its own or not."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haptic_files import read_yaml
from haptic_launch.launch_file import LaunchDescription
from haptic_launch.processes import ProcessSpec

#: executable that runs several nodes in one process
_COMPOSED = "composed_nodes"


@dataclass(frozen=True)
class LaunchedNode:
    """A node that a launch file starts.

    Attributes:
        name: without namespace.
        namespace: with a slash before it, empty for the root.
        executable: "package/executable".
        parameters: with dots in nested names.
        given: names of the parameters whose values come from arguments that the user gave.
        changed: names of the parameters whose values a parameter file replaced.
    """

    name: str
    namespace: str
    executable: str
    parameters: Mapping[str, Any]
    given: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()

    @property
    def full_name(self) -> str:
        """Name with namespace."""
        return f"{self.namespace}/{self.name}"


def launched_nodes(
    description: LaunchDescription, arguments: Mapping[str, str] | None = None, given: Collection[str] | None = None
) -> list[LaunchedNode]:
    """The nodes in the order of the file; their executables need not be installed.

    Args:
        description: of the launch file.
        arguments: of the launch file, by name.
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
    """The parameters that a process gets from its parameter files; a later file replaces those of the ones before."""
    parameters: dict[str, Any] = {}
    for option, path in zip(spec.command, spec.command[1:], strict=False):
        if option == "--params-file":
            for section in read_yaml(Path(path)).value.values():
                parameters |= section["ros__parameters"]
    return parameters


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
        given = frozenset(key[len(name) + 1 :] for key in spec.given_parameters if key.startswith(f"{name}."))
        found.append(LaunchedNode(name, namespace, executable, own, given))
    return found
