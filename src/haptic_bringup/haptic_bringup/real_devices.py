"""Real devices on the command line: the list of `./haptics devices`, and runs with `device:=` and `input_device:=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from haptic_core.errors import HapticError, ParameterError
from haptic_core.parameters import check_all, list_of_text, load_parameter_specs
from haptic_devices.device import Device, DeviceError
from haptic_devices.drivers.driver import Driver, Presence
from haptic_devices.factories import ENTRY_POINTS, NODE_PARAMETER_FILE, find_device, load_numbers
from haptic_devices.inputs.source import Input, load_inputs
from haptic_files.plugins import load_plugins
from haptic_launch.experiment_graph import SCRIPTED
from haptic_launch.launch_file import LaunchDescription
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes
from haptic_launch.runner import IN_VIEW, MissingProgramError, UsageError, effective_arguments

#: arguments of the simulated hand
_HAND_ARGUMENTS = (
    "held", "motion", "letters", "strokes", "rest_duration", "rest_force", "hand_file", "hand_parameters"
)  # fmt: skip
#: default duration of a run with a real device [s]
_DURATION = "60.0"
_FRICTION = "haptic_friction/friction_node"


def drivers() -> dict[str, Driver]:
    """Loads the drivers of all installed packages, by name; skips entry points that cannot be loaded."""
    return {
        name: factory
        for name, factory in load_plugins(ENTRY_POINTS, DeviceError).items()
        if isinstance(factory, Driver)
    }


def show_devices(console: Console) -> None:
    """Prints a row for each driver and input (product, connection, degrees of freedom), and the command to use them."""
    table = Table(Column("device", no_wrap=True), "product", "connected", Column("degrees of freedom", max_width=12))
    factories, inputs = load_plugins(ENTRY_POINTS, DeviceError), load_inputs()
    drivers_found = {name: factory for name, factory in factories.items() if isinstance(factory, Driver)}
    inputs_found = {name: source for name, source in inputs.items() if isinstance(source, Input)}
    known: dict[str, Driver | Input] = {**drivers_found, **inputs_found}
    with ThreadPoolExecutor(max(1, len(known))) as pool:  # each search waits for its own service
        found = dict(zip(known, pool.map(_search, known.values()), strict=True))
    for name, factory in {**factories, **inputs}.items():
        if isinstance(factory, HapticError):
            table.add_row(name, "", f"no: {escape(str(factory))}", "")
    for name, driver in known.items():
        presence = found[name]
        answer = "[green]yes[/green]" if presence.connected else "no"
        state = f"{answer}: {escape(presence.detail)}"
        freedom = str(driver.degrees_of_freedom) if isinstance(driver, Driver) else f"{driver.axes} (no force)"
        table.add_row(name, escape(driver.title), state, freedom)
    console.print(table)
    run = (
        "run: ./haptics run EXPERIMENT device:=NAME, or input_device:=NAME without force; "
        "docs/bring_up.md has the first run"
    )
    console.print(run, highlight=False, soft_wrap=True)


def _search(driver: Driver | Input) -> Presence:
    return _result_of(driver.find if isinstance(driver, Driver) else driver.search)


def _result_of(search: Callable[[], Presence]) -> Presence:
    """Returns the result of a search; one that raises an error has found nothing."""
    try:
        return search()
    except Exception as error:  # whatever a driver of another package raises
        return Presence(False, f"the search failed: {error}")


def with_real_device(experiment: str, description: LaunchDescription, given: Mapping[str, str]) -> dict[str, str]:
    """Adds the arguments that a real device needs to those of the user, which take precedence.

    Args:
        experiment: name of the experiment, for errors.
        description: parsed launch file.
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
        if name == _device_of(launched_nodes(description, rest)).parameters["device"]:
            return rest  # the experiment's own
        needed = _needed_device(experiment, description)
        raise UsageError(f"argument device: {needed}, got {_described_driver(name, driver)}", _LIST)
    own = str(_device_of(launched_nodes(description)).parameters["device"])
    kind = driver.kind if isinstance(driver, Driver) else _made(name).kind
    if name != own and kind != _made(own).kind:
        needed = _needed_device(experiment, description)
        raise UsageError(f"argument device: {needed}, got {name} ({kind} device)", _LIST)
    if not isinstance(driver, Driver):
        return dict(given)
    _check_axes(experiment, launched_nodes(description, rest), name, driver)
    _check_arguments(name, given)
    return {"mode": "realtime", "duration": _DURATION, **given}


