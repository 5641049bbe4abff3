"""Real devices on the command line: the list of `./haptics devices`, and a run with `device:=NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.drivers.driver import Driver, Presence
from haptic_devices.factories import ENTRY_POINTS, NODE_PARAMETER_FILE, find_device
from haptic_launch.experiment_graph import SCRIPTED
from haptic_launch.launch_file import LaunchDescription
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes
from haptic_launch.runner import UsageError, effective_arguments

#: arguments that concern the simulated hand
_OF_THE_HAND = ("held", "motion", "letters", "strokes", "rest_duration", "rest_force", "hand_file", "hand_parameters")
#: length of a run with a real device where none is given [s]
_DURATION = "60.0"
_FRICTION = "haptic_friction/friction_node"


def drivers() -> dict[str, Driver]:
    """The drivers of all installed packages, by name; an entry point that cannot be loaded is left out."""
    found = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            factory = point.load()
        except Exception:
            continue
        if isinstance(factory, Driver):
            found[point.name] = factory
    return found


def show_devices(console: Console) -> None:
    """Prints a row for each driver: product, whether it is connected, degrees of freedom; below, how to run it."""
    table = Table(Column("device", no_wrap=True), "product", "connected", Column("degrees of freedom", max_width=10))
    known = drivers()
    with ThreadPoolExecutor(max(1, len(known))) as pool:  # each search waits for its own service
        found = dict(zip(known, pool.map(_search, known.values()), strict=True))
    for name, driver in known.items():
        presence = found[name]
        answer = "[green]yes[/green]" if presence.connected else "no"
        state = f"{answer}: {escape(presence.detail)}"
        table.add_row(name, escape(driver.title), state, str(driver.degrees_of_freedom))
    console.print(table)
    run = "run: ./haptics run EXPERIMENT device:=NAME; docs/bring_up.md has the first run of each"
    console.print(run, highlight=False, soft_wrap=True)


def _search(driver: Driver) -> Presence:
    try:
        return driver.find()
    except Exception as error:  # a driver of another package must not end the list
        return Presence(False, f"the search failed: {error}")


def with_real_device(experiment: str, description: LaunchDescription, given: Mapping[str, str]) -> dict[str, str]:
    """The arguments of a run, with those that a real device needs and the user did not give.

    Args:
        experiment: name, for errors.
        description: of the launch file.
        given: arguments of the user.

    Raises:
        UsageError: the device is unknown or does not fit the experiment, or an argument does not fit a real device.
    """
    name = given.get("device")
    if name is None:
        return dict(given)
    try:
        driver = find_device(name)
    except ParameterError as error:
        raise UsageError(f"argument device: {str(error).removeprefix('parameter device: ')}", _LIST) from None
    rest = {key: value for key, value in given.items() if key != "device"}
    effective_arguments(description, rest)  # refuses the others first
    if "device" not in {argument.name for argument in description.arguments}:
        raise UsageError(f"argument device: {_demand(experiment, description)}, got {_offer(name, driver)}", _LIST)
    if not isinstance(driver, Driver):
        return dict(given)
    _check_axes(experiment, launched_nodes(description, rest), name, driver)
    _check_arguments(name, given)
    return {"mode": "realtime", "duration": _DURATION, **given}


_LIST = "./haptics devices lists the drivers; docs/bring_up.md has the experiments that they fit"


def _demand(experiment: str, description: LaunchDescription) -> str:
    """The device that an experiment cannot do without, in words."""
    own = str(_device_of(launched_nodes(description)).parameters["device"])
    if own == SCRIPTED:
        return f"experiment {experiment} has no device"
    device = find_device(own)(check_all(load_parameter_specs(NODE_PARAMETER_FILE), {"device": own, "held": False}))
    sensor = " and a force sensor" if device.has_force_sensor else ""
    shape = f"{device.kind} device with {len(device.joints)} degrees of freedom{sensor}"
    return f"experiment {experiment} needs {own} ({shape})"


def _offer(name: str, driver: object) -> str:
    shape = f" ({driver.kind} device with {driver.degrees_of_freedom})" if isinstance(driver, Driver) else ""
    return f"{name}{shape}"


def _device_of(nodes: list[LaunchedNode]) -> LaunchedNode:
    return next(node for node in nodes if node.parameters.get("sources"))


def needed_axes(nodes: list[LaunchedNode]) -> set[str]:
    """Axes of the base frame along which an experiment acts: those of its friction, or all but the held axis."""
    device = _device_of(nodes)
    sources = [node for node in nodes if node.name in device.parameters["sources"]]
    if sources and all(node.executable == _FRICTION for node in sources):
        return {axis for node in sources for axis in node.parameters.get("axes", ("x", "y"))}
    return set("xyz") - {device.parameters.get("held_axis", "")}


def _check_axes(experiment: str, nodes: list[LaunchedNode], name: str, driver: Driver) -> None:
    needed, has = needed_axes(nodes), set("xyz"[: driver.degrees_of_freedom])
    if not needed <= has:
        wanted, offered = (", ".join(sorted(axes)) for axes in (needed, has))
        hint = "friction experiments take axes:=[x]" if has == {"x"} else _LIST
        raise UsageError(
            f"argument device: experiment {experiment} acts along {wanted}, and {name} moves along {offered} only", hint
        )


def _check_arguments(name: str, given: Mapping[str, str]) -> None:
    if given.get("mode", "realtime") != "realtime":
        raise UsageError(
            f"argument mode: expected realtime, since {name} keeps its own clock, got {given['mode']!r}",
            "leave mode out: it is realtime with a real device",
        )
    for argument in _OF_THE_HAND:
        if argument in given:
            raise UsageError(f"argument {argument}: {name} is held by a person, not by the simulated hand")
    if given.get("rviz") == "true":
        raise UsageError(
            f"argument rviz: the display is that of the simulated device, not of {name}",
            "use view:=true, a browser page",
        )


def announced(given: Mapping[str, str], completed: Mapping[str, str]) -> str:
    """A line about the arguments that `with_real_device` has added; empty if there are none."""
    added = [f"{name}:={value}" for name, value in completed.items() if name not in given]
    return f"device {given['device']}: {', '.join(added)}; Ctrl-C ends the run" if added else ""
