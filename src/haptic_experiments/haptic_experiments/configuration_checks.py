"""Checks parameters as nodes check them at configuration, before a process starts.

The functions are those by which the nodes read their parameters: the files and names in the user's texts (device
files, motions, laws, worlds, mechanisms), and numbers that must fit each other. They take up to two seconds for
imports, so a node is left out where no given value is a text or takes part in such a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from haptic_core.parameters import ParameterSpec, check_all, entry_values
from haptic_launch.experiments import share
from haptic_launch.file_parameters import declared_parameters
from haptic_launch.launch_nodes import LaunchedNode
from haptic_launch.runner import UsageError

Parameters = Mapping[str, Any]

#: stands for the launch file among the arguments that determine a parameter
_LITERAL = ""
_PARAMETERS = "docs/parameters.md has the parameters of the nodes"


class Reader(NamedTuple):
    """Check of a node's parameters together."""

    #: function that raises ValueError or OSError where the node refuses its configuration
    read: Callable[[Parameters], object]
    #: function that returns the names of the parameters beside texts that must fit others, for these values
    linked: Callable[[Parameters], Collection[str]] = lambda _: ()


def check_configuration(
    nodes: Sequence[LaunchedNode], choices: Collection[str] = (), *, literals: bool = False
) -> None:
    """Checks nodes for which the user gave a text, a list of texts, a linked number, or a parameter file with one.

    Args:
        nodes: nodes of all variants of a run with checked parameters, see `haptic_launch.node_checks`.
        choices: names of the arguments whose values are choices.
        literals: whether texts and linked numbers that stand in the launch file count as given.

    Raises:
        UsageError: a node would refuse its configuration; the message names the arguments, else the node.
    """
    read_before: list[tuple[str, dict[str, Any]]] = []
    for node in nodes:
        specs, reader = declared_parameters(node.executable), _READERS.get(node.executable)
        if specs is None or reader is None:
            continue
        values = check_all(specs, node.parameters)
        arguments = dict.fromkeys(node.parameters, _LITERAL) if literals else {}
        arguments |= {name: node.given[name] for name in node.parameters if name in node.given}
        arguments |= dict.fromkeys(node.changed, "params_file")
        linked = reader.linked(values)
        used = {
            name: by
            for name, by in arguments.items()
            if name in linked or (by not in choices and _is_free_text(specs[name]))
        }
        given = node.full_name, {name: node.parameters[name] for name in used}
        if not used or given in read_before:
            continue
        read_before.append(given)
        try:
            reader.read(values)
        except (ValueError, OSError) as error:
            message = re.sub(r"^parameters? ", "", " ".join(str(error).split()))
            blamed = {by for name, by in used.items() if re.search(rf"\b{name}\b(?!\.)", message)} or set(used.values())
            blamed -= {_LITERAL}
            names = ", ".join(sorted(blamed))
            if not names:
                raise UsageError(f"node {node.full_name}: parameter {message}", _PARAMETERS) from None
            what = "argument" if len(blamed) == 1 else "arguments"
            several, _, rest = message.partition(": ")
            if blamed < set(several.split(", ")):  # the message names them, and others that the user did not give
                message = rest.removeprefix(f"{names} ")
            raise UsageError(f"{what} {names}: {message.removeprefix(f'{names}: ')}") from None


def _is_free_text(spec: ParameterSpec) -> bool:
    """Checks whether a value is a text beyond a choice, or numbers of an object that a text names, such as strokes."""
    return (spec.type.startswith("string") or spec.name == "strokes") and "one_of<>" not in spec.validation


def _device(p: Parameters) -> None:
    from haptic_devices.factories import find_device

    find_device(p["device"])(dict(p))


def _friction(p: Parameters) -> object:
    from haptic_friction.renderer import FrictionRenderer

    return FrictionRenderer.from_parameters(p, compiled=False)


def _comparison(p: Parameters) -> object:
    from haptic_friction.comparison_renderer import ComparisonRenderer

    return ComparisonRenderer.from_parameters(p, compiled=False)


def _network(p: Parameters) -> object:
    from haptic_friction.factory import make_network

    return make_network(p, compiled=False)


def _linked_of_law(p: Parameters) -> set[str]:
    """Returns the numbers of a friction law that must fit others; Coulomb's force fits every other number."""
    found = {"law", "backward_law", "model", "models", "rendering", "axes", "first", "second"}
    for prefix in ("", "backward_"):
        if p.get(f"{prefix}law", "symmetric") not in ("coulomb", "symmetric"):
            from haptic_friction.factory import LAWS

            found |= {f"{prefix}{name}" for name in LAWS[p[f"{prefix}law"]].parameters.values()}
    if "parallel" in (p.get("model"), *p.get("models", ())):
        found |= {"loading_displacement", "loading_force"}
    if any(p.get("inputs", ())):
        found |= {"friction_force"}
    return found


def _world(p: Parameters) -> object:
    from convex_contact.haptics.contact_renderer import ContactRenderer

    return ContactRenderer.from_parameters(p, share() / "config" / "worlds", compiled=False)


def _mechanism(p: Parameters) -> None:
    from admittance_constraints.display.factory import make_external, make_mechanism, make_placement

    make_placement(p)
    make_external(p)
    make_mechanism(p, entry_values(p["mechanism_parameters"]))


def _wall(p: Parameters) -> None:
    from tau_wall_control.walls.factory import make_controller, make_device, planes_of

    planes_of(p)
    device = make_device(p)
    if p["controller_file"]:
        make_controller(p, device)


_PER_MODEL = {"mass", "stiffness", "damping", "velocity_threshold"}
_OF_NETWORK = {"body_mass", "body_stiffness", "contact_first", "contact_second", "friction_force", "static_force"}
_FRAMES = ("frame_orientation", "tool_orientation", "world_orientation")

#: check of a node's parameters together, by executable
_READERS: dict[str, Reader] = {
    "admittance_constraints/constraint_node": Reader(_mechanism, lambda _: _FRAMES),
    "convex_contact/contact_node": Reader(_world, lambda _: (*_FRAMES, "touch_radius")),
    "haptic_devices/device_node": Reader(_device),
    "haptic_friction/comparison_node": Reader(_comparison, lambda p: _linked_of_law(p) | _PER_MODEL),
    "haptic_friction/friction_node": Reader(_friction, _linked_of_law),
    "haptic_friction/network_node": Reader(_network, lambda _: _OF_NETWORK),
    "tau_wall_control/wall_node": Reader(_wall, lambda _: ("wall_points", "wall_normals", "contact")),
}