def check_connected(nodes: Sequence[LaunchedNode]) -> None:
    """Refuses a run whose real device does not answer.

    Args:
        nodes: nodes of the run, with checked parameters.

    Raises:
        MissingProgramError: the device does not answer; the message names it and the reason.
    """
    specs = load_parameter_specs(NODE_PARAMETER_FILE)
    for node in nodes:
        if node.executable not in _HOSTS:
            continue
        parameters = check_all(specs, node.parameters)
        driver = find_device(parameters["device"]) if parameters["mode"] == "realtime" else None
        if isinstance(driver, Driver):
            numbers = load_numbers(driver.model, parameters, "device", driver.file)
            presence = _result_of(partial(driver.search, numbers))
            if not presence.connected:
                raise MissingProgramError(f"argument device: {driver.name} cannot be used: {presence.detail}", _HELP)


def with_input(experiment: str, description: LaunchDescription, given: Mapping[str, str]) -> dict[str, str]:
    """Adds the arguments that an input device for the simulated hand needs to those of the user.

    Args:
        experiment: name of the experiment, for errors.
        description: parsed launch file.
        given: arguments of the user, completed by `with_real_device`.

    Raises:
        UsageError: the input is unknown or not connected, or the experiment has no simulated hand.
    """
    name = given.get("input_device", _NO_INPUT)
    if name == _NO_INPUT:
        return dict(given)
    known = load_inputs()
    if name not in known:
        raise UsageError(f"argument input_device: expected one of {_NO_INPUT}, {', '.join(known)}, got {name!r}", _LIST)
    chosen = known[name]
    if isinstance(chosen, HapticError):
        raise UsageError(f"argument input_device: {name}: {chosen}", _LIST)
    rest = {key: value for key, value in given.items() if key != "input_device"}
    effective_arguments(description, rest)  # refuses the others first
    device = str(_device_of(launched_nodes(description, rest)).parameters["device"])
    if device == SCRIPTED or given.get("held") == "false" or isinstance(find_device(device), Driver):
        raise UsageError(f"argument input_device: {name} leads a simulated hand, and this run of {experiment} has none")
    presence = _result_of(chosen.search)
    if not presence.connected:
        raise UsageError(f"argument input_device: {name} is not connected: {presence.detail}", _LIST)
    return {**IN_VIEW, "duration": _DURATION, **given}


_NO_INPUT = "none"
#: programs that open the device, or start a program that opens it
_HOSTS = ("haptic_devices/device_node", "haptic_devices/control_node")
_HELP = "docs/bring_up.md has install, check and messages of each device"
_LIST = "./haptics devices lists the drivers; docs/bring_up.md has the experiments that they fit"


def _needed_device(experiment: str, description: LaunchDescription) -> str:
    """Describes the device that an experiment needs, in words."""
    own = str(_device_of(launched_nodes(description)).parameters["device"])
    if own == SCRIPTED:
        return f"experiment {experiment} has no device"
    device = _made(own)
    sensor = " and a force sensor" if device.has_force_sensor else ""
    shape = f"{device.kind} device with {len(device.joints)} degrees of freedom{sensor}"
    return f"experiment {experiment} needs {own} ({shape})"


def _made(name: str) -> Device:
    """Makes a simulated device with its default numbers and without a hand."""
    return find_device(name)(check_all(load_parameter_specs(NODE_PARAMETER_FILE), {"device": name, "held": False}))


def _described_driver(name: str, driver: object) -> str:
    shape = f" ({driver.kind} device with {driver.degrees_of_freedom})" if isinstance(driver, Driver) else ""
    return f"{name}{shape}"


def _device_of(nodes: list[LaunchedNode]) -> LaunchedNode:
    return next(node for node in nodes if node.parameters.get("sources"))


def needed_axes(nodes: list[LaunchedNode]) -> set[str]:
    """Returns the axes of the base frame along which an experiment acts.

    They are those of the parameter `axes` if each source has it (friction_node: x and y by default), otherwise all but
    the held one.
    """
    device = _device_of(nodes)
    sources = [node for node in nodes if node.name in device.parameters["sources"]]
    given = [node.parameters.get("axes", ("x", "y") if node.executable == _FRICTION else None) for node in sources]
    axes = [list_of_text(value) for value in given]
    if sources and None not in axes:
        return {axis for each in axes for axis in each}
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
    for argument in _HAND_ARGUMENTS:
        if argument in given:
            raise UsageError(f"argument {argument}: {name} is held by a person, not by the simulated hand")
    if given.get("rviz") == "true":
        raise UsageError(
            f"argument rviz: the display is that of the simulated device, not of {name}",
            "use view:=true, a browser page",
        )


def announced(given: Mapping[str, str], completed: Mapping[str, str]) -> str:
    """Returns a line about the arguments that a device or an input has added; empty if there are none."""
    added = [f"{name}:={value}" for name, value in completed.items() if name not in given]
    causes = " and ".join(given[name] for name in ("device", "input_device") if name in given)
    return f"{causes}: {', '.join(added)}; Ctrl-C ends the run" if added else ""
