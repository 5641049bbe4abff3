"""Reads what the user's texts name, before a process starts: device files, motions, laws, worlds and mechanisms.

The functions are those by which the nodes read them when they are configured. They take up to two seconds for
imports, so a node is left out where the user gave it nothing but numbers and choices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from haptic_core.parameters import ParameterSpec, check_all, entry_values
from haptic_launch.experiments import share
from haptic_launch.file_parameters import declared_parameters
from haptic_launch.launch_nodes import LaunchedNode
from haptic_launch.runner import UsageError

Parameters = Mapping[str, Any]


def read_named_files(nodes: Sequence[LaunchedNode], choices: Collection[str] = ()) -> None:
    """Reads what parameters of nodes name for which the user gave a text, a list of texts, or a parameter file.

    Args:
        nodes: with checked parameters, see `haptic_launch.node_checks`; of all variants of a run.
        choices: names of the arguments whose values are choices.

    Raises:
        UsageError: what is named is refused; the message names the arguments.
    """
    read_before: list[tuple[str, dict[str, Any]]] = []
    for node in nodes:
        specs, read = declared_parameters(node.executable), _READERS.get(node.executable)
        if specs is None or read is None:
            continue
        arguments = {name: node.given[name] for name in node.parameters if name in node.given}
        arguments |= dict.fromkeys(node.changed, "params_file")
        texts = {name: by for name, by in arguments.items() if by not in choices and _is_free_text(specs[name])}
        named = node.full_name, {name: node.parameters[name] for name in texts}
        if not texts or named in read_before:
            continue
        read_before.append(named)
        try:
            read(check_all(specs, node.parameters))
        except (ValueError, OSError) as error:
            message = " ".join(str(error).split()).removeprefix("parameter ")
            blamed = {by for name, by in texts.items() if re.search(rf"\b{name}\b", message)} or set(texts.values())
            what = "argument" if len(blamed) == 1 else "arguments"
            names = ", ".join(sorted(blamed))
            raise UsageError(f"{what} {names}: {message.removeprefix(f'{names}: ')}") from None


def _is_free_text(spec: ParameterSpec) -> bool:
    """Whether a value is a text beyond a choice, or numbers of what a text names, such as strokes."""
    return (spec.type.startswith("string") or spec.name == "strokes") and "one_of<>" not in spec.validation


def _device(p: Parameters) -> None:
    from haptic_devices.factories import find_device

    find_device(p["device"])(dict(p))


def _law(p: Parameters) -> None:
    from haptic_friction.factory import make_law

    make_law(p)


def _world(p: Parameters) -> None:
    from convex_contact.model.world_source import open_world

    entries = entry_values(p["world_parameters"])
    open_world(p["world"], entries, share() / "config" / "worlds")


def _mechanism(p: Parameters) -> None:
    from admittance_constraints.display.factory import make_mechanism

    make_mechanism(p, entry_values(p["mechanism_parameters"]))


def _wall(p: Parameters) -> None:
    from tau_wall_control.walls.factory import make_controller, make_device

    device = make_device(p)
    if p["controller_file"]:
        make_controller(p, device)


#: reads what the parameters of a node name, by executable
_READERS: dict[str, Callable[[Parameters], None]] = {
    "admittance_constraints/constraint_node": _mechanism,
    "convex_contact/contact_node": _world,
    "haptic_devices/device_node": _device,
    "haptic_friction/friction_node": _law,
    "tau_wall_control/wall_node": _wall,
}
