"""Launch files evaluated in memory: the processes that they start, each with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from haptic_launch import launch_file
from haptic_launch.launch_file import LaunchDescription
from haptic_launch.processes import ProcessSpec

Parameters = dict[str, Any]


def launched(
    description: LaunchDescription, arguments: Mapping[str, str] | None = None
) -> list[tuple[ProcessSpec, Parameters]]:
    """Processes and their parameters. No parameter file is written, which would take three times as long."""
    files: dict[str, Mapping[str, Any]] = {}

    def keep(nodes: Mapping[str, Any], directory: Path) -> str:
        files[f"{len(files)}.yaml"] = {name: {"ros__parameters": values} for name, values in nodes.items()}
        return f"{len(files) - 1}.yaml"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_file, "write_parameters", keep)
        specs = description.evaluate(
            arguments,
            find_executable=lambda package, executable: f"/{package}/{executable}",
            parameter_directory=Path("nowhere"),
        )
    return [(spec, parameters_of(spec, files)) for spec in specs]


def parameters_of(spec: ProcessSpec, files: Mapping[str, Mapping[str, Any]]) -> Parameters:
    """The parameters that a process takes from its files, which are given by path."""
    found: Parameters = {}
    for option, file in zip(spec.command, spec.command[1:], strict=False):
        if option == "--params-file":
            (values,) = files[file].values()
            found.update(values["ros__parameters"])
    return found
